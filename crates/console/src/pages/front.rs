//! The front of the house: what lives where, and where one goes in.

use maud::{Markup, html};

use super::words::Front;

pub(super) fn render(words: &Front) -> Markup {
    html! {
        div .stack {
            div .welcome {
                (roof())
                h1 { "長屋 Nagaya" }
                p .lead { (words.lead) }
            }
            ul .rooms {
                @for room in &words.rooms {
                    li .card {
                        h2 { @if let Some((path, _)) = room.links.first() { a href=(path) { (room.name) } }
                            " " span .hint { (room.path) } }
                        p { (room.purpose) }
                        p .hint { (words.speaks) " " (room.speaks) }
                        @if !room.links.is_empty() {
                            p .row .ways {
                                @for (path, name) in room.links {
                                    a .button .small href=(path) { (name) }
                                }
                            }
                        }
                    }
                }
                li .card .whole {
                    h2 { (words.house) }
                    p { (words.house_hint) }
                    p .row .ways {
                        @for (path, name) in words.ways { a .button .small href=(path) { (name) } }
                    }
                }
            }
        }
    }
}

/// A long house: one roof, five doors.
fn roof() -> Markup {
    html! {
        svg .roof viewBox="0 0 64 32" aria-hidden="true" {
            path .tiles d="M2 14 L10 3 H54 L62 14 Z" {}
            path .wall d="M5 14 H59 V30 H5 Z" {}
            @for door in 0..5 {
                rect .door x=(9 + door * 10) y="19" width="6" height="11" {}
            }
        }
    }
}

//! The front of the house: what each room is for, what to do there first, and whether it is in use.

use maud::{Markup, html};

use super::words::front::{Front, RoomWords};
use crate::overview::{Moment, Tile};

pub(super) fn render(words: &Front, now: &Moment) -> Markup {
    html! {
        div .stack {
            div .welcome {
                (roof())
                h1 { "長屋 Nagaya" }
                p .lead { (words.lead) }
                p .hint { (words.about) }
                p .row .ways {
                    @for (index, (path, name)) in words.ways.iter().take(2).enumerate() {
                        a .button .primary[index == 0] href=(path) { (name) }
                    }
                }
            }
            ul .rooms {
                @for (room, tile) in words.rooms.iter().zip(&now.tiles) {
                    (card(words, room, tile, now.store.is_writable == Some(false)))
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

fn card(words: &Front, room: &RoomWords, tile: &Tile, is_stopped: bool) -> Markup {
    let (path, name) = room.first;
    let is_used = tile.topics + tile.deeds > 0.0;
    html! {
        li .card {
            div .row .spread {
                h2 { (room.name) " " span .hint { (room.path) } }
                @if is_stopped { span .badge.bad { (words.stopped) } }
                @else if is_used { span .badge.good { (words.in_use) } }
                @else { span .badge { (words.ready) } }
            }
            p { (room.purpose) }
            p .hint { (room.speaks) }
            p .row .ways {
                a .button .small .first href=(path) { (name) }
                @for (path, name) in room.more { a .aside href=(path) { (name) } }
            }
        }
    }
}

/// A long house at dusk: one roof, five doors, each with its curtain.
fn roof() -> Markup {
    html! {
        svg .roof viewBox="0 0 160 62" aria-hidden="true" {
            circle .moon cx="150" cy="9" r="6.5" {}
            path .tiles d="M4 30 L20 8 H140 L156 30 Z" {}
            path .ridge d="M18 8 H142" {}
            @for row in 0..3 { path .course d={ "M" (15 - row * 5) " " (15 + row * 6) " H" (145 + row * 5) } {} }
            path .wall d="M12 30 H148 V58 H12 Z" {}
            path .ground d="M2 58 H158" {}
            @for door in 0..5 {
                rect .doorway x=(19 + door * 26) y="36" width="18" height="22" {}
                path .{ "curtain-" (door) } d={ "M" (19 + door * 26) " 36 h18 v9 h-5.4 v-2 h-1.2 v2 h-4.8 v-2 h-1.2 v2 h-5.4 z" } {}
            }
        }
    }
}

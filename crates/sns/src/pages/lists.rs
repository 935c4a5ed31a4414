//! Lists that modules fill, with the templates of what stands in them.

use maud::{Markup, html};

use super::HOME;
use super::icons::{Icon, icon};
use super::words::Words;

/// A list that goes on when its end is near, or when somebody asks.
fn list(words: &Words, empty: &str, template: &Markup) -> Markup {
    html! {
        ol #list .list {}
        p #empty .empty hidden { (empty) }
        p #problem .notice .alert role="alert" {}
        button #more .more type="button" hidden { (words.more) }
        (template)
    }
}

/// A list of posts.
pub(super) fn posts(words: &Words, empty: &str) -> Markup {
    list(words, empty, &post(words))
}

/// A list of users.
pub(super) fn people(words: &Words, empty: &str) -> Markup {
    list(words, empty, &person(words))
}

/// Notifications.
pub(super) fn notes(words: &Words) -> Markup {
    html! {
        h1 .head { (words.notes) }
        (list(words, words.notes_empty, &note()))
    }
}

/// One post, and who likes it.
pub(super) fn one_post(words: &Words) -> Markup {
    html! {
        h1 .head { (words.post) }
        ol #post-here .list {}
        p #gone .empty hidden { (words.no_post) }
        div #likers hidden {
            h2 .head { (words.likers) }
            (people(words, words.likers_empty))
        }
        (post(words))
    }
}

/// What is shown where nothing can be.
pub(super) fn nothing(words: &Words, told: &str) -> Markup {
    html! {
        div .stack {
            div .welcome { h1 { (told) } }
            div .row .centre { a .button .primary href=(HOME) { (words.back_home) } }
        }
    }
}

fn post(words: &Words) -> Markup {
    html! {
        template #post {
            li .post {
                a .face tabindex="-1" aria-hidden="true" data-slot="initial" data-to="user" {}
                article {
                    p .by {
                        a data-to="user" { bdi .name data-slot="name" {} }
                        " " bdi .hint data-slot="handle" {}
                        " " a .hint data-to="post" { time {} }
                    }
                    p .content dir="auto" data-slot="content" {}
                    p .acts {
                        button .act .like type="button" aria-pressed="false" {
                            (icon(Icon::Heart))
                            span .unseen { (words.like) }
                            span data-slot="likes" {}
                        }
                        button .act .delete type="button" hidden {
                            (icon(Icon::Bin)) span .unseen { (words.delete_post) }
                        }
                    }
                }
            }
        }
    }
}

fn person(words: &Words) -> Markup {
    html! {
        template #person {
            li .person {
                a .face tabindex="-1" aria-hidden="true" data-slot="initial" data-to="user" {}
                div {
                    p .by {
                        a data-to="user" { bdi .name data-slot="name" {} }
                        " " bdi .hint data-slot="handle" {}
                    }
                    p .bio dir="auto" data-slot="bio" {}
                }
                button .small .follow type="button" aria-pressed="false" { (words.said.follow) }
            }
        }
    }
}

fn note() -> Markup {
    html! {
        template #note {
            li .note {
                a .face tabindex="-1" aria-hidden="true" data-slot="initial" data-to="user" {}
                div {
                    p {
                        a data-to="user" { bdi .name data-slot="name" {} }
                        span data-slot="did" {}
                    }
                    p .hint { time {} }
                    a .quote dir="auto" data-to="post" data-slot="content" hidden {}
                }
            }
        }
    }
}

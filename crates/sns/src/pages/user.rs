//! A user: who it is, what it said and likes, who follows it; and what it may change about itself.

use maud::{Markup, html};

use super::words::Words;
use super::{List, entry, lists};
use crate::limits::USERNAME_LETTERS;

pub(super) fn render(words: &Words, username: &str, list: List) -> Markup {
    html! {
        p #nobody .empty hidden { (words.no_user) }
        div #profile {
            header .profile {
                span #face .face .large aria-hidden="true" {}
                div .row .spread {
                    h1 {
                        bdi data-slot="name" { (username) }
                        span .hint { bdi data-slot="handle" { "@" (username) } }
                    }
                    button #follow .follow type="button" aria-pressed="false" hidden {
                        (words.said.follow)
                    }
                }
                p .bio dir="auto" data-slot="bio" {}
                p .hint { (words.since) " " time {} }
                div #averse .row hidden {
                    button #mute .small type="button" aria-pressed="false" { (words.said.mute) }
                    button #block .small type="button" aria-pressed="false" { (words.said.block) }
                }
            }
            (settings(words, username))
            (tabs(words, username, list))
            h2 .head[list.is_private()] .unseen[!list.is_private()] { (name(words, list)) }
            @match list {
                List::Posts => (lists::posts(words, words.posts_empty)),
                List::Likes => (lists::posts(words, words.likes_empty)),
                List::Followers => (lists::people(words, words.followers_empty)),
                List::Following => (lists::people(words, words.following_empty)),
                List::Blocks => (lists::people(words, words.blocks_empty)),
                List::Mutes => (lists::people(words, words.mutes_empty)),
            }
        }
    }
}

fn name(words: &Words, list: List) -> &'static str {
    match list {
        List::Posts => words.posts,
        List::Likes => words.likes,
        List::Followers => words.followers,
        List::Following => words.following,
        List::Blocks => words.blocks,
        List::Mutes => words.mutes,
    }
}

fn tabs(words: &Words, username: &str, now: List) -> Markup {
    html! {
        nav .tabs aria-label=(words.lists) {
            @for list in List::ALL.into_iter().filter(|list| !list.is_private()) {
                a href={ "/sns/u/" (username) "/" (list.word()) }
                    aria-current=[(list == now).then_some("page")] {
                    (name(words, list)) " " span .count data-slot=(list.word()) {}
                }
            }
        }
    }
}

/// What only the user itself sees.
fn settings(words: &Words, username: &str) -> Markup {
    let (min, max) = (USERNAME_LETTERS.start(), USERNAME_LETTERS.end());
    html! {
        details #settings .card hidden {
            summary { h2 { (words.settings) } }
            form #change .stack {
                div .field {
                    label for="display-name" { (words.display_name) }
                    input #display-name name="displayName" autocomplete="nickname";
                }
                div .field {
                    label for="username" { (words.username) }
                    input #username name="username" required autocomplete="off"
                        autocapitalize="none" spellcheck="false" minlength=(min) maxlength=(max)
                        pattern="[A-Za-z0-9_\\-]+" title=(words.username_hint);
                }
                div .field {
                    label for="bio" { (words.bio) }
                    textarea #bio name="bio" {}
                }
                p .notice .alert role="alert" {}
                button .primary { (words.save) }
            }
            form #password .stack {
                h3 { (words.change_password) }
                div .field {
                    label for="current" { (words.current_password) }
                    input #current name="currentPassword" type="password" required
                        autocomplete="current-password";
                }
                (entry::new_password(words, "new", "newPassword", words.new_password))
                p .notice .alert role="alert" {}
                button { (words.change_password) }
            }
            p .row {
                @for list in [List::Blocks, List::Mutes] {
                    a href={ "/sns/u/" (username) "/" (list.word()) } { (name(words, list)) }
                }
            }
            div .row {
                button #leave-here type="button" { (words.log_out) }
                button #leave-all type="button" { (words.log_out_all) }
                button #delete-account .danger type="button" { (words.delete_account) }
            }
        }
    }
}

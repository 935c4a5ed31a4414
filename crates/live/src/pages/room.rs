//! The page of a participant.

use maud::{Markup, html};

use super::markup::{Draft, comments, compose, reactions, states};
use super::words::Words;
use crate::model::{Comment, Room};

pub(super) fn render(
    words: &Words,
    room: &Room,
    list: &[Comment],
    older: Option<&str>,
    draft: &Draft,
) -> Markup {
    let like = |comment: Option<&Comment>| {
        html! {
            button .like .small .scripted type="button" data-act="like" aria-pressed="false" {
                span .unseen { (words.like) } span aria-hidden="true" { "♥" }
                span data-slot="likes" { (comment.map_or(0, |comment| comment.likes)) }
            }
        }
    };
    html! {
        div .stack {
            div .row .spread {
                h1 { bdi { (room.name) } }
                p #viewers .hint .scripted role="status" {}
            }
            (states(words, room))
            (compose(words, room, draft))
            (reactions(words, room))
            section .stack aria-labelledby="comments-title" {
                h2 #comments-title { (words.comments) }
                (comments(words, list, words.comments_empty, &like))
                @if let Some(before) = older {
                    a #older .button href={ "?before=" (before) } { (words.older) }
                }
            }
        }
    }
}

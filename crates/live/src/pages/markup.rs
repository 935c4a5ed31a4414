//! What several pages show: a comment, what the room is like, the form, the way in.

use kit::qr;
use maud::{Markup, html};

use super::link::Link;
use super::room_path;
use super::words::Words;
use crate::limits::REACTIONS;
use crate::model::{ANONYMOUS, Comment, Moderation, Room, State, Status};

/// What stands in the form, and what was wrong with it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) content: String,
    pub(super) nickname: String,
    pub(super) told: Option<&'static str>,
    /// What became of the comment before.
    pub(super) sent: Option<&'static str>,
}

/// A list of comments, newest first, with the template from which modules make more.
pub(super) fn comments(
    words: &Words,
    list: &[Comment],
    empty: &str,
    below: &dyn Fn(Option<&Comment>) -> Markup,
) -> Markup {
    html! {
        ol #comments .comments {
            @for one in list { (comment(words, Some(one), &below(Some(one)))) }
        }
        p .empty { (empty) }
        template #comment { (comment(words, None, &below(None))) }
    }
}

/// A comment, or the template of one. Text is text: maud escapes it, and directions that it sets
/// end with it.
fn comment(words: &Words, comment: Option<&Comment>, below: &Markup) -> Markup {
    let is = |ask: fn(&Comment) -> bool| comment.is_some_and(ask);
    let created = comment.map(|comment| comment.created_at.to_string()).unwrap_or_default();
    // Modules show it in the reader's zone.
    let shown = created.get(11..16).map(|time| format!("{time} UTC")).unwrap_or_default();
    html! {
        li .comment
            .is-host[is(|comment| comment.is_host)]
            .is-pinned[is(|comment| comment.pinned)]
            .is-answered[is(|comment| comment.answered)]
            .is-waiting[is(|comment| comment.state == State::Pending)]
            .is-hidden[is(|comment| comment.state == State::Hidden)]
            data-id=[comment.map(|comment| &comment.id)]
            data-seq=[comment.map(|comment| comment.seq)] {
            p .who {
                bdi data-slot="nickname" { (comment.map_or("", |comment| shown_name(words, comment))) }
                span .badge .strong .host { (words.host) }
                span .badge .pinned { (words.pinned) }
                span .badge .answered { (words.answered) }
                span .badge .waiting { (words.waiting) }
                span .badge .hidden { (words.hidden) }
                time datetime=(created) { (shown) }
            }
            p .said dir="auto" data-slot="content" {
                (comment.map_or("", |comment| &comment.content))
            }
            (below)
        }
    }
}

/// The name of an author as it is shown: nobody in particular has one in each language.
fn shown_name<'a>(words: &'a Words, comment: &'a Comment) -> &'a str {
    if comment.nickname == ANONYMOUS { words.anonymous } else { &comment.nickname }
}

/// What the room is like just now, for who writes in it.
pub(super) fn states(words: &Words, room: &Room) -> Markup {
    let (before, after) = words.slow.split_once("{n}").unwrap_or((words.slow, ""));
    html! {
        div #states .stack role="status" {
            p #state-offline .notice .alert hidden { (words.offline) }
            p #state-deleted .notice .alert hidden { (words.deleted) }
            p #state-closed .notice hidden[room.status == Status::Open] {
                (words.closed)
            }
            p #state-paused .notice hidden[!room.paused] { (words.paused) }
            p #state-slow .notice hidden[room.slow_mode_seconds == 0] {
                (before) span data-slot="seconds" { (room.slow_mode_seconds) } (after)
            }
            p #state-pre .notice hidden[room.moderation == Moderation::Off] {
                (words.pre)
            }
        }
    }
}

/// The form in which a comment is written. It works without script.
pub(super) fn compose(words: &Words, room: &Room, draft: &Draft) -> Markup {
    html! {
        form #compose .card method="post" action=(room_path(&room.code)) {
            div .field .beside {
                label for="nickname" { (words.nickname) }
                input #nickname name="nickname" value=(draft.nickname)
                    placeholder=(words.anonymous) autocomplete="nickname" enterkeyhint="next";
            }
            div .field {
                label .unseen for="text" { (words.comment) }
                textarea #text name="content" rows="2" required enterkeyhint="send"
                    placeholder=(words.comment_example) aria-describedby="problem" {
                    (draft.content)
                }
            }
            div .row .spread {
                output #count .hint for="text" {}
                button #send .primary { (words.send) }
            }
            p #problem .notice .alert role="alert" { (draft.told.unwrap_or_default()) }
            p #sent .notice role="status" { (draft.sent.unwrap_or_default()) }
        }
    }
}

/// Buttons for reactions.
pub(super) fn reactions(words: &Words, room: &Room) -> Markup {
    html! {
        div #reactions .reactions .scripted role="group" aria-label=(words.reactions)
            hidden[!room.reactions] {
            @for reaction in REACTIONS {
                button type="button" data-reaction=(reaction) { (reaction) }
            }
        }
    }
}

/// How one gets into a room: QR code, address, code.
pub(super) fn way_in(words: &Words, room: &Room, link: &Link) -> Markup {
    html! {
        p .room-name { bdi { (room.name) } }
        (qr(&link.whole(), words.qr_label))
        div .way {
            p .hint { (words.join_by) }
            p .address { (link.host()) "/live" }
            p .code { (room.code) }
        }
    }
}

/// Says that only script can do this.
pub(super) fn needs_script(words: &Words) -> Markup {
    html! { p .notice .unscripted { (words.needs_script) } }
}

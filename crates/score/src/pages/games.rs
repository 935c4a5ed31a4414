//! All games.

use maud::{Markup, html};

use super::play::{SAMPLE, SAMPLE_GAME};
use super::words::Words;
use super::{HOME, board_path};
use crate::model::game::Game;
use crate::model::period::Period;
use crate::ops::games::Catalogue;

pub(super) fn render(words: &Words, now: &Catalogue) -> Markup {
    html! {
        div .stack {
            div .welcome { h1 { (words.title) } p .lead { (words.lead) } }
            @if let Some(problem) = &now.problem {
                p .notice .alert { (words.file_broken) " " code { (problem) } }
            }
            @if let Some(name) = &now.sample { (offered(words, name)) }
            ul .catalogue {
                @for game in now.games.values().filter(|game| Some(&game.name) != now.sample.as_ref()) {
                    li { a .card href=(board_path(&game.name, Period::all().as_str())) {
                        h2 { bdi { (game.name) } }
                        p .hint { (order(words, game)) }
                    } }
                }
            }
            @if now.games.is_empty() {
                div { p .empty { (words.games_empty) br; (words.games_empty_hint) } }
            }
            div .row .centre {
                @if now.sample.is_none() && now.games.contains_key(SAMPLE_GAME) {
                    a .button .primary href=(SAMPLE) { (words.sample) }
                }
                a .button href="/score/operate" { (words.desk) }
                a .button href="/openapi" { (words.for_makers) }
            }
        }
    }
}

/// The sample game, where it is the only one: to be played, and to see who has.
fn offered(words: &Words, name: &str) -> Markup {
    html! {
        section .card .offered aria-labelledby="offered-title" {
            h2 #offered-title { bdi { (name) } }
            p { (words.sample_lead) }
            p .row {
                a .button .primary href=(SAMPLE) { (words.sample) }
                a .button href=(board_path(name, Period::all().as_str())) { (words.sample_board) }
            }
            p .hint { (words.sample_hint) }
        }
    }
}

/// What a name that no game has leads to.
pub(super) fn no_such_game(words: &Words, game: &str) -> Markup {
    html! {
        div .stack {
            div .welcome { h1 { (words.no_game_title) } p .lead { bdi { code { (game) } } } }
            div .row .centre { a .button .primary href=(HOME) { (words.all_games) } }
        }
    }
}

/// How a game ranks, in words.
pub(super) fn order(words: &Words, game: &Game) -> String {
    let rules = game.sort.rules().iter().map(|rule| words.order(*rule));
    rules.collect::<Vec<_>>().join(words.comma)
}

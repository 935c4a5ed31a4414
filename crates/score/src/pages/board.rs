//! One board: its ranking, the periods, somebody's neighbours, and how many stand where.

use maud::{Markup, html};

use super::play::{SAMPLE, SAMPLE_GAME};
use super::words::{Words, grouped, seconds};
use super::{board_path, chart, games};
use crate::api::distribution::Distribution;
use crate::limits::NEIGHBOURS;
use crate::model::board::{Board, Row, Standing};
use crate::model::game::Game;
use crate::model::period::Period;

/// Which board is shown, and to whom.
pub(super) struct Sought<'s> {
    pub(super) game: &'s Game,
    pub(super) period: &'s Period,
    /// All that can be chosen, and whether they are archived.
    pub(super) periods: &'s [(Period, bool)],
    pub(super) me: Option<&'s str>,
}

/// What a board is at a moment.
pub(super) struct Shown {
    rows: Vec<Row>,
    distribution: Distribution,
    /// Somebody's standing and neighbours, from the rank of the first.
    around: Option<(Standing, usize, Vec<Row>)>,
}

impl Shown {
    pub(super) fn of(game: &Game, board: &Board, me: Option<&str>) -> Shown {
        let around = me.and_then(|me| {
            let (rank, (_, standing)) = (board.rank_of(me)?, board.standing_of(me)?);
            let first = rank.saturating_sub(NEIGHBOURS).max(1);
            let rows = board.from(first).take(rank - first + NEIGHBOURS + 1);
            Some((standing, first, rows.cloned().collect()))
        });
        Shown {
            rows: board.top().cloned().collect(),
            distribution: Distribution::of(game, board, None),
            around,
        }
    }
}

pub(super) fn render(words: &Words, sought: &Sought<'_>, shown: &Shown) -> Markup {
    let is_archived = |period: &Period| {
        sought.periods.iter().any(|(other, is_archived)| other == period && *is_archived)
    };
    html! {
        div .stack {
            div .row .spread {
                div {
                    h1 { bdi { (sought.game.name) } }
                    p .hint { (games::order(words, sought.game)) }
                }
                p #state .hint .row .scripted hidden[is_archived(sought.period)] role="status" {
                    span .lamp {}
                    span data-slot="state" { (words.said.connecting) }
                }
                @if is_archived(sought.period) { span .badge { (words.archived) } }
                @if sought.game.name == SAMPLE_GAME {
                    a .button .primary href=(SAMPLE) { (words.sample) }
                }
            }
            (periods(words, sought))
            div .pitch {
                section .best aria-labelledby="board-title" {
                    h2 #board-title .row .spread {
                        span { (words.best) }
                        span .hint #count { (words.counted(words.said.players, shown.distribution.total)) }
                    }
                    (table(words, "rows", 1, &shown.rows, sought.me))
                    p #nobody .nobody hidden[!shown.rows.is_empty()] { (words.board_empty) }
                }
                (around(words, sought, shown))
                (chart::render(words, &shown.distribution))
            }
            template #row { (row(0, None, None)) }
        }
    }
}

fn periods(words: &Words, sought: &Sought<'_>) -> Markup {
    let me = sought.me.map(|me| format!("?me={me}")).unwrap_or_default();
    let path = |period: &Period| board_path(&sought.game.name, period.as_str());
    html! {
        nav .periods aria-label=(words.period) {
            @for (period, is_archived) in sought.periods {
                a .button .small href={ (path(period)) (me) }
                    aria-current=[(period == sought.period).then_some("page")] {
                    @if *period == Period::all() { (words.all_time) } @else { (period) }
                    @if *is_archived { span .unseen { (words.archived) } }
                }
            }
        }
    }
}

/// Rows from a rank on.
fn table(words: &Words, id: &str, first: usize, rows: &[Row], me: Option<&str>) -> Markup {
    html! {
        table .ranking {
            caption .unseen { (words.best) }
            thead { tr {
                th scope="col" .number { (words.rank) }
                th scope="col" { (words.player) }
                th scope="col" .number { (words.score) }
                th scope="col" .number { (words.time) }
            } }
            tbody id=(id) {
                @for (rank, one) in (first..).zip(rows) { (row(rank, Some(one), me)) }
            }
        }
    }
}

/// A row, or the template of one.
fn row(rank: usize, row: Option<&Row>, me: Option<&str>) -> Markup {
    let is_mine = row.is_some_and(|row| me == Some(&*row.user));
    html! {
        tr .mine[is_mine] data-user=[row.map(|row| &*row.user)] data-ver=[row.map(|row| row.ver)]
            data-rank=[row.map(|_| rank)] {
            td .number .rank data-slot="rank" { @if row.is_some() { (grouped(rank as i64)) } }
            th scope="row" { bdi data-slot="name" { (row.map_or("", |row| &*row.name)) } }
            td .number data-slot="score" {
                (row.map(|row| grouped(row.value.score)).unwrap_or_default())
            }
            td .number .soft data-slot="time" {
                (row.map(|row| seconds(row.value.time_ms)).unwrap_or_default())
            }
        }
    }
}

fn around(words: &Words, sought: &Sought<'_>, shown: &Shown) -> Markup {
    let found = shown.around.as_ref();
    let standing = found.map(|(standing, ..)| {
        let said = words.said.standing.replace("{n}", &grouped(standing.ordinal as i64));
        said.replace("{total}", &grouped(standing.total as i64))
    });
    let (first, rows) = found.map_or((1, &[][..]), |(_, first, rows)| (*first, rows.as_slice()));
    let is_lost = sought.me.is_some() && found.is_none();
    html! {
        section #around .card aria-labelledby="around-title" {
            h2 #around-title { (words.around) }
            form #seek .row {
                label .unseen for="me" { (words.user_id) }
                input #me name="me" value=[sought.me] placeholder=(words.user_id) autocomplete="off"
                    spellcheck="false" maxlength="64" pattern="[A-Za-z0-9_.\\-]+" required;
                button { (words.find) }
            }
            p #lost .notice hidden[!is_lost] role="status" { (words.not_here) }
            div #found hidden[found.is_none()] .stack {
                p .row {
                    strong #standing { (standing.unwrap_or_default()) }
                    span #estimate .badge hidden[!found.is_some_and(|it| it.0.is_estimate)] {
                        (words.estimate)
                    }
                }
                (table(words, "neighbours", first, rows, sought.me))
            }
        }
    }
}

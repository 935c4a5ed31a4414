//! The operator's desk. The server renders forms and templates; everything in them comes to the
//! browser that holds a key, or in which the operator is signed in.

use maud::{Markup, html};

use super::words::Words;
use crate::limits::SORT_KEYS_MAX;
use crate::model::game::{Direction, Field};

/// Where the operator signs in, and comes back from.
const SIGN_IN: &str = "/console/sign-in?next=/score/operate";

pub(super) fn render(words: &Words) -> Markup {
    html! {
        div .stack {
            div .row .spread {
                h1 { (words.desk_title) }
                div .row {
                    button #leave .small type="button" hidden { (words.leave) }
                    a .button .small href="/score" { (words.title) }
                    a .button .small href="/console" { (words.console) }
                }
            }
            p .notice .unscripted { (words.needs_script) }
            (enter(words))
            p #told .notice role="status" {}
            div #desk .desk hidden {
                div .stack { (suspicions(words)) (audit(words)) }
                div .stack { (games(words)) (trim(words)) (scores(words)) (bans(words)) }
            }
        }
    }
}

fn enter(words: &Words) -> Markup {
    html! {
        form #enter .card .narrow .scripted {
            div .field {
                label for="key" { (words.key) }
                input #key name="key" type="password" required autocomplete="off" spellcheck="false"
                    aria-describedby="key-hint";
                p #key-hint .hint {
                    (words.key_hint) " " code { "nagaya key create me --scope score:operate" }
                }
            }
            button .primary { (words.enter) }
            p .hint { (words.or_sign_in) " " a href=(SIGN_IN) { (words.sign_in) } }
        }
    }
}

fn suspicions(words: &Words) -> Markup {
    html! {
        section .card aria-labelledby="suspicions-title" {
            h2 #suspicions-title .row .spread {
                span { (words.suspicions) }
                button #look .small type="button" { (words.look_again) }
            }
            p .hint { (words.suspicions_hint) }
            ul #suspicions .entries {}
            p .empty { (words.suspicions_empty) }
            template #suspicion { li {
                p .row .spread {
                    span .badge .strong data-slot="reason" {}
                    time .hint {}
                }
                p {
                    bdi data-slot="game" {} " · " strong { bdi data-slot="user" {} } " "
                    span .badge data-slot="proof" {} " · "
                    span data-slot="score" {} " · " span data-slot="time" {}
                }
                p .hint lang="en" data-slot="detail" {}
                p .row {
                    button .small type="button" data-act="ban" {
                        (words.act_ban) span .unseen { " " bdi data-slot="user" {} }
                    }
                    button .small type="button" data-act="score" {
                        (words.act_score) span .unseen { " " bdi data-slot="user" {} }
                    }
                }
            } }
        }
    }
}

fn audit(words: &Words) -> Markup {
    html! {
        section .card aria-labelledby="audit-title" {
            h2 #audit-title .row .spread {
                span { (words.audit) }
                span #whole .badge hidden { (words.audit_whole) }
                span #broken .badge .strong hidden { (words.audit_broken) }
            }
            ol #audit .entries {}
            p .empty { (words.audit_empty) }
            button #older type="button" hidden { (words.older) }
            template #entry { li {
                p .row .spread {
                    strong data-slot="action" {}
                    time .hint {}
                }
                p .hint { bdi data-slot="actor" {} " · " bdi data-slot="detail" {} }
                p .hint .hash { code data-slot="hash" {} }
            } }
        }
    }
}

fn games(words: &Words) -> Markup {
    html! {
        section .card aria-labelledby="games-title" {
            h2 #games-title { (words.games) }
            p #problem .notice .alert role="status" {}
            div .field {
                label for="pick" { (words.pick_game) }
                select #pick { option value="" { (words.new_game) } }
            }
            form #game .stack {
                (field(words.game_name, html! {
                    input #name name="gameName" required maxlength="64" autocomplete="off"
                        spellcheck="false" pattern="[A-Za-z0-9_.\\-]+";
                }, "name"))
                fieldset { legend { (words.sort) } @for at in 0..SORT_KEYS_MAX { (rule(words, at)) } }
                div .pair {
                    (number(words.top_n, "topN", true))
                    (number(words.max_rate, "maxScorePerSecond", false))
                    (score_bound(words.min_score, "minScore"))
                    (score_bound(words.max_score, "maxScore"))
                    (number(words.tolerance, "timeToleranceMs", true))
                    (number(words.shortfall, "timeShortfallMs", false))
                    (number(words.min_play, "minPlayMs", false))
                }
                p .hint { (words.shortfall_hint) }
                label .row { input #requireClaim name="requireClaim" type="checkbox" aria-describedby="claim-hint"; (words.require_claim) }
                p #claim-hint .hint { (words.require_claim_hint) }
                (field(words.origins, html! {
                    textarea #origins name="origins" rows="2" placeholder="https://games.example"
                        spellcheck="false" aria-describedby="origins-hint" {}
                }, "origins"))
                p #origins-hint .hint { (words.origins_hint) }
                div .row {
                    button .primary { (words.save) }
                    button #delete-game .danger type="button" hidden { (words.delete_game) }
                    button #sample type="button" { (words.add_sample) }
                }
            }
        }
    }
}

fn rule(words: &Words, at: usize) -> Markup {
    html! {
        div .rule {
            select name="by" aria-label={ (words.sort) " " (at + 1) } {
                @if at > 0 { option value="" { "—" } }
                @for field in Field::ALL { option value=(field.word()) { (words.field(field)) } }
            }
            select name="dir" aria-label={ (words.direction) " " (at + 1) } {
                @for direction in [Direction::Descending, Direction::Ascending] {
                    option value=(direction.word()) { (words.direction_of(direction)) }
                }
            }
        }
    }
}

fn field(label: &str, input: Markup, id: &str) -> Markup {
    html! { div .field { label for=(id) { (label) } (input) } }
}

/// A score, which may be below zero.
fn score_bound(label: &str, name: &str) -> Markup {
    field(label, html! { input id=(name) name=(name) type="number" step="1"; }, name)
}

fn number(label: &str, name: &str, is_needed: bool) -> Markup {
    let input = html! {
        input id=(name) name=(name) type="number" inputmode="numeric" min="0" step="1"
            required[is_needed];
    };
    field(label, input, name)
}

fn trim(words: &Words) -> Markup {
    html! {
        section .card aria-labelledby="trim-title" {
            h2 #trim-title { (words.trim) }
            p .hint { (words.trim_hint) }
            div .row {
                button #dry type="button" { (words.dry_run) }
                button #trim .danger type="button" disabled { (words.trim_now) }
            }
            table .ranking #trims hidden {
                caption #trims-said .hint {}
                thead { tr {
                    th scope="col" { (words.board) }
                    th scope="col" .number { (words.kept) }
                    th scope="col" .number { (words.deleted) }
                } }
                tbody {}
            }
            template #trimmed { tr {
                th scope="row" {
                    bdi data-slot="board" {} " " span .badge data-slot="mark" {}
                    span .hint data-slot="refused" {}
                }
                td .number data-slot="kept" {}
                td .number data-slot="deleted" {}
            } }
        }
    }
}

fn scores(words: &Words) -> Markup {
    html! {
        section .card aria-labelledby="score-title" {
            h2 #score-title { (words.delete_score) }
            form #score .stack {
                div .pair {
                    (field(words.game, html! {
                        input #score-game name="game" required maxlength="64" autocomplete="off"; },
                        "score-game"))
                    (field(words.period, html! {
                        input #score-period name="period" required value="ALL" maxlength="7"
                            autocomplete="off" aria-describedby="period-hint"; }, "score-period"))
                }
                p #period-hint .hint { (words.period_hint) }
                label .row { input #score-all name="all" type="checkbox"; (words.all_periods) }
                (field(words.user_id, html! {
                    input #score-user name="user" required maxlength="64" autocomplete="off"; },
                    "score-user"))
                (field(words.reason, html! {
                    input #score-reason name="reason" required maxlength="200" autocomplete="off"; },
                    "score-reason"))
                div .row { button .danger { (words.delete_score) } }
            }
        }
    }
}

fn bans(words: &Words) -> Markup {
    html! {
        section .card aria-labelledby="bans-title" {
            h2 #bans-title { (words.bans) }
            p .hint { (words.bans_hint) }
            form #ban .stack {
                (field(words.user_id, html! {
                    input #ban-user name="user" required maxlength="64" autocomplete="off"; },
                    "ban-user"))
                (field(words.reason, html! {
                    input #ban-reason name="reason" required maxlength="200" autocomplete="off"; },
                    "ban-reason"))
                div .row { button .danger { (words.act_ban) } }
            }
            ul #bans .entries {}
            p .empty { (words.bans_empty) }
            template #banned { li .row .spread {
                span { strong { bdi data-slot="user" {} } " " bdi .hint data-slot="reason" {} }
                button .small type="button" data-act="unban" {
                    (words.unban) span .unseen { " " bdi data-slot="user" {} }
                }
            } }
        }
    }
}

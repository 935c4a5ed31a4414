//! A game's config: as JSON in a file, on the wire and in the table.

use edge::is_origin;
use serde::{Deserialize, Serialize};
use table::{Item, Put, Query, TransactItem};
use utoipa::ToSchema;

use super::{ROOM, text};
use crate::error::Error;
use crate::limits::{GAMES_MAX, TIME_TOLERANCE_MS, TOP_N};
use crate::model::game::{Direction, Field, Game, PlayRules, Rule, Sort};

/// The sample game, as it stands beside its page in `examples/score-game`.
const SAMPLE: &str = include_str!("../../../../examples/score-game/games.json");

/// The sample game, which a house without games offers.
pub(crate) fn sample_game() -> Option<Game> {
    read_games(SAMPLE).ok()?.into_iter().next()
}

/// One key of a sort.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleForm {
    /// `score`, `timeMs` or `updatedAt`.
    #[schema(example = "score")]
    by: String,
    /// `asc` or `desc`.
    #[schema(example = "desc")]
    dir: String,
}

/// A game.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({
    "gameName": "snake",
    "sort": [{ "by": "score", "dir": "desc" }],
    "topN": 100
}))]
pub(crate) struct GameForm {
    /// Its id.
    #[schema(example = "snake")]
    game_name: String,
    /// What plays are compared by, the first key first.
    sort: Vec<RuleForm>,
    /// Rows of a board that stay.
    #[serde(default = "top_n")]
    #[schema(example = 100)]
    top_n: usize,
    /// The shortest play in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_play_ms: Option<i64>,
    /// The lowest score, for games in which less is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_score: Option<i64>,
    /// The highest score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_score: Option<i64>,
    /// The most that a score grows in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_score_per_second: Option<i64>,
    /// How much longer than measured a play may say that it was.
    #[serde(default = "time_tolerance_ms")]
    time_tolerance_ms: i64,
    /// How much shorter than measured a play may say that it was. Without it 30 s, and 10 s where
    /// the shortest time ranks first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_shortfall_ms: Option<i64>,
    /// Origins whose pages may submit; empty for all.
    #[serde(default)]
    origins: Vec<String>,
    /// Whether only players who have claimed their id may play.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    require_claim: bool,
}

fn top_n() -> usize {
    TOP_N
}

fn time_tolerance_ms() -> i64 {
    TIME_TOLERANCE_MS
}

impl GameForm {
    /// The game, if it is one that can be set now.
    pub(crate) fn new_game(self) -> Result<Game, Error> {
        // What no browser sends would keep every page out.
        if let Some(other) = self.origins.iter().find(|origin| !is_origin(origin)) {
            let told = format!("an origin is such as `https://games.example`, not `{other}`");
            return Err(Error::invalid(told));
        }
        self.game()
    }

    /// The game, if it is one.
    fn game(self) -> Result<Game, Error> {
        let rule = |rule: &RuleForm| {
            let told = |what: &str, word: &str| Error::invalid(format!("{what}, not `{word}`"));
            let by = Field::parse(&rule.by);
            let by = by.ok_or_else(|| told("by is score, timeMs or updatedAt", &rule.by))?;
            let direction = Direction::parse(&rule.dir);
            let direction = direction.ok_or_else(|| told("dir is asc or desc", &rule.dir))?;
            Ok(Rule { by, direction })
        };
        let sort = Sort::new(self.sort.iter().map(rule).collect::<Result<_, Error>>()?)?;
        let rules = PlayRules {
            min_play_ms: self.min_play_ms,
            min_score: self.min_score,
            max_score: self.max_score,
            max_score_per_second: self.max_score_per_second,
            time_tolerance_ms: self.time_tolerance_ms,
            time_shortfall_ms: self.time_shortfall_ms,
        };
        let game = Game {
            name: self.game_name,
            sort,
            top_n: self.top_n,
            rules,
            origins: self.origins,
            requires_claim: self.require_claim,
        };
        game.checked()
    }
}

impl From<&Game> for GameForm {
    fn from(game: &Game) -> GameForm {
        let sort = game.sort.rules().iter().map(|rule| RuleForm {
            by: rule.by.word().to_owned(),
            dir: rule.direction.word().to_owned(),
        });
        GameForm {
            game_name: game.name.clone(),
            sort: sort.collect(),
            top_n: game.top_n,
            min_play_ms: game.rules.min_play_ms,
            min_score: game.rules.min_score,
            max_score: game.rules.max_score,
            max_score_per_second: game.rules.max_score_per_second,
            time_tolerance_ms: game.rules.time_tolerance_ms,
            time_shortfall_ms: game.rules.time_shortfall_ms,
            origins: game.origins.clone(),
            require_claim: game.requires_claim,
        }
    }
}

/// The games in the text of a file: a JSON array, each game once.
pub(crate) fn read_games(text: &str) -> Result<Vec<Game>, Error> {
    let forms: Vec<GameForm> = serde_json::from_str(text)
        .map_err(|error| Error::invalid(format!("not a list of games: {error}")))?;
    if forms.len() > GAMES_MAX {
        let told = format!("there are {} games, at most {GAMES_MAX} allowed", forms.len());
        return Err(Error::invalid(told));
    }
    let mut games: Vec<Game> = Vec::new();
    for form in forms {
        let name = form.game_name.clone();
        let game = form.new_game();
        let game = game.map_err(|error| Error::invalid(format!("game `{name}`: {error}")))?;
        if games.iter().any(|other| other.name == name) {
            return Err(Error::invalid(format!("game `{name}` is there twice")));
        }
        games.push(game);
    }
    Ok(games)
}

/// All games that the operator set.
pub(crate) fn query_games() -> Query {
    Query::new(ROOM, "pk", "GAMES").consistent()
}

/// Sets a game; none for one that is gone, whatever the file says.
pub(crate) fn put_game(name: &str, game: Option<&Game>) -> TransactItem {
    let mut item = Item::new().with("pk", "GAMES").with("sk", name);
    if let Some(game) = game {
        item.insert("game", config(game));
    }
    Put::new(ROOM, item).into()
}

/// A game as JSON.
pub(crate) fn config(game: &Game) -> String {
    serde_json::to_string(&GameForm::from(game)).expect("words and numbers are JSON")
}

/// A game that the operator set, or whose absence.
pub(crate) fn read_game(item: &Item) -> Option<(String, Option<Game>)> {
    let name = text(item, "sk")?;
    let Some(form) = text(item, "game") else { return Some((name, None)) };
    let form: GameForm = serde_json::from_str(&form).ok()?;
    Some((name, Some(form.game().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::read_games;

    #[test]
    fn the_seeds_config_is_read() {
        let text = r#"[{"gameName": "nameofgame", "sort": [
            {"by": "score", "dir": "desc"}, {"by": "timeMs", "dir": "asc"},
            {"by": "updatedAt", "dir": "desc"}], "topN": 100}]"#;
        let games = read_games(text).unwrap();
        assert_eq!((games[0].name.as_str(), games[0].top_n), ("nameofgame", 100));
        assert_eq!(games[0].rules.time_tolerance_ms, 1500);
    }

    #[test]
    fn what_is_no_config_says_where() {
        let told = |text: &str| read_games(text).unwrap_err().to_string();
        let game = |rest: &str| format!(r#"[{{"gameName": "g", {rest}}}]"#);
        let sort = r#""sort": [{"by": "score", "dir": "desc"}]"#;
        assert!(told("{").starts_with("not a list of games: "));
        assert!(told(&game("\"sort\": []")).contains("game `g`: `sort` must name"));
        let wrong = game(r#""sort": [{"by": "luck", "dir": "asc"}]"#);
        assert_eq!(told(&wrong), "game `g`: by is score, timeMs or updatedAt, not `luck`");
        let wrong = game(r#""sort": [{"by": "score", "dir": "up"}]"#);
        assert_eq!(told(&wrong), "game `g`: dir is asc or desc, not `up`");
        let wrong = game(&format!("{sort}, \"topN\": 0"));
        assert_eq!(told(&wrong), "game `g`: topN must be from 1 to 1000, not 0");
        let wrong = game(&format!("{sort}, \"maxScore\": -1"));
        assert_eq!(told(&wrong), "game `g`: maxScore must be from 0 to 9007199254740992, not -1");
        let wrong = game(&format!("{sort}, \"minScore\": 5, \"maxScore\": 4"));
        assert_eq!(told(&wrong), "game `g`: maxScore must be from 5 to 9007199254740992, not 4");
        assert!(told(&game(&format!("{sort}, \"topn\": 5"))).contains("unknown field `topn`"));
        for origin in ["https://games.example/", "games.example", "*"] {
            let wrong = game(&format!("{sort}, \"origins\": [\"{origin}\"]"));
            let words = "game `g`: an origin is such as `https://games.example`, not";
            assert_eq!(told(&wrong), format!("{words} `{origin}`"));
        }
        let one = format!(r#"{{"gameName": "g", {sort}}}"#);
        assert_eq!(told(&format!("[{one}, {one}]")), "game `g` is there twice");
        let name = one.replace("\"g\"", "\"a b\"");
        assert!(told(&format!("[{name}]")).contains("gameName must be 1 to 64"));
    }
}

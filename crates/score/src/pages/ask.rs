//! What the console asks the room of scores.

use kit::{Answer, Ask, Found, FoundKind, Problem, matches};

use crate::{Score, items};

impl Ask for Score {
    fn name(&self) -> &'static str {
        "score"
    }

    fn search<'a>(&'a self, wanted: &'a str, limit: usize) -> Answer<'a, Vec<Found>> {
        let now = self.games.now();
        let games = now.games.keys().filter(|name| matches(name, wanted)).take(limit);
        let found = games.map(|name| Found {
            kind: FoundKind::Game,
            name: name.clone(),
            hint: String::new(),
            path: format!("/score/board/{name}"),
        });
        let found: Vec<Found> = found.collect();
        Box::pin(async move { found })
    }

    fn was_used(&self) -> Answer<'_, bool> {
        Box::pin(async move {
            let first = self.tables.scan(items::scan_first()).await;
            first.is_ok_and(|page| !page.items.is_empty())
        })
    }

    fn problems(&self) -> Vec<Problem> {
        if self.games.now().problem.is_none() {
            return Vec::new();
        }
        vec![Problem {
            id: "games_file",
            is_urgent: false,
            en: "The file of games cannot be read. The last good version stays in use.".to_owned(),
            ja: "ゲームのファイルを読み込めません。前回の内容を使っています。".to_owned(),
            path: "/score/operate",
        }]
    }
}

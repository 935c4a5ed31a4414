//! What the console asks the collector.

use kit::{Answer, Ask, Found, FoundKind, Problem, matches};

use crate::Collect;

const DESK: &str = "/collect/operate";

impl Ask for Collect {
    fn name(&self) -> &'static str {
        "collect"
    }

    fn search<'a>(&'a self, wanted: &'a str, limit: usize) -> Answer<'a, Vec<Found>> {
        let sources = self.sources.all();
        let sources = sources.values().filter(|active| {
            matches(&active.source.name, wanted) || matches(&active.source.metric, wanted)
        });
        let found = sources.take(limit).map(|active| Found {
            kind: FoundKind::Source,
            name: active.source.name.clone(),
            hint: active.source.metric.clone(),
            path: format!("{DESK}?q={}", active.source.name),
        });
        let found: Vec<Found> = found.collect();
        Box::pin(async move { found })
    }

    /// A source has answered on this instance, or left a value once.
    fn was_used(&self) -> Answer<'_, bool> {
        Box::pin(async move {
            let first = self.tables.scan(self.values.scan_first()).await;
            first.is_ok_and(|page| !page.items.is_empty())
        })
    }

    fn problems(&self) -> Vec<Problem> {
        let failing = self.sources.all().values().filter(|active| active.is_troubled()).count();
        let mut problems = Vec::new();
        if failing > 0 {
            let are = if failing == 1 { "source is" } else { "sources are" };
            problems.push(Problem {
                id: "failing_sources",
                is_urgent: true,
                en: format!("{failing} {are} failing."),
                ja: format!("取得に失敗しているデータ元が{failing}件あります。"),
                path: DESK,
            });
        }
        if self.sources.file_problem().is_some() {
            problems.push(Problem {
                id: "sources_file",
                is_urgent: false,
                en: "The file of sources cannot be read. The last good version stays in use."
                    .to_owned(),
                ja: "データ元のファイルを読み込めません。前回の内容を使っています。".to_owned(),
                path: DESK,
            });
        }
        problems
    }
}

//! The overview in a terminal.

use base::Timestamp;

use crate::numbers::{Numbers, ROOMS};
use crate::overview::Overview;

/// How a house does, made of looks at its numbers.
#[derive(Debug, Default)]
pub struct Top {
    overview: Overview,
}

impl Top {
    /// Takes a look: what `/metrics` answered at `at`.
    pub fn look(&mut self, at: Timestamp, metrics: &str) {
        self.overview.look(at, Numbers::read(metrics));
    }

    /// As lines for people.
    pub fn text(&self) -> String {
        let moment = self.overview.moment();
        let mut lines =
            format!("{:<10}{:>10}{:>12}{:>10}\n", "room", "a second", "a minute", "failed");
        for (room, tile) in ROOMS.iter().zip(&moment.tiles) {
            let row =
                format!("{room:<10}{:>10}{:>12}{:>10}\n", tile.rate, tile.deeds, tile.failures);
            lines.push_str(&row);
        }
        let (store, queues, facts) = (moment.store, moment.queues, moment.facts);
        let millis = |ms: Option<f64>| ms.map_or("–".to_owned(), |ms| format!("{ms} ms"));
        lines.push_str(&match store.is_writable {
            None => "\nstore     elsewhere; its figures are there\n".to_owned(),
            Some(is_writable) => format!(
                "\nstore     {} writes/s, commit {} (99 % within {}), {} bytes{}\n",
                store.writes,
                millis(store.mean_ms),
                millis(store.most_ms),
                store.bytes,
                if is_writable { "" } else { ", writing has STOPPED" },
            ),
        });
        lines.push_str(&format!(
            "queues    {} waiting, {} due, oldest {} s, {} dead\n",
            queues.depth, queues.due, queues.oldest_seconds, queues.dead
        ));
        lines.push_str(&format!(
            "facts     {} told, {} done, {} tried again in the last minute, {} dead\n",
            facts.told, facts.done, facts.retried, facts.dead
        ));
        lines.push_str(&format!("readers   {}\n", moment.readers));
        lines
    }

    /// As one line of JSON, for programs.
    pub fn json(&self) -> String {
        serde_json::to_string(&self.overview.moment()).expect("numbers have a JSON form")
    }
}

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::Top;

    #[test]
    fn two_looks_make_rates_for_people_and_programs() {
        let mut top = Top::default();
        for (second, count) in [(1, 5), (2, 12)] {
            let metrics = format!(
                "nagaya_hub_pushes_total{{channel=\"mesh.group\"}} {count}\nnagaya_store_writable 1\n"
            );
            top.look(Timestamp::from_millis(second * 1_000), &metrics);
        }
        let text = top.text();
        let mesh = text.lines().find(|line| line.starts_with("mesh")).unwrap();
        assert_eq!(mesh.split_whitespace().collect::<Vec<_>>(), ["mesh", "7", "7", "0"]);
        assert!(!text.contains("STOPPED"), "{text}");
        assert!(text.contains("store     0 writes/s"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&top.json()).unwrap();
        assert_eq!(json["tiles"][0]["rate"], 7.0);
    }

    #[test]
    fn a_store_that_is_elsewhere_has_not_stopped_and_one_that_has_says_so() {
        let text = |metrics: &str| {
            let mut top = Top::default();
            top.look(Timestamp::from_millis(1_000), metrics);
            top.text()
        };
        let elsewhere = text("nagaya_dynamodb_retries_total 0\n");
        assert!(elsewhere.contains("store     elsewhere"), "{elsewhere}");
        assert!(!elsewhere.contains("STOPPED"), "{elsewhere}");
        let stopped = text("nagaya_store_writable 0\n");
        assert!(stopped.contains("STOPPED"), "{stopped}");
    }
}

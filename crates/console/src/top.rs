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
        let seen = format!("in {} s", self.overview.span().as_secs_f64().round());
        let mut lines = format!("{:<10}{:>10}{seen:>12}{:>10}\n", "room", "a second", "failed");
        for (index, (room, tile)) in ROOMS.iter().zip(&moment.tiles).enumerate() {
            let line = drawn(&self.overview.line(index));
            let row = format!(
                "{room:<10}{:>10}{:>12}{:>10}  {line}\n",
                tile.rate, tile.deeds, tile.failures
            );
            lines.push_str(&row);
        }
        let (store, queues, facts) = (moment.store, moment.queues, moment.facts);
        let millis = |ms: Option<f64>| ms.map_or("–".to_owned(), |ms| format!("{ms} ms"));
        lines.push_str(&match store.is_writable {
            None => "\nstore     elsewhere; its figures are there\n".to_owned(),
            Some(is_writable) => format!(
                "\nstore     {} writes/s, commit {} (99 % within {}), {}{}\n",
                store.writes,
                millis(store.mean_ms),
                millis(store.most_ms),
                size(store.bytes),
                if is_writable { "" } else { ", writing has STOPPED" },
            ),
        });
        lines.push_str(&format!(
            "queues    {} waiting, {} due, oldest {} s, {} dead\n",
            queues.depth,
            queues.due,
            queues.oldest_seconds.round(),
            queues.dead
        ));
        lines.push_str(&format!(
            "facts     {} told, {} done, {} tried again {seen}, {} dead\n",
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

/// A line in one row of letters, the greatest the highest.
fn drawn(line: &[f64]) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = line.iter().copied().fold(1.0, f64::max);
    let step = |rate: &f64| (rate / most * (STEPS.len() - 1) as f64).round() as usize;
    line.iter().map(|rate| STEPS.get(step(rate)).copied().unwrap_or_default()).collect()
}

/// Bytes in the unit that people like.
fn size(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut shown, mut units) = (bytes, UNITS.iter().peekable());
    while let Some(unit) = units.next() {
        if shown < 1_024.0 || units.peek().is_none() {
            return format!("{} {unit}", (shown * 10.0).round() / 10.0);
        }
        shown /= 1_024.0;
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::{Top, drawn, size};

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
        assert_eq!(mesh.split_whitespace().collect::<Vec<_>>(), ["mesh", "7", "7", "0", "█"]);
        assert!(text.starts_with("room        a second      in 1 s    failed\n"), "{text}");
        assert!(!text.contains("STOPPED"), "{text}");
        assert!(text.contains("store     0 writes/s"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&top.json()).unwrap();
        assert_eq!(json["tiles"][0]["rate"], 7.0);
    }

    #[test]
    fn lines_and_sizes_are_drawn_for_people() {
        assert_eq!(drawn(&[0.0, 0.5, 1.0]), "▁▅█");
        assert_eq!(drawn(&[0.0, 100.0, 50.0]), "▁█▅");
        assert_eq!(drawn(&[]), "");
        assert_eq!(size(17.0), "17 bytes");
        assert_eq!(size(33_562_624.0), "32 MiB");
        assert_eq!(size(1_536.0), "1.5 KiB");
        assert_eq!(size(5e15), "4547.5 TiB");
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

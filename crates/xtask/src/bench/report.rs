//! Ratio tables: what was measured, ours beside a peer's, and whether the bar was kept.

use std::fmt;

/// What a ratio must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bar {
    /// Nothing: the row informs.
    Open,
    /// Ours is at least this many times the peer's: throughput.
    AtLeast(f64),
    /// Ours is at most this many times the peer's: latency, memory, space.
    AtMost(f64),
}

/// One table, row by row.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    what: String,
    ours: f64,
    peer: f64,
    bar: Bar,
}

impl Report {
    /// Adds a row.
    pub(crate) fn compare(&mut self, what: impl Into<String>, ours: f64, peer: f64, bar: Bar) {
        self.rows.push(Row { what: what.into(), ours, peer, bar });
    }

    /// Whether every row keeps its bar.
    pub(crate) fn all_kept(&self) -> bool {
        self.rows.iter().all(Row::is_kept)
    }
}

impl Row {
    /// Not a number when the peer was not measured; such a row keeps no bar.
    fn ratio(&self) -> f64 {
        self.ours / self.peer
    }

    fn is_kept(&self) -> bool {
        match self.bar {
            Bar::Open => true,
            Bar::AtLeast(bar) => self.ratio() >= bar,
            Bar::AtMost(bar) => self.ratio() <= bar,
        }
    }

    fn cells(&self) -> [String; 6] {
        let bar = match self.bar {
            Bar::Open => String::new(),
            Bar::AtLeast(bar) => format!(">= {bar}"),
            Bar::AtMost(bar) => format!("<= {bar}"),
        };
        let ok = match (self.bar, self.is_kept()) {
            (Bar::Open, _) => "",
            (Bar::AtLeast(_) | Bar::AtMost(_), true) => "yes",
            (Bar::AtLeast(_) | Bar::AtMost(_), false) => "NO",
        };
        let ratio = format!("{:.2}", self.ratio());
        [self.what.clone(), number(self.ours), number(self.peer), ratio, bar, ok.to_owned()]
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["what", "ours", "peer", "ratio", "bar", "ok"].map(str::to_owned);
        let mut lines = vec![head];
        lines.extend(self.rows.iter().map(Row::cells));
        let mut widths = [0; 6];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let rule = widths.map(|width| "-".repeat(width));
        lines.insert(1, rule);
        for line in &lines {
            for (width, cell) in widths.iter().zip(line) {
                write!(f, "| {cell:<width$} ")?;
            }
            writeln!(f, "|")?;
        }
        Ok(())
    }
}

/// Three to four digits that matter: `0.123`, `45.6`, `7890`, `12.3 k`, `4.56 M`.
fn number(value: f64) -> String {
    let (value, unit) = match value {
        v if v >= 1_000_000.0 => (v / 1_000_000.0, " M"),
        v if v >= 10_000.0 => (v / 1000.0, " k"),
        v => (v, ""),
    };
    let digits = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_below_its_bar_fails_the_report() {
        let mut report = Report::default();
        report.compare("puts/s", 70.0, 100.0, Bar::AtLeast(0.7));
        report.compare("for the record", 1.0, 100.0, Bar::Open);
        assert!(report.all_kept());
        report.compare("gets/s", 59.0, 100.0, Bar::AtLeast(0.6));
        assert!(!report.all_kept());
    }

    #[test]
    fn a_row_above_a_bar_from_above_fails_the_report() {
        let mut report = Report::default();
        report.compare("p99", 200.0, 100.0, Bar::AtMost(2.0));
        assert!(report.all_kept());
        report.compare("p99", 201.0, 100.0, Bar::AtMost(2.0));
        assert!(!report.all_kept());
    }

    #[test]
    fn a_peer_that_was_not_measured_keeps_no_bar() {
        let mut report = Report::default();
        report.compare("puts/s", 0.0, 0.0, Bar::AtLeast(0.0));
        assert!(!report.all_kept());
    }

    #[test]
    fn tables_line_up() {
        let mut report = Report::default();
        report.compare("puts/s", 12_345.0, 6_172.5, Bar::AtLeast(0.7));
        let table = "\
            | what   | ours   | peer | ratio | bar    | ok  |\n\
            | ------ | ------ | ---- | ----- | ------ | --- |\n\
            | puts/s | 12.3 k | 6172 | 2.00  | >= 0.7 | yes |\n";
        assert_eq!(report.to_string(), table);
    }
}

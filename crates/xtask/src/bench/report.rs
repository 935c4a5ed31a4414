//! Tables of ratios: each row has our figure, a peer's figure, and whether the bar was met. A
//! failed server has a line of its own below the table, and its figures are missing.

use std::fmt;

/// The requirement on a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bar {
    /// None: the row is for information.
    Open,
    /// Ours is at least this many times the peer's: for throughput.
    AtLeast(f64),
    /// Ours is at most this many times the peer's: for latency, memory, space.
    AtMost(f64),
}

/// The owner of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server<'a> {
    /// The build under measurement.
    Ours,
    /// A peer.
    Peer(&'a str),
}

/// One table, row by row.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    failures: Vec<Failure>,
}

#[derive(Debug)]
struct Row {
    what: String,
    /// None if the server failed before it was measured.
    ours: Option<f64>,
    peer: Option<f64>,
    bar: Bar,
}

#[derive(Debug)]
struct Failure {
    server: String,
    is_ours: bool,
    at: String,
    why: String,
}

impl Report {
    /// Adds a row. A failed server has no figure.
    pub(crate) fn compare(
        &mut self,
        what: impl Into<String>,
        ours: impl Into<Option<f64>>,
        peer: impl Into<Option<f64>>,
        bar: Bar,
    ) {
        self.rows.push(Row { what: what.into(), ours: ours.into(), peer: peer.into(), bar });
    }

    /// The result of a server, or nothing if it failed. Then the report names the server, the step
    /// and the reason, and the bench continues.
    pub(crate) fn take<T>(
        &mut self,
        server: Server<'_>,
        at: &str,
        measured: Result<T, impl fmt::Display>,
    ) -> Option<T> {
        match measured {
            Ok(measured) => Some(measured),
            Err(why) => {
                self.fail(server, at, &why);
                None
            }
        }
    }

    /// Records a failure.
    pub(crate) fn fail(&mut self, server: Server<'_>, at: &str, why: &impl fmt::Display) {
        let (server, is_ours) = match server {
            Server::Ours => ("ours".to_owned(), true),
            Server::Peer(name) => (name.to_owned(), false),
        };
        let failure = Failure { server, is_ours, at: at.to_owned(), why: why.to_string() };
        // Also printed at once: the table may be minutes away.
        eprintln!("{failure}");
        self.failures.push(failure);
    }

    /// Whether ours was measured completely.
    pub(crate) fn is_ours_whole(&self) -> bool {
        !self.failures.iter().any(|failure| failure.is_ours)
    }

    /// Whether ours was measured completely and every row meets its bar.
    pub(crate) fn all_kept(&self) -> bool {
        self.is_ours_whole() && self.rows.iter().all(Row::is_kept)
    }
}

impl Row {
    /// None if one of them was not measured; such a row meets no bar.
    fn ratio(&self) -> Option<f64> {
        let (ours, peer) = self.ours.zip(self.peer)?;
        Some(ours / peer)
    }

    fn is_kept(&self) -> bool {
        match self.bar {
            Bar::Open => true,
            Bar::AtLeast(bar) => self.ratio().is_some_and(|ratio| ratio >= bar),
            Bar::AtMost(bar) => self.ratio().is_some_and(|ratio| ratio <= bar),
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
        let figure = |figure: Option<f64>| figure.map_or_else(|| "failed".to_owned(), number);
        let ratio = self.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        let (ours, peer) = (figure(self.ours), figure(self.peer));
        [self.what.clone(), ours, peer, ratio, bar, ok.to_owned()]
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed: {}, {}: {}", self.server, self.at, self.why)
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
        self.failures.iter().try_for_each(|failure| writeln!(f, "{failure}"))
    }
}

/// Three to four significant digits: `0.123`, `45.6`, `7890`, `12.3 k`, `4.56 M`.
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
        let mut report = Report::default();
        report.compare("puts/s", 1.0, None, Bar::AtLeast(0.0));
        assert!(!report.all_kept());
    }

    #[test]
    fn a_failure_of_ours_fails_the_report_and_one_of_a_peer_does_not() {
        let mut report = Report::default();
        assert_eq!(report.take(Server::Peer("bun"), "a flood", Err::<f64, _>("stuck")), None);
        report.compare("deliveries/s", 1.0, None, Bar::Open);
        assert!(report.all_kept() && report.is_ours_whole());
        assert_eq!(report.take(Server::Ours, "a flood", Ok::<_, String>(7.0)), Some(7.0));
        report.fail(Server::Ours, "a flood", &"stuck");
        assert!(!report.is_ours_whole() && !report.all_kept());
    }

    #[test]
    fn a_server_that_failed_is_named_with_its_reason_below_what_was_measured() {
        let mut report = Report::default();
        report.compare("puts/s", 12_345.0, 6_172.5, Bar::Open);
        report.take(Server::Peer("bun"), "100 subscribers", Err::<f64, _>("it ended"));
        report.compare("deliveries/s", 7.0, None, Bar::AtLeast(0.4));
        let table = "\
            | what         | ours   | peer   | ratio | bar    | ok |\n\
            | ------------ | ------ | ------ | ----- | ------ | -- |\n\
            | puts/s       | 12.3 k | 6172   | 2.00  |        |    |\n\
            | deliveries/s | 7.00   | failed | -     | >= 0.4 | NO |\n\
            failed: bun, 100 subscribers: it ended\n";
        assert_eq!(report.to_string(), table);
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

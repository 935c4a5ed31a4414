//! Which requests are news to somebody who looks at a terminal, and how a line shows them.
//!
//! Not shown are: files of pages, streams and polls that pages keep open by themselves, health
//! checks, the house's own calls, and what was asked in the same way a moment ago. A crowd is
//! counted. Everything is in the log that a pipe gets.

use std::collections::HashMap;
use std::time::Duration;

use base::{Clock, Monotonic};

/// A request like one before, within this time of it, is a repetition: a page that refreshes itself,
/// a node that reports, a source that is asked.
const REPEATED_WITHIN: Duration = Duration::from_secs(10);

/// Different requests that are remembered: more than happen in that time while people can follow.
const REMEMBERED_MAX: usize = 256;

/// Lines in a second: more scroll by unread.
const LINES_PER_SECOND_MAX: usize = 8;

/// An answer that takes longer was a stream or a poll.
const STREAM_MS: f64 = 15_000.0;

/// Names in paths of streams and polls.
const STREAMS: [&str; 5] = ["stream", "events", "poll", "state", "realtime"];

/// What supervisors ask.
const PROBES: [&str; 3] = ["/livez", "/readyz", "/metrics"];

/// The ends of the names of files that pages load.
const FILES: [&str; 8] = [".js", ".css", ".svg", ".png", ".ico", ".map", ".woff2", ".webmanifest"];

/// What the demonstration's own calls say of themselves.
const OWN_CALLER: &str = "nagaya";

/// The columns of a method and of what follows a path.
const METHOD_COLUMNS: usize = 7;
const REST_COLUMNS: usize = 16;

/// A request when it is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) status: Option<u64>,
    pub(crate) ms: f64,
    pub(crate) user_agent: String,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    No,
    /// After so many that had no room.
    Line {
        left_out: usize,
    },
}

impl Request {
    /// Its line, which fits the terminal where that is wide enough for anything.
    pub(super) fn line(&self, columns: usize) -> String {
        let room = columns.saturating_sub(METHOD_COLUMNS + REST_COLUMNS).clamp(16, 60);
        let mut path: String = self.path.chars().take(room).collect();
        if path.len() < self.path.len() {
            path.pop();
            path.push('…');
        }
        let status = self.status.map_or_else(|| "gone".to_owned(), |status| status.to_string());
        let method = &self.method;
        format!("{method:<METHOD_COLUMNS$}{path:<room$}  {status:>4}  {}", duration(self.ms))
    }

    fn is_noise(&self) -> bool {
        let path = self.path.split('?').next().unwrap_or_default();
        let is_read = matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        let is_failed = self.status.is_some_and(|status| status >= 500);
        let is_file = path.contains("/assets/") || FILES.iter().any(|end| path.ends_with(end));
        let is_stream = path.split('/').any(|name| STREAMS.contains(&name))
            || self.status == Some(101)
            || self.ms >= STREAM_MS;
        PROBES.contains(&path)
            || self.user_agent.starts_with(OWN_CALLER)
            || (is_read && !is_failed && (is_file || is_stream))
    }
}

/// `0.4 ms`, `12 ms`, `1.5 s`.
fn duration(ms: f64) -> String {
    match ms {
        ms if ms < 1.0 => format!("{ms:.1} ms"),
        ms if ms < 1_000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1_000.0),
    }
}

/// What was shown lately.
pub(super) struct Requests {
    clock: Clock,
    /// When each was last asked, shown or not.
    last: HashMap<(String, String, Option<u64>), Monotonic>,
    /// When the present second began, and its lines.
    second: Monotonic,
    lines: usize,
    left_out: usize,
}

impl Requests {
    pub(super) fn new(clock: Clock) -> Requests {
        let second = clock.instant();
        Requests { clock, last: HashMap::new(), second, lines: 0, left_out: 0 }
    }

    /// Whether this one is shown.
    pub(super) fn take(&mut self, request: &Request) -> Shown {
        if request.is_noise() || self.is_repeated(request) {
            return Shown::No;
        }
        let now = self.clock.instant();
        if now.since(self.second) >= Duration::from_secs(1) {
            (self.second, self.lines) = (now, 0);
        }
        if self.lines >= LINES_PER_SECOND_MAX {
            self.left_out += 1;
            return Shown::No;
        }
        self.lines += 1;
        Shown::Line { left_out: std::mem::take(&mut self.left_out) }
    }

    fn is_repeated(&mut self, request: &Request) -> bool {
        let now = self.clock.instant();
        let path = request.path.split('?').next().unwrap_or_default().to_owned();
        let is_recent = |last: &Monotonic| now.since(*last) < REPEATED_WITHIN;
        if self.last.len() >= REMEMBERED_MAX {
            self.last.retain(|_, last| is_recent(last));
        }
        if self.last.len() >= REMEMBERED_MAX {
            self.last.clear();
        }
        let key = (request.method.clone(), path, request.status);
        self.last.insert(key, now).is_some_and(|last| is_recent(&last))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::{Clock, Timestamp};

    use super::{LINES_PER_SECOND_MAX, Request, Requests, Shown};

    fn get(path: &str) -> Request {
        Request {
            method: "GET".to_owned(),
            path: path.to_owned(),
            status: Some(200),
            ms: 0.44,
            user_agent: "Mozilla/5.0".to_owned(),
        }
    }

    const LINE: Shown = Shown::Line { left_out: 0 };

    #[test]
    fn files_streams_polls_health_checks_and_own_calls_are_no_news() {
        let (clock, _time) = Clock::virtual_at(Timestamp::EPOCH);
        let mut requests = Requests::new(clock);
        for path in [
            "/live/assets/0a1b/live.css",
            "/favicon.ico",
            "/console/stream?after=1",
            "/collect/stream/practice",
            "/mesh/class/state?domain=local",
            "/mesh/poll",
            "/readyz",
            "/metrics",
        ] {
            assert_eq!(requests.take(&get(path)), Shown::No, "{path}");
        }
        for quiet in [
            Request { status: Some(101), ..get("/mesh/graphql") },
            Request { ms: 30_000.0, ..get("/score/ranking") },
            Request { user_agent: "nagaya/0.1.0".to_owned(), ..get("/live") },
        ] {
            assert_eq!(requests.take(&quiet), Shown::No, "{quiet:?}");
        }
        let failed = Request { status: Some(500), ..get("/console/stream") };
        for news in [get("/"), get("/live/r/K7MPQ2"), get("/collect/streams"), failed] {
            assert_eq!(requests.take(&news), LINE, "{news:?}");
        }
    }

    #[tokio::test]
    async fn a_repetition_is_shown_again_after_a_pause() {
        let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
        let mut requests = Requests::new(clock);
        let asked = |path: &str| get(&format!("{path}?from=1"));
        assert_eq!(requests.take(&asked("/collect/response_count")), LINE);
        for _ in 0..5 {
            time.advance(Duration::from_secs(5)).await;
            assert_eq!(requests.take(&asked("/collect/response_count")), Shown::No);
        }
        let failed = Request { status: Some(503), ..asked("/collect/response_count") };
        assert_eq!(requests.take(&failed), LINE, "another answer is news");
        time.advance(Duration::from_secs(10)).await;
        assert_eq!(requests.take(&asked("/collect/response_count")), LINE);
    }

    #[tokio::test]
    async fn a_crowd_is_counted() {
        let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
        let mut requests = Requests::new(clock);
        let crowd = 20;
        let shown = (0..crowd).filter(|of| requests.take(&get(&format!("/live/r/{of}"))) == LINE);
        assert_eq!(shown.count(), LINES_PER_SECOND_MAX);
        time.advance(Duration::from_secs(1)).await;
        let left_out = crowd - LINES_PER_SECOND_MAX;
        assert_eq!(requests.take(&get("/live")), Shown::Line { left_out });
    }

    #[test]
    fn a_line_fits_the_terminal() {
        let line = get("/console").line(80);
        assert!(
            line.starts_with("GET    /console  ") && line.ends_with("   200  0.4 ms"),
            "{line}"
        );
        let slow = Request { ms: 1_530.0, status: None, ..get(&"/x".repeat(80)) };
        let line = slow.line(60);
        assert!(line.ends_with("…  gone  1.5 s") && line.chars().count() <= 60, "{line}");
    }
}

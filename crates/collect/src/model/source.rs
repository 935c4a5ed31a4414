//! A source: what is asked, how often, and what its answers mean.

use std::collections::BTreeMap;
use std::time::Duration;

use base::Timestamp;
use reqwest::Url;

use super::kind::{Kind, Mode, Readers};
use super::policy::Policy;
use super::redact::redact;
use super::slot::{HOUR_S, Rhythm, Slot, spell};
use crate::error::Error;
use crate::limits::{
    DEADLINE_SECONDS, HEADERS_MAX, INTERVAL_SECONDS, LAG_SECONDS_MAX, LATE_AFTER,
    METRIC_LETTERS_MAX, NAME_LETTERS_MAX, OFFSET_MS_MAX, OFFSET_STEP_MS, RETENTION_DAYS,
    URL_BYTES_MAX,
};

/// The seed's source.
pub(crate) const DEFAULT: &str = "default";
/// The seed's metric.
pub(crate) const DEFAULT_METRIC: &str = "ai_response_count";
/// What is asked behind a base, if a source does not say.
pub(crate) const USUAL_PATH: &str = "/response_count?from={from}&to={to}";
/// Where in an answer the value stands, if a source does not say.
pub(crate) const USUAL_POINTER: &str = "/count";

/// What a hole for a secret begins with; the name of its file follows.
const SECRET_HOLE: &str = "secret:";

/// Something that is asked, slot after slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) metric: String,
    /// What every URL begins with.
    pub(crate) base_url: String,
    /// What follows, with holes for the window.
    pub(crate) path: String,
    pub(crate) rhythm: Rhythm,
    /// Where in the answer the value stands, as a JSON pointer.
    pub(crate) pointer: String,
    /// Whether the answer must name the window that was asked for.
    pub(crate) echo: bool,
    /// Headers, each with the name of the file that holds its value.
    pub(crate) header_files: BTreeMap<String, String>,
    /// What becomes of slots that were missed.
    pub(crate) misfire: Policy,
    /// What becomes of a slot that is due while another is still asked for.
    pub(crate) overlap: Policy,
    /// Seconds behind its time in which a slot is tried again.
    pub(crate) deadline_s: u64,
    /// Days that slots are kept; none for ever.
    pub(crate) retention_days: Option<u64>,
    pub(crate) mode: Mode,
    pub(crate) kind: Kind,
    pub(crate) readers: Readers,
}

impl Source {
    /// The source, if it is one.
    pub(crate) fn checked(self) -> Result<Source, Error> {
        check_name(&self.name)?;
        check_metric(&self.metric)?;
        check_between("intervalSeconds", self.rhythm.interval_s, &INTERVAL_SECONDS)?;
        check_between("lagSeconds", self.rhythm.lag_s, &(0..=LAG_SECONDS_MAX))?;
        check_between("deadlineSeconds", self.deadline_s, &DEADLINE_SECONDS)?;
        if let Some(days) = self.retention_days {
            check_between("retentionDays", days, &RETENTION_DAYS)?;
        }
        self.check_url()?;
        let takes_any = ["{from}", "{to}", "{fromSeconds}", "{toSeconds}"];
        if self.mode == Mode::Windowed
            && !self.echo
            && !takes_any.iter().any(|hole| self.path.contains(hole))
        {
            let told = "mode cannot be windowed: the path takes no window, and the answer does not \
                        name one (echo)";
            return Err(Error::invalid(told));
        }
        if !(self.pointer.is_empty() || self.pointer.starts_with('/'))
            || self.pointer.len() > URL_BYTES_MAX
        {
            let told =
                format!("pointer must be a JSON pointer such as /count, not `{}`", self.pointer);
            return Err(Error::invalid(told));
        }
        if self.header_files.len() > HEADERS_MAX {
            let told =
                format!("{} headers, at most {HEADERS_MAX} allowed", self.header_files.len());
            return Err(Error::invalid(told));
        }
        for (header, file) in &self.header_files {
            if !is_file_name(file) {
                let told = format!("header `{header}`: a file's name without a path, not `{file}`");
                return Err(Error::invalid(told));
            }
        }
        Ok(self)
    }

    /// The last moment at which a call answers a slot; none if any does. An instant source is read
    /// while its slot goes on. One whose lag is longer than that is read at its time or not at all.
    pub(crate) fn answers_until(&self, slot: Slot) -> Option<Timestamp> {
        match self.mode {
            Mode::Windowed => None,
            Mode::Instant => {
                let due = self.rhythm.due(slot);
                let in_time = due.checked_add(LATE_AFTER).unwrap_or(due);
                Some(if due < slot.to() { slot.to() } else { in_time })
            }
        }
    }

    /// The names of the files whose secrets it sends.
    pub(crate) fn secret_files(&self) -> impl Iterator<Item = &str> {
        let holes = self.path.split('{').skip(1).filter_map(|part| part.split_once('}'));
        let holes = holes.filter_map(|(hole, _)| hole.strip_prefix(SECRET_HOLE));
        self.header_files.values().map(String::as_str).chain(holes)
    }

    /// What its rows are found under.
    pub(crate) fn key(&self) -> String {
        match self.name.as_str() {
            DEFAULT => self.metric.clone(),
            name => format!("{}#{name}", self.metric),
        }
    }

    /// Slots that begin before this are forgotten; what is kept `times` as long, accordingly.
    pub(crate) fn kept_since(&self, now: Timestamp, times: u64) -> Timestamp {
        let days = self.retention_days.map(|days| days.saturating_mul(times));
        let kept = days.map(|days| Duration::from_secs(days.saturating_mul(24 * HOUR_S)));
        kept.and_then(|kept| now.checked_sub(kept)).unwrap_or(Timestamp::EPOCH)
    }

    /// What is asked for a slot, as it is shown: without its secrets.
    pub(crate) fn shown_url(&self, slot: Slot) -> String {
        redact(&self.url(slot, |file| Some(format!("{{{SECRET_HOLE}{file}}}"))).unwrap_or_default())
    }

    /// What is asked for a slot, with the secrets that `secret` finds by the names of their files;
    /// the name of one that is not there.
    pub(crate) fn url(
        &self,
        slot: Slot,
        secret: impl Fn(&str) -> Option<String>,
    ) -> Result<String, String> {
        let (from, to) = (slot.from(), slot.to());
        let mut url = self.base_url.trim_end_matches('/').to_owned();
        let mut rest = self.path.as_str();
        while let Some((before, behind)) = rest.split_once('{') {
            url.push_str(before);
            let (hole, behind) = behind.split_once('}').unwrap_or(("", behind));
            match hole {
                "from" => url.push_str(&spell(from)),
                "to" => url.push_str(&spell(to)),
                "fromSeconds" => url.push_str(&from.seconds().to_string()),
                "toSeconds" => url.push_str(&to.seconds().to_string()),
                other => {
                    let file = other.strip_prefix(SECRET_HOLE).unwrap_or(other);
                    url.push_str(&secret(file).ok_or_else(|| file.to_owned())?);
                }
            }
            rest = behind;
        }
        url.push_str(rest);
        Ok(url)
    }

    fn check_url(&self) -> Result<(), Error> {
        let wrong = |why: &str| {
            // A refusal does not repeat secrets.
            let path = redact(&self.path);
            let base = match self.base_url.rsplit_once('@') {
                Some((_, host)) => format!("…@{host}"),
                None => redact(&self.base_url),
            };
            Err(Error::invalid(format!("baseUrl `{base}`, path `{path}`: {why}")))
        };
        if self.base_url.is_empty() {
            return Err(Error::invalid("baseUrl is missing"));
        }
        if self.base_url.len() + self.path.len() > URL_BYTES_MAX {
            return wrong(&format!("more than {URL_BYTES_MAX} bytes"));
        }
        if self.base_url.contains(['{', '}', '?', '#']) {
            return wrong("the base has no holes, query or fragment");
        }
        let mut rest = self.path.as_str();
        while let Some((before, behind)) = rest.split_once('{') {
            let hole = behind.split_once('}');
            match hole {
                Some(("from" | "to" | "fromSeconds" | "toSeconds", behind))
                    if !before.contains('}') =>
                {
                    rest = behind;
                }
                Some((hole, behind))
                    if !before.contains('}')
                        && hole.strip_prefix(SECRET_HOLE).is_some_and(is_file_name) =>
                {
                    rest = behind;
                }
                Some(_) | None => {
                    return wrong(
                        "holes are {from}, {to}, {fromSeconds}, {toSeconds} and {secret:file}",
                    );
                }
            }
        }
        if rest.contains('}') {
            return wrong("a } without its {");
        }
        let slot = Slot::holding(Timestamp::EPOCH, self.rhythm.interval_s);
        let example = self.url(slot, |_| Some("secret".to_owned())).unwrap_or_default();
        match Url::parse(&example) {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                wrong("only http and https are asked")
            }
            Ok(url) if !url.has_host() => wrong("there is no host in it"),
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                wrong("a password in a URL is seen in logs; use headerFiles")
            }
            Ok(_) => Ok(()),
            Err(error) => wrong(&error.to_string()),
        }
    }
}

/// Which offset a source has: anywhere in its interval, the same on every instance and for ever.
pub(crate) fn offset_ms(name: &str, interval_s: u64) -> u64 {
    let span_ms = interval_s.saturating_mul(1000).min(OFFSET_MS_MAX);
    let steps = (span_ms / OFFSET_STEP_MS).max(1);
    fnv_1a(name) % steps * OFFSET_STEP_MS
}

/// A hash that no version of a library changes.
fn fnv_1a(text: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, fold)
}

/// Whether a text names a file of the folder of secrets. A path would let whoever may name sources
/// read the machine's files.
fn is_file_name(file: &str) -> bool {
    !file.is_empty() && !file.starts_with('.') && !file.contains(['/', '\\', '{', '}'])
}

/// Refuses what cannot name a source.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let allowed = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
    };
    if (1..=NAME_LETTERS_MAX).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    let told = format!("name must be 1 to {NAME_LETTERS_MAX} of `a-z 0-9 . _ -`, not `{name}`");
    Err(Error::invalid(told))
}

/// A metric has a name that Prometheus takes too.
fn check_metric(metric: &str) -> Result<(), Error> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
    let digit_first = metric.starts_with(|first: char| first.is_ascii_digit());
    if (1..=METRIC_LETTERS_MAX).contains(&metric.len())
        && metric.bytes().all(allowed)
        && !digit_first
    {
        return Ok(());
    }
    let told = format!(
        "metric must be 1 to {METRIC_LETTERS_MAX} of `a-z A-Z 0-9 _ :`, no digit first, not `{metric}`"
    );
    Err(Error::invalid(told))
}

fn check_between(
    name: &str,
    number: u64,
    range: &std::ops::RangeInclusive<u64>,
) -> Result<(), Error> {
    if range.contains(&number) {
        return Ok(());
    }
    let told = format!("{name} must be from {} to {}, not {number}", range.start(), range.end());
    Err(Error::invalid(told))
}

#[cfg(test)]
pub(crate) fn sample(name: &str) -> Source {
    Source {
        name: name.to_owned(),
        metric: DEFAULT_METRIC.to_owned(),
        base_url: "http://upstream.example/api".to_owned(),
        path: USUAL_PATH.to_owned(),
        rhythm: Rhythm { interval_s: 5, lag_s: 6, offset_ms: 0 },
        pointer: USUAL_POINTER.to_owned(),
        echo: true,
        header_files: BTreeMap::new(),
        misfire: Policy::BufferAll,
        overlap: Policy::AllowAll,
        deadline_s: 300,
        retention_days: None,
        mode: Mode::Windowed,
        kind: Kind::Count,
        readers: Readers::Everyone,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use base::Timestamp;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use reqwest::Url;

    use super::{Source, offset_ms, sample};
    use crate::model::slot::{Slot, read_time};

    fn refusal(source: Source) -> String {
        source.checked().unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_asked_is_refused_by_name() {
        let with = |base: &str, path: &str| {
            refusal(Source { base_url: base.to_owned(), path: path.to_owned(), ..sample("a") })
        };
        assert_eq!(with("", "/x"), "baseUrl is missing");
        for (base, path, why) in [
            ("ftp://x", "/", "only http and https are asked"),
            ("nonsense", "/", "relative URL without a base"),
            ("http://", "/", "empty host"),
            ("http://me:secret@x", "/", "a password in a URL is seen in logs; use headerFiles"),
            ("http://{from}", "/", "the base has no holes, query or fragment"),
            (
                "http://x",
                "/{when}",
                "holes are {from}, {to}, {fromSeconds}, {toSeconds} and {secret:file}",
            ),
            (
                "http://x",
                "/{from",
                "holes are {from}, {to}, {fromSeconds}, {toSeconds} and {secret:file}",
            ),
            (
                "http://x",
                "/{secret:../x}",
                "holes are {from}, {to}, {fromSeconds}, {toSeconds} and {secret:file}",
            ),
            (
                "http://x",
                "/}{from}",
                "holes are {from}, {to}, {fromSeconds}, {toSeconds} and {secret:file}",
            ),
            ("http://x", "/{from}}", "a } without its {"),
        ] {
            assert!(with(base, path).ends_with(why), "{}", with(base, path));
        }
        let mut zero = sample("a");
        zero.rhythm.interval_s = 0;
        assert_eq!(refusal(zero), "intervalSeconds must be from 1 to 86400, not 0");
        assert!(refusal(sample("A b")).starts_with("name must be 1 to 64 of"));
        let metric = Source { metric: "9lives".to_owned(), ..sample("a") };
        assert!(refusal(metric).starts_with("metric must be 1 to 100 of"));
        let pointer = Source { pointer: "count".to_owned(), ..sample("a") };
        assert!(refusal(pointer).starts_with("pointer must be a JSON pointer"));
        let mut outside = sample("a");
        outside.header_files.insert("x-key".to_owned(), "../passwd".to_owned());
        assert!(refusal(outside).starts_with("header `x-key`: a file's name without a path"));
    }

    #[test]
    fn rows_of_the_default_source_have_the_seeds_key_and_others_their_own() {
        assert_eq!(sample("default").key(), "ai_response_count");
        assert_eq!(sample("tokyo").key(), "ai_response_count#tokyo");
    }

    #[test]
    fn offsets_spread_sources_over_their_interval() {
        let offsets: Vec<u64> = (0..10_000).map(|n| offset_ms(&format!("s{n}"), 5)).collect();
        assert!(offsets.iter().all(|ms| *ms < 5000 && ms % 100 == 0));
        let different: BTreeSet<u64> = offsets.iter().copied().collect();
        assert_eq!(different.len(), 50);
        let most = different.iter().map(|ms| offsets.iter().filter(|it| *it == ms).count()).max();
        assert!(most.unwrap() < 300, "{most:?}");
        assert_eq!(offset_ms("tokyo", 5), offset_ms("tokyo", 5));
        assert!((0..100).all(|n| offset_ms(&format!("s{n}"), 86_400) < 60_000));
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(512))]

        // **Feature: data-collection-scheduler, Property 3: for any time window with valid from/to
        // dates, the built URL contains properly formatted ISO8601 query parameters that parse
        // back to equivalent timestamps**
        #[test]
        fn a_url_names_its_window_in_iso_8601(
            seconds in 0..253_402_300_700_u64,
            interval_s in 1..=86_400_u64,
        ) {
            let slot = Slot::holding(Timestamp::from_millis(seconds * 1000), interval_s);
            let url = sample("default").url(slot, |_| None).unwrap();
            let url = Url::parse(&url).unwrap();
            prop_assert!(url.as_str().starts_with("http://upstream.example/api/response_count?"));
            let parameter = |name: &str| {
                let found = url.query_pairs().find(|(key, _)| key == name);
                read_time(&found.unwrap().1).unwrap()
            };
            if slot.to().seconds() <= 253_402_300_799 {
                prop_assert_eq!((parameter("from"), parameter("to")), (slot.from(), slot.to()));
            }
        }
    }
}

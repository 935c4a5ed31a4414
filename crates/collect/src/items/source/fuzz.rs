//! Any text as a file of sources.

use std::collections::BTreeSet;

use base::Timestamp;
use reqwest::Url;

use super::{SourceForm, read_sources};
use crate::limits::SOURCES_MAX;
use crate::model::slot::Slot;

/// Slots that a house may ask for: the first one, one of our time, the last one of four digits.
const TIMES: [u64; 3] = [0, 1_800_000_000, 253_402_200_000];

#[test]
fn every_source_that_is_read_can_be_asked_and_written_again() {
    testkit::fuzz::check("sources", |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        let Ok(sources) = read_sources(text) else { return };
        assert!(sources.len() <= SOURCES_MAX);
        let names: BTreeSet<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(names.len(), sources.len(), "a name stands twice");
        for source in &sources {
            for seconds in TIMES {
                let time = Timestamp::from_seconds(seconds).unwrap();
                let slot = Slot::holding(time, source.rhythm.interval_s);
                let url = source.url(slot, |_| Some("secret".to_owned())).unwrap();
                let parsed = Url::parse(&url).unwrap_or_else(|error| panic!("{url}: {error}"));
                assert!(matches!(parsed.scheme(), "http" | "https") && parsed.has_host(), "{url}");
                assert!(parsed.username().is_empty() && parsed.password().is_none(), "{url}");
            }
        }
        let forms: Vec<SourceForm> = sources.iter().map(SourceForm::from).collect();
        let written = serde_json::to_string(&forms).unwrap();
        assert_eq!(read_sources(&written).unwrap(), sources, "{written}");
    });
}

//! What is asked: sources of the settings, of their file, and of the API.
//!
//! All are held in memory and read again when another instance changed one: every change moves one
//! number, which is what the others look at.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Timestamp;
use parking_lot::{Mutex, RwLock};
use reqwest::header::HeaderMap;
use table::{TransactItem, commit, query_all};
use tokio::sync::Mutex as AsyncMutex;

use crate::Collect;
use crate::api::upstream::Whom;
use crate::error::Error;
use crate::items::files::{fixed_with, read_headers};
use crate::items::source::{
    Kept, delete_source, get_changes, get_source, note_change, put_source, query_sources,
    read_changes, read_source,
};
use crate::limits::SOURCES_MAX;
use crate::model::policy::Turn;
use crate::model::retry::Breaker;
use crate::model::slot::{Slot, Span, begin_span, end_span, expected, first_minute, is_expected};
use crate::model::source::{DEFAULT, Source};
use crate::model::tally::State;

/// Rows of sources that are written together, with the number that they move.
const WRITES: usize = table::limits::TRANSACT_MAX - 1;
/// How often a change that lost a race is decided again.
const RACES_MAX: u32 = 10;

/// A source as this instance knows it.
#[derive(Debug)]
pub(crate) struct Active {
    pub(crate) source: Source,
    /// What is sent with every call.
    pub(crate) headers: HeaderMap,
    /// When it was asked.
    pub(crate) spans: Vec<Span>,
    /// Whether the settings or their file name it, and not the API.
    pub(crate) is_fixed: bool,
    pub(crate) pulse: Arc<Pulse>,
}

/// What is going on with a source on this instance.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    pub(crate) breaker: Mutex<Breaker>,
    pub(crate) turn: Mutex<Turn>,
    /// What became of the slot that was settled last.
    pub(crate) last: Mutex<Option<State>>,
}

impl Active {
    pub(crate) fn is_paused(&self) -> bool {
        self.open_span().is_none()
    }

    /// The span that goes on.
    pub(crate) fn open_span(&self) -> Option<&Span> {
        self.spans.last().filter(|span| span.to.is_none())
    }

    /// Whether somebody should look at it: it is left alone, or its last slot was not simply had.
    pub(crate) fn is_troubled(&self) -> bool {
        let last = *self.pulse.last.lock();
        let is_well = matches!(last, None | Some(State::Ok | State::Late));
        !self.is_paused() && (!is_well || self.pulse.breaker.lock().is_open())
    }

    /// Who is asked, and with what.
    pub(crate) fn whom(&self) -> Whom<'_> {
        Whom { source: &self.source, headers: &self.headers, is_named: self.is_fixed }
    }

    pub(crate) fn expects(&self, slot: Slot) -> bool {
        is_expected(&self.spans, slot)
    }

    /// How many slots of a window should be there.
    pub(crate) fn count_expected(&self, window: Slot) -> u64 {
        expected(&self.spans, window.from(), window.to()).len() as u64
    }
}

type Known = BTreeMap<String, Arc<Active>>;
type Fixed = BTreeMap<String, Source>;

/// All sources.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Those of the settings and of the last good file.
    fixed: RwLock<Arc<Fixed>>,
    /// What is wrong with the file now.
    file_problem: Mutex<Option<String>>,
    known: RwLock<Arc<Known>>,
    /// The number that every change moves, as of `known`. Whoever reads them again holds it, so
    /// that an older reading never replaces a newer one.
    changes: AsyncMutex<Option<u64>>,
}

impl Sources {
    pub(crate) fn new(fixed: Vec<Source>) -> Sources {
        Sources {
            fixed: RwLock::new(Arc::new(by_name(fixed))),
            file_problem: Mutex::default(),
            known: RwLock::default(),
            changes: AsyncMutex::new(None),
        }
    }

    fn fixed(&self) -> Arc<Fixed> {
        Arc::clone(&self.fixed.read())
    }

    /// What is wrong with the file of sources, which are those of the last good one.
    pub(crate) fn file_problem(&self) -> Option<String> {
        self.file_problem.lock().clone()
    }

    pub(crate) fn all(&self) -> Arc<Known> {
        Arc::clone(&self.known.read())
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<Active>> {
        self.known.read().get(name).cloned()
    }

    pub(crate) fn get(&self, name: &str) -> Result<Arc<Active>, Error> {
        self.find(name).ok_or_else(|| Error::NoSuchSource(name.to_owned()))
    }

    /// By its name, or by what its rows are found under.
    pub(crate) fn get_by_key(&self, key: &str) -> Result<Arc<Active>, Error> {
        if let Some(active) = self.find(key) {
            return Ok(active);
        }
        let name = key.rsplit_once('#').map_or(DEFAULT, |(_, name)| name);
        let active = self.find(name).filter(|active| active.source.key() == key);
        active.ok_or_else(|| Error::NoSuchSource(key.to_owned()))
    }
}

impl Collect {
    /// Sees to it that every source of the settings has a span that goes on, unless it was paused,
    /// and forgets those which are gone from them. Their values stay in the table.
    pub(crate) async fn adopt_sources(&self) -> Result<(), Error> {
        for _ in 0..RACES_MAX {
            let begin = first_minute(self.clock.now());
            let mut kept = self.load_kept().await?;
            let mut changed = Vec::new();
            for source in self.sources.fixed().values() {
                let row = kept
                    .remove(&source.name)
                    .unwrap_or_else(|| Kept { name: source.name.clone(), ..Kept::default() });
                changed.extend(adopted(row, source, begin).map(|row| put_source(&row)));
            }
            let gone = kept.values().filter(|row| row.form.is_none());
            changed.extend(gone.map(delete_source));
            if self.commit_all(changed).await? {
                return self.refresh_sources().await;
            }
        }
        Err(Error::Contended("of the settings".to_owned()))
    }

    /// Takes the sources from the text of their file. What is broken changes nothing but the word
    /// about it.
    ///
    /// # Errors
    /// The store did not answer: the sources are taken, and must be adopted again.
    pub(crate) async fn take_file(&self, text: &Result<String, String>) -> Result<(), Error> {
        let read = text.as_ref().map_err(|why| Error::Settings(why.clone()));
        let read = read.and_then(|text| fixed_with(&self.options, Some(text)));
        let fixed = match read {
            Ok(fixed) => by_name(fixed),
            Err(error) => {
                tracing::warn!(%error, "the sources of the file stay as they were");
                *self.sources.file_problem.lock() = Some(error.to_string());
                return Ok(());
            }
        };
        *self.sources.file_problem.lock() = None;
        if *self.sources.fixed() == fixed {
            return Ok(());
        }
        tracing::info!(sources = fixed.len(), "the file of sources has changed");
        *self.sources.fixed.write() = Arc::new(fixed);
        // Not every change of a source is one of its row.
        *self.sources.changes.lock().await = None;
        self.adopt_sources().await
    }

    /// Reads the sources again, if somebody changed one.
    pub(crate) async fn refresh_sources(&self) -> Result<(), Error> {
        let mut seen = self.sources.changes.lock().await;
        let item = self.tables.get(get_changes()).await?;
        let changes = Some(item.map_or(0, |item| read_changes(&item)));
        if *seen == changes {
            return Ok(());
        }
        let (before, mut known) = (self.sources.all(), Known::new());
        let all_fixed = self.sources.fixed();
        for (name, kept) in self.load_kept().await? {
            let fixed = all_fixed.get(&name);
            let source = match (fixed, kept.source()) {
                (Some(source), _) => source.clone(),
                (None, Some(Ok(source))) => source,
                (None, Some(Err(error))) => {
                    tracing::warn!(source = name, %error, "a stored source cannot be used");
                    continue;
                }
                (None, None) => continue,
            };
            let headers = read_headers(&self.options, &source).unwrap_or_else(|error| {
                // It will be told by the upstream too.
                tracing::warn!(source = name, %error, "a source is asked without its headers");
                HeaderMap::new()
            });
            let pulse = before.get(&name).map(|active| Arc::clone(&active.pulse));
            let active = Active {
                source,
                headers,
                spans: kept.spans,
                is_fixed: fixed.is_some(),
                pulse: pulse.unwrap_or_default(),
            };
            known.insert(name, Arc::new(active));
        }
        *self.sources.known.write() = Arc::new(known);
        *seen = changes;
        Ok(())
    }

    /// Adds a source, or replaces it where that is meant.
    pub(crate) async fn set_source(&self, source: &Source, replaces: bool) -> Result<(), Error> {
        read_headers(&self.options, source)?;
        let interval_s = source.rhythm.interval_s;
        self.change_source(&source.name, |kept, now| {
            match (kept.form.is_some(), replaces) {
                (true, false) => return Err(Error::SourceExists(source.name.clone())),
                (false, true) => return Err(Error::NoSuchSource(source.name.clone())),
                (false, false) if self.sources.all().len() >= SOURCES_MAX => {
                    let told = format!("there are {SOURCES_MAX} sources already");
                    return Err(Error::invalid(told));
                }
                (true, true) | (false, false) => {}
            }
            let last = kept.spans.last();
            let goes_on = last.is_some_and(|it| it.to.is_none() && it.interval_s == interval_s);
            let is_paused = replaces && last.is_none_or(|span| span.to.is_some());
            if !goes_on && !is_paused {
                begin_span(&mut kept.spans, first_minute(now), interval_s);
            }
            *kept = std::mem::take(kept).with_form(source);
            Ok(Change::Put)
        })
        .await
    }

    /// Takes a source away. Its values stay in the table.
    pub(crate) async fn delete_source(&self, name: &str) -> Result<(), Error> {
        self.change_source(name, |kept, _| match kept.form {
            Some(_) => Ok(Change::Delete),
            None => Err(Error::NoSuchSource(name.to_owned())),
        })
        .await
    }

    /// Asks a source no more, from now on. Slots that are not due yet are not expected.
    pub(crate) async fn pause_source(&self, name: &str) -> Result<(), Error> {
        let rhythm = self.sources.get(name)?.source.rhythm;
        self.change_own(name, |kept, now| {
            let end = rhythm.last_due(now).map_or(Timestamp::EPOCH, Slot::to);
            end_span(&mut kept.spans, end);
            Ok(Change::Put)
        })
        .await
    }

    /// Asks a source again, from the next minute on.
    pub(crate) async fn resume_source(&self, name: &str) -> Result<(), Error> {
        let rhythm = self.sources.get(name)?.source.rhythm;
        self.change_own(name, |kept, now| {
            if kept.spans.last().is_none_or(|span| span.to.is_some()) {
                begin_span(&mut kept.spans, first_minute(now), rhythm.interval_s);
            }
            Ok(Change::Put)
        })
        .await
    }

    async fn change_source(
        &self,
        name: &str,
        change: impl Fn(&mut Kept, Timestamp) -> Result<Change, Error>,
    ) -> Result<(), Error> {
        if self.sources.fixed().contains_key(name) {
            return Err(Error::SourceFixed(name.to_owned()));
        }
        self.change_own(name, change).await
    }

    async fn change_own(
        &self,
        name: &str,
        change: impl Fn(&mut Kept, Timestamp) -> Result<Change, Error>,
    ) -> Result<(), Error> {
        for _ in 0..RACES_MAX {
            let item = self.tables.get(get_source(name)).await?;
            let mut kept = item.as_ref().and_then(read_source).unwrap_or_default();
            kept.name = name.to_owned();
            let write = match change(&mut kept, self.clock.now())? {
                Change::Put => put_source(&kept),
                Change::Delete => delete_source(&kept),
            };
            if commit(&*self.tables, vec![note_change(), write]).await? {
                self.refresh_sources().await?;
                self.pushes.source(name);
                return Ok(());
            }
        }
        Err(Error::Contended(name.to_owned()))
    }

    async fn load_kept(&self) -> Result<BTreeMap<String, Kept>, Error> {
        let items = query_all(&*self.tables, query_sources()).await?;
        Ok(items.iter().filter_map(read_source).map(|kept| (kept.name.clone(), kept)).collect())
    }

    /// Writes rows of sources; false if somebody else did meanwhile.
    async fn commit_all(&self, writes: Vec<TransactItem>) -> Result<bool, Error> {
        for part in writes.chunks(WRITES) {
            let writes = std::iter::once(note_change()).chain(part.iter().cloned());
            if !commit(&*self.tables, writes.collect()).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn by_name(sources: Vec<Source>) -> Fixed {
    sources.into_iter().map(|source| (source.name.clone(), source)).collect()
}

/// What becomes of a source's row.
enum Change {
    Put,
    Delete,
}

/// The row of a source of the settings as it must be, if it is not.
fn adopted(mut row: Kept, source: &Source, begin: Timestamp) -> Option<Kept> {
    let interval_s = source.rhythm.interval_s;
    let was_the_apis = row.form.take().is_some();
    match row.spans.last() {
        Some(last) if last.to.is_none() && last.interval_s == interval_s => {}
        // It was paused, and stays so.
        Some(last) if last.to.is_some() && !was_the_apis => return None,
        Some(_) | None => {
            begin_span(&mut row.spans, begin, interval_s);
            return Some(row);
        }
    }
    was_the_apis.then_some(row)
}

//! What is asked: sources of the settings, of their file, and of the API; and those that were, whose
//! rows are still read.
//!
//! All are held in memory and read again when another instance changed one: every change moves one
//! number, which is what the others look at.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Timestamp;
use parking_lot::{Mutex, RwLock};
use table::{TransactItem, commit, query_all};
use tokio::sync::Mutex as AsyncMutex;

use crate::Collect;
use crate::api::upstream::Whom;
use crate::error::Error;
use crate::items::Placed;
use crate::items::files::{Credentials, SecretFiles, fixed_with};
use crate::items::kept::{
    Kept, delete_source, get_changes, get_source, note_change, put_source, query_sources,
    read_changes, read_source,
};
use crate::limits::SOURCES_MAX;
use crate::model::layout::Layout;
use crate::model::policy::Turn;
use crate::model::redact::restore;
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
    pub(crate) credentials: Credentials,
    /// When it was asked.
    pub(crate) spans: Vec<Span>,
    /// Where its rows are.
    pub(crate) layouts: Vec<Layout>,
    /// When it was deleted.
    pub(crate) deleted: Option<Timestamp>,
    /// Whether the settings or their file name it, and not the API.
    pub(crate) is_fixed: bool,
    pub(crate) pulse: Arc<Pulse>,
}

/// What is going on with a source on this instance.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    /// Of calls for live slots.
    pub(crate) breaker: Mutex<Breaker>,
    /// Of all other calls, which never stop live ones.
    pub(crate) apart: Mutex<Breaker>,
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
        let Active { source, credentials, is_fixed, .. } = self;
        Whom { source, credentials, is_named: *is_fixed }
    }

    /// It, and where its rows are.
    pub(crate) fn placed(&self) -> Placed<'_> {
        Placed { source: &self.source, layouts: &self.layouts }
    }

    /// Whether its rows are or were found under a key.
    fn has_key(&self, key: &str) -> bool {
        self.source.key() == key || self.layouts.iter().any(|layout| layout.key == key)
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
    /// Those that are deleted, and not purged.
    gone: RwLock<Arc<Known>>,
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
            gone: RwLock::default(),
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

    /// Those that are deleted, and not purged.
    pub(crate) fn gone(&self) -> Arc<Known> {
        Arc::clone(&self.gone.read())
    }

    /// By what its rows are found under, or by its name; also one that is deleted. Keys come first:
    /// a source that is called like the metric of the default one does not hide it.
    pub(crate) fn get_by_key(&self, key: &str) -> Result<Arc<Active>, Error> {
        let (known, gone) = (self.all(), self.gone());
        let name = key.rsplit_once('#').map_or(DEFAULT, |(_, name)| name);
        let by_key = |all: &Known| all.get(name).filter(|active| active.has_key(key)).cloned();
        let by_name = |all: &Known| all.get(key).cloned();
        let found = by_key(&known).or_else(|| by_key(&gone));
        let found = found.or_else(|| by_name(&known)).or_else(|| by_name(&gone));
        found.ok_or_else(|| Error::NoSuchSource(key.to_owned()))
    }
}

impl Collect {
    /// Sees to it that every source of the settings has a span that goes on, unless it was paused,
    /// and deletes those which are gone from them. Their rows are still read.
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
            let now = self.clock.now();
            let gone = kept.into_values().filter(|row| row.form.is_none() && row.deleted.is_none());
            changed.extend(gone.map(|row| deleted(row, now)));
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
        let before = self.sources.all();
        let (mut known, mut gone) = (Known::new(), Known::new());
        let (all_fixed, mut files) = (self.sources.fixed(), SecretFiles::new(&self.options));
        for (name, kept) in self.load_kept().await? {
            let fixed = all_fixed.get(&name).filter(|_| kept.deleted.is_none());
            let source = match (fixed, kept.last_source()) {
                (Some(source), _) => source.clone(),
                // One of the settings of another instance is not asked by this one.
                (None, _) if kept.form.is_none() && kept.deleted.is_none() => continue,
                (None, Some(Ok(source))) => source,
                (None, Some(Err(error))) => {
                    tracing::warn!(source = name, %error, "a stored source cannot be used");
                    continue;
                }
                (None, None) => continue,
            };
            let old = before.get(&name);
            let credentials = match kept.deleted {
                Some(_) => Credentials::default(),
                None => files.read_for(&source).unwrap_or_else(|error| {
                    tracing::warn!(source = name, %error, "a secret cannot be read");
                    // A file that is gone for a moment changes nothing.
                    let old = old.filter(|old| old.source == source);
                    old.map(|old| old.credentials.clone()).unwrap_or_default()
                }),
            };
            let layouts = match kept.layouts.is_empty() {
                true => vec![Layout::of(&source, Timestamp::EPOCH)],
                false => kept.layouts,
            };
            let active = Active {
                source,
                credentials,
                spans: kept.spans,
                layouts,
                deleted: kept.deleted,
                is_fixed: fixed.is_some(),
                pulse: old.map(|active| Arc::clone(&active.pulse)).unwrap_or_default(),
            };
            match active.deleted {
                None => known.insert(name, Arc::new(active)),
                Some(_) => gone.insert(name, Arc::new(active)),
            };
        }
        *self.sources.known.write() = Arc::new(known);
        *self.sources.gone.write() = Arc::new(gone);
        *seen = changes;
        Ok(())
    }

    /// Takes secrets from their files again, if one has changed.
    pub(crate) async fn refresh_secrets(&self) -> Result<(), Error> {
        let (all, mut files) = (self.sources.all(), SecretFiles::new(&self.options));
        let has_changed = all.values().any(|active| {
            files.read_for(&active.source).is_ok_and(|read| read != active.credentials)
        });
        if !has_changed {
            return Ok(());
        }
        tracing::info!("secrets have changed");
        *self.sources.changes.lock().await = None;
        self.refresh_sources().await
    }

    /// Adds a source, or replaces it where that is meant. One that was deleted has its history.
    pub(crate) async fn set_source(&self, source: &Source, replaces: bool) -> Result<(), Error> {
        if source.name == DEFAULT && !replaces {
            let told = format!("`{DEFAULT}` is the source of `collect.base_url`");
            return Err(Error::invalid(told));
        }
        SecretFiles::new(&self.options).read_for(source)?;
        let interval_s = source.rhythm.interval_s;
        self.change_source(&source.name, |kept, now| {
            match (kept.form.is_some(), replaces) {
                (true, false) => return Err(Error::SourceExists(source.name.clone())),
                (false, true) => return Err(Error::NoSuchSource(source.name.clone())),
                (false, false) => self.check_room_for(kept)?,
                (true, true) => {}
            }
            let source = with_hidden(source, kept)?;
            let last = kept.spans.last();
            let goes_on = last.is_some_and(|it| it.to.is_none() && it.interval_s == interval_s);
            let is_paused = replaces && last.is_none_or(|span| span.to.is_some());
            if !goes_on && !is_paused {
                begin_span(&mut kept.spans, first_minute(now), interval_s);
            }
            kept.move_to(&source, first_minute(now))?;
            kept.set_form(&source);
            Ok(Change::Put)
        })
        .await
    }

    /// Whether there is room for one more source.
    fn check_room_for(&self, kept: &Kept) -> Result<(), Error> {
        if kept.is_purged {
            return Err(Error::SourcePurged(kept.name.clone()));
        }
        if self.sources.all().len() >= SOURCES_MAX {
            return Err(Error::invalid(format!("there are {SOURCES_MAX} sources already")));
        }
        if kept.deleted.is_none() && self.sources.gone().len() >= SOURCES_MAX {
            let told = format!("there are {SOURCES_MAX} deleted sources; purge some");
            return Err(Error::invalid(told));
        }
        Ok(())
    }

    /// Deletes a source. Its rows are read until they are purged.
    pub(crate) async fn delete_source(&self, name: &str) -> Result<(), Error> {
        self.change_source(name, |kept, now| match kept.form {
            Some(_) => {
                end_with(kept, now);
                Ok(Change::Put)
            }
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

    pub(super) async fn change_own(
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
pub(super) enum Change {
    Put,
    Delete,
}

/// The row of a source of the settings as it must be, if it is not.
fn adopted(mut row: Kept, source: &Source, begin: Timestamp) -> Option<Kept> {
    let interval_s = source.rhythm.interval_s;
    let comes_back = row.form.is_some() || row.deleted.is_some();
    let places = row.layouts.clone();
    if let Err(error) = row.move_to(source, begin) {
        tracing::warn!(%error, "rows stay where they were");
    }
    let is_new = row.note_form(source);
    (row.form, row.deleted, row.is_purged) = (None, None, false);
    let begins = match row.spans.last() {
        Some(last) if last.to.is_none() => last.interval_s != interval_s,
        // It was paused, and stays so.
        Some(_) => comes_back,
        None => true,
    };
    if begins {
        begin_span(&mut row.spans, begin, interval_s);
    }
    (begins || comes_back || is_new || row.layouts != places).then_some(row)
}

/// The write by which a source that is gone from the settings is deleted.
fn deleted(mut row: Kept, now: Timestamp) -> TransactItem {
    // Of one that an older version wrote nobody knows how its rows would be read.
    if row.was.is_none() {
        return delete_source(&row);
    }
    end_with(&mut row, now);
    put_source(&row)
}

/// Ends a source: slots that are not due yet are not expected.
fn end_with(kept: &mut Kept, now: Timestamp) {
    let source = kept.last_source().and_then(Result::ok);
    let due = source.and_then(|source| source.rhythm.last_due(now)).map(Slot::to);
    end_span(&mut kept.spans, due.unwrap_or(now));
    kept.delete(now);
}

/// A source with the values that were left out when it was shown. They stay with the place that
/// they were for.
fn with_hidden(source: &Source, kept: &Kept) -> Result<Source, Error> {
    let before = kept.last_source().and_then(Result::ok);
    let before = before.filter(|before| before.base_url == source.base_url);
    let old = before.as_ref().map_or("", |before| before.path.as_str());
    let path = restore(&source.path, old).map_err(|name| {
        Error::invalid(format!(
            "path: the value of `{name}` is missing; `[redacted]` stands for one that is there"
        ))
    })?;
    Ok(Source { path, ..source.clone() })
}

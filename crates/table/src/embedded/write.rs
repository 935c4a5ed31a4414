//! Writing: check, decide, submit, wait.
//!
//! A write is decided under the locks of its items' stripes, against the latest versions, also
//! those still on their way to the disk: the log keeps their order. What it was decided on may be
//! taken back when the disk is full; then it is decided again. A refusal is answered only when
//! what it rests on is durable, so that nobody learns of something that a crash undoes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use base::Hold;
use bytes::Bytes;
use parking_lot::MutexGuard;
use sha2::{Digest, Sha256};

use super::arena::Arena;
use super::catalog::{TOKENS, Table};
use super::commit::{Batch, Change, Submitted};
use super::effects::{self, Stored};
use super::log::{Op, OpKind};
use super::state::{Row, Sight, Snapshot};
use super::{Engine, is_expired, keys, row};
use crate::error::{CancelReason, Error};
use crate::expr::{Actions, Condition};
use crate::limits::{
    BATCH_WRITE_MAX, TOKEN_BYTES_MAX, TOKEN_SECONDS, TRANSACT_BYTES_MAX, TRANSACT_MAX,
};
use crate::port::{BatchWrite, Delete, Put, Return, TransactItem, TransactWrite, Update};
use crate::spec::TableSpec;
use crate::validate;
use crate::value::{Item, Value};

/// How often a decision is made again before the caller is told that the store is busy. Each
/// round needs a full disk or a changed declaration in between.
const ATTEMPTS_MAX: u32 = 16;
/// Locks over which items are spread, a byte each. Two items on one stripe only wait for each
/// other's decision, a few microseconds; a transaction takes its stripes in order. With fewer, two
/// transactions of a hundred items each would nearly always meet on one.
pub(super) const STRIPES: usize = 1 << 16;

/// One write, whatever its kind.
struct Intent<'a> {
    table: &'a str,
    key: &'a Item,
    verb: Verb<'a>,
    condition: Option<&'a Condition>,
    returning: Return,
    item_on_failure: bool,
}

enum Verb<'a> {
    Put,
    Update(&'a Actions),
    Delete,
    Check,
}

/// An intent whose form is right for its table.
struct Target<'a> {
    intent: Intent<'a>,
    table: Arc<Table>,
    key: Bytes,
}

/// A write of a transaction: what it aims at, or why its table refuses it.
type Aim<'a> = Result<Target<'a>, Misfit>;

/// A write that does not fit its table.
struct Misfit {
    /// The key of its item, if that at least fits.
    key: Option<Bytes>,
    why: String,
}

/// What became of one write.
enum Verdict<T> {
    /// It happens; what was to be seen of it.
    Done(T),
    /// Its condition does not hold, for the item as it is.
    Refused(Option<Box<Item>>),
}

/// One write as it happens, for who wants more of it than an answer. Looked at under the locks:
/// whoever looks must be brief.
#[derive(Debug)]
pub struct Written<'a> {
    /// The declaration of its table.
    pub table: &'a TableSpec,
    /// What `returning` asked for.
    pub answer: Option<Item>,
    /// The item before.
    pub before: Option<&'a Item>,
    /// The item after.
    pub after: Option<&'a Item>,
}

/// A write that is in order, and durable when its batch is.
struct Ordered<T> {
    answer: T,
    batch: Option<Arc<Batch>>,
    /// A virtual clock does not see the committer's thread: it stays until the answer is here.
    _hold: Hold,
}

impl<T> Ordered<T> {
    /// The answer, as soon as it is true for good.
    async fn durable(self) -> Result<T, Error> {
        if let Some(batch) = &self.batch {
            batch.wait().await?;
        }
        Ok(self.answer)
    }
}

/// What an attempt came to.
enum Attempt<T> {
    /// Submitted; wait for the batch.
    Submitted(T, Option<Arc<Batch>>),
    /// Refused; wait for the batch that wrote what it was refused for.
    Refused(Error, Option<Arc<Batch>>),
    /// Decide again.
    Again,
}

impl Engine {
    pub(super) async fn write_put<T>(
        &self,
        put: Put,
        see: impl Fn(Written<'_>) -> T,
    ) -> Result<T, Error> {
        if !matches!(put.returning, Return::None | Return::AllOld) {
            return Err(Error::invalid("a put returns nothing or the old item"));
        }
        self.write_one(Intent::put(&put), see).await
    }

    pub(super) async fn write_delete<T>(
        &self,
        delete: Delete,
        see: impl Fn(Written<'_>) -> T,
    ) -> Result<T, Error> {
        if !matches!(delete.returning, Return::None | Return::AllOld) {
            return Err(Error::invalid("a delete returns nothing or the old item"));
        }
        self.write_one(Intent::delete(&delete), see).await
    }

    pub(super) async fn write_update<T>(
        &self,
        update: Update,
        see: impl Fn(Written<'_>) -> T,
    ) -> Result<T, Error> {
        self.write_one(Intent::update(&update), see).await
    }

    /// Comes to some reminders of a table: removes those of their `rows` that have expired, and is
    /// reminded of the others anew. The sweeper's own write.
    pub(super) async fn write_expire(
        &self,
        table: &Arc<Table>,
        reminders: &[Bytes],
        rows: &BTreeSet<Bytes>,
    ) -> Result<(), Error> {
        self.commits.wait_for_room().await?;
        let attempt = || self.attempt_expire(table, reminders, rows);
        let removed = self.settle_attempts(attempt).await?.durable().await?;
        self.meters.expired.increment(removed);
        Ok(())
    }

    fn attempt_expire(
        &self,
        table: &Arc<Table>,
        reminders: &[Bytes],
        rows: &BTreeSet<Bytes>,
    ) -> Result<Attempt<u64>, Error> {
        let epoch = self.commits.epoch();
        let _stripes = self.lock_stripes(rows.iter());
        if !self.is_current(table) {
            // Declared anew or gone: what is left to do is found again.
            return Ok(Attempt::Submitted(0, None));
        }
        let snapshot = self.rows.snapshot(Sight::Latest)?;
        let (mut change, mut removed, now) = (Change::default(), 0, self.now_s());
        for key in rows {
            change.rests_on = change.rests_on.max(snapshot.touched(key));
            let Some(row) = snapshot.get(key)? else { continue };
            let held = Stored::read(key, row.into_bytes())?;
            if !is_expired(held.head.expiry, now) {
                if held.head.expiry > now {
                    change.reminders.add(table.id, held.head.expiry, key);
                }
                continue;
            }
            removed += 1;
            effects::replace(table, key, Some(&held), None, &mut change);
            if !table.is_ephemeral() {
                let gone = op(OpKind::Expire, table, key, Some(&held), None, &mut change.arena);
                change.ops.push(gone);
            }
        }
        drop(snapshot);
        change.versions.extend(reminders.iter().map(|reminder| (reminder.clone(), None, false)));
        Ok(match self.commits.submit(change, epoch)? {
            Submitted::Taken(batch) => Attempt::Submitted(removed, batch),
            Submitted::Outdated => Attempt::Again,
        })
    }

    async fn write_one<T>(
        &self,
        intent: Intent<'_>,
        see: impl Fn(Written<'_>) -> T,
    ) -> Result<T, Error> {
        self.commits.wait_for_room().await?;
        let mut arena = Arena::default();
        let mut target = self.target(intent, &mut arena)?;
        let ordered = self.settle_attempts(|| {
            if !self.is_current(&target.table) {
                target = self.target(std::mem::take(&mut target.intent), &mut arena)?;
            }
            self.attempt_one(&target, &see)
        });
        ordered.await?.durable().await
    }

    /// Attempts until one is submitted or refused. A refusal waits for the disk here.
    async fn settle_attempts<T>(
        &self,
        mut attempt: impl FnMut() -> Result<Attempt<T>, Error>,
    ) -> Result<Ordered<T>, Error> {
        let hold = self.clock.hold();
        for _ in 0..ATTEMPTS_MAX {
            match attempt()? {
                Attempt::Submitted(answer, batch) => {
                    return Ok(Ordered { answer, batch, _hold: hold });
                }
                Attempt::Refused(error, None) => return Err(error),
                Attempt::Refused(error, Some(batch)) => {
                    if batch.wait().await.is_ok() {
                        return Err(error);
                    }
                }
                Attempt::Again => {}
            }
        }
        Err(Error::Throttled("the write lost every race".to_owned()))
    }

    fn attempt_one<T>(
        &self,
        target: &Target<'_>,
        see: &impl Fn(Written<'_>) -> T,
    ) -> Result<Attempt<T>, Error> {
        let epoch = self.commits.epoch();
        let _stripe = self.stripe(&target.key).lock();
        if !self.is_current(&target.table) {
            return Ok(Attempt::Again);
        }
        let snapshot = self.rows.snapshot(Sight::Latest)?;
        let mut change = Change::default();
        let verdict = self.decide(snapshot.get(&target.key)?, target, &mut change, see);
        // What a refusal or an answer without a change rests on must be durable first.
        let seen = || snapshot.touched(&target.key);
        Ok(match verdict {
            Ok(Verdict::Refused(item)) => self.rest(seen(), epoch, |batch| {
                Attempt::Refused(Error::ConditionFailed { item }, batch)
            }),
            Err(error @ Error::Invalid(_)) => {
                self.rest(seen(), epoch, |batch| Attempt::Refused(error, batch))
            }
            Err(error) => return Err(error),
            Ok(Verdict::Done(answer)) if change.versions.is_empty() => {
                self.rest(seen(), epoch, |batch| Attempt::Submitted(answer, batch))
            }
            Ok(Verdict::Done(answer)) => {
                if target.table.is_ephemeral() {
                    change.rests_on = seen();
                }
                drop(snapshot);
                match self.commits.submit(change, epoch)? {
                    Submitted::Taken(batch) => Attempt::Submitted(answer, batch),
                    Submitted::Outdated => Attempt::Again,
                }
            }
        })
    }

    /// What becomes of an attempt that rests on change `seq`, seen since `epoch`.
    fn rest<T>(
        &self,
        seq: u64,
        epoch: u64,
        attempt: impl FnOnce(Option<Arc<Batch>>) -> Attempt<T>,
    ) -> Attempt<T> {
        match self.commits.batch_of(seq, epoch) {
            Submitted::Taken(batch) => attempt(batch),
            Submitted::Outdated => Attempt::Again,
        }
    }

    pub(super) async fn write_batch(
        &self,
        writes: Vec<BatchWrite>,
    ) -> Result<Vec<BatchWrite>, Error> {
        if writes.is_empty() || writes.len() > BATCH_WRITE_MAX {
            let (count, max) = (writes.len(), BATCH_WRITE_MAX);
            return Err(Error::invalid(format!("a batch has 1 to {max} writes, not {count}")));
        }
        self.commits.wait_for_room().await?;
        let mut arena = Arena::of_keys(writes.len());
        let mut targets = writes
            .iter()
            .map(|write| self.target(Intent::batched(write), &mut arena))
            .collect::<Result<Vec<_>, _>>()?;
        check_distinct(targets.iter().map(|target| &target.key), "a batch")?;
        let mut all = Vec::with_capacity(targets.len());
        for target in &mut targets {
            let ordered = self.settle_attempts(|| {
                if !self.is_current(&target.table) {
                    *target = self.target(std::mem::take(&mut target.intent), &mut arena)?;
                }
                self.attempt_one(target, &|_| ())
            });
            all.push(ordered.await?);
        }
        for ordered in all {
            ordered.durable().await?;
        }
        Ok(Vec::new())
    }

    /// Answers what was seen of each write; nothing when the token was spent before.
    pub(super) async fn write_transaction<T>(
        &self,
        transaction: TransactWrite,
        see: impl Fn(Written<'_>) -> T,
    ) -> Result<Vec<T>, Error> {
        let count = transaction.writes.len();
        if count == 0 || count > TRANSACT_MAX {
            return Err(Error::invalid(format!(
                "a transaction has 1 to {TRANSACT_MAX} writes, not {count}"
            )));
        }
        let token = transaction
            .token
            .as_deref()
            .map(|token| self.token(token, &transaction))
            .transpose()?;
        self.commits.wait_for_room().await?;
        let aims = || {
            let intents = transaction.writes.iter().map(Intent::transacted);
            let (mut arena, mut last) = (Arena::of_keys(count), None);
            let aims = intents.map(|intent| self.aim(intent, &mut last, &mut arena));
            let aims = aims.collect::<Result<Vec<_>, _>>()?;
            check_distinct(aims.iter().filter_map(key_of), "a transaction")?;
            Ok::<_, Error>(aims)
        };
        let mut current = aims()?;
        let ordered = self.settle_attempts(|| {
            if !self.are_current(&current) {
                current = aims()?;
            }
            self.attempt_all(&current, token.as_ref(), &see)
        });
        let ordered = ordered.await?;
        // Others work while this one waits: its memory is theirs, as long as it is at hand.
        drop(current);
        drop(transaction);
        ordered.durable().await
    }

    fn attempt_all<T>(
        &self,
        aims: &[Aim<'_>],
        token: Option<&Token>,
        see: &impl Fn(Written<'_>) -> T,
    ) -> Result<Attempt<Vec<T>>, Error> {
        let epoch = self.commits.epoch();
        let targets = aims.iter().flatten();
        let keys = targets.map(|target| &target.key).chain(token.map(|token| &token.key));
        let _stripes = self.lock_stripes(keys);
        if !self.are_current(aims) {
            return Ok(Attempt::Again);
        }
        let snapshot = self.rows.snapshot(Sight::Latest)?;
        let mut change = Change::of_rows(aims.len());
        if let Some(token) = token
            && let Some(attempt) = self.spend(&snapshot, epoch, token, &mut change)?
        {
            return Ok(attempt);
        }
        change.weight = 0;
        let mut reasons = Vec::with_capacity(aims.len());
        let mut seen_writes = Vec::with_capacity(aims.len());
        let lacking =
            snapshot.lacks_all(aims.iter().map(|aim| key_of(aim).map_or(&[][..], |key| key)));
        for (aim, lacks) in aims.iter().zip(lacking) {
            let target = match aim {
                Ok(target) => target,
                Err(misfit) => {
                    reasons.push(CancelReason::Invalid(misfit.why.clone()));
                    continue;
                }
            };
            let held = if lacks { None } else { snapshot.get(&target.key)? };
            reasons.push(match self.decide(held, target, &mut change, see) {
                Ok(Verdict::Done(seen)) => {
                    seen_writes.push(seen);
                    CancelReason::None
                }
                Ok(Verdict::Refused(item)) => CancelReason::ConditionFailed { item },
                Err(Error::Invalid(why)) => CancelReason::Invalid(why),
                Err(other) => return Err(other),
            });
        }
        let refused = reasons.iter().any(|reason| *reason != CancelReason::None);
        // The log keeps the order of what is in it. Only what is not has to look back.
        let seen = if refused || change.ops.is_empty() {
            aims.iter().flatten().map(|target| snapshot.touched(&target.key)).max().unwrap_or(0)
        } else {
            0
        };
        drop(snapshot);
        if refused {
            let error = Error::TransactionCanceled { reasons };
            return Ok(self.rest(seen, epoch, |batch| Attempt::Refused(error, batch)));
        }
        if change.weight > TRANSACT_BYTES_MAX {
            let (weight, max) = (change.weight, TRANSACT_BYTES_MAX);
            return Err(Error::invalid(format!(
                "the transaction weighs {weight} bytes; the most is {max}"
            )));
        }
        if change.versions.is_empty() {
            return Ok(self.rest(seen, epoch, |batch| Attempt::Submitted(seen_writes, batch)));
        }
        change.rests_on = seen;
        Ok(match self.commits.submit(change, epoch)? {
            Submitted::Taken(batch) => Attempt::Submitted(seen_writes, batch),
            Submitted::Outdated => Attempt::Again,
        })
    }

    /// What becomes of a write, when this row is there.
    fn decide<T>(
        &self,
        held: Option<Row<'_>>,
        target: &Target<'_>,
        change: &mut Change,
        see: &impl Fn(Written<'_>) -> T,
    ) -> Result<Verdict<T>, Error> {
        let (intent, table) = (&target.intent, &target.table);
        let held = held.map(|row| Stored::read(&target.key, row.into_bytes())).transpose()?;
        let expired = held.as_ref().is_some_and(|held| is_expired(held.head.expiry, self.now_s()));
        let before = held.as_ref().filter(|_| !expired).map(|held| &*held.item);
        if !intent.condition.is_none_or(|condition| condition.holds(before)) {
            let item = before.filter(|_| intent.item_on_failure).cloned().map(Box::new);
            return Ok(Verdict::Refused(item));
        }
        let after = match intent.verb {
            Verb::Put => Some(Cow::Borrowed(intent.key)),
            Verb::Update(actions) if before.is_none() && actions.only_remove() => None,
            Verb::Update(actions) => {
                let after = actions.apply(before.unwrap_or(intent.key))?;
                validate::check_updated(&table.spec, &after)?;
                Some(Cow::Owned(after))
            }
            Verb::Delete => None,
            Verb::Check => return Ok(Verdict::Done(see(target.written(before, before)))),
        };
        let answer = see(target.written(before, after.as_deref()));
        let new = after.map(|item| Stored::new(table, &target.key, item, &mut change.arena));
        if held.is_none() && new.is_none() {
            return Ok(Verdict::Done(answer));
        }
        effects::replace(table, &target.key, held.as_ref(), new.as_ref(), change);
        if !table.is_ephemeral() {
            let old = held.as_ref().filter(|_| !expired || new.is_none());
            let kind = match (old, &new) {
                (_, None) => OpKind::Remove,
                (None, Some(_)) => OpKind::Insert,
                (Some(_), Some(_)) => OpKind::Modify,
            };
            change.ops.push(op(kind, table, &target.key, old, new.as_ref(), &mut change.arena));
        }
        Ok(Verdict::Done(answer))
    }

    /// What a write of a transaction aims at. A form that no table takes fails the whole call;
    /// what only this table refuses is the write's own reason.
    /// `last` is the table of the write before, which it often shares.
    fn aim<'a>(
        &self,
        intent: Intent<'a>,
        last: &mut Option<Arc<Table>>,
        arena: &mut Arena,
    ) -> Result<Aim<'a>, Error> {
        intent.check_form()?;
        let table = match last.take().filter(|last| last.spec.name == intent.table) {
            Some(last) => last,
            None => Arc::clone(self.catalog.load().get(intent.table)?),
        };
        *last = Some(Arc::clone(&table));
        match intent.fit(&table, arena.scratch()) {
            Ok(()) => Ok(Ok(Target::new(intent, table, arena))),
            Err(Error::Invalid(why)) => {
                // What is empty is no key of any table.
                validate::check_not_empty(&table.spec, intent.key)?;
                let key = validate::key_of(&table.spec.key, intent.key);
                let key = key.and_then(|key| keys::row_key(table.id, &table.spec.key, &key).ok());
                Ok(Err(Misfit { key: key.map(Bytes::from), why }))
            }
            Err(other) => Err(other),
        }
    }

    /// What a write aims at; its key in `arena`.
    fn target<'a>(&self, intent: Intent<'a>, arena: &mut Arena) -> Result<Target<'a>, Error> {
        let table = Arc::clone(self.catalog.load().get(intent.table)?);
        if let Some(condition) = intent.condition {
            condition.check()?;
        }
        intent.fit(&table, arena.scratch())?;
        if let Verb::Put = intent.verb {
            validate::check_alone(intent.key)?;
        }
        Ok(Target::new(intent, table, arena))
    }

    fn is_current(&self, table: &Arc<Table>) -> bool {
        self.catalog.load().find(&table.spec.name).is_some_and(|held| Arc::ptr_eq(held, table))
    }

    /// Whether the tables of a transaction are still declared as they were. Most of its writes are
    /// of one table.
    fn are_current(&self, aims: &[Aim<'_>]) -> bool {
        let mut last: Option<&Arc<Table>> = None;
        aims.iter().flatten().map(|target| &target.table).all(|table| {
            let known = last.replace(table).is_some_and(|last| Arc::ptr_eq(last, table));
            known || self.is_current(table)
        })
    }

    fn stripe(&self, key: &[u8]) -> &parking_lot::Mutex<()> {
        let number = crc32c::crc32c(key) as usize % STRIPES;
        self.stripes.get(number).expect("the remainder is below the number of stripes")
    }

    /// The stripes of all keys, each once, in order: no two transactions wait for each other.
    fn lock_stripes<'k>(&self, keys: impl Iterator<Item = &'k Bytes>) -> Vec<MutexGuard<'_, ()>> {
        let mut numbers: Vec<usize> =
            keys.map(|key| crc32c::crc32c(key) as usize % STRIPES).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
            .into_iter()
            .filter_map(|number| self.stripes.get(number))
            .map(|stripe| stripe.lock())
            .collect()
    }

    /// All stripes: nobody decides anything meanwhile.
    pub(super) fn lock_all_stripes(&self) -> Vec<MutexGuard<'_, ()>> {
        self.stripes.iter().map(|stripe| stripe.lock()).collect()
    }
}

impl<'a> Target<'a> {
    /// With the key that was written to the arena's scratch.
    fn new(intent: Intent<'a>, table: Arc<Table>, arena: &mut Arena) -> Target<'a> {
        Target { intent, table, key: arena.keep_scratch() }
    }

    fn written<'i>(&'i self, before: Option<&'i Item>, after: Option<&'i Item>) -> Written<'i> {
        let answer = self.intent.answer(before, after);
        Written { table: &self.table.spec, answer, before, after }
    }
}

impl Default for Intent<'_> {
    fn default() -> Self {
        static EMPTY: std::sync::LazyLock<Item> = std::sync::LazyLock::new(Item::new);
        Intent {
            table: "",
            key: &EMPTY,
            verb: Verb::Check,
            condition: None,
            returning: Return::None,
            item_on_failure: false,
        }
    }
}

impl<'a> Intent<'a> {
    fn put(put: &'a Put) -> Intent<'a> {
        Intent {
            table: &put.table,
            key: &put.item,
            verb: Verb::Put,
            condition: put.condition.as_ref(),
            returning: put.returning,
            item_on_failure: put.item_on_failure,
        }
    }

    fn update(update: &'a Update) -> Intent<'a> {
        Intent {
            table: &update.table,
            key: &update.key,
            verb: Verb::Update(&update.actions),
            condition: update.condition.as_ref(),
            returning: update.returning,
            item_on_failure: update.item_on_failure,
        }
    }

    fn delete(delete: &'a Delete) -> Intent<'a> {
        Intent {
            table: &delete.table,
            key: &delete.key,
            verb: Verb::Delete,
            condition: delete.condition.as_ref(),
            returning: delete.returning,
            item_on_failure: delete.item_on_failure,
        }
    }

    fn batched(write: &'a BatchWrite) -> Intent<'a> {
        let (table, key, verb) = match write {
            BatchWrite::Put { table, item } => (table, item, Verb::Put),
            BatchWrite::Delete { table, key } => (table, key, Verb::Delete),
        };
        Intent {
            table,
            key,
            verb,
            condition: None,
            returning: Return::None,
            item_on_failure: false,
        }
    }

    fn transacted(write: &'a TransactItem) -> Intent<'a> {
        match write {
            TransactItem::Put(put) => Intent::put(put),
            TransactItem::Update(update) => Intent::update(update),
            TransactItem::Delete(delete) => Intent::delete(delete),
            TransactItem::Check(check) => Intent {
                table: &check.table,
                key: &check.key,
                verb: Verb::Check,
                condition: Some(&check.condition),
                returning: Return::None,
                item_on_failure: check.item_on_failure,
            },
        }
    }

    /// Whether DynamoDB would take this in a transaction on any table.
    fn check_form(&self) -> Result<(), Error> {
        if let Some(condition) = self.condition {
            condition.check()?;
        }
        match self.verb {
            Verb::Put => validate::check_alone(self.key),
            Verb::Update(actions) if actions.touched().is_empty() => {
                Err(Error::invalid("Invalid UpdateExpression: The expression can not be empty;"))
            }
            Verb::Update(actions) => actions.check_form(),
            Verb::Delete | Verb::Check => Ok(()),
        }
    }

    /// Whether a table takes this; then `out` has the key of its item.
    fn fit(&self, table: &Table, out: &mut Vec<u8>) -> Result<(), Error> {
        let spec = &table.spec;
        if let Some(condition) = self.condition {
            validate::check_key_paths(spec, condition.paths())?;
        }
        match self.verb {
            Verb::Put => validate::check_keys(spec, self.key)?,
            Verb::Update(actions) => {
                validate::check_key(&spec.key, self.key)?;
                actions.check(&spec.key)?;
            }
            Verb::Delete | Verb::Check => validate::check_key(&spec.key, self.key)?,
        }
        keys::write_row_key(out, table.id, &spec.key, self.key)
    }

    fn answer(&self, before: Option<&Item>, after: Option<&Item>) -> Option<Item> {
        let updated = |item: Option<&Item>| match self.verb {
            Verb::Update(actions) => item.map(|item| actions.project_updated(item)),
            _ => None,
        };
        match self.returning {
            Return::None => None,
            Return::AllOld => before.cloned(),
            Return::AllNew => after.cloned(),
            Return::UpdatedOld => updated(before).filter(|item| !item.is_empty()),
            Return::UpdatedNew => updated(after).filter(|item| !item.is_empty()),
        }
    }
}

/// What the log tells of the change of one row.
fn op(
    kind: OpKind,
    table: &Table,
    key: &Bytes,
    old: Option<&Stored<'_>>,
    new: Option<&Stored<'_>>,
    arena: &mut Arena,
) -> Op {
    let row = match (old, new) {
        (_, Some(new)) => new.row.clone(),
        (None, None) => Bytes::new(),
        (Some(old), None) => {
            let item = validate::key_of(&table.spec.key, &old.item).unwrap_or_default();
            row::encode_row(key, &item, None, arena)
        }
    };
    let old = old.filter(|_| table.spec.old_images).map(|old| old.row.clone());
    Op { kind, table: table.id, key: key.clone(), row, old }
}

fn key_of<'a>(aim: &'a Aim<'_>) -> Option<&'a Bytes> {
    match aim {
        Ok(target) => Some(&target.key),
        Err(misfit) => misfit.key.as_ref(),
    }
}

fn check_distinct<'a>(keys: impl Iterator<Item = &'a Bytes>, what: &str) -> Result<(), Error> {
    let mut keys: Vec<&Bytes> = keys.collect();
    keys.sort_unstable();
    if keys.is_sorted_by(|one, next| one < next) {
        return Ok(());
    }
    Err(Error::invalid(format!("{what} cannot include multiple operations on one item")))
}

/// An idempotency token with what it stands for.
struct Token {
    key: Bytes,
    row: Stored<'static>,
    table: Arc<Table>,
    fingerprint: Value,
}

impl Engine {
    fn token(&self, token: &str, transaction: &TransactWrite) -> Result<Token, Error> {
        if token.is_empty() || token.len() > TOKEN_BYTES_MAX {
            let max = TOKEN_BYTES_MAX;
            return Err(Error::invalid(format!("an idempotency token has 1 to {max} characters")));
        }
        let table = Arc::clone(self.catalog.load().get(TOKENS)?);
        let digest = Sha256::digest(format!("{:?}", transaction.writes));
        let fingerprint = Value::B(Bytes::copy_from_slice(&digest));
        let item = Item::new()
            .with("token", token)
            .with("request", fingerprint.clone())
            .with("expires", self.now_s() + TOKEN_SECONDS);
        let key = Bytes::from(keys::row_key(table.id, &table.spec.key, &item)?);
        let row = Stored::new(&table, &key, Cow::Owned(item), &mut Arena::default());
        Ok(Token { key, row, table, fingerprint })
    }

    /// Spends the token in `change`, or answers what its earlier use decided.
    fn spend<T>(
        &self,
        snapshot: &Snapshot<'_>,
        epoch: u64,
        token: &Token,
        change: &mut Change,
    ) -> Result<Option<Attempt<Vec<T>>>, Error> {
        let held = snapshot.get(&token.key)?.map(|row| Stored::read(&token.key, row.into_bytes()));
        let held = held.transpose()?;
        if let Some(held) = held.as_ref().filter(|held| !is_expired(held.head.expiry, self.now_s()))
        {
            let seq = snapshot.touched(&token.key);
            let same = held.item.get("request") == Some(&token.fingerprint);
            return Ok(Some(self.rest(seq, epoch, |batch| match same {
                true => Attempt::Submitted(Vec::new(), batch),
                false => Attempt::Refused(Error::TokenMismatch, batch),
            })));
        }
        effects::replace(&token.table, &token.key, held.as_ref(), Some(&token.row), change);
        let (kind, row) = (OpKind::Insert, token.row.row.clone());
        change.ops.push(Op { kind, table: token.table.id, key: token.key.clone(), row, old: None });
        Ok(None)
    }
}

//! What every service does with the port: reading a query to its end, committing a decision, and
//! batches of any size.

use base::Clock;

use crate::error::{CancelReason, Error};
use crate::expr::build::attr;
use crate::limits::{BATCH_GET_MAX, BATCH_WRITE_MAX, OFFER_PAUSE, OFFERS_MAX};
use crate::port::{BatchWrite, Get, Put, Query, Return, Tables, TransactItem, TransactWrite};
use crate::secret::Secrets;
use crate::spec::TableSpec;
use crate::value::Item;

/// All items that a query finds, page after page.
///
/// # Errors
/// The store did not answer.
pub async fn query_all(tables: &dyn Tables, mut query: Query) -> Result<Vec<Item>, Error> {
    let mut items = Vec::new();
    loop {
        let page = tables.query(query.clone()).await?;
        items.extend(page.items);
        match page.last_key {
            Some(last) => query.start_after = Some(last),
            None => return Ok(items),
        }
    }
}

/// Writes an item of somebody who was not shown its secrets: they stay as they are. Gives the item
/// that was replaced.
///
/// # Errors
/// The store did not answer, the item cannot be, or its secrets change all the time.
pub async fn put_shown(
    tables: &dyn Tables,
    secrets: &Secrets,
    spec: &TableSpec,
    item: Item,
) -> Result<Option<Item>, Error> {
    if !secrets.touches_table(&spec.name) {
        return tables.put(Put::new(&spec.name, item).returning(Return::AllOld)).await;
    }
    let names = spec.key.attributes().map(|attribute| &attribute.name);
    let key: Item =
        names.filter_map(|name| Some((name.clone(), item.get(name)?.clone()))).collect();
    for _ in 0..OFFERS_MAX {
        let there = tables.get(Get::new(&spec.name, key.clone())).await?;
        let kept = secrets.kept(&spec.name, item.clone(), there.as_ref());
        let unchanged = secrets.attributes(&spec.name).map(|name| {
            match there.as_ref().and_then(|item| item.get(name)) {
                Some(secret) => attr(name).eq(secret.clone()),
                None => attr(name).not_exists(),
            }
        });
        let mut put = Put::new(&spec.name, kept).returning(Return::AllOld);
        put.condition = unchanged.reduce(crate::expr::Condition::and);
        match tables.put(put).await {
            Err(Error::ConditionFailed { .. }) => {}
            done => return done,
        }
    }
    Err(Error::Throttled("the secrets of the item change all the time".to_owned()))
}

/// Commits; `false` when what the decision relied on has changed.
///
/// # Errors
/// The store did not answer, or a write cannot be.
pub async fn commit(tables: &dyn Tables, writes: Vec<TransactItem>) -> Result<bool, Error> {
    match tables.transact_write(TransactWrite::new(writes)).await {
        Ok(()) => Ok(true),
        Err(error) if error.is_lost_race() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Commits; otherwise which writes lost their race, in their order.
///
/// # Errors
/// The store did not answer, or a write cannot be.
pub async fn commit_each(
    tables: &dyn Tables,
    writes: Vec<TransactItem>,
) -> Result<Result<(), Vec<bool>>, Error> {
    let reasons = match tables.transact_write(TransactWrite::new(writes)).await {
        Ok(()) => return Ok(Ok(())),
        Err(Error::TransactionCanceled { reasons }) => reasons,
        Err(error) => return Err(error),
    };
    let lost = |reason: &CancelReason| match reason {
        CancelReason::None => Some(false),
        CancelReason::ConditionFailed { .. } => Some(true),
        CancelReason::Invalid(_) => None,
    };
    match reasons.iter().map(lost).collect() {
        Some(lost) => Ok(Err(lost)),
        None => Err(Error::TransactionCanceled { reasons }),
    }
}

/// Reads items of any tables, however many; what the store left out is asked for again.
///
/// # Errors
/// The store did not answer, or left out too much for too long.
pub async fn get_all(
    tables: &dyn Tables,
    clock: &Clock,
    mut gets: Vec<Get>,
) -> Result<Vec<(String, Item)>, Error> {
    let (mut items, mut offers) = (Vec::with_capacity(gets.len()), Offers::default());
    while !gets.is_empty() {
        let rest = gets.split_off(gets.len().min(BATCH_GET_MAX));
        let asked = gets.len();
        let got = tables.batch_get(gets).await?;
        items.extend(got.items);
        gets = got.unprocessed;
        // An answer that was full is no reason to wait.
        if gets.len() < asked {
            offers = Offers::default();
        } else {
            offers.wait(clock, gets.len()).await?;
        }
        gets.extend(rest);
    }
    Ok(items)
}

/// Does writes to any tables, however many; what the store left undone is offered again.
///
/// # Errors
/// The store did not answer, or left too much undone for too long. Some writes may be done.
pub async fn write_all(
    tables: &dyn Tables,
    clock: &Clock,
    mut writes: Vec<BatchWrite>,
) -> Result<(), Error> {
    let mut offers = Offers::default();
    while !writes.is_empty() {
        let rest = writes.split_off(writes.len().min(BATCH_WRITE_MAX));
        let offered = writes.len();
        writes = tables.batch_write(writes).await?;
        if writes.len() < offered {
            offers = Offers::default();
        }
        if !writes.is_empty() {
            offers.wait(clock, writes.len()).await?;
        }
        writes.extend(rest);
    }
    Ok(())
}

/// Offers of which the store took nothing, one after another.
#[derive(Default)]
struct Offers {
    vain: u32,
}

impl Offers {
    /// Waits before the next one, each time longer.
    async fn wait(&mut self, clock: &Clock, left: usize) -> Result<(), Error> {
        self.vain += 1;
        if self.vain == OFFERS_MAX {
            return Err(Error::Throttled(format!(
                "{left} parts of a batch were left undone {OFFERS_MAX} times"
            )));
        }
        clock.sleep(OFFER_PAUSE.saturating_mul(1 << (self.vain - 1))).await;
        Ok(())
    }
}

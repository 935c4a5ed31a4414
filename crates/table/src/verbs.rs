//! What every service does with the port: reading a query to its end, and committing a decision.

use crate::error::{CancelReason, Error};
use crate::port::{Query, Tables, TransactItem, TransactWrite};
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

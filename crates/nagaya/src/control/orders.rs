//! What tests ask of a house itself: to move its clock, and what it has still to do. No command asks
//! it.
//!
//!   {"Advance":{"ms":120000}}   moves the clock ahead and answers the time that it shows then, when
//!                               it is there. Only a house with `--test-clock` does
//!   "Pending"                   messages that are due or dead, by their queues; subscriptions;
//!                               tasks that panicked
//!
//! The harness is `crates/testkit/src/program.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use base::Tasks;
use serde::Deserialize;
use serde_json::json;

use super::Premises;
use crate::Error;

/// The longest move: a test of years begins them elsewhere.
const ADVANCE_MAX: Duration = Duration::from_secs(366 * 86_400);

/// A request to the house itself.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) enum Order {
    Advance { ms: u64 },
    Pending,
}

/// Does it; the line of the answer.
///
/// # Errors
/// The clock is the system's, or the queues cannot be read.
pub(super) async fn obey(
    premises: &Premises,
    tasks: &Tasks,
    order: Order,
) -> Result<String, Error> {
    match order {
        Order::Advance { ms } => advance(premises, Duration::from_millis(ms)).await,
        Order::Pending => pending(premises, tasks).await,
    }
}

async fn advance(premises: &Premises, duration: Duration) -> Result<String, Error> {
    let Some(flow) = &premises.flow else {
        return Err(Error::Usage("this house runs on the system's clock".to_owned()));
    };
    if duration > ADVANCE_MAX {
        let (asked, max) = (duration.as_millis(), ADVANCE_MAX.as_millis());
        return Err(Error::Usage(format!("the clock is moved by at most {max} ms, not {asked}")));
    }
    flow.advance(duration).await;
    Ok(premises.clock.now().to_string())
}

async fn pending(premises: &Premises, tasks: &Tasks) -> Result<String, Error> {
    let (mut due, mut dead) = (BTreeMap::new(), BTreeMap::new());
    for queue in premises.dispatch.queues() {
        let depth = queue.depth().await?;
        let counts = [(&mut due, depth.due), (&mut dead, depth.dead)];
        for (counts, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            counts.insert(queue.name().to_owned(), count);
        }
    }
    let subscriptions: usize = premises.hubs.iter().map(hub::Hub::subscriptions).sum();
    let pending = json!({
        "due": due, "dead": dead, "subscriptions": subscriptions, "panicked": tasks.panicked(),
    });
    Ok(pending.to_string())
}

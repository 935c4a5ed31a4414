//! What is asked of a house itself. Commands ask for its address; tests move its clock and ask what
//! it has still to do.
//!
//!   "Address"                   where this machine reaches it, and its certificate
//!   {"Advance":{"ms":120000}}   moves the clock ahead and answers the time that it shows then, when
//!                               it is there. Only a house with `--test-clock` does
//!   "Pending"                   messages that are due or dead, by their queues; subscriptions;
//!                               tasks that panicked
//!
//! The harness is `crates/testkit/src/program.rs`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::Tasks;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Premises;
use crate::Error;

/// The longest move: a test of years begins them elsewhere.
const ADVANCE_MAX: Duration = Duration::from_secs(366 * 86_400);

/// Where a house that is open is reached from this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenAddress {
    pub(crate) listen: SocketAddr,
    /// The files of its certificate and key, if it speaks TLS.
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

impl OpenAddress {
    /// Of a house with these options that listens there.
    pub(crate) fn of(listen: SocketAddr, http: &edge::Options) -> OpenAddress {
        // Whoever asks may be in another directory.
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let file = |path: &Option<PathBuf>| path.as_deref().map(absolute);
        let (certificate, key) = (file(&http.tls_certificate), file(&http.tls_key));
        OpenAddress { listen, certificate, key }
    }
}

/// A request to the house itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Order {
    Address,
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
        Order::Address => {
            Ok(serde_json::to_string(&premises.address).expect("an address and paths are JSON"))
        }
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

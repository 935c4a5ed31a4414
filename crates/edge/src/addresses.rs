//! What each address holds at once: connections, open requests and bytes of bodies.
//!
//! An address is what [`crate::Client::network`] says: one IPv4 address, or the first 64 bits of an
//! IPv6 address. A trusted proxy is not counted; its callers are, by the address that it forwards.
//!
//! - **Invariant:** an address that holds nothing is not remembered, so the memory for this is
//!   bounded by the connections and requests that are open.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::Options;

/// A count with a bound.
#[derive(Debug, Default)]
pub(crate) struct Tally(AtomicUsize);

impl Tally {
    /// Adds `count`, unless there would be more than `max`.
    pub(crate) fn take(&self, count: usize, max: usize) -> bool {
        let add = |held: usize| held.checked_add(count).filter(|held| *held <= max);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Takes `count` off again.
    pub(crate) fn give(&self, count: usize) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }
}

/// The addresses that hold something of one server.
#[derive(Debug)]
pub(crate) struct Addresses {
    known: Mutex<HashMap<IpAddr, Known>>,
    pub(crate) connections_max: usize,
    pub(crate) requests_max: usize,
}

#[derive(Debug, Default)]
struct Known {
    /// With the last of them it is forgotten.
    holders: usize,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    connections: Tally,
    requests: Tally,
    first_bytes: Tally,
    further_bytes: Tally,
}

/// One address that holds something.
#[derive(Debug)]
pub(crate) struct Holder {
    addresses: Arc<Addresses>,
    network: IpAddr,
    counts: Arc<Counts>,
}

/// One connection of an address.
#[derive(Debug)]
pub(crate) struct Connected(Arc<Holder>);

/// One open request of an address.
#[derive(Debug)]
pub(crate) struct Requested(Arc<Holder>);

impl Addresses {
    pub(crate) fn new(options: &Options) -> Arc<Addresses> {
        let half = options.connections_max.div_ceil(2);
        let or_half = |max| if max == 0 { half } else { max };
        Arc::new(Addresses {
            known: Mutex::default(),
            connections_max: or_half(options.connections_per_address_max),
            requests_max: or_half(options.requests_per_address_max),
        })
    }

    /// The address of this network.
    pub(crate) fn of(self: &Arc<Addresses>, network: IpAddr) -> Arc<Holder> {
        let mut all = self.known.lock();
        let known = all.entry(network).or_default();
        known.holders += 1;
        let counts = Arc::clone(&known.counts);
        Arc::new(Holder { addresses: Arc::clone(self), network, counts })
    }
}

impl Holder {
    pub(crate) fn network(&self) -> IpAddr {
        self.network
    }

    /// One more connection, unless it has as many as it may have.
    pub(crate) fn connect(self: &Arc<Holder>) -> Option<Connected> {
        let is_free = self.counts.connections.take(1, self.addresses.connections_max);
        is_free.then(|| Connected(Arc::clone(self)))
    }

    /// One more open request, unless it has as many as it may have.
    pub(crate) fn request(self: &Arc<Holder>) -> Option<Requested> {
        let is_free = self.counts.requests.take(1, self.addresses.requests_max);
        is_free.then(|| Requested(Arc::clone(self)))
    }

    /// The first bytes of its bodies.
    pub(crate) fn first_bytes(&self) -> &Tally {
        &self.counts.first_bytes
    }

    /// The further bytes of its bodies.
    pub(crate) fn further_bytes(&self) -> &Tally {
        &self.counts.further_bytes
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let mut all = self.addresses.known.lock();
        let Entry::Occupied(mut known) = all.entry(self.network) else { return };
        known.get_mut().holders -= 1;
        if known.get().holders == 0 {
            known.remove();
        }
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.counts.connections.give(1);
    }
}

impl Drop for Requested {
    fn drop(&mut self) {
        self.0.counts.requests.give(1);
    }
}

#[cfg(test)]
mod tests {
    use super::Addresses;
    use crate::Options;

    #[test]
    fn by_default_a_thousand_people_fit_behind_one_address() {
        // A browser opens six connections at once, and its page a socket.
        let (people, each) = (1_000, 7);
        let addresses = Addresses::new(&Options::default());
        assert!(addresses.connections_max >= people * each);
        assert!(addresses.requests_max >= people * each);
        assert!(2 * addresses.connections_max <= Options::default().connections_max);
    }

    #[test]
    fn an_address_has_its_bound_and_is_forgotten_with_what_it_held() {
        let options =
            Options { connections_max: 4, requests_per_address_max: 1, ..Options::default() };
        let addresses = Addresses::new(&options);
        let [one, other] = [1, 2].map(|host| [192, 0, 2, host].into());
        let first = addresses.of(one).connect();
        let second = addresses.of(one).connect();
        assert!(first.is_some() && second.is_some(), "half of four");
        assert!(addresses.of(one).connect().is_none());
        assert!(addresses.of(other).connect().is_some(), "another one has a bound of its own");
        let request = addresses.of(one).request();
        assert!(request.is_some() && addresses.of(one).request().is_none());
        drop(first);
        let again = addresses.of(one).connect();
        assert!(again.is_some());
        drop((second, request, again));
        assert!(addresses.known.lock().is_empty());
    }
}

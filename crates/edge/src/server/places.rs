//! Who may connect, and what for.
//!
//! A connection takes an ordinary place. When all are taken, or its address has as many as it may
//! have, it takes one in a small reserve, where only health checks and the operator are answered.
//! In a reserve that is full the newest connection replaces the oldest: whoever connects there to
//! ask something asks at once, and whoever only sits there loses the place.
//!
//! - **Invariant:** no address has more than its bound of ordinary places, nor more than
//!   [`RESERVE_PER_ADDRESS_MAX`] of the reserve. A trusted proxy has no bound of its own.
//! - **Invariant:** accepting waits for nobody, so no number of connections hides the next one.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::addresses::{Addresses, Connected, Holder};
use crate::client::{Trust, network};
use crate::limits::{RESERVE_CONNECTIONS_MAX, RESERVE_PER_ADDRESS_MAX};
use crate::{Failure, Options};

/// The places of a server.
pub(super) struct Places {
    ordinary: Arc<Semaphore>,
    ordinary_max: usize,
    reserve: Arc<Mutex<Reserve>>,
    addresses: Arc<Addresses>,
    trust: Arc<Trust>,
}

/// One of them, counted while it is held.
pub(super) struct Place {
    /// The address of the peer; none if that is a trusted proxy.
    pub(super) holder: Option<Arc<Holder>>,
    /// Why it is one of the reserve, if it is.
    pub(super) scarcity: Option<Scarcity>,
    _connected: Option<Connected>,
    _slot: Option<OwnedSemaphorePermit>,
    _seat: Option<Seat>,
}

/// Why a request is answered only if it is a health check or the operator's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scarcity {
    /// All connections are in use.
    Connections { max: usize },
    /// Its address has as many connections as it may have.
    OfAddress { max: usize },
    /// Its address has as many open requests as it may have.
    Requests { max: usize },
}

impl Scarcity {
    /// The answer to other requests.
    pub(crate) fn failure(self) -> Failure {
        let (code, message) = match self {
            Scarcity::Connections { max } => {
                ("connections_full", format!("all {max} connections are in use"))
            }
            Scarcity::OfAddress { max } => (
                "too_many_connections",
                format!("there are {max} connections from your address, and no more are allowed"),
            ),
            Scarcity::Requests { max } => (
                "too_many_open_requests",
                format!("there are {max} open requests from your address, and no more are allowed"),
            ),
        };
        Failure::scarce(code, message)
    }
}

impl Places {
    pub(super) fn new(options: &Options, addresses: &Arc<Addresses>, trust: &Arc<Trust>) -> Places {
        Places {
            ordinary: Arc::new(Semaphore::new(options.connections_max)),
            ordinary_max: options.connections_max,
            reserve: Arc::default(),
            addresses: Arc::clone(addresses),
            trust: Arc::clone(trust),
        }
    }

    /// A place for a connection of this peer. If it is one of the reserve, the other one is ready
    /// when the place was given to a newer connection.
    pub(super) fn take(&self, peer: IpAddr) -> (Place, Option<oneshot::Receiver<()>>) {
        let is_counted = !self.trust.is_proxy(peer);
        let holder = is_counted.then(|| self.addresses.of(network(peer)));
        let connected = holder.as_ref().map(Holder::connect);
        let slot = || Arc::clone(&self.ordinary).try_acquire_owned().ok();
        let scarcity = match (connected, slot()) {
            (Some(None), _) => Scarcity::OfAddress { max: self.addresses.connections_max },
            (_, None) => Scarcity::Connections { max: self.ordinary_max },
            (connected, Some(slot)) => {
                let (connected, slot) = (connected.flatten(), Some(slot));
                return (Place::new(holder, None, connected, slot, None), None);
            }
        };
        metrics::counter!("nagaya_http_reserve_connections_total").increment(1);
        let (seat, replaced) = Seat::take(&self.reserve, holder.as_deref().map(Holder::network));
        (Place::new(holder, Some(scarcity), None, None, Some(seat)), Some(replaced))
    }
}

impl Place {
    fn new(
        holder: Option<Arc<Holder>>,
        scarcity: Option<Scarcity>,
        connected: Option<Connected>,
        slot: Option<OwnedSemaphorePermit>,
        seat: Option<Seat>,
    ) -> Place {
        metrics::gauge!("nagaya_http_connections").increment(1.0);
        Place { holder, scarcity, _connected: connected, _slot: slot, _seat: seat }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        metrics::gauge!("nagaya_http_connections").decrement(1.0);
    }
}

/// The reserve, the oldest connection first.
#[derive(Default)]
struct Reserve {
    seats: VecDeque<Taken>,
    /// The number of the next one.
    next: u64,
}

struct Taken {
    number: u64,
    network: Option<IpAddr>,
    _replace: oneshot::Sender<()>,
}

/// A place in the reserve.
struct Seat {
    reserve: Arc<Mutex<Reserve>>,
    number: u64,
}

impl Seat {
    fn take(
        reserve: &Arc<Mutex<Reserve>>,
        network: Option<IpAddr>,
    ) -> (Seat, oneshot::Receiver<()>) {
        let (replace, replaced) = oneshot::channel();
        let mut all = reserve.lock();
        let is_same = |taken: &Taken| network.is_some() && taken.network == network;
        let of_address = all.seats.iter().filter(|taken| is_same(taken)).count();
        // The connection notices that its half was dropped.
        if of_address >= RESERVE_PER_ADDRESS_MAX {
            let oldest = all.seats.iter().position(is_same);
            drop(oldest.and_then(|oldest| all.seats.remove(oldest)));
        } else if all.seats.len() >= RESERVE_CONNECTIONS_MAX {
            drop(all.seats.pop_front());
        }
        let number = all.next;
        all.next += 1;
        all.seats.push_back(Taken { number, network, _replace: replace });
        (Seat { reserve: Arc::clone(reserve), number }, replaced)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut all = self.reserve.lock();
        // A replaced one is gone already.
        all.seats.retain(|taken| taken.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use tokio::sync::oneshot::error::TryRecvError;

    use super::{Places, Scarcity};
    use crate::Options;
    use crate::addresses::Addresses;
    use crate::client::Trust;
    use crate::limits::{RESERVE_CONNECTIONS_MAX, RESERVE_PER_ADDRESS_MAX};

    fn places(connections_max: usize) -> Places {
        let options = Options { connections_max, ..Options::default() };
        Places::new(&options, &Addresses::new(&options), &Arc::new(Trust::new(&options)))
    }

    fn address(host: u8) -> IpAddr {
        [192, 0, 2, host].into()
    }

    #[test]
    fn one_address_has_half_of_the_places_and_the_rest_is_for_others() {
        let places = places(4);
        let held = [(); 2].map(|()| places.take(address(1)).0);
        assert!(held.iter().all(|place| place.scarcity.is_none()));
        let (third, _replaced) = places.take(address(1));
        assert!(matches!(third.scarcity, Some(Scarcity::OfAddress { max: 2 })));
        let others = [2, 3].map(|host| places.take(address(host)).0);
        assert!(others.iter().all(|place| place.scarcity.is_none()));
        let (last, _replaced) = places.take(address(4));
        assert!(matches!(last.scarcity, Some(Scarcity::Connections { max: 4 })));
        drop(held);
        assert!(places.take(address(4)).0.scarcity.is_none());
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one() {
        let places = places(4);
        let [one, two, three, other] =
            ["2001:db8::1", "2001:db8::2", "2001:db8::ffff:1", "2001:db8:0:1::1"]
                .map(|text| text.parse().unwrap());
        let _held = [one, two].map(|address| places.take(address).0);
        assert!(places.take(three).0.scarcity.is_some());
        assert!(places.take(other).0.scarcity.is_none());
    }

    #[test]
    fn in_a_full_reserve_the_newest_replaces_the_oldest_of_its_address_first() {
        let places = places(1);
        let _ordinary = places.take(address(0));
        let mut of_one: Vec<_> =
            (0..RESERVE_PER_ADDRESS_MAX).map(|_| places.take(address(1))).collect();
        let mut of_other = places.take(address(2));
        let mut notice = |at: usize| of_one.get_mut(at).unwrap().1.as_mut().unwrap().try_recv();
        assert_eq!(notice(0), Err(TryRecvError::Empty));
        let _newest = places.take(address(1));
        assert_eq!(notice(0), Err(TryRecvError::Closed));
        assert_eq!(notice(1), Err(TryRecvError::Empty));
        assert_eq!(of_other.1.as_mut().unwrap().try_recv(), Err(TryRecvError::Empty));
        let _crowd: Vec<_> = (0..RESERVE_CONNECTIONS_MAX)
            .map(|place| places.take(address(u8::try_from(place + 3).unwrap())))
            .collect();
        assert_eq!(notice(1), Err(TryRecvError::Closed), "the oldest of all");
        assert_eq!(of_other.1.as_mut().unwrap().try_recv(), Err(TryRecvError::Closed));
    }
}

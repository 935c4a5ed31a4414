//! Bytes of request bodies that are held at once, and how many there may be.
//!
//! A request is charged for the bytes of its body when they arrive, and gives them back when it
//! ends. Callers that have not proved who they are (strangers) have a bound together, and each
//! address half of it. Callers with a verified key, token or session have another bound, so that
//! strangers cannot hold them back.
//!
//! The first bytes of a stranger's body come from a part of their own. Most requests have no more,
//! so whoever fills the rest with large bodies stops only large bodies.
//!
//! - **Invariant:** strangers hold no more than `http.stranger_bytes_max`, others no more than
//!   `http.known_bytes_max`, whatever lengths they declare.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::addresses::{Holder, Tally};
use crate::limits::{FIRST_BYTES_MAX, FRAME_BYTES_MIN};
use crate::{Failure, Options};

/// What all requests of a server hold.
#[derive(Debug)]
pub(crate) struct Bodies {
    first: Tally,
    further: Tally,
    known: Tally,
    /// Of the first bytes of strangers, and as many of further ones.
    stranger_half: usize,
    known_max: usize,
}

impl Bodies {
    pub(crate) fn new(options: &Options) -> Arc<Bodies> {
        Arc::new(Bodies {
            first: Tally::default(),
            further: Tally::default(),
            known: Tally::default(),
            stranger_half: options.stranger_bytes_max / 2,
            known_max: options.known_bytes_max,
        })
    }
}

/// What one request holds.
#[derive(Debug)]
pub(crate) struct Charge {
    bodies: Arc<Bodies>,
    /// None for routes without a server and for a trusted proxy itself.
    address: Option<Arc<Holder>>,
    is_known: AtomicBool,
    first: AtomicUsize,
    further: AtomicUsize,
    known: AtomicUsize,
}

impl Charge {
    /// Nothing yet, of a caller who is not known.
    pub(crate) fn new(bodies: &Arc<Bodies>, address: Option<Arc<Holder>>) -> Charge {
        Charge {
            bodies: Arc::clone(bodies),
            address,
            is_known: false.into(),
            first: 0.into(),
            further: 0.into(),
            known: 0.into(),
        }
    }

    /// From now on the caller is known.
    pub(crate) fn set_known(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// Charges a frame of the body.
    ///
    /// # Errors
    /// There is no room for it.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), Failure> {
        // A body of tiny frames costs more for its frames than for its bytes.
        let bytes = bytes.max(FRAME_BYTES_MIN);
        let is_taken = if self.is_known.load(Ordering::Relaxed) {
            take(&self.known, bytes, &self.bodies.known, self.bodies.known_max, None)
        } else {
            self.take_as_stranger(bytes)
        };
        if !is_taken {
            metrics::counter!("nagaya_http_bodies_refused_total").increment(1);
            return Err(self.full());
        }
        Ok(())
    }

    fn take_as_stranger(&self, bytes: usize) -> bool {
        let half = self.bodies.stranger_half;
        let left = FIRST_BYTES_MAX.saturating_sub(self.first.load(Ordering::Relaxed));
        let first = bytes.min(left);
        let address = self.address.as_deref();
        let mine = address.map(Holder::first_bytes);
        take(&self.first, first, &self.bodies.first, half, mine)
            && take(
                &self.further,
                bytes - first,
                &self.bodies.further,
                half,
                address.map(Holder::further_bytes),
            )
    }

    /// The failure of a request for whose body there is no room.
    pub(crate) fn full(&self) -> Failure {
        let message = match self.is_known.load(Ordering::Relaxed) {
            true => format!(
                "the bodies of other requests fill the {} bytes that there are for them",
                self.bodies.known_max
            ),
            false => format!(
                "the bodies of other requests fill the {} bytes that there are for callers without \
                 a credential",
                self.bodies.stranger_half * 2
            ),
        };
        Failure::bodies_full(message)
    }
}

/// Charges the whole and the address, or neither.
fn take(
    charged: &AtomicUsize,
    bytes: usize,
    all: &Tally,
    max: usize,
    mine: Option<&Tally>,
) -> bool {
    if !all.take(bytes, max) {
        return false;
    }
    if mine.is_some_and(|mine| !mine.take(bytes, max / 2)) {
        all.give(bytes);
        return false;
    }
    charged.fetch_add(bytes, Ordering::Relaxed);
    true
}

impl Drop for Charge {
    fn drop(&mut self) {
        let (first, further) = (*self.first.get_mut(), *self.further.get_mut());
        self.bodies.first.give(first);
        self.bodies.further.give(further);
        self.bodies.known.give(*self.known.get_mut());
        if let Some(address) = &self.address {
            address.first_bytes().give(first);
            address.further_bytes().give(further);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Bodies, Charge};
    use crate::Options;
    use crate::addresses::{Addresses, Holder};
    use crate::limits::{FIRST_BYTES_MAX, FRAME_BYTES_MIN};

    const KIB: usize = 1_024;

    /// Room for 64 KiB of strangers, half of it for first bytes, and for 16 KiB of others.
    fn room() -> (Arc<Bodies>, [Arc<Holder>; 3]) {
        let options = Options {
            stranger_bytes_max: 64 * KIB,
            known_bytes_max: 16 * KIB,
            ..Options::default()
        };
        let addresses = Addresses::new(&options);
        let of = |host| addresses.of([192, 0, 2, host].into());
        (Bodies::new(&options), [of(1), of(2), of(3)])
    }

    fn charge(bodies: &Arc<Bodies>, address: &Arc<Holder>) -> Charge {
        Charge::new(bodies, Some(Arc::clone(address)))
    }

    #[test]
    fn large_bodies_of_strangers_have_a_bound_and_leave_room_for_small_ones() {
        let (bodies, [one, two, three]) = room();
        let large = charge(&bodies, &one);
        large.take(FIRST_BYTES_MAX + 16 * KIB).unwrap();
        assert!(charge(&bodies, &one).take(FIRST_BYTES_MAX + 1).is_err(), "half for an address");
        let second = charge(&bodies, &two);
        second.take(FIRST_BYTES_MAX + 16 * KIB).unwrap();
        let refused = charge(&bodies, &three).take(FIRST_BYTES_MAX + 1).unwrap_err();
        assert_eq!(refused.code(), "bodies_full");
        charge(&bodies, &three).take(FIRST_BYTES_MAX).unwrap();
        let known = charge(&bodies, &three);
        known.set_known();
        known.take(16 * KIB).unwrap();
        assert!(known.take(1).is_err(), "others have a bound too");
        drop(large);
        charge(&bodies, &three).take(FIRST_BYTES_MAX + 16 * KIB).unwrap();
    }

    #[test]
    fn a_frame_costs_no_less_than_remembering_it() {
        let (bodies, [one, ..]) = room();
        let tiny = charge(&bodies, &one);
        let frames =
            std::iter::repeat_n(1, 1_000_000).take_while(|bytes| tiny.take(*bytes).is_ok());
        assert!(frames.count() <= (FIRST_BYTES_MAX + 16 * KIB) / FRAME_BYTES_MIN);
    }
}

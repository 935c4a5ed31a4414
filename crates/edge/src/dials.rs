//! Settings that can change while the house runs. A room adds one for each setting that it can take
//! over at any moment; the operator turns them. A change holds on this instance until it ends: the
//! file and the environment decide again at the next start.
//!
//! Values are checked by whoever turns a dial, with the setting's own declaration.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Timestamp;
use parking_lot::Mutex;

/// The dials of a house. Clones share them.
#[derive(Clone, Default)]
pub struct Dials {
    shared: Arc<Mutex<BTreeMap<&'static str, Dial>>>,
}

struct Dial {
    apply: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    turned: Option<Turned>,
}

/// A value that was set while the house ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turned {
    /// The value, as a file writes it, without quotes.
    pub value: String,
    /// When.
    pub at: Timestamp,
}

impl Dials {
    /// Adds a dial for the setting with this key. `apply` takes a value over, or answers false and
    /// leaves all as it was.
    pub fn add(&self, key: &'static str, apply: impl Fn(&str) -> bool + Send + Sync + 'static) {
        let dial = Dial { apply: Arc::new(apply), turned: None };
        self.shared.lock().insert(key, dial);
    }

    /// Adds a dial for a rate, which is a number above zero.
    pub fn add_rate(&self, key: &'static str, apply: impl Fn(u32) + Send + Sync + 'static) {
        self.add(key, move |text| {
            let rate = text.parse().ok().filter(|rate| *rate > 0);
            rate.map(&apply).is_some()
        });
    }

    /// Whether the setting can change now, and what it was changed to since the start.
    pub fn find(&self, key: &str) -> Option<Option<Turned>> {
        self.shared.lock().get(key).map(|dial| dial.turned.clone())
    }

    /// Sets a value. False if there is no such dial, or it does not take the value.
    pub fn turn(&self, key: &str, value: &str, at: Timestamp) -> bool {
        // Two who turn one dial at once must not leave one's value and the other's note.
        let mut dials = self.shared.lock();
        let Some(dial) = dials.get_mut(key) else { return false };
        let is_taken = (dial.apply)(value);
        if is_taken {
            dial.turned = Some(Turned { value: value.to_owned(), at });
            tracing::info!(setting = key, value, "a setting was changed until the next start");
        }
        is_taken
    }
}

impl std::fmt::Debug for Dials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.shared.lock().keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use base::Timestamp;

    use super::{Dials, Turned};

    #[test]
    fn a_dial_takes_what_it_can_and_remembers_that() {
        let (dials, rate) = (Dials::default(), Arc::new(AtomicU32::new(5)));
        let applied = Arc::clone(&rate);
        dials.add_rate("room.rate", move |rate| applied.store(rate, Ordering::Relaxed));
        assert_eq!(dials.find("room.rate"), Some(None));
        assert_eq!(dials.find("room.other"), None);
        let at = Timestamp::from_millis(1);
        for wrong in ["0", "-1", "x", ""] {
            assert!(!dials.turn("room.rate", wrong, at), "{wrong}");
        }
        assert!(!dials.turn("room.other", "7", at));
        assert_eq!((rate.load(Ordering::Relaxed), dials.find("room.rate")), (5, Some(None)));
        assert!(dials.turn("room.rate", "7", at));
        let turned = Turned { value: "7".to_owned(), at };
        assert_eq!(
            (rate.load(Ordering::Relaxed), dials.find("room.rate")),
            (7, Some(Some(turned)))
        );
    }
}

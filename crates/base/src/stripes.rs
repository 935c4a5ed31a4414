//! Locks by key, held over awaits: work on one key is done one after the other.

use std::hash::{BuildHasher, Hash, RandomState};

use tokio::sync::{Mutex, MutexGuard};

/// A fixed number of locks for all keys; two keys may share one by chance.
#[derive(Debug)]
pub struct Stripes {
    locks: Vec<Mutex<()>>,
    hasher: RandomState,
}

impl Stripes {
    /// Creates `count` locks; at least one.
    pub fn new(count: usize) -> Stripes {
        let locks = (0..count.max(1)).map(|_| Mutex::new(())).collect();
        Stripes { locks, hasher: RandomState::new() }
    }

    /// Waits for the lock of a key.
    pub async fn enter(&self, key: impl Hash) -> MutexGuard<'_, ()> {
        let stripe = self.hasher.hash_one(key) % self.locks.len() as u64;
        let stripe = usize::try_from(stripe).expect("the remainder is small");
        self.locks.get(stripe).expect("the remainder is below the length").lock().await
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::Stripes;

    #[test]
    fn one_key_has_one_lock_and_it_is_released() {
        let stripes = Stripes::new(4);
        let mut context = Context::from_waker(Waker::noop());
        let mut first = Box::pin(stripes.enter(("go", 1)));
        let held = first.as_mut().poll(&mut context);
        let mut second = pin!(stripes.enter(("go", 1)));
        assert!(held.is_ready() && second.as_mut().poll(&mut context).is_pending());
        drop(held);
        assert!(second.as_mut().poll(&mut context).is_ready());
    }
}

//! Who listens along: somebody who looks at a house for a while, and whom nothing waits for.
//!
//! - **Invariant:** while nobody listens, telling costs one look at a number, and nothing is made.
//! - **Invariant:** who listens slowly misses the oldest and is told how many.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::broadcast;

use crate::limits::OVERHEARD_MAX;

/// A place where things are told. Clones share it.
#[derive(Clone)]
pub struct Ears<T> {
    listeners: Arc<AtomicUsize>,
    told: broadcast::Sender<T>,
}

/// Somebody who listens, until dropped.
pub struct Listening<T> {
    listeners: Arc<AtomicUsize>,
    told: broadcast::Receiver<T>,
}

/// What a listener hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Noticed<T> {
    /// What was told.
    Told(T),
    /// So many were told that could not be kept.
    Missed(u64),
}

impl<T: Clone> Ears<T> {
    /// Begins to listen.
    pub fn listen(&self) -> Listening<T> {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listening { listeners: Arc::clone(&self.listeners), told: self.told.subscribe() }
    }

    /// Tells whoever listens.
    pub fn tell(&self, what: impl FnOnce() -> T) {
        if self.listeners.load(Ordering::Relaxed) > 0 {
            // Who has left since hears nothing.
            let _left = self.told.send(what());
        }
    }
}

impl<T: Clone> Listening<T> {
    /// What comes next; nothing when nobody can tell any more.
    pub async fn next(&mut self) -> Option<Noticed<T>> {
        match self.told.recv().await {
            Ok(told) => Some(Noticed::Told(told)),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Noticed::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

impl<T: Clone> Default for Ears<T> {
    fn default() -> Ears<T> {
        Ears { listeners: Arc::default(), told: broadcast::Sender::new(OVERHEARD_MAX) }
    }
}

impl<T> Drop for Listening<T> {
    fn drop(&mut self) {
        self.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> fmt::Debug for Ears<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ears").field("listeners", &self.listeners).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Ears, Noticed};
    use crate::limits::OVERHEARD_MAX;

    #[tokio::test]
    async fn nothing_is_made_for_nobody_and_who_is_slow_is_told_what_is_missing() {
        let ears = Ears::<usize>::default();
        ears.tell(|| panic!("nobody listens"));
        let mut listening = ears.listen();
        for number in 0..OVERHEARD_MAX + 3 {
            ears.tell(|| number);
        }
        assert_eq!(listening.next().await, Some(Noticed::Missed(3)));
        assert_eq!(listening.next().await, Some(Noticed::Told(3)));
        drop(listening);
        ears.tell(|| panic!("nobody listens any more"));
    }
}

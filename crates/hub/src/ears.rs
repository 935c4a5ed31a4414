//! Listeners: observers that attach for a while and never slow anybody down.
//!
//! - **Invariant:** without a listener, an event costs one atomic read, and is not built.
//! - **Invariant:** a slow listener misses the oldest events and learns how many.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::broadcast;

use crate::limits::LISTENER_EVENTS_MAX;

/// A source of events for listeners. Clones share the listeners.
#[derive(Clone)]
pub struct Ears<T> {
    listeners: Arc<AtomicUsize>,
    events: broadcast::Sender<T>,
}

/// One listener, until it is dropped.
pub struct Listening<T> {
    listeners: Arc<AtomicUsize>,
    events: broadcast::Receiver<T>,
}

/// What a listener receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Noticed<T> {
    /// An event.
    Told(T),
    /// The number of events that were dropped because the listener was slow.
    Missed(u64),
}

impl<T: Clone> Ears<T> {
    /// Adds a listener.
    pub fn listen(&self) -> Listening<T> {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listening { listeners: Arc::clone(&self.listeners), events: self.events.subscribe() }
    }

    /// Sends an event to the listeners. Builds it only if there is one.
    pub fn tell(&self, what: impl FnOnce() -> T) {
        if self.listeners.load(Ordering::Relaxed) > 0 {
            // The last listener may just have left.
            let _left = self.events.send(what());
        }
    }
}

impl<T: Clone> Listening<T> {
    /// The next event; `None` after the source is gone.
    pub async fn next(&mut self) -> Option<Noticed<T>> {
        match self.events.recv().await {
            Ok(events) => Some(Noticed::Told(events)),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Noticed::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

impl<T: Clone> Default for Ears<T> {
    fn default() -> Ears<T> {
        Ears { listeners: Arc::default(), events: broadcast::Sender::new(LISTENER_EVENTS_MAX) }
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
    use crate::limits::LISTENER_EVENTS_MAX;

    #[tokio::test]
    async fn no_event_is_built_without_listeners_and_a_slow_listener_learns_what_it_missed() {
        let ears = Ears::<usize>::default();
        ears.tell(|| panic!("there is no listener"));
        let mut listening = ears.listen();
        for number in 0..LISTENER_EVENTS_MAX + 3 {
            ears.tell(|| number);
        }
        assert_eq!(listening.next().await, Some(Noticed::Missed(3)));
        assert_eq!(listening.next().await, Some(Noticed::Told(3)));
        drop(listening);
        ears.tell(|| panic!("there is no listener any more"));
    }
}

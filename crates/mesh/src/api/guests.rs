//! Who may stay: sockets have to say hello in time, and what a key has opened ends with the key.
//!
//! The key that a class shares never ends while the house is open, so only keys of the house are watched:
//! each is looked at once for all that it has opened.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use base::{Monotonic, Tasks};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::Api;
use super::session::Session;
use crate::limits::{HELLO_WITHIN, KEYS_CHECKED_EVERY};

/// Sockets and streams that may have to end.
#[derive(Default)]
pub(super) struct Guests {
    /// Sockets that have not said hello, perhaps, the oldest first.
    silent: Mutex<VecDeque<(Monotonic, Weak<Session>)>>,
    /// What the keys of the house have opened.
    keyed: Mutex<HashMap<String, Opened>>,
}

/// What one key has opened.
struct Opened {
    sockets: Vec<Weak<Session>>,
    /// Tells streams and polls that the key has ended.
    ended: watch::Sender<bool>,
}

/// A stream's or a poll's hold on its key.
pub(super) struct Hold {
    ended: Option<watch::Receiver<bool>>,
}

impl Hold {
    /// Waits until the key has ended; the key of the class never does.
    pub(super) async fn ended(mut self) {
        let has_ended = match &mut self.ended {
            Some(ended) => ended.wait_for(|ended| *ended).await.is_ok(),
            None => false,
        };
        if !has_ended {
            std::future::pending::<()>().await;
        }
    }
}

impl Guests {
    /// Lets a socket in, which has to say hello.
    pub(super) fn let_in(&self, socket: &Arc<Session>, now: Monotonic) {
        self.silent.lock().push_back((now, Arc::downgrade(socket)));
    }

    /// Ends what a socket has opened with this key of the house, when the key ends.
    pub(super) fn watch_socket(&self, key: &str, socket: &Arc<Session>) {
        let mut keyed = self.keyed.lock();
        keyed.entry(key.to_owned()).or_default().sockets.push(Arc::downgrade(socket));
    }

    /// The same for a stream or a poll.
    pub(super) fn watch_stream(&self, key: &str) -> Hold {
        let mut keyed = self.keyed.lock();
        Hold { ended: Some(keyed.entry(key.to_owned()).or_default().ended.subscribe()) }
    }

    /// A hold on the key of the class.
    pub(super) fn hold_shared() -> Hold {
        Hold { ended: None }
    }

    /// Closes sockets that have not said hello in time.
    fn close_silent(&self, now: Monotonic) {
        let mut silent = self.silent.lock();
        while let Some((since, socket)) = silent.front() {
            let socket = socket.upgrade();
            let is_due = now.since(*since) >= HELLO_WITHIN;
            match socket {
                Some(socket) if !socket.is_greeted() && is_due => socket.close_silent(),
                Some(socket) if !socket.is_greeted() => return,
                Some(_) | None => {}
            }
            silent.pop_front();
        }
    }

    /// The keys that have something open; the others are forgotten.
    fn list_keys(&self) -> Vec<String> {
        let mut keyed = self.keyed.lock();
        keyed.retain(|_, opened| {
            opened.sockets.retain(|socket| socket.strong_count() > 0);
            !opened.sockets.is_empty() || opened.ended.receiver_count() > 0
        });
        keyed.keys().cloned().collect()
    }

    /// Ends all that a key has opened.
    fn end(&self, key: &str) {
        let Some(opened) = self.keyed.lock().remove(key) else { return };
        for socket in opened.sockets.iter().filter_map(Weak::upgrade) {
            socket.end_key(key);
        }
        opened.ended.send_replace(true);
    }
}

impl Default for Opened {
    fn default() -> Opened {
        Opened { sockets: Vec::new(), ended: watch::Sender::new(false) }
    }
}

impl Api {
    /// Looks after its guests until the house closes.
    pub(super) fn watch_guests(self: &Arc<Self>, tasks: &Tasks) {
        let api = Arc::clone(self);
        let mut ticks = tasks.ticks(&api.mesh.clock, KEYS_CHECKED_EVERY);
        tasks.spawn("mesh-guests", async move {
            while ticks.next().await {
                api.guests.close_silent(api.mesh.clock.instant());
                for key in api.guests.list_keys() {
                    if api.mesh.key.has_ended(&key).await {
                        api.guests.end(&key);
                    }
                }
            }
        });
    }
}

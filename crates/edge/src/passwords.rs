//! Passwords at rest: argon2id, and not too many at once.
//!
//! A hash is meant to be dear: 19 MiB of memory and some tens of milliseconds, so that who steals
//! the table cannot try many words. Callers must not be able to spend that at will, so few hashes
//! run at a time, few more wait, and the next is told to come again. Work that anybody can cause
//! (registrations) waits in a queue of its own, of which one hash runs at a time: however much of it
//! comes, log-ins have places to wait and to run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use base::{Clock, Random};
use tokio::sync::Semaphore;

use crate::limits::guard::{
    HASH_MEMORY_KIB, HASH_PASSES, HASHES_BUSY, HASHES_RUNNING_MAX, HASHES_WAITING_MAX,
};

/// Too many passwords are being checked at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords are being checked; try again in {} s", HASHES_BUSY.as_secs())]
pub struct Busy;

impl Busy {
    /// When to come again.
    pub fn wait(self) -> Duration {
        HASHES_BUSY
    }
}

/// Hashes passwords. Clones share the bound.
#[derive(Clone)]
pub struct Passwords {
    clock: Clock,
    random: Random,
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
    /// Held by the one hash of a queue of its own that runs or is next to run.
    turn: Option<Arc<Semaphore>>,
}

impl Passwords {
    /// With room for few at a time.
    pub fn new(clock: Clock, random: Random) -> Passwords {
        let admitted = Arc::new(Semaphore::new(HASHES_RUNNING_MAX + HASHES_WAITING_MAX));
        let running = Arc::new(Semaphore::new(HASHES_RUNNING_MAX));
        Passwords { clock, random, admitted, running, turn: None }
    }

    /// The same places to run, behind a queue of its own: at most one of its hashes runs at a time,
    /// and those that wait take no place from others.
    #[must_use]
    pub fn queue_apart(&self) -> Passwords {
        let admitted = Arc::new(Semaphore::new(1 + HASHES_WAITING_MAX));
        Passwords { admitted, turn: Some(Arc::new(Semaphore::new(1))), ..self.clone() }
    }

    /// What is kept of a password: a PHC string, with its salt and its costs.
    ///
    /// # Errors
    /// Too many are waiting.
    pub async fn hash(&self, password: &str) -> Result<String, Busy> {
        let (password, salt) = (password.to_owned(), self.random.bytes::<16>());
        self.run(move || {
            let hash = hasher().hash_password_with_salt(password.as_bytes(), &salt);
            hash.expect("16 bytes are a salt, and the costs are in range").to_string()
        })
        .await
    }

    /// Whether the password is the one that was kept, at the costs it was kept with.
    ///
    /// # Errors
    /// Too many are waiting.
    pub async fn verify(&self, password: &str, kept: &str) -> Result<bool, Busy> {
        let (password, kept) = (password.to_owned(), kept.to_owned());
        self.run(move || {
            let kept = PasswordHash::new(&kept);
            kept.is_ok_and(|kept| hasher().verify_password(password.as_bytes(), &kept).is_ok())
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let admitted = self.admitted.clone().try_acquire_owned().map_err(|_| Busy)?;
        let turn = match self.turn.clone() {
            Some(turn) => Some(turn.acquire_owned().await.expect("the turn is never closed")),
            None => None,
        };
        let place = self.running.clone().acquire_owned().await;
        let place = place.expect("the places are never closed");
        let hold = self.clock.hold();
        // The places go with the work, which runs to its end also when its caller has left.
        let done = tokio::task::spawn_blocking(move || {
            let _until_done = (admitted, turn, place, hold);
            work()
        });
        Ok(done.await.expect("hashing does not panic"))
    }
}

fn hasher() -> Argon2<'static> {
    let params =
        Params::new(HASH_MEMORY_KIB, HASH_PASSES, 1, None).expect("the costs are in range");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use base::{Clock, Random, Tasks};

    use super::{Busy, Passwords};
    use crate::limits::guard::{HASHES_RUNNING_MAX, HASHES_WAITING_MAX};

    #[tokio::test]
    async fn only_the_password_fits_its_hash() {
        let passwords = Passwords::new(Clock::real(), Random::seeded(1));
        let kept = passwords.hash("とても長い合言葉です、はい").await.unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert_ne!(passwords.hash("とても長い合言葉です、はい").await.unwrap(), kept, "a salt");
        assert_eq!(passwords.verify("とても長い合言葉です、はい", &kept).await, Ok(true));
        for wrong in ["", "とても長い合言葉です、はい ", "とても長い合言葉です"]
        {
            assert_eq!(passwords.verify(wrong, &kept).await, Ok(false));
        }
        for damaged in ["", "x", &kept[..kept.len() - 9], &kept.replace("argon2id", "argon2x")] {
            assert_eq!(passwords.verify("とても長い合言葉です、はい", damaged).await, Ok(false));
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_flood_is_bounded_and_passes() {
        let (clock, tasks) = (Clock::real(), Tasks::new());
        let passwords = Passwords::new(clock.clone(), Random::seeded(1));
        let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..60 {
            let (passwords, sender) = (passwords.clone(), sender.clone());
            tasks.spawn("asker", async move {
                let _sent = sender.send(passwords.hash("word").await.map(drop));
            });
        }
        drop(sender);
        let (mut done, mut busy) = (0, 0);
        while let Some(answer) = seen.recv().await {
            match answer {
                Ok(()) => done += 1,
                Err(Busy) => busy += 1,
            }
        }
        assert!(
            done >= HASHES_RUNNING_MAX + HASHES_WAITING_MAX && busy > 0,
            "{done} done, {busy} busy"
        );
        assert!(passwords.hash("word").await.is_ok());
    }
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_queue_of_its_own_leaves_places_for_the_others() {
        let tasks = Tasks::new();
        let passwords = Passwords::new(Clock::real(), Random::seeded(1));
        let kept = passwords.hash("word").await.unwrap();
        let apart = passwords.queue_apart();
        let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..60 {
            let (apart, sender) = (apart.clone(), sender.clone());
            tasks.spawn("asker", async move {
                let _sent = sender.send(apart.hash("word").await.map(drop));
            });
        }
        drop(sender);
        // The queue is full as soon as somebody was turned away.
        while seen.recv().await.unwrap().is_ok() {}
        assert!(apart.running.available_permits() > 0, "one of them runs at a time");
        assert_eq!(passwords.verify("word", &kept).await, Ok(true));
        while seen.recv().await.is_some() {}
        assert!(apart.hash("word").await.is_ok());
    }
}

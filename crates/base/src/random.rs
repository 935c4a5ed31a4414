//! Randomness: from the operating system and fit for secrets, or from a seed and repeatable.
//!
//! Code that needs randomness gets a [`Random`] and never asks the system. A seeded server draws
//! from forks, one for each purpose, so that one more draw for one purpose does not change the
//! draws for another.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A source of randomness. Cheap to clone; clones of a seeded one draw from the same stream.
#[derive(Clone, Debug)]
pub struct Random {
    source: RandomSource,
}

#[derive(Clone, Debug)]
enum RandomSource {
    /// The thread's generator: ChaCha, seeded and reseeded by the operating system.
    System,
    Seeded {
        seed: u64,
        stream: Arc<Mutex<StdRng>>,
    },
}

impl Random {
    /// Unpredictable, fit for keys and secrets.
    pub fn from_os() -> Random {
        Random { source: RandomSource::System }
    }

    /// The same draws for the same seed, in this build. For tests and simulation only.
    pub fn seeded(seed: u64) -> Random {
        let stream = Arc::new(Mutex::new(StdRng::seed_from_u64(seed)));
        Random { source: RandomSource::Seeded { seed, stream } }
    }

    /// An independent stream for `purpose`, determined by the seed and the purpose alone: the same
    /// purpose gives the same draws.
    #[must_use]
    pub fn fork(&self, purpose: &str) -> Random {
        match &self.source {
            RandomSource::System => Random::from_os(),
            RandomSource::Seeded { seed, .. } => Random::seeded(mix(*seed, purpose)),
        }
    }

    /// Fills `bytes`.
    pub fn fill_bytes(&self, bytes: &mut [u8]) {
        match &self.source {
            RandomSource::System => rand::rng().fill_bytes(bytes),
            RandomSource::Seeded { stream, .. } => stream.lock().fill_bytes(bytes),
        }
    }

    /// An array of bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill_bytes(&mut bytes);
        bytes
    }

    /// Any number.
    pub fn next_u64(&self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// A number from 0 up to, not including, `bound`, each equally likely.
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn below(&self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below zero");
        // Numbers past the last whole multiple of `bound` would make the small ones more likely.
        let excess = (u64::MAX % bound + 1) % bound;
        loop {
            let draw = self.next_u64();
            if draw <= u64::MAX - excess {
                return draw % bound;
            }
        }
    }

    /// True with this probability: never at 0, always at 1.
    pub fn chance(&self, probability: f64) -> bool {
        // A double holds exactly 53 bits between 0 and 1.
        let draw = (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        draw < probability
    }

    /// One of `items`; `None` if there are none.
    pub fn pick<'a, T>(&self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() {
            return None;
        }
        items.get(self.index_below(items.len()))
    }

    /// Puts `items` into a random order, each equally likely.
    pub fn shuffle<T>(&self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index_below(last + 1));
        }
    }

    /// A duration from zero to `limit`, to spread events that would otherwise happen at once.
    pub fn jitter(&self, limit: Duration) -> Duration {
        let nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.below(nanos.saturating_add(1)))
    }

    fn index_below(&self, length: usize) -> usize {
        let index = self.below(u64::try_from(length).expect("a length fits 64 bits"));
        usize::try_from(index).expect("an index below a length is one too")
    }
}

/// A seed from a seed and a word: FNV-1a over the word, finished by SplitMix64.
fn mix(seed: u64, purpose: &str) -> u64 {
    let hash = purpose.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut mixed = seed.rotate_left(32).wrapping_add(hash).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_assert_ne, proptest};

    use super::Random;

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_seed_repeats_and_forks_stand_apart(seed in any::<u64>()) {
            let (one, two) = (Random::seeded(seed), Random::seeded(seed));
            let fork = two.fork("ids").next_u64();
            prop_assert_eq!(one.next_u64(), two.next_u64());
            prop_assert_eq!(one.fork("ids").next_u64(), fork);
            prop_assert_ne!(one.fork("retries").next_u64(), fork);
        }

        #[test]
        fn draws_stay_in_their_bounds(seed in any::<u64>(), bound in 1..=u64::MAX, ms in 0..1000_u64) {
            let random = Random::seeded(seed);
            prop_assert!(random.below(bound) < bound);
            prop_assert!(random.jitter(Duration::from_millis(ms)) <= Duration::from_millis(ms));
            prop_assert!(random.chance(1.0) && !random.chance(0.0));
        }

        #[test]
        fn a_shuffle_loses_nothing(seed in any::<u64>(), length in 0..50_usize) {
            let mut items: Vec<usize> = (0..length).collect();
            Random::seeded(seed).shuffle(&mut items);
            items.sort_unstable();
            prop_assert_eq!(items, (0..length).collect::<Vec<_>>());
        }
    }

    #[test]
    fn each_number_below_the_bound_is_equally_likely() {
        let random = Random::seeded(1);
        let mut counts = [0_i32; 6];
        for _ in 0..60_000 {
            counts[usize::try_from(random.below(6)).unwrap()] += 1;
        }
        // Four standard deviations of a fair die.
        assert!(counts.iter().all(|count| (count - 10_000).abs() < 365), "{counts:?}");
    }

    #[test]
    fn the_system_does_not_repeat_itself() {
        let random = Random::from_os();
        assert_ne!(random.bytes::<16>(), random.bytes::<16>());
    }
}

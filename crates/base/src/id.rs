//! Ids for new things. All are drawn from [`Random`], so that a seeded run repeats them.

use std::sync::Arc;

use parking_lot::Mutex;
use uuid::{Builder, Uuid};

use crate::{Clock, Random};

const ALPHANUMERIC: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Bits of a UUIDv7 below its time: 12 and 62, around the version and variant.
const TAIL_BITS: u32 = 74;

/// The largest distance of two ids of one millisecond, which is at least one. Large enough that one
/// id does not reveal the next.
const STEP_MAX: u64 = 1 << 32;

/// Makes ids. Clones share the last ordered id.
#[derive(Clone, Debug)]
pub struct Ids {
    clock: Clock,
    random: Random,
    /// The last ordered id: 48 bits of time and 74 of tail as one number.
    last: Arc<Mutex<u128>>,
}

impl Ids {
    /// A generator on this clock and this randomness.
    pub fn new(clock: Clock, random: Random) -> Ids {
        Ids { clock, random, last: Arc::new(Mutex::new(0)) }
    }

    /// A UUIDv7. It contains its time and is greater than every earlier one of this generator,
    /// within one millisecond and also after the clock was set back. Generators of other processes
    /// agree only as far as their clocks do.
    pub fn ordered(&self) -> Uuid {
        let now = u128::from(self.clock.now().millis()) << TAIL_BITS;
        let mut last = self.last.lock();
        let next = if (now >> TAIL_BITS) > (*last >> TAIL_BITS) {
            now | (u128::from_le_bytes(self.random.bytes()) >> (128 - TAIL_BITS))
        } else {
            // An overflow of the tail carries into the time, which keeps the order.
            *last + 1 + u128::from(self.random.below(STEP_MAX))
        };
        *last = next;
        drop(last);
        ordered_from(next)
    }

    /// A UUIDv4, without any meaning.
    pub fn random(&self) -> Uuid {
        Builder::from_random_bytes(self.random.bytes()).into_uuid()
    }

    /// `length` of `A-Z a-z 0-9`, each equally likely: 5.95 bits a character.
    pub fn alphanumeric(&self, length: usize) -> String {
        self.word(ALPHANUMERIC, length)
    }

    /// `length` characters of `alphabet`, each equally likely. For codes that people read aloud and
    /// type.
    pub fn word(&self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).filter_map(|_| self.random.pick(&letters)).collect()
    }
}

fn ordered_from(number: u128) -> Uuid {
    // 48 bits of milliseconds last to the year 10889.
    let time = (number >> TAIL_BITS) << 80;
    let high = ((number >> 62) & 0xfff) << 64;
    let low = number & ((1 << 62) - 1);
    const VERSION_7: u128 = 0x7 << 76;
    const VARIANT: u128 = 0b10 << 62;
    Uuid::from_u128(time | VERSION_7 | high | VARIANT | low)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use uuid::{Variant, Version};

    use super::{Ids, ordered_from};
    use crate::{Clock, Random, Timestamp};

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn ordered_ids_rise_however_the_clock_is_set(
            seed in any::<u64>(),
            walls in vec(0..1_u64 << 47, 1..40),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let (clock, time) = Clock::virtual_at(at(0));
            let ids = Ids::new(clock, Random::seeded(seed));
            let mut last = ids.ordered();
            for wall in walls {
                runtime.block_on(time.set_wall(at(wall)));
                for _ in 0..3 {
                    let next = ids.ordered();
                    prop_assert!(next > last, "{next} after {last}");
                    prop_assert!(next.to_string() > last.to_string());
                    prop_assert_eq!(next.get_version(), Some(Version::SortRand));
                    prop_assert_eq!(next.get_variant(), Variant::RFC4122);
                    last = next;
                }
            }
        }

        #[test]
        fn the_numbers_of_ordered_ids_keep_their_order(a in 0..1_u128 << 122, b in 0..1_u128 << 122) {
            prop_assert_eq!(a.cmp(&b), ordered_from(a).cmp(&ordered_from(b)));
        }
    }

    #[test]
    fn an_ordered_id_carries_its_time() {
        let (clock, _time) = Clock::virtual_at(at(0x0123_4567_89ab));
        let id = Ids::new(clock, Random::seeded(1)).ordered();
        assert!(id.to_string().starts_with("01234567-89ab-7"), "{id}");
    }

    #[test]
    fn ids_of_many_threads_are_all_different() {
        let ids = Ids::new(Clock::real(), Random::seeded(testkit::seed::draw()));
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let ids = ids.clone();
                std::thread::spawn(move || {
                    (0..2_000).flat_map(|_| [ids.ordered(), ids.random()]).collect::<Vec<_>>()
                })
            })
            .collect();
        let made: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(made.iter().collect::<BTreeSet<_>>().len(), made.len());
    }

    #[test]
    fn a_seeded_run_makes_the_same_ids_again() {
        let make = || {
            let (clock, _time) = Clock::virtual_at(at(1));
            let ids = Ids::new(clock, Random::seeded(7));
            (
                ids.ordered(),
                ids.ordered(),
                ids.random(),
                ids.alphanumeric(20),
                ids.word("あいう", 4),
            )
        };
        assert_eq!(make(), make());
        assert_eq!(make().2.get_version(), Some(Version::Random));
    }

    #[test]
    fn every_letter_comes_up() {
        let ids = Ids::new(Clock::real(), Random::seeded(3));
        let word = ids.alphanumeric(2_000);
        assert_eq!(word.len(), 2_000);
        assert_eq!(word.chars().collect::<BTreeSet<_>>().len(), 62);
        assert!(word.chars().all(|letter| letter.is_ascii_alphanumeric()));
    }

    #[tokio::test]
    async fn a_clock_that_stands_still_does_not_stop_the_ids() {
        let (clock, time) = Clock::virtual_at(at(1));
        let ids = Ids::new(clock, Random::seeded(5));
        let made: Vec<_> = (0..10_000).map(|_| ids.ordered()).collect();
        assert!(made.is_sorted());
        time.advance(Duration::from_millis(1)).await;
        assert!(Some(&ids.ordered()) > made.last());
    }
}

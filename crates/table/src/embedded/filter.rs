//! Which keys a memtable or the tree may hold: one look at one word, instead of a walk whose every
//! step is somewhere else in memory. Most rows that are looked for are not in it.
//!
//! Invariant: a key that was added is never denied. One that was not is rarely taken for one that
//! was, unless many more were added than there is room for.

use std::sync::atomic::{AtomicU64, Ordering};

/// Keys for one word of the filter.
const KEYS_PER_WORD: usize = 4;
/// Bits of its word that a key sets.
const BITS: u32 = 4;

/// The filter.
pub(crate) struct Filter {
    /// As many as a power of two.
    words: Box<[AtomicU64]>,
}

impl Filter {
    /// With room for so many keys.
    pub(crate) fn new(keys: usize) -> Filter {
        let words = (keys / KEYS_PER_WORD).next_power_of_two();
        Filter { words: std::iter::repeat_with(AtomicU64::default).take(words).collect() }
    }

    /// Lets a key in, by its hash; whether it was surely not there.
    pub(crate) fn add(&self, hash: u64) -> bool {
        let (word, bits) = self.spot(hash);
        // Whoever may see the key's version is told of it by more than this.
        word.fetch_or(bits, Ordering::Relaxed) & bits != bits
    }

    /// Whether a key of this hash may have been let in.
    pub(crate) fn may_hold(&self, hash: u64) -> bool {
        let (word, bits) = self.spot(hash);
        word.load(Ordering::Relaxed) & bits == bits
    }

    /// The word of a key, and the bits in it.
    fn spot(&self, hash: u64) -> (&AtomicU64, u64) {
        // The upper half chooses the word, the lower the bits.
        let number = (hash >> 32) as usize & (self.words.len() - 1);
        let bits = (0..BITS).fold(0, |bits, turn| bits | 1 << (hash >> (6 * turn) & 63));
        (self.words.get(number).expect("the mask is below the number of words"), bits)
    }
}

/// The hash of a key, the same for all filters.
pub(crate) fn hash(key: &[u8]) -> u64 {
    mix(u64::from(crc32c::crc32c(key)))
}

/// Spreads a checksum over 64 bits: neighbours share nothing.
pub(super) fn mix(sum: u64) -> u64 {
    let mixed = (sum ^ (sum >> 16)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

#[cfg(test)]
mod tests {
    use super::{Filter, hash};

    #[test]
    fn it_denies_no_key_that_it_holds_and_takes_few_others_for_one() {
        let many = 32 << 10;
        let filter = Filter::new(many);
        let key = |number: usize| hash(format!("USER#{number:026}").as_bytes());
        assert!((0..many).filter(|number| filter.add(key(*number))).count() > many / 100 * 99);
        assert!((0..many).all(|number| filter.may_hold(key(number))));
        let wrong = (many..2 * many).filter(|number| filter.may_hold(key(*number)));
        let wrong = wrong.count();
        assert!(wrong * 100 < many, "{wrong} of {many} are taken for held ones");
    }
}

//! Which keys a memtable may hold: one look at one word, instead of a walk down a list whose every
//! step is somewhere else in memory. Most rows that are looked for are not in it.
//!
//! Invariant: a key that was added is never denied. One that was not is rarely taken for one that
//! was: a memtable is full long before its filter is.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of versions for one word of the filter. A version weighs 160 bytes and more: so a word
/// stands for six keys at most, and for three as rows are.
const BYTES_PER_WORD: usize = 1024;
/// Bits of its word that a key sets.
const BITS: u32 = 4;

/// The filter.
pub(crate) struct Filter {
    /// As many as a power of two.
    words: Box<[AtomicU64]>,
}

impl Filter {
    /// For a memtable of so many bytes.
    pub(crate) fn new(memtable_bytes: usize) -> Filter {
        let words = (memtable_bytes / BYTES_PER_WORD).next_power_of_two();
        Filter { words: std::iter::repeat_with(AtomicU64::default).take(words).collect() }
    }

    /// Lets a key in.
    pub(crate) fn add(&self, key: &[u8]) {
        let (word, bits) = self.spot(key);
        // Whoever may see the key's version is told of it by more than this.
        word.fetch_or(bits, Ordering::Relaxed);
    }

    /// Whether a key may have been let in.
    pub(crate) fn may_hold(&self, key: &[u8]) -> bool {
        let (word, bits) = self.spot(key);
        word.load(Ordering::Relaxed) & bits == bits
    }

    /// The word of a key, and the bits in it.
    fn spot(&self, key: &[u8]) -> (&AtomicU64, u64) {
        let hash = mix(u64::from(crc32c::crc32c(key)));
        // The upper half chooses the word, the lower the bits.
        let number = (hash >> 32) as usize & (self.words.len() - 1);
        let bits = (0..BITS).fold(0, |bits, turn| bits | 1 << (hash >> (6 * turn) & 63));
        (self.words.get(number).expect("the mask is below the number of words"), bits)
    }
}

/// Spreads a checksum over 64 bits: neighbours share nothing.
pub(super) fn mix(sum: u64) -> u64 {
    let mixed = (sum ^ (sum >> 16)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

#[cfg(test)]
mod tests {
    use super::Filter;

    #[test]
    fn it_denies_no_key_that_it_holds_and_takes_few_others_for_one() {
        let memtable = 8 << 20;
        let filter = Filter::new(memtable);
        // As many as fit when each is small.
        let many = memtable / 256;
        let key = |number: usize| format!("USER#{number:026}");
        (0..many).for_each(|number| filter.add(key(number).as_bytes()));
        assert!((0..many).all(|number| filter.may_hold(key(number).as_bytes())));
        let wrong = (many..2 * many).filter(|number| filter.may_hold(key(*number).as_bytes()));
        let wrong = wrong.count();
        assert!(wrong * 100 < many, "{wrong} of {many} are taken for held ones");
    }
}

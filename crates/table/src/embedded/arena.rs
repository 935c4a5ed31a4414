//! Memory that the keys or rows of one transaction share: one allocation for many, given back when
//! all of them are gone. A row that is the same as the one before it is that one.

use bytes::{Bytes, BytesMut};

/// What a key takes, about.
const KEY_BYTES: usize = 128;
/// Memory that is got at once, at most. Little is held longer than it is needed.
const CHUNK_BYTES_MAX: usize = 16 * 1024;
/// Rows of one transaction are often alike: memory for them is got in small pieces.
const ROWS_BYTES: usize = 2048;

/// The memory, and what was written there last.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    open: BytesMut,
    last: Bytes,
    scratch: Vec<u8>,
}

impl Arena {
    /// For so many keys.
    pub(crate) fn of_keys(count: usize) -> Arena {
        Arena::with_capacity((count * KEY_BYTES).min(CHUNK_BYTES_MAX))
    }

    /// For the rows of a transaction of so many.
    pub(crate) fn of_rows(count: usize) -> Arena {
        Arena::with_capacity(if count > 1 { ROWS_BYTES } else { 0 })
    }

    fn with_capacity(bytes: usize) -> Arena {
        Arena { open: BytesMut::with_capacity(bytes), ..Arena::default() }
    }

    /// Where the next one is written, with room for so many bytes.
    pub(crate) fn room(&mut self, bytes: usize) -> &mut BytesMut {
        self.open.reserve(bytes);
        &mut self.open
    }

    /// What was written since it was last asked for.
    pub(crate) fn seal(&mut self) -> Bytes {
        if self.open == self.last {
            self.open.clear();
        } else {
            self.last = self.open.split().freeze();
        }
        self.last.clone()
    }

    /// Where something is written that may not be kept.
    pub(crate) fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.scratch
    }

    /// Keeps what is in the scratch.
    pub(crate) fn keep_scratch(&mut self) -> Bytes {
        self.open.extend_from_slice(&self.scratch);
        self.seal()
    }
}

/// Whether two share their memory.
pub(crate) fn is_shared(one: &Bytes, other: &Bytes) -> bool {
    std::ptr::eq::<[u8]>(&**one, &**other)
}

#[cfg(test)]
mod tests {
    use super::{Arena, is_shared};

    #[test]
    fn what_is_the_same_as_before_is_not_held_again() {
        let mut arena = Arena::of_rows(4);
        let rows = ["one", "one", "other", "one"].map(|row| {
            arena.room(row.len()).extend_from_slice(row.as_bytes());
            arena.seal()
        });
        assert_eq!(rows, ["one", "one", "other", "one"]);
        let [first, second, third, last] = &rows;
        assert!(is_shared(first, second) && !is_shared(second, third) && !is_shared(first, last));
    }
}

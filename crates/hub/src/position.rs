//! Where a reader stands in a topic.
//!
//! A position is an epoch and an offset. The *epoch* names a numbering: everything that one
//! carrier gave numbers to in one life. The *offset* is the push's number in it. Invariants:
//!
//! - within an epoch, the pushes of one topic have growing offsets, in the order in which every
//!   reader of every instance sees them;
//! - offsets may skip, because a numbering serves all topics;
//! - positions of different epochs say nothing about each other: a reader that comes with another
//!   epoch is told that there is a gap, never guessed about.
//!
//! So a position means the same on every instance that shares a carrier, and a reader may come
//! back to another one than it left. In process the numbering begins anew with every start.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// A place between two pushes of a topic: behind the push with this offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// Which numbering.
    pub epoch: u64,
    /// The last push before this place.
    pub offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.epoch, self.offset)
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Position, Error> {
        let wrong = || Error::NotAPosition(text.to_owned());
        // The parsers of numbers take a sign, which no position has.
        let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let (epoch, offset) = text.split_once('-').filter(|_| plain).ok_or_else(wrong)?;
        let epoch = u64::from_str_radix(epoch, 16).map_err(|_| wrong())?;
        let offset = offset.parse().map_err(|_| wrong())?;
        Ok(Position { epoch, offset })
    }
}

/// Positions in several topics, in the order in which the reader named the topics. Written with
/// commas between them; one topic's cursor is its position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor(pub Vec<Position>);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, position) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{position}")?;
        }
        Ok(())
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Cursor, Error> {
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Cursor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{Cursor, Position};

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn what_is_written_is_read_back(list in proptest::collection::vec(any::<(u64, u64)>(), 1..5)) {
            let positions = list.into_iter().map(|(epoch, offset)| Position { epoch, offset });
            let cursor = Cursor(positions.collect());
            prop_assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        }
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for text in ["", "5", "5-", "-5", "g-1", "5--1", "5-+1", "1-2,", "1-99999999999999999999"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
        let refused = "x-1".parse::<Position>().unwrap_err();
        assert_eq!(refused.to_string(), "`x-1` is not a position such as `5f3a-17`");
    }
}

//! A reader's position in a topic.
//!
//! A position is an epoch and an offset. The *epoch* identifies a numbering: all numbers that one
//! carrier gave out in one lifetime. The *offset* is the number of a push in it. Invariants:
//!
//! - within an epoch, the offsets of one topic grow, in the order in which every reader on every
//!   instance gets the pushes;
//! - offsets may skip, because one numbering serves all topics;
//! - positions of different epochs cannot be compared: a reader with another epoch gets a gap.
//!
//! So a position means the same on every instance with the same carrier, and a reader may resume on
//! another instance. The in-process carrier starts a new epoch with every start of the server.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// A place between two pushes of a topic: right after the push with this offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The numbering.
    pub epoch: u64,
    /// The offset of the last push before this place.
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
        // The number parsers accept a sign, but a position has none.
        let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let (epoch, offset) = text.split_once('-').filter(|_| plain).ok_or_else(wrong)?;
        let epoch = u64::from_str_radix(epoch, 16).map_err(|_| wrong())?;
        let offset = offset.parse().map_err(|_| wrong())?;
        Ok(Position { epoch, offset })
    }
}

/// Positions in several topics, in the order in which the reader named the topics, written with
/// commas between them. The cursor of one topic is its position.
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
        fn a_cursor_reads_back_as_written(list in proptest::collection::vec(any::<(u64, u64)>(), 1..5)) {
            let positions = list.into_iter().map(|(epoch, offset)| Position { epoch, offset });
            let cursor = Cursor(positions.collect());
            prop_assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        }
    }

    #[test]
    fn an_invalid_cursor_is_refused_with_its_text() {
        for text in ["", "5", "5-", "-5", "g-1", "5--1", "5-+1", "1-2,", "1-99999999999999999999"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
        let refused = "x-1".parse::<Position>().unwrap_err();
        assert_eq!(refused.to_string(), "`x-1` is not a position such as `5f3a-17`");
    }
}

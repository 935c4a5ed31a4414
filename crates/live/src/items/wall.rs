//! The state of a room's walls, as attributes of the room's item:
//!
//! ```text
//!   wallHidden, wallPaused   booleans
//!   wallJoin, wallArea       words
//!   wallLetters              a number
//!   wallPins                 a list of comments' ids
//! ```
//!
//! Rooms of earlier versions have none of them, and a word that this version does not know counts as
//! absent: the default holds then.

use table::{Item, Update, Value};

use super::{flag, list, number, words};
use crate::model::{Wall, WallArea, WallJoin};

const PINS: &str = "wallPins";

/// The state in a room's item.
pub(super) fn read_wall(item: &Item) -> Wall {
    let word = |name| item.get(name).and_then(Value::as_s);
    Wall {
        hidden: flag(item, "wallHidden"),
        paused: flag(item, "wallPaused"),
        join: word("wallJoin").and_then(WallJoin::named).unwrap_or_default(),
        area: word("wallArea").and_then(WallArea::named).unwrap_or_default(),
        letters: number(item, "wallLetters").unwrap_or_default(),
        pins: words(item, PINS),
    }
}

/// A room's item with the state in it.
pub(super) fn with_wall(item: Item, wall: &Wall) -> Item {
    item.with("wallHidden", wall.hidden)
        .with("wallPaused", wall.paused)
        .with("wallJoin", wall.join.word())
        .with("wallArea", wall.area.word())
        .with("wallLetters", wall.letters)
        .with(PINS, list(&wall.pins))
}

/// An update of a room's item that also sets the pins.
pub(super) fn set_pins(update: Update, pins: &[String]) -> Update {
    update.set(PINS, list(pins))
}

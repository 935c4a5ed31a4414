//! What the host shows on the walls of a room: all walls of one room follow the same state.
//!
//! Invariant: the state has a fixed size. Only the list of pinned comments grows, up to
//! [`WALL_PINS_MAX`].

use super::{Comment, State};
use crate::error::Error;
use crate::limits::{WALL_LETTERS_MAX, WALL_LETTERS_MIN, WALL_PINS_MAX};

/// What the walls show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wall {
    /// Whether the walls show nothing at all.
    pub(crate) hidden: bool,
    /// Whether comments stand still.
    pub(crate) paused: bool,
    pub(crate) join: WallJoin,
    pub(crate) area: WallArea,
    /// The height of letters in hundredths of the screen's height; 0 leaves it to the wall.
    pub(crate) letters: u64,
    /// Ids of the pinned comments that are shown and not answered, the newest pin last. The walls
    /// show the last one; when it is answered, the one before it.
    pub(crate) pins: Vec<String>,
}

/// How the walls show the way into the room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WallJoin {
    /// On the full screen until the first comment, then not at all.
    #[default]
    Auto,
    /// On the full screen, instead of the comments.
    Full,
    /// In the corner, beside the comments.
    Corner,
    /// Not at all.
    Off,
}

impl WallJoin {
    /// All of them, in the order in which a desk offers them.
    pub(crate) const ALL: [WallJoin; 4] =
        [WallJoin::Auto, WallJoin::Full, WallJoin::Corner, WallJoin::Off];

    pub(crate) fn word(self) -> &'static str {
        match self {
            WallJoin::Auto => "auto",
            WallJoin::Full => "full",
            WallJoin::Corner => "corner",
            WallJoin::Off => "off",
        }
    }

    pub(crate) fn named(word: &str) -> Option<WallJoin> {
        WallJoin::ALL.into_iter().find(|join| join.word() == word)
    }
}

/// The part of the screen in which comments fly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WallArea {
    #[default]
    Full,
    Top,
    Bottom,
    Left,
    Right,
}

impl WallArea {
    /// All of them, in the order in which a desk offers them.
    pub(crate) const ALL: [WallArea; 5] =
        [WallArea::Full, WallArea::Top, WallArea::Bottom, WallArea::Left, WallArea::Right];

    pub(crate) fn word(self) -> &'static str {
        match self {
            WallArea::Full => "full",
            WallArea::Top => "top",
            WallArea::Bottom => "bottom",
            WallArea::Left => "left",
            WallArea::Right => "right",
        }
    }

    pub(crate) fn named(word: &str) -> Option<WallArea> {
        WallArea::ALL.into_iter().find(|area| area.word() == word)
    }
}

/// What a host changes on the walls. What is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangeWall {
    pub(crate) hidden: Option<bool>,
    pub(crate) paused: Option<bool>,
    pub(crate) join: Option<WallJoin>,
    pub(crate) area: Option<WallArea>,
    pub(crate) letters: Option<u64>,
}

impl Wall {
    /// The state after a change.
    pub(crate) fn change(&self, change: &ChangeWall) -> Result<Wall, Error> {
        let letters = change.letters.unwrap_or(self.letters);
        if letters != 0 && !(WALL_LETTERS_MIN..=WALL_LETTERS_MAX).contains(&letters) {
            let message = format!(
                "wall.letters must be 0 or between {WALL_LETTERS_MIN} and {WALL_LETTERS_MAX}, \
                 not {letters}"
            );
            return Err(Error::invalid(message));
        }
        Ok(Wall {
            hidden: change.hidden.unwrap_or(self.hidden),
            paused: change.paused.unwrap_or(self.paused),
            join: change.join.unwrap_or(self.join),
            area: change.area.unwrap_or(self.area),
            letters,
            pins: self.pins.clone(),
        })
    }

    /// The pinned comments after this one has changed. Past the bound, the oldest pin is dropped
    /// from the walls; its comment stays pinned in the list.
    pub(crate) fn pins_after(&self, comment: &Comment) -> Vec<String> {
        let stands = comment.pinned && !comment.answered && comment.state == State::Shown;
        let mut pins = self.pins.clone();
        if pins.contains(&comment.id) == stands {
            return pins;
        }
        if stands {
            pins.push(comment.id.clone());
            let excess = pins.len().saturating_sub(WALL_PINS_MAX);
            pins.drain(..excess);
        } else {
            pins.retain(|id| *id != comment.id);
        }
        pins
    }
}

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::{ChangeWall, Wall, WallArea, WallJoin};
    use crate::limits::WALL_PINS_MAX;
    use crate::model::{Comment, State};

    fn pinned(id: usize) -> Comment {
        Comment {
            room_id: "room".to_owned(),
            id: format!("{id}"),
            content: "why?".to_owned(),
            nickname: "Ada".to_owned(),
            created_at: Timestamp::from_millis(0),
            seq: 1,
            state: State::Shown,
            answered: false,
            pinned: true,
            likes: 0,
            is_host: false,
            author: "a".to_owned(),
        }
    }

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let area = ChangeWall { area: Some(WallArea::Top), ..ChangeWall::default() };
        let join = ChangeWall { join: Some(WallJoin::Full), ..ChangeWall::default() };
        let wall = Wall::default().change(&area).unwrap().change(&join).unwrap();
        assert_eq!(wall, Wall { area: WallArea::Top, join: WallJoin::Full, ..Wall::default() });
    }

    #[test]
    fn letters_are_readable_or_left_to_the_wall() {
        let letters = |letters| {
            Wall::default().change(&ChangeWall { letters: Some(letters), ..ChangeWall::default() })
        };
        for good in [0, 4, 12] {
            assert_eq!(letters(good).unwrap().letters, good);
        }
        for bad in [1, 3, 13, u64::MAX] {
            assert!(letters(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_wall_shows_the_newest_pin_and_then_the_one_before_it() {
        let mut wall = Wall::default();
        for id in [1, 2, 1] {
            wall.pins = wall.pins_after(&pinned(id));
        }
        assert_eq!(wall.pins, ["1", "2"], "a second pin of the same comment changes nothing");
        let gone = [
            Comment { answered: true, ..pinned(2) },
            Comment { state: State::Hidden, ..pinned(2) },
            Comment { pinned: false, ..pinned(2) },
        ];
        for comment in gone {
            assert_eq!(wall.pins_after(&comment), ["1"]);
        }
    }

    #[test]
    fn the_pins_of_a_wall_are_bounded_and_the_newest_stay() {
        let mut wall = Wall::default();
        for id in 0..WALL_PINS_MAX + 3 {
            wall.pins = wall.pins_after(&pinned(id));
        }
        assert_eq!(wall.pins.len(), WALL_PINS_MAX);
        assert_eq!(wall.pins.last().unwrap(), &format!("{}", WALL_PINS_MAX + 2));
    }
}

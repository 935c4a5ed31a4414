//! How much the house holds, and which rooms are over.
//!
//! A census reads every room once, in pages. It removes rooms past their retention and rooms that
//! nobody ever used, adds up the comments of the others, and corrects the number of rooms, which is
//! otherwise kept by the transactions that open and remove them.
//!
//! The number of comments is that of the last census and what this instance has posted since then.
//! So of two instances each may pass the bound by what the other one takes between two censuses.

use std::time::Duration;

use base::Timestamp;
use parking_lot::Mutex;
use table::Error as StoreError;

use crate::Live;
use crate::error::Error;
use crate::items;
use crate::items::totals::{Totals, read_totals};
use crate::model::Room;

const HOUR: Duration = Duration::from_secs(3_600);

/// Comments of the whole house, as far as this instance knows.
#[derive(Default)]
pub(crate) struct Comments(Mutex<Known>);

#[derive(Default)]
struct Known {
    comments: u64,
    /// The census that this began with.
    counted_ms: u64,
}

impl Comments {
    /// Adds what was posted here.
    pub(crate) fn add(&self, count: usize) {
        let mut known = self.0.lock();
        known.comments = known.comments.saturating_add(count as u64);
    }

    /// Begins again with a newer census.
    fn learn(&self, totals: Totals) {
        let mut known = self.0.lock();
        if totals.counted_ms > known.counted_ms {
            *known = Known { comments: totals.comments, counted_ms: totals.counted_ms };
        }
    }

    fn count(&self) -> u64 {
        self.0.lock().comments
    }
}

/// Rooms that are over at a census.
struct Over {
    /// Rooms without a sign of life since then are past their retention.
    quiet_since: Timestamp,
    /// Rooms without a comment and without a change since then were never used.
    unused_since: Timestamp,
}

impl Over {
    fn holds(&self, room: &Room) -> bool {
        room.active_at < self.quiet_since
            || (room.last_comment.is_empty() && room.active_at < self.unused_since)
    }
}

impl Live {
    /// Counts if nobody has counted yet, and takes over what was counted.
    pub(crate) async fn open_totals(&self) -> Result<(), Error> {
        let item = self.tables.get(self.layout.get_totals()).await?;
        if item.as_ref().is_none_or(|item| !read_totals(item).1) {
            self.take_census().await?;
        }
        self.learn_totals().await
    }

    /// Takes over what another instance may have counted.
    pub(crate) async fn learn_totals(&self) -> Result<(), Error> {
        let item = self.tables.get(self.layout.get_totals()).await?;
        if let Some(item) = item {
            self.comments.learn(read_totals(&item).0);
        }
        Ok(())
    }

    /// An error if the house holds as many comments as it may.
    pub(crate) fn check_comments(&self) -> Result<(), Error> {
        let max = self.options.comments_max;
        if self.comments.count() >= max { Err(Error::CommentsFull(max)) } else { Ok(()) }
    }

    /// Counts everything, and removes the rooms that are over; answers how many.
    pub(crate) async fn take_census(&self) -> Result<usize, Error> {
        let item = self.tables.get(self.layout.get_totals()).await?;
        let before = item.as_ref().map(read_totals).filter(|(_, is_counted)| *is_counted);
        let over = self.over();
        let (mut scan, mut rooms, mut comments, mut removed) = (self.layout.scan_rooms(), 0, 0, 0);
        loop {
            let page = self.tables.scan(scan.clone()).await?;
            for room in page.items.iter().filter_map(items::read_room) {
                if over.holds(&room) && self.remove_if_over(&room, &over).await? {
                    removed += 1;
                } else {
                    rooms += 1;
                    comments += room.seq;
                }
            }
            match page.last_key {
                Some(last) => scan.start_after = Some(last),
                None => break,
            }
        }
        self.tables.update(self.layout.put_census(comments, self.clock.now())).await?;
        // What was removed here was counted off.
        let read = before.map(|(before, _)| before.rooms.saturating_sub(removed as u64));
        if read != Some(rooms) {
            match self.tables.update(self.layout.correct_rooms(rooms, read)).await {
                // Rooms were opened or removed while these were counted: the next census corrects.
                Ok(_) | Err(StoreError::ConditionFailed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(removed)
    }

    fn over(&self) -> Over {
        let since = |kept: Duration| match kept {
            Duration::ZERO => Timestamp::EPOCH,
            kept => self.clock.now().checked_sub(kept).unwrap_or(Timestamp::EPOCH),
        };
        let days = |days: u64| HOUR * 24 * u32::try_from(days).unwrap_or(u32::MAX);
        Over {
            quiet_since: since(days(self.options.retention_days)),
            unused_since: since(days(self.options.unused_room_days)),
        }
    }

    /// Removes a room that is still over and that nobody looks at.
    async fn remove_if_over(&self, room: &Room, over: &Over) -> Result<bool, Error> {
        let still_over = |room: &Room| {
            let is_watched = room.active_at >= over.quiet_since && self.viewers(&room.id) > 0;
            if over.holds(room) && !is_watched { Ok(()) } else { Err(Error::NotTheHost) }
        };
        match self.remove_room(&room.id, still_over).await {
            Ok(()) => Ok(true),
            // Somebody has spoken in it or removed it just now.
            Err(Error::NotTheHost | Error::RoomNotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

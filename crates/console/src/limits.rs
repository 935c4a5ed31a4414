//! Every number that bounds the console, with its reason.

use std::time::Duration;

use hub::History;

/// How often the house is looked at: often enough to see it move, seldom enough to cost nothing.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// How often the folder of backups is read. Backups come by the day.
pub(crate) const LOOK_FOR_BACKUPS: Duration = Duration::from_secs(30);

/// Looks that are remembered: a minute of rates, and the look before it.
pub(crate) const LOOKS_KEPT: usize = 61;

/// What is kept for a browser that comes back: as much as its lines show.
pub(crate) const PUSHES_KEPT: History =
    History { pushes: LOOKS_KEPT, bytes: 256 * 1024, age: Duration::from_secs(60) };

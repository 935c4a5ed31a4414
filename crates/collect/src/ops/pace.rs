//! Paces: calls that share a rate take their turns from one row of the table, whichever part,
//! backfill or instance they belong to. So no restart and no second instance makes them faster.

use std::time::Duration;

use base::Timestamp;

use crate::Collect;
use crate::error::Error;
use crate::items::pace::{begin_pace, extend_pace, read_pace};
use crate::limits::PACE_RACES_MAX;

/// Calls that share a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) id: String,
    /// Calls a second.
    pub(crate) rate: u64,
}

impl Pace {
    /// From one call to the next.
    pub(crate) fn pause(&self) -> Duration {
        Duration::from_secs(1).div_f64(self.rate.max(1) as f64)
    }

    fn millis(&self, calls: u64) -> u64 {
        calls.saturating_mul(1000).div_ceil(self.rate.max(1))
    }
}

impl Collect {
    /// Takes turns for so many calls; answers when the first may be made.
    pub(crate) async fn take_turns(&self, pace: &Pace, calls: u64) -> Result<Timestamp, Error> {
        let taken_ms = pace.millis(calls);
        for _ in 0..PACE_RACES_MAX {
            let now = self.clock.now();
            for update in
                [extend_pace(&pace.id, taken_ms, now), begin_pace(&pace.id, taken_ms, now)]
            {
                match self.tables.update(update).await {
                    Ok(item) => {
                        let end = item.as_ref().and_then(read_pace).unwrap_or(now.millis());
                        return Ok(Timestamp::from_millis(end.saturating_sub(taken_ms)));
                    }
                    // The other one holds, or somebody was faster.
                    Err(table::Error::ConditionFailed { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Err(Error::Contended(pace.id.clone()))
    }
}

//! What the overview shows: rates and sums over the last minute, made of two looks at numbers that
//! only grow.

use std::collections::VecDeque;
use std::time::Duration;

use base::Timestamp;
use serde::Serialize;

use crate::limits::{LOOKS_KEPT, MINUTES_KEPT};
use crate::numbers::{ChannelNumbers, Numbers, QueueNumbers, RoomNumbers};

/// The queue that facts leave by, and the beginning of the names of those that they go to.
const OUTBOX: &str = "bus.outbox";
const BUS: &str = "bus.";

/// Lines of the overview: one for each room, and the store's writes.
pub(crate) const LINES: usize = 6;

/// After how long the rates of a minute are noted.
const MINUTE: Duration = Duration::from_secs(60);

/// The last looks at the house.
#[derive(Debug, Default)]
pub(crate) struct Overview {
    looks: VecDeque<(Timestamp, Numbers)>,
    /// The rates of the last minutes.
    minutes: VecDeque<Vec<f64>>,
    /// Where the minute began that goes on.
    minute_begin: Option<(Timestamp, [f64; LINES])>,
    /// When the newest backup was made.
    pub(crate) newest_backup: Option<Timestamp>,
}

/// The house in one moment, as browsers are told of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Moment {
    pub(crate) at: u64,
    /// By the order of the rooms.
    pub(crate) tiles: [Tile; 5],
    pub(crate) store: StoreStrip,
    pub(crate) queues: Queues,
    pub(crate) facts: Facts,
    pub(crate) readers: f64,
}

/// One room in one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tile {
    /// What happens there in a second.
    pub(crate) rate: f64,
    /// What the room is there for, in the last minute, and how often it failed.
    pub(crate) deeds: f64,
    pub(crate) failures: f64,
    pub(crate) topics: f64,
}

/// The store in one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoreStrip {
    pub(crate) writes: f64,
    /// How long a commit took, of those of the last minute.
    pub(crate) mean_ms: Option<f64>,
    /// Ninety-nine of a hundred took no longer.
    pub(crate) most_ms: Option<f64>,
    pub(crate) bytes: f64,
    pub(crate) backup_seconds: Option<u64>,
    /// Nothing where the store is not the house's own: `/readyz` says whether it answers.
    pub(crate) is_writable: Option<bool>,
}

/// All queues in one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Queues {
    pub(crate) depth: f64,
    pub(crate) due: f64,
    pub(crate) oldest_seconds: f64,
    pub(crate) dead: f64,
}

/// The fact bus in one moment, over the last minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    pub(crate) told: f64,
    pub(crate) done: f64,
    pub(crate) retried: f64,
    pub(crate) dead: f64,
}

impl Overview {
    /// Remembers a look at the house. If a minute is over by it, returns the minute's rates.
    pub(crate) fn look(&mut self, at: Timestamp, numbers: Numbers) -> Option<Vec<f64>> {
        let minute = self.count_minute(at, sums(&numbers));
        while self.looks.len() >= LOOKS_KEPT {
            self.looks.pop_front();
        }
        self.looks.push_back((at, numbers));
        minute
    }

    fn count_minute(&mut self, at: Timestamp, now: [f64; LINES]) -> Option<Vec<f64>> {
        let (begin, before) = *self.minute_begin.get_or_insert((at, now));
        let lasted = at.since(begin);
        if lasted < MINUTE {
            return None;
        }
        self.minute_begin = Some((at, now));
        let rates = now.iter().zip(&before);
        let rates: Vec<f64> =
            rates.map(|(now, before)| hundredths((now - before) / lasted.as_secs_f64())).collect();
        while self.minutes.len() >= MINUTES_KEPT {
            self.minutes.pop_front();
        }
        self.minutes.push_back(rates.clone());
        Some(rates)
    }

    /// The house as it was at the last look.
    pub(crate) fn moment(&self) -> Moment {
        let Some((at, now)) = self.looks.back() else { return Moment::default() };
        let (_, first) = self.looks.front().unwrap_or(&(*at, now.clone())).clone();
        let before = self.looks.len().checked_sub(2).and_then(|index| self.looks.get(index));
        let (seconds, last) = match before {
            Some((then, last)) => (at.since(*then).as_secs_f64().max(0.001), last),
            None => (1.0, now),
        };
        let mut moment = Moment {
            at: at.millis(),
            store: strip(now, &first, (now.store.commits - last.store.commits) / seconds),
            queues: queues(now),
            facts: facts(now, &first),
            readers: now.readers,
            ..Moment::default()
        };
        moment.store.backup_seconds = self.newest_backup.map(|backup| at.since(backup).as_secs());
        let rooms = now.rooms.iter().zip(&last.rooms).zip(&first.rooms);
        for (tile, ((now, last), first)) in moment.tiles.iter_mut().zip(rooms) {
            *tile = tile_of(now, last, first, seconds);
        }
        moment
    }

    /// How long it was looked at.
    pub(crate) fn span(&self) -> Duration {
        match (self.looks.front(), self.looks.back()) {
            (Some((first, _)), Some((last, _))) => last.since(*first),
            _ => Duration::ZERO,
        }
    }

    /// What happened in a room from minute to minute of the last hour, oldest first; after the rooms,
    /// the store's writes.
    pub(crate) fn hour(&self, line: usize) -> Vec<f64> {
        self.minutes.iter().filter_map(|rates| rates.get(line)).copied().collect()
    }

    /// What happened in a room from second to second, oldest first; after the rooms, the store's
    /// writes.
    pub(crate) fn line(&self, room: usize) -> Vec<f64> {
        let moves = |numbers: &Numbers| sums(numbers).get(room).copied().unwrap_or_default();
        let pairs = self.looks.iter().zip(self.looks.iter().skip(1));
        let rates = pairs.map(|((then, before), (at, now))| {
            let seconds = at.since(*then).as_secs_f64().max(0.001);
            tenths((moves(now) - moves(before)) / seconds)
        });
        rates.collect()
    }

    /// The queues at the last look, by name.
    pub(crate) fn queues(&self) -> Vec<(String, QueueNumbers)> {
        let now = self.looks.back().map(|(_, now)| now.queues.clone());
        now.unwrap_or_default().into_iter().collect()
    }

    /// The channels at the last look, by name.
    pub(crate) fn channels(&self) -> Vec<(String, ChannelNumbers)> {
        let now = self.looks.back().map(|(_, now)| now.channels.clone());
        now.unwrap_or_default().into_iter().collect()
    }
}

/// What the lines are the rates of.
fn sums(numbers: &Numbers) -> [f64; LINES] {
    let [mesh, sns, live, collect, score] = numbers.rooms.map(|room| room.moves);
    [mesh, sns, live, collect, score, numbers.store.commits]
}

fn tile_of(now: &RoomNumbers, last: &RoomNumbers, first: &RoomNumbers, seconds: f64) -> Tile {
    Tile {
        rate: tenths((now.moves - last.moves) / seconds),
        deeds: now.deeds - first.deeds,
        failures: now.failures - first.failures,
        topics: now.topics,
    }
}

fn strip(now: &Numbers, first: &Numbers, writes: f64) -> StoreStrip {
    let (now, first) = (&now.store, &first.store);
    let batches = now.batches - first.batches;
    let within = now.within.iter().zip(&first.within);
    let most = within
        .map(|((bound, now), (_, first))| (*bound, now - first))
        .find(|(_, count)| *count >= batches * 0.99)
        .map(|(bound, _)| bound * 1_000.0);
    let mean = (now.batch_seconds - first.batch_seconds) / batches * 1_000.0;
    StoreStrip {
        writes: tenths(writes),
        mean_ms: (batches > 0.0).then_some((mean * 100.0).round() / 100.0),
        most_ms: most.filter(|most| batches > 0.0 && most.is_finite()),
        bytes: now.bytes,
        backup_seconds: None,
        is_writable: now.is_writable,
    }
}

fn queues(now: &Numbers) -> Queues {
    let mut all = Queues::default();
    for queue in now.queues.values() {
        all.depth += queue.depth;
        all.due += queue.due;
        all.oldest_seconds = all.oldest_seconds.max(queue.oldest_seconds);
        all.dead += queue.dead;
    }
    all
}

fn facts(now: &Numbers, first: &Numbers) -> Facts {
    let mut facts = Facts::default();
    for (name, queue) in now.queues.iter().filter(|(name, _)| name.starts_with(BUS)) {
        let first = first.queues.get(name).copied().unwrap_or_default();
        if name == OUTBOX {
            facts.told = queue.sent - first.sent;
        } else {
            facts.done += queue.done - first.done;
        }
        facts.retried += queue.retried - first.retried;
        facts.dead += queue.dead;
    }
    facts
}

fn tenths(number: f64) -> f64 {
    (number.max(0.0) * 10.0).round() / 10.0
}

fn hundredths(number: f64) -> f64 {
    (number.max(0.0) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use base::Timestamp;

    use super::{LINES, Overview};
    use crate::limits::{LOOKS_KEPT, MINUTES_KEPT};
    use crate::numbers::{Numbers, QueueNumbers};

    fn numbers(n: f64) -> Numbers {
        let mut numbers = Numbers::default();
        numbers.rooms[0].moves = 3.0 * n;
        numbers.rooms[0].deeds = n;
        numbers.store.commits = 10.0 * n;
        numbers.store.batches = 100.0 * n;
        numbers.store.batch_seconds = 0.2 * n;
        numbers.store.within =
            vec![(0.001, 98.0 * n), (0.005, 99.5 * n), (f64::INFINITY, 100.0 * n)];
        let queue = |name: &str, sent, done| {
            let queue = QueueNumbers { sent, done, depth: 2.0, dead: 1.0, ..Default::default() };
            (name.to_owned(), queue)
        };
        numbers.queues =
            [queue("bus.outbox", n, n), queue("bus.sns", n, 2.0 * n), queue("asks", n, n)].into();
        numbers
    }

    fn at(second: u64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + second * 1_000)
    }

    #[test]
    fn rates_are_those_of_the_last_second_and_sums_those_of_a_minute() {
        let mut overview = Overview::default();
        for second in 0..200 {
            overview.look(at(second), numbers(second as f64));
        }
        overview.newest_backup = Some(at(99));
        let moment = overview.moment();
        assert_eq!((moment.tiles[0].rate, moment.tiles[0].deeds), (3.0, 60.0));
        assert_eq!(moment.store.writes, 10.0);
        assert_eq!((moment.store.mean_ms, moment.store.most_ms), (Some(2.0), Some(5.0)));
        assert_eq!(moment.store.backup_seconds, Some(100));
        assert_eq!((moment.queues.depth, moment.queues.dead), (6.0, 3.0));
        assert_eq!((moment.facts.told, moment.facts.done, moment.facts.dead), (60.0, 120.0, 2.0));
        let line = overview.line(0);
        assert_eq!(line.len(), LOOKS_KEPT - 1);
        assert!(line.iter().all(|rate| *rate == 3.0), "{line:?}");
    }

    #[test]
    fn an_hour_of_minutes_is_remembered_and_no_more() {
        let mut overview = Overview::default();
        let mut ended = 0;
        for second in 0..=3_660 {
            let minute = overview.look(at(second), numbers(second as f64));
            assert_eq!(minute.is_some(), second > 0 && second % 60 == 0, "{second}");
            ended += usize::from(minute.is_some());
        }
        assert_eq!(ended, 61);
        assert_eq!(overview.hour(0), vec![3.0; MINUTES_KEPT]);
        assert_eq!(overview.hour(LINES - 1), vec![10.0; MINUTES_KEPT]);
        assert!(overview.hour(LINES).is_empty());
    }

    #[test]
    fn a_house_that_was_looked_at_once_or_never_has_no_rates() {
        let mut overview = Overview::default();
        assert_eq!(overview.moment().tiles[0].rate, 0.0);
        overview.look(at(0), numbers(7.0));
        let moment = overview.moment();
        assert_eq!((moment.tiles[0].rate, moment.store.writes), (0.0, 0.0));
        assert_eq!((moment.store.mean_ms, moment.store.most_ms), (None, None));
        assert!(overview.line(0).is_empty());
    }
}

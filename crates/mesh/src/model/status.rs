//! What nodes report: one report, and the status that all reports of a stay make.
//!
//! Several instances take reports of one node and save them late, in any order. So each variable has
//! the time of its report, and of two values the newer one wins. A stay is named by its beginning, and
//! of two stays the later one wins as a whole: what is saved late never brings back a node that left.

use std::time::Duration;

use base::Timestamp;

use super::{check_length, later};
use crate::error::Error;
use crate::limits::{
    SENSOR_KEY_CHARACTERS_MAX, SENSOR_KEYS_MAX, SENSOR_VALUE_CHARACTERS_MAX, STATUS_BYTES_MAX,
};

/// A sensor variable as a node sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SensorData {
    pub(crate) key: String,
    pub(crate) value: String,
}

/// What a node sent in one call, as it is pushed: order and doubles are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) node_id: String,
    /// The beginning of the node's stay in the group.
    pub(crate) since: Timestamp,
    pub(crate) data: Vec<SensorData>,
    pub(crate) timestamp: Timestamp,
}

/// A sensor variable as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) key: String,
    pub(crate) value: String,
    /// When it was reported.
    pub(crate) at: Timestamp,
}

/// All reports of one stay merged, or the mark of a node that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) node_id: String,
    /// The beginning of the stay. Values of an earlier one do not count in it.
    pub(crate) since: Timestamp,
    pub(crate) data: Vec<Reading>,
    /// The time of the last report.
    pub(crate) timestamp: Timestamp,
    /// Whether the node left, and has reported nothing since.
    pub(crate) has_left: bool,
}

impl Report {
    /// A report of a member, on top of its status `before`. Time grows strictly, by milliseconds: the
    /// newest value wins in clients.
    pub(crate) fn new(
        before: Option<&Status>,
        node_id: &str,
        member_since: Timestamp,
        data: Vec<SensorData>,
        now: Timestamp,
    ) -> Result<Report, Error> {
        for item in &data {
            check_length("a sensor key", &item.key, SENSOR_KEY_CHARACTERS_MAX)?;
            check_length("a sensor value", &item.value, SENSOR_VALUE_CHARACTERS_MAX)?;
        }
        let last = before.map_or(Timestamp::EPOCH, |status| status.timestamp);
        let timestamp = now.max(later(last, Duration::from_millis(1)));
        // A host that left is a member all the same; its new stay begins where it left.
        let since = before.map_or(member_since, |status| status.since.max(member_since));
        Ok(Report { node_id: node_id.to_owned(), since, data, timestamp })
    }

    /// The report by itself, as a status; of doubles the last one counts.
    pub(crate) fn status(&self) -> Result<Status, Error> {
        let mut data: Vec<Reading> = Vec::new();
        for item in &self.data {
            match data.iter_mut().find(|held| held.key == item.key) {
                Some(held) => held.value.clone_from(&item.value),
                None => data.push(Reading {
                    key: item.key.clone(),
                    value: item.value.clone(),
                    at: self.timestamp,
                }),
            }
            // At once: each item is looked for among all before it.
            check_keys(data.len())?;
        }
        let (node_id, since, timestamp) = (self.node_id.clone(), self.since, self.timestamp);
        Ok(Status { node_id, since, data, timestamp, has_left: false })
    }
}

impl Status {
    /// The mark of a node that left at `now`.
    pub(crate) fn left(node_id: &str, now: Timestamp) -> Status {
        let node_id = node_id.to_owned();
        Status { node_id, since: now, data: Vec::new(), timestamp: now, has_left: true }
    }

    /// Both, whichever was reported or saved first.
    pub(crate) fn merged(mut self, other: Status) -> Status {
        if self.since != other.since {
            return if self.since > other.since { self } else { other };
        }
        for reading in other.data {
            match self.data.iter_mut().find(|held| held.key == reading.key) {
                // The value decides between instances in one millisecond, so that all agree.
                Some(held) if (held.at, &held.value) < (reading.at, &reading.value) => {
                    *held = reading;
                }
                Some(_) => {}
                None => self.data.push(reading),
            }
        }
        self.timestamp = self.timestamp.max(other.timestamp);
        self.has_left &= other.has_left;
        self
    }

    /// Whether it is within the bounds of a status.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check_keys(self.data.len())?;
        if self.bytes() > STATUS_BYTES_MAX {
            let told = format!("a node's sensor data are at most {STATUS_BYTES_MAX} bytes");
            return Err(Error::invalid(told));
        }
        Ok(())
    }

    /// The same within the bounds, without its oldest values if it must be: instances that did not
    /// hear of each other may have taken too much together.
    pub(crate) fn bounded(mut self) -> Status {
        while self.check().is_err() {
            let oldest =
                (0..self.data.len()).min_by_key(|place| self.data.get(*place).map(|it| it.at));
            match oldest {
                Some(place) => drop(self.data.remove(place)),
                None => break,
            }
        }
        self
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        /// What a variable takes besides its texts: its time, and lengths.
        const READING_BYTES: usize = 32;
        self.data.iter().map(|item| item.key.len() + item.value.len() + READING_BYTES).sum()
    }
}

fn check_keys(count: usize) -> Result<(), Error> {
    if count > SENSOR_KEYS_MAX {
        let told = format!("a node has at most {SENSOR_KEYS_MAX} sensor keys");
        return Err(Error::invalid(told));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::Timestamp;
    use proptest::prelude::{Strategy, prop, proptest};

    use super::{Reading, Report, SensorData, Status};
    use crate::error::Error;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_123);

    fn at(seconds: u64) -> Timestamp {
        NOW.checked_add(Duration::from_secs(seconds)).unwrap()
    }

    fn pair(key: &str, value: &str) -> SensorData {
        SensorData { key: key.to_owned(), value: value.to_owned() }
    }

    fn values(status: &Status) -> Vec<(&str, &str)> {
        status.data.iter().map(|item| (item.key.as_str(), item.value.as_str())).collect()
    }

    #[test]
    fn what_is_told_is_as_it_was_sent_and_what_is_kept_is_merged() {
        let first = vec![pair("x", "1"), pair("y", "2")];
        let kept = Report::new(None, "n", NOW, first, at(1)).unwrap().status().unwrap();
        let delta = vec![pair("x", "3"), pair("z", "4"), pair("x", "5")];
        let told = Report::new(Some(&kept), "n", NOW, delta.clone(), at(1)).unwrap();
        assert_eq!(told.data, delta, "order and doubles are kept");
        assert_eq!(told.timestamp.millis(), at(1).millis() + 1, "time grows strictly");
        let kept = kept.merged(told.status().unwrap());
        assert_eq!(values(&kept), [("x", "5"), ("y", "2"), ("z", "4")]);
        let anew = Report::new(Some(&kept), "n", at(7), vec![], at(9)).unwrap();
        let anew = kept.merged(anew.status().unwrap());
        assert_eq!(values(&anew), [], "another stay begins with nothing");
    }

    #[test]
    fn nobody_comes_back_by_what_is_saved_late() {
        let report = Report::new(None, "n", NOW, vec![pair("x", "1")], at(1)).unwrap();
        let late = report.status().unwrap();
        let left = Status::left("n", at(2));
        assert_eq!(left.clone().merged(late.clone()), left);
        assert_eq!(late.merged(left.clone()), left);
        // A host stays a member, with the same beginning, and reports again.
        let again = Report::new(Some(&left), "n", NOW, vec![pair("y", "2")], at(3)).unwrap();
        let again = left.merged(again.status().unwrap());
        assert_eq!((values(&again), again.has_left), (vec![("y", "2")], false));
    }

    #[test]
    fn sensor_data_have_their_bounds() {
        let take = |data| -> Result<(), Error> {
            let report = Report::new(None, "n", NOW, data, NOW)?;
            report.status()?.check()
        };
        let many = |count| (0..count).map(|number| pair(&number.to_string(), "")).collect();
        let heavy = (0..100).map(|number| pair(&number.to_string(), &"x".repeat(4000))).collect();
        for (data, bound) in [
            (vec![pair(&"鍵".repeat(257), "")], "a sensor key must be at most 256 characters"),
            (vec![pair("k", &"値".repeat(4097))], "a sensor value must be at most 4096 characters"),
            (many(257), "a node has at most 256 sensor keys"),
            // Each looked for among all the others, these would not end.
            (many(2_000_000), "a node has at most 256 sensor keys"),
            (heavy, "a node's sensor data are at most 380000 bytes"),
        ] {
            let error = take(data).unwrap_err();
            assert_eq!(error.error_type(), "ValidationError");
            assert!(error.to_string().starts_with(bound), "{error}");
        }
        assert!(take(vec![pair(&"鍵".repeat(256), &"値".repeat(4096))]).is_ok());
    }

    #[test]
    fn too_much_together_loses_its_oldest_values() {
        let reading = |number: u64| Reading {
            key: number.to_string(),
            value: "x".repeat(4000),
            at: at((number * 7) % 101),
        };
        let data = (0..101).map(reading).collect();
        let status = Status {
            node_id: "n".to_owned(),
            since: NOW,
            data,
            timestamp: at(101),
            has_left: false,
        };
        let bounded = status.clone().bounded();
        assert!(bounded.check().is_ok() && bounded.data.len() < 101);
        let dropped = 101 - u64::try_from(bounded.data.len()).unwrap();
        assert!(bounded.data.iter().all(|item| item.at >= at(dropped)), "the newest are left");
    }

    fn reports() -> impl Strategy<Value = Vec<(u64, u8, u8, u64)>> {
        prop::collection::vec((0..2_u64, 0..3_u8, 0..3_u8, 0..5_u64), 0..8)
    }

    proptest! {
        #[test]
        fn the_order_of_saving_makes_no_difference(reports in reports(), turned in 0..8_usize) {
            let statuses: Vec<Status> = reports
                .iter()
                .map(|(stay, key, value, time)| Status {
                    node_id: "n".to_owned(),
                    since: at(*stay),
                    data: vec![Reading {
                        key: key.to_string(),
                        value: value.to_string(),
                        at: at(*time),
                    }],
                    timestamp: at(*time),
                    has_left: false,
                })
                .collect();
            let sorted = |statuses: &[Status]| {
                let merged = statuses.iter().cloned().reduce(Status::merged);
                merged.map(|mut status| {
                    status.data.sort_by(|one, other| one.key.cmp(&other.key));
                    status
                })
            };
            let mut other = statuses.clone();
            other.reverse();
            other.rotate_left(turned % statuses.len().max(1));
            assert_eq!(sorted(&statuses), sorted(&other));
        }
    }
}

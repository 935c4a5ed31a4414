//! Groups, nodes, statuses and events, and what is decided about them.
//!
//! Three clocks, never mixed up: a group ends at `expires_at`, which never moves; its host's lease
//! ends at `host_lease`, a node's at `lease`, and heartbeats move those. What has lapsed is gone in
//! the very millisecond, whatever the store still holds.

mod budget;
pub(crate) mod domain;
pub(crate) mod naming;
mod status;

use std::time::Duration;

use base::{Timestamp, text};

use crate::error::Error;
use crate::limits::{
    DOMAIN_CHARACTERS_MAX, EVENT_NAME_CHARACTERS_MAX, EVENTS_PER_CALL_MAX, EVENTS_PER_READ,
    FUTURE_SINCE_SECONDS, ID_CHARACTERS_MAX, LEASE_INTERVALS, NAME_CHARACTERS_MAX,
};
pub(crate) use budget::Budget;
pub(crate) use status::{Reading, Report, SensorData, Status};

/// How long things last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Between two heartbeats of a host.
    pub(crate) host_interval: Duration,
    /// Between two heartbeats of a member.
    pub(crate) member_interval: Duration,
    /// The longest life of a group.
    pub(crate) group_life: Duration,
}

impl Terms {
    /// A lesson on the web.
    pub(crate) const PRODUCTION: Terms = Terms {
        host_interval: Duration::from_secs(30),
        member_interval: Duration::from_secs(120),
        group_life: Duration::from_secs(50 * 60),
    };
    /// Short, to see things lapse.
    pub(crate) const DEVELOPMENT: Terms = Terms {
        host_interval: Duration::from_secs(15),
        member_interval: Duration::from_secs(15),
        group_life: Duration::from_secs(10 * 60),
    };
}

/// Which group, in whose domain. Two schools may have groups of the same id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupKey {
    pub(crate) id: String,
    pub(crate) domain: String,
}

impl GroupKey {
    /// A key that fits the bounds; whether there is such a group is another question.
    pub(crate) fn new(id: String, domain: String) -> Result<GroupKey, Error> {
        check_id("groupId", &id)?;
        check_domain(&domain)?;
        Ok(GroupKey { id, domain })
    }

    /// `id@domain`
    pub(crate) fn full_id(&self) -> String {
        format!("{}@{}", self.id, self.domain)
    }
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) key: GroupKey,
    pub(crate) name: String,
    pub(crate) host_id: String,
    /// The digest of what its host must know to end it or to keep it alive, if it was made with one.
    pub(crate) host_secret: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) host_lease: Timestamp,
    pub(crate) use_web_socket: bool,
    /// Moved by every join, so that two of them cannot both take the last place.
    pub(crate) joins: u64,
    /// The last event of the group.
    pub(crate) last_event: Cursor,
}

/// What it takes to make a group.
#[derive(Clone, Debug)]
pub(crate) struct CreateGroup {
    pub(crate) name: String,
    pub(crate) host_id: String,
    /// The digest of what its host will show, if it wants that.
    pub(crate) host_secret: Option<String>,
    pub(crate) domain: String,
    pub(crate) max_connection_time_seconds: Option<i64>,
    pub(crate) use_web_socket: bool,
}

impl CreateGroup {
    /// Whether name, host and domain are within their bounds.
    pub(crate) fn check_names(&self) -> Result<(), Error> {
        check_present("name", &self.name)?;
        check_text("name", &self.name, NAME_CHARACTERS_MAX)?;
        check_present("domain", &self.domain)?;
        check_present("hostId", &self.host_id)?;
        check_domain(&self.domain)?;
        check_id("hostId", &self.host_id)
    }

    /// The new group.
    pub(crate) fn decide(&self, id: String, terms: &Terms, now: Timestamp) -> Result<Group, Error> {
        let most = terms.group_life.as_secs();
        let seconds = match self.max_connection_time_seconds {
            None => most,
            Some(asked) => u64::try_from(asked)
                .ok()
                .filter(|asked| (1..=most).contains(asked))
                .ok_or_else(|| {
                    let told = format!(
                        "maxConnectionTimeSeconds must be between 1 and {most}, not {asked}"
                    );
                    Error::invalid(told)
                })?,
        };
        let expires_at = later(now, Duration::from_secs(seconds));
        Ok(Group {
            key: GroupKey { id, domain: self.domain.clone() },
            name: self.name.clone(),
            host_id: self.host_id.clone(),
            host_secret: self.host_secret.clone(),
            created_at: now,
            expires_at,
            host_lease: lease(now, terms.host_interval).min(expires_at),
            use_web_socket: self.use_web_socket,
            joins: 0,
            last_event: Cursor::default(),
        })
    }
}

impl Group {
    /// Whether anybody can see it.
    pub(crate) fn is_alive(&self, now: Timestamp) -> bool {
        self.check(now).is_ok()
    }

    /// The group check of the contract.
    pub(crate) fn check(&self, now: Timestamp) -> Result<(), Error> {
        if now >= self.expires_at {
            let (group, expires_at) = (self.key.full_id(), self.expires_at);
            return Err(Error::GroupExpired { group, expires_at });
        }
        if now >= self.host_lease {
            return Err(Error::HeartbeatExpired(self.key.full_id()));
        }
        Ok(())
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        /// Times, numbers and the lengths of texts.
        const REST_BYTES: usize = 150;
        let GroupKey { id, domain } = &self.key;
        // The full id repeats both.
        2 * (id.len() + domain.len()) + self.name.len() + self.host_id.len() + REST_BYTES
    }

    /// Admits a node beside `others`, which live in the group.
    pub(crate) fn admit(
        &self,
        node_id: &str,
        others: &[Node],
        most: u32,
        terms: &Terms,
        now: Timestamp,
    ) -> Result<Node, Error> {
        self.check(now)?;
        check_present("nodeId", node_id)?;
        check_id("nodeId", node_id)?;
        let before = others.iter().find(|node| node.id == node_id && node.is_alive(now));
        let living = others.iter().filter(|node| node.is_alive(now)).count();
        if before.is_none() && living >= most as usize {
            let told = format!("the group is full: it has {living} of at most {most} nodes");
            return Err(Error::invalid(told));
        }
        Ok(Node {
            id: node_id.to_owned(),
            joined_at: before.map_or(now, |node| node.joined_at),
            lease: lease(now, terms.member_interval),
        })
    }

    /// Renews the host's lease, if its host wants that.
    pub(crate) fn renew(
        &self,
        is_host: bool,
        terms: &Terms,
        now: Timestamp,
    ) -> Result<Timestamp, Error> {
        self.check(now)?;
        if !is_host {
            return Err(Error::NotTheHost("renew the heartbeat"));
        }
        Ok(lease(now, terms.host_interval).min(self.expires_at))
    }

    /// Since when `node_id` has been in the group without a break, if it may speak in it.
    pub(crate) fn member_since(
        &self,
        node_id: &str,
        node: Option<&Node>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let joined = node.filter(|node| node.is_alive(now)).map(|node| node.joined_at);
        if node_id == self.host_id { Some(self.created_at) } else { joined }
    }
}

/// A node that joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) joined_at: Timestamp,
    pub(crate) lease: Timestamp,
}

impl Node {
    /// What people read.
    pub(crate) fn name(&self) -> String {
        format!("Node {}", self.id)
    }

    /// Whether it is in the group.
    pub(crate) fn is_alive(&self, now: Timestamp) -> bool {
        now < self.lease
    }
}

/// What the sort key and the cursor of an event begin with.
const EVENT: &str = "EVENT#";

/// The greatest number that ten digits write.
const EVENT_NUMBER_MAX: u64 = 9_999_999_999;

/// An event's place in its group: time and number, both growing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cursor {
    pub(crate) ms: u64,
    pub(crate) number: u64,
}

impl Cursor {
    /// The next event's place in a write at `now`, in which `first` says whether it is the first one.
    /// Each write has a millisecond of its own, so that the time of an event that was read leaves
    /// none of them out, and repeats none.
    fn next(self, now: Timestamp, first: bool) -> Cursor {
        let ms = if first { now.millis().max(self.ms + 1) } else { self.ms };
        Cursor { ms, number: self.number + 1 }
    }

    /// `EVENT#<time>#<number>`, sorted as the events are.
    pub(crate) fn text(self) -> String {
        format!("{EVENT}{}#{:010}", self.time(), self.number)
    }

    /// The event's time.
    pub(crate) fn time(self) -> Timestamp {
        Timestamp::from_millis(self.ms)
    }

    /// Reads what [`Cursor::text`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Cursor> {
        let (time, number) = text.strip_prefix(EVENT)?.split_once('#')?;
        let number = digits(number, 10)?;
        // Earlier versions wrote milliseconds; who polls over an update still has one.
        let ms = digits(time, 13).or_else(|| time.parse().ok().map(Timestamp::millis))?;
        Some(Cursor { ms, number })
    }

    /// Where a reader goes on who says `since`: nothing, a cursor, the beginning of an event's sort
    /// key, or an instant. One after the `latest` time of the server is of a clock that is ahead.
    pub(crate) fn since(since: &str, latest: Timestamp) -> Result<Cursor, Error> {
        if since.is_empty() {
            return Ok(Cursor::default());
        }
        if let Some(cursor) = Cursor::parse(since) {
            return Ok(cursor);
        }
        let refused = || {
            let told = format!("since must be empty, a cursor or an instant, not `{since}`");
            Error::invalid(told)
        };
        if let Some(key) = since.strip_prefix(EVENT) {
            let (time, id) = key.split_once('#').map_or((key, None), |(time, id)| (time, Some(id)));
            let time: Timestamp = time.parse().map_err(|_| refused())?;
            // Numbers sort below every other id that the original made.
            let number = if id.is_some() { EVENT_NUMBER_MAX } else { 0 };
            return Ok(Cursor { ms: time.millis(), number });
        }
        let instant: Timestamp = since.parse().map_err(|_| refused())?;
        if instant > latest {
            let ms = latest.millis().saturating_sub(FUTURE_SINCE_SECONDS * 1000);
            return Ok(Cursor { ms, number: EVENT_NUMBER_MAX });
        }
        Ok(Cursor { ms: instant.millis(), number: EVENT_NUMBER_MAX })
    }
}

/// The number that exactly so many digits write.
fn digits(text: &str, length: usize) -> Option<u64> {
    let plain = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// An event as it was fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FiredEvent {
    pub(crate) name: String,
    pub(crate) payload: Option<String>,
    pub(crate) fired_at: Timestamp,
    pub(crate) order_key: Option<String>,
}

/// An event in the log of its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) fired_by: String,
    pub(crate) payload: Option<String>,
    /// When the sender says that it fired it. Pushes have this time; who reads the log later sees
    /// the server's, which is the cursor's.
    pub(crate) fired_at: Timestamp,
    pub(crate) cursor: Cursor,
    pub(crate) order_key: Option<String>,
}

/// Whose time an event has in the push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventTime {
    /// When the sender fired it.
    Sender,
    /// When the server recorded it.
    Server,
}

/// Checks what was fired in one call.
pub(crate) fn check_events(events: &[FiredEvent]) -> Result<(), Error> {
    if events.len() > EVENTS_PER_CALL_MAX {
        let told = format!(
            "at most {EVENTS_PER_CALL_MAX} events can be sent in one call, not {}",
            events.len()
        );
        return Err(Error::invalid(told));
    }
    for event in events {
        check_length("eventName", &event.name, EVENT_NAME_CHARACTERS_MAX)?;
        if let Some(order_key) = &event.order_key {
            check_id("orderKey", order_key)?;
        }
    }
    Ok(())
}

/// Gives the events of one write their places behind `last`.
pub(crate) fn place_events(
    fired: &[FiredEvent],
    fired_by: &str,
    last: Cursor,
    time: EventTime,
    now: Timestamp,
) -> Vec<Event> {
    let mut cursor = last;
    let present = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let placed = fired.iter().enumerate().map(|(number, event)| {
        cursor = cursor.next(now, number == 0);
        Event {
            name: event.name.clone(),
            fired_by: fired_by.to_owned(),
            payload: present(&event.payload),
            fired_at: match time {
                EventTime::Sender => event.fired_at,
                EventTime::Server => cursor.time(),
            },
            cursor,
            order_key: present(&event.order_key),
        }
    });
    placed.collect()
}

/// Whether events of two writes are among these.
pub(crate) fn has_two_writes(events: &[Event]) -> bool {
    let ms = |event: Option<&Event>| event.map(|event| event.cursor.ms);
    ms(events.first()) != ms(events.last())
}

/// The events of a read behind which there are more: at most as many as it answers, and none of the
/// write that the rest begins in.
pub(crate) fn whole_writes(mut events: Vec<Event>) -> Vec<Event> {
    let next = events.get(EVENTS_PER_READ).or(events.last()).map(|event| event.cursor.ms);
    events.truncate(EVENTS_PER_READ);
    events.retain(|event| Some(event.cursor.ms) != next);
    events
}

/// Checks an id that becomes part of a key.
pub(crate) fn check_id(name: &str, id: &str) -> Result<(), Error> {
    check_text(name, id, ID_CHARACTERS_MAX)
}

/// Checks what names a new host, node or domain. What only looks for one need not: nobody has an
/// empty name, so nothing is found.
pub(crate) fn check_present(name: &str, text: &str) -> Result<(), Error> {
    if text.is_empty() {
        return Err(Error::invalid(format!("{name} must not be empty")));
    }
    Ok(())
}

fn check_domain(domain: &str) -> Result<(), Error> {
    check_text("domain", domain, DOMAIN_CHARACTERS_MAX)
}

/// Checks a text that people compare on a page.
fn check_text(name: &str, text: &str, most: usize) -> Result<(), Error> {
    check_length(name, text, most)?;
    text::check_plain(text).map_err(|error| Error::invalid(format!("{name}: {error}")))
}

fn check_length(name: &str, text: &str, most: usize) -> Result<(), Error> {
    let characters = text.chars().count();
    if characters > most {
        let told = format!("{name} must be at most {most} characters, not {characters}");
        return Err(Error::invalid(told));
    }
    Ok(())
}

/// The end of a lease that is renewed every `interval`.
pub(crate) fn lease(now: Timestamp, interval: Duration) -> Timestamp {
    let intervals = u32::try_from(LEASE_INTERVALS).expect("a handful");
    later(now, interval * intervals)
}

fn later(time: Timestamp, by: Duration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::from_millis(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::Timestamp;
    use proptest::prelude::{Strategy, prop, proptest};

    use super::{
        CreateGroup, Cursor, EventTime, FiredEvent, Group, GroupKey, Node, Terms, place_events,
    };
    use crate::error::Error;
    use crate::limits::NAME_CHARACTERS_MAX;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_123);

    fn at(seconds: u64) -> Timestamp {
        NOW.checked_add(Duration::from_secs(seconds)).unwrap()
    }

    fn command() -> CreateGroup {
        CreateGroup {
            name: "理科室".to_owned(),
            host_id: "先生".to_owned(),
            host_secret: None,
            domain: "local".to_owned(),
            max_connection_time_seconds: None,
            use_web_socket: true,
        }
    }

    fn group() -> Group {
        command().decide("g".to_owned(), &Terms::PRODUCTION, NOW).unwrap()
    }

    fn told(error: &Error) -> (&'static str, String) {
        (error.error_type(), error.to_string())
    }

    #[test]
    fn a_group_has_the_life_of_its_profile_or_what_was_asked_of_it() {
        assert_eq!(group().expires_at, at(3000));
        assert_eq!(group().host_lease, at(150));
        let short = CreateGroup { max_connection_time_seconds: Some(60), ..command() };
        let short = short.decide("g".to_owned(), &Terms::PRODUCTION, NOW).unwrap();
        assert_eq!((short.expires_at, short.host_lease), (at(60), at(60)));
        for asked in [0, -1, 3001] {
            let long = CreateGroup { max_connection_time_seconds: Some(asked), ..command() };
            let error = long.decide("g".to_owned(), &Terms::PRODUCTION, NOW).unwrap_err();
            let bound = format!("maxConnectionTimeSeconds must be between 1 and 3000, not {asked}");
            assert_eq!(told(&error), ("ValidationError", bound));
        }
    }

    #[test]
    fn names_of_a_group_are_present_bounded_and_without_characters_that_hide() {
        command().check_names().unwrap();
        let long = "a".repeat(NAME_CHARACTERS_MAX + 1);
        for name in ["", long.as_str(), "a\0b", "a\u{1b}[2J", "a\u{202e}b"] {
            let named = CreateGroup { name: name.to_owned(), ..command() };
            assert!(named.check_names().is_err(), "{name:?}");
        }
        let hidden = CreateGroup { host_id: "a\u{202e}b".to_owned(), ..command() };
        let bound = "hostId: text holds U+202E at byte 1, a character that is not allowed";
        let error = hidden.check_names().unwrap_err();
        assert_eq!(told(&error), ("ValidationError", bound.to_owned()));
    }

    #[test]
    fn a_group_is_gone_in_the_very_millisecond() {
        let lapsing = group();
        let before = Timestamp::from_millis(at(150).millis() - 1);
        assert!(lapsing.is_alive(before));
        let error = lapsing.check(at(150)).unwrap_err();
        assert_eq!(
            told(&error),
            ("GroupNotFound", "Group not found: g@local (heartbeat expired)".to_owned())
        );
        let error = Group { host_lease: at(9000), ..group() }.check(at(3000)).unwrap_err();
        assert_eq!(
            told(&error),
            (
                "GroupNotFound",
                "Group expired: g@local (expiresAt: 2027-01-15T08:50:00.123Z)".to_owned()
            )
        );
    }

    #[test]
    fn a_heartbeat_moves_the_lease_and_never_the_end() {
        let held = group();
        assert_eq!(held.renew(true, &Terms::PRODUCTION, at(100)).unwrap(), at(250));
        let late = Group { host_lease: at(3000), ..group() };
        assert_eq!(late.renew(true, &Terms::PRODUCTION, at(2990)).unwrap(), at(3000));
        let error = held.renew(false, &Terms::PRODUCTION, at(1)).unwrap_err();
        assert_eq!(
            told(&error),
            ("Unauthorized", "Only the host can renew the heartbeat".to_owned())
        );
    }

    #[test]
    fn a_full_group_admits_those_who_are_in_it_and_nobody_else() {
        let held = group();
        let node = |id: &str, lease| Node { id: id.to_owned(), joined_at: at(1), lease };
        let others = [node("a", at(100)), node("b", at(100)), node("gone", at(2))];
        let admit = |id, most| held.admit(id, &others, most, &Terms::PRODUCTION, at(5));
        assert_eq!(admit("a", 2).unwrap().joined_at, at(1), "it has been there all the time");
        assert_eq!(admit("gone", 3).unwrap().joined_at, at(5), "it comes anew");
        let error = admit("c", 2).unwrap_err();
        assert_eq!(
            told(&error),
            ("ValidationError", "the group is full: it has 2 of at most 2 nodes".to_owned())
        );
    }

    #[test]
    fn the_host_is_a_member_from_the_beginning() {
        let held = group();
        assert_eq!(held.member_since("先生", None, at(1)), Some(NOW));
        assert_eq!(held.member_since("児童", None, at(1)), None);
    }

    #[test]
    fn a_since_is_nothing_a_cursor_or_an_instant() {
        let since = |text: &str| Cursor::since(text, at(0));
        assert_eq!(since("").unwrap(), Cursor::default());
        let cursor = Cursor { ms: NOW.millis(), number: 7 };
        assert_eq!(cursor.text(), "EVENT#2027-01-15T08:00:00.123Z#0000000007");
        assert_eq!(since(&cursor.text()).unwrap(), cursor);
        assert_eq!(
            since("EVENT#1800000000123#0000000007").unwrap(),
            cursor,
            "an earlier version's"
        );
        let instant = since("2027-01-15T17:00:00.123+09:00").unwrap();
        assert_eq!(instant.ms, NOW.millis());
        assert!(instant > cursor, "behind all of that millisecond");
        let begin = since("EVENT#2027-01-15T08:00:00.123Z").unwrap();
        assert!(begin < cursor, "before all of that millisecond");
        let ahead = since("2027-01-15T08:05:00Z").unwrap();
        assert_eq!(ahead.ms, NOW.millis() - 10_000, "a clock that is ahead reads a little back");
        for nonsense in ["EVENT#", "EVENT#1#2", "yesterday", "EVENT#+800000000123#0000000001"] {
            assert_eq!(since(nonsense).unwrap_err().error_type(), "ValidationError");
        }
    }

    fn events() -> impl Strategy<Value = Vec<FiredEvent>> {
        let event = (".*", prop::option::of(".{0,3}"), 0..4_000_000_000_000_u64);
        let fired = event.prop_map(|(name, payload, ms)| FiredEvent {
            name,
            payload,
            fired_at: Timestamp::from_millis(ms),
            order_key: None,
        });
        prop::collection::vec(fired, 0..30)
    }

    proptest! {
        #[test]
        fn events_have_growing_cursors_whatever_the_clock_does(
            calls in prop::collection::vec((events(), 0..4_000_000_000_000_u64), 1..5),
        ) {
            let mut last = Cursor::default();
            for (fired, now) in calls {
                let now = Timestamp::from_millis(now);
                let placed = place_events(&fired, "n", last, EventTime::Sender, now);
                assert_eq!(placed.len(), fired.len());
                let before = last;
                for (event, fired) in placed.iter().zip(&fired) {
                    assert!(event.cursor > last && event.cursor.text() > last.text());
                    assert!(event.cursor.ms > before.ms, "a write has a millisecond of its own");
                    assert_eq!(event.fired_at, fired.fired_at);
                    assert_eq!(Cursor::parse(&event.cursor.text()), Some(event.cursor));
                    assert_ne!(event.payload.as_deref(), Some(""));
                    last = event.cursor;
                }
            }
        }
    }

    #[test]
    fn a_key_that_cannot_be_is_refused_by_its_bound() {
        let error = GroupKey::new("g".to_owned(), "d".repeat(257)).unwrap_err();
        assert_eq!(
            told(&error),
            ("ValidationError", "domain must be at most 256 characters, not 257".to_owned())
        );
    }
}

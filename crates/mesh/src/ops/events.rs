//! Events: one log for each group, told to all, and polled by those whom no push reaches.

use std::time::Duration;

use base::Timestamp;
use table::{TransactItem, commit};

use super::Tries;
use crate::error::Error;
use crate::items;
use crate::limits::{EVENTS_PER_READ, EVENTS_PER_WRITE};
use crate::live::Push;
use crate::model::{
    Budget, Cursor, Event, EventTime, FiredEvent, Group, GroupKey, Node, Status, check_events,
    check_id, check_present, has_two_writes, place_events, whole_writes,
};
use crate::{Membership, Mesh};

/// What a poll answers.
#[derive(Debug, Default)]
pub(crate) struct Polled {
    pub(crate) events: Vec<Event>,
    pub(crate) statuses: Vec<Status>,
}

impl Mesh {
    /// Appends events to the group's log and tells them; answers the last one's place too.
    pub(crate) async fn fire_events(
        &self,
        key: &GroupKey,
        node_id: &str,
        fired: &[FiredEvent],
        time: EventTime,
    ) -> Result<(Push, Cursor), Error> {
        check_present("nodeId", node_id)?;
        check_id("nodeId", node_id)?;
        check_events(fired)?;
        let _order = self.order.enter(key).await;
        let (mut events, mut now) = (Vec::with_capacity(fired.len()), self.clock.now());
        let mut last = Cursor::default();
        let mut tries = Tries::new();
        // Also with nothing to append the checks are made, once.
        loop {
            tries.again()?;
            let gets = vec![items::get_group(key), items::get_node(key, node_id)];
            let found = self.tables.transact_get(gets).await?;
            let mut found = found.iter().map(Option::as_ref);
            let group = found.next().flatten().and_then(items::read_group);
            let group = group.ok_or_else(|| Error::GroupNotFound(key.full_id()))?;
            let node = found.next().flatten().and_then(items::read_node);
            if events.is_empty() {
                now = self.clock.now();
            }
            group.check(now)?;
            self.speaks_since(&group, node_id, node.as_ref(), "fire events", now)?;
            if events.is_empty() {
                let all = place_events(fired, node_id, group.last_event, time, now);
                Push::events(key, node_id, &all, now).check_size()?;
            }
            last = last.max(group.last_event);
            let left = fired.get(events.len()..).unwrap_or_default();
            let slice = left.get(..EVENTS_PER_WRITE).unwrap_or(left);
            if slice.is_empty() {
                break;
            }
            let placed = place_events(slice, node_id, group.last_event, time, now);
            let mut writes = self.membership_of(&group, node.as_ref());
            writes.extend(items::put_events(&group, &placed, self.forget_at(now), now));
            if commit(&*self.tables, writes).await? {
                last = placed.last().map_or(last, |event| event.cursor);
                events.extend(placed);
                tries = Tries::new();
                if events.len() == fired.len() {
                    break;
                }
            }
        }
        let push = Push::events(key, node_id, &events, now);
        self.publish(&push);
        Ok((push, last))
    }

    /// The events after `since`, oldest first. A page ends between two writes: the time of its last event
    /// is then as good a `since` as the cursor.
    pub(crate) async fn events_since(
        &self,
        key: &GroupKey,
        since: &str,
    ) -> Result<Vec<Event>, Error> {
        let group = self.find_group(key).await?;
        // Writes of one millisecond are told apart by times a little ahead of the clock.
        let last = group.as_ref().map_or(Timestamp::EPOCH, |group| group.last_event.time());
        let after = Cursor::since(since, self.clock.now().max(last))?;
        if group.is_none() {
            return Ok(Vec::new());
        }
        let (mut events, mut query) = (Vec::new(), items::query_events(key, after));
        loop {
            let page = self.tables.query(query.clone()).await?;
            events.extend(page.items.iter().filter_map(items::read_event));
            match page.last_key {
                None if events.len() <= EVENTS_PER_READ => return Ok(events),
                Some(last) if !has_two_writes(&events) => query.start_after = Some(last),
                Some(_) | None => return Ok(whole_writes(events)),
            }
        }
    }

    /// What a member sees that no push reaches.
    pub(crate) async fn poll(
        &self,
        key: &GroupKey,
        since: &str,
        budget: &Budget,
    ) -> Result<Polled, Error> {
        let events = self.events_since(key, since).await?;
        Ok(Polled { events, statuses: self.list_statuses(key, budget).await? })
    }

    fn forget_at(&self, now: Timestamp) -> Timestamp {
        let kept = Duration::from_secs(self.options.event_retention_seconds);
        now.checked_add(kept).unwrap_or(now)
    }

    /// Since when a node may speak in a group.
    pub(super) fn speaks_since(
        &self,
        group: &Group,
        node_id: &str,
        node: Option<&Node>,
        what: &'static str,
        now: Timestamp,
    ) -> Result<Timestamp, Error> {
        match group.member_since(node_id, node, now) {
            Some(since) => Ok(since),
            None if self.is_open() => Ok(group.created_at),
            None => Err(Error::NotAMember(what)),
        }
    }

    /// What a commit repeats of a membership.
    pub(super) fn membership_of(&self, group: &Group, node: Option<&Node>) -> Vec<TransactItem> {
        let node = node.filter(|node| node.id != group.host_id && !self.is_open());
        node.map(|node| items::still_member(&group.key, node)).into_iter().collect()
    }

    /// Whether everyone who knows a group may speak in it.
    pub(super) fn is_open(&self) -> bool {
        self.options.membership == Membership::Open
    }
}

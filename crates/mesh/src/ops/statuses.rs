//! Sensor data: reported by nodes, pushed to all, and kept for those who come later.
//!
//! A report writes nothing by itself. It is kept in memory (`recent.rs`), pushed, and saved with others
//! within a second: last value wins, whichever instance saves first.

use std::collections::{BTreeMap, HashMap, HashSet};

use base::Timestamp;
use futures_util::stream::{StreamExt, iter};
use table::{TransactItem, commit, get_all, query_all};

use super::Tries;
use super::recent::Unsaved;
use crate::Mesh;
use crate::error::Error;
use crate::items::{self, Saved};
use crate::limits::{
    REPORTS_BYTES_MAX, STATUS_BYTES_PER_WRITE, STATUS_WRITES_AT_ONCE, STATUSES_PER_WRITE,
};
use crate::live::Push;
use crate::model::{
    Budget, Group, GroupKey, Node, Report, SensorData, Status, check_id, check_present,
};

/// What is known of a node in a group.
pub(super) struct Known {
    pub(super) group: Option<Group>,
    pub(super) node: Option<Node>,
    pub(super) saved: Option<Saved>,
    /// Saved or not.
    status: Option<Status>,
}

impl Mesh {
    /// Tells the group what changed at a node.
    pub(crate) async fn report_data(
        &self,
        key: &GroupKey,
        node_id: &str,
        data: Vec<SensorData>,
    ) -> Result<Push, Error> {
        check_present("nodeId", node_id)?;
        check_id("nodeId", node_id)?;
        if let Some(failure) = self.recent.failure.lock().clone() {
            return Err(failure.into());
        }
        if self.recent.bytes() > REPORTS_BYTES_MAX {
            self.save_statuses().await?;
            self.recent.prune(self.clock.instant(), true);
        }
        let _order = self.order.enter(key).await;
        let Known { group, node, status, .. } = self.load_known(key, node_id).await?;
        let group = group.ok_or_else(|| Error::GroupNotFound(key.full_id()))?;
        let now = self.clock.now();
        group.check(now)?;
        let since = self.speaks_since(&group, node_id, node.as_ref(), "report data", now)?;
        let report = Report::new(status.as_ref(), node_id, since, data, now)?;
        let delta = report.status()?;
        both(status, Some(delta.clone())).map_or(Ok(()), |whole| whole.check())?;
        let push = Push::status(key, &report);
        push.check_size()?;
        self.recent.take(key, delta, group.expires_at, self.clock.instant());
        self.publish(&push);
        Ok(push)
    }

    /// What the living nodes of a group reported, the host included, by node.
    pub(crate) async fn list_statuses(
        &self,
        key: &GroupKey,
        budget: &Budget,
    ) -> Result<Vec<Status>, Error> {
        let Some((group, nodes)) = self.list_nodes(key).await? else { return Ok(Vec::new()) };
        let now = self.clock.now();
        let since: HashMap<&str, &Node> =
            nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let is_of_now = |status: &Status| {
            let node = since.get(status.node_id.as_str()).copied();
            self.counts(&group, node, status, now)
        };
        // Before the store: what is saved meanwhile is then in one of them.
        let recent = self.recent.of_group(key);
        let mut statuses = BTreeMap::new();
        let mut query = items::query_statuses(key);
        loop {
            let page = self.tables.query(query.clone()).await?;
            for saved in page.items.iter().filter_map(items::read_status) {
                budget.read(saved.status.bytes())?;
                statuses.insert(saved.status.node_id.clone(), saved.status);
            }
            match page.last_key {
                Some(last) => query.start_after = Some(last),
                None => break,
            }
        }
        for status in recent {
            budget.read(status.bytes())?;
            let before = statuses.remove(&status.node_id);
            statuses.extend(both(before, Some(status)).map(|it| (it.node_id.clone(), it)));
        }
        Ok(statuses.into_values().filter(is_of_now).collect())
    }

    /// What a node reported. Ids are not unique among schools: the caller's own domain goes first, and
    /// between strangers nothing is guessed.
    pub(crate) async fn find_status(
        &self,
        node_id: &str,
        own_domain: &str,
    ) -> Result<Option<(GroupKey, Status)>, Error> {
        check_id("nodeId", node_id)?;
        let mut groups: HashSet<GroupKey> = self.recent.groups_of(node_id).into_iter().collect();
        let saved = query_all(&*self.tables, items::query_groups_of(node_id)).await?;
        groups.extend(saved.iter().filter_map(items::read_key_of_group));
        // The newest one of the own domain, and of all others, of which only one may have any.
        let (mut own, mut other) = (None, None);
        let mut domains = HashSet::new();
        for key in groups {
            let Some(status) = self.find_status_in(&key, node_id).await? else { continue };
            let place = if key.domain == own_domain { &mut own } else { &mut other };
            domains.insert(key.domain.clone());
            if place
                .as_ref()
                .is_none_or(|(_, held): &(_, Status)| held.timestamp < status.timestamp)
            {
                *place = Some((key, status));
            }
        }
        Ok(own.or(other.filter(|_| domains.len() == 1)))
    }

    /// What a node reported in a living group of which it is a member now.
    async fn find_status_in(&self, key: &GroupKey, node_id: &str) -> Result<Option<Status>, Error> {
        let Known { group, node, status, .. } = self.load_known(key, node_id).await?;
        let now = self.clock.now();
        let Some(group) = group.filter(|group| group.is_alive(now)) else { return Ok(None) };
        Ok(status.filter(|status| self.counts(&group, node.as_ref(), status, now)))
    }

    /// Whether a status is of a node's present stay.
    fn counts(&self, group: &Group, node: Option<&Node>, status: &Status, now: Timestamp) -> bool {
        let since = group.member_since(&status.node_id, node, now);
        !status.has_left && (self.is_open() || since.is_some_and(|since| since <= status.since))
    }

    /// What the store and this instance know of a node in a group.
    pub(super) async fn load_known(&self, key: &GroupKey, node_id: &str) -> Result<Known, Error> {
        let gets = vec![
            items::get_group(key),
            items::get_node(key, node_id),
            items::get_status(key, node_id),
        ];
        let recent = self.recent.find(key, node_id);
        let found = get_all(&*self.tables, &self.clock, gets).await?;
        let found = || found.iter().map(|(_, item)| item);
        let saved = found().find_map(items::read_status);
        let status = both(saved.as_ref().map(|saved| saved.status.clone()), recent);
        let (group, node) =
            (found().find_map(items::read_group), found().find_map(items::read_node));
        Ok(Known { group, node, saved, status })
    }

    /// Saves what this instance has gathered, and forgets what was saved a while ago.
    pub(crate) async fn save_recent(&self) -> Result<(), Error> {
        let saved = self.save_statuses().await;
        self.recent.prune(self.clock.instant(), false);
        saved
    }

    /// Saves what this instance has gathered. What cannot be saved is tried again the next time, and
    /// reports are refused until then.
    async fn save_statuses(&self) -> Result<(), Error> {
        let _one = self.recent.saving.lock().await;
        let unsaved = self.recent.take_unsaved();
        let chunks = unsaved.chunks(STATUSES_PER_WRITE);
        let saves = chunks.map(|some| Box::pin(async move { (some, self.save_some(some).await) }));
        let saves: Vec<_> = saves.collect();
        let mut failure = None;
        let mut saved = iter(saves).buffer_unordered(STATUS_WRITES_AT_ONCE);
        while let Some((some, result)) = saved.next().await {
            if let Err(error) = result {
                self.recent.give_back(some);
                failure = Some(error);
            }
        }
        let told = match &failure {
            Some(Error::Store(error)) => Some(error.clone()),
            // Somebody else saved the same nodes all the time; reports go on.
            Some(_) | None => None,
        };
        *self.recent.failure.lock() = told;
        failure.map_or(Ok(()), Err)
    }

    /// Merges these into what the store has.
    async fn save_some(&self, some: &[Unsaved]) -> Result<(), Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let gets = some.iter().map(|one| items::get_status(&one.group, &one.status.node_id));
            let found = get_all(&*self.tables, &self.clock, gets.collect()).await?;
            let mut is_saved = true;
            for writes in writes(some, &items::read_statuses(&found)) {
                is_saved &= commit(&*self.tables, writes).await?;
            }
            if is_saved {
                return Ok(());
            }
        }
    }
}

/// The transactions that bring the store up to date, each within its bounds.
fn writes(some: &[Unsaved], saved: &HashMap<(GroupKey, String), Saved>) -> Vec<Vec<TransactItem>> {
    let (mut all, mut batch, mut bytes) = (Vec::new(), Vec::new(), 0);
    for one in some {
        let before = saved.get(&(one.group.clone(), one.status.node_id.clone()));
        let held = before.map(|saved| saved.status.clone());
        let Some(status) = both(held, Some(one.status.clone())).map(Status::bounded) else {
            continue;
        };
        if before.is_some_and(|saved| saved.status == status) {
            continue;
        }
        if bytes + status.bytes() > STATUS_BYTES_PER_WRITE {
            all.push(std::mem::take(&mut batch));
            bytes = 0;
        }
        bytes += status.bytes();
        batch.push(items::put_status(&one.group, &status, before, one.group_end));
    }
    all.push(batch);
    all.retain(|batch| !batch.is_empty());
    all
}

/// Both statuses of a node as one.
fn both(one: Option<Status>, other: Option<Status>) -> Option<Status> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.merged(other)),
        (one, other) => one.or(other),
    }
}

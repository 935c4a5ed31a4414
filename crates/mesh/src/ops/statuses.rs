//! Sensor data: reported by nodes, told to all, and kept for those who come later.

use table::{commit, query_all};

use super::Tries;
use crate::Mesh;
use crate::error::Error;
use crate::items;
use crate::live::Push;
use crate::model::{GroupKey, SensorData, Status, check_id};

impl Mesh {
    /// Tells the group what changed at a node.
    pub(crate) async fn report_data(
        &self,
        key: &GroupKey,
        node_id: &str,
        data: Vec<SensorData>,
    ) -> Result<Push, Error> {
        check_id("nodeId", node_id)?;
        let _order = self.order.enter(key).await;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let gets = vec![
                items::get_group(key),
                items::get_node(key, node_id),
                items::get_status(key, node_id),
            ];
            let found = self.tables.transact_get(gets).await?;
            let mut found = found.iter().map(Option::as_ref);
            let group = found.next().flatten().and_then(items::read_group);
            let group = group.ok_or_else(|| Error::GroupNotFound(key.full_id()))?;
            let node = found.next().flatten().and_then(items::read_node);
            let before = found.next().flatten().and_then(items::read_status);
            let before = before.map(|(_, status)| status);
            let now = self.clock.now();
            group.check(now)?;
            let since = self.speaks_since(&group, node_id, node.as_ref(), "report data", now)?;
            let seen = before.as_ref().map(|status| status.timestamp);
            let (told, kept) = Status::merge(before, node_id, since, data.clone(), now)?;
            let push = Push::status(key, &told);
            push.check_size()?;
            let mut writes = vec![items::still_alive(&group, now)];
            writes.extend(self.membership_of(&group, node.as_ref()));
            writes.push(items::put_status(&group, &kept, seen).into());
            if commit(&*self.tables, writes).await? {
                self.publish(&push);
                return Ok(push);
            }
        }
    }

    /// What the living nodes of a group told, the host included, by node.
    pub(crate) async fn list_statuses(&self, key: &GroupKey) -> Result<Vec<Status>, Error> {
        let Some((group, nodes)) = self.list_nodes(key).await? else { return Ok(Vec::new()) };
        let now = self.clock.now();
        let found = query_all(&*self.tables, items::query_statuses(key)).await?;
        let told = found.iter().filter_map(items::read_status).map(|(_, status)| status);
        let of_now = |status: &Status| {
            let node = nodes.iter().find(|node| node.id == status.node_id);
            let since = group.member_since(&status.node_id, node, now);
            self.is_open() || since == Some(status.since)
        };
        Ok(told.filter(of_now).collect())
    }

    /// What a node told. Ids are not unique among schools: the caller's own domain goes first, and
    /// between strangers nothing is guessed.
    pub(crate) async fn find_status(
        &self,
        node_id: &str,
        own_domain: &str,
    ) -> Result<Option<(GroupKey, Status)>, Error> {
        check_id("nodeId", node_id)?;
        let found = query_all(&*self.tables, items::query_statuses_of(node_id)).await?;
        let mut living = Vec::new();
        for (key, status) in found.iter().filter_map(items::read_status) {
            if self.holds_now(&key, &status).await? {
                living.push((key, status));
            }
        }
        living.sort_by_key(|(_, status)| status.timestamp);
        let own = living.iter().rposition(|(key, _)| key.domain == own_domain);
        let one_domain = living.windows(2).all(|pair| match pair {
            [(one, _), (other, _)] => one.domain == other.domain,
            _ => true,
        });
        Ok(match own {
            Some(place) => Some(living.swap_remove(place)),
            None if one_domain => living.pop(),
            None => None,
        })
    }

    /// Whether this is what a node told last, in a living group, of which it is a member now. Reads
    /// three items, not the whole group: many groups may have a node of the same id.
    async fn holds_now(&self, key: &GroupKey, status: &Status) -> Result<bool, Error> {
        let node_id = &status.node_id;
        let gets = vec![
            items::get_group(key),
            items::get_node(key, node_id),
            items::get_status(key, node_id),
        ];
        let found = self.tables.transact_get(gets).await?;
        let mut found = found.iter().map(Option::as_ref);
        let group = found.next().flatten().and_then(items::read_group);
        let node = found.next().flatten().and_then(items::read_node);
        let last = found.next().flatten().and_then(items::read_status);
        let now = self.clock.now();
        let Some(group) = group.filter(|group| group.is_alive(now)) else { return Ok(false) };
        let since = group.member_since(node_id, node.as_ref(), now);
        let is_member = self.is_open() || since == Some(status.since);
        Ok(is_member && last.is_some_and(|(_, last)| last == *status))
    }
}

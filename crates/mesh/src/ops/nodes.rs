//! Members: they join, stay by their heartbeats, and leave.

use base::Timestamp;
use table::{commit, query_all};

use super::Tries;
use super::statuses::Known;
use crate::Mesh;
use crate::error::Error;
use crate::items;
use crate::model::{Group, GroupKey, Node, Status, check_id, lease};

impl Mesh {
    /// Admits a node to a living group.
    pub(crate) async fn join_group(
        &self,
        key: &GroupKey,
        node_id: &str,
    ) -> Result<(Group, Node), Error> {
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let group = self.load_group(key).await?;
            let others = self.load_nodes(key).await?;
            let (most, now) = (self.options.nodes_per_group, self.clock.now());
            let node = group.admit(node_id, &others, most, &self.terms, now)?;
            let interval = self.terms.member_interval.as_secs();
            if commit(&*self.tables, items::put_node(&group, &node, interval, now)).await? {
                return Ok((group, node));
            }
        }
    }

    /// Removes a node and what it reported, if there is one.
    pub(crate) async fn leave_group(&self, key: &GroupKey, node_id: &str) -> Result<(), Error> {
        check_id("nodeId", node_id)?;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let Known { group, node, saved, .. } = self.load_known(key, node_id).await?;
            let Some(group) = group else { return Ok(()) };
            // Others have nothing that could be here, or come here late.
            if node.is_none() && group.host_id != node_id && !self.is_open() {
                return Ok(());
            }
            let since = saved.as_ref().map_or(Timestamp::EPOCH, |saved| saved.status.since);
            let mark = Status::left(node_id, self.clock.now().max(since));
            if commit(&*self.tables, items::delete_node(key, saved.as_ref(), &mark)).await? {
                self.recent.hear(key, mark, self.clock.instant());
                return Ok(());
            }
        }
    }

    /// Renews a member's lease, and answers its end.
    pub(crate) async fn send_member_heartbeat(
        &self,
        key: &GroupKey,
        node_id: &str,
    ) -> Result<Node, Error> {
        check_id("nodeId", node_id)?;
        let mut tries = Tries::new();
        loop {
            tries.again()?;
            let gets = vec![items::get_group(key), items::get_node(key, node_id)];
            let found = self.tables.transact_get(gets).await?;
            let mut found = found.iter().map(Option::as_ref);
            let group = found.next().flatten().and_then(items::read_group);
            let group = group.ok_or_else(|| Error::GroupNotFound(key.full_id()))?;
            let now = self.clock.now();
            group.check(now)?;
            let node = found.next().flatten().and_then(items::read_node);
            let node = node.filter(|node| node.is_alive(now)).ok_or(Error::NodeNotFound)?;
            let lease = lease(now, self.terms.member_interval);
            match self.tables.update(items::renew_node(key, &node, lease)).await {
                Ok(_) => return Ok(Node { lease, ..node }),
                Err(error) if error.is_lost_race() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The living members of a group; nobody in one that is not there.
    pub(crate) async fn list_nodes(
        &self,
        key: &GroupKey,
    ) -> Result<Option<(Group, Vec<Node>)>, Error> {
        let Some(group) = self.find_group(key).await? else { return Ok(None) };
        let now = self.clock.now();
        let nodes = self.load_nodes(key).await?;
        Ok(Some((group, nodes.into_iter().filter(|node| node.is_alive(now)).collect())))
    }

    /// All members that the store holds, living or not.
    pub(super) async fn load_nodes(&self, key: &GroupKey) -> Result<Vec<Node>, Error> {
        let found = query_all(&*self.tables, items::query_nodes(key)).await?;
        Ok(found.iter().filter_map(items::read_node).collect())
    }
}

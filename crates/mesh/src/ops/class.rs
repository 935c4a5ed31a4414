//! What a teacher sees of a class, its groups with everybody in them, and what a teacher does: name
//! nodes and end groups.

use std::collections::HashMap;

use futures_util::stream::{StreamExt, TryStreamExt, iter};
use table::query_all;

use crate::Mesh;
use crate::error::Error;
use crate::items;
use crate::limits::{CLASS_GROUPS_MAX, GROUPS_ENDED_AT_ONCE, LABELS_MAX};
use crate::live::Push;
use crate::model::{Budget, Group, GroupKey, Node, Status, check_id, check_present, naming};

/// A group as a teacher sees it.
pub(crate) struct Gathering {
    pub(crate) group: Group,
    pub(crate) nodes: Vec<Node>,
    pub(crate) statuses: Vec<Status>,
}

/// Names that a teacher gave, by node.
pub(crate) type Labels = HashMap<String, String>;

impl Mesh {
    /// The first groups of a domain with everybody in them, and how many there are in all.
    pub(crate) async fn list_gatherings(
        &self,
        domain: &str,
    ) -> Result<(Vec<Gathering>, usize), Error> {
        let groups = self.list_groups(domain, &Budget::default()).await?;
        let (count, mut gatherings) = (groups.len(), Vec::new());
        let budget = Budget::default();
        for group in groups.into_iter().take(CLASS_GROUPS_MAX) {
            let statuses = match self.list_statuses(&group.key, &budget).await {
                // The page has its bound too; what is told from now on is shown as it comes.
                Err(Error::AnswerTooLarge(_)) => Vec::new(),
                listed => listed?,
            };
            // A group may end while its class is looked at.
            if let Some((group, nodes)) = self.list_nodes(&group.key).await? {
                gatherings.push(Gathering { group, nodes, statuses });
            }
        }
        Ok((gatherings, count))
    }

    /// The names that a teacher gave to nodes of this domain.
    pub(crate) async fn list_labels(&self, domain: &str) -> Result<Labels, Error> {
        GroupKey::new(String::new(), domain.to_owned())?;
        let found = query_all(&*self.tables, items::query_labels(domain)).await?;
        Ok(found.iter().filter_map(items::read_label).collect())
    }

    /// Gives a node a name, in place of the one that it had; an empty one removes it.
    pub(crate) async fn name_node(
        &self,
        domain: &str,
        node_id: &str,
        written: &str,
    ) -> Result<(), Error> {
        check_present("domain", domain)?;
        check_present("nodeId", node_id)?;
        check_id("nodeId", node_id)?;
        let label = naming::read_label(written)?;
        let labels = self.list_labels(domain).await?;
        let Some(label) = label else {
            self.tables.delete(items::delete_label(domain, node_id)).await?;
            return Ok(());
        };
        // Two teachers who give the last name at once both give it: the bound keeps the page light,
        // and one more name does no harm.
        if labels.len() >= LABELS_MAX && !labels.contains_key(node_id) {
            let told = format!("the class has {} of at most {LABELS_MAX} names", labels.len());
            return Err(Error::invalid(told));
        }
        let put = items::put_label(domain, node_id, &label, self.clock.now());
        self.tables.put(put).await?;
        Ok(())
    }

    /// Ends a group without its host.
    pub(crate) async fn end_class(&self, key: &GroupKey) -> Result<Push, Error> {
        let group = self.find_group(key).await?;
        let group = group.ok_or_else(|| Error::GroupNotFound(key.full_id()))?;
        self.dissolve(&group).await
    }

    /// Ends all groups of a domain without their hosts, and answers how many.
    pub(crate) async fn end_all_groups(&self, domain: &str) -> Result<usize, Error> {
        let groups = self.list_groups(domain, &Budget::default()).await?;
        let ends: Vec<_> = groups.iter().map(|group| self.end_if_there(group)).collect();
        let ended: Vec<bool> =
            iter(ends).buffer_unordered(GROUPS_ENDED_AT_ONCE).try_collect().await?;
        Ok(ended.into_iter().filter(|has_ended| *has_ended).count())
    }

    /// Ends a group; `false` if it has ended by itself meanwhile.
    async fn end_if_there(&self, group: &Group) -> Result<bool, Error> {
        match self.dissolve(group).await {
            Ok(_) => Ok(true),
            Err(Error::GroupNotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

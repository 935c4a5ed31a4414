//! What a teacher sees of a class: its groups with everybody in them.

use crate::Mesh;
use crate::error::Error;
use crate::limits::CLASS_GROUPS_MAX;
use crate::live::Push;
use crate::model::{Budget, Group, GroupKey, Node, Status};

/// A group as a teacher sees it.
pub(crate) struct Gathering {
    pub(crate) group: Group,
    pub(crate) nodes: Vec<Node>,
    pub(crate) statuses: Vec<Status>,
}

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

    /// Ends a group in its host's name.
    pub(crate) async fn end_class(&self, key: &GroupKey) -> Result<Push, Error> {
        let group = self.find_group(key).await?;
        let group = group.ok_or_else(|| Error::GroupNotFound(key.full_id()))?;
        self.dissolve_group(key, &group.host_id).await
    }
}

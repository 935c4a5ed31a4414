//! Queries.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result};

use super::types::{Event, Group, Node, NodeStatus, PollGroupData};
use super::{Caller, failed};
use crate::Mesh;
use crate::live::PushedEvent;
use crate::model::{Budget, GroupKey};

/// The query root.
pub(crate) struct Query;

#[Object]
impl Query {
    /// Living groups of a domain, by creation.
    async fn list_groups_by_domain(&self, ctx: &Context<'_>, domain: String) -> Result<Vec<Group>> {
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let groups = mesh.list_groups(&domain, ctx.data::<Arc<Budget>>()?).await.map_err(failed)?;
        Ok(groups.into_iter().map(|group| Group::new(group, &mesh.terms)).collect())
    }

    /// A group, if it lives.
    async fn get_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Option<Result<Group>> {
        let answer = async {
            let mesh = ctx.data::<Arc<Mesh>>()?;
            let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
            let group = mesh.find_group(&key).await.map_err(failed)?;
            Ok(group.map(|group| Group::new(group, &mesh.terms)))
        };
        answer.await.transpose()
    }

    /// What a node reported.
    async fn get_node_status(&self, ctx: &Context<'_>, node_id: ID) -> Option<Result<NodeStatus>> {
        let answer = async {
            let (mesh, caller) = (ctx.data::<Arc<Mesh>>()?, ctx.data::<Caller>()?);
            let found = mesh.find_status(&node_id, &caller.domain).await.map_err(failed)?;
            Ok(found.map(|(group, status)| NodeStatus::new(&group, status)))
        };
        answer.await.transpose()
    }

    /// What all nodes of a group reported, the host included, by node. An answer has at most 5 MB.
    async fn list_group_statuses(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Result<Vec<NodeStatus>> {
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
        let statuses =
            mesh.list_statuses(&key, ctx.data::<Arc<Budget>>()?).await.map_err(failed)?;
        Ok(statuses.into_iter().map(|status| NodeStatus::new(&key, status)).collect())
    }

    /// The nodes that joined a group.
    async fn list_nodes_in_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Result<Vec<Node>> {
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
        let Some((group, nodes)) = mesh.list_nodes(&key).await.map_err(failed)? else {
            return Ok(Vec::new());
        };
        Ok(nodes.into_iter().map(|node| Node::new(&group, node, &mesh.terms)).collect())
    }

    /// Events after `since`, oldest first, at most 100, with the server's times. `since` is empty, the
    /// `cursor` or `timestamp` of an event, or another instant.
    async fn get_events_since(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
        since: String,
    ) -> Result<Vec<Event>> {
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
        let events = mesh.events_since(&key, &since).await.map_err(failed)?;
        Ok(events.iter().map(|event| Event::new(&key, PushedEvent::logged(event))).collect())
    }

    /// Events after `since` as `getEventsSince` has them, and what all nodes reported.
    async fn poll_group_data(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
        since: String,
    ) -> Result<PollGroupData> {
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
        let polled = mesh.poll(&key, &since, ctx.data::<Arc<Budget>>()?).await.map_err(failed)?;
        let events = polled.events.iter();
        let statuses = polled.statuses.into_iter();
        Ok(PollGroupData {
            events: events.map(|event| Event::new(&key, PushedEvent::logged(event))).collect(),
            node_statuses: statuses.map(|status| NodeStatus::new(&key, status)).collect(),
        })
    }

    /// Living groups of all domains whose names begin so, by name, at most 10.
    async fn search_groups_by_name_prefix(
        &self,
        ctx: &Context<'_>,
        name_prefix: String,
        limit: Option<i32>,
    ) -> Result<Vec<Group>> {
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let groups = mesh.search_groups(&name_prefix, limit).await.map_err(failed)?;
        Ok(groups.into_iter().map(|group| Group::new(group, &mesh.terms)).collect())
    }
}

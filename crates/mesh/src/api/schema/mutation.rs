//! Mutations.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result};

use super::types::{
    AwsDateTime, EventInput, Group, HeartbeatPayload, LeaveGroupPayload, MemberHeartbeatPayload,
    MeshMessage, Node, RecordEventsPayload, SensorDataInput, seconds,
};
use super::{Caller, failed};
use crate::Mesh;
use crate::api::host::{check_secret, keep_secret};
use crate::model::{CreateGroup, EventTime, FiredEvent, GroupKey};
use crate::ops::groups::Hosted;

/// The mutation root.
pub(crate) struct Mutation;

#[Object]
impl Mutation {
    /// The caller's domain: its public address as the server sees it, of IPv6 the first 64 bits; one
    /// domain for all private addresses.
    async fn create_domain(&self, ctx: &Context<'_>) -> Result<String> {
        Ok(ctx.data::<Caller>()?.domain.clone())
    }

    /// Makes a group, or answers the living one that the host already has in the domain. Neither
    /// `hostId` nor `domain` may be empty.
    #[expect(clippy::too_many_arguments, reason = "they are the contract's")]
    async fn create_group(
        &self,
        ctx: &Context<'_>,
        name: String,
        host_id: ID,
        domain: String,
        max_connection_time_seconds: Option<i32>,
        #[graphql(default_with = "Some(true)")] use_web_socket: Option<bool>,
        #[graphql(desc = "16 to 256 characters that only the host knows. Whoever dissolves or \
                          renews the group must send them too.")]
        host_secret: Option<String>,
    ) -> Result<Group> {
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let command = CreateGroup {
            name,
            host_id: host_id.0,
            host_secret: keep_secret(host_secret.as_deref()).map_err(failed)?,
            domain,
            max_connection_time_seconds: max_connection_time_seconds.map(i64::from),
            use_web_socket: use_web_socket.unwrap_or(true),
        };
        let caller = ctx.data::<Caller>()?;
        let place = mesh.pace.open_group(caller, &command.host_id).map_err(failed)?;
        let hosted = mesh.create_group(command).await;
        if !matches!(hosted, Ok(Hosted::New(_))) {
            place.give_back();
        }
        let group = hosted.map_err(failed)?.group();
        Ok(Group::new(group, &mesh.terms))
    }

    /// Joins a group; again does no harm.
    async fn join_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
        node_id: ID,
        #[graphql(desc = "Taken for clients that send it; the group's own mode counts.")]
        use_web_socket: Option<bool>,
    ) -> Result<Node> {
        let _ = use_web_socket;
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
        mesh.pace.call(&key, &node_id).map_err(failed)?;
        let (group, node) = mesh.join_group(&key, &node_id).await.map_err(failed)?;
        Ok(Node::new(&group, node, &mesh.terms))
    }

    /// Leaves a group; always succeeds.
    async fn leave_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
        node_id: ID,
    ) -> Option<Result<LeaveGroupPayload>> {
        let answer = async {
            let mesh = ctx.data::<Arc<Mesh>>()?;
            let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
            mesh.pace.call(&key, &node_id).map_err(failed)?;
            mesh.leave_group(&key, &node_id).await.map_err(failed)?;
            let message = format!("Peer {} successfully left group {}", *node_id, key.id);
            let (group_id, domain) = (ID(key.id), key.domain);
            Ok(Some(LeaveGroupPayload { peer_id: node_id, group_id, domain, message }))
        };
        answer.await.transpose()
    }

    /// Ends a group.
    async fn dissolve_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
        host_id: ID,
        #[graphql(desc = "The secret with which the group was made, if it has one.")]
        host_secret: Option<String>,
    ) -> Option<Result<MeshMessage>> {
        let answer = async {
            let mesh = ctx.data::<Arc<Mesh>>()?;
            let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
            mesh.pace.call(&key, &host_id).map_err(failed)?;
            check_secret(host_secret.as_deref()).map_err(failed)?;
            let push = mesh.dissolve_group(&key, &host_id, host_secret.as_deref()).await;
            let push = push.map_err(failed)?;
            Ok(Some(push.into()))
        };
        answer.await.transpose()
    }

    /// Keeps a group alive; its end does not move.
    async fn renew_heartbeat(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
        host_id: ID,
        #[graphql(desc = "The secret with which the group was made, if it has one.")]
        host_secret: Option<String>,
    ) -> Result<HeartbeatPayload> {
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
        mesh.pace.call(&key, &host_id).map_err(failed)?;
        check_secret(host_secret.as_deref()).map_err(failed)?;
        let renewed = mesh.renew_heartbeat(&key, &host_id, host_secret.as_deref()).await;
        let group = renewed.map_err(failed)?;
        Ok(HeartbeatPayload {
            group_id: ID(key.id),
            domain: key.domain,
            expires_at: AwsDateTime(group.expires_at),
            heartbeat_interval_seconds: Some(seconds(mesh.terms.host_interval)),
        })
    }

    /// Keeps a member in its group.
    async fn send_member_heartbeat(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
        node_id: ID,
    ) -> Result<MemberHeartbeatPayload> {
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
        mesh.pace.call(&key, &node_id).map_err(failed)?;
        let node = mesh.send_member_heartbeat(&key, &node_id).await.map_err(failed)?;
        Ok(MemberHeartbeatPayload {
            node_id,
            group_id: ID(key.id),
            domain: key.domain,
            expires_at: AwsDateTime(node.lease),
            heartbeat_interval_seconds: Some(seconds(mesh.terms.member_interval)),
        })
    }

    /// Tells the group what changed at a node. The values are kept: within a second also over a crash.
    async fn report_data_by_node(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
        node_id: ID,
        data: Vec<SensorDataInput>,
    ) -> Option<Result<MeshMessage>> {
        let answer = async {
            let mesh = ctx.data::<Arc<Mesh>>()?;
            let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
            let data = data.into_iter().map(Into::into).collect();
            mesh.pace.call(&key, &node_id).map_err(failed)?;
            let push = mesh.report_data(&key, &node_id, data).await.map_err(failed)?;
            Ok(Some(push.into()))
        };
        answer.await.transpose()
    }

    /// Tells the group what happened at a node, with the sender's times.
    async fn fire_events_by_node(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
        node_id: ID,
        events: Vec<EventInput>,
    ) -> Option<Result<MeshMessage>> {
        let answer = async {
            let mesh = ctx.data::<Arc<Mesh>>()?;
            let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
            let events: Vec<FiredEvent> = events.into_iter().map(Into::into).collect();
            mesh.pace.call(&key, &node_id).map_err(failed)?;
            let fired = mesh.fire_events(&key, &node_id, &events, EventTime::Sender).await;
            let (push, _) = fired.map_err(failed)?;
            Ok(Some(push.into()))
        };
        answer.await.transpose()
    }

    /// Tells the group what happened at a node, with the server's times.
    async fn record_events_by_node(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
        node_id: ID,
        events: Vec<EventInput>,
    ) -> Result<RecordEventsPayload> {
        let mesh = ctx.data::<Arc<Mesh>>()?;
        let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
        let events: Vec<FiredEvent> = events.into_iter().map(Into::into).collect();
        mesh.pace.call(&key, &node_id).map_err(failed)?;
        let fired = mesh.fire_events(&key, &node_id, &events, EventTime::Server).await;
        let (_, last) = fired.map_err(failed)?;
        Ok(RecordEventsPayload {
            group_id: ID(key.id),
            domain: key.domain,
            recorded_count: i32::try_from(events.len()).unwrap_or(i32::MAX),
            next_since: last.text(),
        })
    }
}

//! The objects and inputs of the contract.

use std::time::Duration;

use async_graphql::{
    ID, InputObject, InputValueError, InputValueResult, Scalar, ScalarType, SimpleObject, Value,
};
use base::Timestamp;

use crate::limits::POLLING_INTERVAL_SECONDS;
use crate::live::{Body, Push, PushedEvent};
use crate::model::{self, GroupKey, Terms};

/// ISO 8601 with an offset or Z; answered in UTC with milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct AwsDateTime(pub(super) Timestamp);

#[Scalar(name = "AWSDateTime")]
impl ScalarType for AwsDateTime {
    fn parse(value: Value) -> InputValueResult<AwsDateTime> {
        let Value::String(text) = &value else { return Err(InputValueError::expected_type(value)) };
        match text.parse() {
            Ok(time) => Ok(AwsDateTime(time)),
            Err(_) => Err(InputValueError::custom(format!("`{text}` is not an AWSDateTime"))),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_string())
    }
}

#[derive(Clone, InputObject)]
pub(super) struct SensorDataInput {
    key: String,
    value: String,
}

impl From<SensorDataInput> for model::SensorData {
    fn from(input: SensorDataInput) -> model::SensorData {
        model::SensorData { key: input.key, value: input.value }
    }
}

#[derive(Clone, InputObject)]
pub(super) struct EventInput {
    event_name: String,
    /// Empty is none.
    payload: Option<String>,
    /// The sender's time. Pushes have it; who polls reads the server's.
    fired_at: AwsDateTime,
    /// Empty is none.
    order_key: Option<String>,
}

impl From<EventInput> for model::FiredEvent {
    fn from(input: EventInput) -> model::FiredEvent {
        model::FiredEvent {
            name: input.event_name,
            payload: input.payload,
            fired_at: input.fired_at.0,
            order_key: input.order_key,
        }
    }
}

#[derive(SimpleObject)]
pub(super) struct Group {
    id: ID,
    domain: String,
    full_id: String,
    name: String,
    host_id: ID,
    created_at: AwsDateTime,
    expires_at: AwsDateTime,
    heartbeat_interval_seconds: Option<i32>,
    use_web_socket: bool,
    polling_interval_seconds: Option<i32>,
}

impl Group {
    pub(super) fn new(group: model::Group, terms: &Terms) -> Group {
        Group {
            full_id: group.key.full_id(),
            id: ID(group.key.id),
            domain: group.key.domain,
            name: group.name,
            host_id: ID(group.host_id),
            created_at: AwsDateTime(group.created_at),
            expires_at: AwsDateTime(group.expires_at),
            heartbeat_interval_seconds: Some(seconds(terms.host_interval)),
            use_web_socket: group.use_web_socket,
            polling_interval_seconds: polling(group.use_web_socket),
        }
    }
}

#[derive(SimpleObject)]
pub(super) struct Node {
    id: ID,
    name: String,
    group_id: Option<ID>,
    domain: Option<String>,
    expires_at: Option<AwsDateTime>,
    heartbeat_interval_seconds: Option<i32>,
    use_web_socket: Option<bool>,
    polling_interval_seconds: Option<i32>,
}

impl Node {
    pub(super) fn new(group: &model::Group, node: model::Node, terms: &Terms) -> Node {
        Node {
            name: node.name(),
            id: ID(node.id),
            group_id: Some(ID(group.key.id.clone())),
            domain: Some(group.key.domain.clone()),
            expires_at: Some(AwsDateTime(group.expires_at)),
            heartbeat_interval_seconds: Some(seconds(terms.member_interval)),
            use_web_socket: Some(group.use_web_socket),
            polling_interval_seconds: polling(group.use_web_socket),
        }
    }
}

#[derive(Clone, SimpleObject)]
pub(super) struct SensorData {
    key: String,
    value: String,
}

#[derive(Clone, SimpleObject)]
pub(super) struct NodeStatus {
    node_id: ID,
    group_id: ID,
    domain: String,
    data: Vec<SensorData>,
    timestamp: AwsDateTime,
}

impl NodeStatus {
    pub(super) fn new(group: &GroupKey, status: model::Status) -> NodeStatus {
        let data = status.data.into_iter();
        NodeStatus {
            node_id: ID(status.node_id),
            group_id: ID(group.id.clone()),
            domain: group.domain.clone(),
            data: data.map(|item| SensorData { key: item.key, value: item.value }).collect(),
            timestamp: AwsDateTime(status.timestamp),
        }
    }
}

#[derive(Clone, SimpleObject)]
pub(super) struct Event {
    name: String,
    fired_by_node_id: ID,
    group_id: ID,
    domain: String,
    payload: Option<String>,
    /// In a push the sender's `firedAt`, or the server's time of an event that was recorded. In an
    /// answer to a poll the server's time, which is as good a `since` as the cursor.
    timestamp: AwsDateTime,
    /// Where to go on after this event.
    cursor: Option<String>,
    order_key: Option<String>,
}

impl Event {
    pub(super) fn new(group: &GroupKey, event: PushedEvent) -> Event {
        Event {
            name: event.name,
            fired_by_node_id: ID(event.fired_by),
            group_id: ID(group.id.clone()),
            domain: group.domain.clone(),
            payload: event.payload,
            timestamp: AwsDateTime(Timestamp::from_millis(event.timestamp_ms)),
            cursor: Some(event.cursor),
            order_key: event.order_key,
        }
    }
}

#[derive(Clone, SimpleObject)]
pub(super) struct BatchEvent {
    events: Vec<Event>,
    fired_by_node_id: ID,
    group_id: ID,
    domain: String,
    timestamp: AwsDateTime,
}

#[derive(Clone, SimpleObject)]
pub(super) struct GroupDissolvePayload {
    group_id: ID,
    domain: String,
    message: String,
}

/// What is told to a group. Exactly one of `nodeStatus`, `batchEvent` and `groupDissolve` is there;
/// the fields behind them repeat it for selections that were written for older types.
#[derive(Clone, SimpleObject)]
pub(super) struct MeshMessage {
    group_id: ID,
    domain: String,
    pub(super) node_status: Option<NodeStatus>,
    pub(super) batch_event: Option<BatchEvent>,
    pub(super) group_dissolve: Option<GroupDissolvePayload>,
    node_id: Option<ID>,
    data: Option<Vec<SensorData>>,
    timestamp: Option<AwsDateTime>,
    events: Option<Vec<Event>>,
    fired_by_node_id: Option<ID>,
    message: Option<String>,
}

impl From<Push> for MeshMessage {
    fn from(push: Push) -> MeshMessage {
        let group = GroupKey { id: push.group_id, domain: push.domain };
        let mut message = MeshMessage {
            group_id: ID(group.id.clone()),
            domain: group.domain.clone(),
            node_status: None,
            batch_event: None,
            group_dissolve: None,
            node_id: None,
            data: None,
            timestamp: None,
            events: None,
            fired_by_node_id: None,
            message: None,
        };
        match push.body {
            Body::Status { node_id, data, timestamp_ms, .. } => {
                let pair = |(key, value)| SensorData { key, value };
                let data: Vec<SensorData> = data.into_iter().map(pair).collect();
                let timestamp = AwsDateTime(Timestamp::from_millis(timestamp_ms));
                message.node_id = Some(ID(node_id.clone()));
                message.data = Some(data.clone());
                message.timestamp = Some(timestamp);
                message.node_status = Some(NodeStatus {
                    node_id: ID(node_id),
                    group_id: ID(group.id),
                    domain: group.domain,
                    data,
                    timestamp,
                });
            }
            Body::Events { fired_by, events, timestamp_ms } => {
                let events = events.into_iter().map(|event| Event::new(&group, event));
                let events: Vec<Event> = events.collect();
                let timestamp = AwsDateTime(Timestamp::from_millis(timestamp_ms));
                message.events = Some(events.clone());
                message.fired_by_node_id = Some(ID(fired_by.clone()));
                message.timestamp = Some(timestamp);
                message.batch_event = Some(BatchEvent {
                    events,
                    fired_by_node_id: ID(fired_by),
                    group_id: ID(group.id),
                    domain: group.domain,
                    timestamp,
                });
            }
            Body::Dissolve { message: told } => {
                message.message = Some(told.clone());
                message.group_dissolve = Some(GroupDissolvePayload {
                    group_id: ID(group.id),
                    domain: group.domain,
                    message: told,
                });
            }
        }
        message
    }
}

#[derive(SimpleObject)]
pub(super) struct HeartbeatPayload {
    pub(super) group_id: ID,
    pub(super) domain: String,
    pub(super) expires_at: AwsDateTime,
    pub(super) heartbeat_interval_seconds: Option<i32>,
}

#[derive(SimpleObject)]
pub(super) struct MemberHeartbeatPayload {
    pub(super) node_id: ID,
    pub(super) group_id: ID,
    pub(super) domain: String,
    pub(super) expires_at: AwsDateTime,
    pub(super) heartbeat_interval_seconds: Option<i32>,
}

#[derive(SimpleObject)]
pub(super) struct LeaveGroupPayload {
    pub(super) peer_id: ID,
    pub(super) group_id: ID,
    pub(super) domain: String,
    pub(super) message: String,
}

#[derive(SimpleObject)]
pub(super) struct RecordEventsPayload {
    pub(super) group_id: ID,
    pub(super) domain: String,
    pub(super) recorded_count: i32,
    pub(super) next_since: String,
}

#[derive(SimpleObject)]
pub(super) struct PollGroupData {
    pub(super) events: Vec<Event>,
    pub(super) node_statuses: Vec<NodeStatus>,
}

/// Whole seconds of an interval.
pub(super) fn seconds(interval: Duration) -> i32 {
    i32::try_from(interval.as_secs()).unwrap_or(i32::MAX)
}

fn polling(use_web_socket: bool) -> Option<i32> {
    (!use_web_socket).then_some(POLLING_INTERVAL_SECONDS)
}

//! Subscriptions: validated by the library, and then told as a group and a selection.
//!
//! The fields give no messages here: they only note what was asked. Who wants a subscription runs
//! its document once through [`subscribed`] and follows the group itself.

use std::sync::Arc;

use async_graphql::parser::types::{ExecutableDocument, Field, OperationType, Selection as Chosen};
use async_graphql::{Context, ID, Request, Result, ServerError, Subscription, TypeDirective};
use futures_util::stream::{Stream, StreamExt, empty};
use parking_lot::Mutex;

use super::types::{BatchEvent, GroupDissolvePayload, MeshMessage, NodeStatus};
use super::{Schema, failed};
use crate::live::select::{Selection, Source};
use crate::model::GroupKey;

/// The subscription root.
pub(crate) struct Subscription;

/// Tells generators of clients which mutations feed a subscription.
#[TypeDirective(location = "FieldDefinition")]
fn aws_subscribe(mutations: Option<Vec<Option<String>>>) {}

/// The mutations that feed a subscription, as the directive takes them.
fn fed_by(mutations: &[&str]) -> Option<Vec<Option<String>>> {
    Some(mutations.iter().map(|name| Some((*name).to_owned())).collect())
}

const ALL: [&str; 4] =
    ["reportDataByNode", "fireEventsByNode", "recordEventsByNode", "dissolveGroup"];
const EVENTS: [&str; 2] = ["fireEventsByNode", "recordEventsByNode"];

#[Subscription]
impl Subscription {
    /// Everything that is told to a group.
    #[graphql(directive = aws_subscribe::apply(fed_by(&ALL)))]
    async fn on_message_in_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Result<impl Stream<Item = Option<MeshMessage>>> {
        note(ctx, group_id, domain)
    }

    /// What changes at the nodes of a group.
    #[graphql(directive = aws_subscribe::apply(fed_by(&["reportDataByNode"])))]
    async fn on_data_update_in_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Result<impl Stream<Item = Option<NodeStatus>>> {
        note(ctx, group_id, domain)
    }

    /// What happens in a group.
    #[graphql(directive = aws_subscribe::apply(fed_by(&EVENTS)))]
    async fn on_batch_event_in_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Result<impl Stream<Item = Option<BatchEvent>>> {
        note(ctx, group_id, domain)
    }

    /// That a group is no more.
    #[graphql(directive = aws_subscribe::apply(fed_by(&["dissolveGroup"])))]
    async fn on_group_dissolve(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Result<impl Stream<Item = Option<GroupDissolvePayload>>> {
        note(ctx, group_id, domain)
    }
}

/// Where a subscription field leaves its arguments.
type Noted = Arc<Mutex<Option<GroupKey>>>;

fn note<T>(ctx: &Context<'_>, group_id: ID, domain: String) -> Result<impl Stream<Item = T>> {
    let key = GroupKey::new(group_id.0, domain).map_err(failed)?;
    *ctx.data::<Noted>()?.lock() = Some(key);
    Ok(empty())
}

/// What a subscription asks for.
pub(crate) struct Wanted {
    pub(crate) group: GroupKey,
    pub(crate) selection: Selection,
}

/// Why a document is not a subscription that can be followed.
pub(crate) enum Refused {
    /// It is a query or a mutation.
    NotASubscription,
    /// It is not valid.
    Invalid(Vec<ServerError>),
}

/// Tells what the subscription in a valid document asks for; the request carries the document.
pub(crate) async fn subscribed(
    schema: &Schema,
    document: &ExecutableDocument,
    request: Request,
) -> Result<Wanted, Refused> {
    let name = request.operation_name.as_deref();
    let operation = document.operations.iter().find(|(known, _)| match (known, name) {
        (Some(known), Some(name)) => known.as_str() == name,
        (_, None) => true,
        (None, Some(_)) => false,
    });
    if operation.is_some_and(|(_, operation)| operation.node.ty != OperationType::Subscription) {
        return Err(Refused::NotASubscription);
    }
    let root = operation.map(|(_, operation)| &operation.node.selection_set.node.items);
    let mut fields = Vec::new();
    root_fields(document, root.map_or(&[][..], Vec::as_slice), &mut fields);
    let [root] = fields.as_slice() else {
        let told = "a subscription has exactly one root field";
        return Err(Refused::Invalid(vec![ServerError::new(told, None)]));
    };
    let noted = Noted::default();
    let variables = request.variables.clone();
    let request = request.data(Arc::clone(&noted));
    let mut answers = Box::pin(schema.execute_stream(request));
    while let Some(answer) = answers.next().await {
        if !answer.errors.is_empty() {
            return Err(Refused::Invalid(answer.errors));
        }
    }
    drop(answers);
    let group = noted.lock().take();
    let source = Source { document, variables: &variables };
    match (group, Selection::of(&source, root)) {
        (Some(group), Some(selection)) => Ok(Wanted { group, selection }),
        _ => {
            let told = "a subscription has one of the schema's fields";
            Err(Refused::Invalid(vec![ServerError::new(told, None)]))
        }
    }
}

/// The root fields of a subscription, wherever fragments hide them.
fn root_fields<'d>(
    document: &'d ExecutableDocument,
    items: &'d [async_graphql::Positioned<Chosen>],
    into: &mut Vec<&'d Field>,
) {
    for chosen in items {
        match &chosen.node {
            Chosen::Field(field) => into.push(&field.node),
            Chosen::InlineFragment(inline) => {
                root_fields(document, &inline.node.selection_set.node.items, into);
            }
            Chosen::FragmentSpread(named) => {
                if let Some(fragment) = document.fragments.get(&named.node.fragment_name.node) {
                    root_fields(document, &fragment.node.selection_set.node.items, into);
                }
            }
        }
    }
}

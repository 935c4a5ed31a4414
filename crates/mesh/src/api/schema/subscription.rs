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
fn aws_subscribe(mutations: Vec<String>) {}

fn all() -> Vec<String> {
    ["reportDataByNode", "fireEventsByNode", "recordEventsByNode", "dissolveGroup"]
        .map(str::to_owned)
        .to_vec()
}

fn events() -> Vec<String> {
    ["fireEventsByNode", "recordEventsByNode"].map(str::to_owned).to_vec()
}

#[Subscription]
impl Subscription {
    /// Everything that is told to a group.
    #[graphql(directive = aws_subscribe::apply(all()))]
    async fn on_message_in_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Result<impl Stream<Item = MeshMessage>> {
        note(ctx, group_id, domain)
    }

    /// What changes at the nodes of a group.
    #[graphql(directive = aws_subscribe::apply(vec!["reportDataByNode".to_owned()]))]
    async fn on_data_update_in_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Result<impl Stream<Item = NodeStatus>> {
        note(ctx, group_id, domain)
    }

    /// What happens in a group.
    #[graphql(directive = aws_subscribe::apply(events()))]
    async fn on_batch_event_in_group(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Result<impl Stream<Item = BatchEvent>> {
        note(ctx, group_id, domain)
    }

    /// That a group is no more.
    #[graphql(directive = aws_subscribe::apply(vec!["dissolveGroup".to_owned()]))]
    async fn on_group_dissolve(
        &self,
        ctx: &Context<'_>,
        group_id: ID,
        domain: String,
    ) -> Result<impl Stream<Item = GroupDissolvePayload>> {
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
    let root = operation
        .and_then(|(_, operation)| root_field(document, &operation.node.selection_set.node.items));
    match (group, root.and_then(|field| Selection::of(&source, field))) {
        (Some(group), Some(selection)) => Ok(Wanted { group, selection }),
        _ => {
            let told = "a subscription has one of the schema's fields";
            Err(Refused::Invalid(vec![ServerError::new(told, None)]))
        }
    }
}

/// The one field of a subscription, wherever fragments hide it.
fn root_field<'d>(
    document: &'d ExecutableDocument,
    items: &'d [async_graphql::Positioned<Chosen>],
) -> Option<&'d Field> {
    items.iter().find_map(|chosen| match &chosen.node {
        Chosen::Field(field) => Some(&field.node),
        Chosen::InlineFragment(inline) => {
            root_field(document, &inline.node.selection_set.node.items)
        }
        Chosen::FragmentSpread(named) => {
            let fragment = document.fragments.get(&named.node.fragment_name.node)?;
            root_field(document, &fragment.node.selection_set.node.items)
        }
    })
}

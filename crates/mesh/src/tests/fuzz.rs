//! Any text as a document: validated and executed within bounds, and pushes written through its
//! subscriptions.

use std::collections::HashMap;

use async_graphql::parser::parse_query;
use async_graphql::parser::types::{ExecutableDocument, OperationType, Selection, SelectionSet};
use async_graphql::{Name, Variables};
use serde_json::{Value as Json, json};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::{Class, asked};
use crate::api::schema::Caller;
use crate::api::wire;
use crate::live::select::{Selection as Selected, Source};
use crate::live::{Body, Push, PushedEvent};

/// How many fields a valid document may have when every fragment is written out.
const FIELDS_MAX: u64 = 1000;

/// The fields of a selection with its fragments written out. Each fragment is counted once, so that
/// counting takes no longer than reading.
fn fields(
    document: &ExecutableDocument,
    set: &SelectionSet,
    known: &mut HashMap<Name, u64>,
) -> u64 {
    let each = set.items.iter().map(|chosen| match &chosen.node {
        Selection::Field(field) => {
            1_u64.saturating_add(fields(document, &field.node.selection_set.node, known))
        }
        Selection::InlineFragment(inline) => {
            fields(document, &inline.node.selection_set.node, known)
        }
        Selection::FragmentSpread(spread) => {
            let name = &spread.node.fragment_name.node;
            if let Some(count) = known.get(name) {
                return *count;
            }
            let fragment = document.fragments.get(name);
            let fragment = fragment.expect("a valid document has its fragments");
            let count = fields(document, &fragment.node.selection_set.node, known);
            known.insert(name.clone(), count);
            count
        }
    });
    each.fold(0, u64::saturating_add)
}

fn pushes() -> [Push; 3] {
    let push = |body| Push { group_id: "g".to_owned(), domain: "d\"\\\n".to_owned(), body };
    let event = PushedEvent {
        name: "e".to_owned(),
        fired_by: "n".to_owned(),
        payload: None,
        timestamp_ms: 1_800_000_000_000,
        cursor: "c".to_owned(),
        order_key: Some("\u{1}".to_owned()),
    };
    let data = vec![("k".to_owned(), "v".to_owned())];
    [
        push(Body::Status { node_id: "n".to_owned(), data, timestamp_ms: 0, since_ms: None }),
        push(Body::Events { fired_by: "n".to_owned(), events: vec![event], timestamp_ms: 1 }),
        push(Body::Dissolve { message: "bye".to_owned() }),
    ]
}

/// A push through a subscription is JSON, with the response key that the document names.
fn check_subscription(document: &ExecutableDocument, set: &SelectionSet) {
    let source = Source { document, variables: &Variables::default() };
    for chosen in &set.items {
        let Selection::Field(field) = &chosen.node else { continue };
        let Some(selected) = Selected::of(&source, &field.node) else { continue };
        let key = field.node.response_key().node.as_str();
        for push in pushes() {
            let Some(written) = selected.render(&push) else { continue };
            let read: Json = serde_json::from_str(&written).unwrap_or_else(|_| panic!("{written}"));
            assert!(read["data"][key].is_object(), "{written}");
        }
    }
}

async fn check_document(class: &Class, text: &str) {
    let is_valid = class.api.documents.find(text).await.is_ok();
    let again = class.api.documents.find(text).await.is_ok();
    assert_eq!(again, is_valid, "validated twice, and differently");
    let caller = Caller { domain: "local".to_owned(), connection: None };
    let response = class.api.execute(asked(text, json!({})), caller).await;
    let answer: Json = serde_json::from_str(&wire::answer(&response)).unwrap();
    assert!(is_valid || answer["errors"].is_array(), "a refused document is executed: {answer}");
    if !is_valid {
        return;
    }
    let document = parse_query(text).expect("a valid document can be parsed");
    for (_, operation) in document.operations.iter() {
        let set = &operation.node.selection_set.node;
        let count = fields(&document, set, &mut HashMap::new());
        assert!(count <= FIELDS_MAX, "{count} fields");
        if operation.node.ty == OperationType::Subscription {
            check_subscription(&document, set);
        }
    }
}

#[testkit::test(1)]
async fn every_document_is_refused_or_asks_for_a_bounded_number_of_fields() {
    let class = Class::alone().await;
    testkit::fuzz::check("documents", |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        block_in_place(|| Handle::current().block_on(check_document(&class, text)));
    });
}

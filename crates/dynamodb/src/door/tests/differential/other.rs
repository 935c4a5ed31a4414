//! The other implementation, and its known differences.

use dynoxide::Database;
use serde_json::Value as Json;

use super::{TestStep, wide};

/// The response; for a failure the whole body, with the type without its namespace.
pub(super) type Answer = Result<Json, Json>;

pub(super) fn other() -> Database {
    let other = Database::memory().unwrap();
    other.create_table(serde_json::from_value(wide()).unwrap()).unwrap();
    other
}

/// The other implementation's response, or the type and message of the failure.
pub(crate) fn ask_other(
    database: &Database,
    operation: &str,
    request: &Json,
) -> Result<Json, (String, String)> {
    ask(database, operation, request).map_err(|body| {
        let text = |name: &str| body.get(name).and_then(Json::as_str).map(str::to_owned);
        (text("__type").unwrap(), text("message").or_else(|| text("Message")).unwrap_or_default())
    })
}

pub(super) fn ask(database: &Database, operation: &str, request: &Json) -> Answer {
    macro_rules! ask {
        ($method:ident) => {{
            let request = serde_json::from_value(request.clone()).map_err(|error| {
                serde_json::json!({"__type": "ValidationException", "message": error.to_string()})
            })?;
            database.$method(request).map(|answer| serde_json::to_value(answer).unwrap())
        }};
    }
    let answer = match operation {
        "PutItem" => ask!(put_item),
        "UpdateItem" => ask!(update_item),
        "DeleteItem" => ask!(delete_item),
        "GetItem" => ask!(get_item),
        "Query" => ask!(query),
        "Scan" => ask!(scan),
        "BatchGetItem" => ask!(batch_get_item),
        "BatchWriteItem" => ask!(batch_write_item),
        "TransactGetItems" => ask!(transact_get_items),
        "TransactWriteItems" => ask!(transact_write_items),
        other => panic!("`{other}` is not asked"),
    };
    answer
        .map_err(|error| super::without_namespace(serde_json::from_str(&error.to_json()).unwrap()))
}

/// A prefix of the other implementation's messages without any meaning.
const MARK: &str = "VALIDATION:";

/// Requests that the other implementation accepts and AWS refuses, by the start of AWS's message.
/// Only reads: after a write the two would differ from then on.
const ACCEPTED_BY_OTHER: [&str; 7] = [
    "Value '[]' at 'attributesToGet' failed",
    "Value '[]' at 'requestItems.things.member.attributesToGet' failed",
    "One or more parameter values were invalid: Global secondary index",
    "Invalid FilterExpression: Incorrect operand type for operator or function; operator: ",
    "One or more parameter values were invalid: AttributeValues inside AttributeValueList must be",
    "One or more parameter values were invalid: ComparisonOperator BETWEEN is not valid for",
    "The BETWEEN condition was provided a range where the lower bound is greater",
];

/// Failures, by the start of their messages. A request may have several faults, and the reported
/// one is not specified, so the messages of two different faults may meet. `true` marks faults that
/// a request may have several times, for different attributes.
const FAULTS: [(&str, bool); 43] = [
    ("ReturnValues can only be", false),
    ("Invalid UpdateExpression: ", false),
    ("Invalid ConditionExpression: ", false),
    ("Invalid FilterExpression: ", false),
    ("Invalid ProjectionExpression: ", false),
    ("Invalid KeyConditionExpression: ", false),
    ("Consistent reads are not supported", false),
    ("ConditionalOperator can", false),
    ("The table does not have the specified index", false),
    ("Query condition missed key schema element", false),
    ("Query key condition not supported", false),
    ("The provided starting key is outside", false),
    ("The provided starting key is invalid", false),
    ("The provided starting key does not match", false),
    ("The query can return at most one row", false),
    ("Filter Expression can only contain", false),
    ("QueryFilter can only contain", false),
    ("Provided list of item keys contains duplicates", false),
    ("Transaction request cannot include multiple", false),
    ("Value '[]' at 'attributesToGet' failed", false),
    ("Value '[]' at 'requestItems.things.member.attributesToGet' failed", false),
    ("Value null at 'transactItems.", false),
    ("missing field `ConditionExpression`", false),
    ("Cannot specify the ", false),
    ("ALL_PROJECTED_ATTRIBUTES can be used", false),
    ("Must specify the AttributesToGet", false),
    ("Attempted conditional constraint is not", false),
    ("Unsupported KeyConditions ComparisonOperator", false),
    ("The BETWEEN condition was provided", false),
    ("One or more parameter values are not valid. ", false),
    ("One or more parameter values were invalid: Condition parameter type does not match", false),
    ("One or more parameter values were invalid: ComparisonOperator ", true),
    ("One or more parameter values were invalid: Invalid number of argument(s)", true),
    ("One or more parameter values were invalid: AttributeValues inside AttributeValueList", false),
    ("One or more parameter values were invalid: Duplicate value in attribute name", false),
    ("One or more parameter values were invalid: Type mismatch for Index Key", true),
    ("One or more parameter values were invalid: Global secondary index", false),
    ("One or more parameter values were invalid: Value ", true),
    ("One or more parameter values were invalid: Only DELETE action is allowed", false),
    ("One or more parameter values were invalid: ADD action is not supported", true),
    ("One or more parameter values were invalid: DELETE action with value is not", true),
    ("One or more parameter values were invalid: Select type ALL_ATTRIBUTES", false),
    ("One or more parameter values were invalid: Cannot update attribute pk", false),
];

/// The messages of both for the same fault, ours first, by their start.
const WORDS: [(&str, &str); 2] = [
    // DynamoDB local says the same as we do.
    (
        "Attempted conditional constraint is not an indexable operation",
        "Unsupported KeyConditions ComparisonOperator: ",
    ),
    // The other implementation reports this from its JSON reader.
    ("Value null at 'transactItems.", "missing field `ConditionExpression`"),
];

/// Whether both responded alike, or differ in a known way.
pub(super) fn agree(step: &TestStep, ours: &Answer, theirs: &Answer) -> bool {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => ours == theirs || cut(step, ours) == cut(step, theirs),
        (Err(ours), Err(theirs)) => agree_on_failure(ours, theirs),
        (Err(ours), Ok(_)) => ACCEPTED_BY_OTHER.iter().any(|start| words(ours).starts_with(start)),
        (Ok(_), Err(_)) => false,
    }
}

fn agree_on_failure(ours: &Json, theirs: &Json) -> bool {
    let (our, their) = (words(ours), words(theirs));
    if ours["__type"] != theirs["__type"] {
        // The other implementation checks the condition before the edited paths. And for a put with
        // two faults each side may report another one; only one of them fails the whole call.
        let edits = our.contains("Cannot update attribute pk")
            && theirs["__type"] == "ConditionalCheckFailedException";
        let empty = our.contains("A value specified for a secondary index key is not supported")
            && theirs.to_string().contains("Type mismatch for Index Key");
        return edits || empty;
    }
    if our == their {
        let rest = |body: &Json| {
            let mut body = body.clone();
            body.as_object_mut().unwrap().retain(|name, _| !name.eq_ignore_ascii_case("message"));
            body
        };
        return rest(ours) == rest(theirs);
    }
    let fault = |words: &str| FAULTS.iter().find(|(start, _)| words.starts_with(start));
    let several = match (fault(our), fault(their)) {
        (Some(one), Some(other)) => one.0 != other.0 || one.1,
        (_, _) => false,
    };
    let matches_words =
        |(ours, theirs): &(&str, &str)| our.starts_with(ours) && their.starts_with(theirs);
    several || WORDS.iter().any(matches_words)
}

fn words(body: &Json) -> &str {
    let text = |name: &str| body.get(name).and_then(Json::as_str);
    let mut words = text("message").or_else(|| text("Message")).unwrap_or_default();
    words = words.strip_prefix(MARK).unwrap_or(words);
    // Only the layer that checks parameters reports their number.
    let parts = words.split_once(" detected: ");
    match parts.filter(|(count, _)| count.contains(" validation error")) {
        Some((_, words)) => words,
        None => words,
    }
}

/// A response without the known differences.
fn cut(step: &TestStep, answer: &Json) -> Json {
    let mut answer = answer.clone();
    match step {
        TestStep::Ask("UpdateItem", request) => cut_update(request, &mut answer),
        TestStep::Ask("TransactGetItems", _) => {
            // The other implementation adds the key to a projection here.
            for got in answer["Responses"].as_array_mut().unwrap() {
                if let Some(item) = got.get_mut("Item").and_then(Json::as_object_mut) {
                    item.retain(|name, _| name != "pk" && name != "sk");
                }
            }
        }
        TestStep::Walk(_, request, _) | TestStep::Segments(request, _)
            if request["IndexName"] == "by-at" =>
        {
            // The other implementation does not fetch attributes that a local index lacks.
            let items = answer["Items"].as_array_mut().unwrap();
            for item in items.iter_mut() {
                let held = |name: &str| ["pk", "sk", "at"].contains(&name);
                item.as_object_mut().unwrap().retain(|name, _| held(name));
            }
            items.sort_by_key(Json::to_string);
        }
        _ => {}
    }
    answer
}

fn cut_update(request: &Json, answer: &mut Json) {
    // The other implementation returns the key of a new item as its old image.
    if request["ReturnValues"] == "ALL_OLD" && answer.get("Attributes") == Some(&request["Key"]) {
        answer.as_object_mut().unwrap().remove("Attributes");
    }
    // The other implementation returns the whole list for an element of it.
    let element = request["UpdateExpression"].as_str().is_some_and(|text| text.contains("v[0]"));
    let updated = request["ReturnValues"].as_str().is_some_and(|word| word.starts_with("UPDATED"));
    if element
        && updated
        && let Some(list) = answer.pointer_mut("/Attributes/v/L").and_then(Json::as_array_mut)
    {
        list.truncate(1);
    }
}

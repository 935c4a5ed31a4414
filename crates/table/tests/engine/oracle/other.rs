//! The other DynamoDB, asked in DynamoDB's own JSON and expression language.

use std::collections::BTreeMap;

use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};
use table::{
    Actions, BatchWrite, Condition, Delete, Get, Item, KeySpec, KeyType, Page, Path, Projected,
    Put, Query, Renderer, Return, Scan, TableSpec, TransactItem, TransactWrite, Update,
    item_from_json, item_to_json, value_to_json,
};

use crate::support::failure::{Failure, Reason};

/// Another DynamoDB, in memory.
pub(crate) struct Other {
    database: Database,
}

impl Other {
    /// One with these tables.
    pub(crate) fn with(specs: &[TableSpec]) -> Other {
        let database = Database::memory().expect("a database in memory opens");
        for spec in specs {
            let request = read(create_table(spec)).expect("the declaration is valid");
            database.create_table(request).expect("the table can be made");
        }
        Other { database }
    }

    pub(crate) fn get(&self, get: &Get) -> Result<Option<Item>, Failure> {
        let mut request = Request::new(&get.table);
        request.put("Key", item_to_json(&get.key));
        request.put("ConsistentRead", json!(get.consistent));
        request.projection(&get.projection);
        item(&answer(self.database.get_item(read(request.finish())?))?, "Item")
    }

    pub(crate) fn put(&self, put: &Put) -> Result<Option<Item>, Failure> {
        let mut request = Request::new(&put.table);
        request.put("Item", item_to_json(&put.item));
        request.returning(put.returning);
        request.condition(put.condition.as_ref(), put.item_on_failure);
        item(&answer(self.database.put_item(read(request.finish())?))?, "Attributes")
    }

    pub(crate) fn update(&self, update: &Update) -> Result<Option<Item>, Failure> {
        let mut request = Request::new(&update.table);
        request.put("Key", item_to_json(&update.key));
        request.actions(&update.actions);
        request.returning(update.returning);
        request.condition(update.condition.as_ref(), update.item_on_failure);
        item(&answer(self.database.update_item(read(request.finish())?))?, "Attributes")
    }

    pub(crate) fn delete(&self, delete: &Delete) -> Result<Option<Item>, Failure> {
        let mut request = Request::new(&delete.table);
        request.put("Key", item_to_json(&delete.key));
        request.returning(delete.returning);
        request.condition(delete.condition.as_ref(), delete.item_on_failure);
        item(&answer(self.database.delete_item(read(request.finish())?))?, "Attributes")
    }

    pub(crate) fn query(&self, query: &Query) -> Result<Page, Failure> {
        let mut request = Request::new(&query.table);
        let key = request.renderer.key_condition(&query.key);
        request.put("KeyConditionExpression", json!(key));
        request.put("ScanIndexForward", json!(!query.descending));
        request.index(query.index.as_deref());
        request.paging(query.limit, query.start_after.as_ref());
        request.filter(query.filter.as_ref());
        request.projection(&query.projection);
        page(&answer(self.database.query(read(request.finish())?))?)
    }

    pub(crate) fn scan(&self, scan: &Scan) -> Result<Page, Failure> {
        let mut request = Request::new(&scan.table);
        if let Some((number, total)) = scan.segment {
            request.put("Segment", json!(number));
            request.put("TotalSegments", json!(total));
        }
        request.index(scan.index.as_deref());
        request.paging(scan.limit, scan.start_after.as_ref());
        request.filter(scan.filter.as_ref());
        request.projection(&scan.projection);
        page(&answer(self.database.scan(read(request.finish())?))?)
    }

    pub(crate) fn batch_write(&self, writes: &[BatchWrite]) -> Result<(), Failure> {
        let mut tables: BTreeMap<&str, Vec<Json>> = BTreeMap::new();
        for write in writes {
            let (table, write) = match write {
                BatchWrite::Put { table, item } => {
                    (table, json!({"PutRequest": {"Item": item_to_json(item)}}))
                }
                BatchWrite::Delete { table, key } => {
                    (table, json!({"DeleteRequest": {"Key": item_to_json(key)}}))
                }
            };
            tables.entry(table).or_default().push(write);
        }
        answer(self.database.batch_write_item(read(json!({"RequestItems": tables}))?)).map(|_| ())
    }

    pub(crate) fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>, Failure> {
        let gets = gets.iter().map(|get| {
            let mut request = Request::new(&get.table);
            request.put("Key", item_to_json(&get.key));
            request.projection(&get.projection);
            json!({"Get": request.finish()})
        });
        let request = json!({"TransactItems": gets.collect::<Vec<_>>()});
        let answer = answer(self.database.transact_get_items(read(request)?))?;
        let responses = answer.get("Responses").and_then(Json::as_array);
        responses.into_iter().flatten().map(|response| item(response, "Item")).collect()
    }

    pub(crate) fn transact_write(&self, transaction: &TransactWrite) -> Result<(), Failure> {
        let writes: Vec<Json> = transaction.writes.iter().map(transact_item).collect();
        let mut request = json!({"TransactItems": writes});
        if let (Some(token), Some(fields)) = (&transaction.token, request.as_object_mut()) {
            fields.insert("ClientRequestToken".to_owned(), json!(token));
        }
        answer(self.database.transact_write_items(read(request)?)).map(|_| ())
    }
}

fn transact_item(write: &TransactItem) -> Json {
    match write {
        TransactItem::Put(put) => {
            let mut request = Request::new(&put.table);
            request.put("Item", item_to_json(&put.item));
            request.condition(put.condition.as_ref(), put.item_on_failure);
            json!({"Put": request.finish()})
        }
        TransactItem::Update(update) => {
            let mut request = Request::new(&update.table);
            request.put("Key", item_to_json(&update.key));
            request.actions(&update.actions);
            request.condition(update.condition.as_ref(), update.item_on_failure);
            json!({"Update": request.finish()})
        }
        TransactItem::Delete(delete) => {
            let mut request = Request::new(&delete.table);
            request.put("Key", item_to_json(&delete.key));
            request.condition(delete.condition.as_ref(), delete.item_on_failure);
            json!({"Delete": request.finish()})
        }
        TransactItem::Check(check) => {
            let mut request = Request::new(&check.table);
            request.put("Key", item_to_json(&check.key));
            request.condition(Some(&check.condition), check.item_on_failure);
            json!({"ConditionCheck": request.finish()})
        }
    }
}

/// A request as it grows.
struct Request {
    fields: Map<String, Json>,
    renderer: Renderer,
}

impl Request {
    fn new(table: &str) -> Request {
        let mut request = Request { fields: Map::new(), renderer: Renderer::new() };
        request.put("TableName", json!(table));
        request
    }

    fn put(&mut self, name: &str, value: Json) {
        self.fields.insert(name.to_owned(), value);
    }

    fn actions(&mut self, actions: &Actions) {
        let text = self.renderer.actions(actions);
        if !text.is_empty() {
            self.put("UpdateExpression", json!(text));
        }
    }

    fn condition(&mut self, condition: Option<&Condition>, tell: bool) {
        let Some(condition) = condition else { return };
        let text = self.renderer.condition(condition);
        self.put("ConditionExpression", json!(text));
        if tell {
            self.put("ReturnValuesOnConditionCheckFailure", json!("ALL_OLD"));
        }
    }

    fn filter(&mut self, filter: Option<&Condition>) {
        let Some(filter) = filter else { return };
        let text = self.renderer.condition(filter);
        self.put("FilterExpression", json!(text));
    }

    fn projection(&mut self, paths: &[Path]) {
        if !paths.is_empty() {
            let text = self.renderer.projection(paths);
            self.put("ProjectionExpression", json!(text));
        }
    }

    fn index(&mut self, index: Option<&str>) {
        if let Some(index) = index {
            self.put("IndexName", json!(index));
        }
    }

    fn paging(&mut self, limit: Option<u32>, start: Option<&Item>) {
        if let Some(limit) = limit {
            self.put("Limit", json!(limit));
        }
        if let Some(start) = start {
            self.put("ExclusiveStartKey", item_to_json(start));
        }
    }

    fn returning(&mut self, returning: Return) {
        let name = match returning {
            Return::None => "NONE",
            Return::AllOld => "ALL_OLD",
            Return::UpdatedOld => "UPDATED_OLD",
            Return::AllNew => "ALL_NEW",
            Return::UpdatedNew => "UPDATED_NEW",
        };
        self.put("ReturnValues", json!(name));
    }

    fn finish(mut self) -> Json {
        if !self.renderer.names.is_empty() {
            self.put("ExpressionAttributeNames", json!(self.renderer.names.clone()));
        }
        if !self.renderer.values.is_empty() {
            let values = self.renderer.values.iter();
            let values: Map<String, Json> =
                values.map(|(name, value)| (name.clone(), value_to_json(value))).collect();
            self.put("ExpressionAttributeValues", Json::Object(values));
        }
        Json::Object(self.fields)
    }
}

fn create_table(spec: &TableSpec) -> Json {
    let keys = std::iter::once(&spec.key).chain(spec.indexes.iter().map(|index| &index.key));
    let kinds: BTreeMap<&str, &str> = keys
        .flat_map(KeySpec::attributes)
        .map(|attribute| {
            let kind = match attribute.kind {
                KeyType::S => "S",
                KeyType::N => "N",
                KeyType::B => "B",
            };
            (attribute.name.as_str(), kind)
        })
        .collect();
    let kinds =
        kinds.iter().map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind}));
    let indexes = spec.indexes.iter().map(|index| {
        let projection = match &index.projection {
            Projected::All => json!({"ProjectionType": "ALL"}),
            Projected::KeysOnly => json!({"ProjectionType": "KEYS_ONLY"}),
            Projected::Include(names) => {
                json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": names})
            }
        };
        json!({"IndexName": index.name, "KeySchema": schema(&index.key), "Projection": projection})
    });
    let mut request = json!({
        "TableName": spec.name,
        "KeySchema": schema(&spec.key),
        "AttributeDefinitions": kinds.collect::<Vec<_>>(),
        "BillingMode": "PAY_PER_REQUEST",
    });
    if let (false, Some(fields)) = (spec.indexes.is_empty(), request.as_object_mut()) {
        fields.insert("GlobalSecondaryIndexes".to_owned(), indexes.collect());
    }
    request
}

fn schema(key: &KeySpec) -> Json {
    let parts = key.attributes().zip(["HASH", "RANGE"]);
    parts
        .map(|(attribute, part)| json!({"AttributeName": attribute.name, "KeyType": part}))
        .collect()
}

/// A request that cannot even be read is refused like one that breaks a rule.
fn read<T: DeserializeOwned>(request: Json) -> Result<T, Failure> {
    serde_json::from_value(request).map_err(|_| Failure::Invalid)
}

fn answer<T: Serialize>(answer: Result<T, DynoxideError>) -> Result<Json, Failure> {
    match answer {
        Ok(answer) => Ok(serde_json::to_value(answer).expect("an answer has a JSON form")),
        Err(error) => Err(failure(error)),
    }
}

fn failure(error: DynoxideError) -> Failure {
    match error {
        DynoxideError::ValidationException(_)
        | DynoxideError::KeyEmptyValueValidation(_)
        | DynoxideError::EnvelopedValidation(_)
        | DynoxideError::SerializationException(_) => Failure::Invalid,
        DynoxideError::ConditionalCheckFailedException(_, item) => {
            Failure::Condition(item.map(|item| plain(&json!(item))))
        }
        DynoxideError::TransactionCanceledException(_, reasons) => {
            let reasons = reasons.into_iter().map(|reason| match reason.code.as_str() {
                "None" => Reason::None,
                "ConditionalCheckFailed" => {
                    Reason::Condition(reason.item.map(|item| plain(&json!(item))))
                }
                "ValidationError" => Reason::Invalid,
                code => panic!("`{code}` is no reason that can be expected"),
            });
            Failure::Cancelled(reasons.collect())
        }
        DynoxideError::IdempotentParameterMismatchException(_) => Failure::TokenMismatch,
        DynoxideError::ResourceNotFoundException(_) => Failure::NoSuchTable,
        other => Failure::Other(other.to_string()),
    }
}

fn item(answer: &Json, field: &str) -> Result<Option<Item>, Failure> {
    Ok(answer.get(field).map(plain).filter(|item| !item.is_empty()))
}

fn page(answer: &Json) -> Result<Page, Failure> {
    let items = answer.get("Items").and_then(Json::as_array);
    let scanned = answer.get("ScannedCount").and_then(Json::as_u64).unwrap_or_default();
    Ok(Page {
        items: items.into_iter().flatten().map(plain).collect(),
        last_key: answer.get("LastEvaluatedKey").map(plain),
        scanned: u32::try_from(scanned).expect("a test table is small"),
        bytes: 0,
    })
}

fn plain(json: &Json) -> Item {
    item_from_json(json).expect("the answer holds DynamoDB's JSON")
}

//! Several items in one request, each separately: BatchGetItem, BatchWriteItem.

use std::collections::BTreeMap;

use serde::Deserialize;
use table::limits::{BATCH_GET_BYTES_MAX, BATCH_GET_MAX, BATCH_WRITE_MAX};
use table::{Delete, Get, Item, Put, TableSpec, Written};

use super::Door;
use super::bounded::{BoundedList, BoundedMap};
use super::capacity::{CapacityDetail, Charge, read_units, write_charges};
use super::expressions::{Expressions, Names, projection};
use super::fault::{Fault, Faults};
use super::items::{Report, measuring, write_collections};
use super::legacy::check_attributes;
use super::read::{JsonItem, Request};
use super::write::JsonWriter;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchGetItem {
    request_items: Option<BoundedMap<KeysAndAttributes, BATCH_GET_MAX>>,
    return_consumed_capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KeysAndAttributes {
    keys: Option<BoundedList<JsonItem, BATCH_GET_MAX>>,
    attributes_to_get: Option<Vec<String>>,
    projection_expression: Option<String>,
    expression_attribute_names: Option<Names>,
    consistent_read: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchWriteItem {
    request_items: Option<Writes>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
}

/// The writes of a batch, by table.
type Writes = BoundedMap<BoundedList<WriteRequest, BATCH_WRITE_MAX>, BATCH_WRITE_MAX>;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WriteRequest {
    put_request: Option<PutRequest>,
    delete_request: Option<DeleteRequest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PutRequest {
    item: Option<JsonItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DeleteRequest {
    key: Option<JsonItem>,
}

impl Request for BatchGetItem {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_items(&self.request_items));
        for (table, keys) in self.request_items.iter().flatten() {
            let at = |field: &str| format!("requestItems.{table}.member.{field}");
            faults.require(&keys.keys, at("keys"));
            let attributes = keys.attributes_to_get.as_deref();
            faults.see(check_attributes(attributes, at("attributesToGet")));
        }
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
    }
}

impl Request for BatchWriteItem {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_items(&self.request_items));
        for (table, writes) in self.request_items.iter().flatten() {
            for (write, number) in writes.iter().zip(1..) {
                let at =
                    |field: &str| format!("requestItems.{table}.member.{number}.member.{field}");
                if let Some(put) = &write.put_request {
                    faults.require(&put.item, at("putRequest.item"));
                }
                if let Some(delete) = &write.delete_request {
                    faults.require(&delete.key, at("deleteRequest.key"));
                }
            }
        }
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
        faults.see(measuring(self.return_item_collection_metrics.as_deref()));
    }
}

/// One write of a batch.
enum Write {
    Put(Item),
    Delete(Item),
}

impl Door {
    pub(super) fn batch_get_item(&self, request: BatchGetItem) -> Result<String, Fault> {
        let wanted = CapacityDetail::read(request.return_consumed_capacity.as_deref())?;
        let items = request.request_items.unwrap_or_default();
        let count: usize = items.values().flat_map(|keys| &keys.keys).map(|keys| keys.len()).sum();
        if count > BATCH_GET_MAX {
            return Err(Fault::invalid("Too many items requested for the BatchGetItem call"));
        }
        let (mut gets, mut expanded) = (Vec::with_capacity(items.len()), 0);
        for (name, keys) in items {
            gets.push(keys.read(self.name_of(Some(name.into()))?, &mut expanded)?);
        }
        let (mut room, mut charges) = (BATCH_GET_BYTES_MAX, BTreeMap::new());
        let mut unprocessed: Vec<(&Gets, &[Item])> = Vec::new();
        let mut out = JsonWriter::new();
        out.raw("{").field("Responses").raw("{");
        for gets in &gets {
            out.field_of(&gets.table).raw("[");
            let (mut charge, mut first) = (0.0, true);
            for (at, key) in gets.keys.iter().enumerate() {
                if room == 0 {
                    unprocessed.push((gets, gets.keys.get(at..).unwrap_or_default()));
                    break;
                }
                let found = self.store.get_weighed(&gets.get(key))?;
                let bytes = found.as_ref().map_or(0, |(_, bytes)| *bytes);
                charge += read_units(u64::from(bytes), gets.consistent);
                if let Some((item, _)) = found {
                    room = room.saturating_sub(item.size().max(1));
                    out.raw(if first { "" } else { "," }).item(&item);
                    first = false;
                }
            }
            out.raw("]");
            charges.insert(&gets.table, Charge::of_read(None, charge));
        }
        out.raw("}").field("UnprocessedKeys").raw("{");
        for (gets, keys) in unprocessed {
            gets.write_left(&mut out, keys);
        }
        out.raw("}");
        write_charges(
            &mut out,
            charges.iter().map(|(table, charge)| (*table, charge)),
            wanted,
            false,
        );
        out.raw("}");
        Ok(out.finish())
    }

    pub(super) async fn batch_write_item(&self, request: BatchWriteItem) -> Result<String, Fault> {
        let report = Report::read(
            request.return_consumed_capacity.as_deref(),
            request.return_item_collection_metrics.as_deref(),
        )?;
        let writes = self.read_writes(request.request_items.unwrap_or_default())?;
        let mut charges: BTreeMap<&String, Charge> = BTreeMap::new();
        for (table, writes) in &writes {
            let mut total = Charge::default();
            let pending = writes.iter().map(|write| self.write_one(table, write, &report));
            // All writes are started before the first is awaited, so that they share a sync.
            for charge in futures_util::future::try_join_all(pending).await? {
                total.add(charge);
            }
            charges.insert(table, total);
        }
        let mut places = Vec::new();
        for (table, writes) in &writes {
            for Write::Put(item) | Write::Delete(item) in writes {
                places.push((table.as_str(), item));
            }
        }
        let collections = self.collections(&report, places).await?;
        let mut out = JsonWriter::new();
        out.raw("{").field("UnprocessedItems").raw("{}");
        write_collections(&mut out, &collections);
        write_charges(
            &mut out,
            charges.iter().map(|(table, charge)| (*table, charge)),
            report.capacity,
            false,
        );
        out.raw("}");
        Ok(out.finish())
    }

    /// Checks all writes before the first one starts: a refused batch does nothing.
    fn read_writes(&self, items: Writes) -> Result<Vec<(String, Vec<Write>)>, Fault> {
        if items.values().any(|writes| writes.is_empty()) {
            return Err(no_writes(&items));
        }
        let count: usize = items.values().map(|writes| writes.len()).sum();
        if count > BATCH_WRITE_MAX {
            return Err(Fault::invalid("Too many items requested for the BatchWriteItem call"));
        }
        let mut tables = Vec::with_capacity(items.len());
        for (name, requests) in items {
            let table = self.name_of(Some(name.into()))?;
            let mut writes = Vec::with_capacity(requests.len());
            for request in requests {
                writes.push(match (request.put_request, request.delete_request) {
                    (Some(put), None) => Write::Put(put.item.unwrap_or_default().0),
                    (None, Some(delete)) => Write::Delete(delete.key.unwrap_or_default().0),
                    (Some(_), Some(_)) | (None, None) => {
                        return Err(Fault::invalid(
                            "Supplied AttributeValue has more than one datatypes set, must \
                             contain exactly one of PutRequest and DeleteRequest",
                        ));
                    }
                });
            }
            self.store.with_spec(&table, |spec| check_distinct(spec, &writes))??;
            for write in &writes {
                match write {
                    Write::Put(item) => self.store.check_put(&table, item)?,
                    Write::Delete(key) => self.store.check_key(&table, key)?,
                }
            }
            tables.push((table, writes));
        }
        Ok(tables)
    }

    async fn write_one(
        &self,
        table: &str,
        write: &Write,
        report: &Report,
    ) -> Result<Charge, Fault> {
        let see = |written: Written<'_>| Charge::of_write(report.capacity, &written);
        Ok(match write {
            Write::Put(item) => self.store.put_seen(Put::new(table, item.clone()), see).await?,
            Write::Delete(key) => {
                self.store.delete_seen(Delete::new(table, key.clone()), see).await?
            }
        })
    }
}

/// The gets of one table.
struct Gets {
    table: String,
    keys: Vec<Item>,
    projection: Vec<table::Path>,
    consistent: bool,
    /// The parameters as sent, to be repeated with the unprocessed keys.
    given: (Option<Vec<String>>, Option<String>, Option<Names>),
}

impl KeysAndAttributes {
    /// `expanded` is the size of the request's expressions so far, in bytes.
    fn read(self, table: String, expanded: &mut usize) -> Result<Gets, Fault> {
        let keys: Vec<Item> = self.keys.into_iter().flatten().map(|JsonItem(key)| key).collect();
        if keys.is_empty() {
            let rule = "have length greater than or equal to 1";
            return Err(Fault::constraint_at(format!("RequestItems.{table}.member.Keys"), rule));
        }
        let double =
            keys.iter().enumerate().any(|(at, key)| keys.iter().take(at).any(|one| one == key));
        if double {
            return Err(Fault::invalid("Provided list of item keys contains duplicates"));
        }
        let expressions = Expressions::new(
            self.expression_attribute_names.clone(),
            None,
            &[("ProjectionExpression", self.projection_expression.is_some())],
            &[],
            &[("AttributesToGet", self.attributes_to_get.is_some())],
        )?
        .after(*expanded);
        let projection = projection(
            &expressions,
            self.projection_expression.as_deref(),
            self.attributes_to_get.clone(),
        )?;
        *expanded = expressions.finish()?;
        Ok(Gets {
            table,
            keys,
            projection,
            consistent: self.consistent_read.unwrap_or(false),
            given: (
                self.attributes_to_get,
                self.projection_expression,
                self.expression_attribute_names,
            ),
        })
    }
}

impl Gets {
    fn get(&self, key: &Item) -> Get {
        Get {
            table: self.table.clone(),
            key: key.clone(),
            projection: self.projection.clone(),
            consistent: self.consistent,
        }
    }

    fn write_left(&self, out: &mut JsonWriter, keys: &[Item]) {
        out.field_of(&self.table).raw("{").field("Keys").raw("[").list(keys, |out, key| {
            out.item(key);
        });
        out.raw("]").field("ConsistentRead").plain(self.consistent);
        let (attributes, expression, names) = &self.given;
        if let Some(attributes) = attributes {
            out.field("AttributesToGet").raw("[").list(attributes, |out, name| {
                out.text(name);
            });
            out.raw("]");
        }
        if let Some(expression) = expression {
            out.field("ProjectionExpression").text(expression);
        }
        if let Some(names) = names {
            out.field("ExpressionAttributeNames").raw("{");
            out.list(names, |out, (placeholder, name)| {
                out.text(placeholder).raw(":").text(name);
            });
            out.raw("}");
        }
        out.raw("}");
    }
}

fn check_items<T, const MAX: usize>(items: &Option<BoundedMap<T, MAX>>) -> Result<(), Fault> {
    match items {
        None => Err(Fault::missing("requestItems")),
        Some(items) if items.is_empty() => {
            let rule = "have length greater than or equal to 1";
            Err(Fault::constraint("'{}'", "requestItems", rule))
        }
        Some(_) => Ok(()),
    }
}

/// The error for a table with an empty list of writes. It does not show the other lists.
fn no_writes(items: &Writes) -> Fault {
    let lists: Vec<String> = items
        .iter()
        .map(|(table, writes)| match writes.is_empty() {
            true => format!("{table}=[]"),
            false => format!("{table}=[...]"),
        })
        .collect();
    Fault::parameter(format!(
        "Value '{{{}}}' at 'requestItems' failed to satisfy constraint: Map value must satisfy \
         constraint: [Member must have length less than or equal to {BATCH_WRITE_MAX}, Member \
         must have length greater than or equal to 1]",
        lists.join(", ")
    ))
}

fn check_distinct(spec: &TableSpec, writes: &[Write]) -> Result<(), Fault> {
    let key = |write: &Write| -> Vec<Option<table::Value>> {
        let (Write::Put(item) | Write::Delete(item)) = write;
        spec.key.attributes().map(|attribute| item.get(&attribute.name).cloned()).collect()
    };
    let keys: Vec<_> = writes.iter().map(key).collect();
    let double =
        keys.iter().enumerate().any(|(at, key)| keys.iter().take(at).any(|one| one == key));
    if double {
        return Err(Fault::invalid("Provided list of item keys contains duplicates"));
    }
    Ok(())
}

//! Operations on one item: GetItem, PutItem, UpdateItem, DeleteItem.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::Deserialize;
use table::{Delete, Get, Item, Put, Return, TableSpec, Update, Written};

use super::Door;
use super::capacity::{CapacityDetail, Charge, read_units};
use super::expressions::{Conditions, Expressions, Names, actions, projection};
use super::fault::{Fault, Faults};
use super::legacy::{Expected, Updates, check_attributes, check_joint, in_older_words};
use super::names::{TableName, check_table};
use super::read::{JsonItem, JsonValues, Request};
use super::write::JsonWriter;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GetItem {
    table_name: Option<TableName>,
    key: Option<JsonItem>,
    attributes_to_get: Option<Vec<String>>,
    projection_expression: Option<String>,
    expression_attribute_names: Option<Names>,
    consistent_read: Option<bool>,
    return_consumed_capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct PutItem {
    table_name: Option<TableName>,
    item: Option<JsonItem>,
    expected: Option<Expected>,
    conditional_operator: Option<String>,
    condition_expression: Option<String>,
    expression_attribute_names: Option<Names>,
    expression_attribute_values: Option<JsonValues>,
    return_values: Option<String>,
    return_values_on_condition_check_failure: Option<String>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DeleteItem {
    table_name: Option<TableName>,
    key: Option<JsonItem>,
    expected: Option<Expected>,
    conditional_operator: Option<String>,
    condition_expression: Option<String>,
    expression_attribute_names: Option<Names>,
    expression_attribute_values: Option<JsonValues>,
    return_values: Option<String>,
    return_values_on_condition_check_failure: Option<String>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct UpdateItem {
    table_name: Option<TableName>,
    key: Option<JsonItem>,
    attribute_updates: Option<Updates>,
    expected: Option<Expected>,
    conditional_operator: Option<String>,
    update_expression: Option<String>,
    condition_expression: Option<String>,
    expression_attribute_names: Option<Names>,
    expression_attribute_values: Option<JsonValues>,
    return_values: Option<String>,
    return_values_on_condition_check_failure: Option<String>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
}

impl Request for GetItem {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_table(&self.table_name, "tableName"));
        faults.require(&self.key, "key");
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
        faults.see(check_attributes(self.attributes_to_get.as_deref(), "attributesToGet"));
    }
}

impl Request for PutItem {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_table(&self.table_name, "tableName"));
        faults.require(&self.item, "item");
        faults.see(returning_old(self.return_values.as_deref()));
        faults.see(telling(self.return_values_on_condition_check_failure.as_deref()));
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
        faults.see(measuring(self.return_item_collection_metrics.as_deref()));
        faults.see(check_joint(self.conditional_operator.as_deref()));
    }
}

impl Request for DeleteItem {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_table(&self.table_name, "tableName"));
        faults.require(&self.key, "key");
        faults.see(returning_old(self.return_values.as_deref()));
        faults.see(telling(self.return_values_on_condition_check_failure.as_deref()));
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
        faults.see(measuring(self.return_item_collection_metrics.as_deref()));
        faults.see(check_joint(self.conditional_operator.as_deref()));
    }
}

impl Request for UpdateItem {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_table(&self.table_name, "tableName"));
        faults.require(&self.key, "key");
        faults.see(returning(self.return_values.as_deref()));
        faults.see(telling(self.return_values_on_condition_check_failure.as_deref()));
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
        faults.see(measuring(self.return_item_collection_metrics.as_deref()));
        faults.see(check_joint(self.conditional_operator.as_deref()));
    }
}

impl Door {
    pub(super) fn get_item(&self, request: GetItem) -> Result<String, Fault> {
        let key = request.key.ok_or_else(|| Fault::missing("key"))?.0;
        let table = self.name_of(request.table_name)?;
        let wanted = CapacityDetail::read(request.return_consumed_capacity.as_deref())?;
        let expressions = Expressions::new(
            request.expression_attribute_names,
            None,
            &[("ProjectionExpression", request.projection_expression.is_some())],
            &[],
            &[("AttributesToGet", request.attributes_to_get.is_some())],
        )?;
        let projection = projection(
            &expressions,
            request.projection_expression.as_deref(),
            request.attributes_to_get,
        )?;
        expressions.finish()?;
        let consistent = request.consistent_read.unwrap_or(false);
        let get = Get { table, key, projection, consistent };
        let found = self.store.get_weighed(&get)?;
        let mut out = JsonWriter::new();
        out.raw("{");
        if let Some((item, _)) = &found {
            out.field("Item").item(item);
        }
        if wanted != CapacityDetail::Nothing {
            let bytes = found.as_ref().map_or(0, |(_, bytes)| u64::from(*bytes));
            let charge = Charge::of_read(None, read_units(bytes, consistent));
            out.field("ConsumedCapacity");
            charge.write(&mut out, &get.table, wanted, false);
        }
        out.raw("}");
        Ok(out.finish())
    }

    pub(super) async fn put_item(&self, request: PutItem) -> Result<String, Fault> {
        let item = request.item.ok_or_else(|| Fault::missing("item"))?.0;
        let table = self.name_of(request.table_name)?;
        let report = Report::read(
            request.return_consumed_capacity.as_deref(),
            request.return_item_collection_metrics.as_deref(),
        )?;
        let condition = Conditions {
            expression: request.condition_expression.as_deref(),
            expected: request.expected,
            operator: request.conditional_operator.as_deref(),
        };
        let condition = condition
            .read_alone(request.expression_attribute_names, request.expression_attribute_values)?;
        let returning = returning_old(request.return_values.as_deref())?;
        let telling = telling(request.return_values_on_condition_check_failure.as_deref())?;
        let put = Put { table, item, condition, returning, item_on_failure: telling };
        let (table, collection) =
            (put.table.clone(), self.collection(&report, &put.table, &put.item));
        let seen = self.store.put_seen(put, |written| WriteSummary::of(&report, written)).await?;
        Ok(seen.answer(&table, &report, self.weigh(&table, collection).await?))
    }

    pub(super) async fn delete_item(&self, request: DeleteItem) -> Result<String, Fault> {
        let key = request.key.ok_or_else(|| Fault::missing("key"))?.0;
        let table = self.name_of(request.table_name)?;
        let report = Report::read(
            request.return_consumed_capacity.as_deref(),
            request.return_item_collection_metrics.as_deref(),
        )?;
        let condition = Conditions {
            expression: request.condition_expression.as_deref(),
            expected: request.expected,
            operator: request.conditional_operator.as_deref(),
        };
        let condition = condition
            .read_alone(request.expression_attribute_names, request.expression_attribute_values)?;
        let returning = returning_old(request.return_values.as_deref())?;
        let telling = telling(request.return_values_on_condition_check_failure.as_deref())?;
        let delete = Delete { table, key, condition, returning, item_on_failure: telling };
        let (table, collection) =
            (delete.table.clone(), self.collection(&report, &delete.table, &delete.key));
        let seen =
            self.store.delete_seen(delete, |written| WriteSummary::of(&report, written)).await?;
        Ok(seen.answer(&table, &report, self.weigh(&table, collection).await?))
    }

    pub(super) async fn update_item(&self, request: UpdateItem) -> Result<String, Fault> {
        let older = request.attribute_updates.is_some();
        let (update, report) = request.read(self)?;
        let (table, collection) =
            (update.table.clone(), self.collection(&report, &update.table, &update.key));
        let seen =
            self.store.update_seen(update, |written| WriteSummary::of(&report, written)).await;
        let seen =
            seen.map_err(|error| if older { in_older_words(error) } else { error.into() })?;
        Ok(seen.answer(&table, &report, self.weigh(&table, collection).await?))
    }

    /// The partition of a write, if partitions of this table are measured and the caller asks.
    pub(super) fn collection(&self, report: &Report, table: &str, item: &Item) -> Option<Item> {
        if !report.collection {
            return None;
        }
        let partition = |spec: &TableSpec| {
            let is_measured = spec.indexes.iter().any(|index| index.local);
            let name = is_measured.then_some(&spec.key.partition.name)?;
            Some(Item::new().with(name.as_str(), item.get(name)?.clone()))
        };
        self.store.with_spec(table, partition).ok().flatten()
    }

    /// The partitions of several writes, each once, with their current size.
    pub(super) async fn collections<'w>(
        &self,
        report: &Report,
        writes: Vec<(&'w str, &'w Item)>,
    ) -> Result<BTreeMap<&'w str, Vec<Collection>>, Fault> {
        let mut met: BTreeMap<&str, Vec<Item>> = BTreeMap::new();
        for (table, item) in writes {
            let partitions = met.entry(table).or_default();
            let partition = self.collection(report, table, item);
            partitions.extend(partition.filter(|partition| !partitions.contains(partition)));
        }
        let mut collections: BTreeMap<&str, Vec<Collection>> = BTreeMap::new();
        for (table, partitions) in met {
            for partition in partitions {
                let weighed = self.weigh(table, Some(partition)).await?;
                collections.entry(table).or_default().extend(weighed);
            }
        }
        Ok(collections)
    }

    /// The current size of this partition.
    pub(super) async fn weigh(
        &self,
        table: &str,
        partition: Option<Item>,
    ) -> Result<Option<Collection>, Fault> {
        let Some(partition) = partition else { return Ok(None) };
        let gigabytes = self.gigabytes(table, &partition).await?;
        Ok(Some(Collection { partition, gigabytes }))
    }
}

impl UpdateItem {
    fn read(self, door: &Door) -> Result<(Update, Report), Fault> {
        let key = self.key.ok_or_else(|| Fault::missing("key"))?.0;
        let table = door.name_of(self.table_name)?;
        let report = Report::read(
            self.return_consumed_capacity.as_deref(),
            self.return_item_collection_metrics.as_deref(),
        )?;
        let condition = Conditions {
            expression: self.condition_expression.as_deref(),
            expected: self.expected,
            operator: self.conditional_operator.as_deref(),
        };
        let mut older = condition.older().to_vec();
        older.insert(0, ("AttributeUpdates", self.attribute_updates.is_some()));
        let expressions = Expressions::new(
            self.expression_attribute_names,
            self.expression_attribute_values,
            &[
                ("UpdateExpression", self.update_expression.is_some()),
                ("ConditionExpression", self.condition_expression.is_some()),
            ],
            &["UpdateExpression", "ConditionExpression"],
            &older,
        )?;
        let actions =
            actions(&expressions, self.update_expression.as_deref(), self.attribute_updates)?;
        let condition = condition.read(&expressions)?;
        expressions.finish()?;
        let returning = returning(self.return_values.as_deref())?;
        let telling = telling(self.return_values_on_condition_check_failure.as_deref())?;
        let update = Update { table, key, actions, condition, returning, item_on_failure: telling };
        Ok((update, report))
    }
}

const RETURN_VALUES: &str = "ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW";

/// The details that the caller wants in addition to the result.
pub(super) struct Report {
    pub(super) capacity: CapacityDetail,
    pub(super) collection: bool,
}

impl Report {
    pub(super) fn read(capacity: Option<&str>, metrics: Option<&str>) -> Result<Report, Fault> {
        Ok(Report { capacity: CapacityDetail::read(capacity)?, collection: measuring(metrics)? })
    }
}

/// Whether the caller asks for the size of the partition.
pub(super) fn measuring(word: Option<&str>) -> Result<bool, Fault> {
    match word {
        None | Some("NONE") => Ok(false),
        Some("SIZE") => Ok(true),
        Some(other) => Err(Fault::no_choice(other, "returnItemCollectionMetrics", "SIZE, NONE")),
    }
}

/// The result of a write, with its cost.
struct WriteSummary {
    attributes: Option<Item>,
    charge: Charge,
}

impl WriteSummary {
    fn of(report: &Report, written: Written<'_>) -> WriteSummary {
        let charge = Charge::of_write(report.capacity, &written);
        WriteSummary { attributes: written.answer, charge }
    }

    fn answer(self, table: &str, report: &Report, collection: Option<Collection>) -> String {
        let mut out = JsonWriter::new();
        out.raw("{");
        if let Some(attributes) = &self.attributes {
            out.field("Attributes").item(attributes);
        }
        if report.capacity != CapacityDetail::Nothing {
            out.field("ConsumedCapacity");
            self.charge.write(&mut out, table, report.capacity, false);
        }
        if let Some(collection) = &collection {
            out.field("ItemCollectionMetrics");
            write_collection(&mut out, collection);
        }
        out.raw("}");
        out.finish()
    }
}

/// A partition with its size in whole gigabytes.
pub(super) struct Collection {
    partition: Item,
    gigabytes: u64,
}

/// Writes the partitions of each table, if there are any.
pub(super) fn write_collections(
    out: &mut JsonWriter,
    collections: &BTreeMap<&str, Vec<Collection>>,
) {
    if collections.is_empty() {
        return;
    }
    out.field("ItemCollectionMetrics").raw("{");
    for (table, collections) in collections {
        out.field_of(table).raw("[").list(collections, write_collection);
        out.raw("]");
    }
    out.raw("}");
}

/// Writes a partition with the whole gigabytes below and above its size.
fn write_collection(out: &mut JsonWriter, collection: &Collection) {
    out.raw("{").field("ItemCollectionKey").item(&collection.partition);
    let (from, to) = (collection.gigabytes, collection.gigabytes + 1);
    out.field("SizeEstimateRangeGB").raw("[").plain(from).raw(".0,").plain(to).raw(".0]}");
}

fn returning(word: Option<&str>) -> Result<Return, Fault> {
    match word {
        None | Some("NONE") => Ok(Return::None),
        Some("ALL_OLD") => Ok(Return::AllOld),
        Some("UPDATED_OLD") => Ok(Return::UpdatedOld),
        Some("ALL_NEW") => Ok(Return::AllNew),
        Some("UPDATED_NEW") => Ok(Return::UpdatedNew),
        Some(other) => Err(Fault::no_choice(other, "returnValues", RETURN_VALUES)),
    }
}

fn returning_old(word: Option<&str>) -> Result<Return, Fault> {
    match word {
        None | Some("NONE") => Ok(Return::None),
        Some("ALL_OLD") => Ok(Return::AllOld),
        Some("ALL_NEW" | "UPDATED_OLD" | "UPDATED_NEW") => {
            Err(Fault::invalid("ReturnValues can only be ALL_OLD or NONE"))
        }
        Some(other) => Err(Fault::no_choice(other, "returnValues", RETURN_VALUES)),
    }
}

/// Whether a failed condition returns the item.
pub(super) fn telling(word: Option<&str>) -> Result<bool, Fault> {
    telling_at(word, "returnValuesOnConditionCheckFailure")
}

/// The same for a parameter at another place.
pub(super) fn telling_at(word: Option<&str>, at: impl Display) -> Result<bool, Fault> {
    match word {
        None | Some("NONE") => Ok(false),
        Some("ALL_OLD") => Ok(true),
        Some(other) => Err(Fault::no_choice(other, at, "ALL_OLD, NONE")),
    }
}

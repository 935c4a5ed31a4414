//! Several items, all or nothing: TransactWriteItems, TransactGetItems.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use table::limits::{TOKEN_BYTES_MAX, TRANSACT_MAX};
use table::{
    Check, Delete, Get, Item, Put, Return, TableSpec, TransactItem, TransactWrite, Update, Written,
};

use super::Door;
use super::bounded::BoundedList;
use super::capacity::{CapacityDetail, Charge, read_units, write_charges};
use super::expressions::{Expressions, Names};
use super::fault::{Fault, Faults};
use super::items::{Report, measuring, telling, telling_at, write_collections};
use super::names::{TableName, check_table};
use super::read::{JsonItem, JsonValues, Request};
use super::write::JsonWriter;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TransactWriteItems {
    transact_items: Option<BoundedList<WriteItem, TRANSACT_MAX>>,
    client_request_token: Option<String>,
    return_consumed_capacity: Option<String>,
    return_item_collection_metrics: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WriteItem {
    condition_check: Option<Part>,
    put: Option<Part>,
    delete: Option<Part>,
    update: Option<Part>,
}

/// One write or check. Each kind uses some of these fields.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Part {
    table_name: Option<TableName>,
    key: Option<JsonItem>,
    item: Option<JsonItem>,
    update_expression: Option<String>,
    condition_expression: Option<String>,
    projection_expression: Option<String>,
    expression_attribute_names: Option<Names>,
    expression_attribute_values: Option<JsonValues>,
    return_values_on_condition_check_failure: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TransactGetItems {
    transact_items: Option<BoundedList<GetPart, TRANSACT_MAX>>,
    return_consumed_capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetPart {
    get: Option<Part>,
}

/// The place of a parameter in a part; formatted only when there is a failure to report.
struct Member {
    number: usize,
    kind: &'static str,
    member: &'static str,
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transactItems.{}.member.{}.{}", self.number, self.kind, self.member)
    }
}

impl Request for TransactWriteItems {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_list(&self.transact_items, "transactItems"));
        for (item, number) in self.transact_items.iter().flatten().zip(1..) {
            let at = |kind, member| Member { number, kind, member };
            if let Some(part) = &item.condition_check {
                let kind = "conditionCheck";
                part.check(number, kind, faults);
                faults.require(&part.key, at(kind, "key"));
                faults.require(&part.condition_expression, at(kind, "conditionExpression"));
            }
            if let Some(part) = &item.put {
                part.check(number, "put", faults);
                faults.require(&part.item, at("put", "item"));
            }
            if let Some(part) = &item.delete {
                part.check(number, "delete", faults);
                faults.require(&part.key, at("delete", "key"));
            }
            if let Some(part) = &item.update {
                part.check(number, "update", faults);
                faults.require(&part.key, at("update", "key"));
                faults.require(&part.update_expression, at("update", "updateExpression"));
            }
        }
        faults.see(check_token(self.client_request_token.as_deref()));
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
        faults.see(measuring(self.return_item_collection_metrics.as_deref()));
    }
}

impl Request for TransactGetItems {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_list(&self.transact_items, "transactItems"));
        for (item, number) in self.transact_items.iter().flatten().zip(1..) {
            match &item.get {
                Some(part) => {
                    part.check(number, "get", faults);
                    faults.require(&part.key, Member { number, kind: "get", member: "key" });
                }
                None => {
                    let at = format_args!("transactItems.{number}.member.get");
                    faults.see::<()>(Err(Fault::missing(at)));
                }
            }
        }
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
    }
}

impl Door {
    pub(super) async fn transact_write_items(
        &self,
        request: TransactWriteItems,
    ) -> Result<String, Fault> {
        let report = Report::read(
            request.return_consumed_capacity.as_deref(),
            request.return_item_collection_metrics.as_deref(),
        )?;
        let items = request.transact_items.unwrap_or_default();
        let (mut writes, mut expanded) = (Vec::with_capacity(items.len()), 0);
        for item in items {
            writes.push(item.read(self, &mut expanded)?);
        }
        self.check_distinct(writes.iter().map(place))?;
        let changes = writes.iter().filter(|write| !matches!(write, TransactItem::Check(_)));
        let places: Vec<(String, Item)> =
            changes.map(place).map(|(table, key)| (table.to_owned(), key.clone())).collect();
        let transaction = TransactWrite { writes, token: request.client_request_token };
        let charges = self.transact(transaction, report.capacity).await?;
        self.answer_transaction(&report, &places, &charges).await
    }

    /// Runs the transaction, and returns the cost per table.
    pub(super) async fn transact(
        &self,
        transaction: TransactWrite,
        wanted: CapacityDetail,
    ) -> Result<BTreeMap<String, Charge>, Fault> {
        let tables: Vec<String> =
            transaction.writes.iter().map(|write| place(write).0.to_owned()).collect();
        let see = |written: Written<'_>| Charge::of_write(wanted, &written);
        let mut seen = self.store.transact_write_seen(transaction, see).await?.into_iter();
        let mut charges: BTreeMap<String, Charge> = BTreeMap::new();
        for table in tables {
            // If the token was used before, the earlier result only costs a read.
            let charge = seen.next().unwrap_or_else(|| Charge::of_read(None, 1.0));
            charges.entry(table).or_default().add(charge.transacted());
        }
        Ok(charges)
    }

    async fn answer_transaction(
        &self,
        report: &Report,
        places: &[(String, Item)],
        charges: &BTreeMap<String, Charge>,
    ) -> Result<String, Fault> {
        let mut out = JsonWriter::new();
        out.raw("{");
        write_charges(&mut out, charges, report.capacity, true);
        let places = places.iter().map(|(table, key)| (table.as_str(), key)).collect();
        write_collections(&mut out, &self.collections(report, places).await?);
        out.raw("}");
        Ok(out.finish())
    }

    pub(super) fn transact_get_items(&self, request: TransactGetItems) -> Result<String, Fault> {
        let wanted = CapacityDetail::read(request.return_consumed_capacity.as_deref())?;
        let items = request.transact_items.unwrap_or_default();
        let (mut gets, mut expanded) = (Vec::with_capacity(items.len()), 0);
        for part in items.into_iter().filter_map(|item| item.get) {
            gets.push(part.read_get(self, &mut expanded)?);
        }
        self.check_distinct(gets.iter().map(|get| (get.table.as_str(), &get.key)))?;
        let found = self.store.transact_get_weighed(&gets)?;
        let mut charges: BTreeMap<&String, Charge> = BTreeMap::new();
        let mut out = JsonWriter::new();
        out.raw("{").field("Responses").raw("[");
        out.list(gets.iter().zip(&found), |out, (get, found)| {
            let bytes = found.as_ref().map_or(0, |(_, bytes)| u64::from(*bytes));
            let charge = Charge::of_read(None, read_units(bytes, true)).transacted();
            charges.entry(&get.table).or_default().add(charge);
            out.raw("{");
            // An item without any of the wanted attributes is returned as missing.
            let empty = |item: &Item| item.is_empty() && !get.projection.is_empty();
            if let Some((item, _)) = found.as_ref().filter(|(item, _)| !empty(item)) {
                out.field("Item").item(item);
            }
            out.raw("}");
        });
        out.raw("]");
        write_charges(
            &mut out,
            charges.iter().map(|(table, charge)| (*table, charge)),
            wanted,
            true,
        );
        out.raw("}");
        Ok(out.finish())
    }

    /// Checks that no item occurs twice in one transaction.
    fn check_distinct<'a>(
        &self,
        places: impl Iterator<Item = (&'a str, &'a Item)>,
    ) -> Result<(), Fault> {
        let mut seen: Vec<(&str, Vec<Option<&table::Value>>)> = Vec::new();
        for (table, item) in places {
            let names = |spec: &TableSpec| -> Vec<String> {
                spec.key.attributes().map(|attribute| attribute.name.clone()).collect()
            };
            let names = self.store.with_spec(table, names)?;
            let key = (table, names.iter().map(|name| item.get(name)).collect());
            if seen.contains(&key) {
                return Err(Fault::invalid(
                    "Transaction request cannot include multiple operations on one item",
                ));
            }
            seen.push(key);
        }
        Ok(())
    }
}

impl WriteItem {
    /// `expanded` is the size of the request's expressions so far, in bytes.
    fn read(self, door: &Door, expanded: &mut usize) -> Result<TransactItem, Fault> {
        match (self.condition_check, self.put, self.delete, self.update) {
            (Some(part), None, None, None) => part.read_check(door, expanded),
            (None, Some(part), None, None) => part.read_put(door, expanded),
            (None, None, Some(part), None) => part.read_delete(door, expanded),
            (None, None, None, Some(part)) => part.read_update(door, expanded),
            (_, _, _, _) => Err(Fault::invalid(
                "TransactItems can only contain one of Check, Put, Update or Delete",
            )),
        }
    }
}

impl Part {
    /// Checks the fields that all kinds have.
    fn check(&self, number: usize, kind: &'static str, faults: &mut Faults) {
        let at = |member| Member { number, kind, member };
        faults.see(check_table(&self.table_name, at("tableName")));
        let word = self.return_values_on_condition_check_failure.as_deref();
        faults.see(telling_at(word, at("returnValuesOnConditionCheckFailure")));
    }

    fn expressions(&mut self, expanded: usize) -> Result<Expressions, Fault> {
        let expressions = Expressions::new(
            self.expression_attribute_names.take(),
            self.expression_attribute_values.take(),
            &[
                ("UpdateExpression", self.update_expression.is_some()),
                ("ConditionExpression", self.condition_expression.is_some()),
                ("ProjectionExpression", self.projection_expression.is_some()),
            ],
            &["ConditionExpression"],
            &[],
        )?;
        Ok(expressions.after(expanded))
    }

    fn place(&mut self, door: &Door) -> Result<(String, Item), Fault> {
        let JsonItem(key) = self.key.take().ok_or_else(|| Fault::missing("key"))?;
        Ok((door.name_of(self.table_name.take())?, key))
    }

    fn telling(&self) -> Result<bool, Fault> {
        telling(self.return_values_on_condition_check_failure.as_deref())
    }

    fn read_get(mut self, door: &Door, expanded: &mut usize) -> Result<Get, Fault> {
        let (table, key) = self.place(door)?;
        let expressions = self.expressions(*expanded)?;
        let projection = expressions.projection(self.projection_expression.as_deref())?;
        *expanded = expressions.finish()?;
        Ok(Get { table, key, projection, consistent: true })
    }

    fn read_check(mut self, door: &Door, expanded: &mut usize) -> Result<TransactItem, Fault> {
        let (table, key) = self.place(door)?;
        let expressions = self.expressions(*expanded)?;
        let condition = expressions.condition(self.condition_expression.as_deref())?;
        let condition = condition.ok_or_else(|| Fault::missing("conditionExpression"))?;
        *expanded = expressions.finish()?;
        let item_on_failure = self.telling()?;
        Ok(TransactItem::Check(Check { table, key, condition, item_on_failure }))
    }

    fn read_put(mut self, door: &Door, expanded: &mut usize) -> Result<TransactItem, Fault> {
        let JsonItem(item) = self.item.take().ok_or_else(|| Fault::missing("item"))?;
        let table = door.name_of(self.table_name.take())?;
        let expressions = self.expressions(*expanded)?;
        let condition = expressions.condition(self.condition_expression.as_deref())?;
        *expanded = expressions.finish()?;
        let item_on_failure = self.telling()?;
        let returning = Return::None;
        Ok(TransactItem::Put(Put { table, item, condition, returning, item_on_failure }))
    }

    fn read_delete(mut self, door: &Door, expanded: &mut usize) -> Result<TransactItem, Fault> {
        let (table, key) = self.place(door)?;
        let expressions = self.expressions(*expanded)?;
        let condition = expressions.condition(self.condition_expression.as_deref())?;
        *expanded = expressions.finish()?;
        let item_on_failure = self.telling()?;
        let returning = Return::None;
        Ok(TransactItem::Delete(Delete { table, key, condition, returning, item_on_failure }))
    }

    fn read_update(mut self, door: &Door, expanded: &mut usize) -> Result<TransactItem, Fault> {
        let (table, key) = self.place(door)?;
        let expressions = self.expressions(*expanded)?;
        let actions = expressions.actions(self.update_expression.as_deref())?;
        let actions = actions.ok_or_else(|| Fault::missing("updateExpression"))?;
        let condition = expressions.condition(self.condition_expression.as_deref())?;
        *expanded = expressions.finish()?;
        let item_on_failure = self.telling()?;
        let returning = Return::None;
        Ok(TransactItem::Update(Update {
            table,
            key,
            actions,
            condition,
            returning,
            item_on_failure,
        }))
    }
}

fn place(write: &TransactItem) -> (&str, &Item) {
    match write {
        TransactItem::Put(put) => (&put.table, &put.item),
        TransactItem::Update(update) => (&update.table, &update.key),
        TransactItem::Delete(delete) => (&delete.table, &delete.key),
        TransactItem::Check(check) => (&check.table, &check.key),
    }
}

/// Checks that the list of a request is present, not empty and not too long.
pub(super) fn check_list<T, const MAX: usize>(
    list: &Option<BoundedList<T, MAX>>,
    at: &str,
) -> Result<(), Fault> {
    match list {
        None => Err(Fault::missing(at)),
        Some(list) if list.is_empty() => {
            Err(Fault::constraint("'[]'", at, "have length greater than or equal to 1"))
        }
        Some(list) => check_at_most(list, at),
    }
}

/// The same for a list that may be empty.
pub(super) fn check_at_most<T, const MAX: usize>(
    list: &BoundedList<T, MAX>,
    at: &str,
) -> Result<(), Fault> {
    if list.len() > MAX {
        let rule = format!("have length less than or equal to {MAX}");
        return Err(Fault::constraint("'[...]'", at, &rule));
    }
    Ok(())
}

/// Checks that an optional token is neither empty nor too long.
pub(super) fn check_token(token: Option<&str>) -> Result<(), Fault> {
    let Some(token) = token else { return Ok(()) };
    let rule = match token.len() {
        0 => "have length greater than or equal to 1".to_owned(),
        1..=TOKEN_BYTES_MAX => return Ok(()),
        _ => format!("have length less than or equal to {TOKEN_BYTES_MAX}"),
    };
    Err(Fault::constraint(&format!("'{token}'"), "clientRequestToken", &rule))
}

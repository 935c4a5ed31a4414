//! Several items, all or none: TransactWriteItems, TransactGetItems.

use std::collections::BTreeMap;

use serde::Deserialize;
use table::limits::{TOKEN_BYTES_MAX, TRANSACT_MAX};
use table::{
    Check, Delete, Get, Item, Put, Return, TableSpec, TransactItem, TransactWrite, Update, Written,
};

use super::Door;
use super::capacity::{Charge, Wanted, read_units, write_charges};
use super::expressions::{Expressions, Names};
use super::fault::Fault;
use super::items::{Report, telling, write_collections};
use super::names::TableName;
use super::read::{JsonItem, JsonValues};
use super::write::Out;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TransactWriteItems {
    transact_items: Option<Vec<WriteItem>>,
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

/// One write or check; each kind has some of these.
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
    transact_items: Option<Vec<GetPart>>,
    return_consumed_capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetPart {
    get: Option<Part>,
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
        let items = request.transact_items.ok_or_else(|| Fault::missing("transactItems"))?;
        check_count("transactItems", items.len(), TRANSACT_MAX)?;
        check_token(request.client_request_token.as_deref())?;
        let mut writes = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            writes.push(item.read(self, at)?);
        }
        self.check_distinct(writes.iter().map(place))?;
        let changes = writes.iter().filter(|write| !matches!(write, TransactItem::Check(_)));
        let places: Vec<(String, Item)> =
            changes.map(place).map(|(table, key)| (table.to_owned(), key.clone())).collect();
        let transaction = TransactWrite { writes, token: request.client_request_token };
        let charges = self.transact(transaction, report.capacity).await?;
        self.answer_transaction(&report, &places, &charges).await
    }

    /// Does it, and answers what each table is charged.
    pub(super) async fn transact(
        &self,
        transaction: TransactWrite,
        wanted: Wanted,
    ) -> Result<BTreeMap<String, Charge>, Fault> {
        let tables: Vec<String> =
            transaction.writes.iter().map(|write| place(write).0.to_owned()).collect();
        let see = |written: Written<'_>| Charge::of_write(wanted, &written);
        let mut seen = self.store.transact_write_seen(transaction, see).await?.into_iter();
        let mut charges: BTreeMap<String, Charge> = BTreeMap::new();
        for table in tables {
            // Where the token was spent, what happened before is only looked at.
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
        let mut out = Out::new();
        out.raw("{");
        write_charges(&mut out, charges, report.capacity, true);
        let places = places.iter().map(|(table, key)| (table.as_str(), key)).collect();
        write_collections(&mut out, &self.collections(report, places).await?);
        out.raw("}");
        Ok(out.finish())
    }

    pub(super) fn transact_get_items(&self, request: TransactGetItems) -> Result<String, Fault> {
        let wanted = Wanted::read(request.return_consumed_capacity.as_deref())?;
        let items = request.transact_items.ok_or_else(|| Fault::missing("transactItems"))?;
        check_count("transactItems", items.len(), TRANSACT_MAX)?;
        let mut gets = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            let member = || Fault::missing(&format!("transactItems.{}.member.get", at + 1));
            gets.push(item.get.ok_or_else(member)?.read_get(self)?);
        }
        self.check_distinct(gets.iter().map(|get| (get.table.as_str(), &get.key)))?;
        let found = self.store.transact_get_weighed(&gets)?;
        let mut charges: BTreeMap<&String, Charge> = BTreeMap::new();
        let mut out = Out::new();
        out.raw("{").field("Responses").raw("[");
        out.list(gets.iter().zip(&found), |out, (get, found)| {
            let bytes = found.as_ref().map_or(0, |(_, bytes)| u64::from(*bytes));
            let charge = Charge::of_read(None, read_units(bytes, true)).transacted();
            charges.entry(&get.table).or_default().add(charge);
            out.raw("{");
            // An item of which nothing is wanted is told as if it were not there.
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

    /// No item stands twice in one transaction.
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
    fn read(self, door: &Door, at: usize) -> Result<TransactItem, Fault> {
        match (self.condition_check, self.put, self.delete, self.update) {
            (Some(part), None, None, None) => part.read_check(door, at),
            (None, Some(part), None, None) => part.read_put(door),
            (None, None, Some(part), None) => part.read_delete(door),
            (None, None, None, Some(part)) => part.read_update(door, at),
            (_, _, _, _) => Err(Fault::invalid(
                "TransactItems can only contain one of Check, Put, Update or Delete",
            )),
        }
    }
}

impl Part {
    fn expressions(&mut self) -> Result<Expressions, Fault> {
        Expressions::new(
            self.expression_attribute_names.take(),
            self.expression_attribute_values.take(),
            &[
                ("UpdateExpression", self.update_expression.is_some()),
                ("ConditionExpression", self.condition_expression.is_some()),
                ("ProjectionExpression", self.projection_expression.is_some()),
            ],
            &["ConditionExpression"],
            &[],
        )
    }

    fn place(&mut self, door: &Door) -> Result<(String, Item), Fault> {
        let JsonItem(key) = self.key.take().ok_or_else(|| Fault::missing("key"))?;
        Ok((door.name_of(self.table_name.take())?, key))
    }

    fn telling(&self) -> Result<bool, Fault> {
        telling(self.return_values_on_condition_check_failure.as_deref())
    }

    fn read_get(mut self, door: &Door) -> Result<Get, Fault> {
        let (table, key) = self.place(door)?;
        let expressions = self.expressions()?;
        let projection = expressions.projection(self.projection_expression.as_deref())?;
        expressions.finish()?;
        Ok(Get { table, key, projection, consistent: true })
    }

    fn read_check(mut self, door: &Door, at: usize) -> Result<TransactItem, Fault> {
        let (table, key) = self.place(door)?;
        let expressions = self.expressions()?;
        let condition = expressions.condition(self.condition_expression.as_deref())?;
        let condition = condition.ok_or_else(|| {
            let at = at + 1;
            Fault::missing(&format!("transactItems.{at}.member.conditionCheck.conditionExpression"))
        })?;
        expressions.finish()?;
        let item_on_failure = self.telling()?;
        Ok(TransactItem::Check(Check { table, key, condition, item_on_failure }))
    }

    fn read_put(mut self, door: &Door) -> Result<TransactItem, Fault> {
        let JsonItem(item) = self.item.take().ok_or_else(|| Fault::missing("item"))?;
        let table = door.name_of(self.table_name.take())?;
        let expressions = self.expressions()?;
        let condition = expressions.condition(self.condition_expression.as_deref())?;
        expressions.finish()?;
        let item_on_failure = self.telling()?;
        let returning = Return::None;
        Ok(TransactItem::Put(Put { table, item, condition, returning, item_on_failure }))
    }

    fn read_delete(mut self, door: &Door) -> Result<TransactItem, Fault> {
        let (table, key) = self.place(door)?;
        let expressions = self.expressions()?;
        let condition = expressions.condition(self.condition_expression.as_deref())?;
        expressions.finish()?;
        let item_on_failure = self.telling()?;
        let returning = Return::None;
        Ok(TransactItem::Delete(Delete { table, key, condition, returning, item_on_failure }))
    }

    fn read_update(mut self, door: &Door, at: usize) -> Result<TransactItem, Fault> {
        let (table, key) = self.place(door)?;
        let expressions = self.expressions()?;
        let actions = expressions.actions(self.update_expression.as_deref())?;
        let actions = actions.ok_or_else(|| {
            Fault::missing(&format!("transactItems.{}.member.update.updateExpression", at + 1))
        })?;
        let condition = expressions.condition(self.condition_expression.as_deref())?;
        expressions.finish()?;
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

/// A list of what a request does is neither empty nor too long.
pub(super) fn check_count(at: &str, count: usize, max: usize) -> Result<(), Fault> {
    if count == 0 {
        return Err(Fault::constraint("'[]'", at, "have length greater than or equal to 1"));
    }
    if count > max {
        let rule = format!("have length less than or equal to {max}");
        return Err(Fault::constraint("'[...]'", at, &rule));
    }
    Ok(())
}

/// A token, if there is one, is neither empty nor too long.
pub(super) fn check_token(token: Option<&str>) -> Result<(), Fault> {
    let Some(token) = token else { return Ok(()) };
    let rule = match token.len() {
        0 => "have length greater than or equal to 1".to_owned(),
        1..=TOKEN_BYTES_MAX => return Ok(()),
        _ => format!("have length less than or equal to {TOKEN_BYTES_MAX}"),
    };
    Err(Fault::constraint(&format!("'{token}'"), "clientRequestToken", &rule))
}

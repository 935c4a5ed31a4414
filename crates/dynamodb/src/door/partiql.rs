//! PartiQL: ExecuteStatement, BatchExecuteStatement, ExecuteTransaction.
//!
//! A statement is parsed (`partiql/parse.rs`) and turned into one of the engine's requests
//! (`partiql/plan.rs`); this file runs them and writes the responses.

#[cfg(test)]
mod fuzz;
mod parse;
mod plan;
mod tokens;

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use table::limits::TRANSACT_MAX;
use table::{Get, Item, Page, Query, Scan, TransactItem, TransactWrite, Written};

use self::plan::{Plan, Shape};
use super::Door;
use super::bounded::BoundedList;
use super::capacity::{CapacityDetail, Charge, read_units, write_charges};
use super::fault::{Fault, Faults, Kind, check_range};
use super::items::telling_at;
use super::read::{JsonItem, JsonValue, Request, json};
use super::transactions::{check_list, check_token};
use super::write::JsonWriter;

#[cfg(test)]
pub(super) use self::parse::statement;

/// Statements of one batch, as in DynamoDB.
const BATCH_MAX: usize = 25;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ExecuteStatement {
    statement: Option<String>,
    parameters: Option<Vec<JsonValue>>,
    consistent_read: Option<bool>,
    next_token: Option<String>,
    limit: Option<i64>,
    return_consumed_capacity: Option<String>,
    return_values_on_condition_check_failure: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchExecuteStatement {
    statements: Option<BoundedList<ExecuteStatement, BATCH_MAX>>,
    return_consumed_capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ExecuteTransaction {
    transact_statements: Option<BoundedList<ExecuteStatement, TRANSACT_MAX>>,
    client_request_token: Option<String>,
    return_consumed_capacity: Option<String>,
}

impl ExecuteStatement {
    /// `before` is the position of a statement among several.
    fn check_at(&self, before: &str, faults: &mut Faults) {
        faults.require(&self.statement, format_args!("{before}statement"));
        let telling = self.return_values_on_condition_check_failure.as_deref();
        let at = format_args!("{before}returnValuesOnConditionCheckFailure");
        faults.see(telling_at(telling, at));
    }
}

impl Request for ExecuteStatement {
    fn check(&self, faults: &mut Faults) {
        self.check_at("", faults);
        faults.see(check_range(self.limit, "limit", 1, i64::from(u32::MAX)));
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
    }
}

impl Request for BatchExecuteStatement {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_list(&self.statements, "statements"));
        for (statement, number) in self.statements.iter().flatten().zip(1..) {
            statement.check_at(&format!("statements.{number}.member."), faults);
        }
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
    }
}

impl Request for ExecuteTransaction {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_list(&self.transact_statements, "transactStatements"));
        for (statement, number) in self.transact_statements.iter().flatten().zip(1..) {
            statement.check_at(&format!("transactStatements.{number}.member."), faults);
        }
        faults.see(check_token(self.client_request_token.as_deref()));
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
    }
}

/// The result of a statement.
struct StatementResult {
    table: String,
    page: Page,
    charge: Charge,
}

impl Door {
    pub(super) async fn execute_statement(
        &self,
        request: ExecuteStatement,
    ) -> Result<String, Fault> {
        let wanted = CapacityDetail::read(request.return_consumed_capacity.as_deref())?;
        let start = request.next_token.as_deref().map(read_token).transpose()?;
        let limit = request.limit.and_then(|limit| u32::try_from(limit).ok());
        let done = match self.plan(request)? {
            Plan::Query(query, shape) => {
                let query = Query { limit, start_after: start, ..query };
                let found = shape.page(self.store.query_fetched(&query, false)?);
                self.paged(query.table, query.index, query.consistent, found)?
            }
            Plan::Scan(scan, shape) => {
                let scan = Scan { limit, start_after: start, ..scan };
                let found = shape.page(self.store.scan_fetched(&scan, false)?);
                self.paged(scan.table, scan.index, scan.consistent, found)?
            }
            Plan::Get(get, shape) => self.found(get, &shape)?,
            Plan::Write(write) => self.write(write, wanted).await?,
        };
        let mut out = JsonWriter::new();
        out.raw("{\"Items\":[").list(&done.page.items, |out, item| {
            out.item(item);
        });
        out.raw("]");
        if let Some(key) = &done.page.last_key {
            let mut token = JsonWriter::new();
            token.item(key);
            out.field("NextToken").text(&STANDARD.encode(token.finish()));
            out.field("LastEvaluatedKey").item(key);
        }
        if wanted != CapacityDetail::Nothing {
            out.field("ConsumedCapacity");
            done.charge.write(&mut out, &done.table, wanted, false);
        }
        out.raw("}");
        Ok(out.finish())
    }

    pub(super) async fn batch_execute_statement(
        &self,
        request: BatchExecuteStatement,
    ) -> Result<String, Fault> {
        let wanted = CapacityDetail::read(request.return_consumed_capacity.as_deref())?;
        let mut charges: BTreeMap<String, Charge> = BTreeMap::new();
        let mut out = JsonWriter::new();
        out.raw("{\"Responses\":[");
        for (at, request) in request.statements.into_iter().flatten().enumerate() {
            out.raw(if at > 0 { ",{" } else { "{" });
            match self.execute_alone(request, wanted).await {
                Ok(done) => {
                    out.field("TableName").text(&done.table);
                    if let Some(item) = done.page.items.first() {
                        out.field("Item").item(item);
                    }
                    charges.entry(done.table).or_default().add(done.charge);
                }
                Err(fault) => {
                    out.field("Error").raw("{").field("Code").text(fault.word());
                    out.field("Message").text(&fault.message()).raw(fault.more()).raw("}");
                }
            }
            out.raw("}");
        }
        out.raw("]");
        write_charges(&mut out, &charges, wanted, false);
        out.raw("}");
        Ok(out.finish())
    }

    pub(super) async fn execute_transaction(
        &self,
        request: ExecuteTransaction,
    ) -> Result<String, Fault> {
        let wanted = CapacityDetail::read(request.return_consumed_capacity.as_deref())?;
        let statements = request.transact_statements.unwrap_or_default();
        let count = statements.len();
        let (mut gets, mut writes) = (Vec::new(), Vec::new());
        for statement in statements {
            match self.plan(statement)? {
                Plan::Get(get, shape) => gets.push((get, shape)),
                Plan::Write(write) => writes.push(write),
                Plan::Query(..) | Plan::Scan(..) => return Err(plan::whole_key()),
            }
        }
        if !gets.is_empty() && !writes.is_empty() {
            return Err(Fault::invalid(
                "ExecuteTransaction API does not support both read and write operations in the \
                 same request.",
            ));
        }
        let mut charges: BTreeMap<String, Charge> = BTreeMap::new();
        let found = match writes.is_empty() {
            true => self.transact_selects(&gets)?,
            false => {
                let transaction = TransactWrite { writes, token: request.client_request_token };
                charges = self.transact(transaction, wanted).await?;
                vec![None; count]
            }
        };
        for ((get, _), found) in gets.into_iter().zip(&found) {
            let bytes = found.as_ref().map_or(0, |(_, bytes)| u64::from(*bytes));
            let charge = Charge::of_read(None, read_units(bytes, true)).transacted();
            charges.entry(get.table).or_default().add(charge);
        }
        let mut out = JsonWriter::new();
        out.raw("{\"Responses\":[").list(&found, |out, found| {
            out.raw("{");
            if let Some((item, _)) = found {
                out.field("Item").item(item);
            }
            out.raw("}");
        });
        out.raw("]");
        write_charges(&mut out, &charges, wanted, true);
        out.raw("}");
        Ok(out.finish())
    }

    /// One statement of a batch, which is about one item.
    async fn execute_alone(
        &self,
        request: ExecuteStatement,
        wanted: CapacityDetail,
    ) -> Result<StatementResult, Fault> {
        match self.plan(request)? {
            Plan::Get(get, shape) => self.found(get, &shape),
            Plan::Write(write) => self.write(write, wanted).await,
            Plan::Query(..) | Plan::Scan(..) => Err(plan::whole_key()),
        }
    }

    fn paged(
        &self,
        table: String,
        index: Option<String>,
        consistent: bool,
        (page, fetched): (Page, Vec<u32>),
    ) -> Result<StatementResult, Fault> {
        let charge = self.store.with_spec(&table, |spec| {
            let index = index.as_deref().map(|index| (spec, index));
            Charge::of_page(index, page.bytes, &fetched, consistent)
        })?;
        Ok(StatementResult { table, page, charge })
    }

    /// The items of several SELECTs at one instant, each with the size of the whole item.
    fn transact_selects(
        &self,
        selects: &[(Get, Shape)],
    ) -> Result<Vec<Option<(Item, u32)>>, Fault> {
        let gets: Vec<Get> = selects.iter().map(|(get, _)| get.clone()).collect();
        let found = self.store.transact_get_weighed(&gets)?;
        let shaped = found
            .into_iter()
            .zip(selects)
            .map(|(found, (_, shape))| found.map(|(item, bytes)| (shape.item(item), bytes)));
        Ok(shaped.collect())
    }

    fn found(&self, get: Get, shape: &Shape) -> Result<StatementResult, Fault> {
        let found = self.store.get_weighed(&get)?;
        let bytes = found.as_ref().map_or(0, |(_, bytes)| u64::from(*bytes));
        Ok(StatementResult {
            table: get.table,
            page: page_of(found.map(|(item, _)| shape.item(item))),
            charge: Charge::of_read(None, read_units(bytes, get.consistent)),
        })
    }

    async fn write(
        &self,
        write: TransactItem,
        wanted: CapacityDetail,
    ) -> Result<StatementResult, Fault> {
        let see = |written: Written<'_>| StatementResult {
            table: written.table.name.clone(),
            charge: Charge::of_write(wanted, &written),
            page: page_of(written.answer),
        };
        Ok(match write {
            TransactItem::Put(put) => {
                self.store.put_seen(put, see).await.map_err(|error| match error {
                    table::Error::ConditionFailed { .. } => {
                        Fault::new(Kind::DuplicateItem, "Duplicate primary key exists in table")
                    }
                    other => other.into(),
                })?
            }
            TransactItem::Update(update) => self.store.update_seen(update, see).await?,
            TransactItem::Delete(delete) => self.store.delete_seen(delete, see).await?,
            TransactItem::Check(_) => {
                return Err(Fault::invalid("EXISTS stands in transactions alone"));
            }
        })
    }
}

fn page_of(item: Option<Item>) -> Page {
    Page { items: item.into_iter().collect(), ..Page::default() }
}

fn read_token(token: &str) -> Result<Item, Fault> {
    let wrong = || Fault::invalid("Invalid NextToken");
    let bytes = STANDARD.decode(token).map_err(|_| wrong())?;
    let JsonItem(key) = json(&bytes).map_err(|_| wrong())?;
    Ok(key)
}

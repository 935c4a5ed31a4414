//! PartiQL: ExecuteStatement, BatchExecuteStatement, ExecuteTransaction.
//!
//! A statement is read (`partiql/parse.rs`) and becomes one of the requests that the engine knows
//! (`partiql/plan.rs`); here they are done and answered.

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

use self::plan::Plan;
use super::Door;
use super::capacity::{Charge, Wanted, read_units, write_charges};
use super::fault::{Fault, Kind};
use super::read::{JsonItem, JsonValue, request};
use super::transactions::{check_count, check_token};
use super::write::Out;

#[cfg(test)]
pub(super) use self::parse::statement;

/// Statements of one batch, as DynamoDB has it.
const BATCH_MAX: usize = 25;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ExecuteStatement {
    statement: String,
    parameters: Option<Vec<JsonValue>>,
    consistent_read: Option<bool>,
    next_token: Option<String>,
    limit: Option<u32>,
    return_consumed_capacity: Option<String>,
    return_values_on_condition_check_failure: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchExecuteStatement {
    statements: Vec<ExecuteStatement>,
    return_consumed_capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ExecuteTransaction {
    transact_statements: Vec<ExecuteStatement>,
    client_request_token: Option<String>,
    return_consumed_capacity: Option<String>,
}

/// A statement that was done.
struct Done {
    table: String,
    page: Page,
    charge: Charge,
}

impl Door {
    pub(super) async fn execute_statement(
        &self,
        request: ExecuteStatement,
    ) -> Result<String, Fault> {
        let wanted = Wanted::read(request.return_consumed_capacity.as_deref())?;
        let start = request.next_token.as_deref().map(read_token).transpose()?;
        let limit = request.limit;
        let done = match self.plan(request)? {
            Plan::Query(query) => {
                let query = Query { limit, start_after: start, ..query };
                let found = self.store.query_fetched(&query, false)?;
                self.paged(query.table, query.index, query.consistent, found)?
            }
            Plan::Scan(scan) => {
                let scan = Scan { limit, start_after: start, ..scan };
                let found = self.store.scan_fetched(&scan, false)?;
                self.paged(scan.table, scan.index, scan.consistent, found)?
            }
            Plan::Get(get) => self.found(get)?,
            Plan::Write(write) => self.write(write, wanted).await?,
        };
        let mut out = Out::new();
        out.raw("{\"Items\":[").list(&done.page.items, |out, item| {
            out.item(item);
        });
        out.raw("]");
        if let Some(key) = &done.page.last_key {
            let mut token = Out::new();
            token.item(key);
            out.field("NextToken").text(&STANDARD.encode(token.finish()));
            out.field("LastEvaluatedKey").item(key);
        }
        if wanted != Wanted::Nothing {
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
        let wanted = Wanted::read(request.return_consumed_capacity.as_deref())?;
        let count = request.statements.len();
        check_count("statements", count, BATCH_MAX)?;
        let mut charges: BTreeMap<String, Charge> = BTreeMap::new();
        let mut out = Out::new();
        out.raw("{\"Responses\":[");
        for (at, request) in request.statements.into_iter().enumerate() {
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
                    out.field("Message").text(fault.message()).raw(fault.more()).raw("}");
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
        let wanted = Wanted::read(request.return_consumed_capacity.as_deref())?;
        let count = request.transact_statements.len();
        check_count("transactStatements", count, TRANSACT_MAX)?;
        let (mut gets, mut writes) = (Vec::new(), Vec::new());
        for statement in request.transact_statements {
            match self.plan(statement)? {
                Plan::Get(get) => gets.push(get),
                Plan::Write(write) => writes.push(write),
                Plan::Query(_) | Plan::Scan(_) => return Err(plan::whole_key()),
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
            true => self.store.transact_get_weighed(&gets)?,
            false => {
                check_token(request.client_request_token.as_deref())?;
                let transaction = TransactWrite { writes, token: request.client_request_token };
                charges = self.transact(transaction, wanted).await?;
                vec![None; count]
            }
        };
        for (get, found) in gets.into_iter().zip(&found) {
            let bytes = found.as_ref().map_or(0, |(_, bytes)| u64::from(*bytes));
            let charge = Charge::of_read(None, read_units(bytes, true)).transacted();
            charges.entry(get.table).or_default().add(charge);
        }
        let mut out = Out::new();
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
        wanted: Wanted,
    ) -> Result<Done, Fault> {
        match self.plan(request)? {
            Plan::Get(get) => self.found(get),
            Plan::Write(write) => self.write(write, wanted).await,
            Plan::Query(_) | Plan::Scan(_) => Err(plan::whole_key()),
        }
    }

    fn paged(
        &self,
        table: String,
        index: Option<String>,
        consistent: bool,
        (page, fetched): (Page, Vec<u32>),
    ) -> Result<Done, Fault> {
        let charge = self.store.with_spec(&table, |spec| {
            let index = index.as_deref().map(|index| (spec, index));
            Charge::of_page(index, page.bytes, &fetched, consistent)
        })?;
        Ok(Done { table, page, charge })
    }

    fn found(&self, get: Get) -> Result<Done, Fault> {
        let found = self.store.get_weighed(&get)?;
        let bytes = found.as_ref().map_or(0, |(_, bytes)| u64::from(*bytes));
        Ok(Done {
            table: get.table,
            page: page_of(found.map(|(item, _)| item)),
            charge: Charge::of_read(None, read_units(bytes, get.consistent)),
        })
    }

    async fn write(&self, write: TransactItem, wanted: Wanted) -> Result<Done, Fault> {
        let see = |written: Written<'_>| Done {
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
    let JsonItem(key) = request(&bytes).map_err(|_| wrong())?;
    Ok(key)
}

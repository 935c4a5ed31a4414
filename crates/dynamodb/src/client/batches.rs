//! Reads and writes many items, each one separately.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::{DeleteRequest, KeysAndAttributes, PutRequest, WriteRequest};
use table::limits::BATCH_GET_MAX;
use table::{BatchGot, BatchWrite, Error, Get};

use super::Client;
use super::attempts::{RetryRule, failure};
use super::expiry::ReadView;
use super::expressions::SdkExpressions;
use super::values::{from_attributes, to_attributes};

impl Client {
    pub(super) async fn get_items(&self, gets: Vec<Get>) -> Result<BatchGot, Error> {
        if gets.is_empty() || gets.len() > BATCH_GET_MAX {
            let count = gets.len();
            return Err(Error::Invalid(format!(
                "a batch gets 1 to {BATCH_GET_MAX} items, not {count}"
            )));
        }
        if has_duplicate(&gets) {
            return Err(Error::Invalid(
                "Provided list of item keys contains duplicates".to_owned(),
            ));
        }
        let mut got = BatchGot::default();
        for round in rounds(gets) {
            match self.get_round(&round, &mut got).await {
                Ok(()) => {}
                // Items already read are returned; the caller may retry the rest.
                Err(Error::Throttled(_)) if !got.items.is_empty() => got.unprocessed.extend(round),
                Err(error) => return Err(error),
            }
        }
        Ok(got)
    }

    /// Sends one request. All gets of one table in it want the same parts of their items.
    async fn get_round(&self, round: &[Get], got: &mut BatchGot) -> Result<(), Error> {
        let mut tables: BTreeMap<String, Vec<&Get>> = BTreeMap::new();
        for get in round {
            tables.entry(get.table.clone()).or_default().push(get);
        }
        let mut request = HashMap::new();
        for (table, gets) in &tables {
            let spec = self.spec(table).await?;
            let alike = gets.first().expect("a table is there for its gets");
            let shown = ReadView::new(&spec, None, &alike.projection);
            let mut expressions = SdkExpressions::new();
            let keys = gets.iter().map(|get| to_attributes(&get.key)).collect();
            let keys = KeysAndAttributes::builder()
                .set_keys(Some(keys))
                .set_projection_expression(expressions.projection(&shown.projection))
                .set_expression_attribute_names(expressions.names())
                .consistent_read(alike.consistent);
            request.insert(self.full(table), keys.build().map_err(cannot_build)?);
        }
        let call = self.sdk.batch_get_item().set_request_items(Some(request));
        let answer = self.send(RetryRule::Safe, || call.clone().send()).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Err(self.name_missing(failure(error, ""), tables.keys()).await),
        };
        let mut left = answer.unprocessed_keys.unwrap_or_default();
        let mut found = answer.responses.unwrap_or_default();
        let now_s = self.now_s();
        for (table, gets) in tables {
            let (spec, name) = (self.spec(&table).await?, self.full(&table));
            let projection = gets.first().map(|get| get.projection.clone()).unwrap_or_default();
            let shown = ReadView::new(&spec, None, &projection);
            for attributes in found.remove(&name).unwrap_or_default() {
                got.items.extend(shown.take(attributes, now_s)?.map(|item| (table.clone(), item)));
            }
            for key in left.remove(&name).map(|left| left.keys).unwrap_or_default() {
                let key = from_attributes(key)?;
                got.unprocessed.extend(gets.iter().find(|get| get.key == key).copied().cloned());
            }
        }
        Ok(())
    }

    pub(super) async fn write_items(
        &self,
        writes: Vec<BatchWrite>,
    ) -> Result<Vec<BatchWrite>, Error> {
        let mut tables: BTreeMap<String, Vec<WriteRequest>> = BTreeMap::new();
        for write in writes {
            let (table, request) = request_of(write)?;
            tables.entry(table).or_default().push(request);
        }
        for table in tables.keys() {
            self.spec(table).await?;
        }
        let named = tables.iter().map(|(table, writes)| (self.full(table), writes.clone()));
        let call = self.sdk.batch_write_item().set_request_items(Some(named.collect()));
        let answer = self.send(RetryRule::Safe, || call.clone().send()).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Err(self.name_missing(failure(error, ""), tables.keys()).await),
        };
        let mut left = Vec::new();
        for (name, requests) in answer.unprocessed_items.unwrap_or_default() {
            let table = self.short(&name).unwrap_or(&name);
            for request in requests {
                left.extend(write_of(table, request)?);
            }
        }
        Ok(left)
    }

    /// The failure of a call on several tables, with the name of the missing one.
    pub(super) async fn name_missing<'t>(
        &self,
        error: Error,
        tables: impl Iterator<Item = &'t String> + Send,
    ) -> Error {
        if !matches!(error, Error::NoSuchTable(_)) {
            return error;
        }
        for table in tables {
            if let Err(error) = self.describe(table).await {
                return error;
            }
        }
        // The table exists again.
        Error::Throttled("a table was being made or removed".to_owned())
    }
}

/// Splits gets into requests: one request can have only one projection per table.
fn rounds(gets: Vec<Get>) -> Vec<Vec<Get>> {
    let mut rounds: Vec<Vec<Get>> = Vec::new();
    for get in gets {
        let fits = |round: &&mut Vec<Get>| {
            let mut others = round.iter().filter(|other| other.table == get.table);
            others.all(|other| {
                other.projection == get.projection && other.consistent == get.consistent
            })
        };
        match rounds.iter_mut().find(fits) {
            Some(round) => round.push(get),
            None => rounds.push(vec![get]),
        }
    }
    rounds
}

fn has_duplicate(gets: &[Get]) -> bool {
    let same = |get: &Get, other: &Get| get.table == other.table && get.key == other.key;
    gets.iter().enumerate().any(|(at, get)| gets.iter().take(at).any(|other| same(get, other)))
}

fn request_of(write: BatchWrite) -> Result<(String, WriteRequest), Error> {
    let request = WriteRequest::builder();
    Ok(match write {
        BatchWrite::Put { table, item } => {
            let put = PutRequest::builder().set_item(Some(to_attributes(&item)));
            (table, request.put_request(put.build().map_err(cannot_build)?).build())
        }
        BatchWrite::Delete { table, key } => {
            let delete = DeleteRequest::builder().set_key(Some(to_attributes(&key)));
            (table, request.delete_request(delete.build().map_err(cannot_build)?).build())
        }
    })
}

fn write_of(table: &str, request: WriteRequest) -> Result<Option<BatchWrite>, Error> {
    let table = table.to_owned();
    Ok(match (request.put_request, request.delete_request) {
        (Some(put), _) => Some(BatchWrite::Put { table, item: from_attributes(put.item)? }),
        (None, Some(delete)) => {
            Some(BatchWrite::Delete { table, key: from_attributes(delete.key)? })
        }
        (None, None) => None,
    })
}

/// A request that the SDK refuses to build.
pub(super) fn cannot_build(error: aws_sdk_dynamodb::error::BuildError) -> Error {
    Error::Invalid(error.to_string())
}

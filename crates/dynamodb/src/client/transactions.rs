//! Writes and reads several items in one transaction.
//!
//! A transaction without a token gets one for all its attempts, so that an attempt with an unknown
//! result can be repeated. A transaction with the caller's token must be the same request each
//! time, also a minute later, so its conditions must not contain the current time. So the client
//! deletes expired items in its way before it sends such a transaction, and not when it meets them.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, Delete as SdkDelete, Get as SdkGet, Put as SdkPut,
    TransactGetItem, TransactWriteItem, Update as SdkUpdate,
};
use table::{
    CancelReason, Check, Condition, Delete, Error, Get, Item, Put, TableSpec, TransactItem,
    TransactWrite, Update,
};

use super::Client;
use super::attempts::{RetryRule, failure};
use super::batches::cannot_build;
use super::expiry::{ReadView, not_expired};
use super::expressions::SdkExpressions;
use super::limits::{ATTEMPTS_MAX, EXPIRED_ROUNDS_MAX};
use super::values::{Attributes, from_attributes, to_attributes};
use super::writes::{expired_too_often, key_of, return_item};

impl Client {
    pub(super) async fn write_together(&self, transaction: TransactWrite) -> Result<(), Error> {
        let mut specs = Vec::with_capacity(transaction.writes.len());
        for write in &transaction.writes {
            specs.push(self.spec(&place(write).0).await?);
        }
        if let Some(token) = &transaction.token {
            self.delete_expired_items(&transaction.writes).await?;
            return match self.write_once(&transaction.writes, &specs, token, None).await? {
                Ok(()) => Ok(()),
                Err(reasons) => {
                    let reasons = transaction.writes.iter().zip(reasons);
                    let reasons = reasons.map(|(write, reason)| visible_reason(write, reason));
                    Err(Error::TransactionCanceled { reasons: reasons.collect() })
                }
            };
        }
        for _ in 0..EXPIRED_ROUNDS_MAX {
            let token = base::hex(&self.random.bytes::<16>());
            let now_s = self.now_s();
            let done = self.write_once(&transaction.writes, &specs, &token, Some(now_s)).await?;
            let Err(reasons) = done else { return Ok(()) };
            let mut buried = false;
            for (spec, reason) in specs.iter().zip(&reasons) {
                let CancelReason::ConditionFailed { item: Some(item) } = reason else { continue };
                if spec.has_expired(item, self.now_s()) {
                    self.delete_expired(spec, item).await?;
                    buried = true;
                }
            }
            if !buried {
                let reasons = transaction.writes.iter().zip(reasons);
                let reasons =
                    reasons.map(|(write, reason)| visible_reason(write, reason)).collect();
                return Err(Error::TransactionCanceled { reasons });
            }
        }
        Err(expired_too_often("several tables"))
    }

    /// Sends the transaction until it is committed or finally cancelled. `now_s` adds the condition
    /// that no item has expired.
    async fn write_once(
        &self,
        writes: &[TransactItem],
        specs: &[std::sync::Arc<TableSpec>],
        token: &str,
        now_s: Option<u64>,
    ) -> Result<Result<(), Vec<CancelReason>>, Error> {
        let items: Result<Vec<_>, Error> = writes
            .iter()
            .zip(specs)
            .map(|(write, spec)| self.item_of(write, spec, now_s))
            .collect();
        let call = self
            .sdk
            .transact_write_items()
            .set_transact_items(Some(items?))
            .client_request_token(token);
        let mut attempt = 1;
        loop {
            let error = match self.send(RetryRule::Safe, || call.clone().send()).await {
                Ok(_) => return Ok(Ok(())),
                Err(error) => error,
            };
            let canceled = match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(canceled)) => canceled,
                _ => {
                    let tables: Vec<String> = writes.iter().map(|write| place(write).0).collect();
                    return Err(self.name_missing(failure(error, ""), tables.iter()).await);
                }
            };
            match reasons(canceled.cancellation_reasons())? {
                Some(reasons) => return Ok(Err(reasons)),
                None if attempt == ATTEMPTS_MAX => return Err(conflict()),
                None => self.pause(attempt).await,
            }
            attempt += 1;
        }
    }

    pub(super) async fn get_together(&self, gets: Vec<Get>) -> Result<Vec<Option<Item>>, Error> {
        let mut specs = Vec::with_capacity(gets.len());
        for get in &gets {
            specs.push(self.spec(&get.table).await?);
        }
        let reads = || gets.iter().zip(&specs);
        let shown: Vec<ReadView<'_>> =
            reads().map(|(get, spec)| ReadView::new(spec, None, &get.projection)).collect();
        let items = gets.iter().zip(&shown).map(|(get, shown)| {
            let mut expressions = SdkExpressions::new();
            let get = SdkGet::builder()
                .table_name(self.full(&get.table))
                .set_key(Some(to_attributes(&get.key)))
                .set_projection_expression(expressions.projection(&shown.projection))
                .set_expression_attribute_names(expressions.names());
            Ok(TransactGetItem::builder().get(get.build().map_err(cannot_build)?).build())
        });
        let items: Vec<TransactGetItem> = items.collect::<Result<_, Error>>()?;
        let call = self.sdk.transact_get_items().set_transact_items(Some(items));
        let mut attempt = 1;
        let answer = loop {
            let error = match self.send(RetryRule::Safe, || call.clone().send()).await {
                Ok(answer) => break answer,
                Err(error) => error,
            };
            match self.read_refusal(error, &gets).await? {
                Some(reasons) => return Err(Error::TransactionCanceled { reasons }),
                None if attempt == ATTEMPTS_MAX => return Err(conflict()),
                None => self.pause(attempt).await,
            }
            attempt += 1;
        };
        let now_s = self.now_s();
        let found = answer.responses.unwrap_or_default().into_iter().map(|answer| answer.item);
        let found = shown.iter().zip(found.chain(std::iter::repeat_with(|| None)));
        found
            .map(|(shown, item)| match item.filter(|item| !item.is_empty()) {
                Some(item) => shown.take(item, now_s),
                None => Ok(None),
            })
            .collect()
    }

    async fn read_refusal(
        &self,
        error: SdkError<TransactGetItemsError>,
        gets: &[Get],
    ) -> Result<Option<Vec<CancelReason>>, Error> {
        match error.as_service_error() {
            Some(TransactGetItemsError::TransactionCanceledException(canceled)) => {
                reasons(canceled.cancellation_reasons())
            }
            _ => {
                let tables = gets.iter().map(|get| &get.table);
                Err(self.name_missing(failure(error, ""), tables).await)
            }
        }
    }

    /// Deletes the expired items that a transaction would meet.
    async fn delete_expired_items(&self, writes: &[TransactItem]) -> Result<(), Error> {
        for write in writes {
            let (table, key) = place(write);
            let spec = self.spec(&table).await?;
            let Some(ttl) = &spec.ttl else { continue };
            let call = self
                .sdk
                .get_item()
                .table_name(self.full(&table))
                .set_key(Some(to_attributes(&key_of(&spec, &key))))
                .consistent_read(true);
            let answer = self.send(RetryRule::Safe, || call.clone().send()).await;
            let found = match answer {
                Ok(answer) => answer.item.map(from_attributes).transpose()?,
                // The transaction itself reports an invalid key.
                Err(error) => match failure(error, &table) {
                    Error::Invalid(_) => None,
                    error => return Err(error),
                },
            };
            let Some(item) = found.filter(|item| spec.has_expired(item, self.now_s())) else {
                continue;
            };
            tracing::debug!(table, ttl, "deleted an expired item before a transaction");
            self.delete_expired(&spec, &item).await?;
        }
        Ok(())
    }

    fn item_of(
        &self,
        write: &TransactItem,
        spec: &TableSpec,
        now_s: Option<u64>,
    ) -> Result<TransactWriteItem, Error> {
        let guarded = |condition: Option<&Condition>| match now_s {
            Some(now_s) => not_expired(spec, condition, now_s),
            None => condition.cloned(),
        };
        let item = TransactWriteItem::builder();
        Ok(match write {
            TransactItem::Put(put) => {
                let condition = put.condition.as_ref().and_then(|held| guarded(Some(held)));
                item.put(self.put_of(put, condition.as_ref())?)
            }
            TransactItem::Update(update) => {
                let condition = guarded(update.condition.as_ref());
                item.update(self.update_of(update, condition.as_ref())?)
            }
            TransactItem::Delete(delete) => {
                let condition = delete.condition.as_ref().and_then(|held| guarded(Some(held)));
                item.delete(self.delete_of(delete, condition.as_ref())?)
            }
            TransactItem::Check(check) => {
                item.condition_check(self.check_of(check, guarded(Some(&check.condition)))?)
            }
        }
        .build())
    }

    fn put_of(&self, put: &Put, condition: Option<&Condition>) -> Result<SdkPut, Error> {
        let mut expressions = SdkExpressions::new();
        SdkPut::builder()
            .table_name(self.full(&put.table))
            .set_item(Some(to_attributes(&put.item)))
            .set_condition_expression(expressions.condition(condition))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .set_return_values_on_condition_check_failure(return_item(condition.is_some()))
            .build()
            .map_err(cannot_build)
    }

    fn update_of(
        &self,
        update: &Update,
        condition: Option<&Condition>,
    ) -> Result<SdkUpdate, Error> {
        let mut expressions = SdkExpressions::new();
        let actions = expressions.actions(&update.actions);
        SdkUpdate::builder()
            .table_name(self.full(&update.table))
            .set_key(Some(to_attributes(&update.key)))
            .update_expression(actions.unwrap_or_default())
            .set_condition_expression(expressions.condition(condition))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .set_return_values_on_condition_check_failure(return_item(condition.is_some()))
            .build()
            .map_err(cannot_build)
    }

    fn delete_of(
        &self,
        delete: &Delete,
        condition: Option<&Condition>,
    ) -> Result<SdkDelete, Error> {
        let mut expressions = SdkExpressions::new();
        SdkDelete::builder()
            .table_name(self.full(&delete.table))
            .set_key(Some(to_attributes(&delete.key)))
            .set_condition_expression(expressions.condition(condition))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .set_return_values_on_condition_check_failure(return_item(condition.is_some()))
            .build()
            .map_err(cannot_build)
    }

    fn check_of(
        &self,
        check: &Check,
        condition: Option<Condition>,
    ) -> Result<ConditionCheck, Error> {
        let mut expressions = SdkExpressions::new();
        ConditionCheck::builder()
            .table_name(self.full(&check.table))
            .set_key(Some(to_attributes(&check.key)))
            .set_condition_expression(expressions.condition(condition.as_ref()))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .set_return_values_on_condition_check_failure(return_item(true))
            .build()
            .map_err(cannot_build)
    }
}

/// The table and the key of a write (or the item that contains the key).
fn place(write: &TransactItem) -> (String, Item) {
    match write {
        TransactItem::Put(put) => (put.table.clone(), put.item.clone()),
        TransactItem::Update(update) => (update.table.clone(), update.key.clone()),
        TransactItem::Delete(delete) => (delete.table.clone(), delete.key.clone()),
        TransactItem::Check(check) => (check.table.clone(), check.key.clone()),
    }
}

/// The reason for the caller: with the item only if the caller wants it.
fn visible_reason(write: &TransactItem, reason: CancelReason) -> CancelReason {
    let telling = match write {
        TransactItem::Put(put) => put.item_on_failure,
        TransactItem::Update(update) => update.item_on_failure,
        TransactItem::Delete(delete) => delete.item_on_failure,
        TransactItem::Check(check) => check.item_on_failure,
    };
    match reason {
        CancelReason::ConditionFailed { .. } if !telling => {
            CancelReason::ConditionFailed { item: None }
        }
        reason => reason,
    }
}

/// Why a transaction was cancelled; `None` if it only lost a race and may be retried.
fn reasons(reasons: &[CancellationReason]) -> Result<Option<Vec<CancelReason>>, Error> {
    let mut read_reasons = Vec::with_capacity(reasons.len());
    for reason in reasons {
        let message = reason.message().unwrap_or_default().to_owned();
        let item = |attributes: &Attributes| from_attributes(attributes.clone());
        read_reasons.push(match reason.code().unwrap_or("None") {
            "None" => CancelReason::None,
            "ConditionalCheckFailed" => {
                let item = reason.item().filter(|item| !item.is_empty()).map(item).transpose()?;
                CancelReason::ConditionFailed { item: item.map(Box::new) }
            }
            "TransactionConflict" | "ProvisionedThroughputExceeded" | "ThrottlingError" => {
                return Ok(None);
            }
            // `ItemCollectionSizeLimitExceeded`, for example.
            _ => CancelReason::Invalid(message),
        });
    }
    Ok(Some(read_reasons))
}

fn conflict() -> Error {
    Error::Throttled("other transactions hold the same items".to_owned())
}

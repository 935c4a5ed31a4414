//! Writes one item.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};
use table::{Delete, Error, Item, Put, Return, TableSpec, Update};

use super::Client;
use super::attempts::{RetryRule, failure};
use super::expiry::{ReadView, expired, not_expired};
use super::expressions::SdkExpressions;
use super::limits::EXPIRED_ROUNDS_MAX;
use super::values::{Attributes, from_attributes, to_attributes};

/// The result of a write that did not fail.
enum WriteOutcome {
    Done(Option<Attributes>),
    /// An expired item was in the way and is deleted now; the write must be retried.
    ExpiredDeleted,
}

impl Client {
    pub(super) async fn put_item(&self, put: Put) -> Result<Option<Item>, Error> {
        let spec = self.spec(&put.table).await?;
        for _ in 0..EXPIRED_ROUNDS_MAX {
            let condition = put.condition.as_ref();
            let condition = condition.and_then(|held| not_expired(&spec, Some(held), self.now_s()));
            let mut expressions = SdkExpressions::new();
            let call = self
                .sdk
                .put_item()
                .table_name(self.full(&put.table))
                .set_item(Some(to_attributes(&put.item)))
                .return_values(returning(put.returning))
                .set_condition_expression(expressions.condition(condition.as_ref()))
                .set_expression_attribute_names(expressions.names())
                .set_expression_attribute_values(expressions.values())
                .set_return_values_on_condition_check_failure(return_item(condition.is_some()));
            let once = put.condition.is_some() || put.returning != Return::None;
            let answer = self.send(repeat(once), || call.clone().send()).await;
            let answer = answer.map(|done| done.attributes);
            match self.check_response(&spec, answer, put.item_on_failure).await? {
                WriteOutcome::Done(old) => return self.old_item(&spec, old),
                WriteOutcome::ExpiredDeleted => {}
            }
        }
        Err(expired_too_often(&put.table))
    }

    pub(super) async fn delete_item(&self, delete: Delete) -> Result<Option<Item>, Error> {
        let spec = self.spec(&delete.table).await?;
        for _ in 0..EXPIRED_ROUNDS_MAX {
            let condition = delete.condition.as_ref();
            let condition = condition.and_then(|held| not_expired(&spec, Some(held), self.now_s()));
            let mut expressions = SdkExpressions::new();
            let call = self
                .sdk
                .delete_item()
                .table_name(self.full(&delete.table))
                .set_key(Some(to_attributes(&delete.key)))
                .return_values(returning(delete.returning))
                .set_condition_expression(expressions.condition(condition.as_ref()))
                .set_expression_attribute_names(expressions.names())
                .set_expression_attribute_values(expressions.values())
                .set_return_values_on_condition_check_failure(return_item(condition.is_some()));
            let once = delete.condition.is_some() || delete.returning != Return::None;
            let answer = self.send(repeat(once), || call.clone().send()).await;
            let answer = answer.map(|done| done.attributes);
            match self.check_response(&spec, answer, delete.item_on_failure).await? {
                WriteOutcome::Done(old) => return self.old_item(&spec, old),
                WriteOutcome::ExpiredDeleted => {}
            }
        }
        Err(expired_too_often(&delete.table))
    }

    pub(super) async fn update_item(&self, update: Update) -> Result<Option<Item>, Error> {
        let spec = self.spec(&update.table).await?;
        for _ in 0..EXPIRED_ROUNDS_MAX {
            let condition = not_expired(&spec, update.condition.as_ref(), self.now_s());
            let mut expressions = SdkExpressions::new();
            let call = self
                .sdk
                .update_item()
                .table_name(self.full(&update.table))
                .set_key(Some(to_attributes(&update.key)))
                .set_update_expression(expressions.actions(&update.actions))
                .return_values(returning(update.returning))
                .set_condition_expression(expressions.condition(condition.as_ref()))
                .set_expression_attribute_names(expressions.names())
                .set_expression_attribute_values(expressions.values())
                .set_return_values_on_condition_check_failure(return_item(condition.is_some()));
            let answer = self.send(RetryRule::Never, || call.clone().send()).await;
            let answer = answer.map(|done| done.attributes);
            match self.check_response(&spec, answer, update.item_on_failure).await? {
                WriteOutcome::Done(item) => {
                    let item = item.map(from_attributes).transpose()?;
                    return Ok(item.filter(|item| !item.is_empty()));
                }
                WriteOutcome::ExpiredDeleted => {}
            }
        }
        Err(expired_too_often(&update.table))
    }

    /// Deletes the item, if it is still expired.
    pub(super) async fn delete_expired(&self, spec: &TableSpec, item: &Item) -> Result<(), Error> {
        let Some(ttl) = &spec.ttl else { return Ok(()) };
        let key = key_of(spec, item);
        let condition = expired(ttl, self.now_s());
        let mut expressions = SdkExpressions::new();
        let call = self
            .sdk
            .delete_item()
            .table_name(self.full(&spec.name))
            .set_key(Some(to_attributes(&key)))
            .set_condition_expression(expressions.condition(Some(&condition)))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values());
        // A repetition is harmless: the item is still expired, or it is another one and stays.
        match self.send(RetryRule::Safe, || call.clone().send()).await {
            Ok(_) => Ok(()),
            Err(error) => match failure(error, &spec.name) {
                Error::ConditionFailed { .. } => Ok(()),
                error => Err(error),
            },
        }
    }

    /// Reads the response of a write, and deletes an expired item that was in its way.
    async fn check_response<E>(
        &self,
        spec: &TableSpec,
        answer: Result<Option<Attributes>, SdkError<E>>,
        telling: bool,
    ) -> Result<WriteOutcome, Error>
    where
        E: ConditionFailure + ProvideErrorMetadata + std::error::Error + 'static,
    {
        let error = match answer {
            Ok(attributes) => return Ok(WriteOutcome::Done(attributes)),
            Err(error) => error,
        };
        let Some(found) = error.as_service_error().and_then(ConditionFailure::failed) else {
            return Err(failure(error, &spec.name));
        };
        let found = found.cloned().map(from_attributes).transpose()?;
        match found.filter(|item| !item.is_empty()) {
            Some(item) if spec.has_expired(&item, self.now_s()) => {
                self.delete_expired(spec, &item).await?;
                Ok(WriteOutcome::ExpiredDeleted)
            }
            item => {
                let item = item.filter(|_| telling).map(Box::new);
                Err(Error::ConditionFailed { item })
            }
        }
    }

    /// The old item of a put or a delete, unless it had expired.
    fn old_item(&self, spec: &TableSpec, old: Option<Attributes>) -> Result<Option<Item>, Error> {
        match old.filter(|attributes| !attributes.is_empty()) {
            Some(attributes) => ReadView::new(spec, None, &[]).take(attributes, self.now_s()),
            None => Ok(None),
        }
    }
}

/// The key of an item of the table.
pub(super) fn key_of(spec: &TableSpec, item: &Item) -> Item {
    let attributes = spec.key.attributes();
    attributes.filter_map(|key| Some((key.name.clone(), item.get(&key.name)?.clone()))).collect()
}

pub(super) fn return_item(asked: bool) -> Option<ReturnValuesOnConditionCheckFailure> {
    asked.then_some(ReturnValuesOnConditionCheckFailure::AllOld)
}

pub(super) fn expired_too_often(table: &str) -> Error {
    Error::Throttled(format!("expired items of `{table}` were in the way of a write too often"))
}

fn repeat(once: bool) -> RetryRule {
    if once { RetryRule::Never } else { RetryRule::Safe }
}

fn returning(returning: Return) -> ReturnValue {
    match returning {
        Return::None => ReturnValue::None,
        Return::AllOld => ReturnValue::AllOld,
        Return::UpdatedOld => ReturnValue::UpdatedOld,
        Return::AllNew => ReturnValue::AllNew,
        Return::UpdatedNew => ReturnValue::UpdatedNew,
    }
}

/// The failure of a write that may have a condition.
trait ConditionFailure {
    /// If the condition failed: the item, if DynamoDB returned it.
    fn failed(&self) -> Option<Option<&Attributes>>;
}

macro_rules! conditional {
    ($($error:ident),*) => {$(
        impl ConditionFailure for $error {
            fn failed(&self) -> Option<Option<&Attributes>> {
                match self {
                    $error::ConditionalCheckFailedException(failed) => Some(failed.item()),
                    _ => None,
                }
            }
        }
    )*};
}

conditional!(PutItemError, UpdateItemError, DeleteItemError);

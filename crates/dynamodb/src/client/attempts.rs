//! Sends calls and retries them.
//!
//! Invariant: no call takes effect twice. A call whose attempt was refused without effect is always
//! retried. A call whose attempt may have had its effect (no response, a failure inside DynamoDB)
//! is retried only if doing it twice equals doing it once.
//!
//! The SDK's own retries are off: they know neither this rule nor our clock. A virtual clock stands
//! still while an attempt is on the wire.

use std::error::Error as StdError;
use std::io;

use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use table::Error;

use super::Client;
use super::limits::{ATTEMPTS_MAX, PAUSE_FIRST, PAUSE_MAX};

/// Whether a call may be retried when the result of an attempt is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryRule {
    /// Twice is the same as once.
    Safe,
    /// It might take effect twice.
    Never,
}

/// The meaning of a failed attempt for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttemptEffect {
    /// Nothing was done, and the next attempt may succeed.
    None,
    /// The effect is unknown.
    Unknown,
    /// The response is final.
    Final,
}

impl Client {
    /// Sends a call until it gets a response, a bounded number of times.
    pub(super) async fn send<T, E, F>(
        &self,
        repeat: RetryRule,
        call: impl Fn() -> F,
    ) -> Result<T, SdkError<E>>
    where
        F: Future<Output = Result<T, SdkError<E>>>,
        E: ProvideErrorMetadata + StdError + 'static,
    {
        let mut attempt = 1;
        loop {
            let answer = {
                let _still = self.clock.hold();
                call().await
            };
            let error = match answer {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let again = match effect(&error) {
                AttemptEffect::None => true,
                AttemptEffect::Unknown => repeat == RetryRule::Safe,
                AttemptEffect::Final => false,
            };
            if !again || attempt == ATTEMPTS_MAX {
                return Err(error);
            }
            self.pause(attempt).await;
            attempt += 1;
        }
    }

    /// Waits before the next attempt: a random part of a time that doubles, so that calls refused
    /// together are not retried together.
    pub(super) async fn pause(&self, attempt: u32) {
        let longest = PAUSE_FIRST.saturating_mul(2_u32.saturating_pow(attempt - 1)).min(PAUSE_MAX);
        self.retried.increment(1);
        self.clock.sleep(self.random.jitter(longest)).await;
    }
}

fn effect<E: ProvideErrorMetadata + StdError + 'static>(error: &SdkError<E>) -> AttemptEffect {
    match error {
        SdkError::ServiceError(_) => effect_of_code(error.code().unwrap_or_default()),
        SdkError::DispatchFailure(_) if was_refused(error) => AttemptEffect::None,
        SdkError::DispatchFailure(_) | SdkError::TimeoutError(_) | SdkError::ResponseError(_) => {
            AttemptEffect::Unknown
        }
        // A request that cannot be built, and kinds that the SDK may add later.
        _ => AttemptEffect::Final,
    }
}

fn effect_of_code(code: &str) -> AttemptEffect {
    match code {
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "RequestLimitExceeded"
        | "LimitExceededException"
        | "TransactionConflictException"
        | "TransactionInProgressException"
        | "ReplicatedWriteConflictException" => AttemptEffect::None,
        "InternalServerError" | "InternalFailure" | "ServiceUnavailable" => AttemptEffect::Unknown,
        _ => AttemptEffect::Final,
    }
}

/// Whether no connection was made, so that nothing can have been sent.
fn was_refused(error: &(dyn StdError + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let system = error.downcast_ref::<io::Error>();
        if system.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// A failed call as an error of the port. `table` is the table of the call.
pub(super) fn failure<E>(error: SdkError<E>, table: &str) -> Error
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    let SdkError::ServiceError(_) = &error else {
        return Error::Io {
            context: "dynamodb sent no response".to_owned(),
            cause: DisplayErrorContext(&error).to_string(),
        };
    };
    let code = error.code().unwrap_or_default();
    let message = error.message().unwrap_or(code).to_owned();
    match code {
        "ValidationException" | "SerializationException" => invalid(message, table),
        "ItemCollectionSizeLimitExceededException" => Error::Invalid(message),
        "ConditionalCheckFailedException" => Error::ConditionFailed { item: None },
        "ResourceNotFoundException" => Error::NoSuchTable(table.to_owned()),
        "IdempotentParameterMismatchException" => Error::TokenMismatch,
        code if effect_of_code(code) == AttemptEffect::None => Error::Throttled(message),
        code => Error::Io {
            context: "dynamodb refused".to_owned(),
            cause: format!("{code}: {message}"),
        },
    }
}

/// A broken rule. DynamoDB also reports a missing index this way.
fn invalid(message: String, table: &str) -> Error {
    match message.split_once("does not have the specified index: ") {
        Some((_, index)) => {
            Error::NoSuchIndex { table: table.to_owned(), index: index.trim().to_owned() }
        }
        None => Error::Invalid(message),
    }
}

#[cfg(test)]
mod tests {
    use super::{AttemptEffect, effect_of_code, invalid};

    #[test]
    fn only_a_call_without_effect_is_always_retried() {
        for code in ["ThrottlingException", "ProvisionedThroughputExceededException"] {
            assert_eq!(effect_of_code(code), AttemptEffect::None, "{code}");
        }
        assert_eq!(effect_of_code("InternalServerError"), AttemptEffect::Unknown);
        for code in ["ValidationException", "ConditionalCheckFailedException", "new", ""] {
            assert_eq!(effect_of_code(code), AttemptEffect::Final, "{code}");
        }
    }

    #[test]
    fn a_missing_index_differs_from_other_broken_rules() {
        let error = invalid("The table does not have the specified index: by-x".to_owned(), "t");
        assert_eq!(error.to_string(), "table `t` has no index `by-x`");
        let error = invalid("Item size has exceeded".to_owned(), "t");
        assert_eq!(error.to_string(), "Item size has exceeded");
    }
}

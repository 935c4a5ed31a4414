//! Failed calls without their words, so that they can be compared.

use table::{CancelReason, Error, Item};

/// A failed call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Failure {
    Invalid,
    Condition(Option<Item>),
    Cancelled(Vec<Reason>),
    TokenMismatch,
    NoSuchTable,
    NoSuchIndex,
    Differs,
    Other(String),
}

/// Why an item of a transaction stood in its way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reason {
    None,
    Condition(Option<Item>),
    Invalid,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Invalid(_) => Failure::Invalid,
            Error::ConditionFailed { item } => Failure::Condition(item.map(|item| *item)),
            Error::TransactionCanceled { reasons } => {
                Failure::Cancelled(reasons.into_iter().map(Reason::from).collect())
            }
            Error::TokenMismatch => Failure::TokenMismatch,
            Error::NoSuchTable(_) => Failure::NoSuchTable,
            Error::NoSuchIndex { .. } => Failure::NoSuchIndex,
            Error::TableDiffers(_) => Failure::Differs,
            other => Failure::Other(other.to_string()),
        }
    }
}

impl From<CancelReason> for Reason {
    fn from(reason: CancelReason) -> Reason {
        match reason {
            CancelReason::None => Reason::None,
            CancelReason::ConditionFailed { item } => Reason::Condition(item.map(|item| *item)),
            CancelReason::Invalid(_) => Reason::Invalid,
        }
    }
}

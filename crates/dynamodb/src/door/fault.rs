//! The failures of the door: DynamoDB's types, statuses and words, because its clients match on
//! them.

use std::fmt::Display;

use table::{CancelReason, Error, Item};

use super::write::JsonWriter;

/// A failed call.
#[derive(Debug)]
pub(super) struct Fault {
    kind: Kind,
    message: String,
    /// The number of invalid parameters, if the message is about parameters.
    parameters: usize,
    /// Further fields of the response, each with a comma before it.
    more: String,
}

/// The types of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Validation,
    Serialization,
    NoSuchResource,
    InUse,
    LimitExceeded,
    ConditionFailed,
    TransactionCanceled,
    TokenMismatch,
    DuplicateItem,
    NoSuchTable,
    NoSuchBackup,
    TableExists,
    WrongInstant,
    NoPointInTime,
    Throughput,
    TrimmedData,
    UnknownOperation,
    TooLarge,
    AccessDenied,
    MissingToken,
    IncompleteSignature,
    UnknownKey,
    WrongSignature,
    Internal,
    Unavailable,
}

impl Kind {
    /// The namespace and name of the type, and the HTTP status.
    fn parts(self) -> (&'static str, &'static str, u16) {
        const OWN: &str = "com.amazonaws.dynamodb.v20120810";
        const SERVICE: &str = "com.amazon.coral.service";
        match self {
            Kind::Validation => ("com.amazon.coral.validate", "ValidationException", 400),
            Kind::Serialization => (SERVICE, "SerializationException", 400),
            Kind::NoSuchResource => (OWN, "ResourceNotFoundException", 400),
            Kind::InUse => (OWN, "ResourceInUseException", 400),
            Kind::LimitExceeded => (OWN, "LimitExceededException", 400),
            Kind::ConditionFailed => (OWN, "ConditionalCheckFailedException", 400),
            Kind::TransactionCanceled => (OWN, "TransactionCanceledException", 400),
            Kind::TokenMismatch => (OWN, "IdempotentParameterMismatchException", 400),
            Kind::DuplicateItem => (OWN, "DuplicateItemException", 400),
            Kind::NoSuchTable => (OWN, "TableNotFoundException", 400),
            Kind::NoSuchBackup => (OWN, "BackupNotFoundException", 400),
            Kind::TableExists => (OWN, "TableAlreadyExistsException", 400),
            Kind::WrongInstant => (OWN, "InvalidRestoreTimeException", 400),
            Kind::NoPointInTime => (OWN, "PointInTimeRecoveryUnavailableException", 400),
            Kind::Throughput => (OWN, "ProvisionedThroughputExceededException", 400),
            Kind::TrimmedData => (OWN, "TrimmedDataAccessException", 400),
            Kind::UnknownOperation => (SERVICE, "UnknownOperationException", 400),
            Kind::TooLarge => (SERVICE, "RequestEntityTooLargeException", 413),
            Kind::AccessDenied => (SERVICE, "AccessDeniedException", 400),
            Kind::MissingToken => (SERVICE, "MissingAuthenticationTokenException", 400),
            Kind::IncompleteSignature => (SERVICE, "IncompleteSignatureException", 400),
            Kind::UnknownKey => (SERVICE, "UnrecognizedClientException", 400),
            Kind::WrongSignature => (SERVICE, "InvalidSignatureException", 403),
            Kind::Internal => (OWN, "InternalServerError", 500),
            Kind::Unavailable => (SERVICE, "ServiceUnavailable", 503),
        }
    }
}

impl Fault {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Fault {
        Fault { kind, message: message.into(), parameters: 0, more: String::new() }
    }

    /// A request that breaks a rule.
    pub(super) fn invalid(message: impl Into<String>) -> Fault {
        Fault::new(Kind::Validation, message)
    }

    /// A parameter that breaks a rule, in the words of the layer that checks parameters first.
    pub(super) fn constraint(value: &str, at: impl Display, rule: &str) -> Fault {
        Fault::parameter(format!(
            "Value {value} at '{at}' failed to satisfy constraint: Member must {rule}"
        ))
    }

    /// The same for a parameter whose value is not shown.
    pub(super) fn constraint_at(at: impl Display, rule: &str) -> Fault {
        Fault::parameter(format!(
            "Value at '{at}' failed to satisfy constraint: Member must {rule}"
        ))
    }

    /// The same with a complete message.
    pub(super) fn parameter(words: String) -> Fault {
        Fault { parameters: 1, ..Fault::invalid(words) }
    }

    /// A missing parameter.
    pub(super) fn missing(at: impl Display) -> Fault {
        Fault::constraint("null", at, "not be null")
    }

    /// A word that is not one of the allowed ones.
    pub(super) fn no_choice(word: &str, at: impl Display, choices: &str) -> Fault {
        let rule = format!("satisfy enum value set: [{choices}]");
        Fault::constraint(&format!("'{word}'"), at, &rule)
    }

    /// A missing table, in operations on the table itself.
    pub(super) fn no_table(name: &str) -> Fault {
        let message = format!("Requested resource not found: Table: {name} not found");
        Fault::new(Kind::NoSuchResource, message)
    }

    pub(super) fn status(&self) -> u16 {
        self.kind.parts().2
    }

    pub(super) fn message(&self) -> String {
        match self.parameters {
            0 => self.message.clone(),
            1 => format!("1 validation error detected: {}", self.message),
            count => format!("{count} validation errors detected: {}", self.message),
        }
    }

    /// Further fields, each with a comma before it.
    pub(super) fn more(&self) -> &str {
        &self.more
    }

    /// The code of the failure where several statements each have their own result.
    pub(super) fn word(&self) -> &'static str {
        let (_, name, _) = self.kind.parts();
        match name.strip_suffix("Exception") {
            Some("Validation") => "ValidationError",
            Some(word) => word,
            None => name,
        }
    }

    /// The body of the response.
    pub(super) fn body(&self) -> String {
        let (namespace, name, _) = self.kind.parts();
        // DynamoDB itself spells this field in two ways.
        let field = match self.kind {
            Kind::TransactionCanceled | Kind::Serialization => "Message",
            _ => "message",
        };
        let mut out = JsonWriter::new();
        out.raw("{\"__type\":\"").raw(namespace).raw("#").raw(name).raw("\",\"");
        out.raw(field).raw("\":").text(&self.message()).raw(&self.more).raw("}");
        out.finish()
    }
}

/// The most parameters that one response reports, as in DynamoDB.
const PARAMETERS_MAX: usize = 10;

/// Failures of single parameters. One response reports all of them.
#[derive(Debug, Default)]
pub(super) struct Faults {
    words: Vec<String>,
}

impl Faults {
    /// Keeps the failure of a parameter. Failures of other kinds are reported later, each alone.
    pub(super) fn see<T>(&mut self, checked: Result<T, Fault>) {
        if let Err(fault) = checked
            && fault.parameters > 0
            && !self.is_full()
        {
            self.words.push(fault.message);
        }
    }

    /// Whether the limit is reached.
    fn is_full(&self) -> bool {
        self.words.len() == PARAMETERS_MAX
    }

    /// Records a missing parameter.
    pub(super) fn require<T>(&mut self, value: &Option<T>, at: impl Display) {
        if value.is_none() {
            self.see::<()>(Err(Fault::missing(at)));
        }
    }

    pub(super) fn finish(self) -> Result<(), Fault> {
        match self.words.len() {
            0 => Ok(()),
            parameters => Err(Fault { parameters, ..Fault::invalid(self.words.join("; ")) }),
        }
    }
}

/// Whether an optional number is within a range.
pub(super) fn check_range(
    value: Option<i64>,
    at: impl Display,
    least: i64,
    most: i64,
) -> Result<(), Fault> {
    let rule = match value {
        Some(value) if value < least => format!("have value greater than or equal to {least}"),
        Some(value) if value > most => format!("have value less than or equal to {most}"),
        Some(_) | None => return Ok(()),
    };
    let value = value.unwrap_or_default();
    Err(Fault::constraint(&format!("'{value}'"), at, &rule))
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        match error {
            Error::Invalid(message) => Fault::invalid(message),
            Error::ConditionFailed { item } => Fault {
                more: item.map(|item| item_field(&item)).unwrap_or_default(),
                ..Fault::new(Kind::ConditionFailed, CONDITION_FAILED)
            },
            Error::TransactionCanceled { reasons } => canceled(&reasons),
            Error::TokenMismatch => Fault::new(
                Kind::TokenMismatch,
                "Specified idempotent token was used with different request parameters within the \
                 idempotency window",
            ),
            Error::NoSuchTable(_) => {
                Fault::new(Kind::NoSuchResource, "Requested resource not found")
            }
            Error::NoSuchIndex { index, .. } => {
                Fault::invalid(format!("The table does not have the specified index: {index}"))
            }
            Error::TableDiffers(name) => {
                Fault::new(Kind::InUse, format!("Table already exists: {name}"))
            }
            Error::Throttled(why) => Fault::new(
                Kind::Throughput,
                format!("The level of configured provisioned throughput was exceeded: {why}"),
            ),
            // The server logs these states once, when it turns red.
            error @ (Error::DiskFull | Error::Stopped(_)) => {
                Fault::new(Kind::Unavailable, error.to_string())
            }
            error @ (Error::Corrupt { .. }
            | Error::TooOld { .. }
            | Error::InUse(_)
            | Error::UnknownFormat { .. }
            | Error::Io { .. }) => {
                tracing::error!(%error, "a call at the DynamoDB door failed");
                Fault::new(Kind::Internal, "Internal server error")
            }
        }
    }
}

const CONDITION_FAILED: &str = "The conditional request failed";

fn item_field(item: &Item) -> String {
    let mut out = JsonWriter::new();
    out.raw(",\"Item\":").item(item);
    out.finish()
}

fn canceled(reasons: &[CancelReason]) -> Fault {
    let codes: Vec<&str> = reasons.iter().map(CancelReason::code).collect();
    let mut out = JsonWriter::new();
    out.raw(",\"CancellationReasons\":[");
    out.list(reasons, |out, reason| {
        out.raw("{\"Code\":").text(reason.code());
        match reason {
            CancelReason::None => {}
            CancelReason::ConditionFailed { item } => {
                out.raw(",\"Message\":").text(CONDITION_FAILED);
                if let Some(item) = item {
                    out.raw(",\"Item\":").item(item);
                }
            }
            CancelReason::Invalid(why) => {
                out.raw(",\"Message\":").text(why);
            }
        }
        out.raw("}");
    });
    out.raw("]");
    let message = format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    );
    Fault { more: out.finish(), ..Fault::new(Kind::TransactionCanceled, message) }
}

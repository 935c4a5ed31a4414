//! What can be asked of the store. A request is complete and checked as far as it can be without
//! the store, and it travels as JSON.

use serde::{Deserialize, Serialize};
use table::TableSpec;

use super::{Key, Query, Scan};

/// A command on the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Request {
    List {
        json: bool,
    },
    Describe {
        table: String,
        json: bool,
    },
    Get {
        table: String,
        key: Key,
        format: Format,
        /// The instant as it was given; none for now.
        #[serde(default)]
        at: Option<String>,
    },
    Query(Box<Query>),
    Scan(Box<Scan>),
    Put {
        table: String,
        /// JSON in this format. Its types depend on the table's key, so it is read there.
        item: String,
        format: Format,
    },
    Delete {
        table: String,
        key: Key,
    },
    Create {
        spec: TableSpec,
    },
    Drop {
        table: String,
    },
    Export {
        table: String,
        format: Format,
    },
    Import {
        table: String,
        format: Format,
    },
    Check {
        json: bool,
    },
    CreateBackup,
    CreateKey {
        name: String,
        scopes: Vec<String>,
        expires_ms: Option<u64>,
    },
    ListKeys {
        json: bool,
    },
    RevokeKey {
        name: String,
        /// One secret of it; none for all.
        id: Option<String>,
    },
    OperatorLink {
        /// Where the house would be found, if it is not open and knows better.
        url: String,
        link_hours: u64,
    },
    SignOutOperator,
    RotateScoreKeys,
    /// Follows what happens until nobody listens.
    Tail(Followed),
}

/// What is followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Followed {
    /// Changes of one table, or of all.
    Changes(Option<String>),
    /// Facts, from the transaction that tells one to those of its effects.
    Facts,
    /// Pushes to topics.
    Pushes,
    /// Requests, when they are over.
    Requests,
}

/// How items are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Format {
    /// Plain JSON, for people and most programs.
    Json,
    /// DynamoDB's JSON, which names the type of each value.
    Dynamodb,
}

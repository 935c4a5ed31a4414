//! Tables in DynamoDB's model: the data model, expressions, the `Tables` port, and the embedded
//! engine behind it.
//!
//! Start with [`Tables`] for what can be asked, [`TableSpec`] for how a table is declared, and
//! [`attr`] for conditions. The engine is [`Embedded`]; its design stands at the head of
//! `embedded.rs`. DynamoDB itself as a backend lives in the `dynamodb` crate.

mod embedded;
mod error;
mod expr;
mod json;
pub mod limits;
mod number;
mod options;
pub mod plain;
mod port;
#[cfg(test)]
mod samples;
mod secret;
mod size;
mod spec;
mod typed;
mod validate;
mod value;
mod verbs;
mod watch;

#[cfg(feature = "bench")]
pub use embedded::BareTree;
pub use embedded::{
    AsOf, Backup, Backups, Change, ChangeKind, Changes, Embedded, Faults, Feed, Ground, Health,
    ItemHistory, MemoryDisk, Part, Past, Progress, Reach, Report, Restored, Space, Turn, Version,
    Written, delete_backup, examine, list_backup_names, list_backups, prune_backups, restore,
    space_at, verify,
};
pub use error::{CancelReason, Error};
pub use expr::build::{Size, attr};
pub use expr::parse::{
    Placeholders, parse_actions, parse_condition, parse_filter, parse_key_condition,
    parse_projection,
};
pub use expr::path::{check_paths, project};
pub use expr::render::Renderer;
pub use expr::reserved::is_reserved;
pub use expr::spelling::respell;
pub use expr::{
    Actions, Comparator, Condition, KeyCondition, Operand, Path, SetValue, SortCondition, Step,
    Term,
};
pub use json::{item_from_json, item_to_json, value_from_json, value_to_json};
pub use number::Number;
pub use options::{Backend, Options};
pub use port::{
    Answer, BatchGot, BatchWrite, Check, Delete, Get, Page, Put, Query, Return, Scan,
    TableDescription, Tables, TransactItem, TransactWrite, Update,
};
pub use secret::{HIDDEN, Secret, Secrets};
pub use spec::{Durability, IndexSpec, KeyAttribute, KeySpec, KeyType, Projected, TableSpec};
pub use typed::{from_item, to_item};
pub use value::{Item, Name, Text, Value, ValueType};
pub use verbs::{commit, commit_each, get_all, put_shown, query_all, write_all};
pub use watch::{Partition, Watch};

//! Tables in DynamoDB's model: the data model, expressions, the `Tables` port, and the embedded
//! engine behind it.
//!
//! Start with [`Tables`] for what can be asked, [`TableSpec`] for how a table is declared, and
//! [`attr`] for conditions. The engine is [`Embedded`]; its design stands at the head of
//! `embedded.rs`. DynamoDB itself as a backend lives in the `dynamodb` crate.

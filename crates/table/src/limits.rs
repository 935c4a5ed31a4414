//! Every number that bounds a table. They are DynamoDB's where it has one, so that a
//! house can move there.

use std::time::Duration;

/// An item with its names, in bytes as DynamoDB counts them.
pub const ITEM_BYTES_MAX: usize = 400 * 1024;
/// A partition key value.
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;
/// A sort key value.
pub const SORT_KEY_BYTES_MAX: usize = 1024;
/// Maps and lists inside each other.
pub const DEPTH_MAX: usize = 32;
/// What a query or scan looks at before it answers a page.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// Gets in one batch.
pub const BATCH_GET_MAX: usize = 100;
/// What one batch of gets answers, in bytes; the rest is left unprocessed.
pub const BATCH_GET_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Writes in one batch.
pub const BATCH_WRITE_MAX: usize = 25;
/// Items in one transaction.
pub const TRANSACT_MAX: usize = 100;
/// What the items of one transaction weigh together.
pub const TRANSACT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long an idempotency token is remembered, in seconds.
pub const TOKEN_SECONDS: u64 = 600;
/// The length of an idempotency token.
pub const TOKEN_BYTES_MAX: usize = 36;
/// Digits of a number.
pub const NUMBER_DIGITS_MAX: u32 = 38;
/// Segments of a parallel scan.
pub const SEGMENTS_MAX: u32 = 1_000_000;
/// Secondary indexes of one table. DynamoDB allows 20 global and 5 local ones.
pub const INDEXES_MAX: usize = 25;
/// Operands of one `IN`.
pub const IN_OPERANDS_MAX: usize = 100;
/// The text of one expression.
pub const EXPRESSION_BYTES_MAX: usize = 4096;
/// Operators and functions of one expression.
pub const EXPRESSION_OPERATORS_MAX: usize = 300;
/// All names and values that the expressions of one request stand in for.
pub const PLACEHOLDER_BYTES_MAX: usize = 2 * 1024 * 1024;
/// The name of one attribute, in an item or behind a placeholder.
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 65_535;
/// What the expressions of one request may weigh with every placeholder written out. DynamoDB has
/// no such bound; without one, a request of 2 MB becomes gigabytes by using one value a thousand
/// times. This is eight times all that a request can bring.
pub const EXPANDED_BYTES_MAX: usize = 8 * PLACEHOLDER_BYTES_MAX;
/// Name of a table or an index, shortest.
pub const NAME_CHARS_MIN: usize = 3;
/// Name of a table or an index, longest.
pub const NAME_CHARS_MAX: usize = 255;
/// An item whose expiry lies further back than this is not expired but badly dated (DynamoDB's
/// rule of five years), so that a `ttl` of 0 or in another unit does not delete a table.
pub const EXPIRY_AGE_SECONDS_MAX: u64 = 5 * 365 * 24 * 60 * 60;
/// How often a store is offered what it left undone, without taking any of it in between.
pub const OFFERS_MAX: u32 = 8;
/// How long is waited before it is offered again; each time twice as long.
pub const OFFER_PAUSE: Duration = Duration::from_millis(25);

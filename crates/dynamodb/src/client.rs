//! DynamoDB behind the `Tables` port.

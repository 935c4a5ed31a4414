//! Expressions written as DynamoDB's text.

//! Expressions read from DynamoDB's text.

//! The embedded engine as a DynamoDB endpoint.

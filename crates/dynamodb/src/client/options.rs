//! The settings of the client: endpoint and keys.

base::options! {
    /// DynamoDB as the store: used when `store.backend` is `dynamodb`.
    pub struct Options in "aws" {
        /// The region of DynamoDB. `AWS_REGION` or `AWS_DEFAULT_REGION` set it too.
        pub region: String = "us-east-1".to_owned();
        /// The endpoint of DynamoDB as a URL; empty for the region's own.
        /// `AWS_ENDPOINT_URL_DYNAMODB` or `AWS_ENDPOINT_URL` set it too.
        pub endpoint: String = String::new();
        /// The prefix of every table's name, so that several servers and environments can share an
        /// account: `nagaya-test-` and `nagaya-live-`, for example.
        pub prefix: String = "nagaya-".to_owned();
        /// The id of the key that signs requests. `AWS_ACCESS_KEY_ID` sets it too.
        pub access_key_id: String = String::new();
        /// The secret of this key. `AWS_SECRET_ACCESS_KEY` sets it too.
        pub secret_access_key: String = String::new();
        /// The session token of a temporary key. `AWS_SESSION_TOKEN` sets it too.
        pub session_token: String = String::new();
    }
}

impl Options {
    /// Checks that a client can be created from these options.
    ///
    /// # Errors
    /// There is no key to sign with.
    pub fn check(&self) -> Result<(), table::Error> {
        if self.access_key_id.is_empty() || self.secret_access_key.is_empty() {
            return Err(table::Error::Invalid(
                "dynamodb wants a key: set `aws.access_key_id` and \
                 `aws.secret_access_key`, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

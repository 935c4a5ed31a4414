//! Where DynamoDB is, and who asks.

base::options! {
    /// DynamoDB as the house's store: used when `store.backend` is `dynamodb`.
    pub struct Options in "aws" {
        /// The region whose DynamoDB is asked. `AWS_REGION` or `AWS_DEFAULT_REGION` set it too.
        pub region: String = "us-east-1".to_owned();
        /// Where DynamoDB answers, as a URL; empty for the region's own. `AWS_ENDPOINT_URL_DYNAMODB`
        /// or `AWS_ENDPOINT_URL` set it too.
        pub endpoint: String = String::new();
        /// What the name of every table begins with, so that several houses and environments share
        /// an account: `nagaya-test-` and `nagaya-live-`, say.
        pub prefix: String = "nagaya-".to_owned();
        /// The key by which requests are signed. `AWS_ACCESS_KEY_ID` sets it too.
        pub access_key_id: String = String::new();
        /// Its secret. `AWS_SECRET_ACCESS_KEY` sets it too.
        pub secret_access_key: String = String::new();
        /// The token that comes with a temporary key. `AWS_SESSION_TOKEN` sets it too.
        pub session_token: String = String::new();
    }
}

impl Options {
    /// Whether a client can be made of them.
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

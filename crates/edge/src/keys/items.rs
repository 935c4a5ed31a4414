//! A key as it lies in the table: one item for each name, so that its secrets are one thing.

use base::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ApiKey, ApiSecret};

/// The partition of all keys.
pub(super) const KIND: &str = "key";

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeyItem {
    pk: String,
    /// The key's name.
    pub(super) sk: String,
    pub(super) scopes: Vec<String>,
    pub(super) secrets: Vec<SecretItem>,
    /// Grows with every write.
    pub(super) version: u64,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SecretItem {
    pub(super) id: String,
    pub(super) digest: String,
    pub(super) created_ms: u64,
    pub(super) expires_ms: Option<u64>,
    pub(super) last_used_ms: Option<u64>,
}

impl KeyItem {
    pub(super) fn new(name: &str, scopes: Vec<String>, secret: SecretItem) -> KeyItem {
        let (pk, sk) = (KIND.to_owned(), name.to_owned());
        KeyItem { pk, sk, scopes, secrets: vec![secret], version: 0 }
    }

    pub(super) fn listed(self) -> ApiKey {
        let secrets = self.secrets.iter().map(|secret| ApiSecret {
            id: secret.id.clone(),
            created: Timestamp::from_millis(secret.created_ms),
            expires: secret.expires_ms.map(Timestamp::from_millis),
            last_used: secret.last_used(),
        });
        ApiKey { name: self.sk, scopes: self.scopes, secrets: secrets.collect() }
    }
}

impl SecretItem {
    pub(super) fn is_valid(&self, now: Timestamp) -> bool {
        self.expires_ms.is_none_or(|expires| now.millis() < expires)
    }

    pub(super) fn last_used(&self) -> Option<Timestamp> {
        self.last_used_ms.map(Timestamp::from_millis)
    }
}

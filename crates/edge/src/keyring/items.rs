//! A ring as it lies in the table.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::{Ids, Random, Timestamp};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::{Deserialize, Serialize};

use super::{MacKey, Rotation};

/// The partition of all rings.
pub(super) const KIND: &str = "ring";

/// Letters of a key's id. Only the few keys of one ring must differ.
const KID_LETTERS: usize = 8;

/// Bytes of a key: as long as the hash, more would not make it stronger.
const KEY_BYTES: usize = 32;

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RingItem {
    pk: String,
    sk: String,
    next: KeyItem,
    pub(super) current: KeyItem,
    pub(super) former: Vec<FormerItem>,
    /// When it turns next.
    pub(super) turns_ms: u64,
    /// Grows with every turn.
    pub(super) version: u64,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeyItem {
    kid: String,
    key: String,
    /// Made at the first use: what is signed and verified by it is more than a few.
    #[serde(skip)]
    ready: OnceLock<MacKey>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct FormerItem {
    key: KeyItem,
    /// When another one took its place.
    left_ms: u64,
}

impl RingItem {
    pub(super) fn new(name: &str, turns: Timestamp, ids: &Ids, random: &Random) -> RingItem {
        RingItem {
            pk: KIND.to_owned(),
            sk: name.to_owned(),
            next: KeyItem::new(ids, random),
            current: KeyItem::new(ids, random),
            former: Vec::new(),
            turns_ms: turns.millis(),
            version: 1,
        }
    }

    pub(super) fn turn(&mut self, now: Timestamp, plan: &Rotation, ids: &Ids, random: &Random) {
        self.former.retain(|former| former.is_good(now, plan.keep));
        let next = std::mem::replace(&mut self.next, KeyItem::new(ids, random));
        let left = std::mem::replace(&mut self.current, next);
        self.former.push(FormerItem { key: left, left_ms: now.millis() });
        self.turns_ms = plan.after(now).millis();
        self.version += 1;
    }

    pub(super) fn find(&self, kid: &str, now: Timestamp, keep: Duration) -> Option<MacKey> {
        self.all(now, keep).find(|key| key.kid == kid).map(KeyItem::key)
    }

    /// All keys that verify: the current one first, then the next one and the former ones.
    pub(super) fn all(&self, now: Timestamp, keep: Duration) -> impl Iterator<Item = &KeyItem> {
        let former = self.former.iter().filter(move |former| former.is_good(now, keep));
        [&self.current, &self.next].into_iter().chain(former.map(|former| &former.key))
    }
}

impl KeyItem {
    fn new(ids: &Ids, random: &Random) -> KeyItem {
        let key = URL_SAFE_NO_PAD.encode(random.bytes::<KEY_BYTES>());
        KeyItem { kid: ids.alphanumeric(KID_LETTERS), key, ready: OnceLock::new() }
    }

    pub(super) fn key(&self) -> MacKey {
        let make = || {
            let bytes = URL_SAFE_NO_PAD.decode(&self.key).expect("we wrote the key as Base64");
            let key = hmac::Key::new(hmac::HMAC_SHA256, &bytes);
            MacKey { kid: Arc::from(self.kid.as_str()), key }
        };
        self.ready.get_or_init(make).clone()
    }
}

impl FormerItem {
    fn is_good(&self, now: Timestamp, keep: Duration) -> bool {
        now.since(Timestamp::from_millis(self.left_ms)) < keep
    }
}

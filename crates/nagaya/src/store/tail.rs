//! Changes, as they become durable.

use serde_json::json;
use table::{ChangeKind, item_to_json};

use super::Desk;
use crate::Error;

impl Desk {
    /// Tells every change from now on, until nobody listens. Keys of secrets are not told.
    pub(super) async fn tail(&self, table: Option<&str>) -> Result<(), Error> {
        if !self.stays_open {
            return Err(Error::Usage("no house is open here: nothing changes".to_owned()));
        }
        let mut feed = self.store.changes(self.store.last_change());
        loop {
            let changes = feed.next().await?;
            for change in changes.changes {
                let is_wanted = table.is_none_or(|table| table == change.table);
                if !is_wanted || change.table == edge::CREDENTIALS {
                    continue;
                }
                let kind = match change.kind {
                    ChangeKind::Insert => "insert",
                    ChangeKind::Modify => "modify",
                    ChangeKind::Remove => "remove",
                    ChangeKind::Expire => "expire",
                };
                let key = item_to_json(&change.key);
                let line = json!({
                    "change": changes.seq,
                    "table": change.table,
                    "kind": kind,
                    "key": key,
                });
                self.say(line.to_string()).await?;
            }
        }
    }
}

//! Commands on API keys and on the operator's account.

use std::sync::Arc;

use base::{Ids, Random, Timestamp};
use edge::{Accounts, Keys, OperatorOptions};
use table::Tables;

use super::{Desk, listed};
use crate::Error;
use crate::commands::counted;

impl Desk {
    pub(super) async fn create_key(
        &self,
        name: &str,
        scopes: &[String],
        expires_ms: Option<u64>,
    ) -> Result<(), Error> {
        edge::check_scopes(scopes)?;
        let keys = self.keys().await?;
        let made = keys.create(name, scopes, expires_ms.map(Timestamp::from_millis)).await?;
        self.say(made.text).await?;
        let id = made.id;
        self.note(format!("a secret of key `{name}`, revoked as `{name}/{id}`; not shown again"))
            .await
    }

    pub(super) async fn list_keys(&self, as_json: bool) -> Result<(), Error> {
        let titles = ["key", "scopes", "created", "expires", "last used"].map(str::to_owned);
        let mut rows = vec![titles];
        let time = |time: Option<Timestamp>, none: &str| {
            time.map_or_else(|| none.to_owned(), |time| time.to_string())
        };
        for key in self.keys().await?.list().await? {
            for secret in &key.secrets {
                rows.push([
                    format!("{}/{}", key.name, secret.id),
                    key.scopes.join(","),
                    secret.created.to_string(),
                    time(secret.expires, "never"),
                    time(secret.last_used, "never"),
                ]);
            }
        }
        for line in listed(&rows, as_json) {
            self.say(line).await?;
        }
        Ok(())
    }

    pub(super) async fn revoke_key(&self, name: &str, id: Option<&str>) -> Result<(), Error> {
        let gone = self.keys().await?.revoke(name, id).await?;
        self.say(format!("revoked {} of key `{name}`", counted(gone, "secret"))).await
    }

    pub(super) async fn make_link(&self, otherwise: &str, link_hours: u64) -> Result<(), Error> {
        let options = OperatorOptions { link_hours, ..OperatorOptions::default() };
        let path = self.accounts(&options).await?.make_link().await?;
        self.say(format!("{}{path}", self.url.as_deref().unwrap_or(otherwise))).await?;
        self.note(format!("works once, for {}; sets a new password", counted(link_hours, "hour")))
            .await
    }

    pub(super) async fn sign_out_operator(&self) -> Result<(), Error> {
        self.accounts(&OperatorOptions::default()).await?.sign_out_all().await?;
        self.say("signed out everywhere").await
    }

    pub(super) async fn rotate_score_keys(&self) -> Result<(), Error> {
        let (tables, _) = self.edge_tables().await?;
        score::rotate_keys(tables, self.clock.clone(), Random::from_os()).await?;
        self.say("new plays get a new key; those under way keep theirs").await
    }

    async fn keys(&self) -> Result<Keys, Error> {
        let (tables, ids) = self.edge_tables().await?;
        Ok(Keys::new(tables, self.clock.clone(), ids))
    }

    async fn accounts(&self, options: &OperatorOptions) -> Result<Accounts, Error> {
        let (tables, ids) = self.edge_tables().await?;
        Ok(Accounts::new(tables, options, self.clock.clone(), ids))
    }

    /// A house that was made by an earlier version has them only after its next start.
    async fn edge_tables(&self) -> Result<(Arc<dyn Tables>, Ids), Error> {
        edge::ensure_tables(&*self.store).await?;
        let ids = Ids::new(self.clock.clone(), Random::from_os());
        Ok((Arc::clone(&self.store), ids))
    }
}

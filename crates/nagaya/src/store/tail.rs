//! What happens in a house, as it happens: changes as they become durable, facts on their way,
//! pushes, requests.

use dispatch::{FactStep, FactStepKind};
use hub::{Listening, Noticed};
use serde_json::{Value as Json, json};
use table::{Change, ChangeKind, Changes, item_to_json};

use super::{Desk, Followed, HouseEars, SECRETS};
use crate::Error;

impl Desk {
    /// Tells what happens from now on, until nobody listens.
    pub(super) async fn tail(&self, followed: &Followed) -> Result<(), Error> {
        let Some(HouseEars { pushes, requests }) = &self.ears else {
            return Err(Error::NotOpen);
        };
        match followed {
            Followed::Changes(table) => {
                self.follow(|changes, change| told_change(changes, change, table.as_deref())).await
            }
            Followed::Facts => self.follow(told_fact).await,
            Followed::Pushes => {
                let told = |push: hub::Overheard| json!({ "channel": push.channel, "topic": push.topic, "bytes": push.bytes });
                self.overhear(pushes.listen(), told).await
            }
            Followed::Requests => {
                let told = |request: edge::Finished| {
                    json!({
                        "method": request.method, "path": request.path, "status": request.status,
                        "bytes": request.bytes, "ms": request.lasted.as_secs_f64() * 1_000.0,
                        "client": request.client,
                    })
                };
                self.overhear(requests.listen(), told).await
            }
        }
    }

    async fn follow(&self, told: impl Fn(&Changes, &Change) -> Option<Json>) -> Result<(), Error> {
        let engine = self.engine("the change feed")?;
        let mut feed = engine.changes(engine.last_change());
        loop {
            let changes = feed.next().await?;
            for line in changes.changes.iter().filter_map(|change| told(&changes, change)) {
                self.say(line.to_string()).await?;
            }
        }
    }

    async fn overhear<T: Clone>(
        &self,
        mut listening: Listening<T>,
        told: impl Fn(T) -> Json,
    ) -> Result<(), Error> {
        while let Some(noticed) = listening.next().await {
            match noticed {
                Noticed::Told(what) => self.say(told(what).to_string()).await?,
                Noticed::Missed(count) => self.note(format!("{count} came too fast")).await?,
            }
        }
        Ok(())
    }
}

/// Changes of secret tables are not told: their keys are digests of what opens something.
fn told_change(changes: &Changes, change: &Change, table: Option<&str>) -> Option<Json> {
    let is_wanted = table.is_none_or(|table| table == change.table);
    if !is_wanted || SECRETS.hides_table(&change.table) {
        return None;
    }
    let kind = match change.kind {
        ChangeKind::Insert => "insert",
        ChangeKind::Modify => "modify",
        ChangeKind::Remove => "remove",
        ChangeKind::Expire => "expire",
    };
    let key = item_to_json(&change.key);
    Some(json!({ "change": changes.seq, "table": change.table, "kind": kind, "key": key }))
}

fn told_fact(changes: &Changes, change: &Change) -> Option<Json> {
    let FactStep { fact, kind } = FactStep::of(change)?;
    let mut line = json!({ "change": changes.seq, "fact": fact });
    let (step, of, who) = match kind {
        FactStepKind::Told { kind, subject, cause } => {
            let trace = cause.as_ref().map(|cause| cause.traceparent.clone());
            let more = [
                ("subject", subject),
                ("request", cause.map(|cause| cause.request)),
                ("traceparent", trace),
            ];
            if let Some(line) = line.as_object_mut() {
                let more = more.into_iter().filter_map(|(name, text)| Some((name, text?)));
                line.extend(more.map(|(name, text)| (name.to_owned(), text.into())));
            }
            ("told", "kind", kind)
        }
        FactStepKind::Handed(consumer) => ("handed", "consumer", consumer),
        FactStepKind::Taken { .. } => return None,
        FactStepKind::Postponed(consumer) => ("postponed", "consumer", consumer),
        FactStepKind::Done(consumer) => ("done", "consumer", consumer),
        FactStepKind::Buried(consumer) => ("buried", "consumer", consumer),
    };
    if let Some(line) = line.as_object_mut() {
        line.insert("step".to_owned(), step.into());
        line.insert(of.to_owned(), who.into());
    }
    Some(line)
}

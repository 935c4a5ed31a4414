//! A fact and its encoding: CloudEvents 1.0 in JSON.

use base::{Cause, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;

/// A fact that was not sent yet.
#[derive(Clone, Debug)]
pub struct NewFact {
    id: Option<String>,
    source: String,
    kind: String,
    subject: Option<String>,
    data: Value,
}

/// A record of something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Its id. All copies of the fact have the same one.
    pub id: String,
    /// Its sender: `/sns`.
    pub source: String,
    /// What happened: `sns.post.made`. CloudEvents calls it the type.
    pub kind: String,
    /// The thing that it is about.
    pub subject: Option<String>,
    /// The time at which it was sent.
    pub time: Timestamp,
    /// The request that caused it, if there was one.
    pub cause: Option<Cause>,
    /// The details.
    pub data: Value,
}

/// The encoding on the wire and in the table. `traceparent` is the CloudEvents extension for
/// distributed tracing; `causedby` and `causedat` are our own extensions.
#[derive(Serialize, Deserialize)]
struct CloudEvent {
    specversion: String,
    id: String,
    source: String,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    subject: Option<String>,
    time: String,
    datacontenttype: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    traceparent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    causedby: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    causedat: Option<String>,
    data: Value,
}

impl CloudEvent {
    /// The cause, if all its parts are present: foreign senders may leave parts out.
    fn cause(&mut self) -> Option<Cause> {
        let begun = self.causedat.take()?.parse().ok()?;
        Some(Cause { request: self.causedby.take()?, traceparent: self.traceparent.take()?, begun })
    }
}

impl NewFact {
    /// A fact of this kind from `source`, with its details.
    ///
    /// # Errors
    /// The details cannot be encoded as JSON.
    pub fn new<T: Serialize>(source: &str, kind: &str, data: &T) -> Result<NewFact, Error> {
        let data = serde_json::to_value(data).map_err(|cause| Error::Misfit(cause.to_string()))?;
        let (source, kind) = (source.to_owned(), kind.to_owned());
        Ok(NewFact { id: None, source, kind, subject: None, data })
    }

    /// The thing that the fact is about.
    #[must_use]
    pub fn subject(self, subject: &str) -> NewFact {
        NewFact { subject: Some(subject.to_owned()), ..self }
    }

    /// Sets the id. A fact that is sent twice under one id takes effect once.
    #[must_use]
    pub fn id(self, id: &str) -> NewFact {
        NewFact { id: Some(id.to_owned()), ..self }
    }

    /// The fact with its time, its id (the sender's own or a new one), and the current cause.
    pub(super) fn complete(
        self,
        time: Timestamp,
        id: impl FnOnce() -> String,
    ) -> Result<Fact, Error> {
        let NewFact { id: own, source, kind, subject, data } = self;
        let (id, cause) = (own.unwrap_or_else(id), Cause::current());
        let fact = Fact { id, source, kind, subject, time, cause, data };
        fact.check()?;
        Ok(fact)
    }
}

impl Fact {
    /// Decodes the details.
    ///
    /// # Errors
    /// The details have another type.
    pub fn read_data<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        T::deserialize(&self.data).map_err(|cause| Error::Misfit(cause.to_string()))
    }

    /// CloudEvents 1.0 in JSON.
    pub fn to_json(&self) -> Vec<u8> {
        let event = CloudEvent {
            specversion: "1.0".to_owned(),
            id: self.id.clone(),
            source: self.source.clone(),
            r#type: self.kind.clone(),
            subject: self.subject.clone(),
            time: self.time.to_string(),
            datacontenttype: "application/json".to_owned(),
            traceparent: self.cause.as_ref().map(|cause| cause.traceparent.clone()),
            causedby: self.cause.as_ref().map(|cause| cause.request.clone()),
            causedat: self.cause.as_ref().map(|cause| cause.begun.to_string()),
            data: self.data.clone(),
        };
        serde_json::to_vec(&event).expect("texts and JSON values can be encoded as JSON")
    }

    /// Reads CloudEvents 1.0 in JSON.
    ///
    /// # Errors
    /// The JSON is not a valid fact.
    pub fn from_json(json: &[u8]) -> Result<Fact, Error> {
        let mut event: CloudEvent =
            serde_json::from_slice(json).map_err(|cause| Error::Misfit(cause.to_string()))?;
        if event.specversion != "1.0" {
            return Err(Error::Misfit(format!("CloudEvents {}, not 1.0", event.specversion)));
        }
        let cause = event.cause();
        let fact = Fact {
            id: event.id,
            source: event.source,
            kind: event.r#type,
            subject: event.subject,
            time: event
                .time
                .parse()
                .map_err(|cause: base::Error| Error::Misfit(cause.to_string()))?,
            cause,
            data: event.data,
        };
        fact.check()?;
        Ok(fact)
    }

    /// CloudEvents requires these fields to be non-empty; the id becomes part of a key.
    fn check(&self) -> Result<(), Error> {
        /// The longest sort key, less room for a prefix.
        const ID_BYTES_MAX: usize = 512;
        let missing = [("id", &self.id), ("source", &self.source), ("type", &self.kind)];
        if let Some((name, _)) = missing.iter().find(|(_, text)| text.is_empty()) {
            return Err(Error::Misfit(format!("the {name} of a fact is empty")));
        }
        if self.id.len() > ID_BYTES_MAX {
            let bytes = self.id.len();
            return Err(Error::Misfit(format!(
                "the id of a fact has {bytes} bytes, at most {ID_BYTES_MAX} allowed"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use serde_json::json;

    use super::{Fact, NewFact};
    use base::{Cause, Timestamp};

    #[test]
    fn a_fact_is_a_cloud_event() {
        let fact = NewFact::new("/sns", "sns.post.made", &json!({"likes": 0})).unwrap();
        let fact =
            fact.subject("post 7").complete("2026-04-01T09:30:00Z".parse().unwrap(), || "1".into());
        let event: serde_json::Value = serde_json::from_slice(&fact.unwrap().to_json()).unwrap();
        let expected = json!({
            "specversion": "1.0",
            "id": "1",
            "source": "/sns",
            "type": "sns.post.made",
            "subject": "post 7",
            "time": "2026-04-01T09:30:00.000Z",
            "datacontenttype": "application/json",
            "data": {"likes": 0},
        });
        assert_eq!(event, expected);
    }

    #[tokio::test]
    async fn a_fact_names_the_request_that_caused_it() {
        let cause = Cause {
            request: "POST /sns/v1/posts".to_owned(),
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
            begun: "2026-04-01T09:30:00Z".parse().unwrap(),
        };
        let make = async {
            NewFact::new("/sns", "sns.post.made", &())
                .unwrap()
                .complete(Timestamp::EPOCH, || "1".into())
        };
        let fact = Cause::during(Some(cause.clone()), make).await.unwrap();
        let event: serde_json::Value = serde_json::from_slice(&fact.to_json()).unwrap();
        assert_eq!(event["traceparent"], cause.traceparent);
        assert_eq!(event["causedby"], "POST /sns/v1/posts");
        assert_eq!(event["causedat"], "2026-04-01T09:30:00.000Z");
        assert_eq!(fact.cause, Some(cause));
    }

    #[test]
    fn an_invalid_fact_is_refused() {
        let make = |source: &str, kind: &str, id: &str| {
            let fact = NewFact::new(source, kind, &()).unwrap().id(id);
            fact.complete(Timestamp::EPOCH, String::new)
        };
        assert!(make("/a", "b", "c").is_ok());
        assert!(make("", "b", "c").is_err());
        assert!(make("/a", "", "c").is_err());
        assert!(make("/a", "b", "").is_err());
        assert!(make("/a", "b", &"x".repeat(513)).is_err());
        let older = json!({"specversion": "0.3", "id": "1", "source": "/", "type": "t",
            "time": "2026-04-01T09:30:00Z", "datacontenttype": "application/json", "data": 1});
        assert!(Fact::from_json(older.to_string().as_bytes()).is_err());
        assert!(Fact::from_json(b"{}").is_err());
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_fact_decodes_to_the_same_fact(
            (id, source, kind) in (".{1,20}", ".{1,20}", ".{1,20}"),
            subject in option::of(".{0,10}"),
            millis in 0..253_402_207_200_000_u64,
            cause in option::of(".{0,10}"),
            data in any::<Vec<i64>>(),
        ) {
            let (time, data) = (Timestamp::from_millis(millis), json!({"list": data}));
            let cause = cause.map(|request| Cause { request, traceparent: "00".to_owned(), begun: time });
            let fact = Fact { id, source, kind, subject, time, cause, data };
            prop_assert_eq!(Fact::from_json(&fact.to_json()).unwrap(), fact);
        }
    }
}

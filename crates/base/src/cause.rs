//! Why something happens: the request in whose name work is done.
//!
//! It travels with the task, so that what is told on the way can say who asked for it and nothing
//! between the wire and the teller needs to know of it. A task of its own has no cause until it is
//! given one.

use crate::Timestamp;

tokio::task_local! {
    static CAUSE: Option<Cause>;
}

/// The request that something is done for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What was asked: `POST /sns/v1/posts`.
    pub request: String,
    /// Its place in its trace, as W3C Trace Context writes it.
    pub traceparent: String,
    /// When it came.
    pub begun: Timestamp,
}

impl Cause {
    /// The cause of what is done now, if it has one.
    pub fn current() -> Option<Cause> {
        CAUSE.try_with(Clone::clone).ok().flatten()
    }

    /// Does the work for this cause, or for none.
    pub fn during<F: Future>(cause: Option<Cause>, work: F) -> impl Future<Output = F::Output> {
        CAUSE.scope(cause, work)
    }
}

#[cfg(test)]
mod tests {
    use super::Cause;
    use crate::{Tasks, Timestamp};

    #[tokio::test]
    async fn a_cause_goes_along_with_its_work_and_no_further() {
        let cause = |request: &str| Cause {
            request: request.to_owned(),
            traceparent: "00-1-2-01".to_owned(),
            begun: Timestamp::from_millis(7),
        };
        assert_eq!(Cause::current(), None);
        let work = async {
            tokio::task::yield_now().await;
            let within = Cause::during(Some(cause("b")), async { Cause::current() }).await;
            let (sender, receiver) = tokio::sync::oneshot::channel();
            Tasks::new().spawn("alone", async move { sender.send(Cause::current()).unwrap() });
            (within, Cause::current(), receiver.await.unwrap())
        };
        let seen = Cause::during(Some(cause("a")), work).await;
        assert_eq!(seen, (Some(cause("b")), Some(cause("a")), None));
        assert_eq!(Cause::current(), None);
    }
}

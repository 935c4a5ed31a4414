//! The cause of work: the request that led to it.
//!
//! The cause travels with the task, so that a fact can name its request and the code in between
//! need not pass it on. A spawned task has no cause unless it is given one.

use crate::Timestamp;

tokio::task_local! {
    static CAUSE: Option<Cause>;
}

/// The request that work is done for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The request: `POST /sns/v1/posts`.
    pub request: String,
    /// Its place in its trace, in the format of W3C Trace Context.
    pub traceparent: String,
    /// When it arrived.
    pub begun: Timestamp,
}

impl Cause {
    /// The cause of the current work, if it has one.
    pub fn current() -> Option<Cause> {
        CAUSE.try_with(Clone::clone).ok().flatten()
    }

    /// Runs `work` under this cause, or under none.
    pub fn during<F: Future>(cause: Option<Cause>, work: F) -> impl Future<Output = F::Output> {
        CAUSE.scope(cause, work)
    }
}

#[cfg(test)]
mod tests {
    use super::Cause;
    use crate::{Tasks, Timestamp};

    #[tokio::test]
    async fn a_cause_follows_its_work_and_not_other_tasks() {
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

//! From the hub to the stream.
//!
//! One task publishes, so that pushes of one instance keep their order. It sends a batch and then
//! waits for all its acknowledgements; meanwhile the next batch gathers. A push without one may or
//! may not be in the stream. It is not sent again, because it would come after its successors:
//! instead all are told that something may be missing, again and again until that is in the stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_nats::jetstream::Context;
use base::{Clock, Tasks};
use bytes::Bytes;
use tokio::sync::{Notify, mpsc, watch};

use crate::{Link, frame, limits};

/// What waits for the server. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    queue: mpsc::Sender<Bytes>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Bytes in the queue, and of the batch that waits for its acknowledgements.
    bytes: AtomicUsize,
    /// Whether a push was lost since all were last told.
    has_lost: AtomicBool,
    lost: Notify,
}

/// An empty queue.
pub(crate) fn queue() -> (Outbox, mpsc::Receiver<Bytes>) {
    let (queue, waiting) = mpsc::channel(limits::WAITING_MAX);
    (Outbox { queue, shared: Arc::default() }, waiting)
}

impl Outbox {
    /// Adds a push, if there is room.
    pub(crate) fn put(&self, push: Bytes) {
        let bytes = push.len();
        let before = self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        let fits = before + bytes <= limits::WAITING_BYTES_MAX;
        if !fits || self.queue.try_send(push).is_err() {
            self.shared.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.note_loss("too many wait for NATS");
        }
    }

    /// Notes that all must be told of a push that they will not see.
    pub(crate) fn note_loss(&self, cause: &str) {
        metrics::counter!("nagaya_nats_lost_total").increment(1);
        if !self.shared.has_lost.swap(true, Ordering::AcqRel) {
            tracing::warn!(cause, "pushes are lost");
        }
        self.shared.lost.notify_one();
    }

    /// Whether every push is acknowledged, or known to be lost and announced as such.
    #[cfg(test)]
    pub(crate) fn is_settled(&self) -> bool {
        let has_lost = self.shared.has_lost.load(Ordering::Acquire);
        !has_lost && self.shared.bytes.load(Ordering::Acquire) == 0
    }
}

/// Publishes what waits until the tasks shut down.
pub(crate) fn start(
    context: Context,
    subject: String,
    mut waiting: mpsc::Receiver<Bytes>,
    outbox: &Outbox,
    link: &watch::Sender<Link>,
    clock: &Clock,
    tasks: &Tasks,
) {
    let (outbox, shutdown) = (outbox.clone(), tasks.shutdown().begun());
    let mut publisher =
        Publisher { context, subject, outbox, link: link.subscribe(), clock: clock.clone() };
    tasks.spawn("nats publisher", async move {
        tokio::select! {
            biased;
            () = publisher.run(&mut waiting) => {}
            () = shutdown => {}
        }
        // What rooms said when they closed. The others are told of whatever cannot be sent.
        if *publisher.link.borrow() == Link::Open {
            let mut rest = Vec::new();
            while let Ok(push) = waiting.try_recv() {
                rest.push(push);
            }
            publisher.send(rest).await;
        }
    });
}

struct Publisher {
    context: Context,
    subject: String,
    outbox: Outbox,
    link: watch::Receiver<Link>,
    clock: Clock,
}

impl Publisher {
    async fn run(&mut self, waiting: &mut mpsc::Receiver<Bytes>) {
        loop {
            let mut batch = Vec::new();
            let shared = Arc::clone(&self.outbox.shared);
            tokio::select! {
                biased;
                () = shared.lost.notified() => {}
                count = waiting.recv_many(&mut batch, limits::BATCH_MAX) => {
                    if count == 0 {
                        return;
                    }
                }
            }
            // What waits is in nobody else's hands until the stream is there to take it.
            if self.link.wait_for(|link| *link == Link::Open).await.is_err() {
                return;
            }
            self.send(batch).await;
        }
    }

    /// Sends a batch, behind the word about an earlier loss.
    async fn send(&mut self, mut batch: Vec<Bytes>) {
        let bytes = batch.iter().map(Bytes::len).sum();
        if self.outbox.shared.has_lost.swap(false, Ordering::AcqRel) {
            batch.insert(0, frame::lost());
        }
        if let Err(cause) = self.publish(batch).await {
            self.outbox.note_loss(&cause);
            // A server that refuses is not asked without a pause.
            self.clock.sleep(limits::TRY_AGAIN).await;
        }
        self.outbox.shared.bytes.fetch_sub(bytes, Ordering::Release);
    }

    /// Publishes all of it; why some may be missing.
    async fn publish(&mut self, batch: Vec<Bytes>) -> Result<(), String> {
        let (context, subject) = (&self.context, &self.subject);
        let acknowledged = async {
            let mut acknowledgements = Vec::with_capacity(batch.len());
            let mut whole = Ok(());
            for message in batch {
                match context.publish(subject.clone(), message).await {
                    Ok(acknowledgement) => acknowledgements.push(acknowledgement),
                    Err(cause) => whole = Err(cause.to_string()),
                }
            }
            for acknowledgement in acknowledgements {
                if let Err(cause) = acknowledgement.await {
                    whole = Err(cause.to_string());
                }
            }
            whole
        };
        let gone = self.link.wait_for(|link| *link != Link::Open);
        tokio::select! {
            biased;
            whole = self.clock.timeout(limits::ANSWER_WITHIN, acknowledged) => match whole {
                Ok(whole) => whole,
                Err(_) => Err("NATS does not acknowledge in time".to_owned()),
            },
            _ = gone => Err("the connection broke".to_owned()),
        }
    }
}

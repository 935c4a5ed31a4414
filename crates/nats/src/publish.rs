//! The writing side: from the hub to the stream.
//!
//! One task publishes, so that the pushes of one instance keep their order. It sends a batch and
//! waits for all acknowledgements; meanwhile the next batch collects. A push without an
//! acknowledgement may or may not be in the stream. It is not sent again, because it would come
//! after its successors. Instead a loss message goes to all instances, and is repeated until the
//! stream has acknowledged it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_nats::jetstream::Context;
use base::{Clock, Tasks};
use bytes::Bytes;
use tokio::sync::{Notify, mpsc, watch};

use crate::{LinkState, frame, limits};

/// The queue of messages for NATS. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    queue: mpsc::Sender<Bytes>,
    state: Arc<OutboxState>,
}

#[derive(Debug, Default)]
struct OutboxState {
    /// Bytes in the queue and in the batch that waits for acknowledgements.
    bytes: AtomicUsize,
    /// Whether a push was lost since the last loss message.
    has_lost: AtomicBool,
    lost: Notify,
}

/// An empty queue.
pub(crate) fn queue() -> (Outbox, mpsc::Receiver<Bytes>) {
    let (queue, waiting) = mpsc::channel(limits::WAITING_MAX);
    (Outbox { queue, state: Arc::default() }, waiting)
}

impl Outbox {
    /// Adds a push, if there is room.
    pub(crate) fn put(&self, push: Bytes) {
        let bytes = push.len();
        let before = self.state.bytes.fetch_add(bytes, Ordering::Relaxed);
        let fits = before + bytes <= limits::WAITING_BYTES_MAX;
        if !fits || self.queue.try_send(push).is_err() {
            self.state.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.note_loss("too many pushes wait for NATS");
        }
    }

    /// Records that the instances must learn of a lost push.
    pub(crate) fn note_loss(&self, cause: &str) {
        metrics::counter!("nagaya_nats_lost_total").increment(1);
        if !self.state.has_lost.swap(true, Ordering::AcqRel) {
            tracing::warn!(cause, "pushes are lost");
        }
        self.state.lost.notify_one();
    }

    /// Whether every push is acknowledged or reported as lost.
    #[cfg(test)]
    pub(crate) fn is_flushed(&self) -> bool {
        let has_lost = self.state.has_lost.load(Ordering::Acquire);
        !has_lost && self.state.bytes.load(Ordering::Acquire) == 0
    }
}

/// Publishes the queue until shutdown.
pub(crate) fn start(
    context: Context,
    subject: String,
    mut waiting: mpsc::Receiver<Bytes>,
    outbox: &Outbox,
    link: &watch::Sender<LinkState>,
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
        // The last pushes that rooms sent while closing. The rest is reported as lost.
        if *publisher.link.borrow() == LinkState::Open {
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
    link: watch::Receiver<LinkState>,
    clock: Clock,
}

impl Publisher {
    async fn run(&mut self, waiting: &mut mpsc::Receiver<Bytes>) {
        loop {
            let mut batch = Vec::new();
            let state = Arc::clone(&self.outbox.state);
            tokio::select! {
                biased;
                () = state.lost.notified() => {}
                count = waiting.recv_many(&mut batch, limits::BATCH_MAX) => {
                    if count == 0 {
                        return;
                    }
                }
            }
            // The batch is taken only now that the stream can accept it.
            if self.link.wait_for(|link| *link == LinkState::Open).await.is_err() {
                return;
            }
            self.send(batch).await;
        }
    }

    /// Sends a batch, after the loss message if one is due.
    async fn send(&mut self, mut batch: Vec<Bytes>) {
        let bytes = batch.iter().map(Bytes::len).sum();
        if self.outbox.state.has_lost.swap(false, Ordering::AcqRel) {
            batch.insert(0, frame::lost());
        }
        if let Err(cause) = self.publish(batch).await {
            self.outbox.note_loss(&cause);
            // A server that refuses is asked again only after a pause.
            self.clock.sleep(limits::TRY_AGAIN).await;
        }
        self.outbox.state.bytes.fetch_sub(bytes, Ordering::Release);
    }

    /// Publishes all messages; an error means that some may be missing.
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
        let gone = self.link.wait_for(|link| *link != LinkState::Open);
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

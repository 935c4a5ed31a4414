//! Metrics of queues. Their names begin with `nagaya_queue_`.

use base::Timestamp;
use metrics::{Counter, Gauge, Histogram};

use super::{Delivery, Depth};

/// Handles to the metrics of one queue, created once.
pub(super) struct Meters {
    /// Messages sent.
    pub(super) sent: Counter,
    /// Handled messages.
    pub(super) done: Counter,
    /// Messages that are retried later.
    pub(super) retried: Counter,
    /// Messages that became dead letters.
    pub(super) buried: Counter,
    received: Counter,
    lateness: Histogram,
    messages: Gauge,
    due: Gauge,
    oldest: Gauge,
    dead: Gauge,
}

impl Meters {
    pub(super) fn register(queue: &str) -> Meters {
        describe();
        let name = || queue.to_owned();
        Meters {
            sent: metrics::counter!("nagaya_queue_sent_total", "queue" => name()),
            done: metrics::counter!("nagaya_queue_done_total", "queue" => name()),
            retried: metrics::counter!("nagaya_queue_retried_total", "queue" => name()),
            buried: metrics::counter!("nagaya_queue_buried_total", "queue" => name()),
            received: metrics::counter!("nagaya_queue_received_total", "queue" => name()),
            lateness: metrics::histogram!("nagaya_queue_lateness_seconds", "queue" => name()),
            messages: metrics::gauge!("nagaya_queue_depth", "queue" => name()),
            due: metrics::gauge!("nagaya_queue_due", "queue" => name()),
            oldest: metrics::gauge!("nagaya_queue_oldest_age_seconds", "queue" => name()),
            dead: metrics::gauge!("nagaya_queue_dead_letters", "queue" => name()),
        }
    }

    pub(super) fn received(&self, deliveries: &[Delivery], now: Timestamp) {
        self.received.increment(deliveries.len() as u64);
        for message in deliveries.iter().map(Delivery::message) {
            // A later receive follows a lease that ended, so it says nothing about the lateness of
            // the queue.
            if message.receives == 1 {
                self.lateness.record(now.since(message.due()).as_secs_f64());
            }
        }
    }

    pub(super) fn set_depth(&self, depth: Depth, now: Timestamp) {
        self.messages.set(depth.messages as f64);
        self.due.set(depth.due as f64);
        let oldest = depth.oldest_due.map(|due| now.since(due)).unwrap_or_default();
        self.oldest.set(oldest.as_secs_f64());
        self.dead.set(depth.dead as f64);
    }
}

fn describe() {
    metrics::describe_counter!("nagaya_queue_sent_total", "Messages sent.");
    metrics::describe_counter!("nagaya_queue_done_total", "Messages done and deleted.");
    metrics::describe_counter!("nagaya_queue_retried_total", "Messages to be tried again.");
    metrics::describe_counter!("nagaya_queue_buried_total", "Messages given up.");
    metrics::describe_counter!("nagaya_queue_received_total", "Messages handed out.");
    metrics::describe_histogram!(
        "nagaya_queue_lateness_seconds",
        "From a message's due time to its being handed out for the first time."
    );
    metrics::describe_gauge!("nagaya_queue_depth", "Messages in the queue, due or not.");
    metrics::describe_gauge!("nagaya_queue_due", "Messages in the queue that are due.");
    metrics::describe_gauge!(
        "nagaya_queue_oldest_age_seconds",
        "How long the first message has been due; 0 if none is."
    );
    metrics::describe_gauge!("nagaya_queue_dead_letters", "Messages given up and kept.");
}

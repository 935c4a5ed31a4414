//! What the house counts, read from its own numbers: the text that `/metrics` answers.
//!
//! The text has a line for each route, queue and channel, and none for each group, source or item.

use std::collections::BTreeMap;

/// The rooms, by the first word of their paths and channels.
pub(crate) const ROOMS: [&str; 5] = ["mesh", "sns", "live", "collect", "score"];

/// The numbers of one moment. Most of them only grow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Numbers {
    /// By the order of [`ROOMS`].
    pub(crate) rooms: [RoomNumbers; 5],
    pub(crate) store: StoreNumbers,
    /// By name.
    pub(crate) queues: BTreeMap<String, QueueNumbers>,
    /// By name.
    pub(crate) channels: BTreeMap<String, ChannelNumbers>,
    /// Readers of streams.
    pub(crate) readers: f64,
}

/// What one room does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RoomNumbers {
    /// Everything that happens there: requests, pushes, calls.
    pub(crate) moves: f64,
    /// What the room is there for: a message, a comment, a call, a play, a post.
    pub(crate) deeds: f64,
    /// Of these, those that failed.
    pub(crate) failures: f64,
    /// Topics that somebody follows or that remember something.
    pub(crate) topics: f64,
}

/// What the store does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StoreNumbers {
    pub(crate) commits: f64,
    /// Seconds of all batches, and how many they are.
    pub(crate) batch_seconds: f64,
    pub(crate) batches: f64,
    /// Batches that took at most so many seconds.
    pub(crate) within: Vec<(f64, f64)>,
    pub(crate) bytes: f64,
    /// Nothing where the store is not the house's own.
    pub(crate) is_writable: Option<bool>,
}

/// What one queue does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct QueueNumbers {
    pub(crate) depth: f64,
    pub(crate) due: f64,
    pub(crate) oldest_seconds: f64,
    pub(crate) dead: f64,
    pub(crate) sent: f64,
    pub(crate) done: f64,
    pub(crate) retried: f64,
}

/// What one channel of the hub does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ChannelNumbers {
    pub(crate) topics: f64,
    pub(crate) pushes: f64,
    pub(crate) deliveries: f64,
    pub(crate) missed: f64,
}

impl Numbers {
    /// Reads Prometheus' text form.
    pub(crate) fn read(text: &str) -> Numbers {
        let mut numbers = Numbers::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((name, value)) = line.rsplit_once(' ') else { continue };
            let Ok(value) = value.parse::<f64>() else { continue };
            let (name, labels) = name.split_once('{').unwrap_or((name, ""));
            numbers.take(name, Labels(labels.strip_suffix('}').unwrap_or(labels)), value);
        }
        numbers
    }

    fn take(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        if name.starts_with("nagaya_hub_") {
            self.take_channel(name, labels, value);
        }
        match name {
            "nagaya_http_requests_total" => self.take_requests(labels, value),
            "nagaya_collect_calls_total" => {
                if let Some(room) = self.room("collect") {
                    let has_come = labels.get("outcome") == Some("ok");
                    room.moves += value;
                    room.deeds += value;
                    room.failures += if has_come { 0.0 } else { value };
                }
            }
            "nagaya_hub_pushes_total" => {
                let channel = labels.get("channel").unwrap_or_default();
                let Some(room) = self.room(first_word(channel, '.')) else { return };
                room.moves += value;
                // Rooms whose deed is a message.
                if matches!(channel, "mesh.group" | "live.room") {
                    room.deeds += value;
                }
            }
            "nagaya_hub_topics" => {
                let channel = labels.get("channel").unwrap_or_default();
                if matches!(channel, "mesh.group" | "live.room" | "score.board" | "sns.user")
                    && let Some(room) = self.room(first_word(channel, '.'))
                {
                    room.topics = value;
                }
            }
            "nagaya_hub_subscribers" => self.readers = value,
            _ if name.starts_with("nagaya_store_") => self.store.take(name, labels, value),
            _ if name.starts_with("nagaya_queue_") => self.take_queue(name, labels, value),
            _ => {}
        }
    }

    fn take_requests(&mut self, labels: Labels<'_>, value: f64) {
        let route = labels.get("route").unwrap_or_default();
        let Some(name) = route.strip_prefix('/').map(|path| first_word(path, '/')) else { return };
        let Some(room) = self.room(name) else { return };
        room.moves += value;
        let is_done = labels.get("status").is_some_and(|status| status.starts_with('2'));
        let is_deed = match (labels.get("method"), route) {
            (Some("PUT"), "/score/scores/{game}/{period}/{user}") => true,
            (Some("POST"), "/sns/v1/posts") => true,
            (Some(_) | None, _) => false,
        };
        if is_deed {
            room.deeds += if is_done { value } else { 0.0 };
            room.failures += if is_done { 0.0 } else { value };
        }
    }

    fn take_channel(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        let Some(channel) = labels.get("channel") else { return };
        let channel = self.channels.entry(channel.to_owned()).or_default();
        match name {
            "nagaya_hub_topics" => channel.topics = value,
            "nagaya_hub_pushes_total" => channel.pushes = value,
            "nagaya_hub_deliveries_total" => channel.deliveries = value,
            "nagaya_hub_missed_total" => channel.missed = value,
            _ => {}
        }
    }

    fn take_queue(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        let Some(queue) = labels.get("queue") else { return };
        let queue = self.queues.entry(queue.to_owned()).or_default();
        match name {
            "nagaya_queue_depth" => queue.depth = value,
            "nagaya_queue_due" => queue.due = value,
            "nagaya_queue_oldest_age_seconds" => queue.oldest_seconds = value,
            "nagaya_queue_dead_letters" => queue.dead = value,
            "nagaya_queue_sent_total" => queue.sent = value,
            "nagaya_queue_done_total" => queue.done = value,
            "nagaya_queue_retried_total" => queue.retried = value,
            _ => {}
        }
    }

    fn room(&mut self, name: &str) -> Option<&mut RoomNumbers> {
        let index = ROOMS.iter().position(|room| *room == name)?;
        self.rooms.get_mut(index)
    }
}

impl StoreNumbers {
    fn take(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        match name {
            "nagaya_store_committed_total" => self.commits = value,
            "nagaya_store_commit_seconds_sum" => self.batch_seconds = value,
            "nagaya_store_commit_seconds_count" => self.batches = value,
            "nagaya_store_commit_seconds_bucket" => {
                let bound = labels.get("le").and_then(|bound| bound.parse::<f64>().ok());
                self.within.extend(bound.map(|bound| (bound, value)));
            }
            "nagaya_store_tree_bytes" | "nagaya_store_log_bytes" => self.bytes += value,
            "nagaya_store_writable" => self.is_writable = Some(value > 0.0),
            _ => {}
        }
    }
}

/// Labels of a line: `a="1",b="2"`. What we put into them holds no quotes.
#[derive(Clone, Copy)]
struct Labels<'t>(&'t str);

impl<'t> Labels<'t> {
    fn get(self, name: &str) -> Option<&'t str> {
        let mut pairs = self.0.split("\",");
        pairs.find_map(|pair| {
            pair.strip_prefix(name)?.strip_prefix("=\"").map(|value| value.trim_end_matches('"'))
        })
    }
}

fn first_word(text: &str, end: char) -> &str {
    text.split(end).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn numbers_are_read_by_their_labels_and_what_is_unknown_is_left() {
        let numbers = Numbers::read(
            "# TYPE nagaya_http_requests_total counter\n\
             nagaya_http_requests_total{method=\"PUT\",route=\"/score/scores/{game}/{period}/{user}\",status=\"200\"} 3\n\
             nagaya_http_requests_total{method=\"PUT\",route=\"/score/scores/{game}/{period}/{user}\",status=\"403\"} 2\n\
             nagaya_http_requests_total{method=\"GET\",route=\"/livez\",status=\"200\"} 9\n\
             nagaya_collect_calls_total{outcome=\"ok\"} 7\n\
             nagaya_collect_calls_total{outcome=\"failed\"} 1\n\
             nagaya_hub_pushes_total{channel=\"mesh.group\"} 5\n\
             nagaya_hub_topics{channel=\"sns.user\"} 4\n\
             nagaya_store_commit_seconds_bucket{le=\"0.001\"} 6\n\
             nagaya_store_commit_seconds_bucket{le=\"+Inf\"} 8\n\
             nagaya_store_tree_bytes 100\n\
             nagaya_store_log_bytes 20\n\
             nagaya_store_writable 1\n\
             nagaya_queue_depth{queue=\"bus.outbox\"} 11\n\
             something_else{a=\"b\"} 1\n\
             broken\n",
        );
        let [mesh, sns, live, collect, score] = numbers.rooms;
        assert_eq!((score.moves, score.deeds, score.failures), (5.0, 3.0, 2.0));
        assert_eq!((collect.deeds, collect.failures), (8.0, 1.0));
        assert_eq!((mesh.moves, mesh.deeds), (5.0, 5.0));
        assert_eq!((sns.topics, live.moves), (4.0, 0.0));
        assert_eq!(numbers.store.bytes, 120.0);
        assert_eq!(numbers.store.is_writable, Some(true));
        assert_eq!(numbers.store.within, [(0.001, 6.0), (f64::INFINITY, 8.0)]);
        assert_eq!(numbers.queues["bus.outbox"].depth, 11.0);
        assert_eq!(numbers.channels["mesh.group"].pushes, 5.0);
    }
}

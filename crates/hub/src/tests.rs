//! The hub on trial through its public face.

mod fanout;
mod instances;
mod order;
mod presence;
mod resume;
mod slow;
mod topics;

use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};

use crate::{
    Channel, ChannelSpec, Deliveries, Follow, Gap, History, Hub, Item, Position, QueueLimits,
    Since, Subscriber, Subscription, Text,
};

const ROOMY: QueueLimits = QueueLimits { pushes: 100_000, bytes: 100_000_000 };
const MINUTE: Duration = Duration::from_secs(60);

/// A hub on a time that stands still.
struct House {
    hub: Hub,
    time: VirtualTime,
    tasks: Tasks,
}

impl House {
    fn new() -> House {
        let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
        let tasks = Tasks::new();
        House { hub: Hub::in_process(&clock, &Random::seeded(1), &tasks), time, tasks }
    }

    fn channel(&self, pushes: usize) -> Channel {
        let history = History { pushes, bytes: 1_000_000, age: MINUTE };
        self.hub.channel(ChannelSpec::new("test", history))
    }
}

/// A subscriber of one topic.
struct Reader {
    subscriber: Subscriber,
    subscription: Subscription,
    deliveries: Deliveries,
}

impl Reader {
    fn new(channel: &Channel, topic: &str, follow: Follow, limits: QueueLimits) -> Reader {
        let (subscriber, deliveries) = channel.hub.subscriber(limits);
        let joined = subscriber.follow(channel, topic, follow, |_| None).unwrap();
        Reader { subscriber, subscription: joined.subscription, deliveries }
    }

    /// What can be read without waiting.
    async fn read(&mut self) -> Vec<Item> {
        let mut all = Vec::new();
        std::future::poll_fn(|context| {
            while let std::task::Poll::Ready(Ok(())) =
                self.deliveries.poll_take(context, 1_000, &mut all)
            {}
            std::task::Poll::Ready(())
        })
        .await;
        all
    }

    async fn read_texts(&mut self) -> Vec<String> {
        texts(&self.read().await)
    }

    fn position(&self) -> Position {
        self.deliveries.positions()[0].position
    }
}

fn texts(items: &[Item]) -> Vec<String> {
    let text = |item: &Item| match item {
        Item::Push { text, envelope: None, .. } | Item::Reply(text) => text.as_str().to_owned(),
        Item::Push { text, position, envelope: Some(around), .. } => {
            let stamp = around.stamp_at(*position);
            let parts = [&around.prefix, text, &stamp, &around.suffix];
            parts.map(Text::as_str).concat()
        }
        Item::Gap(Gap { missed, .. }) => format!("gap of {missed}"),
    };
    items.iter().map(text).collect()
}

fn since(since: Since) -> Follow {
    Follow { since, ..Follow::default() }
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

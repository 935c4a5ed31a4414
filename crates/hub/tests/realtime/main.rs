//! The hub through its public interface.

#[cfg(test)]
mod fanout;
#[cfg(test)]
mod instances;
#[cfg(test)]
mod order;
#[cfg(test)]
mod presence;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod slow;
#[cfg(test)]
mod topics;
#[cfg(test)]
mod turns;

use std::time::Duration;

use base::{Tasks, VirtualTime};
use hub::{
    Channel, ChannelSpec, Deliveries, Follow, Gap, History, Hub, Item, Position, QueueLimits,
    Since, Subscriber, Subscription, Text,
};
use testkit::World;

const ROOMY: QueueLimits = QueueLimits { pushes: 100_000, bytes: 100_000_000 };
const MINUTE: Duration = Duration::from_secs(60);

/// The hub of one instance, with a clock that only the test moves.
struct Fixture {
    hub: Hub,
    time: VirtualTime,
    tasks: Tasks,
}

impl Fixture {
    async fn new() -> Fixture {
        let world = World::new().await;
        let ground = world.instance().await.ground;
        Fixture { hub: ground.hub, time: world.time, tasks: ground.tasks }
    }

    /// A channel with a history of this many pushes.
    fn channel(&self, pushes: usize) -> OpenChannel {
        let history = History { pushes, bytes: 1_000_000, age: MINUTE };
        self.open(ChannelSpec::new("test", history))
    }

    fn open(&self, spec: ChannelSpec) -> OpenChannel {
        OpenChannel::new(&self.hub, spec)
    }
}

/// A channel with its hub.
#[derive(Clone)]
struct OpenChannel {
    hub: Hub,
    channel: Channel,
}

impl OpenChannel {
    fn new(hub: &Hub, spec: ChannelSpec) -> OpenChannel {
        OpenChannel { hub: hub.clone(), channel: hub.channel(spec) }
    }
}

impl std::ops::Deref for OpenChannel {
    type Target = Channel;

    fn deref(&self) -> &Channel {
        &self.channel
    }
}

/// A subscriber of one topic.
struct Reader {
    subscriber: Subscriber,
    subscription: Subscription,
    deliveries: Deliveries,
}

impl Reader {
    fn new(channel: &OpenChannel, topic: &str, follow: Follow, limits: QueueLimits) -> Reader {
        let (subscriber, deliveries) = channel.hub.subscriber(limits);
        let joined = subscriber.follow(channel, topic, follow, |_| None);
        let joined = joined.expect("a topic of a test has a good name");
        Reader { subscriber, subscription: joined.subscription, deliveries }
    }

    /// The items that can be read without waiting.
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
        let positions = self.deliveries.positions();
        positions.first().expect("it follows a topic").position
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

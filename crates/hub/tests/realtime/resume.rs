//! A resuming reader gets each push once, in order, or a gap.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks, Timestamp};
use hub::{
    Carrier, ChannelSpec, Follow, Gap, History, Hub, Item, Policy, Position, QueueLimits, Since,
    Text, TopicName,
};
use parking_lot::Mutex;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::TestCaseError;

use super::{Fixture, MINUTE, OpenChannel, ROOMY, Reader, numbers, since};

/// Two instances that receive every push in one order, as over a stream.
#[derive(Default)]
struct SharedStream {
    state: Mutex<(u64, Vec<Hub>)>,
}

struct StreamCarrier(Arc<SharedStream>);

impl Carrier for StreamCarrier {
    fn epoch(&self) -> u64 {
        7
    }

    fn head(&self) -> u64 {
        self.0.state.lock().0
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn carry(&self, _: &Hub, topic: TopicName<'_>, text: Text) {
        let mut state = self.0.state.lock();
        state.0 += 1;
        let number = state.0;
        for hub in &state.1 {
            hub.deliver(topic, || number, text.clone());
            // A stream may repeat a message after a broken connection.
            hub.deliver(topic, || number, text.clone());
        }
    }
}

#[derive(Clone, Debug)]
enum ClientStep {
    Publish { topic: usize, count: usize },
    Read(usize),
    Reconnect { reader: usize, instance: usize },
    Wait,
}

fn steps() -> impl Strategy<Value = Vec<ClientStep>> {
    let step = prop_oneof![
        6 => (0..2_usize, 1..30_usize).prop_map(|(topic, count)| ClientStep::Publish { topic, count }),
        5 => (0..READERS).prop_map(ClientStep::Read),
        3 => (0..READERS, 0..2_usize)
            .prop_map(|(reader, instance)| ClientStep::Reconnect { reader, instance }),
        1 => proptest::strategy::Just(ClientStep::Wait),
    ];
    vec(step, 1..60)
}

const READERS: usize = 6;
const TOPICS: [&str; 2] = ["a", "b"];

/// The state of one client over all its connections.
struct Client {
    topic: usize,
    policy: Policy,
    reader: Option<Reader>,
    position: Position,
    /// The number of the next push, counted in its topic.
    next: u64,
    gaps: u64,
}

impl Client {
    /// Reconnects at the last position.
    fn connect(&mut self, channel: &OpenChannel) {
        let (subscriber, deliveries) =
            channel.hub.subscriber(QueueLimits { pushes: 8, bytes: 1_000 });
        let follow = Follow { policy: self.policy, ..since(Since::After(self.position)) };
        let joined = subscriber.follow(channel, TOPICS[self.topic], follow, |_| None).unwrap();
        if joined.gap {
            self.position = joined.position;
            self.gaps += 1;
            self.next = u64::MAX;
        }
        self.reader = Some(Reader { subscriber, subscription: joined.subscription, deliveries });
    }

    async fn read(&mut self) -> Result<(), TestCaseError> {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        for item in reader.read().await {
            match item {
                Item::Push { position, text, .. } => {
                    let number: u64 = text.as_str().parse().unwrap();
                    let expected = if self.next == u64::MAX { number } else { self.next };
                    prop_assert!(number == expected, "{number} instead of {expected}");
                    self.next = number + 1;
                    self.position = position;
                }
                Item::Gap(Gap { missed, after, until, .. }) => {
                    prop_assert!(missed > 0 && after == self.position);
                    self.position = until;
                    self.gaps += 1;
                    if self.next != u64::MAX {
                        self.next += missed;
                    }
                }
                Item::Reply(text) => panic!("{text:?}"),
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(testkit::depth::cases(64))]

    /// Two instances, two topics, small queues, short history.
    #[test]
    fn every_push_is_seen_once_in_order_or_reported_as_a_gap(
        steps in steps(),
        history in 0..60_usize,
        policies in vec(any::<u8>(), READERS),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(play(steps, history, &policies))?;
    }
}

async fn play(
    steps: Vec<ClientStep>,
    history: usize,
    policies: &[u8],
) -> Result<(), TestCaseError> {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let (tasks, joined) = (Tasks::new(), Arc::new(SharedStream::default()));
    let history = History { pushes: history, bytes: 1_000_000, age: MINUTE };
    let mut channels = Vec::new();
    for _ in 0..2 {
        let hub = Hub::with_carrier(
            &clock,
            &Random::seeded(1),
            &tasks,
            Arc::new(StreamCarrier(joined.clone())),
        );
        channels.push(OpenChannel::new(&hub, ChannelSpec::new("test", history)));
        joined.state.lock().1.push(hub);
    }
    let mut clients: Vec<Client> = Vec::new();
    for (index, policy) in policies.iter().enumerate() {
        let policy =
            [Policy::CatchUp, Policy::DropOldest, Policy::Disconnect][*policy as usize % 3];
        let position = Position { epoch: 7, offset: 0 };
        let mut client =
            Client { topic: index % 2, policy, reader: None, position, next: 0, gaps: 0 };
        client.connect(&channels[index % 2]);
        clients.push(client);
    }
    let mut published: BTreeMap<usize, u64> = BTreeMap::new();
    for step in steps {
        match step {
            ClientStep::Publish { topic, count } => {
                for _ in 0..count {
                    let number = published.entry(topic).or_default();
                    channels[0].publish(TOPICS[topic], number.to_string());
                    *number += 1;
                }
            }
            ClientStep::Read(reader) => clients[reader].read().await?,
            ClientStep::Reconnect { reader, instance } => {
                clients[reader].reader = None;
                clients[reader].connect(&channels[instance]);
            }
            ClientStep::Wait => time.advance(Duration::from_secs(20)).await,
        }
    }
    // At the end all clients read on, reconnect if they were disconnected, and have seen
    // everything.
    for client in &mut clients {
        client.read().await?;
        client.reader = None;
        client.connect(&channels[0]);
        client.read().await?;
        let total = published.get(&client.topic).copied().unwrap_or(0);
        let knows_all = client.next == total || (client.next == u64::MAX && client.gaps > 0);
        prop_assert!(knows_all, "next is {} of {total}", client.next);
    }
    prop_assert_eq!(tasks.panicked(), Vec::<String>::new());
    Ok(())
}

#[testkit::test]
async fn history_fills_a_gap_or_reports_that_the_position_is_too_old() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(5);
    let mut reader = Reader::new(&channel, "t", Follow::default(), ROOMY);
    numbers(0..3).into_iter().for_each(|text| channel.publish("t", text));
    assert_eq!(reader.read_texts().await, ["0", "1", "2"]);
    let position = reader.position();
    drop(reader);
    numbers(3..8).into_iter().for_each(|text| channel.publish("t", text));
    let mut back = Reader::new(&channel, "t", since(Since::After(position)), ROOMY);
    assert_eq!(back.read_texts().await, ["3", "4", "5", "6", "7"]);

    channel.publish("t", "8");
    let (subscriber, deliveries) = fixture.hub.subscriber(ROOMY);
    let joined = subscriber.follow(&channel, "t", since(Since::After(position)), |_| None).unwrap();
    assert!(joined.gap, "the fourth push is gone");
    channel.publish("t", "9");
    let mut late = Reader { subscriber, subscription: joined.subscription, deliveries };
    assert_eq!(late.read_texts().await, ["9"]);
}

#[testkit::test]
async fn another_epoch_or_a_number_from_the_future_is_a_gap() {
    let fixture = Fixture::new().await;
    let channel = fixture.channel(5);
    channel.publish("t", "0");
    let (subscriber, _deliveries) = fixture.hub.subscriber(ROOMY);
    let here = subscriber.follow(&channel, "t", Follow::default(), |_| None).unwrap().position;
    let strange =
        [Position { epoch: here.epoch ^ 1, ..here }, Position { offset: here.offset + 1, ..here }];
    for position in strange {
        let follow = since(Since::After(position));
        assert!(subscriber.follow(&channel, "t", follow, |_| None).unwrap().gap, "{position}");
    }
    let follow = since(Since::After(here));
    assert!(!subscriber.follow(&channel, "t", follow, |_| None).unwrap().gap);
}

#[testkit::test]
async fn history_is_bounded_by_bytes_and_by_age() {
    let fixture = Fixture::new().await;
    let history = History { pushes: 100, bytes: 10, age: MINUTE };
    let channel = fixture.open(ChannelSpec::new("bytes", history));
    ["aaaa", "bbbb", "cccc"].into_iter().for_each(|text| channel.publish("t", text));
    let mut reader = Reader::new(&channel, "t", since(Since::Oldest), ROOMY);
    assert_eq!(reader.read_texts().await, ["bbbb", "cccc"]);
    drop(reader);
    fixture.time.advance(MINUTE / 2).await;
    channel.publish("t", "dd");
    fixture.time.advance(MINUTE / 2).await;
    channel.publish("t", "ee");
    let mut reader = Reader::new(&channel, "t", since(Since::Oldest), ROOMY);
    assert_eq!(reader.read_texts().await, ["dd", "ee"]);
}

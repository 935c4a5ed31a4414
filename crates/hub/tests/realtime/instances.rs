//! Several instances with one carrier, which may lose pushes and restart its numbering.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use hub::{
    Carrier, ChannelSpec, Closed, Error, Gap, Heard, History, Hub, Item, Position, Since, Text,
    TopicName,
};
use parking_lot::Mutex;
use proptest::prelude::{Just, Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};
use tokio::sync::mpsc;

use super::{Fixture, MINUTE, OpenChannel, ROOMY, Reader, numbers, since};

/// One numbering for all hubs; pushes arrive when the test calls `carry`.
#[derive(Default)]
struct Broker {
    epoch: AtomicU64,
    head: AtomicU64,
    waiting: Mutex<Vec<(String, String, Text)>>,
}

impl Carrier for Broker {
    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    fn head(&self) -> u64 {
        self.head.load(Ordering::Relaxed)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn carry(&self, _: &Hub, topic: TopicName<'_>, text: Text) {
        self.waiting.lock().push((topic.channel.to_owned(), topic.topic.to_owned(), text));
    }
}

/// Several instances with one carrier.
struct Cluster {
    broker: Arc<Broker>,
    hubs: Vec<Hub>,
    time: VirtualTime,
    tasks: Tasks,
}

impl Cluster {
    fn new(count: usize) -> Cluster {
        let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
        let (broker, tasks, random) =
            (Arc::new(Broker::default()), Tasks::new(), Random::seeded(1));
        let hub = || Hub::with_carrier(&clock, &random, &tasks, Arc::clone(&broker) as _);
        let hubs = std::iter::repeat_with(hub).take(count).collect();
        Cluster { broker, hubs, time, tasks }
    }

    fn channels(&self, pushes: usize) -> Vec<OpenChannel> {
        let history = History { pushes, bytes: 1_000_000, age: MINUTE };
        let open = |hub| OpenChannel::new(hub, ChannelSpec::new("test", history));
        self.hubs.iter().map(open).collect()
    }

    /// Delivers the waiting pushes to all instances.
    fn carry(&self) {
        for (channel, topic, text) in std::mem::take(&mut *self.broker.waiting.lock()) {
            let number = self.broker.head.load(Ordering::Relaxed) + 1;
            for hub in &self.hubs {
                let name = TopicName { channel: &channel, topic: &topic };
                hub.deliver(name, || number, text.clone());
            }
            self.broker.head.store(number, Ordering::Relaxed);
        }
    }

    /// Loses the waiting pushes, and reports it.
    fn lose(&self) {
        let count = std::mem::take(&mut *self.broker.waiting.lock()).len() as u64;
        if count == 0 {
            return;
        }
        let head = self.broker.head.fetch_add(count, Ordering::Relaxed) + count;
        self.hubs.iter().for_each(|hub| hub.lose(head));
    }

    fn restart_numbering(&self) {
        self.broker.epoch.fetch_add(1, Ordering::Relaxed);
        self.broker.head.store(0, Ordering::Relaxed);
        self.hubs.iter().for_each(Hub::renumber);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let panicked = self.tasks.panicked();
        assert!(std::thread::panicking() || panicked.is_empty(), "{panicked:?}");
    }
}

#[testkit::test]
async fn a_reader_can_resume_on_another_instance() {
    let cluster = Cluster::new(2);
    let channels = cluster.channels(10);
    let mut reader = Reader::new(&channels[0], "a", since(Since::Now), ROOMY);
    channels[1].publish("a", "one");
    cluster.carry();
    assert_eq!(reader.read_texts().await, ["one"]);
    let position = reader.position();
    drop(reader);
    channels[0].publish("a", "two");
    channels[0].publish("b", "not this");
    cluster.carry();
    let (subscriber, mut deliveries) = channels[1].hub.subscriber(ROOMY);
    let follow = since(Since::After(position));
    let joined = subscriber.follow(&channels[1], "a", follow, |_| None).unwrap();
    assert!(!joined.gap);
    let items = deliveries.take(1_000).await.unwrap();
    assert!(matches!(&items[..], [Item::Push { text, .. }] if text.as_str() == "two"), "{items:?}");
}

#[testkit::test]
async fn a_position_from_an_instance_that_removed_the_topic_is_valid_on_another() {
    let cluster = Cluster::new(2);
    let channels = cluster.channels(10);
    channels[0].publish("a", "one");
    cluster.carry();
    // On an instance that removed a topic, a reader's position is the number of another topic.
    for topic in numbers(0..200) {
        drop(Reader::new(&channels[0], &topic, since(Since::Now), ROOMY));
        channels[0].publish(&topic, "x");
    }
    cluster.carry();
    let newest = Position { epoch: 0, offset: cluster.broker.head() };
    let reader = Reader::new(&channels[1], "a", since(Since::After(newest)), ROOMY);
    assert_eq!(reader.position(), newest);
    let never = Position { offset: newest.offset + 1, ..newest };
    let (subscriber, _deliveries) = channels[1].hub.subscriber(ROOMY);
    let joined =
        subscriber.follow(&channels[1], "a", since(Since::After(never)), |_| None).unwrap();
    assert!(joined.gap, "a number that was never given out");
}

#[testkit::test]
async fn pushes_lost_by_the_carrier_are_reported_at_once_as_a_gap() {
    let cluster = Cluster::new(1);
    let channel = &cluster.channels(10)[0];
    let mut reader = Reader::new(channel, "a", since(Since::Now), ROOMY);
    channel.publish("a", "one");
    cluster.carry();
    assert_eq!(reader.read_texts().await, ["one"]);
    let before = reader.position();
    channel.publish("b", "of another topic");
    cluster.lose();
    let items = reader.read().await;
    let [Item::Gap(Gap { after, until, .. })] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!((*after, until.offset), (before, before.offset + 1));
    channel.publish("a", "two");
    cluster.carry();
    assert_eq!(reader.read_texts().await, ["two"]);
    // A reader that resumes from before gets the gap too.
    let (subscriber, _deliveries) = channel.hub.subscriber(ROOMY);
    let joined = subscriber.follow(channel, "a", since(Since::After(before)), |_| None).unwrap();
    assert!(joined.gap);
}

#[testkit::test]
async fn a_restarted_numbering_disconnects_readers_and_gives_them_a_gap() {
    let cluster = Cluster::new(1);
    let channel = &cluster.channels(10)[0];
    let mut reader = Reader::new(channel, "a", since(Since::Now), ROOMY);
    let (early, _deliveries) = channel.hub.subscriber(ROOMY);
    channel.publish("a", "one");
    channel.publish("a", "two");
    cluster.carry();
    cluster.restart_numbering();
    assert_eq!(reader.read_texts().await, ["one", "two"], "delivered pushes stay readable");
    let position = reader.position();
    assert_eq!(reader.deliveries.take(1).await.unwrap_err(), Closed::Renumbered);
    let refused = early.follow(channel, "a", since(Since::Now), |_| None).unwrap_err();
    assert_eq!(refused, Error::Closed, "a subscriber of the old numbering");
    let (subscriber, mut deliveries) = channel.hub.subscriber(ROOMY);
    let joined = subscriber.follow(channel, "a", since(Since::After(position)), |_| None).unwrap();
    assert!(joined.gap);
    // Numbers below those of the old numbering.
    channel.publish("a", "three");
    cluster.carry();
    let items = deliveries.take(1_000).await.unwrap();
    assert!(matches!(&items[..], [Item::Push { position, .. }] if position.offset == 1));
}

#[testkit::test]
async fn a_channel_that_is_opened_late_reports_earlier_pushes_as_a_gap() {
    let cluster = Cluster::new(2);
    let history = History { pushes: 10, bytes: 1_000, age: MINUTE };
    let first = OpenChannel::new(&cluster.hubs[0], ChannelSpec::new("test", history));
    first.publish("a", "one");
    let before = Reader::new(&first, "a", since(Since::Now), ROOMY).position();
    for (channel, topic, text) in std::mem::take(&mut *cluster.broker.waiting.lock()) {
        let name = TopicName { channel: &channel, topic: &topic };
        cluster.hubs.iter().for_each(|hub| hub.deliver(name, || 1, text.clone()));
    }
    // The carrier's head does not include the push yet.
    let late = cluster.hubs[1].channel(ChannelSpec::new("test", history));
    let (subscriber, _deliveries) = cluster.hubs[1].subscriber(ROOMY);
    let joined = subscriber.follow(&late, "a", since(Since::After(before)), |_| None).unwrap();
    assert!(joined.gap);
}

#[testkit::test]
async fn news_reach_all_other_instances_in_order_and_a_loss_is_reported() {
    let cluster = Cluster::new(3);
    let news: Vec<_> = cluster.hubs.iter().map(|hub| hub.news("test.news")).collect();
    let (mut inboxes, senders) = (Vec::new(), Arc::new(Mutex::new(Vec::new())));
    for each in &news {
        let (inbox_sender, heard) = mpsc::unbounded_channel();
        let senders = Arc::clone(&senders);
        each.listen(&cluster.tasks, move |news_item| {
            let text = match news_item {
                Heard::Word { from, text } => {
                    senders.lock().push(from);
                    text.as_str().to_owned()
                }
                Heard::Missed => "missed".to_owned(),
            };
            inbox_sender.send(text).unwrap();
            std::future::ready(())
        });
        inboxes.push(heard);
    }
    news[0].tell(|| "日本".to_owned());
    news[1].tell(|| "two".to_owned());
    cluster.carry();
    news[0].tell(|| "lost".to_owned());
    cluster.lose();
    cluster.time.settle().await;
    cluster.restart_numbering();
    cluster.time.settle().await;
    news[0].tell(|| "three".to_owned());
    cluster.carry();
    cluster.time.settle().await;
    let heard: Vec<Vec<String>> = inboxes
        .iter_mut()
        .map(|inbox| std::iter::from_fn(|| inbox.try_recv().ok()).collect::<Vec<_>>())
        .collect();
    assert_eq!(heard[0], ["two", "missed", "missed"], "an instance does not get its own news");
    assert_eq!(heard[1], ["日本", "missed", "missed", "three"]);
    assert_eq!(heard[2], ["日本", "two", "missed", "missed", "three"]);
    let senders: BTreeSet<u64> = senders.lock().iter().copied().collect();
    assert_eq!(senders.len(), 2, "each has an id of its own: {senders:?}");
}

#[testkit::test]
async fn a_single_instance_builds_no_news() {
    let fixture = Fixture::new().await;
    let news = fixture.hub.news("test.news");
    news.listen(&fixture.tasks, |heard| async move { panic!("{heard:?}") });
    news.tell(|| panic!("there is no other instance"));
}

#[derive(Clone, Debug)]
enum ClusterStep {
    Publish { at: usize, topic: usize },
    Carry,
    Lose,
    Move { to: usize },
}

fn steps() -> impl Strategy<Value = Vec<ClusterStep>> {
    let step = prop_oneof![
        6 => (0..2usize, 0..2usize).prop_map(|(at, topic)| ClusterStep::Publish { at, topic }),
        4 => Just(ClusterStep::Carry),
        1 => Just(ClusterStep::Lose),
        2 => (0..2usize).prop_map(|to| ClusterStep::Move { to }),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(testkit::depth::cases(256))]

    #[test]
    fn a_reader_that_changes_instances_gets_every_push_in_order_or_a_gap(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let cluster = Cluster::new(2);
            let channels = cluster.channels(1_000);
            let mut reader = Reader::new(&channels[0], "0", since(Since::Now), ROOMY);
            // What was published to the reader's topic, and whether the reader may miss some of it.
            let (mut next, mut expected) = (0, 0);
            let mut may_miss = false;
            for step in steps {
                match step {
                    ClusterStep::Publish { at, topic } => {
                        let text = if topic == 0 { next.to_string() } else { "other".to_owned() };
                        channels[at].publish(&topic.to_string(), text);
                        next += usize::from(topic == 0);
                    }
                    ClusterStep::Carry => cluster.carry(),
                    ClusterStep::Lose => {
                        let lost = cluster.broker.waiting.lock().len();
                        cluster.lose();
                        may_miss |= lost > 0;
                    }
                    ClusterStep::Move { to } => {
                        let after = since(Since::After(reader.position()));
                        let (subscriber, deliveries) = cluster.hubs[to].subscriber(ROOMY);
                        let joined = subscriber.follow(&channels[to], "0", after, |_| None);
                        let joined = joined.unwrap();
                        if joined.gap {
                            prop_assert!(may_miss, "a gap without a loss");
                            expected = usize::MAX;
                        }
                        let subscription = joined.subscription;
                        reader = Reader { subscriber, subscription, deliveries };
                    }
                }
                for item in reader.read().await {
                    match item {
                        Item::Gap(_) => {
                            prop_assert!(may_miss, "a gap without a loss");
                            expected = usize::MAX;
                        }
                        Item::Push { text, .. } => {
                            let number: usize = text.as_str().parse().unwrap();
                            if expected != usize::MAX {
                                prop_assert_eq!(number, expected);
                            }
                            expected = number + 1;
                        }
                        Item::Reply(_) => {}
                    }
                }
            }
            Ok(())
        })?;
    }
}

//! Several instances under one carrier, which may lose and begin anew.

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

/// One numbering for all hubs; a push reaches them when the test says so.
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

/// Instances beside each other.
struct Street {
    broker: Arc<Broker>,
    hubs: Vec<Hub>,
    time: VirtualTime,
    tasks: Tasks,
}

impl Street {
    fn new(count: usize) -> Street {
        let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
        let (broker, tasks, random) =
            (Arc::new(Broker::default()), Tasks::new(), Random::seeded(1));
        let hub = || Hub::with_carrier(&clock, &random, &tasks, Arc::clone(&broker) as _);
        let hubs = std::iter::repeat_with(hub).take(count).collect();
        Street { broker, hubs, time, tasks }
    }

    fn channels(&self, pushes: usize) -> Vec<OpenChannel> {
        let history = History { pushes, bytes: 1_000_000, age: MINUTE };
        let open = |hub| OpenChannel::new(hub, ChannelSpec::new("test", history));
        self.hubs.iter().map(open).collect()
    }

    /// Brings what waits to all instances.
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

    /// Loses what waits, and says so.
    fn lose(&self) {
        let count = std::mem::take(&mut *self.broker.waiting.lock()).len() as u64;
        if count == 0 {
            return;
        }
        let head = self.broker.head.fetch_add(count, Ordering::Relaxed) + count;
        self.hubs.iter().for_each(|hub| hub.lose(head));
    }

    fn begin_anew(&self) {
        self.broker.epoch.fetch_add(1, Ordering::Relaxed);
        self.broker.head.store(0, Ordering::Relaxed);
        self.hubs.iter().for_each(Hub::renumber);
    }
}

impl Drop for Street {
    fn drop(&mut self) {
        let panicked = self.tasks.panicked();
        assert!(std::thread::panicking() || panicked.is_empty(), "{panicked:?}");
    }
}

#[testkit::test]
async fn a_reader_may_leave_one_instance_and_go_on_at_another() {
    let street = Street::new(2);
    let channels = street.channels(10);
    let mut reader = Reader::new(&channels[0], "a", since(Since::Now), ROOMY);
    channels[1].publish("a", "one");
    street.carry();
    assert_eq!(reader.read_texts().await, ["one"]);
    let position = reader.position();
    drop(reader);
    channels[0].publish("a", "two");
    channels[0].publish("b", "not this");
    street.carry();
    let (subscriber, mut deliveries) = channels[1].hub.subscriber(ROOMY);
    let follow = since(Since::After(position));
    let joined = subscriber.follow(&channels[1], "a", follow, |_| None).unwrap();
    assert!(!joined.gap);
    let items = deliveries.take(1_000).await.unwrap();
    assert!(matches!(&items[..], [Item::Push { text, .. }] if text.as_str() == "two"), "{items:?}");
}

#[testkit::test]
async fn a_position_in_a_topic_that_one_instance_has_forgotten_is_good_at_another() {
    let street = Street::new(2);
    let channels = street.channels(10);
    channels[0].publish("a", "one");
    street.carry();
    // Where this instance has forgotten a topic, a reader's position is another topic's number.
    for topic in numbers(0..200) {
        drop(Reader::new(&channels[0], &topic, since(Since::Now), ROOMY));
        channels[0].publish(&topic, "x");
    }
    street.carry();
    let newest = Position { epoch: 0, offset: street.broker.head() };
    let reader = Reader::new(&channels[1], "a", since(Since::After(newest)), ROOMY);
    assert_eq!(reader.position(), newest);
    let never = Position { offset: newest.offset + 1, ..newest };
    let (subscriber, _deliveries) = channels[1].hub.subscriber(ROOMY);
    let joined =
        subscriber.follow(&channels[1], "a", since(Since::After(never)), |_| None).unwrap();
    assert!(joined.gap, "a number that was not given out");
}

#[testkit::test]
async fn what_the_carrier_has_lost_is_told_at_once_as_a_gap() {
    let street = Street::new(1);
    let channel = &street.channels(10)[0];
    let mut reader = Reader::new(channel, "a", since(Since::Now), ROOMY);
    channel.publish("a", "one");
    street.carry();
    assert_eq!(reader.read_texts().await, ["one"]);
    let before = reader.position();
    channel.publish("b", "nobody knows whose this was");
    street.lose();
    let items = reader.read().await;
    let [Item::Gap(Gap { after, until, .. })] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!((*after, until.offset), (before, before.offset + 1));
    channel.publish("a", "two");
    street.carry();
    assert_eq!(reader.read_texts().await, ["two"]);
    // Who comes back from before is told too.
    let (subscriber, _deliveries) = channel.hub.subscriber(ROOMY);
    let joined = subscriber.follow(channel, "a", since(Since::After(before)), |_| None).unwrap();
    assert!(joined.gap);
}

#[testkit::test]
async fn when_the_numbering_begins_anew_readers_are_cut_off_and_told_of_a_gap() {
    let street = Street::new(1);
    let channel = &street.channels(10)[0];
    let mut reader = Reader::new(channel, "a", since(Since::Now), ROOMY);
    let (early, _deliveries) = channel.hub.subscriber(ROOMY);
    channel.publish("a", "one");
    channel.publish("a", "two");
    street.carry();
    street.begin_anew();
    assert_eq!(reader.read_texts().await, ["one", "two"], "what came is not taken away");
    let position = reader.position();
    assert_eq!(reader.deliveries.take(1).await.unwrap_err(), Closed::Renumbered);
    let refused = early.follow(channel, "a", since(Since::Now), |_| None).unwrap_err();
    assert_eq!(refused, Error::Closed, "a subscriber of the old numbering");
    let (subscriber, mut deliveries) = channel.hub.subscriber(ROOMY);
    let joined = subscriber.follow(channel, "a", since(Since::After(position)), |_| None).unwrap();
    assert!(joined.gap);
    // Below the numbers of the old numbering.
    channel.publish("a", "three");
    street.carry();
    let items = deliveries.take(1_000).await.unwrap();
    assert!(matches!(&items[..], [Item::Push { position, .. }] if position.offset == 1));
}

#[testkit::test]
async fn a_channel_that_is_opened_late_does_not_vouch_for_what_came_before() {
    let street = Street::new(2);
    let history = History { pushes: 10, bytes: 1_000, age: MINUTE };
    let first = OpenChannel::new(&street.hubs[0], ChannelSpec::new("test", history));
    first.publish("a", "one");
    let before = Reader::new(&first, "a", since(Since::Now), ROOMY).position();
    for (channel, topic, text) in std::mem::take(&mut *street.broker.waiting.lock()) {
        let name = TopicName { channel: &channel, topic: &topic };
        street.hubs.iter().for_each(|hub| hub.deliver(name, || 1, text.clone()));
    }
    // The carrier has not said yet that it is past the push.
    let late = street.hubs[1].channel(ChannelSpec::new("test", history));
    let (subscriber, _deliveries) = street.hubs[1].subscriber(ROOMY);
    let joined = subscriber.follow(&late, "a", since(Since::After(before)), |_| None).unwrap();
    assert!(joined.gap);
}

#[testkit::test]
async fn news_come_to_all_others_in_order_and_a_loss_is_heard() {
    let street = Street::new(3);
    let news: Vec<_> = street.hubs.iter().map(|hub| hub.news("test.news")).collect();
    let (mut ears, tellers) = (Vec::new(), Arc::new(Mutex::new(Vec::new())));
    for each in &news {
        let (tell, heard) = mpsc::unbounded_channel();
        let tellers = Arc::clone(&tellers);
        each.listen(&street.tasks, move |word| {
            let told = match word {
                Heard::Word { from, text } => {
                    tellers.lock().push(from);
                    text.as_str().to_owned()
                }
                Heard::Missed => "missed".to_owned(),
            };
            tell.send(told).unwrap();
            std::future::ready(())
        });
        ears.push(heard);
    }
    news[0].tell(|| "日本".to_owned());
    news[1].tell(|| "two".to_owned());
    street.carry();
    news[0].tell(|| "lost".to_owned());
    street.lose();
    street.time.settle().await;
    street.begin_anew();
    street.time.settle().await;
    news[0].tell(|| "three".to_owned());
    street.carry();
    street.time.settle().await;
    let heard: Vec<Vec<String>> = ears
        .iter_mut()
        .map(|ear| std::iter::from_fn(|| ear.try_recv().ok()).collect::<Vec<_>>())
        .collect();
    assert_eq!(heard[0], ["two", "missed", "missed"], "nobody hears itself");
    assert_eq!(heard[1], ["日本", "missed", "missed", "three"]);
    assert_eq!(heard[2], ["日本", "two", "missed", "missed", "three"]);
    let tellers: BTreeSet<u64> = tellers.lock().iter().copied().collect();
    assert_eq!(tellers.len(), 2, "each has a name of its own: {tellers:?}");
}

#[testkit::test]
async fn who_stands_alone_makes_no_words() {
    let fixture = Fixture::new().await;
    let news = fixture.hub.news("test.news");
    news.listen(&fixture.tasks, |heard| async move { panic!("{heard:?}") });
    news.tell(|| panic!("nobody hears it"));
}

#[derive(Clone, Debug)]
enum Step {
    Publish { at: usize, topic: usize },
    Carry,
    Lose,
    Move { to: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..2usize, 0..2usize).prop_map(|(at, topic)| Step::Publish { at, topic }),
        4 => Just(Step::Carry),
        1 => Just(Step::Lose),
        2 => (0..2usize).prop_map(|to| Step::Move { to }),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(testkit::depth::cases(256))]

    #[test]
    fn a_reader_that_wanders_gets_every_push_in_order_or_is_told_of_a_gap(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let street = Street::new(2);
            let channels = street.channels(1_000);
            let mut reader = Reader::new(&channels[0], "0", since(Since::Now), ROOMY);
            // What was published to the reader's topic, and what of it the reader may miss.
            let (mut next, mut expected) = (0, 0);
            let mut may_miss = false;
            for step in steps {
                match step {
                    Step::Publish { at, topic } => {
                        let text = if topic == 0 { next.to_string() } else { "other".to_owned() };
                        channels[at].publish(&topic.to_string(), text);
                        next += usize::from(topic == 0);
                    }
                    Step::Carry => street.carry(),
                    Step::Lose => {
                        let lost = street.broker.waiting.lock().len();
                        street.lose();
                        may_miss |= lost > 0;
                    }
                    Step::Move { to } => {
                        let after = since(Since::After(reader.position()));
                        let (subscriber, deliveries) = street.hubs[to].subscriber(ROOMY);
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

//! The carrier on a real nats-server, which is killed and restarted.

mod server;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::{Clock, Flow, Tasks};
use futures_util::TryStreamExt as _;
use hub::{
    Channel, ChannelSpec, Closed, Deliveries, Follow, History, Hub, Item, Position, QueueLimits,
    Since, Subscriber,
};
use server::Server;
use testkit::{seed, wait};

use crate::{Error, Nats, Options, limits};

const ROOMY: QueueLimits = QueueLimits { pushes: 100_000, bytes: 100_000_000 };
/// As long as the program waits for its tasks at shutdown.
const CLOSING: Duration = Duration::from_secs(60);

/// The number of instances so far: each gets its own randomness.
static INSTANCES: AtomicU64 = AtomicU64::new(0);

/// One instance of the server.
struct Instance {
    hub: Hub,
    nats: Nats,
    channel: Channel,
    tasks: Tasks,
    clock: Clock,
    /// Kept because the clock stops when it is dropped.
    _flow: Flow,
}

impl Instance {
    async fn open(options: &Options) -> Instance {
        Instance::open_within(options, Duration::ZERO).await
    }

    /// Opens where no NATS server runs, and moves the clock past the wait for it.
    async fn open_alone(options: &Options) -> Instance {
        Instance::open_within(options, limits::START_WITHIN).await
    }

    /// Opens and moves the clock meanwhile.
    async fn open_within(options: &Options, ahead: Duration) -> Instance {
        let number = INSTANCES.fetch_add(1, Ordering::Relaxed);
        let random = seed::random().fork(&number.to_string());
        let ((clock, flow), tasks) = (Clock::flowing(), Tasks::new());
        let opening = Nats::open(options, &clock, &random, &tasks);
        let moving = async {
            if !ahead.is_zero() {
                flow.advance(ahead).await;
            }
        };
        let (opened, ()) = tokio::join!(opening, moving);
        let (hub, nats) = opened.unwrap();
        let history = History { pushes: 100_000, bytes: 10_000_000, age: Duration::from_secs(600) };
        let channel = hub.channel(ChannelSpec::new("test", history));
        Instance { hub, nats, channel, tasks, clock, _flow: flow }
    }

    fn read(&self, topic: &str, since: Since) -> Reader {
        let (subscriber, deliveries) = self.hub.subscriber(ROOMY);
        let follow = Follow { since, ..Follow::default() };
        let joined = subscriber.follow(&self.channel, topic, follow, |_| None).unwrap();
        Reader { gap: joined.gap, _subscriber: subscriber, deliveries }
    }

    fn publish(&self, topic: &str, numbers: std::ops::Range<usize>) {
        numbers.for_each(|number| self.channel.publish(topic, number.to_string()));
    }

    async fn until_trouble(&self, is_there: bool) {
        let mut nats = self.nats.clone();
        let waiting = async {
            while nats.trouble().is_some() != is_there {
                nats.changed().await;
            }
        };
        let what = if is_there { "trouble" } else { "the end of the trouble" };
        wait::bounded(what, waiting).await;
    }

    /// Waits until the stream has acknowledged every push. A reader may get a push before its
    /// publisher gets the acknowledgement; killing the server in between costs a gap.
    async fn until_acknowledged(&self) {
        let look = async || wait::holds(self.nats.outbox.is_flushed(), "unacknowledged pushes");
        wait::until_async("every push to be acknowledged", look).await;
    }

    async fn close(self) {
        self.tasks.finish(&self.clock, CLOSING).await.unwrap();
        assert_eq!(self.tasks.panicked(), Vec::<String>::new());
    }
}

struct Reader {
    gap: bool,
    _subscriber: Subscriber,
    deliveries: Deliveries,
}

impl Reader {
    async fn take(&mut self) -> Result<Vec<Item>, Closed> {
        wait::bounded("the next pushes", self.deliveries.take(1_000_000)).await
    }

    /// Reads until a push with this text is the last; returns all pushes, and gaps as `gap`.
    async fn until(&mut self, last: &str) -> Vec<String> {
        self.read(|all| all.last().is_some_and(|text| text == last)).await
    }

    /// Reads until this number of items arrived.
    async fn first(&mut self, count: usize) -> Vec<String> {
        self.read(|all| all.len() >= count).await
    }

    async fn read(&mut self, is_enough: impl Fn(&[String]) -> bool) -> Vec<String> {
        let mut all = Vec::new();
        while !is_enough(&all) {
            for item in self.take().await.unwrap() {
                match item {
                    Item::Push { text, .. } => all.push(text.as_str().to_owned()),
                    Item::Gap(_) => all.push("gap".to_owned()),
                    Item::Reply(_) => {}
                }
            }
        }
        all
    }

    fn position(&self) -> Position {
        self.deliveries.positions()[0].position
    }
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

#[tokio::test]
async fn all_instances_see_one_order_and_the_same_positions() {
    let server = Server::start();
    let one = Instance::open(&server.options()).await;
    let other = Instance::open(&server.options()).await;
    let (mut here, mut there) = (one.read("a", Since::Now), other.read("a", Since::Now));
    for number in 0..500 {
        one.channel.publish("a", format!("one {number}"));
        other.channel.publish("a", format!("other {number}"));
        other.channel.publish("b", "of another topic");
        if number % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    // The last push may come from either publisher.
    let (seen, seen_there) = (here.first(1_000).await, there.first(1_000).await);
    assert_eq!(seen, seen_there);
    assert_eq!(here.position(), there.position());
    for publisher in ["one", "other"] {
        let own: Vec<&String> = seen.iter().filter(|text| text.starts_with(publisher)).collect();
        let expected: Vec<String> =
            (0..500).map(|number| format!("{publisher} {number}")).collect();
        assert!(own.iter().copied().eq(expected.iter()), "in the order of publishing");
    }
    // A reader leaves one instance and resumes on another.
    let position = here.position();
    drop(here);
    one.publish("a", 0..3);
    assert_eq!(there.until("2").await, numbers(0..3));
    let mut back = other.read("a", Since::After(position));
    assert!(!back.gap);
    assert_eq!(back.until("2").await, numbers(0..3));
    one.close().await;
    other.close().await;
}

#[tokio::test]
async fn a_killed_and_restarted_server_loses_nothing_without_a_gap() {
    let mut server = Server::start();
    let one = Instance::open(&server.options()).await;
    let other = Instance::open(&server.options()).await;
    let mut reader = other.read("a", Since::Now);
    one.publish("a", 0..100);
    assert_eq!(reader.until("99").await, numbers(0..100));
    one.until_acknowledged().await;
    server.kill();
    one.until_trouble(true).await;
    assert!(one.nats.trouble().unwrap().contains("out of reach"));
    one.publish("a", 100..200);
    server.start_again();
    one.until_trouble(false).await;
    other.until_trouble(false).await;
    one.publish("a", 200..300);
    assert_eq!(reader.until("299").await, numbers(100..300), "waiting pushes arrived in order");
    // A kill in the middle may cost a push, but then there is a gap.
    one.publish("a", 300..600);
    tokio::task::yield_now().await;
    server.kill();
    one.until_trouble(true).await;
    server.start_again();
    one.until_trouble(false).await;
    one.publish("a", 600..700);
    let seen = reader.until("699").await;
    let has_gap = seen.contains(&"gap".to_owned());
    assert!(has_gap || seen == numbers(300..700), "{seen:?}");
    let pushes: Vec<usize> = seen.iter().filter_map(|text| text.parse().ok()).collect();
    assert!(pushes.is_sorted(), "{pushes:?}");
    one.close().await;
    other.close().await;
}

#[tokio::test]
async fn a_server_that_comes_back_empty_starts_a_new_numbering() {
    let mut server = Server::start();
    let one = Instance::open(&server.options()).await;
    let mut reader = one.read("a", Since::Now);
    one.publish("a", 0..10);
    reader.until("9").await;
    one.until_acknowledged().await;
    let position = reader.position();
    server.kill();
    one.until_trouble(true).await;
    server.forget();
    server.start_again();
    one.until_trouble(false).await;
    assert_eq!(reader.take().await.unwrap_err(), Closed::Renumbered);
    let mut reader = one.read("a", Since::After(position));
    assert!(reader.gap, "a resuming reader gets a gap");
    one.publish("a", 10..12);
    assert_eq!(reader.until("11").await, numbers(10..12));
    assert_ne!(reader.position().epoch, position.epoch);
    one.close().await;
}

#[tokio::test]
async fn an_instance_opens_without_nats_and_connects_later() {
    let mut server = Server::start();
    server.kill();
    let one = Instance::open_alone(&server.options()).await;
    let trouble = one.nats.trouble().unwrap();
    assert!(trouble.starts_with("NATS is out of reach: "), "{trouble}");
    one.publish("a", 0..3);
    let mut early = one.read("a", Since::Now);
    server.start_again();
    one.until_trouble(false).await;
    assert_eq!(early.take().await.unwrap_err(), Closed::Renumbered);
    one.publish("a", 3..4);
    let mut reader = one.read("a", Since::Oldest);
    assert_eq!(reader.until("3").await, numbers(0..4), "the earlier pushes waited");
    one.close().await;
}

#[tokio::test]
async fn pushes_beyond_the_queue_limit_are_lost_and_reported_as_a_gap() {
    let mut server = Server::start();
    let one = Instance::open(&server.options()).await;
    let other = Instance::open(&server.options()).await;
    let mut reader = other.read("quiet", Since::Now);
    server.kill();
    one.until_trouble(true).await;
    one.publish("a", 0..limits::WAITING_MAX + 1);
    server.start_again();
    let items = reader.take().await.unwrap();
    assert!(matches!(items[..], [Item::Gap(_)]), "{items:?}");
    one.close().await;
    other.close().await;
}

#[tokio::test]
async fn messages_that_no_instance_wrote_are_skipped() {
    let server = Server::start();
    let one = Instance::open(&server.options()).await;
    let mut reader = one.read("a", Since::Now);
    let client = async_nats::connect(&server.options().nats_url).await.unwrap();
    for nonsense in [&b""[..], b"hello", b"\x01\xff\xff\x00\x00", b"\x02 or so"] {
        client.publish("nagaya.hub", bytes::Bytes::from(nonsense)).await.unwrap();
    }
    client.flush().await.unwrap();
    one.publish("a", 0..1);
    assert_eq!(reader.until("0").await, ["0"]);
    one.close().await;
}

#[tokio::test]
async fn an_instance_that_missed_removed_messages_reports_a_gap() {
    let server = Server::start();
    let one = Instance::open(&server.options()).await;
    let mut reader = one.read("a", Since::Now);
    one.publish("a", 0..1);
    assert_eq!(reader.until("0").await, ["0"]);
    // This instance runs on the thread of the test, and pauses while another thread works.
    let url = server.options().nats_url;
    let elsewhere = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(cut_off_and_purge(&url));
    });
    elsewhere.join().unwrap();
    let items = reader.take().await.unwrap();
    assert!(matches!(items[..], [Item::Gap(_)]), "{items:?}");
    one.close().await;
}

/// Deletes the consumers of the stream, adds messages, and purges it, as ten minutes would.
async fn cut_off_and_purge(url: &str) {
    let context = async_nats::jetstream::new(async_nats::connect(url).await.unwrap());
    let stream = context.get_stream("nagaya").await.unwrap();
    let names: Vec<String> = stream.consumer_names().try_collect().await.unwrap();
    for name in names {
        stream.delete_consumer(&name).await.unwrap();
    }
    for _ in 0..10 {
        let sent = context.publish("nagaya.hub", bytes::Bytes::from("lost")).await.unwrap();
        sent.await.unwrap();
    }
    stream.purge().await.unwrap();
}

#[tokio::test]
async fn a_server_that_requires_a_password_gets_it_and_no_message_shows_it() {
    let server = Server::start_with(&["--user", "house", "--pass", "s3same"]);
    let right = Options {
        nats_user: Some("house".to_owned()),
        nats_password: Some("s3same".to_owned()),
        ..server.options()
    };
    let one = Instance::open(&right).await;
    assert_eq!(one.nats.trouble(), None);
    let wrong = Options { nats_password: Some("s3cond".to_owned()), ..right.clone() };
    let other = Instance::open_alone(&wrong).await;
    let mut nats = other.nats.clone();
    let trouble = wait::bounded("a refusal", async {
        loop {
            match nats.trouble().filter(|trouble| trouble.contains("authorization")) {
                Some(trouble) => return trouble,
                None => nats.changed().await,
            }
        }
    })
    .await;
    assert!(!trouble.contains("s3cond"), "{trouble}");
    one.close().await;
    other.close().await;
}

#[test]
fn a_visit_reports_the_state_of_the_server() {
    assert!(Nats::visit(&Options::default()).unwrap().contains("single instance"));
    let mut server = Server::start();
    assert!(Nats::visit(&server.options()).unwrap().ends_with("with JetStream"));
    server.kill();
    assert!(Nats::visit(&server.options()).unwrap_err().contains("does not answer"));
}

#[test]
fn invalid_settings_are_refused_with_their_value() {
    let refused = |options: Options| Nats::check(&options).unwrap_err().to_string();
    let url = |url: &str| Options { nats_url: url.to_owned(), ..Options::default() };
    let prefix = |prefix: &str| Options { nats_prefix: prefix.to_owned(), ..Options::default() };
    assert!(Nats::check(&url("nats://a:4222, tls://b")).is_ok());
    assert!(refused(url("http://a")).starts_with("`http://a` is not a NATS server"));
    let secret = Nats::check(&url("nats://me:secret@a")).unwrap_err();
    assert!(matches!(secret, Error::SecretInAddress));
    for wrong in ["", "a.b", "a b", "日", &"x".repeat(33)] {
        assert!(refused(prefix(wrong)).contains("cannot begin a subject"), "{wrong}");
    }
    let half = Options { nats_user: Some("me".to_owned()), ..Options::default() };
    assert_eq!(refused(half), "hub.nats_user and hub.nats_password belong together");
}

//! A server in this process, on a clock that the test moves.
//!
//! A [`World`] is a store and a clock; an [`Instance`] is one server process on them, with a
//! context for rooms, a dispatcher and a server on a free port. A room's tests open their rooms on
//! instances and add helpers of their own.
//!
//! Every world is checked after its test (`world/check.rs`), so a world can open only in a test
//! that [`test`](macro@crate::test) runs.

mod answer;
mod broker;
mod check;
mod store;
mod stream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use base::options::Value;
use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use dispatch::Dispatch;
use edge::{Ground, Operator, OperatorOptions, Readiness, Room, Server, StreamOptions, Traces};
use hub::Hub;
use table::Tables;

use crate::{Left, wait};

pub use self::answer::{Answer, ask, send};
pub use self::broker::Broker;
use self::check::Premises;
pub use self::store::is_dynamodb;
pub use self::stream::Stream;

/// The time at which a world starts, unless its test sets it: 2027-01-15T08:00:00Z.
pub const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A store, its clock, and the instances on it. Clones are the same world.
#[derive(Clone)]
pub struct World {
    /// The clock of the world.
    pub clock: Clock,
    /// Moves the clock.
    pub time: VirtualTime,
    /// The store, as the first instance sees it.
    pub tables: Arc<dyn Tables>,
    /// The parts that the check at the end examines.
    premises: Arc<Premises>,
    /// The number of instances so far: each gets its own randomness.
    seeds: Arc<AtomicU64>,
}

impl World {
    /// A world on the store of this run.
    pub async fn new() -> World {
        World::at(START).await
    }

    /// The same at another time.
    pub async fn at(start: Timestamp) -> World {
        let (clock, time) = Clock::virtual_at(start);
        let tasks = Tasks::new();
        let tables = store::open(&clock, &tasks).await;
        World::on(tables, clock, time, tasks).await
    }

    /// A world on a store of the test, with these tasks.
    pub async fn on(
        tables: Arc<dyn Tables>,
        clock: Clock,
        time: VirtualTime,
        tasks: Tasks,
    ) -> World {
        edge::ensure_tables(&*tables).await.expect("the store takes the tables of the edge");
        let premises = Premises::register(clock.clone(), time.clone(), tasks);
        World { clock, time, tables, premises, seeds: Arc::new(AtomicU64::new(7)) }
    }

    /// The instances of a server: one, or two connected ones where stories run on DynamoDB.
    pub async fn instances(&self) -> Vec<Instance> {
        if !is_dynamodb() {
            return vec![self.instance().await];
        }
        let broker = Arc::new(Broker::default());
        vec![self.instance_with(&broker).await, self.instance_with(&broker).await]
    }

    /// One more instance, not connected to the others.
    pub async fn instance(&self) -> Instance {
        self.instance_on(self.ground()).await
    }

    /// One more instance, connected to all others of the broker.
    pub async fn instance_with(&self, broker: &Arc<Broker>) -> Instance {
        let ground = self.ground_with(|clock, random, tasks| broker.hub(clock, random, tasks));
        self.instance_on(ground).await
    }

    /// The context of one more instance, not connected to the others. A test may put a part of its
    /// own into it before [`instance_on`](World::instance_on) opens the instance.
    pub fn ground(&self) -> Ground {
        self.ground_with(Hub::in_process)
    }

    fn ground_with(&self, hub: impl FnOnce(&Clock, &Random, &Tasks) -> Hub) -> Ground {
        let seed = self.seeds.fetch_add(1, Ordering::Relaxed);
        let (clock, random, tasks) = (&self.clock, Random::seeded(seed), Tasks::new());
        let (hub, streams) = (hub(clock, &random, &tasks), StreamOptions::default());
        let tables = store::beside(&self.tables);
        Ground::with_hub(tables, hub, &streams, clock, &random, &tasks)
    }

    /// One more instance with a context of the test.
    pub async fn instance_on(&self, ground: Ground) -> Instance {
        let Ground { tables, clock, random, tasks, .. } = ground.clone();
        let dispatch = Dispatch::open(tables, clock, random, &tasks).await;
        let dispatch = dispatch.expect("the dispatcher opens on a store that works");
        self.premises.add_instance(&ground, &dispatch);
        Instance { ground, dispatch, premises: Arc::clone(&self.premises) }
    }

    /// Seeds the next instances with other numbers, so that this world has other secrets than
    /// another world.
    pub fn seed(&self, first: u64) {
        self.seeds.store(first, Ordering::Relaxed);
    }

    /// Lets time pass.
    pub async fn pass(&self, seconds: u64) {
        self.time.advance(Duration::from_secs(seconds)).await;
    }

    /// Sets the clock ahead, as if the machine had slept: waits for a time of day end once, and
    /// waits for a duration are not affected.
    ///
    /// # Panics
    /// Time ends before.
    pub async fn sleep(&self, duration: Duration) {
        let then = self.clock.now().checked_add(duration).expect("a test ends before time does");
        self.time.set_wall(then).await;
    }

    /// Sets the clock ahead, as if the server had slept: waits for a time of day end once.
    pub async fn jump(&self, seconds: u64) {
        /// Two heartbeats: each instance announces itself again, and sees the others.
        const AWAKE: u64 = 10;
        let asleep = Duration::from_secs(seconds.saturating_sub(AWAKE));
        let woken = self.clock.now().checked_add(asleep).expect("a test ends before time does");
        self.time.set_wall(woken).await;
        self.pass(seconds.min(AWAKE)).await;
    }

    /// Allows this test to leave something behind.
    pub fn allow(&self, left: Left) {
        self.premises.allow(left);
    }
}

/// One server process.
#[derive(Clone)]
pub struct Instance {
    /// The context of its rooms.
    pub ground: Ground,
    /// Its dispatcher.
    pub dispatch: Dispatch,
    premises: Arc<Premises>,
}

impl Instance {
    /// Serves these rooms on a free port.
    pub async fn serve(&self, rooms: Vec<Room>) -> SocketAddr {
        self.serve_with(rooms, edge::Options::default()).await
    }

    /// The same with other settings of the wire, but also on a free port.
    pub async fn serve_with(&self, rooms: Vec<Room>, options: edge::Options) -> SocketAddr {
        let traces = Traces::uncollected(self.ground.random.fork("traces"));
        let server = self.start_server(rooms, options, Readiness::new(), traces).await;
        let address = server.address();
        self.premises.add_server(server);
        address
    }

    /// A server of these rooms on a free port, for a test of the server itself. The test drains it.
    pub async fn start_server(
        &self,
        rooms: Vec<Room>,
        options: edge::Options,
        readiness: Readiness,
        traces: Traces,
    ) -> Server {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut http = edge::Options { listen, ..options };
        // The host name of requests in tests, also for the operator's pages.
        assert!(http.hosts.read("house"), "a name of a host");
        let clock = self.ground.clock.clone();
        let server = Server::start(&http, rooms, clock, readiness, traces).await;
        server.expect("a free port can be had")
    }

    /// The operator of its pages.
    pub fn operator(&self) -> Operator {
        let Ground { tables, clock, random, tasks, .. } = self.ground.clone();
        Operator::new(tables, &OperatorOptions::default(), &clock, random, &tasks)
    }

    /// An API key with these scopes.
    pub async fn key(&self, name: &str, scopes: &[&str]) -> String {
        let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let created = self.ground.keys.create(name, &scopes, None).await;
        created.expect("a new name can have a key").text
    }

    /// Shuts it down: it finishes running work. Only the necessary time passes.
    ///
    /// # Panics
    /// A task does not end.
    pub async fn close(self, time: &VirtualTime) {
        /// How long the program waits for its tasks.
        const STOP: Duration = Duration::from_secs(10);
        let ending = self.ground.tasks.finish(&self.ground.clock, STOP);
        let (ended, _) = wait::while_time_passes(time, ending).await;
        assert_eq!(ended, Ok(()), "tasks that did not end");
    }
}

/// Instances that take turns, so that a story on two of them uses both.
pub struct Turns<T> {
    all: Vec<T>,
    next: AtomicUsize,
}

impl<T> Turns<T> {
    /// Of at least one.
    pub fn new(all: Vec<T>) -> Turns<T> {
        assert!(!all.is_empty(), "somebody must have the first turn");
        Turns { all, next: AtomicUsize::new(0) }
    }

    /// The one whose turn it is.
    pub fn next(&self) -> &T {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.all.get(turn % self.all.len()).expect("a remainder is below its divisor")
    }

    /// All of them, the first one first.
    pub fn all(&self) -> &[T] {
        &self.all
    }
}

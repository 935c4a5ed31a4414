//! The composition: what the house is made of, in the order in which it is built, and closed in
//! the opposite one. How it looks after its store is in `house/store_watch.rs`.

mod store_watch;

#[cfg(test)]
mod documented;

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Flow, Ids, Random, Tasks};
use collect::Collect;
use console::{Ask, Console, ShownSetting};
use dispatch::Dispatch;
use edge::{
    About, Accounts, Bound, Cors, Ground, Keys, Metrics, Operator, OperatorOptions, Reach,
    Readiness, Room, Server, Traces,
};
use live::Live;
use mesh::Mesh;
use nats::Nats;
use score::Score;
use sns::Sns;
use table::{Backend, Embedded, TableSpec, Tables};

use crate::control::{self, OpenAddress, Premises};
use crate::demo::{self, Stage};
use crate::store::{HouseEars, SECRETS, Store};
use crate::{Error, Settings, carrier, door, port};

/// Background tasks have this long to stop once the last request is answered. They only finish a
/// step, so a task that needs longer is stuck.
const TASKS_STOP: Duration = Duration::from_secs(10);

/// Between two looks whether the set-up link was used. A look is one read of one row, and there is
/// none after that.
const SET_UP_LOOK: Duration = Duration::from_secs(1);

const ABOUT: About = About {
    name: "nagaya",
    version: env!("CARGO_PKG_VERSION"),
    // Whoever builds a release sets it; asking git would be a dependency of the build.
    commit: option_env!("GIT_COMMIT"),
};

/// A running house.
pub struct House {
    clock: Clock,
    tasks: Tasks,
    store: Store,
    tables: Arc<dyn Tables>,
    server: Server,
    /// The DynamoDB endpoint.
    door: Option<Server>,
    /// Where a house that nobody has set up yet is set up.
    setup_link: Option<String>,
    /// What a class types in.
    mesh_key: String,
    keys: Keys,
    random: Random,
}

/// The five rooms.
struct Rooms {
    mesh: Arc<Mesh>,
    live: Arc<Live>,
    collect: Arc<Collect>,
    score: Arc<Score>,
    sns: Arc<Sns>,
}

impl Rooms {
    async fn open(
        settings: &Settings,
        ground: &Ground,
        dispatch: &Dispatch,
    ) -> Result<Rooms, Error> {
        Ok(Rooms {
            mesh: Mesh::open(settings.mesh.clone(), ground, dispatch).await?,
            live: Live::open(settings.live.clone(), ground, dispatch).await?,
            collect: Collect::open(settings.collect.clone(), ground, dispatch).await?,
            score: Score::open(settings.score.clone(), ground, dispatch).await?,
            sns: Sns::open(settings.sns.clone(), ground, dispatch).await?,
        })
    }
}

impl Rooms {
    /// The rooms, for the console to ask.
    fn asked(&self) -> Vec<Arc<dyn Ask>> {
        vec![
            Arc::clone(&self.mesh) as Arc<dyn Ask>,
            Arc::clone(&self.live) as _,
            Arc::clone(&self.collect) as _,
            Arc::clone(&self.score) as _,
            Arc::clone(&self.sns) as _,
        ]
    }

    /// All routes of a house: `house` is what it says about itself, then the operator's way in, the
    /// console, and the five rooms.
    fn mount(
        &self,
        house: Room,
        console: &Arc<Console>,
        ground: &Ground,
        operator: &Operator,
    ) -> Vec<Room> {
        vec![
            house,
            Room::new("operator", operator.routes()).with_cors(Cors::Nobody).essential(),
            console.room(operator).essential(),
            self.mesh.room(ground, operator),
            self.live.room(ground),
            self.collect.room(ground, operator),
            self.score.room(ground, operator),
            self.sns.room(ground),
        ]
    }
}

/// The tables that a house with these settings declares: what a house without a door, in memory and
/// in a moment that does not pass, has made.
///
/// # Errors
/// A part cannot be opened.
pub(crate) async fn declared_tables(settings: &Settings) -> Result<Vec<TableSpec>, Error> {
    let (clock, _standing) = Clock::virtual_at(Clock::real().now());
    let (tasks, random) = (Tasks::new(), Random::from_os());
    let store = Embedded::in_memory(clock.clone(), &tasks).await?;
    let tables: Arc<dyn Tables> = Arc::new(store.clone());
    edge::ensure_tables(&store).await?;
    let ground = Ground::new(Arc::clone(&tables), &settings.stream, &clock, &random, &tasks);
    let dispatch = Dispatch::open(tables, clock, random, &tasks).await?;
    let _rooms = Rooms::open(settings, &ground, &dispatch).await?;
    store.ensure_table(console::table()).await?;
    let mut specs = Vec::new();
    for name in store.list_tables().await? {
        specs.push(store.describe_table(&name).await?.spec);
    }
    Ok(specs)
}

/// The path of the link under which the operator sets the first password, if there is none yet.
async fn find_setup_link(operator: &Operator, store: &Store) -> Result<Option<String>, Error> {
    Ok(match store.engine() {
        // One process opens an embedded store, so whoever made an earlier link has ended.
        Some(_) => operator.find_first_link().await?,
        None => operator.find_shared_link().await?,
    })
}

impl House {
    /// Looks at what the settings name, without opening anything: a wrong certificate or source is
    /// a wrong setting.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn check(settings: &Settings) -> Result<(), Error> {
        Server::check(&settings.http)?;
        Collect::check(&settings.collect)?;
        Score::check(&settings.score)?;
        Store::check(settings)?;
        Nats::check(&settings.hub)?;
        if let Some(listen) = settings.dynamodb.listen.0 {
            door::guard(&settings.dynamodb, listen)?;
            if settings.store.backend != Backend::Embedded {
                return Err(Error::Usage(
                    "`dynamodb.listen` opens the embedded store, and `store.backend` is another"
                        .to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// Listens, and builds the house: until all is there, callers are told that it is starting and
    /// how far it has come. `shown` is what its operator sees of the settings, and `flow` moves the
    /// clock, if a test is to.
    ///
    /// # Errors
    /// A part cannot be opened.
    pub async fn open(
        settings: &Settings,
        shown: Vec<ShownSetting>,
        clock: Clock,
        flow: Option<Flow>,
    ) -> Result<House, Error> {
        House::check(settings)?;
        let tasks = Tasks::new();
        let readiness = Readiness::new();
        // First, because the others register their numbers with it.
        let metrics = Metrics::of_process();
        metrics.start_upkeep(&clock, &tasks);
        let random = Random::from_os();
        let traces = Traces::start(&settings.otlp, random.clone(), &clock, &tasks);
        let about_itself =
            || edge::house_room(ABOUT, readiness.clone(), metrics.clone(), settings.http.metrics);
        let waiting = vec![about_itself(), edge::starting_room(readiness.clone())];
        let (progress, ready) = (store_watch::begin(&readiness), readiness.clone());
        let server = Server::start(&settings.http, waiting, clock.clone(), ready, traces.clone());
        let server = server.await.map_err(|error| port::explain("http.listen", error))?;
        // Both ports are taken before the store is opened: a house that cannot have them makes none.
        let endpoint = settings.dynamodb.listen.0.map(Bound::at).transpose();
        let endpoint = endpoint.map_err(|error| port::explain("dynamodb.listen", error))?;
        let store = Store::open_telling(settings, &clock, &random, &tasks, &progress);
        let store = store_watch::telling(store, &progress, &clock).await?;
        store_watch::watch(&store, &readiness, &clock, &tasks);
        let tables = store.tables();
        edge::ensure_tables(&*tables).await?;
        let hub = carrier::open_hub(&settings.hub, &readiness, &clock, &random, &tasks).await?;
        let (store_of_rooms, streams) = (Arc::clone(&tables), &settings.stream);
        let ground = Ground::with_hub(store_of_rooms, hub, streams, &clock, &random, &tasks);
        let dispatch = Dispatch::open(Arc::clone(&tables), clock.clone(), random.clone(), &tasks);
        let dispatch = dispatch.await?;
        // Jobs may call this house. Until it is open, its answer is that it is not.
        let pause = dispatch.pause();
        ground.dials.add("log.level", crate::log::change_level);
        let rooms = Rooms::open(settings, &ground, &dispatch).await?;
        // What is watched is this instance.
        let (own, engine) = (ground.alone(&settings.stream), store.engine().cloned());
        let (secrets, asked) = (SECRETS.clone(), rooms.asked());
        let console = Console::open(&own, &dispatch, &metrics, engine, shown, secrets, asked);
        let console = console.await?;
        let operator =
            Operator::new(Arc::clone(&tables), &settings.operator, &clock, random, &tasks);
        let mesh_key = rooms.mesh.api_key().to_owned();
        let rooms = rooms.mount(about_itself(), &console, &ground, &operator);
        let door = match (endpoint, store.engine().cloned()) {
            (Some(endpoint), Some(engine)) => {
                let (clock, ready) = (clock.clone(), readiness.clone());
                Some(door::start(engine, settings, endpoint, clock, ready, &tasks).await?)
            }
            (Some(_), None) | (None, _) => None,
        };
        let ears = HouseEars { pushes: ground.hub.clone(), requests: traces.clone() };
        server.set_rooms(&settings.http, rooms, traces);
        drop(pause);
        store_watch::end(&readiness);
        let url = settings.operator.url_or(&server.url());
        let setup_link = find_setup_link(&operator, &store).await?;
        let setup_link = setup_link.map(|path| format!("{url}{path}"));
        let premises = Premises {
            engine: store.engine().cloned(),
            clock: clock.clone(),
            flow,
            url,
            address: OpenAddress::of(server.address(), &settings.http),
            ears,
            hubs: [ground.hub.clone(), own.hub.clone()],
            dispatch,
        };
        // Commands reach DynamoDB without the house; tests do not.
        let is_reached = premises.engine.is_some() || premises.flow.is_some();
        if is_reached && let Err(cause) = control::open(&settings.store.path, premises, &tasks) {
            // Some file systems know no sockets. The house can do without; its owner should know.
            tracing::warn!(%cause, "no control socket: commands cannot reach this house");
        }
        let Ground { keys, random, .. } = ground;
        Ok(House { clock, tasks, store, tables, server, door, setup_link, mesh_key, keys, random })
    }

    /// Fills every room with people who do not exist, until the house closes, and tells where to
    /// look: names, each with a place.
    ///
    /// # Errors
    /// The store refused the key with which they add sources.
    pub async fn demonstrate(&self) -> Result<Vec<(&'static str, String)>, Error> {
        const NAME: &str = "demo";
        let scopes = ["collect:operate"].map(str::to_owned);
        // The key of an earlier demonstration in the same directory.
        match self.keys.revoke(NAME, None).await {
            Ok(_) | Err(edge::Error::NoSuchKey(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let operator_key = self.keys.create(NAME, &scopes, None).await?.text;
        let stage = Stage {
            address: self.address(),
            mesh_key: self.mesh_key.clone(),
            operator_key,
            clock: self.clock.clone(),
            random: self.random.fork("demo"),
        };
        Ok(demo::start(stage, &self.tasks).await)
    }

    /// The URL to show to people, with the real port.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Where people find it.
    pub(crate) fn reach(&self) -> &Reach {
        self.server.reach()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> std::net::SocketAddr {
        edge::reachable(self.server.address())
    }

    /// What it keeps its data in, if that is its own.
    pub(crate) fn engine(&self) -> Option<&Embedded> {
        self.store.engine()
    }

    /// Where the tools of DynamoDB find it, with the real port.
    pub fn dynamodb_url(&self) -> Option<String> {
        self.door.as_ref().map(Server::url)
    }

    /// The link by which a house that has no operator yet is set up.
    pub fn setup_link(&self) -> Option<&str> {
        self.setup_link.as_deref()
    }

    /// Waits until the operator has a password.
    pub(crate) async fn set_up(&self) {
        let ids = Ids::new(self.clock.clone(), self.random.fork("account ids"));
        let (tables, options) = (Arc::clone(&self.tables), OperatorOptions::default());
        let accounts = Accounts::new(tables, &options, self.clock.clone(), ids);
        // A store that fails says nothing; the next look may.
        while !accounts.is_set_up().await.unwrap_or_default() {
            self.clock.sleep(SET_UP_LOOK).await;
        }
    }

    /// The key that clients of the mesh send.
    pub fn mesh_key(&self) -> &str {
        &self.mesh_key
    }

    /// How many tables it holds, and how many items in them.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn contents(&self) -> Result<(usize, u64), Error> {
        let names = self.tables.list_tables().await?;
        let mut items = 0;
        for name in &names {
            items += self.tables.describe_table(name).await?.items;
        }
        Ok((names.len(), items))
    }

    /// Closes the door, finishes what is under way, stops everything behind it, and last closes
    /// the store.
    ///
    /// # Errors
    /// Something did not finish in its time. Everything else is closed nonetheless.
    pub async fn close(self) -> Result<(), Error> {
        // Both doors at once: together they have the time of one drain.
        let door = async {
            match self.door {
                Some(door) => door.drain().await,
                None => Ok(()),
            }
        };
        let (drained, door) = tokio::join!(self.server.drain(), door);
        let stopped = self.tasks.finish(&self.clock, TASKS_STOP).await;
        let engine = self.store.engine().cloned();
        let close = move || engine.map_or(Ok(()), |engine| engine.close());
        let closed = tokio::task::spawn_blocking(close).await;
        drained?;
        door?;
        stopped.map_err(Error::Tasks)?;
        Ok(closed.map_err(|cause| Error::System {
            context: "cannot close the store",
            cause: cause.into(),
        })??)
    }
}

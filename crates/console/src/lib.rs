//! The pages of the house itself: its front for everybody (`/`), and what its operator sees
//! (`/console`).
//!
//! Start with [`Console`]. `numbers.rs` reads what the house counts anyway, `overview.rs` makes
//! rates and sentences of it, `watch.rs` does so every second and pushes it, `browse.rs` looks into
//! tables, `facts.rs` follows facts through the change log, `pages.rs` shows it all.
//!
//! - **Invariant:** what the overview shows comes from counters; nothing is scanned for it, however
//!   much the house holds.
//! - **Invariant:** no room is known here but by its name.

mod browse;
mod facts;
mod limits;
mod numbers;
mod overview;
mod pages;
mod top;
mod watch;

use std::sync::Arc;

use base::Clock;
use base::options::Form;
use dispatch::Dispatch;
use edge::{Cors, Dials, Ground, Keys, Metrics, Operator, Room, Streams};
use hub::{Channel, ChannelSpec};
use parking_lot::Mutex;
use table::{Embedded, Secrets, Tables};

use self::limits::PUSHES_KEPT;
use self::overview::Overview;
pub use self::top::Top;

/// A setting of the house, as its operator sees it.
#[derive(Clone, Debug)]
pub struct ShownSetting {
    /// Its name: `http.listen`.
    pub key: String,
    /// What it means.
    pub about: String,
    /// The same in Japanese.
    pub about_ja: String,
    /// What its section is about.
    pub section_about: String,
    /// The same in Japanese.
    pub section_about_ja: String,
    /// Its value at the start; nothing for a secret.
    pub value: String,
    /// Its value where nobody sets it.
    pub default: String,
    /// Where it was written; nothing for a default.
    pub origin: String,
    /// Whether its value is nobody's business.
    pub is_secret: bool,
    /// How a file writes its value.
    pub form: Form,
    /// Its name in the environment.
    pub variable: String,
    /// Reads a value for the setting with this key: the value as it is written, or what was expected
    /// instead, in words.
    pub check: fn(&str, &str) -> Result<String, String>,
}

/// The console.
pub struct Console {
    tables: Arc<dyn Tables>,
    dispatch: Dispatch,
    keys: Keys,
    dials: Dials,
    clock: Clock,
    metrics: Metrics,
    settings: Vec<ShownSetting>,
    secrets: Secrets,
    /// The store, if it is on this machine: it has backups then.
    store: Option<Embedded>,
    streams: Streams,
    channel: Channel,
    overview: Mutex<Overview>,
}

impl Console {
    /// Begins to watch what the house counts, until its tasks end. `secrets` are what it shows to
    /// nobody.
    pub fn open(
        ground: &Ground,
        dispatch: &Dispatch,
        metrics: &Metrics,
        store: Option<Embedded>,
        settings: Vec<ShownSetting>,
        secrets: Secrets,
    ) -> Arc<Console> {
        let console = Arc::new(Console {
            tables: Arc::clone(&ground.tables),
            dispatch: dispatch.clone(),
            keys: ground.keys.clone(),
            dials: ground.dials.clone(),
            settings,
            secrets,
            clock: ground.clock.clone(),
            metrics: metrics.clone(),
            store,
            streams: ground.streams.clone(),
            channel: ground.hub.channel(ChannelSpec::new("console.overview", PUSHES_KEPT)),
            overview: Mutex::default(),
        });
        watch::start(&console, &ground.tasks);
        console
    }

    /// The pages: the front for everybody, the rest for the operator.
    pub fn room(self: &Arc<Self>, operator: &Operator) -> Room {
        Room::new("console", pages::routes(self, operator)).with_cors(Cors::Nobody)
    }
}

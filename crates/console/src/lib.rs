//! The pages of the house itself: its front for everybody (`/`), and what its operator sees
//! (`/console`).
//!
//! Start with [`Console`]. `numbers.rs` reads what the house counts anyway, `overview.rs` makes
//! rates and sentences of it, `problems.rs` what needs the operator, `steps.rs` what was not tried
//! yet, `watch.rs` does so every second and pushes it, `search.rs` finds what has a page, `browse.rs`
//! looks into tables, `past.rs` into the past of an item, `facts.rs` follows facts through the change
//! log, `pages.rs` shows it all.
//!
//! - **Invariant:** what the overview shows comes from counters; nothing is scanned for it, however
//!   much the house holds.
//! - **Invariant:** no room is known here but by its name, and by what it answers (`kit::Ask`).

mod browse;
mod facts;
mod limits;
mod numbers;
mod overview;
mod pages;
mod past;
mod problems;
mod search;
mod steps;
mod top;
mod watch;

use std::sync::Arc;

use base::Clock;
use base::options::Form;
use dispatch::Dispatch;
use edge::{Cors, Dials, Ground, Keys, Metrics, Operator, Room, Streams};
use hub::{Channel, ChannelSpec};
pub use kit::Ask;
use parking_lot::Mutex;
use table::{Embedded, Error, Secrets, Tables};

use self::limits::PUSHES_KEPT;
use self::overview::Overview;
use self::problems::Outlook;
use self::steps::Steps;
pub use self::steps::table;
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
    outlook: Mutex<Outlook>,
    steps: Steps,
    /// Who is asked for results of a search, problems, and whether it was used.
    rooms: Vec<Arc<dyn Ask>>,
}

impl Console {
    /// Begins to watch what the house counts, until its tasks end. `secrets` are what it shows to
    /// nobody, `rooms` whom it asks.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn open(
        ground: &Ground,
        dispatch: &Dispatch,
        metrics: &Metrics,
        store: Option<Embedded>,
        settings: Vec<ShownSetting>,
        secrets: Secrets,
        rooms: Vec<Arc<dyn Ask>>,
    ) -> Result<Arc<Console>, Error> {
        let steps = Steps::load(&*ground.tables).await?;
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
            outlook: Mutex::default(),
            steps,
            rooms,
        });
        watch::start(&console, &ground.tasks);
        Ok(console)
    }

    /// What a setting is, if it is anything.
    fn setting(&self, key: &str) -> Option<&str> {
        let setting = self.settings.iter().find(|setting| setting.key == key)?;
        Some(setting.value.as_str()).filter(|value| !value.is_empty())
    }

    /// The pages: the front for everybody, the rest for the operator.
    pub fn room(self: &Arc<Self>, operator: &Operator) -> Room {
        Room::new("console", pages::routes(self, operator)).with_cors(Cors::Nobody)
    }
}

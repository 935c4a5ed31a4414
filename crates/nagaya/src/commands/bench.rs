//! `nagaya bench`: what this machine carries. A house of its own is opened on a store that is gone
//! afterwards, on the disk of the real one, and driven for a few seconds as clients drive it.
//!
//! A figure alone says little, so each stands beside what the machine itself does in the same run:
//! a write beside a bare sync of the disk, an answer beside bare bytes over loopback. Client and
//! house share the machine, so another machine in front of it makes the figures better, not worse.

mod rows;
mod store;
mod wire;

use std::path::{Path, PathBuf};
use std::time::Duration;

use base::{Clock, Tasks};
use clap::{Arg, ArgMatches, Command, value_parser};
use tokio::sync::mpsc;

use self::rows::Row;
use super::progress::Progress;
use super::{as_json, is_json, print, serve};
use crate::config::{Config, Invalid};
use crate::{Error, House, Settings};

pub(super) const NAME: &str = "bench";

const SECONDS: &str = "seconds";
const PATH: &str = "path";

/// Whatever the bench has started has ended by itself; this is for what has not.
const TASKS_STOP: Duration = Duration::from_secs(10);

pub(super) fn command() -> Command {
    let seconds = Arg::new(SECONDS)
        .long(SECONDS)
        .value_name("SECONDS")
        .default_value("2")
        .value_parser(seconds_of)
        .help("How long each thing is done");
    let path = Arg::new(PATH)
        .long(PATH)
        .value_name("DIRECTORY")
        .value_parser(value_parser!(PathBuf))
        .help("Whose disk is tried [default: where the setting `store.path` lies]");
    Command::new(NAME)
        .about("Measure what this machine carries, on a temporary store")
        .long_about(
            "Measure what this machine carries: a house is opened on a store that is gone \
             afterwards, and is written, read, asked and listened to. Beside each figure stands \
             what the machine does without a house. A house that is open is not touched, but \
             shares the machine.",
        )
        .arg(seconds)
        .arg(path)
        .arg(as_json())
}

/// The span of each measurement: short to see that it runs, longer for a steady figure.
fn seconds_of(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=60.0).contains(seconds));
    let seconds: f64 = seconds.ok_or_else(|| "expected a number from 0.05 to 60".to_owned())?;
    Ok(Duration::from_secs_f64(seconds))
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let store = load()?.settings.store;
    let place = matches.get_one::<PathBuf>(PATH).unwrap_or(&store.path);
    let place = std::path::absolute(place).map_err(Error::system("cannot find the directory"))?;
    // A store that is not there yet will lie on its nearest parent's disk.
    let place = place.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
    let failed = |cause| Error::File { path: place.to_owned(), cause };
    let folder = tempfile::Builder::new().prefix(".nagaya-bench-").tempdir_in(place);
    let folder = folder.map_err(failed)?;
    serve::raise_file_limit();
    let settings = Settings {
        store: table::Options { path: folder.path().join("store"), ..store },
        ..Settings::default()
    };
    let span = *matches.get_one::<Duration>(SECONDS).expect("it has a default");
    let bench = Bench { clock: Clock::real(), tasks: Tasks::new(), span };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    let rows = runtime.block_on(bench.run(settings, folder.path()))?;
    let text = if is_json(matches) { rows::json(&rows) } else { rows::text(&rows) };
    print(&text)
}

/// The rig: time, and who works in it.
struct Bench {
    clock: Clock,
    tasks: Tasks,
    span: Duration,
}

/// How long somebody works.
#[derive(Clone)]
struct Span {
    clock: Clock,
    began: base::Monotonic,
    length: Duration,
}

impl Span {
    fn is_over(&self) -> bool {
        self.clock.instant().since(self.began) >= self.length
    }
}

impl Bench {
    async fn run(&self, mut settings: Settings, folder: &Path) -> Result<Vec<Row>, Error> {
        settings.http.listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        settings.live.address_comments_per_second = wire::COMMENTS_PER_SECOND_MAX;
        settings.live.host_requests_per_second = wire::COMMENTS_PER_SECOND_MAX;
        // Its listeners do not come back, so they are sent away at once.
        settings.stream.close_spread_seconds = 0;
        let progress = Progress::begin("opening a house");
        let house = House::open(&settings, Vec::new(), self.clock.clone(), None).await?;
        let mut rows = Vec::new();
        let measured = async {
            let engine = house.engine().ok_or(Error::EmbeddedOnly("the bench"))?;
            store::measure(self, engine, folder, &progress, &mut rows).await?;
            wire::measure(self, house.address(), &progress, &mut rows).await
        };
        let measured = measured.await;
        progress.turn_to("closing it");
        let closed = house.close().await;
        let stopped = self.tasks.finish(&self.clock, TASKS_STOP).await.map_err(Error::Tasks);
        measured.and(closed).and(stopped).map(|()| rows)
    }

    /// Lets so many work beside each other; each counts what it does until its time is over.
    /// Answers what all of them did a second.
    async fn pace<F>(&self, workers: u64, work: impl Fn(u64, Span) -> F) -> Result<f64, Error>
    where
        F: Future<Output = Result<u64, Error>> + Send + 'static,
    {
        let began = self.clock.instant();
        let span = Span { clock: self.clock.clone(), began, length: self.span };
        let (tell, mut told) = mpsc::unbounded_channel();
        for worker in 0..workers {
            let (tell, work) = (tell.clone(), work(worker, span.clone()));
            self.tasks.spawn("bench worker", async move {
                // The rig may have gone for another's failure.
                let _gone = tell.send(work.await);
            });
        }
        drop(tell);
        let mut done = 0;
        while let Some(count) = told.recv().await {
            done += count?;
        }
        Ok(done as f64 / self.clock.instant().since(began).as_secs_f64())
    }
}

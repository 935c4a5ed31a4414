//! The control socket: how `nagaya table` and `nagaya backup` reach a house that is open, which
//! alone holds its data directory.
//!
//!   client   a request as JSON, then lines of input for those that take some, then the end
//!   house    > a line of the answer
//!            ! a word about the work
//!            ~ [done, all or null]          how far it is
//!            = {"code":0,"message":""}      the end of it
//!
//! The socket is `control.sock` in the data directory, for its owner only. A house takes it over
//! when it has the directory's lock, so whatever was left there is stale. The client's side is
//! `control/client.rs`; what is done with a request stands in `store.rs`. Some requests are for the
//! house itself (`control/orders.rs`): commands ask for its address, tests move its clock.

mod client;
mod lines;
mod orders;

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Flow, Shutdown, Tasks};
use dispatch::Dispatch;
use hub::Hub;
use serde::{Deserialize, Serialize};
use table::Embedded;
use tokio::io::{AsyncWriteExt, BufReader, BufWriter};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::sync::{Semaphore, mpsc};

pub(crate) use client::{Input, Terminal, ask, find_open};
pub(crate) use orders::OpenAddress;

use crate::Error;
use crate::store::{self, Desk, HouseEars, InputLine, LINES_WAITING, Request, Said};

const NAME: &str = "control.sock";

/// What the system takes as a socket's path, one less than its 108 bytes for the zero at the end.
const PATH_BYTES_MAX: usize = 107;

/// Commands at once. They come from the owner of the house, by hand or from a script.
const COMMANDS_MAX: usize = 16;

/// Clients that the system holds for us while all places are taken.
const BACKLOG: u32 = 64;

/// When the house closes, a client that does not read its last lines is not waited for longer.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct End {
    code: u8,
    message: String,
}

/// The house that is open, as far as commands reach it.
#[derive(Clone)]
pub(crate) struct Premises {
    /// The store, if it is the house's own.
    pub(crate) engine: Option<Embedded>,
    pub(crate) clock: Clock,
    /// Moves the clock, if a test does.
    pub(crate) flow: Option<Flow>,
    /// Where browsers find it.
    pub(crate) url: String,
    /// Where commands on this machine find it.
    pub(crate) address: OpenAddress,
    pub(crate) ears: HouseEars,
    /// The hub of the rooms, and that of the console.
    pub(crate) hubs: [Hub; 2],
    pub(crate) dispatch: Dispatch,
}

/// Answers commands through a socket in `directory` until the tasks shut down.
///
/// # Errors
/// There can be no socket there.
pub(crate) fn open(directory: &Path, premises: Premises, tasks: &Tasks) -> io::Result<()> {
    let is_at_home = premises.engine.is_some();
    fs::create_dir_all(directory)?;
    let address = Address::of(directory)?;
    match fs::remove_file(&address.path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        Ok(()) | Err(_) => {}
    }
    let socket = UnixSocket::new_stream()?;
    socket.bind(&address.path)?;
    // Nobody can connect before the socket listens, so nobody else ever could.
    fs::set_permissions(&address.path, Permissions::from_mode(0o600))?;
    let listener = socket.listen(BACKLOG)?;
    let directory = directory.to_owned();
    let desk =
        Counter { premises, tasks: tasks.clone(), places: Arc::new(Semaphore::new(COMMANDS_MAX)) };
    tasks.spawn("control socket", async move {
        desk.serve(listener).await;
        // The lock is still held, so the socket is still ours.
        if let Err(cause) = fs::remove_file(&address.path) {
            tracing::warn!(%cause, "cannot remove the control socket");
        }
        // A house whose data is elsewhere leaves nothing here; what others put here stays.
        if !is_at_home {
            let _removed = fs::remove_dir(directory);
        }
    });
    Ok(())
}

/// Where the socket is, in words that fit the system.
struct Address {
    path: PathBuf,
    /// Kept open for as long as the path leads through it.
    _directory: Option<File>,
}

impl Address {
    fn of(directory: &Path) -> io::Result<Address> {
        let path = directory.join(NAME);
        if path.as_os_str().len() <= PATH_BYTES_MAX {
            return Ok(Address { path, _directory: None });
        }
        let directory = File::open(directory)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{NAME}", directory.as_raw_fd()));
        Ok(Address { path, _directory: Some(directory) })
    }
}

/// Takes clients and answers them.
struct Counter {
    premises: Premises,
    tasks: Tasks,
    places: Arc<Semaphore>,
}

impl Counter {
    async fn serve(&self, listener: UnixListener) {
        let shutdown = self.tasks.shutdown();
        loop {
            let place = self.places.clone().acquire_owned();
            let accepted = async {
                let place = place.await.expect("the places are never closed");
                (listener.accept().await, place)
            };
            let (accepted, place) = tokio::select! {
                biased;
                () = shutdown.begun() => return,
                accepted = accepted => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(cause) => {
                    tracing::warn!(%cause, "cannot take a command");
                    self.premises.clock.sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (premises, tasks) = (self.premises.clone(), self.tasks.clone());
            let shutdown = shutdown.clone();
            let clock = premises.clock.clone();
            self.tasks.spawn("control command", async move {
                let closing = async {
                    shutdown.begun().await;
                    clock.sleep(LAST_WORDS).await;
                };
                tokio::select! {
                    () = answer(stream, premises, tasks) => {}
                    () = closing => {}
                }
                drop(place);
            });
        }
    }
}

async fn answer(stream: UnixStream, premises: Premises, tasks: Tasks) {
    let shutdown: Shutdown = tasks.shutdown();
    let (reader, writer) = stream.into_split();
    let (said, to_write) = mpsc::channel(LINES_WAITING);
    let work = async {
        tokio::select! {
            biased;
            () = shutdown.begun() => Err(Error::Closing),
            done = work(reader, premises, &tasks, said) => done,
        }
    };
    let (done, written) = tokio::join!(work, write(writer, to_write));
    let end = match &done {
        Ok(()) => End { code: 0, message: String::new() },
        Err(error) => End { code: error.exit().code(), message: error.to_string() },
    };
    let last = async {
        let end = serde_json::to_string(&end).expect("a number and a text are JSON");
        let mut writer = written?;
        writer.write_all(format!("= {end}\n").as_bytes()).await?;
        writer.flush().await
    };
    if let Err(cause) = last.await {
        tracing::debug!(%cause, "a client left before its command was done");
    }
}

async fn work(
    reader: OwnedReadHalf,
    premises: Premises,
    tasks: &Tasks,
    output: mpsc::Sender<Said>,
) -> Result<(), Error> {
    let mut reader = BufReader::new(reader);
    let Some(request) = lines::next(&mut reader).await? else { return Ok(()) };
    if let Ok(order) = serde_json::from_str(&request) {
        let line = orders::obey(&premises, tasks, order).await?;
        return output.send(Said::Line(line)).await.map_err(|_| Error::ReaderGone);
    }
    let request: Request = serde_json::from_str(&request)
        .map_err(|cause| Error::Usage(format!("the house does not know that command: {cause}")))?;
    let (feed, input) = mpsc::channel(LINES_WAITING);
    let feeding = async {
        lines_into(&mut reader, feed).await;
        // The end of the input is not the end of the work.
        std::future::pending().await
    };
    let Premises { engine, clock, url, ears, .. } = premises;
    let store = engine.ok_or(Error::EmbeddedOnly("the control socket"))?;
    let desk = Desk {
        store: Arc::new(store.clone()),
        engine: Some(store),
        clock,
        url: Some(url),
        ears: Some(ears),
        stays_open: true,
        input,
        output,
    };
    tokio::select! {
        done = store::run(desk, request) => done,
        never = feeding => never,
    }
}

async fn lines_into(reader: &mut BufReader<OwnedReadHalf>, feed: mpsc::Sender<InputLine>) {
    while let Some(line) = lines::next(reader).await.transpose() {
        let failed = line.is_err();
        if feed.send(line).await.is_err() || failed {
            return;
        }
    }
}

async fn write(
    writer: OwnedWriteHalf,
    mut to_write: mpsc::Receiver<Said>,
) -> io::Result<BufWriter<OwnedWriteHalf>> {
    let mut writer = BufWriter::new(writer);
    while let Some(said) = to_write.recv().await {
        let (sign, text) = match said {
            Said::Line(text) => ('>', text),
            Said::Note(text) => ('!', text),
            Said::Progress { done, of } => ('~', serde_json::json!([done, of]).to_string()),
        };
        for line in text.split('\n') {
            writer.write_all(format!("{sign} {line}\n").as_bytes()).await?;
        }
        if to_write.is_empty() {
            writer.flush().await?;
        }
    }
    Ok(writer)
}

//! Plays an attack: many connections of one address, on one thread of low priority.
//!
//! The thread has little work, so that what honest callers notice is the house's doing and not that
//! the attacker took the processor: connections wait between what they do, and bodies are zeros.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base::Clock;
use testkit::{depth, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// How far the attacker's thread stands back behind the house and honest callers.
const NICENESS: i32 = 10;

/// Between two bytes of a slow client.
const TRICKLE: Duration = Duration::from_millis(200);

/// How long a client tries to get rid of what it sends, and waits for an answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Small buffers at the client: what the house holds is not held by the system.
const BUFFER_BYTES: u32 = 16 * 1_024;

/// What an attack knows of the house.
pub(super) struct Target {
    pub(super) http: SocketAddr,
    pub(super) door: SocketAddr,
    pub(super) mesh_key: String,
    /// The path of a room's comments.
    pub(super) comments: String,
    /// GraphQL documents that cost more than they are long.
    pub(super) documents: Vec<String>,
    pub(super) numbers: AtomicUsize,
}

impl Target {
    /// A number that nobody else has.
    pub(super) fn next_number(&self) -> usize {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

/// An attack.
pub(super) struct Attack {
    pub(super) name: &'static str,
    /// Whether it goes to the DynamoDB endpoint.
    pub(super) is_at_door: bool,
    /// The address that it comes from.
    pub(super) from: Ipv4Addr,
    /// How many connections it has, and in a deep run.
    pub(super) connections: (usize, usize),
    /// What a connection sends, by a running number.
    pub(super) sends: fn(&Target, usize) -> Vec<u8>,
    /// Zeros that it sends after that, as many of them as the house takes.
    pub(super) zeros: usize,
    pub(super) then: Then,
    /// Settings of the house beside its usual ones.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// Whether some of its requests may succeed.
    pub(super) may_succeed: bool,
    /// Whether its requests are under way until the drain ends.
    pub(super) may_hold_drain: bool,
}

/// What a connection does when it has sent all.
#[derive(Clone, Copy)]
pub(super) enum Then {
    /// Stays, takes nothing but a status, and sends this again and again.
    Hold(&'static [u8]),
    /// Closes its side and stays.
    HalfClose,
    /// Takes the answer, waits, and comes again.
    Repeat(Duration),
    /// Resets the connection, waits, and comes again.
    Reset(Duration),
}

/// What the attacker got.
#[derive(Default)]
pub(super) struct Tally {
    /// Connections that have sent for the first time.
    begun: AtomicUsize,
    pub(super) succeeded: AtomicU64,
    pub(super) refused: AtomicU64,
    /// Connections that ended without a status.
    pub(super) cut: AtomicU64,
}

/// An attack under way.
pub(super) struct Crowd {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Crowd {
    /// Begins an attack; returns when all its connections have sent what they send first.
    pub(super) fn start(
        attack: &'static Attack,
        target: &Arc<Target>,
        tally: &Arc<Tally>,
    ) -> Crowd {
        let (stop, stopped) = oneshot::channel();
        let count = depth::pick(attack.connections.0, attack.connections.1);
        tally.begun.store(0, Ordering::Relaxed);
        let thread = std::thread::spawn({
            let (target, tally) = (Arc::clone(target), Arc::clone(tally));
            move || {
                rustix::process::nice(NICENESS).unwrap();
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(async move {
                    let mut members = JoinSet::new();
                    for number in 0..count {
                        let (target, tally) = (Arc::clone(&target), Arc::clone(&tally));
                        members.spawn(
                            Member { attack, target, tally, clock: Clock::real() }.play(number),
                        );
                    }
                    let _told_or_dropped = stopped.await;
                });
            }
        });
        wait::until("an attack in force", || {
            let begun = tally.begun.load(Ordering::Relaxed);
            wait::holds(begun >= count, format!("{begun} of {count} connections"))
        });
        Crowd { stop, thread }
    }

    /// Ends it with all its connections.
    pub(super) fn stop(self) {
        drop(self.stop);
        self.thread.join().unwrap();
    }
}

/// One connection after the other.
struct Member {
    attack: &'static Attack,
    target: Arc<Target>,
    tally: Arc<Tally>,
    clock: Clock,
}

impl Member {
    async fn play(self, number: usize) {
        let mut sent = self.begin(number).await;
        self.tally.begun.fetch_add(1, Ordering::Relaxed);
        loop {
            let pause = match (sent, self.attack.then) {
                (Ok(stream), Then::Hold(again)) => return self.hold(stream, again).await,
                (Ok(mut stream), Then::HalfClose) => {
                    let _closed = stream.shutdown().await;
                    return self.hold(stream, &[]).await;
                }
                (Ok(stream), Then::Repeat(pause)) => {
                    self.take(stream).await;
                    pause
                }
                (Ok(stream), Then::Reset(pause)) => {
                    stream.set_zero_linger().unwrap();
                    pause
                }
                // It is refused at the door, or the house has closed.
                (Err(_), _) => TRICKLE,
            };
            self.clock.sleep(pause).await;
            sent = self.begin(self.target.next_number()).await;
        }
    }

    /// A connection that has sent all that the house takes.
    async fn begin(&self, number: usize) -> io::Result<TcpStream> {
        let (attack, target) = (self.attack, &self.target);
        let socket = TcpSocket::new_v4()?;
        socket.set_send_buffer_size(BUFFER_BYTES)?;
        socket.set_recv_buffer_size(BUFFER_BYTES)?;
        socket.bind((attack.from, 0).into())?;
        let address = if attack.is_at_door { target.door } else { target.http };
        let mut stream = socket.connect(address).await?;
        let sends = (attack.sends)(target, number);
        // What is not taken in time is left: the connection has had its effect.
        let _in_time = self.clock.timeout(PATIENCE, stream.write_all(&sends)).await;
        let mut left = attack.zeros;
        while left > 0 {
            let zeros = [0; BUFFER_BYTES as usize];
            let part = zeros.get(..left.min(zeros.len())).unwrap_or_default();
            match self.clock.timeout(PATIENCE, stream.write(part)).await {
                Ok(Ok(count)) => left -= count,
                Ok(Err(_)) | Err(_) => break,
            }
        }
        Ok(stream)
    }

    /// Stays, and reads a status at most.
    async fn hold(&self, mut stream: TcpStream, again: &[u8]) {
        let mut status = [0; 12];
        let mut is_told = false;
        loop {
            self.clock.sleep(TRICKLE).await;
            if !is_told {
                let read = stream.try_read(&mut status);
                let is_waiting = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
                is_told = !read.as_ref().is_err_and(is_waiting);
                if is_told {
                    self.count(status.get(..read.unwrap_or(0)).unwrap_or_default());
                }
            }
            if !again.is_empty() && stream.write_all(again).await.is_err() {
                // The house has ended it. It has its answer and comes no more.
                return std::future::pending().await;
            }
        }
    }

    /// Takes what comes till the house closes, for a while.
    async fn take(&self, mut stream: TcpStream) {
        let mut answer = Vec::new();
        let _in_time = self.clock.timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
        self.count(&answer);
    }

    fn count(&self, answer: &[u8]) {
        let counter = match answer.get(..10) {
            Some(b"HTTP/1.1 2") => &self.tally.succeeded,
            Some(start) if start.starts_with(b"HTTP/1.1 ") => &self.tally.refused,
            // Frames of HTTP/2, or nothing.
            Some(_) | None => &self.tally.cut,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

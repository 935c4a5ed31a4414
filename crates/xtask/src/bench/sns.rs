//! The sns room in this process, compared with Redis over its own protocol: 10 000 users, each of
//! whom follows 100 others and is followed by 100.
//!
//! - timelines: posts with their complete fan-out, every entry durable; then first pages of 20
//!   posts with their authors, as in responses. Redis keeps timelines in lists of at most 800,
//!   posts and users in hashes, and syncs every second (`redis.rs`). Both are idle before the
//!   measurement: our million follows are settled, and Redis does not rewrite its log;
//! - sockets: 100 posts per second, and the time of each until the last follower's socket. Every
//!   user listens; where a process may not open so many files, there are fewer users.

mod redis;

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ::sns::{BareRoom, Sns};
use base::{Clock, Random, Tasks};
use dispatch::Dispatch;
use edge::{Ground, Readiness, Server, StreamOptions, Traces};
use table::Embedded;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::crowd::{Crowd, STAMP_DIGITS, SocketProtocol};
use super::house::{handshake, read_past};
use super::report::{Bar, Report, Server as Whose};
use super::stats::Latencies;
use super::{BenchResult, Options, data_folder, install_peers, raise_limit};
use crate::run;

/// Tasks that post or read, each right after its last response.
const TASKS: usize = 64;
/// Open files of the process in addition to sockets: the store, the log, the runtime.
const OTHER_FILES: u64 = 500;
/// The size of a post.
const CONTENT_BYTES: usize = 100;
/// Posts per second while sockets listen.
const RATE: u32 = 100;
/// The bar for the time to the last socket, in milliseconds.
const SOCKET_BAR_MS: f64 = 250.0;
/// The longest time for all entries after the last post was accepted.
const FAN_OUT_MAX: Duration = Duration::from_secs(300);
/// How long background tasks have to stop.
const CLOSING: Duration = Duration::from_secs(10);
/// Without any push for this time, something is lost.
const STUCK: Duration = Duration::from_secs(15);

/// The size of the room.
#[derive(Clone, Copy)]
struct Size {
    users: usize,
    follows: usize,
    posts: usize,
    reads: usize,
}

impl Size {
    fn of(options: Options) -> Size {
        match options.quick {
            true => Size { users: 200, follows: 20, posts: 400, reads: 2_000 },
            false => Size { users: 10_000, follows: 100, posts: 20_000, reads: 200_000 },
        }
    }

    /// The user for a number: all users in turn, but no neighbours one after the other.
    fn user(self, number: usize) -> usize {
        number * 7_919 % self.users
    }
}

/// Runs the bench of timelines.
pub(super) fn timelines(options: Options, report: &mut Report) -> BenchResult {
    install_peers();
    let size = Size::of(options);
    let (mut posts, mut reads) = (None, None);
    let ended = measure_timelines(size, &mut posts, &mut reads);
    report.take(Whose::Ours, "timelines", ended);
    let peer = report.take(Whose::Peer("Redis"), "timelines", redis::measure(size));
    let (peer_posts, peer_reads) = peer.map(|peer| (peer.posts, peer.reads)).unzip();
    let entries = size.follows as f64;
    let Size { users, follows, .. } = size;
    let what = format!("{users} users with {follows} followers each: posts/s, fan-out complete");
    report.compare(what, posts, peer_posts, Bar::Open);
    let what = "the same as timeline entries/s, ours durable, Redis' synced every second";
    let written = |posts: Option<f64>| posts.map(|posts| posts * entries);
    report.compare(what, written(posts), written(peer_posts), Bar::AtLeast(0.5));
    let what = "timelines/s, 20 posts with their authors";
    report.compare(what, reads, peer_reads, Bar::AtLeast(1.0));
    Ok(())
}

/// Posts and timelines per second, as far as they can be measured.
fn measure_timelines(size: Size, posts: &mut Option<f64>, reads: &mut Option<f64>) -> BenchResult {
    let folder = data_folder()?;
    let stage = SnsStage::open(folder.path(), size)?;
    *posts = Some(stage.post_all(size)?);
    *reads = Some(stage.read_all(size)?);
    stage.close()
}

/// Runs the bench of sockets.
pub(super) fn sockets(options: Options, report: &mut Report) -> BenchResult {
    // Both ends of each socket are files of this process.
    let sockets = raise_limit()?.saturating_sub(OTHER_FILES) / 2;
    let (mut size, folder) = (Size::of(options), data_folder()?);
    size.users = size.users.min(usize::try_from(sockets).unwrap_or(usize::MAX));
    let stage = SnsStage::open(folder.path(), size)?;
    let mut crowd = Crowd::new()?;
    for user in 0..size.users {
        crowd.enter(&stage.socket(user)?, SocketProtocol::Posts)?;
    }
    let posts = RATE * if options.quick { 1 } else { 30 };
    let ages = stage.listen(&mut crowd, size, posts)?;
    let ms = |percent| ages.percentile(percent).as_secs_f64() * 1e3;
    let what = format!("{} sockets, {RATE} posts/s: ms to the last follower, p99", size.users);
    report.compare(format!("{what} beside the bar"), ms(99.0), SOCKET_BAR_MS, Bar::AtMost(1.0));
    report.compare(format!("{what} beside p50"), ms(99.0), ms(50.0), Bar::Open);
    drop(crowd);
    stage.close()
}

/// The room in this process, on the real disk, with a server for sockets.
struct SnsStage {
    runtime: Runtime,
    store: Embedded,
    tasks: Tasks,
    server: Server,
    room: Arc<BareRoom>,
}

impl SnsStage {
    fn open(path: &Path, size: Size) -> Result<SnsStage, Box<dyn std::error::Error>> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let tasks = Tasks::new();
        let (store, server, room) = runtime.block_on(async {
            let (clock, random) = (Clock::real(), Random::from_os());
            let options = table::Options { path: path.to_owned(), ..Default::default() };
            let store = Embedded::open(options, clock.clone(), &tasks).await?;
            edge::ensure_tables(&store).await?;
            let tables = Arc::new(store.clone());
            let (time, chance) = (clock.clone(), random.clone());
            let dispatch = Dispatch::open(tables.clone(), time, chance, &tasks).await?;
            let streams = StreamOptions::default();
            let ground = Ground::new(tables, &streams, &clock, &random, &tasks);
            let sns = Sns::open(roomy(), &ground, &dispatch).await?;
            let http = edge::Options {
                listen: ([127, 0, 0, 1], 0).into(),
                connections_max: 100_000,
                ..Default::default()
            };
            let traces = Traces::uncollected(random);
            let rooms = vec![sns.room(&ground)];
            let server = Server::start(&http, rooms, clock, Readiness::new(), traces).await?;
            let room = BareRoom::furnish(&sns, &ground, size.users, size.follows).await?;
            Ok::<_, Box<dyn std::error::Error>>((store, server, Arc::new(room)))
        })?;
        Ok(SnsStage { runtime, store, tasks, server, room })
    }

    fn close(self) -> BenchResult {
        drop(self.server);
        let finished = self.runtime.block_on(self.tasks.finish(&Clock::real(), CLOSING));
        finished.map_err(|tasks| format!("still running: {tasks:?}"))?;
        Ok(self.store.close()?)
    }

    /// Repeats an operation on all tasks; returns its rate per second.
    fn repeat<F>(
        &self,
        count: usize,
        work: impl Fn(Arc<BareRoom>, usize) -> F + Send + Sync + 'static,
    ) -> Result<f64, Box<dyn std::error::Error>>
    where
        F: Future<Output = Result<(), ::sns::Error>> + Send,
    {
        let (work, next, begin) = (Arc::new(work), Arc::new(AtomicUsize::new(0)), run::now());
        self.runtime.block_on(async {
            let mut running = JoinSet::new();
            for _ in 0..TASKS {
                let (work, next, room) =
                    (Arc::clone(&work), Arc::clone(&next), Arc::clone(&self.room));
                running.spawn(async move {
                    loop {
                        match next.fetch_add(1, Ordering::Relaxed) {
                            number if number < count => work(Arc::clone(&room), number).await?,
                            _ => return Ok::<(), ::sns::Error>(()),
                        }
                    }
                });
            }
            while let Some(ended) = running.join_next().await {
                ended.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
            }
            Ok::<(), String>(())
        })?;
        Ok(count as f64 / begin.elapsed().as_secs_f64())
    }

    /// Posts per second, until all of them are in all timelines.
    fn post_all(&self, size: Size) -> Result<f64, Box<dyn std::error::Error>> {
        self.runtime.block_on(self.store.settle())?;
        let begin = run::now();
        let content = "x".repeat(CONTENT_BYTES);
        let taken = self.repeat(size.posts, move |room, number| {
            let content = content.clone();
            async move { room.post(size.user(number), &content).await }
        })?;
        let wanted = (size.posts * (size.follows + 1)) as u64;
        let took = self.runtime.block_on(async {
            loop {
                let (entries, now) = (self.room.entries().await?, begin.elapsed());
                // Counting the waiting messages costs the store time, so it starts only after all
                // entries exist.
                if entries == wanted && self.room.waiting().await? == 0 {
                    return Ok::<_, Box<dyn std::error::Error>>(now);
                }
                if now > FAN_OUT_MAX {
                    return Err(format!("{entries} of {wanted} entries").into());
                }
                Clock::real().sleep(Duration::from_millis(20)).await;
            }
        })?;
        println!("{taken:.0} posts/s taken while they were written out\n");
        Ok(size.posts as f64 / took.as_secs_f64())
    }

    /// Timelines read per second.
    fn read_all(&self, size: Size) -> Result<f64, Box<dyn std::error::Error>> {
        let page = self.runtime.block_on(self.room.read(0))?;
        let shown = memchr::memmem::find_iter(&page, b"\"postId\"").count();
        if shown != 20 {
            return Err(format!("a page shows {shown} posts").into());
        }
        self.repeat(size.reads, move |room, number| async move {
            room.read(size.user(number)).await.map(drop)
        })
    }

    /// A user's socket that listens.
    fn socket(&self, user: usize) -> Result<TcpStream, Box<dyn std::error::Error>> {
        let ticket = self.runtime.block_on(self.room.ticket(user))?;
        let mut stream = TcpStream::connect(self.server.address())?;
        stream.set_nodelay(true)?;
        stream.write_all(handshake(&format!("/sns/v1/ws?ticket={ticket}"), "").as_bytes())?;
        read_past(&mut stream, b"\"type\":\"ready\"")?;
        read_past(&mut stream, b"}")?;
        Ok(stream)
    }

    /// Posts at a steady rate; returns the age of each at its last arrival.
    fn listen(
        &self,
        crowd: &mut Crowd,
        size: Size,
        posts: u32,
    ) -> Result<Latencies, Box<dyn std::error::Error>> {
        let (begin, step, mut said) = (run::now(), Duration::from_secs(1) / RATE, 0);
        while said < posts {
            while said < posts && begin.elapsed() >= step * said {
                let stamp = crowd.now();
                let content = format!("{stamp:0STAMP_DIGITS$}{}", "x".repeat(CONTENT_BYTES));
                let (room, user) = (Arc::clone(&self.room), size.user(said as usize));
                // A failed post is missed below.
                drop(self.runtime.spawn(async move { room.post(user, &content).await }));
                said += 1;
            }
            crowd.hear(Duration::from_millis(1))?;
        }
        // The author listens too.
        let audience = size.follows + 1;
        crowd.hear_until(u64::from(posts) * audience as u64, STUCK)?;
        Ok(Latencies::new(crowd.last_arrivals(audience)?))
    }
}

/// Rate limits that this bench never reaches.
fn roomy() -> ::sns::Options {
    let many = 10_000_000;
    ::sns::Options {
        requests_per_second: many,
        address_requests_per_second: many,
        posts_per_minute: many,
        follows_per_minute: many,
        ..Default::default()
    }
}

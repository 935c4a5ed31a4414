//! The same work on Redis: a list of followers and of entries for each user, a hash for each post
//! and each user. Every thread has one connection and pipelines many commands on it.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{CONTENT_BYTES, Size};
use crate::bench::line::reply_length;
use crate::bench::redis::{Redis, SyncMode};
use crate::run;

/// Threads, each with its connection.
const THREADS: usize = 4;
/// Concurrent posts or timelines of one thread.
const AT_ONCE: usize = 16;
/// Entries of a list, as many as the room shows.
const TIMELINE_MAX: usize = 800;
/// Posts of a page.
const PAGE: usize = 20;
/// How long it has to rewrite its log.
const REST_MAX: Duration = Duration::from_secs(60);

/// The figures.
pub(super) struct RedisFigures {
    pub(super) posts: f64,
    pub(super) reads: f64,
}

pub(super) fn measure(size: Size) -> Result<RedisFigures, String> {
    let redis = Redis::start(SyncMode::EverySecond)?;
    drive(&redis, size.users, |pipe, some| furnish(pipe, size, some))?;
    rest(&redis)?;
    let posts = drive(&redis, size.posts, |pipe, some| post(pipe, size, some))?;
    let reads = drive(&redis, size.reads, |pipe, some| read(pipe, size, some))?;
    Ok(RedisFigures { posts, reads })
}

/// Returns when Redis does not rewrite its log.
fn rest(redis: &Redis) -> Result<(), String> {
    let mut pipe = Pipe::open(redis)?;
    let is_busy = |reply: &[u8]| {
        let busy = ["aof_rewrite_in_progress:1", "aof_rewrite_scheduled:1"];
        busy.iter().any(|busy| memchr::memmem::find(reply, busy.as_bytes()).is_some())
    };
    let begin = run::now();
    let mut ask = String::new();
    add(&mut ask, &["INFO", "persistence"]);
    while pipe.ask(&ask, 1)?.iter().any(|reply| is_busy(reply)) {
        if begin.elapsed() > REST_MAX {
            return Err("Redis does not come to rest".to_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Does the work of all numbers, some at a time on each thread; returns the rate per second.
fn drive(
    redis: &Redis,
    count: usize,
    work: impl Fn(&mut Pipe, &[usize]) -> Result<(), String> + Sync,
) -> Result<f64, String> {
    let (next, begin) = (AtomicUsize::new(0), run::now());
    let thread = || {
        let mut pipe = Pipe::open(redis)?;
        loop {
            let from = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            let some: Vec<usize> = (from..count.min(from + AT_ONCE)).collect();
            if some.is_empty() {
                return Ok::<(), String>(());
            }
            work(&mut pipe, &some)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(thread)).collect();
        let mut joined = threads.into_iter().map(|thread| thread.join());
        joined.try_for_each(|ended| ended.map_err(|_| "a thread broke".to_owned())?)
    })?;
    Ok(count as f64 / begin.elapsed().as_secs_f64())
}

/// Creates users with their followers.
fn furnish(pipe: &mut Pipe, size: Size, users: &[usize]) -> Result<(), String> {
    let mut commands = String::new();
    for user in users {
        let (name, id) = (format!("user-{user}"), user_of(*user));
        add(&mut commands, &["HSET", &id, "userId", &id, "username", &name, "displayName", ""]);
        for step in 1..=size.follows {
            let follower = ((user + step * 97) % size.users).to_string();
            add(&mut commands, &["RPUSH", &format!("followers:{user}"), &follower]);
        }
    }
    pipe.ask(&commands, users.len() * (size.follows + 1)).map(drop)
}

/// Posts into the lists of all followers and of the authors.
fn post(pipe: &mut Pipe, size: Size, numbers: &[usize]) -> Result<(), String> {
    let mut commands = String::new();
    let content = "x".repeat(CONTENT_BYTES);
    for number in numbers {
        let (id, author) = (post_of(*number), user_of(size.user(*number)));
        let fields = ["HSET", &id, "postId", &id, "userId", &author, "content", &content];
        let rest = ["likesCount", "0", "createdAt", "2026-11-16T00:00:00.000Z"];
        add(&mut commands, &[&fields[..], &rest[..]].concat());
        let followers = format!("followers:{}", size.user(*number));
        add(&mut commands, &["LRANGE", &followers, "0", "-1"]);
    }
    let replies = pipe.ask(&commands, 2 * numbers.len())?;
    let (mut commands, mut count) = (String::new(), 0);
    let last = (TIMELINE_MAX - 1).to_string();
    for (number, reply) in numbers.iter().zip(replies.iter().skip(1).step_by(2)) {
        let (id, author) = (post_of(*number), size.user(*number).to_string());
        for user in words(reply).chain([author.as_str()]) {
            let list = format!("timeline:{user}");
            add(&mut commands, &["LPUSH", &list, &id]);
            add(&mut commands, &["LTRIM", &list, "0", &last]);
            count += 2;
        }
    }
    pipe.ask(&commands, count).map(drop)
}

/// Reads first pages with their posts and authors.
fn read(pipe: &mut Pipe, size: Size, numbers: &[usize]) -> Result<(), String> {
    let ask = |pipe: &mut Pipe, questions: &[[&str; 2]]| {
        let mut commands = String::new();
        questions.iter().for_each(|question| add(&mut commands, question));
        pipe.ask(&commands, questions.len())
    };
    let mut commands = String::new();
    let last = (PAGE - 1).to_string();
    for number in numbers {
        let list = format!("timeline:{}", size.user(*number));
        add(&mut commands, &["LRANGE", &list, "0", &last]);
    }
    let pages = pipe.ask(&commands, numbers.len())?;
    let ids: Vec<[&str; 2]> = pages.iter().flat_map(|page| words(page)).map(get).collect();
    if ids.len() != numbers.len() * PAGE {
        return Err(format!("{} posts on {} pages", ids.len(), numbers.len()));
    }
    let posts = ask(pipe, &ids)?;
    // A hash is its fields and values in turn; the author's id is the fourth.
    let authors: Vec<[&str; 2]> =
        posts.iter().filter_map(|post| words(post).nth(3)).map(get).collect();
    ask(pipe, &authors).map(drop)
}

fn get(id: &str) -> [&str; 2] {
    ["HGETALL", id]
}

/// Ids as long as ours.
fn post_of(number: usize) -> String {
    format!("post:{number:036}")
}

fn user_of(number: usize) -> String {
    format!("user:{number:036}")
}

fn add(commands: &mut String, words: &[&str]) {
    let _ = write!(commands, "*{}\r\n", words.len());
    for word in words {
        let _ = write!(commands, "${}\r\n{word}\r\n", word.len());
    }
}

/// The words of a list in a reply.
fn words(reply: &[u8]) -> impl Iterator<Item = &str> {
    let text = std::str::from_utf8(reply).unwrap_or_default();
    text.split("\r\n").skip(1).filter(|line| !line.starts_with('$') && !line.is_empty())
}

/// A connection.
struct Pipe {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Pipe {
    fn open(redis: &Redis) -> Result<Pipe, String> {
        Ok(Pipe { stream: redis.connect()?, rest: Vec::new() })
    }

    /// Sends all commands, and reads this number of replies.
    fn ask(&mut self, commands: &str, replies: usize) -> Result<Vec<Vec<u8>>, String> {
        self.stream.write_all(commands.as_bytes()).map_err(|error| error.to_string())?;
        let (mut taken, mut at) = (Vec::with_capacity(replies), 0);
        let mut space = vec![0; 256 * 1024];
        while taken.len() < replies {
            match self.rest.get(at..).and_then(reply_length) {
                Some(length) => {
                    let reply = self.rest.get(at..at + length).unwrap_or_default();
                    if reply.starts_with(b"-") {
                        return Err(String::from_utf8_lossy(reply).into_owned());
                    }
                    taken.push(reply.to_vec());
                    at += length;
                }
                None => {
                    let read = self.stream.read(&mut space).map_err(|error| error.to_string())?;
                    self.rest.extend_from_slice(space.get(..read).unwrap_or_default());
                    if read == 0 {
                        return Err("Redis closed the connection".to_owned());
                    }
                }
            }
        }
        self.rest.drain(..at);
        Ok(taken)
    }
}

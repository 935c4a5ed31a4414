//! The score room on the real program, compared with Redis over its own protocol.
//!
//! - submits: complete plays, verified and durable, on 64 connections; Redis runs ZADD GT and syncs
//!   every command;
//! - reads: the ranking of a full board, on 64 connections; Redis runs ZREVRANGE 0 99 WITHSCORES;
//! - rank: the rank of a player on a board of a million rows, in process and over the network.
//!
//! Every connection sends the next request right after a response (`line.rs`).

use std::time::Duration;

use ::score::BareBoard;
use ring::hmac;

use super::house::{House, request};
use super::line::{Lines, ResponseProtocol};
use super::redis::{Redis, SyncMode};
use super::report::{Bar, Report, Server};
use super::{BenchResult, Options, install_peers};
use crate::run;

const CONNECTIONS: usize = 64;
/// Submitted plays, and ranking reads.
const PLAYS: usize = 40_000;
const READS: usize = 200_000;
/// Rows of the large board, and rows per import call.
const ROWS: usize = 1_000_000;
const ROWS_EACH: usize = 1_000;
/// The bar for one rank query.
const RANK_BAR_US: f64 = 50.0;
const GAMES: &str = r#"[{"gameName":"bench","sort":[{"by":"score","dir":"desc"}],"topN":1000}]"#;

/// A server with one game whose limits allow a flood.
struct Stand {
    house: House,
    _games: tempfile::NamedTempFile,
}

impl Stand {
    fn open() -> Result<Stand, String> {
        let games = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        std::fs::write(games.path(), GAMES).map_err(|error| error.to_string())?;
        let path = games.path().to_string_lossy().into_owned();
        let house = House::start(&[
            "--score-games-file",
            &path,
            "--score-submits-per-second",
            "1000000",
            "--score-submits-at-once",
            "1000000",
            "--score-reads-per-second",
            "10000000",
        ])?;
        Ok(Stand { house, _games: games })
    }

    fn lines(&self) -> Result<Lines, String> {
        Lines::new(ResponseProtocol::Http, (0..CONNECTIONS).map(|_| self.house.connect()))
    }

    /// Plays with tokens and signatures, ready to be submitted.
    fn plays(&self, count: usize) -> Result<Vec<Vec<u8>>, String> {
        let mut lines = self.lines()?;
        let (mut begun, mut ended) = (vec![String::new(); count], vec![String::new(); count]);
        let put = |tokens: &mut Vec<String>, number: usize, token: String| {
            if let Some(place) = tokens.get_mut(number) {
                *place = token;
            }
        };
        let start = get("/score/get-start?gameId=bench");
        lines.drive(vec![start; count], |number, answer| {
            put(&mut begun, number, word(answer, "token_start")?);
            Ok(())
        })?;
        // A play lasts at least a millisecond.
        std::thread::sleep(Duration::from_millis(5));
        let ends = begun.iter().map(|token| get(&format!("/score/get-end?token_start={token}")));
        lines.drive(ends, |number, answer| {
            put(&mut ended, number, word(answer, "token_end")?);
            Ok(())
        })?;
        let plays = begun.iter().zip(&ended).enumerate();
        Ok(plays.map(|(number, (begin, end))| submit(number, begin, end)).collect())
    }
}

/// Runs the bench of submits.
pub(super) fn submits(options: Options, report: &mut Report) -> BenchResult {
    install_peers();
    let plays = if options.quick { 200 } else { PLAYS };
    let ours = report.take(Server::Ours, "submits", submit_all(plays));
    let theirs = report.take(Server::Peer("Redis"), "submits", redis_submits(plays));
    let what = "64 connections: verified durable submits/s, beside Redis' ZADD GT synced each";
    report.compare(what, ours, theirs, Bar::AtLeast(0.5));
    Ok(())
}

/// Accepted plays per second.
fn submit_all(plays: usize) -> Result<f64, String> {
    let stand = Stand::open()?;
    let mut taken = 0;
    let ready = stand.plays(plays)?;
    let ours = stand.lines()?.drive(ready, |_, answer| {
        taken += usize::from(memchr::memmem::find(answer, b"\"updated\":true").is_some());
        Ok(())
    })?;
    if taken != plays {
        return Err(format!("{taken} of {plays} plays were taken"));
    }
    Ok(ours)
}

fn redis_submits(plays: usize) -> Result<f64, String> {
    let redis = Redis::start(SyncMode::Always)?;
    redis_lines(&redis)?.drive((0..plays).map(redis_add), |_, _| Ok(()))
}

/// Runs the bench of reads.
pub(super) fn reads(options: Options, report: &mut Report) -> BenchResult {
    install_peers();
    let reads = if options.quick { 1_000 } else { READS };
    let ours = report.take(Server::Ours, "reads", read_all(reads));
    let theirs = report.take(Server::Peer("Redis"), "reads", redis_reads(reads));
    let what = "64 connections: rankings of 100 a second, beside Redis' ZREVRANGE WITHSCORES";
    report.compare(what, ours, theirs, Bar::AtLeast(1.0));
    Ok(())
}

/// Ranking reads per second.
fn read_all(reads: usize) -> Result<f64, String> {
    let stand = Stand::open()?;
    stand.lines()?.drive(stand.plays(100)?, |_, _| Ok(()))?;
    let read = get("/score/ranking/bench/ALL?limit=100");
    stand.lines()?.drive(vec![read; reads], |_, _| Ok(()))
}

fn redis_reads(reads: usize) -> Result<f64, String> {
    let redis = Redis::start(SyncMode::Never)?;
    redis_lines(&redis)?.drive((0..100).map(redis_add), |_, _| Ok(()))?;
    let read = redis_command(&["ZREVRANGE", "bench", "0", "99", "WITHSCORES"]);
    redis_lines(&redis)?.drive(vec![read; reads], |_, _| Ok(()))
}

/// Runs the bench of ranks.
pub(super) fn rank(options: Options, report: &mut Report) -> BenchResult {
    let (rows, asked) = if options.quick { (2_000, 200) } else { (ROWS, READS) };
    let what = format!("{rows} rows: µs for a player's ranks in the process, beside the bar");
    let us = report.take(Server::Ours, "ranks in the process", in_process(rows, asked));
    report.compare(what, us, RANK_BAR_US, Bar::AtMost(1.0));
    let us = report.take(Server::Ours, "ranks by the wire", by_wire(rows, asked));
    let what = format!("{rows} rows: the same by 64 connections, with the wire and JSON");
    report.compare(what, us, RANK_BAR_US, Bar::Open);
    Ok(())
}

/// The cost of a player's ranks over the network, in microseconds.
fn by_wire(rows: usize, asked: usize) -> Result<f64, String> {
    let stand = Stand::open()?;
    let key = stand.house.key("score:operate")?;
    let parts = (0..rows).step_by(ROWS_EACH).map(|from| import(&key, from));
    stand.lines()?.drive(parts, |_, _| Ok(()))?;
    let path = |player: usize| format!("/score/ranking/bench/ALL/rank/{}", player_of(player));
    // The first request loads the board from the store.
    stand.house.ask(&format!("GET {} HTTP/1.1\r\n", path(0)), "")?;
    let questions = (0..asked).map(|number| get(&path(number * 7_919 % rows)));
    let rate = stand.lines()?.drive(questions, |_, _| Ok(()))?;
    Ok(1e6 / rate)
}

/// The cost of a player's ranks on the board alone, in microseconds.
fn in_process(rows: usize, asked: usize) -> Result<f64, String> {
    let player = |number: usize| (player_of(number), score_of(number) as i64);
    let board = BareBoard::new((0..rows).map(player));
    let questions: Vec<(usize, String)> =
        (0..asked).map(|number| number * 7_919 % rows).map(|it| (it, player_of(it))).collect();
    let begin = run::now();
    for (number, user) in &questions {
        let rank = (rows - number) as u64;
        if board.ranks(user) != Some([rank; 3]) {
            return Err(format!("{user} does not have rank {rank}"));
        }
    }
    Ok(begin.elapsed().as_secs_f64() * 1e6 / asked as f64)
}

/// Each play is better than the one before, so that every play is stored.
fn score_of(number: usize) -> usize {
    number + 1
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n").into_bytes()
}

/// A text field of a JSON response.
fn word(answer: &[u8], name: &str) -> Result<String, String> {
    let answer = String::from_utf8_lossy(answer);
    let found = answer.split(&format!("\"{name}\":\"")).nth(1);
    let found = found.and_then(|rest| rest.split('"').next());
    found.map(str::to_owned).ok_or_else(|| format!("no {name}: {answer}"))
}

fn player_of(number: usize) -> String {
    format!("player-{number:07}")
}

/// A complete play as a request.
fn submit(number: usize, begin: &str, end: &str) -> Vec<u8> {
    let (user, score) = (player_of(number), score_of(number));
    let key = hmac::Key::new(hmac::HMAC_SHA256, end.as_bytes());
    let signed = hmac::sign(&key, format!("{user}|{score}|1|ALL").as_bytes());
    let signature = base::hex(signed.as_ref());
    let head = format!(
        "PUT /score/scores/bench/ALL/{user} HTTP/1.1\r\nx-token-start: {begin}\r\n\
         x-token-end: {end}\r\nx-score: {score}\r\nx-time-ms: 1\r\nx-player: {user}\r\n\
         x-sig: {signature}\r\n"
    );
    request(&head, "{}").into_bytes()
}

/// Rows from this number on as an import request.
fn import(key: &str, from: usize) -> Vec<u8> {
    let row = |number: usize| {
        let (user, score) = (player_of(number), score_of(number));
        format!(
            "{{\"userId\":\"{user}\",\"userName\":\"{user}\",\"score\":{score},\"timeMs\":1,\
             \"updatedAt\":\"2026-11-01T00:00:00.000Z\"}}"
        )
    };
    let rows: Vec<String> = (from..from + ROWS_EACH).map(row).collect();
    let head = format!("POST /score/import/bench/ALL HTTP/1.1\r\nauthorization: Bearer {key}\r\n");
    request(&head, &format!("{{\"rows\":[{}]}}", rows.join(","))).into_bytes()
}

fn redis_lines(redis: &Redis) -> Result<Lines, String> {
    Lines::new(ResponseProtocol::Redis, (0..CONNECTIONS).map(|_| redis.connect()))
}

fn redis_add(number: usize) -> Vec<u8> {
    redis_command(&["ZADD", "bench", "GT", &score_of(number).to_string(), &player_of(number)])
}

fn redis_command(words: &[&str]) -> Vec<u8> {
    let mut command = format!("*{}\r\n", words.len());
    for word in words {
        command += &format!("${}\r\n{word}\r\n", word.len());
    }
    command.into_bytes()
}

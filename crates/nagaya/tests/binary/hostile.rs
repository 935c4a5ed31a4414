//! Hostile clients against the real program: one attack after the other, and what others notice.
//!
//! `hostile/attacks.rs` lists the attacks, `hostile/crowd.rs` plays them, `hostile/honest.rs` asks
//! what honest callers ask. The frame around each attack is the same: honest callers are measured
//! while it is quiet and during the attack, twice in turn; in between the house must give its memory
//! back; at the end it gets a SIGTERM while the attack goes on. The house has its usual limits, but
//! a shorter time to drain.
//!
//! `cargo nextest run -p nagaya hostile:: --no-capture` prints the table.

mod attacks;
mod crowd;
mod honest;
mod http2;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use attacks::ATTACKS;
use base::Clock;
use crowd::{Attack, Crowd, Tally, Target};
use honest::Seen;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::json;
use testkit::{Program, Served, depth};

use crate::documents;
use crate::instances::open_room;
use crate::strangers::{resident_mib, wait_for_memory};

/// How many times as long 99 of 100 honest requests may take during an attack.
const SLOWER_MAX: u32 = 3;

/// A quiet time below this counts as this: on two cores with other programs a thread waits so long
/// for its turn now and then, attack or not, and a ratio of smaller times says nothing.
const NOISE: Duration = Duration::from_millis(25);

/// What the house may hold more while an attack lasts: bodies of strangers of one address are
/// bounded by 32 MiB, and answers and connections come beside them.
const HELD_MIB: u64 = 150;

/// What requests have when the house closes. The usual 30 s only make the suite longer.
const DRAIN: Duration = Duration::from_secs(2);

/// What the house needs after the drain on a busy machine: it stops its tasks and closes the store.
const CLOSE: Duration = Duration::from_secs(3);

/// Within which `/readyz` answers whatever happens. Supervisors wait a second and more.
const READY: Duration = Duration::from_secs(1);

/// Between two looks at readiness and memory during an attack.
const LOOK: Duration = Duration::from_millis(25);

/// What an attack came to.
struct Row {
    name: &'static str,
    quiet: Duration,
    attacked: Duration,
    /// MiB before the attack, the most during it, and after the first round of it.
    memory: [u64; 3],
    /// The longest answer of `/readyz`.
    ready: Duration,
    tally: Arc<Tally>,
    ended: Duration,
    faults: Vec<String>,
}

#[test]
fn no_attack_slows_others_down_keeps_memory_or_holds_the_end_up() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let program = testkit::program!();
    let comments = prepare(&program);
    println!("{}", Row::HEAD);
    let mut faults = Vec::new();
    for attack in &ATTACKS {
        let row = withstand(&program, &comments, attack);
        println!("{row}");
        faults.extend(row.faults.into_iter().map(|fault| format!("{}: {fault}", attack.name)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Makes a room and a game; gives the path of the room's comments.
fn prepare(program: &Program) -> String {
    std::fs::write(program.directory().join("keys.txt"), "AKIAHOUSE only-for-tests\n").unwrap();
    let house = program.open();
    let key = program.answer("key create me --scope score:operate", &[]);
    let head = format!("content-type: application/json\r\nx-api-key: {}\r\n", key.trim());
    let sort = json!([{ "by": "score", "dir": "desc" }]);
    let game = json!({ "gameName": "snake", "sort": sort, "topN": 10 }).to_string();
    let made = house.ask("PUT", "/score/games/snake", &head, &game);
    assert!(made.starts_with("HTTP/1.1 20"), "{made}");
    open_room(&house)
}

fn open(program: &Program, attack: &Attack) -> Served {
    let mut command = program.command();
    command
        .args(["serve", "--dynamodb", "127.0.0.1:0"])
        .env("NAGAYA_HTTP_DRAIN_SECONDS", DRAIN.as_secs().to_string())
        .envs(attack.settings.iter().copied());
    Served::open(&mut command)
}

/// Lets the house meet one attack.
fn withstand(program: &Program, comments: &str, attack: &'static Attack) -> Row {
    let house = open(program, attack);
    let target = Arc::new(Target {
        http: house.address.parse().unwrap(),
        door: house.named("dynamodb").split_once("://").unwrap().1.parse().unwrap(),
        mesh_key: house.mesh_key().to_owned(),
        comments: comments.to_owned(),
        documents: documents::hostile(),
        numbers: AtomicUsize::new(1_000_000),
    });
    let count = depth::pick(200, 1_000);
    let (mut quiet, mut attacked) = (Seen::default(), Seen::default());
    let tally = Arc::new(Tally::default());
    honest::ask(&target, count, &mut Seen::default());
    honest::ask(&target, count, &mut quiet);
    let before = resident_mib(house.pid());

    let watch = Watch::start(&house, &target);
    let crowd = Crowd::start(attack, &target, &tally);
    honest::ask(&target, count, &mut attacked);
    crowd.stop();
    wait_for_memory(&house, before);
    let after = resident_mib(house.pid());

    honest::ask(&target, count, &mut quiet);
    let crowd = Crowd::start(attack, &target, &tally);
    honest::ask(&target, count, &mut attacked);
    let (ready, peak) = watch.stop();

    let clock = Clock::real();
    let begun = clock.instant();
    house.signal(Signal::TERM);
    let (status, log) = house.wait();
    let ended = clock.instant().since(begun);
    crowd.stop();
    let mut row = Row {
        name: attack.name,
        quiet: quiet.p99(),
        attacked: attacked.p99(),
        memory: [before, peak, after],
        ready,
        tally,
        ended,
        faults: [quiet.failed, attacked.failed].concat(),
    };
    row.judge(attack, status.code(), &log);
    row
}

impl Row {
    const HEAD: &'static str = "attack               quiet p99  attacked  ratio  MiB before  most  \
                                after  readyz  passed  refused     cut  ended";

    /// Finds what must not be.
    fn judge(&mut self, attack: &Attack, code: Option<i32>, log: &str) {
        let [before, peak, _] = self.memory;
        let succeeded = self.tally.succeeded.load(Ordering::Relaxed);
        // A request that its peer never finishes is left over, and said so.
        let is_left_over = attack.may_hold_drain
            && code == Some(1)
            && log.contains("requests still under way after");
        let is_trouble = |line: &&str| line.contains(" ERROR ") || line.contains("panicked");
        let rules = [
            (
                self.attacked <= self.quiet.max(NOISE) * SLOWER_MAX,
                format!("honest callers waited {:?}, and {:?} before", self.attacked, self.quiet),
            ),
            (peak <= before + HELD_MIB, format!("{before} MiB became {peak} MiB")),
            (self.ready <= READY, format!("/readyz took {:?}", self.ready)),
            (self.ended <= DRAIN + CLOSE, format!("it ended after {:?}", self.ended)),
            (attack.may_succeed || succeeded == 0, format!("{succeeded} requests succeeded")),
            (code == Some(0) || is_left_over, format!("it ended with {code:?}")),
        ];
        let broken = rules.into_iter().filter(|(is_kept, _)| !is_kept).map(|(_, fault)| fault);
        self.faults.extend(broken);
        self.faults.extend(log.lines().filter(is_trouble).map(str::to_owned));
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |duration: Duration| duration.as_secs_f64() * 1_000.0;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let [before, peak, after] = self.memory;
        write!(
            f,
            "{:<20} {:>6.1} ms {:>6.1} ms {:>6.1} {before:>11} {peak:>5} {after:>6} {:>4.0} ms \
             {:>7} {:>8} {:>7} {:>4.1} s",
            self.name,
            ms(self.quiet),
            ms(self.attacked),
            ms(self.attacked) / ms(self.quiet),
            ms(self.ready),
            count(&self.tally.succeeded),
            count(&self.tally.refused),
            count(&self.tally.cut),
            self.ended.as_secs_f64(),
        )
    }
}

/// Looks at memory and readiness all the time.
struct Watch {
    thread: std::thread::JoinHandle<(Duration, u64)>,
    stop: Sender<()>,
}

impl Watch {
    fn start(house: &Served, target: &Arc<Target>) -> Watch {
        let (stop, stopped) = mpsc::channel::<()>();
        let (target, pid) = (Arc::clone(target), house.pid());
        let thread = std::thread::spawn(move || {
            let clock = Clock::real();
            let (mut slowest, mut peak) = (Duration::ZERO, 0);
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let begun = clock.instant();
                let ask = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
                let answer = honest::exchange(target.http, ask);
                assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
                slowest = slowest.max(clock.instant().since(begun));
                peak = peak.max(resident_mib(pid));
            }
            (slowest, peak)
        });
        Watch { thread, stop }
    }

    /// The longest wait for `/readyz`, and the most MiB.
    fn stop(self) -> (Duration, u64) {
        drop(self.stop);
        self.thread.join().unwrap()
    }
}

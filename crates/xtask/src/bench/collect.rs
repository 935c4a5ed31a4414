//! The collect room on the real program: ten thousand sources every five seconds, with an upstream
//! in this process whose time is counted separately. Then Prometheus, which scrapes the same number
//! of targets from the same upstream at the same interval. `catch_up.rs` measures catching up after
//! an hour's stop.
//!
//! Every slot of the measured minute is looked up in the ledger with its state and lateness, so
//! that an average cannot hide a missing slot.

pub(super) mod catch_up;
mod upstream;

use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::Duration;

use upstream::Upstream;

use super::house::{House, end};
use super::line::{Lines, ResponseProtocol};
use super::report::{Bar, Report, Server};
use super::stats::Latencies;
use super::{BenchResult, Options, data_folder, install_peers, raise_limit, usage};
use crate::run;

const SOURCES: usize = 10_000;
const INTERVAL_S: u64 = 5;
const MEASURED: Duration = Duration::from_secs(60);
/// How long a poller runs before the measurement: all its connections are open by then.
const WARM_UP: Duration = Duration::from_secs(12);
/// The time after the measurement until every slot of it is final: the lag, the offset of the
/// source, and the time after which an unknown slot counts as missing.
const SETTLED: Duration = Duration::from_secs(24);
/// A minute is planned at its beginning, so the first call may be more than a minute away.
const FIRST_CALL: Duration = Duration::from_secs(150);
/// The bar for lateness, in milliseconds.
const LATENESS_BAR_MS: f64 = 100.0;
const CONNECTIONS: usize = 16;

/// The figures of one poller.
struct PollerFigures {
    calls: u64,
    elapsed: Duration,
    cpu: Duration,
    memory: u64,
}

impl PollerFigures {
    fn a_second(&self) -> f64 {
        self.calls as f64 / self.elapsed.as_secs_f64()
    }

    fn cpu_us_each(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.calls as f64
    }
}

/// Runs the bench.
pub(super) fn polls(options: Options, report: &mut Report) -> BenchResult {
    install_peers();
    raise_limit()?;
    let sources = if options.quick { 100 } else { SOURCES };
    let measured = if options.quick { Duration::from_secs(10) } else { MEASURED };
    let upstream = Upstream::start()?;
    let polled = ours(&upstream, sources, measured);
    let (ours, slots) = report.take(Server::Ours, "polls", polled).unzip();
    let scraped = prometheus(&upstream, sources, measured);
    let theirs = report.take(Server::Peer("Prometheus"), "polls", scraped);
    let (ours, theirs) = (ours.as_ref(), theirs.as_ref());
    let wanted = sources as f64 / INTERVAL_S as f64;
    let what = |what: &str| format!("{sources} sources every {INTERVAL_S} s: {what}");
    let (rate, bar) = (ours.map(PollerFigures::a_second), Bar::AtLeast(0.99));
    report.compare(what("calls/s, beside those that are due"), rate, wanted, bar);
    let expected = sources as f64 * measured.as_secs_f64() / INTERVAL_S as f64;
    compare_slots(report, what, slots.as_ref(), expected);
    report.compare(
        what("CPU µs for each call, beside Prometheus"),
        ours.map(PollerFigures::cpu_us_each),
        theirs.map(PollerFigures::cpu_us_each),
        Bar::AtMost(1.0),
    );
    let mebibytes = |measured: &PollerFigures| measured.memory as f64 / (1024.0 * 1024.0);
    report.compare(
        what("resident MiB, beside Prometheus"),
        ours.map(mebibytes),
        theirs.map(mebibytes),
        Bar::Open,
    );
    let rate = theirs.map(PollerFigures::a_second);
    report.compare(
        what("calls/s of Prometheus, beside those that are due"),
        rate,
        wanted,
        Bar::Open,
    );
    Ok(())
}

/// Compares the ledger with the expected slots.
fn compare_slots(
    report: &mut Report,
    what: impl Fn(&str) -> String,
    slots: Option<&Slots>,
    expected: f64,
) {
    let is_missing = |state: &&String| *state != "ok" && *state != "late";
    let missing = slots.map(|slots| slots.states.iter().filter(is_missing).count() as f64);
    let total = slots.map(|slots| slots.states.len());
    let of = total.map_or_else(|| "the".to_owned(), |total| total.to_string());
    report.compare(what(&format!("missing of {of} slots")), missing, 1.0, Bar::AtMost(0.0));
    let (total, bar) = (total.map(|total| total as f64), Bar::AtLeast(0.99));
    report.compare(what("slots in the ledger, beside those of the time"), total, expected, bar);
    for (percent, bar) in [(50.0, Bar::Open), (99.0, Bar::AtMost(1.0))] {
        let lateness = slots.map(|slots| slots.lateness.percentile(percent));
        let ms = lateness.map(|lateness| lateness.as_secs_f64() * 1e3);
        let what = what(&format!("lateness p{percent} in ms, beside the bar"));
        report.compare(what, ms, LATENESS_BAR_MS, bar);
    }
}

/// The slots of the measured time in the ledger.
#[derive(Default)]
struct Slots {
    states: Vec<String>,
    lateness: Latencies,
}

/// Measures our program.
fn ours(
    upstream: &Upstream,
    sources: usize,
    measured: Duration,
) -> Result<(PollerFigures, Slots), String> {
    let file = sources_file(upstream, sources)?;
    let path = file.path().to_string_lossy().into_owned();
    let house =
        House::start(&["--collect-sources-file", &path, "--collect-reads-per-second", "1000000"])?;
    wait_for_calls(upstream)?;
    std::thread::sleep(WARM_UP);
    let from = time_of(&house)?;
    let result = measure(upstream, house.process(), measured)?;
    let to = time_of(&house)?;
    std::thread::sleep(SETTLED);
    Ok((result, ledger(&house, sources, &from, &to)?))
}

/// A file with this number of sources.
fn sources_file(upstream: &Upstream, sources: usize) -> Result<tempfile::NamedTempFile, String> {
    let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let source = |number: usize| {
        format!(
            "{{\"name\":\"{}\",\"baseUrl\":\"{}\",\"intervalSeconds\":{INTERVAL_S},\
             \"path\":\"/response_count?source={number}&from={{from}}&to={{to}}\"}}",
            name_of(number),
            upstream.url()
        )
    };
    let all: Vec<String> = (0..sources).map(source).collect();
    let written = std::fs::write(file.path(), format!("[{}]", all.join(",")));
    written.map_err(|error| error.to_string())?;
    Ok(file)
}

/// Waits for the first call of the server.
fn wait_for_calls(upstream: &Upstream) -> Result<(), String> {
    let (before, begin) = (upstream.answered(), run::now());
    while upstream.answered() == before {
        if begin.elapsed() > FIRST_CALL {
            return Err("the server polls no source".to_owned());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// The server's current time.
fn time_of(house: &House) -> Result<String, String> {
    let answer = house.ask("GET /collect/metrics/summary?source=source-00000 HTTP/1.1\r\n", "")?;
    let time = answer.split("\"timestamp\":\"").nth(1).and_then(|rest| rest.split('"').next());
    time.map(str::to_owned).ok_or_else(|| format!("no time: {answer}"))
}

fn measure(upstream: &Upstream, process: u32, measured: Duration) -> Result<PollerFigures, String> {
    let cpu = || usage::cpu_time_of(process).ok_or("the poller is gone");
    let (begin, calls, before) = (run::now(), upstream.answered(), cpu()?);
    std::thread::sleep(measured);
    let (elapsed, calls, after) = (begin.elapsed(), upstream.answered() - calls, cpu()?);
    let memory = usage::resident_bytes_of(process).ok_or("the poller is gone")?;
    Ok(PollerFigures { calls, elapsed, cpu: after.saturating_sub(before), memory })
}

/// All slots of all sources that began within a time.
fn ledger(house: &House, sources: usize, from: &str, to: &str) -> Result<Slots, String> {
    let mut lines = Lines::new(ResponseProtocol::Http, (0..CONNECTIONS).map(|_| house.connect()))?;
    let question = |number: usize| {
        let path = format!("/collect/slots/{}?from={from}&to={to}", name_of(number));
        format!("GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n").into_bytes()
    };
    let (mut states, mut lateness) = (Vec::new(), Vec::new());
    lines.drive((0..sources).map(question), |_, answer| {
        let answer = String::from_utf8_lossy(answer);
        let words = answer.split("\"status\":\"").skip(1);
        states.extend(words.filter_map(|rest| rest.split('"').next().map(str::to_owned)));
        let numbers = answer.split("\"latenessMs\":").skip(1);
        let numbers = numbers.filter_map(|rest| rest.split([',', '}']).next()?.parse().ok());
        lateness.extend(numbers.map(Duration::from_millis));
        Ok(())
    })?;
    Ok(Slots { states, lateness: Latencies::new(lateness) })
}

fn name_of(number: usize) -> String {
    format!("source-{number:05}")
}

/// Prometheus on an empty folder; ended when dropped.
struct Prometheus(Child);

impl Drop for Prometheus {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

fn prometheus(
    upstream: &Upstream,
    sources: usize,
    measured: Duration,
) -> Result<PollerFigures, String> {
    let data = data_folder().map_err(|error| error.to_string())?;
    let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let listen = free.map_err(|error| error.to_string())?;
    let target = |number: usize| {
        format!(
            "{{\"targets\":[\"{}\"],\"labels\":{{\"__metrics_path__\":\"/metrics/{number}\",\
             \"source\":\"{}\"}}}}",
            upstream.address(),
            name_of(number)
        )
    };
    let targets: Vec<String> = (0..sources).map(target).collect();
    let (config, list) = (data.path().join("prometheus.yml"), data.path().join("targets.json"));
    let settings = format!(
        "global:\n  scrape_interval: {INTERVAL_S}s\n  scrape_timeout: 4s\nscrape_configs:\n  \
         - job_name: bench\n    file_sd_configs:\n      - files: [\"{}\"]\n",
        list.display()
    );
    let written = std::fs::write(&list, format!("[{}]", targets.join(",")))
        .and_then(|()| std::fs::write(&config, settings));
    written.map_err(|error| error.to_string())?;
    let mut command = run::program("prometheus");
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", data.path().join("data").display()));
    command.arg(format!("--web.listen-address={listen}")).arg("--log.level=error");
    let child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn();
    let peer = Prometheus(child.map_err(|error| format!("prometheus does not start: {error}"))?);
    let (begin, before) = (run::now(), upstream.answered());
    while upstream.answered() - before < sources as u64 {
        if begin.elapsed() > FIRST_CALL {
            return Err("prometheus polls no target".to_owned());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(WARM_UP);
    measure(upstream, peer.0.id(), measured)
}

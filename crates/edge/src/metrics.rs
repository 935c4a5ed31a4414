//! Numbers about the house, in Prometheus' text form.

use std::sync::OnceLock;
use std::time::Duration;

use base::{Clock, Tasks};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// How often observations move from their queues into their sums. Reading `/metrics` does it too;
/// this bounds memory when nobody reads.
const UPKEEP: Duration = Duration::from_secs(5);

/// Bounds of everything measured in seconds: from a cached read to the longest request.
const SECONDS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 30.0,
];

/// Reads what the process recorded.
#[derive(Clone)]
pub struct Metrics {
    handle: PrometheusHandle,
}

impl Metrics {
    /// The recorder of this process, installed by the first call: recording goes through globals,
    /// so there is one of it however many houses a test builds.
    ///
    /// # Panics
    /// If something else installed a recorder before.
    pub fn of_process() -> Metrics {
        static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
        let handle = HANDLE.get_or_init(|| {
            PrometheusBuilder::new()
                .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)
                .expect("the list of bounds is not empty")
                .install_recorder()
                .expect("nothing else in the house installs a recorder")
        });
        Metrics { handle: handle.clone() }
    }

    /// Keeps memory bounded until the tasks shut down.
    pub fn start_upkeep(&self, clock: &Clock, tasks: &Tasks) {
        let (handle, mut ticks) = (self.handle.clone(), tasks.ticks(clock, UPKEEP));
        tasks.spawn("metrics upkeep", async move {
            while ticks.next().await {
                handle.run_upkeep();
            }
        });
    }

    /// Everything recorded so far.
    pub fn render(&self) -> String {
        self.handle.render()
    }
}

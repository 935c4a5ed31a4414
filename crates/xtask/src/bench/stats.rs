//! Latencies: all of them are kept and sorted, so that percentiles are exact.

use std::time::Duration;

/// Latencies of one measurement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    sorted: Vec<Duration>,
}

impl Latencies {
    /// From latencies in any order.
    pub(crate) fn new(mut all: Vec<Duration>) -> Latencies {
        all.sort_unstable();
        Latencies { sorted: all }
    }

    /// The nearest-rank percentile; zero if there are no latencies.
    pub(crate) fn percentile(&self, percent: f64) -> Duration {
        let rank = (percent / 100.0 * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let hundred = Latencies::new((1..=100).rev().map(Duration::from_micros).collect());
        let cases = [(0.0, 1), (1.0, 1), (50.0, 50), (50.1, 51), (99.0, 99), (100.0, 100)];
        for (percent, micros) in cases {
            assert_eq!(hundred.percentile(percent), Duration::from_micros(micros), "{percent}");
        }
    }

    #[test]
    fn no_latencies_have_no_percentile() {
        assert_eq!(Latencies::default().percentile(99.0), Duration::ZERO);
    }
}

//! From the start of the process to the first request that it takes: a house that was never open,
//! and one that comes back to what it left. Beside the two seconds that a newcomer is promised.

use super::house::House;
use super::report::{Bar, Report};
use super::stats::Latencies;
use super::{Options, Outcome, data_folder};
use crate::run;

/// Starts of each kind, and in a quick run.
const STARTS: usize = 10;
const QUICK_STARTS: usize = 2;
const BAR_MS: f64 = 2_000.0;

pub(super) fn run(options: Options, report: &mut Report) -> Outcome {
    House::build()?;
    let starts = if options.quick { QUICK_STARTS } else { STARTS };
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for _ in 0..starts {
        let mut data = data_folder()?;
        for times in [&mut first, &mut again] {
            let begin = run::now();
            let house = House::open_on(data, &[])?;
            let answer = house.ask("GET /readyz HTTP/1.1\r\n", "")?;
            times.push(begin.elapsed());
            if answer.trim() != "ready" {
                return Err(format!("the house is not ready: {answer}").into());
            }
            data = house.close()?;
        }
    }
    for (what, times) in [("never open before", first), ("open before", again)] {
        let times = Latencies::new(times);
        for percent in [50.0, 100.0] {
            let ms = times.percentile(percent).as_secs_f64() * 1e3;
            let what = format!("{what}: ms until it takes requests, p{percent}, beside the bar");
            report.compare(what, ms, BAR_MS, Bar::AtMost(1.0));
        }
    }
    Ok(())
}

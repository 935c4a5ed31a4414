//! The speed of the disk, which limits every durable write.
//!
//! A record has 600 bytes, a batch has one record per writer, and each batch is synced once. Ours
//! writes over a zero-filled, preallocated segment, so that a sync moves no file metadata; the peer
//! appends to a growing file.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use super::report::{Bar, Report};
use super::stats::Latencies;
use super::{BenchResult, Options, data_folder};
use crate::run;

const RECORD_BYTES: usize = 600;
const WRITERS: [usize; 3] = [1, 16, 128];
/// One segment; writing restarts at its end.
const SEGMENT_BYTES: u64 = 64 * 1024 * 1024;

/// The figures of writing batches.
struct BatchFigures {
    per_second: f64,
    latencies: Latencies,
}

pub(super) fn run(options: Options, report: &mut Report) -> BenchResult {
    let folder = data_folder()?;
    let segment = preallocate(&folder.path().join("segment"))?;
    for writers in WRITERS {
        let ours = write_batches(&segment, writers, Some(SEGMENT_BYTES), options)?;
        let growing = File::create(folder.path().join("growing"))?;
        let peer = write_batches(&growing, writers, None, options)?;
        let what = format!("durable records/s, {writers} writers");
        report.compare(what, ours.per_second, peer.per_second, Bar::AtLeast(0.9));
        for (percent, bar) in [(50.0, Bar::AtMost(1.1)), (99.0, Bar::Open)] {
            let micros = |written: &BatchFigures| micros(written.latencies.percentile(percent));
            let what = format!("p{percent} of a batch of {writers}, µs");
            report.compare(what, micros(&ours), micros(&peer), bar);
        }
    }
    Ok(())
}

/// The zeros are really written: after that, a sync of an overwrite has no extents to update.
fn preallocate(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(true).write(true).open(path)?;
    let zeros = vec![0; 1024 * 1024];
    for chunk in 0..SEGMENT_BYTES / zeros.len() as u64 {
        file.write_all_at(&zeros, chunk * zeros.len() as u64)?;
    }
    file.sync_all()?;
    Ok(file)
}

fn write_batches(
    file: &File,
    writers: usize,
    wrap_at: Option<u64>,
    options: Options,
) -> std::io::Result<BatchFigures> {
    let batch = vec![0xA5; RECORD_BYTES * writers];
    let batch_bytes = batch.len() as u64;
    let mut latencies = Vec::new();
    let mut offset = 0;
    let start = run::now();
    while start.elapsed() < options.measure_for() {
        if wrap_at.is_some_and(|end| offset + batch_bytes > end) {
            offset = 0;
        }
        let before = run::now();
        file.write_all_at(&batch, offset)?;
        file.sync_data()?;
        latencies.push(before.elapsed());
        offset += batch_bytes;
    }
    let records = (latencies.len() * writers) as f64;
    let per_second = records / start.elapsed().as_secs_f64();
    Ok(BatchFigures { per_second, latencies: Latencies::new(latencies) })
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

//! The one who writes the log: appends frames and moves from segment to segment.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

use super::frame::{FRAME_ALIGN, FRAME_HEAD_BYTES, FrameHead};
use super::manifest::Manifest;
use super::reader::seal;
use super::segment_name;
use crate::embedded::disk::{Disk, Segment};
use crate::error::Error;

/// Appends frames. Owned by the committer; nobody else writes.
pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    manifest: Arc<Manifest>,
    current: Option<Current>,
    next_ordinal: u64,
    segment_bytes: u64,
    previous: u64,
    time_ms: u64,
    preparer: Preparer,
}

struct Current {
    segment: Arc<dyn Segment>,
    length: u64,
    offset: u64,
}

impl Writer {
    /// Goes on behind change `previous`, written at `time_ms`, with segment `next_ordinal`.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        manifest: Arc<Manifest>,
        segment_bytes: u64,
        next_ordinal: u64,
        previous: u64,
        time_ms: u64,
    ) -> Writer {
        let mut preparer = Preparer::start(Arc::clone(&disk), Arc::clone(&manifest), segment_bytes);
        preparer.ask(next_ordinal);
        let current = None;
        Writer { disk, manifest, current, next_ordinal, segment_bytes, previous, time_ms, preparer }
    }

    /// Writes and syncs one frame; on return it outlives power loss. `frame` holds room for the
    /// head, then the records. A full disk and a want of descriptors leave the log as it was.
    pub(crate) fn append(
        &mut self,
        frame: &mut Vec<u8>,
        last: u64,
        records: u32,
        now_ms: u64,
    ) -> Result<Appended, Error> {
        // With room for a seal behind it.
        let needed = (frame.len().next_multiple_of(FRAME_ALIGN) + FRAME_HEAD_BYTES) as u64;
        self.make_room(needed)?;
        // The log's time never runs backwards, whatever the clock does: a restore to an instant
        // is a prefix of the log.
        self.time_ms = self.time_ms.max(now_ms);
        FrameHead::new(self.previous, last, self.time_ms, records).complete(frame);
        let mut current = self.current.take().expect("make_room opens a segment or fails");
        let written = current.segment.write_at(frame, current.offset);
        let synced = written.and_then(|()| current.segment.sync());
        // What the disk holds after a failure is unknown. The segment stays as it is: not even a
        // seal may be written over it, only the next start can tell what it holds.
        synced.map_err(|cause| Error::Stopped(format!("writing the log failed: {cause}")))?;
        current.offset += frame.len() as u64;
        self.current = Some(current);
        self.previous = last;
        Ok(Appended { ordinal: self.next_ordinal - 1, time_ms: self.time_ms })
    }

    /// Begins a new segment, whatever room the current one has.
    pub(crate) fn begin_segment(&mut self) -> Result<(), Error> {
        match self.current.as_ref().is_some_and(|current| current.offset == 0) {
            true => Ok(()),
            false => self.make_room(self.segment_bytes),
        }
    }

    /// Seals the current segment and removes the one that was prepared.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        self.seal()?;
        if self.preparer.take(self.next_ordinal).is_some() {
            let removed = self.manifest.remove(&[self.next_ordinal]);
            let removed = removed.and_then(|()| self.disk.remove(&segment_name(self.next_ordinal)));
            if let Err(cause) = removed {
                // The next start does it.
                tracing::debug!(%cause, "a prepared segment stays");
            }
        }
        Ok(())
    }

    fn seal(&mut self) -> Result<(), Error> {
        if let Some(current) = self.current.take() {
            seal(&*current.segment, current.offset, self.previous, self.time_ms)
                .map_err(|cause| Error::Stopped(format!("sealing the log failed: {cause}")))?;
        }
        Ok(())
    }

    fn make_room(&mut self, needed: u64) -> Result<(), Error> {
        if let Some(current) = &self.current
            && current.offset + needed <= current.length
        {
            return Ok(());
        }
        let prepared = self.preparer.take(self.next_ordinal);
        let (segment, length) = match prepared.filter(|_| needed <= self.segment_bytes) {
            Some(segment) => (segment, self.segment_bytes),
            None => (self.create(needed)?, needed.max(self.segment_bytes)),
        };
        // Before the first frame of the new segment: `manifest.rs` relies on it.
        self.seal()?;
        self.current = Some(Current { segment, length, offset: 0 });
        self.next_ordinal += 1;
        self.preparer.ask(self.next_ordinal);
        Ok(())
    }

    fn create(&self, needed: u64) -> Result<Arc<dyn Segment>, Error> {
        let name = segment_name(self.next_ordinal);
        let _ = self.disk.remove(&name);
        let bytes = needed.max(self.segment_bytes);
        let created = create_listed(&*self.disk, &self.manifest, self.next_ordinal, bytes);
        created.map_err(|cause| Error::io(format!("creating log/{name}"), &cause))
    }
}

/// Makes a segment and lists it.
fn create_listed(
    disk: &dyn Disk,
    manifest: &Manifest,
    ordinal: u64,
    bytes: u64,
) -> io::Result<Arc<dyn Segment>> {
    let name = segment_name(ordinal);
    let segment = disk.create(&name, bytes)?;
    if let Err(cause) = manifest.add(ordinal) {
        // Gives the space back.
        let _ = disk.remove(&name);
        return Err(cause);
    }
    Ok(segment)
}

/// What an append tells.
pub(crate) struct Appended {
    /// The segment written to.
    pub(crate) ordinal: u64,
    /// The time in the frame.
    pub(crate) time_ms: u64,
}

/// A thread that fills the next segment with zeros while the current one is written.
struct Preparer {
    requests: Option<SyncSender<u64>>,
    ready: Option<Receiver<Prepared>>,
    /// Requests whose answers have not been taken.
    outstanding: u32,
    thread: Option<JoinHandle<()>>,
}

/// An ordinal, and its segment if it could be made.
type Prepared = (u64, Option<Arc<dyn Segment>>);

impl Preparer {
    fn start(disk: Arc<dyn Disk>, manifest: Arc<Manifest>, segment_bytes: u64) -> Preparer {
        let (requests, asked) = mpsc::sync_channel::<u64>(1);
        let (answer, ready) = mpsc::sync_channel(1);
        let work = move || {
            while let Ok(ordinal) = asked.recv() {
                let created = create_listed(&*disk, &manifest, ordinal, segment_bytes);
                if answer.send((ordinal, created.ok())).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("log-preparer".to_owned()).spawn(work).ok();
        Preparer { requests: Some(requests), ready: Some(ready), outstanding: 0, thread }
    }

    fn ask(&mut self, ordinal: u64) {
        let sent = self.requests.as_ref().map(|requests| requests.try_send(ordinal));
        if let Some(Ok(())) = sent {
            self.outstanding += 1;
        }
    }

    /// The segment asked for, waiting while it is being made; `None` if it could not be made or
    /// was not asked for.
    fn take(&mut self, ordinal: u64) -> Option<Arc<dyn Segment>> {
        while self.outstanding > 0 {
            let (made, segment) = self.ready.as_ref()?.recv().ok()?;
            self.outstanding -= 1;
            if made == ordinal {
                return segment;
            }
        }
        None
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        self.requests = None;
        self.ready = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

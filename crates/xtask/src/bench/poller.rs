//! Ready sockets: a thin layer over the system's own list.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

/// Sockets per call.
const EVENTS: usize = 1_024;

pub(crate) struct Poller {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poller {
    pub(crate) fn new() -> Result<Poller, String> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|error| error.to_string())?;
        Ok(Poller { epoll, events: Vec::with_capacity(EVENTS) })
    }

    pub(crate) fn add(&self, source: impl AsFd, key: usize) -> Result<(), String> {
        let added = epoll::add(&self.epoll, source, EventData::new_u64(key as u64), EventFlags::IN);
        added.map_err(|error| error.to_string())
    }

    /// Switches notifications for writing on or off.
    pub(crate) fn set_writing(
        &self,
        source: impl AsFd,
        key: usize,
        writing: bool,
    ) -> Result<(), String> {
        let flags = if writing { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
        let set = epoll::modify(&self.epoll, source, EventData::new_u64(key as u64), flags);
        set.map_err(|error| error.to_string())
    }

    /// The keys of ready sockets, and whether they are ready for writing.
    pub(crate) fn wait(&mut self, within: Duration) -> Result<Vec<(usize, bool)>, String> {
        self.events.clear();
        let timeout = Timespec {
            tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(within.subsec_nanos()),
        };
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.to_string()),
        }
        let ready = |event: &Event| {
            let (data, flags) = (event.data, event.flags);
            (data.u64() as usize, flags.contains(EventFlags::OUT))
        };
        Ok(self.events.iter().map(ready).collect())
    }
}

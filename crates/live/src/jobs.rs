//! What happens without a call: connections are noted and forgotten, rooms that are gone are
//! emptied, rooms are counted and removed when their time is over.

use std::sync::Arc;
use std::time::Duration;

use dispatch::{Dispatch, Failed, Job, NewMessage, Schedule};
use edge::{KeyRing, Rotation};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::Live;
use crate::error::Error;
use crate::items::Seat;
use crate::limits::{
    CENSUS_TICK, KEYS_TURN, PARTICIPANT_LIFE, REMOVALS_AT_ONCE, SWEEP, VIEWERS_AGAIN,
};

/// The queue of rooms that are gone and must be emptied.
pub(crate) const REMOVALS: &str = "live-removals";
/// The job that counts all rooms and removes those whose time is over. Stored under the name that
/// it had when it only removed.
const CENSUS: &str = "live-retention";

/// The ring whose keys sign participants.
const RING: &str = "live";
/// When its keys turn.
const ROTATION: Rotation =
    Rotation { every: KEYS_TURN, at: Duration::ZERO, keep: PARTICIPANT_LIFE };

/// The ring, which turns by itself as long as the tasks run.
pub(crate) async fn open_ring(ground: &edge::Ground) -> Result<KeyRing, Error> {
    let random = ground.random.fork("live keys");
    let (tables, clock) = (Arc::clone(&ground.tables), ground.clock.clone());
    let ring = KeyRing::open(RING, ROTATION, tables, clock, random, &ground.tasks);
    ring.await.map_err(|error| Error::Keys(error.to_string()))
}

/// A message: remove what this room has left.
#[derive(Debug, Serialize, Deserialize)]
struct Removal {
    room_id: String,
}

/// The message that empties a room.
pub(crate) fn removal(room_id: &str) -> Result<NewMessage, Error> {
    Ok(NewMessage::json(&Removal { room_id: room_id.to_owned() })?)
}

/// What a connection says of itself.
#[derive(Debug)]
pub(crate) enum Sign {
    /// It is alive.
    Alive(Seat),
    /// It has left its room.
    Gone(Seat),
    /// It gave no sign for so long that its lease has ended.
    Lapsed { connection: String, room_id: String },
}

/// Where connections say it. It never waits, because a socket that ends cannot; what waits is
/// bounded by the connections, each of which says one thing now and then.
pub(crate) type Signs = mpsc::UnboundedSender<Sign>;

/// Where signs go, and where they are heard.
pub(crate) fn signs() -> (Signs, mpsc::UnboundedReceiver<Sign>) {
    mpsc::unbounded_channel()
}

impl Live {
    /// Starts everything that runs by itself.
    pub(crate) async fn start_jobs(
        self: &Arc<Self>,
        heard: mpsc::UnboundedReceiver<Sign>,
        dispatch: &Dispatch,
    ) -> Result<(), Error> {
        self.stages.hear_news();
        self.watch_connections(heard);
        self.watch_removals();
        self.open_totals().await?;
        self.start_census(dispatch).await
    }

    /// Notes connections and forgets them: those that leave, and those whose lease has ended.
    fn watch_connections(self: &Arc<Self>, mut heard: mpsc::UnboundedReceiver<Sign>) {
        let (live, shutdown) = (Arc::clone(self), self.tasks.shutdown());
        self.tasks.spawn("live connections", async move {
            let mut sweep = live.clock.interval(SWEEP);
            let mut again = live.clock.interval(VIEWERS_AGAIN);
            loop {
                tokio::select! {
                    biased;
                    () = shutdown.begun() => return,
                    Some(sign) = heard.recv() => live.note(sign).await,
                    lapsed = live.stages.presence().lapsed() => {
                        for ghost in lapsed {
                            let (connection, room_id) = (ghost.member, ghost.place);
                            live.note(Sign::Lapsed { connection, room_id }).await;
                        }
                    }
                    rooms = live.stages.silenced() => {
                        rooms.iter().for_each(|room_id| live.stages.recount(room_id));
                    }
                    () = again.tick() => live.stages.tell_viewers(),
                    () = sweep.tick() => {
                        live.stages.sweep();
                        if let Err(error) = live.learn_totals().await {
                            tracing::warn!(%error, "what the house holds could not be read");
                        }
                    }
                }
            }
        });
    }

    async fn note(&self, sign: Sign) {
        let noted = match &sign {
            Sign::Alive(seat) => self.renew_connection(seat).await,
            Sign::Gone(seat) => {
                self.stages.recount(&seat.room_id);
                self.delete_connection(seat).await
            }
            Sign::Lapsed { connection, room_id } => {
                self.stages.recount(room_id);
                self.delete_lapsed(connection).await
            }
        };
        if let Err(error) = noted
            && !matches!(&error, Error::Store(error) if error.is_outage())
        {
            // The row lapses by itself; what is counted is in memory.
            tracing::warn!(%error, ?sign, "a connection was not noted");
        }
    }

    /// Empties rooms that are gone.
    fn watch_removals(self: &Arc<Self>) {
        let live = Arc::clone(self);
        self.removals.work(REMOVALS_AT_ONCE, move |message| {
            let live = Arc::clone(&live);
            async move {
                let removal: Removal = message.read_json()?;
                let removed = live.remove_remains(&removal.room_id).await;
                removed.map_err(|error| Failed::retry(error.to_string()))
            }
        });
    }

    /// Counts rooms and removes those whose time is over, on one instance at a time.
    async fn start_census(self: &Arc<Self>, dispatch: &Dispatch) -> Result<(), Error> {
        let (live, job) = (Arc::clone(self), Job::new(CENSUS, Schedule::every(CENSUS_TICK)?));
        let run = move |_run| {
            let live = Arc::clone(&live);
            async move {
                let removed = live.take_census().await;
                let removed = removed.map_err(|error| Failed::retry(error.to_string()))?;
                if removed > 0 {
                    tracing::info!(removed, "rooms past their time are removed");
                }
                Ok(Vec::new())
            }
        };
        dispatch.scheduler().start(job, run).await?;
        Ok(())
    }
}

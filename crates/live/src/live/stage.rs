//! What is about to be pushed: frames of comments when there are many, counts of reactions, the
//! number of viewers.
//!
//! Invariants:
//! - entries of a room leave in the order of their numbers, on each channel, gathered or not;
//! - while something waits in a frame, nothing overtakes it;
//! - a frame waits at most [`FRAME`], and nothing is dropped;
//! - viewers are those of all instances: each tells the others how many it has, when that changes
//!   and again and again; one that falls silent has none.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Monotonic, Tasks};
use hub::{Channel, Heard, Hub, News, Presence};
use parking_lot::Mutex;

use super::{Entry, channels, encode, json, moments};
use crate::limits::{
    FRAME, FRAME_ENTRIES_MAX, REACTION_FRAME, SINGLE_PUSHES_PER_SECOND, VIEWERS_FRAME,
    VIEWERS_LEASE,
};

/// The stages of all rooms. Clones share them.
#[derive(Clone)]
pub(crate) struct Stages {
    shared: Arc<Shared>,
}

struct Shared {
    /// Entries, gathered when there are many.
    room: Channel,
    /// Entries one by one.
    single: Channel,
    moment: Channel,
    presence: Presence,
    /// Other instances, by room; the note is how many viewers they have.
    elsewhere: Presence,
    news: News,
    clock: Clock,
    tasks: Tasks,
    stages: Mutex<HashMap<String, Arc<Mutex<Stage>>>>,
}

#[derive(Default)]
struct Stage {
    /// Comments since `since`.
    comments: u32,
    since: Option<Monotonic>,
    frame: Vec<Entry>,
    reactions: BTreeMap<&'static str, u64>,
    /// The number of viewers that was told last, by whichever instance.
    viewers: usize,
    /// How many of them are here, as the other instances were told.
    viewers_here: usize,
    is_counting: bool,
}

impl Stages {
    /// Nothing is about to happen.
    pub(crate) fn new(hub: &Hub, clock: &Clock, tasks: &Tasks) -> Stages {
        let [room, single] = channels(hub);
        let shared = Shared {
            room,
            single,
            moment: moments(hub),
            presence: Presence::new(clock),
            elsewhere: Presence::new(clock),
            news: hub.news("live.news"),
            clock: clock.clone(),
            tasks: tasks.clone(),
            stages: Mutex::default(),
        };
        Stages { shared: Arc::new(shared) }
    }

    /// Entries as they come, gathered when there are many.
    pub(crate) fn room(&self) -> &Channel {
        &self.shared.room
    }

    /// Entries one by one.
    pub(crate) fn single(&self) -> &Channel {
        &self.shared.single
    }

    /// What counts only now.
    pub(crate) fn moment(&self) -> &Channel {
        &self.shared.moment
    }

    /// Who is here.
    pub(crate) fn presence(&self) -> &Presence {
        &self.shared.presence
    }

    /// How many are in a room, at all instances.
    pub(crate) fn viewers(&self, room_id: &str) -> usize {
        let elsewhere = self.shared.elsewhere.list(room_id);
        let elsewhere = elsewhere.iter().filter_map(|instance| instance.note.parse::<usize>().ok());
        self.shared.presence.count(room_id) + elsewhere.sum::<usize>()
    }

    /// Waits until other instances have fallen silent; the rooms in which they had viewers.
    pub(crate) async fn silenced(&self) -> Vec<String> {
        self.shared.elsewhere.lapsed().await.into_iter().map(|lapsed| lapsed.place).collect()
    }

    /// Hears how many viewers other instances have.
    pub(crate) fn hear_news(&self) {
        let stages = self.clone();
        self.shared.news.listen(&self.shared.tasks, move |heard| {
            match heard {
                Heard::Word { from, text } => stages.hear(from, text.as_str()),
                // They say it again before long.
                Heard::Missed => {}
            }
            std::future::ready(())
        });
    }

    fn hear(&self, from: u64, word: &str) {
        let Some((here, told, room_id)) = read(word) else { return };
        let from = from.to_string();
        if here == 0 {
            self.shared.elsewhere.leave(room_id, &from);
        } else {
            self.shared.elsewhere.renew(room_id, &from, &here.to_string(), VIEWERS_LEASE);
        }
        self.stage(room_id).lock().viewers = told;
        // Who told it did not know of all.
        if self.viewers(room_id) != told {
            self.recount(room_id);
        }
    }

    /// Tells an entry. Called in the order of the room's numbers.
    pub(crate) fn say(&self, room_id: &str, entry: Entry) {
        let stage = self.stage(room_id);
        let mut stage = stage.lock();
        self.shared.single.publish(room_id, encode(std::slice::from_ref(&entry)));
        let is_crowded = entry.is_comment() && stage.count(self.shared.clock.instant());
        if stage.frame.is_empty() && !is_crowded {
            self.shared.room.publish(room_id, encode(&[entry]));
            return;
        }
        stage.frame.push(entry);
        if stage.frame.len() == 1 {
            self.later(room_id, FRAME, |stages, room_id| stages.flush(room_id));
        }
    }

    /// Lets what waits in a frame leave now.
    pub(crate) fn flush(&self, room_id: &str) {
        let stage = self.stage(room_id);
        let mut stage = stage.lock();
        let frame = std::mem::take(&mut stage.frame);
        for some in frame.chunks(FRAME_ENTRIES_MAX) {
            self.shared.room.publish(room_id, encode(some));
        }
    }

    /// Counts a reaction.
    pub(crate) fn react(&self, room_id: &str, reaction: &'static str) {
        let stage = self.stage(room_id);
        let mut stage = stage.lock();
        *stage.reactions.entry(reaction).or_default() += 1;
        if stage.reactions.values().sum::<u64>() == 1 {
            self.later(room_id, REACTION_FRAME, |stages, room_id| {
                let counts = std::mem::take(&mut stages.stage(room_id).lock().reactions);
                let told = format!("\"type\":\"reaction\",\"counts\":{}", json(&counts));
                stages.tell(room_id, &told);
            });
        }
    }

    /// Tells how many like a comment.
    pub(crate) fn like(&self, room_id: &str, comment_id: &str, likes: u64) {
        let id = json(&comment_id);
        self.tell(room_id, &format!("\"type\":\"likes\",\"commentId\":{id},\"likes\":{likes}"));
    }

    /// Somebody came or went.
    pub(crate) fn recount(&self, room_id: &str) {
        let stage = self.stage(room_id);
        if std::mem::replace(&mut stage.lock().is_counting, true) {
            return;
        }
        self.later(room_id, VIEWERS_FRAME, |stages, room_id| {
            let (viewers, here) = (stages.viewers(room_id), stages.shared.presence.count(room_id));
            let stage = stages.stage(room_id);
            let mut stage = stage.lock();
            stage.is_counting = false;
            if std::mem::replace(&mut stage.viewers, viewers) != viewers {
                stages.tell(room_id, &format!("\"type\":\"viewers\",\"viewers\":{viewers}"));
            }
            if std::mem::replace(&mut stage.viewers_here, here) != here {
                stages.shared.news.tell(|| write(here, viewers, room_id));
            }
        });
    }

    /// Tells the other instances again how many viewers are here.
    pub(crate) fn tell_viewers(&self) {
        let stages: Vec<(String, Arc<Mutex<Stage>>)> = self
            .shared
            .stages
            .lock()
            .iter()
            .map(|(id, stage)| (id.clone(), stage.clone()))
            .collect();
        for (room_id, stage) in stages {
            let (here, viewers) = {
                let stage = stage.lock();
                (stage.viewers_here, stage.viewers)
            };
            if here > 0 {
                self.shared.news.tell(|| write(here, viewers, &room_id));
            }
        }
    }

    /// Lets go of rooms in which nothing happens.
    pub(crate) fn sweep(&self) {
        let now = self.shared.clock.instant();
        self.shared.stages.lock().retain(|_, stage| {
            let stage_now = stage.lock();
            // Whoever holds it is about to do something with it.
            Arc::strong_count(stage) > 1 || !stage_now.is_quiet(now)
        });
    }

    /// How many rooms are held in memory.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.shared.stages.lock().len()
    }

    fn tell(&self, room_id: &str, told: &str) {
        self.shared.moment.publish(room_id, format!("{{\"v\":1,{told}}}"));
    }

    fn stage(&self, room_id: &str) -> Arc<Mutex<Stage>> {
        Arc::clone(self.shared.stages.lock().entry(room_id.to_owned()).or_default())
    }

    fn later(&self, room_id: &str, wait: Duration, then: fn(&Stages, &str)) {
        let (stages, room_id) = (self.clone(), room_id.to_owned());
        let sleep = self.shared.clock.sleep(wait);
        let shutdown = self.shared.tasks.shutdown().begun();
        self.shared.tasks.spawn("live frame", async move {
            // A house that closes does not wait, and loses nothing.
            tokio::select! {
                () = sleep => {}
                () = shutdown => {}
            }
            then(&stages, &room_id);
        });
    }
}

/// A word to other instances: how many viewers are here and in all, and the room.
fn write(here: usize, viewers: usize, room_id: &str) -> String {
    format!("{here} {viewers} {room_id}")
}

fn read(word: &str) -> Option<(usize, usize, &str)> {
    let (here, rest) = word.split_once(' ')?;
    let (viewers, room_id) = rest.split_once(' ')?;
    Some((here.parse().ok()?, viewers.parse().ok()?, room_id))
}

impl Stage {
    /// Counts a comment; whether there are too many to be pushed one by one.
    fn count(&mut self, now: Monotonic) -> bool {
        let second = Duration::from_secs(1);
        if self.since.is_none_or(|since| now.since(since) >= second) {
            self.since = Some(now);
            self.comments = 0;
        }
        self.comments += 1;
        self.comments > SINGLE_PUSHES_PER_SECOND
    }

    fn is_quiet(&self, now: Monotonic) -> bool {
        let is_old = |since| now.since(since) > Duration::from_secs(10);
        let pending = !self.frame.is_empty() || !self.reactions.is_empty() || self.is_counting;
        !pending && self.viewers == 0 && self.since.is_none_or(is_old)
    }
}

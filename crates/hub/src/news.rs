//! What the instances of one room tell each other, and nobody else hears.
//!
//! Whoever caches what another instance may change listens here. A word comes to every other
//! instance, in the order in which it was told; or the listener hears that it has missed some, and
//! looks for itself. Who stands alone tells nothing and hears nothing, and a word is made only if
//! somebody may hear it.

use base::Tasks;

use crate::channel::{Channel, ChannelSpec};
use crate::hub::Hub;
use crate::limits::{NEWS_BYTES, NEWS_WAITING};
use crate::push::Text;
use crate::queue::Closed;
use crate::ring::History;
use crate::subscriber::{Deliveries, Follow, Item, Subscriber};

const TOPIC: &str = "all";
/// The teller's name in front of its word, in hexadecimal digits.
const NAME_BYTES: usize = 16;

/// A room's own news. Clones share them.
#[derive(Clone, Debug)]
pub struct News {
    channel: Channel,
}

/// What a listener hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A word of another instance.
    Word {
        /// Which instance: the same for as long as it lives.
        from: u64,
        /// What it told.
        text: Text,
    },
    /// There were words that cannot be had any more.
    Missed,
}

impl Hub {
    /// Opens a room's news under this name, such as `score.news`.
    ///
    /// # Panics
    /// If there is a channel of that name.
    pub fn news(&self, name: &'static str) -> News {
        // Who missed something looks for itself, so nothing is kept.
        News { channel: self.channel(ChannelSpec::new(name, History::NONE)) }
    }
}

impl News {
    /// Tells the other instances.
    pub fn tell(&self, word: impl FnOnce() -> String) {
        if self.channel.hub.is_shared() {
            self.channel.publish(TOPIC, write(self.channel.hub.instance(), &word()));
        }
    }

    /// Hears what the others tell, one word after the other, until the tasks shut down.
    pub fn listen<F>(&self, tasks: &Tasks, mut hear: impl FnMut(Heard) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if !self.channel.hub.is_shared() {
            return;
        }
        let (news, shutdown) = (self.clone(), tasks.shutdown().begun());
        // Before this returns, so that whatever is told from now on is heard.
        let mut following = news.follow();
        tasks.spawn("news", async move {
            let listening = async {
                loop {
                    if let Some((_subscriber, deliveries)) = &mut following {
                        news.read(deliveries, &mut hear).await;
                    }
                    following = news.follow();
                    hear(Heard::Missed).await;
                }
            };
            tokio::select! {
                biased;
                () = shutdown => {}
                () = listening => {}
            }
        });
    }

    fn follow(&self) -> Option<(Subscriber, Deliveries)> {
        let (subscriber, deliveries) = self.channel.hub.subscriber(NEWS_WAITING);
        // Refused only in the moment in which the numbering changes; then it is tried again.
        let followed = subscriber.follow(&self.channel, TOPIC, Follow::default(), |_| None);
        followed.ok().map(|_| (subscriber, deliveries))
    }

    /// Reads until the subscriber is cut off.
    async fn read<F>(
        &self,
        deliveries: &mut Deliveries,
        hear: &mut impl FnMut(Heard) -> F,
    ) -> Closed
    where
        F: Future<Output = ()> + Send + 'static,
    {
        loop {
            let items = match deliveries.take(NEWS_BYTES).await {
                Ok(items) => items,
                Err(closed) => return closed,
            };
            for item in items {
                let heard = match item {
                    Item::Push { text, .. } => read(&text),
                    Item::Gap(_) => Some(Heard::Missed),
                    Item::Reply(_) => None,
                };
                match heard {
                    Some(Heard::Word { from, .. }) if from == self.channel.hub.instance() => {}
                    Some(heard) => hear(heard).await,
                    None => {}
                }
            }
        }
    }
}

fn write(from: u64, word: &str) -> String {
    format!("{from:016x}{word}")
}

fn read(text: &Text) -> Option<Heard> {
    let (name, word) = text.as_str().split_at_checked(NAME_BYTES)?;
    let from = u64::from_str_radix(name, 16).ok()?;
    Some(Heard::Word { from, text: text.part(word) })
}

//! News: messages between the instances of one room, so that their caches agree.
//!
//! A room that caches data which another instance may change listens here. Every news item reaches
//! all other instances in order; after a loss the listener gets [`Heard::Missed`] and reloads. A
//! single instance sends and receives nothing, and a news item is built only if another instance
//! may receive it.

use base::Tasks;

use crate::channel::{Channel, ChannelSpec};
use crate::hub::Hub;
use crate::limits::{NEWS_BYTES, NEWS_QUEUE};
use crate::push::Text;
use crate::queue::Closed;
use crate::ring::History;
use crate::subscriber::{Deliveries, Follow, Item, Subscriber};

const TOPIC: &str = "all";
/// The id of the sender in front of its text, in hexadecimal digits.
const ID_BYTES: usize = 16;

/// The news of one room. Clones share the channel.
#[derive(Clone, Debug)]
pub struct News {
    channel: Channel,
}

/// What a listener receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A news item of another instance.
    Word {
        /// The id of that instance, constant for its lifetime.
        from: u64,
        /// The text of the item.
        text: Text,
    },
    /// Some items were lost.
    Missed,
}

impl Hub {
    /// Opens the news of a room under this name, such as `score.news`.
    ///
    /// # Panics
    /// If there is a channel of that name.
    pub fn news(&self, name: &'static str) -> News {
        // A listener reloads after a loss, so no history is kept.
        News { channel: self.channel(ChannelSpec::new(name, History::NONE)) }
    }
}

impl News {
    /// Sends an item to the other instances.
    pub fn tell(&self, text: impl FnOnce() -> String) {
        if self.channel.hub.is_shared() {
            self.channel.publish(TOPIC, write(self.channel.hub.instance(), &text()));
        }
    }

    /// Passes the items of other instances to `handle`, one after the other, until shutdown.
    pub fn listen<F>(&self, tasks: &Tasks, mut handle: impl FnMut(Heard) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if !self.channel.hub.is_shared() {
            return;
        }
        let (news, shutdown) = (self.clone(), tasks.shutdown().begun());
        // Subscribes before this returns, so that no later item is missed.
        let mut following = news.follow();
        tasks.spawn("news", async move {
            let listening = async {
                loop {
                    if let Some((_subscriber, deliveries)) = &mut following {
                        news.read(deliveries, &mut handle).await;
                    }
                    following = news.follow();
                    handle(Heard::Missed).await;
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
        let (subscriber, deliveries) = self.channel.hub.subscriber(NEWS_QUEUE);
        // The hub refuses this only while the numbering changes; the loop then tries again.
        let followed = subscriber.follow(&self.channel, TOPIC, Follow::default(), |_| None);
        followed.ok().map(|_| (subscriber, deliveries))
    }

    /// Reads until the subscriber is disconnected.
    async fn read<F>(
        &self,
        deliveries: &mut Deliveries,
        handle: &mut impl FnMut(Heard) -> F,
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
                let received = match item {
                    Item::Push { text, .. } => read(&text),
                    Item::Gap(_) => Some(Heard::Missed),
                    Item::Reply(_) => None,
                };
                match received {
                    Some(Heard::Word { from, .. }) if from == self.channel.hub.instance() => {}
                    Some(received) => handle(received).await,
                    None => {}
                }
            }
        }
    }
}

fn write(from: u64, text: &str) -> String {
    format!("{from:016x}{text}")
}

fn read(text: &Text) -> Option<Heard> {
    let (id, content) = text.as_str().split_at_checked(ID_BYTES)?;
    let from = u64::from_str_radix(id, 16).ok()?;
    Some(Heard::Word { from, text: text.part(content) })
}

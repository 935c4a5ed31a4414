//! Realtime: topics, subscribers, history and resume, presence, slow readers. It knows no sockets.
//!
//! A room opens a [`Channel`] and publishes texts to its topics. A connection is a [`Subscriber`]:
//! it follows topics, and their pushes wait in one bounded queue that [`Deliveries`] reads. Start
//! with `topic.rs`, which keeps the order, and `queue.rs`, which keeps the limits.
//!
//! ```
//! # use base::{Clock, Random, Tasks};
//! # use hub::{ChannelSpec, Follow, History, Hub, Item, QueueLimits};
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! # runtime.block_on(async {
//! let hub = Hub::in_process(&Clock::real(), &Random::from_os(), &Tasks::new());
//! let rooms = hub.channel(ChannelSpec::new("rooms", History::NONE));
//! let (subscriber, mut deliveries) = hub.subscriber(QueueLimits { pushes: 100, bytes: 65_536 });
//! subscriber.follow(&rooms, "7", Follow::default(), |_| None)?;
//! rooms.publish("7", r#"{"comment":"hello"}"#);
//! let items = deliveries.take(65_536).await?;
//! assert!(matches!(&items[..], [Item::Push { text, .. }] if text.as_str().contains("hello")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod carrier;
mod channel;
mod ears;
mod error;
mod hub;
pub mod limits;
mod news;
mod position;
mod presence;
mod push;
mod queue;
mod ring;
mod subscriber;
mod topic;

pub use carrier::Carrier;
pub use channel::{Channel, ChannelSpec, TopicName};
pub use ears::{Ears, Listening, Noticed};
pub use error::Error;
pub use hub::{Hub, Overheard};
pub use news::{Heard, News};
pub use position::{Cursor, Position};
pub use presence::{Lapsed, Presence, Present};
pub use push::{Envelope, Text, View};
pub use queue::{Closed, Policy, QueueLimits, Subscription, Waiting};
pub use ring::History;
pub use subscriber::{Deliveries, Follow, Gap, Item, Joined, Since, Standing, Subscriber};

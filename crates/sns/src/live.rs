//! What is pushed: to each user what happens to its timeline and to its posts, to streams that
//! their session is over, and to other instances what they should forget.
//!
//! A push is the members of one JSON object, without its braces: each kind of stream puts them
//! around, a socket together with the cursor behind the push.

use std::collections::BTreeSet;
use std::sync::Arc;

use hub::{Channel, ChannelSpec, Envelope, Follow, History, Hub, Text};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::Sns;
use crate::error::Error;
use crate::limits::{ENDS_WAITING, PUSHES_KEPT};
use crate::model::account::Card;
use crate::model::post::Post;
use crate::model::social::Follow as Followed;
use crate::model::timeline::{Note, NoteKind};
use crate::model::{PostId, UserId};
use crate::ops::identity::Caller;

/// Who wrote a post.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownAuthor {
    user_id: String,
    username: String,
    display_name: String,
}

impl ShownAuthor {
    /// As it is shown.
    pub(crate) fn of(card: &Card) -> ShownAuthor {
        ShownAuthor {
            user_id: card.id.to_string(),
            username: card.username.clone(),
            display_name: card.display_name.clone(),
        }
    }
}

/// A post.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownPost {
    post_id: String,
    user_id: String,
    /// As it was typed: whoever shows it escapes it.
    content: String,
    likes_count: u64,
    created_at: String,
    author: ShownAuthor,
    /// Whether the caller likes it; nothing in a push.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_liked: Option<bool>,
}

impl ShownPost {
    /// As it is shown.
    pub(crate) fn of(post: &Post, author: &Card, is_liked: Option<bool>) -> ShownPost {
        ShownPost {
            post_id: post.id.to_string(),
            user_id: post.author.to_string(),
            content: post.content.clone(),
            likes_count: post.likes,
            created_at: post.created.to_string(),
            author: ShownAuthor::of(author),
            is_liked,
        }
    }
}

/// A notification.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownNote {
    notification_id: String,
    /// `follow` or `like`.
    kind: &'static str,
    /// Who did it.
    actor: ShownAuthor,
    /// Which post is liked.
    #[serde(skip_serializing_if = "Option::is_none")]
    post_id: Option<String>,
    created_at: String,
    is_read: bool,
}

impl ShownNote {
    /// As it is shown.
    pub(crate) fn of(note: &Note, actor: &Card, is_read: bool) -> ShownNote {
        let (kind, post) = match note.kind {
            NoteKind::Follow => ("follow", None),
            NoteKind::Like(post) => ("like", Some(post.to_string())),
        };
        ShownNote {
            notification_id: note.id.clone(),
            kind,
            actor: ShownAuthor::of(actor),
            post_id: post,
            created_at: note.created.to_string(),
            is_read,
        }
    }
}

/// What instances tell each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A user is called otherwise.
    Card(UserId),
    /// An author is merged in at read.
    Pulled(UserId),
}

impl News {
    fn text(self) -> String {
        match self {
            News::Card(user) => format!("card {user}"),
            News::Pulled(user) => format!("pulled {user}"),
        }
    }

    /// What a text tells, if it is news.
    pub(crate) fn read(text: &str) -> Option<News> {
        let (kind, user) = text.split_once(' ')?;
        let user = user.parse().ok()?;
        match kind {
            "card" => Some(News::Card(user)),
            "pulled" => Some(News::Pulled(user)),
            _ => None,
        }
    }
}

impl Sns {
    /// Tells users of a new post on their timelines.
    pub(crate) async fn tell_post(&self, users: &[UserId], post: &Post) -> Result<(), Error> {
        if let Some(news) = self.find_news_of(post).await? {
            self.tell_all(users, &news);
        }
        Ok(())
    }

    /// What is told of a new post to those on whose timelines it is; nothing if its author is gone.
    pub(crate) async fn find_news_of(&self, post: &Post) -> Result<Option<Text>, Error> {
        let author = self.get_card(post.author).await?;
        let shown = author.map(|author| ShownPost::of(post, &author, None));
        Ok(shown.map(|shown| push("newPost", Some(post.id), &shown)))
    }

    /// Tells users that a post is gone.
    pub(crate) fn tell_gone(&self, users: &[UserId], post: &Post) {
        let data = json!({ "userId": post.author.to_string() });
        self.tell_all(users, &push("postDeleted", Some(post.id), &data));
    }

    /// Tells a follower that the posts of somebody are gone from its timeline.
    pub(crate) fn tell_unfollowed(&self, follow: &Followed) {
        let data = json!({ "userId": follow.followee.to_string() });
        self.tell_all(&[follow.follower], &push("unfollowed", None, &data));
    }

    /// Tells the author and who did it how many like a post now.
    pub(crate) fn tell_likes(&self, post: &Post, by: UserId) {
        let text = push("likesChanged", Some(post.id), &json!({ "likesCount": post.likes }));
        let users: BTreeSet<UserId> = [post.author, by].into();
        self.tell_all(&Vec::from_iter(users), &text);
    }

    /// Tells a user of a notification.
    pub(crate) async fn tell_note(&self, note: &Note) -> Result<(), Error> {
        let Some(actor) = self.get_card(note.actor).await? else { return Ok(()) };
        let post = match note.kind {
            NoteKind::Follow => None,
            NoteKind::Like(post) => Some(post),
        };
        let text = push("notification", post, &ShownNote::of(note, &actor, false));
        self.tell_all(&[note.user], &text);
        Ok(())
    }

    /// Tells users something.
    pub(crate) fn tell_all(&self, users: &[UserId], text: &Text) {
        for user in users {
            self.pushes.publish(user.spell(&mut [0; 36]), text.clone());
        }
    }

    /// Ends the streams of a session.
    pub(crate) fn tell_end(&self, session: &str) {
        self.ends.publish(session, "end");
    }

    /// Ready when the caller's session has ended, or its token is over.
    pub(crate) fn ending(
        &self,
        caller: &Caller,
    ) -> Result<impl Future<Output = ()> + Send + use<>, Error> {
        let (subscriber, mut deliveries) = self.hub.subscriber(ENDS_WAITING);
        let followed = subscriber.follow(&self.ends, &caller.session, Follow::default(), |_| None);
        followed?;
        let over = self.clock.sleep_until(caller.ends);
        Ok(async move {
            let _listens = subscriber;
            tokio::select! {
                () = over => {}
                _ = deliveries.take(1) => {}
            }
        })
    }

    /// Tells all instances that an author is merged in at read.
    pub(crate) fn tell_pulled(&self, author: UserId) {
        self.tell(News::Pulled(author));
    }

    /// Tells all instances that a user is called otherwise.
    pub(crate) fn tell_card(&self, user: UserId) {
        self.tell(News::Card(user));
    }

    fn tell(&self, news: News) {
        self.hear(news);
        self.news.tell(|| news.text());
    }

    /// Does what news ask for.
    pub(crate) fn hear(&self, news: News) {
        match news {
            News::Card(user) => self.cards.invalidate(&user),
            News::Pulled(author) => {
                let mut pulled = self.pulled.write();
                Arc::make_mut(&mut pulled).insert(author);
            }
        }
    }
}

/// The members of a push.
fn push<T: Serialize>(kind: &str, post: Option<PostId>, data: &T) -> Text {
    let data = serde_json::to_string(data).expect("texts, numbers and switches have a JSON form");
    let post = post.map(|post| format!("\"postId\":\"{post}\",")).unwrap_or_default();
    Text::from(format!("\"type\":\"{kind}\",{post}\"data\":{data}"))
}

/// What stands around a push on a socket.
pub(crate) fn on_socket() -> Envelope {
    let (prefix, stamp) = (Text::from("{"), Some(Text::from(",\"cursor\":\"")));
    Envelope { prefix, suffix: Text::from("\"}"), stamp }
}

/// What stands around a push in an event stream, whose events have the cursor as their id.
pub(crate) fn in_events() -> Envelope {
    Envelope { prefix: Text::from("{"), suffix: Text::from("}"), stamp: None }
}

/// The channel of what users are told.
pub(crate) fn pushes(hub: &Hub) -> Channel {
    hub.channel(ChannelSpec::new("sns.user", PUSHES_KEPT).followed_only())
}

/// The channel of sessions that end.
pub(crate) fn ends(hub: &Hub) -> Channel {
    hub.channel(ChannelSpec::new("sns.end", History::NONE))
}

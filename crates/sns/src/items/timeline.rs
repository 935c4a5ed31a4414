//! Entries of timelines, notifications, and which authors are merged in at read.

use base::Timestamp;
use table::{
    Delete, Get, Item, Partition, Put, Query, SortCondition, TableSpec, TransactItem, attr,
};

use super::{PK, SK, TTL, id, key, number, owned, spec, text, time};
use crate::limits::ENTRY_LIFE;
use crate::model::account::later;
use crate::model::timeline::{Entry, Note, NoteKind, Place};
use crate::model::{PostId, UserId};

const PULLED: &str = "PULLED";
const USER: &str = "USER#";

/// The table of timelines.
#[derive(Clone, Debug)]
pub(crate) struct Timelines {
    pub(super) table: String,
}

impl Timelines {
    pub(crate) fn spec(&self) -> TableSpec {
        spec(&self.table).expiring_by(TTL)
    }

    /// All that is a user's.
    pub(crate) fn partition(&self, user: UserId) -> Partition<'_> {
        Partition::new(&self.table, user_pk(user))
    }

    // Entries

    /// Puts a post on timelines (AP-T2). Doing it again changes nothing that is shown.
    pub(crate) fn put_all(
        &self,
        users: &[UserId],
        entry: Entry,
        now: Timestamp,
    ) -> impl Iterator<Item = TransactItem> {
        let Entry { place, author } = entry;
        // What is the same for all is written once. In the order of the names.
        let of_all = Item::with_capacity(7)
            .with(PK, "")
            .with(SK, entry_sk(place))
            .with("authorId", author.to_string())
            .with("deliveredAt", now.to_string())
            .with("postId", place.post.to_string())
            .with(TTL, place.expires().seconds())
            .with("userId", "");
        let mut pk = USER.to_owned();
        users.iter().map(move |user| {
            let (mut item, mut spelled) = (of_all.clone(), [0; 36]);
            let id = user.spell(&mut spelled);
            item.insert("userId", id);
            pk.truncate(USER.len());
            pk.push_str(id);
            item.insert(PK, pk.as_str());
            Put::new(&self.table, item).into()
        })
    }

    /// Takes a post off a timeline.
    pub(crate) fn delete(&self, user: UserId, place: Place) -> TransactItem {
        Delete::new(&self.table, key(user_pk(user), entry_sk(place))).into()
    }

    /// The timeline of a user behind a place, newest first (AP-T1).
    pub(crate) fn query(&self, user: UserId, after: Option<Place>, limit: u32) -> Query {
        let query = self.query_all(user, "POST#").descending().limit(limit);
        match after {
            None => query,
            Some(place) => query.start_after(key(user_pk(user), entry_sk(place))),
        }
    }

    /// The entries of one author on a user's timeline.
    pub(crate) fn query_author(&self, user: UserId, author: UserId) -> Query {
        self.query_all(user, "POST#").filter(attr("authorId").eq(author.to_string()))
    }

    /// All that a user's partition holds.
    pub(crate) fn query_user(&self, user: UserId) -> Query {
        let all = Query::new(&self.table, PK, user_pk(user)).consistent();
        all.project([attr(PK), attr(SK)])
    }

    /// Removes an item that a query found.
    pub(crate) fn delete_found(&self, item: &Item) -> TransactItem {
        Delete::new(&self.table, key(owned(item, PK), owned(item, SK))).into()
    }

    fn query_all(&self, user: UserId, prefix: &str) -> Query {
        let query = Query::new(&self.table, PK, user_pk(user)).consistent();
        query.sort(SK, SortCondition::begins_with(prefix))
    }

    // Notifications

    /// Notifies.
    pub(crate) fn put_note(&self, note: &Note) -> TransactItem {
        let (kind, post) = match note.kind {
            NoteKind::Follow => ("follow", None),
            NoteKind::Like(post) => ("like", Some(post)),
        };
        let mut item = note_key(note.user, note.created, &note.id)
            .with("noteId", note.id.as_str())
            .with("userId", note.user.to_string())
            .with("actorId", note.actor.to_string())
            .with("kind", kind)
            .with("createdAt", note.created.to_string())
            .with(TTL, later(note.created, ENTRY_LIFE).seconds());
        if let Some(post) = post {
            item.insert("postId", post.to_string());
        }
        Put::new(&self.table, item).into()
    }

    /// Takes a notification back.
    pub(crate) fn delete_note(&self, user: UserId, created: Timestamp, note: &str) -> Delete {
        Delete::new(&self.table, note_key(user, created, note))
    }

    /// Notifications of a user behind a sort key, newest first.
    pub(crate) fn query_notes(&self, user: UserId, after: Option<&str>, limit: u32) -> Query {
        let query = self.query_all(user, "NOTE#").descending().limit(limit);
        match after {
            None => query,
            Some(after) => query.start_after(key(user_pk(user), after)),
        }
    }

    /// Reads up to where a user has read its notifications.
    pub(crate) fn get_read(&self, user: UserId) -> Get {
        Get::new(&self.table, key(user_pk(user), "READ"))
    }

    /// Notes up to where.
    pub(crate) fn put_read(&self, user: UserId, until: Timestamp) -> Put {
        Put::new(&self.table, key(user_pk(user), "READ").with("until", until.millis()))
    }

    // Authors with many followers

    /// All authors who are merged in at read.
    pub(crate) fn query_pulled(&self) -> Query {
        Query::new(&self.table, PK, PULLED).consistent()
    }

    /// From now on an author is merged in at read.
    pub(crate) fn put_pulled(&self, author: UserId) -> TransactItem {
        let item = pulled_key(author).with("authorId", author.to_string());
        Put::new(&self.table, item).into()
    }

    /// An author is gone.
    pub(crate) fn delete_pulled(&self, author: UserId) -> TransactItem {
        Delete::new(&self.table, pulled_key(author)).into()
    }
}

/// The entry of an item, if it is not over. The store may show it a while longer.
pub(crate) fn read(item: &Item, now: Timestamp) -> Option<Entry> {
    let sk = text(item, SK)?;
    let (created, post) = sk.strip_prefix("POST#")?.split_once('#')?;
    let place = Place { created: created.parse().ok()?, post: post.parse::<PostId>().ok()? };
    let author = id(item, "authorId")?;
    (number(item, TTL) > now.seconds()).then_some(Entry { place, author })
}

/// The author of an item of those who are merged in.
pub(crate) fn read_pulled(item: &Item) -> Option<UserId> {
    id(item, "authorId")
}

/// The notification of an item, if it is not over.
pub(crate) fn read_note(item: &Item, now: Timestamp) -> Option<Note> {
    let kind = match text(item, "kind")? {
        "follow" => NoteKind::Follow,
        "like" => NoteKind::Like(id(item, "postId")?),
        _ => return None,
    };
    let note = Note {
        id: text(item, "noteId")?.to_owned(),
        user: id(item, "userId")?,
        actor: id(item, "actorId")?,
        kind,
        created: time(item, "createdAt")?,
    };
    (number(item, TTL) > now.seconds()).then_some(note)
}

/// Up to where an item says that notifications are read.
pub(crate) fn read_read(item: Option<&Item>) -> Timestamp {
    Timestamp::from_millis(item.map_or(0, |item| number(item, "until")))
}

/// Whether a text is a place among notifications.
pub(crate) fn is_note_place(text: &str) -> bool {
    text.starts_with("NOTE#") && text.len() < 200
}

fn user_pk(user: UserId) -> String {
    [USER, user.spell(&mut [0; 36])].concat()
}

fn pulled_key(author: UserId) -> Item {
    key(PULLED, user_pk(author))
}

fn entry_sk(place: Place) -> String {
    format!("POST#{}#{}", place.created, place.post)
}

fn note_key(user: UserId, created: Timestamp, note: &str) -> Item {
    key(user_pk(user), format!("NOTE#{created}#{note}"))
}

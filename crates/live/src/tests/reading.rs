//! What a page of comments costs: items that the store looks at, not time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::try_join_all;
use serde_json::{Value as Json, json};
use table::{
    Answer, BatchGot, BatchWrite, Delete, Get, Item, Page, Put, Query, Scan, TableDescription,
    TableSpec, Tables, TransactWrite, Update,
};
use testkit::World;

use super::{HOST, Talk};
use crate::Options;
use crate::model::PostComment;

/// A store that counts the queries and the items that they look at.
struct Counted {
    inner: Arc<dyn Tables>,
    queries: AtomicU64,
    items: AtomicU64,
}

impl Counted {
    /// How many queries and items since the last call.
    fn take(&self) -> (u64, u64) {
        (self.queries.swap(0, Ordering::AcqRel), self.items.swap(0, Ordering::AcqRel))
    }
}

impl Tables for Counted {
    fn query(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move {
            let page = self.inner.query(query).await?;
            self.queries.fetch_add(1, Ordering::AcqRel);
            self.items.fetch_add(u64::from(page.scanned), Ordering::AcqRel);
            Ok(page)
        })
    }

    fn get(&self, get: Get) -> Answer<'_, Option<Item>> {
        self.inner.get(get)
    }

    fn batch_get(&self, gets: Vec<Get>) -> Answer<'_, BatchGot> {
        self.inner.batch_get(gets)
    }

    fn put(&self, put: Put) -> Answer<'_, Option<Item>> {
        self.inner.put(put)
    }

    fn update(&self, update: Update) -> Answer<'_, Option<Item>> {
        self.inner.update(update)
    }

    fn delete(&self, delete: Delete) -> Answer<'_, Option<Item>> {
        self.inner.delete(delete)
    }

    fn scan(&self, scan: Scan) -> Answer<'_, Page> {
        self.inner.scan(scan)
    }

    fn batch_write(&self, writes: Vec<BatchWrite>) -> Answer<'_, Vec<BatchWrite>> {
        self.inner.batch_write(writes)
    }

    fn transact_write(&self, transaction: TransactWrite) -> Answer<'_, ()> {
        self.inner.transact_write(transaction)
    }

    fn transact_get(&self, gets: Vec<Get>) -> Answer<'_, Vec<Option<Item>>> {
        self.inner.transact_get(gets)
    }

    fn ensure_table(&self, spec: TableSpec) -> Answer<'_, ()> {
        self.inner.ensure_table(spec)
    }

    fn describe_table(&self, name: &str) -> Answer<'_, TableDescription> {
        self.inner.describe_table(name)
    }

    fn list_tables(&self) -> Answer<'_, Vec<String>> {
        self.inner.list_tables()
    }

    fn delete_table(&self, name: &str) -> Answer<'_, ()> {
        self.inner.delete_table(name)
    }
}

/// A room on a store that counts.
async fn counted() -> (Talk, Arc<Counted>) {
    let world = World::new().await;
    let mut ground = world.ground();
    let inner = Arc::clone(&ground.tables);
    let store = Arc::new(Counted { inner, queries: AtomicU64::new(0), items: AtomicU64::new(0) });
    ground.tables = Arc::<Counted>::clone(&store);
    let instance = world.instance_on(ground).await;
    (Talk::on(world, vec![instance], Options::default()).await, store)
}

/// So many comments of a participant or of the host, thirty in a commit, with pauses as a talk of
/// several days has them.
async fn fill(talk: &Talk, room: &str, count: u64, is_host: bool) {
    let numbers: Vec<u64> = (1..=count).collect();
    for (turn, some) in numbers.chunks(30).enumerate() {
        let posts = some.iter().map(|number| {
            let post = PostComment {
                content: number.to_string(),
                nickname: None,
                client_id: None,
                participant: String::new(),
                host_id: is_host.then(|| HOST.to_owned()),
            };
            talk.live.post_comment(room, post)
        });
        try_join_all(posts).await.unwrap();
        match turn {
            20 => talk.pass_long_ms(3 * 24 * 3_600_000).await,
            turn if turn.is_multiple_of(3) => talk.pass_ms(700).await,
            _ => {}
        }
    }
}

fn seqs(page: &Json) -> Vec<u64> {
    let seq = |comment: &Json| comment["seq"].as_u64().unwrap();
    page["comments"].as_array().unwrap().iter().map(seq).collect()
}

#[testkit::test]
async fn a_page_behind_or_before_a_number_reads_little_more_than_itself() {
    let (talk, store) = counted().await;
    let room = talk.create().await;
    // A change takes the first number, so comments have those from 2 on.
    talk.patch(&room, json!({ "hostId": HOST, "paused": false })).await.is(200);
    fill(&talk, &room, 3_000, true).await;
    let path = format!("/live/rooms/{room}/comments?limit=100");
    for number in [0, 1, 2, 3, 100, 599, 600, 601, 1_500, 1_999, 2_900, 2_999, 3_000, 3_001, 9_999]
    {
        store.take();
        let after = talk.get(&format!("{path}&after={number}")).await.is(200);
        let first = number.max(1) + 1;
        assert_eq!(seqs(&after), (first..(first + 100).min(3_002)).collect::<Vec<_>>(), "{number}");
        let (queries, items) = store.take();
        assert!(queries <= 50 && items <= 250, "after {number}: {queries} queries, {items} items");

        let before = talk.get(&format!("{path}&before={number}")).await.is(200);
        let end = number.clamp(2, 3_002);
        assert_eq!(seqs(&before), (end.saturating_sub(100).max(2)..end).collect::<Vec<_>>());
        let (queries, items) = store.take();
        assert!(queries <= 50 && items <= 250, "before {number}: {queries} queries, {items} items");

        let both = format!("{path}&after={number}&before={}", number + 11);
        assert_eq!(
            seqs(&talk.get(&both).await.is(200)).len() as u64,
            match number {
                0 => 9,
                number if number <= 2_991 => 10,
                number => 3_001_u64.saturating_sub(number),
            }
        );
        let (queries, items) = store.take();
        assert!(queries <= 100 && items <= 250, "both {number}: {queries} queries, {items} items");
    }
}

#[testkit::test]
async fn a_page_among_hidden_comments_ends_after_a_bounded_number_of_reads_and_goes_on() {
    let (talk, store) = counted().await;
    let room = talk.create().await;
    talk.patch(&room, json!({ "hostId": HOST, "moderation": "pre" })).await.is(200);
    talk.say(&room, "the first").await;
    fill(&talk, &room, 3_000, false).await;
    talk.say(&room, "the last").await;
    let path = format!("/live/rooms/{room}/comments");
    for (way, order) in
        [("after", ["the first", "the last"]), ("before", ["the last", "the first"])]
    {
        let (mut seen, mut query) =
            (Vec::new(), if way == "after" { "0" } else { "9999" }.to_owned());
        let mut pages = 0;
        loop {
            store.take();
            let page = talk.get(&format!("{path}?{way}={query}")).await.is(200);
            let (_, items) = store.take();
            assert!(items <= 1_600, "{items} items");
            let contents = page["comments"].as_array().unwrap().iter();
            seen.extend(contents.map(|comment| comment["content"].clone()));
            pages += 1;
            match page["next"].as_str() {
                Some(next) => query = next.to_owned(),
                None => break,
            }
        }
        assert_eq!((seen, pages), (order.map(|text| json!(text)).to_vec(), 2), "{way}");
    }
}

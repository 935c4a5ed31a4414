//! Secondary indexes.

use table::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use table::{
    Delete, Item, KeyAttribute, KeySpec, Projected, Put, Query, Scan, TableSpec, Tables, Update,
    Value, attr,
};

use super::{
    assert_refused, assert_taken, bytes, ensure, key, put, query, scan, sort_keys, text,
    text_and_number,
};

fn by_team() -> KeySpec {
    KeySpec::composite(KeyAttribute::s("team"), KeyAttribute::n("score"))
}

async fn in_team(tables: &dyn Tables, table: &str, team: &str) -> Vec<String> {
    sort_keys(&query(tables, Query::new(table, "team", team).index("by-team")).await.items)
}

pub(crate) async fn an_index_holds_items_that_have_its_key(tables: &dyn Tables) {
    let table = "indexes-sparse";
    ensure(tables, TableSpec::new(table, text_and_number()).index("by-team", by_team())).await;
    put(tables, table, key("a", 1).with("team", "red").with("score", 30)).await;
    put(tables, table, key("a", 2).with("team", "red").with("score", 10)).await;
    put(tables, table, key("b", 3).with("team", "red").with("score", -10)).await;
    put(tables, table, key("a", 4).with("team", "red")).await;
    put(tables, table, key("a", 5).with("score", 10)).await;
    assert_eq!(in_team(tables, table, "red").await, ["3", "2", "1"]);
    // An item moves with its attributes, leaves without them, and is deleted with its row.
    let change = Update::new(table, key("a", 1)).set("score", 0);
    tables.update(change).await.expect("the update is valid");
    assert_eq!(in_team(tables, table, "red").await, ["3", "1", "2"]);
    let change = Update::new(table, key("a", 2)).set("team", "blue");
    tables.update(change).await.expect("the update is valid");
    assert_eq!(in_team(tables, table, "red").await, ["3", "1"]);
    assert_eq!(in_team(tables, table, "blue").await, ["2"]);
    let change = Update::new(table, key("a", 2)).remove("score");
    tables.update(change).await.expect("the update is valid");
    assert_eq!(in_team(tables, table, "blue").await, Vec::<String>::new());
    tables.delete(Delete::new(table, key("b", 3))).await.expect("the key is valid");
    put(tables, table, key("a", 4).with("team", "red").with("score", 1)).await;
    assert_eq!(in_team(tables, table, "red").await, ["1", "4"]);
    let all = scan(tables, Scan::new(table).index("by-team")).await;
    assert_eq!(all.items.len(), 2);
}

pub(crate) async fn an_index_answers_what_it_projects(tables: &dyn Tables) {
    let table = "indexes-projection";
    let include = Projected::Include(vec!["x".to_owned(), "gone".to_owned()]);
    let spec = TableSpec::new(table, text_and_number())
        .index("all", by_team())
        .index_projecting("keys", by_team(), Projected::KeysOnly)
        .index_projecting("some", by_team(), include);
    ensure(tables, spec).await;
    let keys = key("a", 1).with("team", "red").with("score", 1);
    let item = keys.clone().with("x", 1).with("y", 2);
    put(tables, table, item.clone()).await;
    for (index, expected) in [("all", item), ("keys", keys.clone()), ("some", keys.with("x", 1))] {
        let page = query(tables, Query::new(table, "team", "red").index(index)).await;
        assert_eq!(page.items, std::slice::from_ref(&expected), "{index}");
        assert_eq!(scan(tables, Scan::new(table).index(index)).await.items, [expected]);
    }
}

fn by_score(table: &str) -> TableSpec {
    let (score, keys) = (KeyAttribute::n("score"), Projected::KeysOnly);
    TableSpec::new(table, text_and_number()).local_index("by-score", score, keys)
}

pub(crate) async fn a_local_index_orders_a_partition_and_is_as_fresh_as_the_table(
    tables: &dyn Tables,
) {
    let table = "indexes-local";
    ensure(tables, by_score(table)).await;
    for (number, score) in [(1, 30), (2, 10), (3, 20)] {
        put(tables, table, key("a", number).with("score", score).with("x", 1)).await;
    }
    put(tables, table, key("b", 4).with("score", 1)).await;
    put(tables, table, key("a", 5)).await;
    let ordered = Query::new(table, "pk", "a").index("by-score").consistent();
    let page = query(tables, ordered).await;
    assert_eq!(sort_keys(&page.items), ["2", "3", "1"]);
    assert_eq!(page.items.first(), Some(&key("a", 2).with("score", 10)));
    let described = tables.describe_table(table).await.expect("the table is there");
    assert_eq!(described.spec.indexes, by_score(table).indexes);
}

pub(crate) async fn a_local_index_fetches_what_it_does_not_hold(tables: &dyn Tables) {
    let table = "indexes-fetch";
    ensure(tables, by_score(table)).await;
    put(tables, table, key("a", 1).with("score", 1).with("x", 1).with("y", 2)).await;
    let wanted = Query::new(table, "pk", "a").index("by-score").project([attr("x")]);
    assert_eq!(query(tables, wanted).await.items, [Item::new().with("x", 1)]);
}

pub(crate) async fn pages_of_an_index_go_on_by_both_keys(tables: &dyn Tables) {
    let table = "indexes-pages";
    ensure(tables, TableSpec::new(table, text_and_number()).index("by-team", by_team())).await;
    for number in 0..7 {
        // Many items under one key of the index: only the table's key distinguishes them.
        put(tables, table, key("a", number).with("team", "red").with("score", number / 5)).await;
    }
    for descending in [false, true] {
        let mut read =
            Query { descending, ..Query::new(table, "team", "red").index("by-team").limit(2) };
        let mut found = Vec::new();
        loop {
            let page = query(tables, read.clone()).await;
            let Some(last) = page.items.last() else { break };
            let names = ["pk", "sk", "team", "score"];
            let expected = names.map(|name| (name.to_owned(), last.get(name).cloned()));
            let expected: Item =
                expected.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
            found.extend(sort_keys(&page.items));
            match page.last_key {
                Some(key) => {
                    assert_eq!(key, expected);
                    read = read.start_after(key);
                }
                None => break,
            }
        }
        let (first, second) = if descending { (0, 2) } else { (5, 7) };
        let mut late: Vec<String> =
            found.get(first..second).into_iter().flatten().cloned().collect();
        late.sort();
        assert_eq!(late, ["5", "6"]);
        found.sort();
        assert_eq!(found, ["0", "1", "2", "3", "4", "5", "6"]);
    }
}

pub(crate) async fn values_that_cannot_be_index_keys_are_refused(tables: &dyn Tables) {
    let table = "indexes-values";
    let composite = KeySpec::composite(KeyAttribute::s("team"), KeyAttribute::b("rank"));
    ensure(tables, TableSpec::new(table, text_and_number()).index("by-rank", composite)).await;
    let (team, rank) = (PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX);
    let longest = key("a", 1).with("team", text(team)).with("rank", bytes(rank));
    assert_taken(tables.put(Put::new(table, longest)).await, "the longest");
    let wrong: [(&str, Value); 7] = [
        ("team", "".into()),
        ("rank", bytes(0)),
        ("team", 1.into()),
        ("rank", "1".into()),
        ("team", Value::Null),
        ("team", text(team + 1)),
        ("rank", bytes(rank + 1)),
    ];
    for (name, value) in wrong {
        let item = key("a", 2).with(name, value.clone());
        assert_refused(tables.put(Put::new(table, item)).await, name);
        let change = Update::new(table, key("a", 1)).set(name, value);
        assert_refused(tables.update(change).await, name);
    }
    assert_eq!(scan(tables, Scan::new(table).index("by-rank")).await.items.len(), 1);
}

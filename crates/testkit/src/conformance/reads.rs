//! Queries, scans and their pages.

use table::limits::{ITEM_BYTES_MAX, PAGE_BYTES_MAX, SEGMENTS_MAX};
use table::{
    Error, Get, Item, KeyAttribute, KeySpec, Query, Scan, SortCondition, TableSpec, Tables, Value,
    attr,
};

use super::{
    assert_refused, assert_taken, declare, ensure, get, key, put, query, scan, sort_keys, text,
    text_and_number,
};

async fn declare_ten(tables: &dyn Tables, table: &str) {
    declare(tables, table).await;
    for number in 0..10 {
        put(tables, table, key("a", number).with("odd", number % 2 == 1)).await;
        put(tables, table, key("b", number)).await;
    }
}

pub(crate) async fn queries_obey_every_sort_condition(tables: &dyn Tables) {
    let table = "reads-sort";
    declare_ten(tables, table).await;
    let cases: [(SortCondition, &[&str]); 8] = [
        (SortCondition::eq(3), &["3"]),
        (SortCondition::eq(30), &[]),
        (SortCondition::lt(2), &["0", "1"]),
        (SortCondition::le(2), &["0", "1", "2"]),
        (SortCondition::gt(7), &["8", "9"]),
        (SortCondition::ge(7), &["7", "8", "9"]),
        (SortCondition::between(3, 5), &["3", "4", "5"]),
        (SortCondition::between(-5, -1), &[]),
    ];
    for (condition, expected) in cases {
        let up = Query::new(table, "pk", "a").sort("sk", condition);
        assert_eq!(sort_keys(&query(tables, up.clone()).await.items), expected);
        let mut down = sort_keys(&query(tables, up.descending()).await.items);
        down.reverse();
        assert_eq!(down, expected);
    }
    let texts = "reads-beginning";
    let composite = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::s("sk"));
    ensure(tables, TableSpec::new(texts, composite)).await;
    let values = ["a", "ab", "ab\0", "abc", "ac", "b"];
    for value in values {
        put(tables, texts, Item::new().with("pk", "a").with("sk", value)).await;
    }
    let beginning = Query::new(texts, "pk", "a").sort("sk", SortCondition::begins_with("ab"));
    let found = query(tables, beginning).await.items;
    let found: Vec<_> = found.iter().filter_map(|item| item.get("sk")?.as_s()).collect();
    assert_eq!(found, ["ab", "ab\0", "abc"]);
}

pub(crate) async fn a_page_ends_at_its_limit(tables: &dyn Tables) {
    let table = "reads-limit";
    declare_ten(tables, table).await;
    for limit in 1..=11_u32 {
        for descending in [false, true] {
            let mut expected: Vec<String> = (0..10).map(|number| number.to_string()).collect();
            let mut read = Query { descending, ..Query::new(table, "pk", "a").limit(limit) };
            if descending {
                expected.reverse();
            }
            let mut rest = expected.as_slice();
            loop {
                let page = query(tables, read.clone()).await;
                let (here, later) = rest.split_at((limit as usize).min(rest.len()));
                assert_eq!(sort_keys(&page.items), here);
                assert_eq!(page.scanned as usize, here.len());
                rest = later;
                // A page that ended at its limit returns a key, even if nothing follows.
                assert_eq!(page.last_key.is_some(), here.len() == limit as usize);
                match page.last_key {
                    Some(last) => read = read.start_after(last),
                    None => break,
                }
            }
            assert_eq!(rest, Vec::<String>::new());
        }
    }
}

pub(crate) async fn the_filter_comes_after_the_limit(tables: &dyn Tables) {
    let table = "reads-filter";
    declare_ten(tables, table).await;
    let odd = Query::new(table, "pk", "a").filter(attr("odd").eq(true));
    let page = query(tables, odd.clone().limit(3)).await;
    assert_eq!((sort_keys(&page.items), page.scanned), (vec!["1".to_owned()], 3));
    assert_eq!(page.last_key, Some(key("a", 2)));
    let page = query(tables, odd).await;
    assert_eq!((page.items.len(), page.scanned, page.last_key), (5, 10, None));
    let none = scan(tables, Scan::new(table).filter(attr("gone").exists()).limit(7)).await;
    assert_eq!((none.items.len(), none.scanned, none.last_key.is_some()), (0, 7, true));
}

pub(crate) async fn a_page_ends_at_a_megabyte(tables: &dyn Tables) {
    let table = "reads-megabyte";
    declare(tables, table).await;
    let body = text(ITEM_BYTES_MAX / 4);
    for number in 0..25 {
        put(tables, table, key("a", number).with("body", body.clone())).await;
    }
    for filter in [attr("body").exists(), attr("body").not_exists()] {
        let mut read = Query::new(table, "pk", "a").filter(filter).project(["sk"]);
        let (mut pages, mut scanned) = (0, 0);
        loop {
            let page = query(tables, read.clone()).await;
            (pages, scanned) = (pages + 1, scanned + page.scanned);
            // The item at the limit may be on this page or on the next.
            let most = (PAGE_BYTES_MAX + ITEM_BYTES_MAX) as u64;
            assert!(page.bytes <= most, "{} bytes", page.bytes);
            let Some(last) = page.last_key else { break };
            let least = (PAGE_BYTES_MAX - ITEM_BYTES_MAX) as u64;
            assert!(page.bytes >= least, "{} bytes", page.bytes);
            read = read.start_after(last);
        }
        assert!(pages >= 3, "2.5 MB came in {pages} pages");
        assert_eq!(scanned, 25);
    }
}

pub(crate) async fn a_projection_cuts_items_down(tables: &dyn Tables) {
    let table = "reads-projection";
    declare(tables, table).await;
    let inner = Item::new().with("x", 1).with("y", vec![Value::from(1), Value::from(2)]);
    let item = key("a", 1).with("m", inner).with("l", vec![Value::from("p"), Value::from("q")]);
    put(tables, table, item).await;
    let y = |element: i32| Item::new().with("m", Item::new().with("y", vec![element.into()]));
    let cases = [
        (vec![attr("sk")], Item::new().with("sk", 1)),
        (vec![attr("m").field("x"), attr("gone")], Item::new().with("m", Item::new().with("x", 1))),
        (vec![attr("m").field("y").at(1)], y(2)),
        (
            vec![attr("l").at(1), attr("l").at(0), attr("pk")],
            Item::new().with("pk", "a").with("l", vec!["p".into(), "q".into()]),
        ),
        (vec![attr("gone")], Item::new()),
    ];
    for (paths, expected) in cases {
        let read = Get::new(table, key("a", 1)).project(paths.clone());
        let found = tables.get(read).await.expect("the projection is valid");
        assert_eq!(found.unwrap_or_default(), expected, "{paths:?}");
        let page = query(tables, Query::new(table, "pk", "a").project(paths.clone())).await;
        assert_eq!(page.items, std::slice::from_ref(&expected));
        let page = scan(tables, Scan::new(table).project(paths)).await;
        assert_eq!(page.items, [expected]);
    }
}

pub(crate) async fn wrong_reads_are_refused(tables: &dyn Tables) {
    let table = "reads-wrong";
    let spec = TableSpec::new(table, text_and_number());
    ensure(tables, spec.index("by-x", KeySpec::simple(KeyAttribute::s("x")))).await;
    let all = || Query::new(table, "pk", "a");
    let wrong = [
        ("a limit of 0", all().limit(0)),
        ("another partition attribute", Query::new(table, "sk", 1)),
        ("a partition of another type", Query::new(table, "pk", 1)),
        ("another sort attribute", all().sort("x", SortCondition::eq(1))),
        ("a sort value of another type", all().sort("sk", SortCondition::lt("1"))),
        ("the beginning of a number", all().sort("sk", SortCondition::begins_with(1))),
        ("bounds the wrong way round", all().sort("sk", SortCondition::between(2, 1))),
        ("a filter on the key", all().filter(attr("sk").gt(1))),
        ("a start of another shape", all().start_after(Item::new().with("pk", "a"))),
        ("a start in another partition", all().start_after(key("b", 1))),
        ("a start with more", all().start_after(key("a", 1).with("x", "1"))),
        (
            "a start outside the stretch",
            all().sort("sk", SortCondition::gt(5)).start_after(key("a", 1)),
        ),
        ("a path inside another", all().project([attr("m"), attr("m").field("x")])),
        ("a consistent read of an index", Query::new(table, "x", "1").index("by-x").consistent()),
        (
            "a sort key where there is none",
            Query::new(table, "x", "1").index("by-x").sort("sk", SortCondition::eq(1)),
        ),
    ];
    for (what, read) in wrong {
        assert_refused(tables.query(read).await, what);
    }
    let wrong = [
        ("a limit of 0", Scan::new(table).limit(0)),
        ("a start of another shape", Scan::new(table).start_after(Item::new().with("sk", 1))),
        ("a consistent read of an index", Scan::new(table).index("by-x").consistent()),
        ("a path inside another", Scan::new(table).project([attr("m"), attr("m")])),
    ];
    for (what, read) in wrong {
        assert_refused(tables.scan(read).await, what);
    }
    let missing = tables.query(Query::new(table, "x", "1").index("by-y")).await;
    assert!(matches!(missing, Err(Error::NoSuchIndex { .. })), "{missing:?}");
    let missing = tables.scan(Scan::new(table).index("by-y")).await;
    assert!(matches!(missing, Err(Error::NoSuchIndex { .. })), "{missing:?}");
    assert_taken(tables.query(all().consistent()).await, "a consistent read of the table");
}

pub(crate) async fn a_read_goes_on_behind_any_key(tables: &dyn Tables) {
    let table = "reads-behind";
    declare(tables, table).await;
    for number in [0, 2, 4, 6] {
        put(tables, table, key("a", number)).await;
    }
    // No item has the key 3: a deleted item's key is as good as any.
    let up = Query::new(table, "pk", "a").start_after(key("a", 3));
    assert_eq!(sort_keys(&query(tables, up.clone()).await.items), ["4", "6"]);
    assert_eq!(sort_keys(&query(tables, up.descending()).await.items), ["2", "0"]);
    let mut found = 0;
    let mut read = Scan::new(table).limit(1);
    while let Some(last) = scan(tables, read.clone()).await.last_key {
        assert!(get(tables, table, last.clone()).await.is_some());
        found += 1;
        read = read.start_after(last);
    }
    assert_eq!(found, 4);
}

pub(crate) async fn segments_share_a_table(tables: &dyn Tables) {
    let table = "reads-segments";
    declare(tables, table).await;
    for number in 0..100 {
        put(tables, table, key(&format!("p{number}"), number)).await;
    }
    for total in [1, 2, 7, SEGMENTS_MAX] {
        let mut found: Vec<String> = Vec::new();
        // A million segments are only tested at their ends.
        for number in (0..total).filter(|number| total < 10 || [0, total - 1].contains(number)) {
            let mut read = Scan::new(table).segment(number, total).limit(13);
            loop {
                let page = scan(tables, read.clone()).await;
                found.extend(sort_keys(&page.items));
                let Some(last) = page.last_key else { break };
                read = read.start_after(last);
            }
        }
        found.sort_by_key(|text| text.parse::<u32>().unwrap_or(u32::MAX));
        let all: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        assert!(total > 10 || found == all, "{total} segments: {found:?}");
    }
    for (number, total) in [(0, 0), (3, 3), (0, SEGMENTS_MAX + 1)] {
        let read = Scan::new(table).segment(number, total);
        assert_refused(tables.scan(read).await, &format!("segment {number} of {total}"));
    }
}

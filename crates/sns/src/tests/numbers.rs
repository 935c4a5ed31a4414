//! The seed's numbers: what is counted of the tables, and what alerts look at.

use std::collections::BTreeSet;

use table::{BatchWrite, Error, Item};

use super::Network;
use super::hindered::{Refusal, hindered};

#[testkit::test]
async fn the_seeds_numbers_are_counted_under_its_names() {
    let metrics = edge::Metrics::of_process();
    let network = Network::open().await;
    let ada = network.user("ada").await;
    network.say(ada, "x").await;
    network.timeline(ada).await;
    let shown = metrics.render();
    for name in ["ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"] {
        let line = format!("{name}{{table=\"mini-sns-prod-post-ddb\"}} ");
        let value = shown.lines().find_map(|text| text.strip_prefix(&line)).unwrap();
        assert!(value.parse::<u64>().unwrap() > 0, "{name}");
    }
    for name in ["UserErrors", "SystemErrors", "ThrottledRequests"] {
        assert!(shown.contains(&format!("{name}{{table=\"mini-sns-prod-user-ddb\"}}")), "{name}");
    }
}

/// What is shown of a number of one table.
fn counted(name: &str, table: &str) -> u64 {
    let shown = edge::Metrics::of_process().render();
    let line = format!("{name}{{table=\"{table}\"}} ");
    shown.lines().find_map(|text| text.strip_prefix(&line)).unwrap().parse().unwrap()
}

#[testkit::test]
async fn reads_in_a_transaction_and_writes_in_a_batch_are_metered_too() {
    edge::Metrics::of_process();
    let (network, store) = hindered("metered").await;
    let ada = network.user("ada").await;
    let (users, posts) = ("mini-sns-metered-user-ddb", "mini-sns-metered-post-ddb");
    let reads = counted("ConsumedReadCapacityUnits", users);
    network.sns.get_profile(ada, ada).await.unwrap();
    assert_eq!(counted("ConsumedReadCapacityUnits", users), reads + 2);
    let put = || {
        let item = Item::new().with("PK", "x").with("SK", "y").with("z", "z".repeat(1500));
        vec![BatchWrite::Put { table: posts.to_owned(), item }]
    };
    let writes = counted("ConsumedWriteCapacityUnits", posts);
    network.sns.tables.batch_write(put()).await.unwrap();
    assert_eq!(counted("ConsumedWriteCapacityUnits", posts), writes + 2);
    store.refusals.lock().extend([
        Refusal {
            call: "transact_get",
            table: "user-ddb",
            error: || Error::Throttled("slow".to_owned()),
        },
        Refusal {
            call: "batch_write",
            table: "post-ddb",
            error: || Error::Stopped("broken".to_owned()),
        },
    ]);
    assert!(network.sns.get_profile(ada, ada).await.is_err());
    assert!(network.sns.tables.batch_write(put()).await.is_err());
    assert_eq!((counted("ThrottledRequests", users), counted("SystemErrors", users)), (1, 0));
    assert_eq!((counted("ThrottledRequests", posts), counted("SystemErrors", posts)), (0, 1));
}

/// The rules of alerts that come with the house.
const RULES: &str = include_str!("../../../../packaging/prometheus-rules.yml");

/// What PromQL says for itself in these rules.
const OF_PROMQL: [&str; 7] = ["sum", "by", "table", "increase", "rate", "scalar", "vector"];

/// The metrics that a query names. What stands in braces and brackets is labels and ranges.
fn named(query: &str) -> Vec<&str> {
    let parts = query.split(['{', '[']);
    let bare = parts.enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.split_once(['}', ']']).map_or("", |(_, rest)| rest),
    });
    let is_edge = |letter: char| !(letter.is_alphanumeric() || "_:".contains(letter));
    let words = bare.flat_map(|part| part.split(is_edge));
    let words = words.filter(|word| word.starts_with(char::is_alphabetic));
    words.filter(|word| !OF_PROMQL.contains(word)).collect()
}

#[testkit::test]
async fn alerts_look_at_numbers_that_are_shown() {
    let metrics = edge::Metrics::of_process();
    let network = Network::open().await;
    // Queues are counted once a minute.
    network.pass(61).await;
    network.settle().await;
    let shown = metrics.render();
    let told = |word: &'static str| {
        RULES.lines().filter_map(move |line| line.trim().split_once(word).map(|(_, rest)| rest))
    };
    let recorded: Vec<&str> = told("- record: ").collect();
    let looked_at: BTreeSet<&str> = told("expr: ").flat_map(named).collect();
    for name in &looked_at {
        let is_shown = shown.lines().any(|line| line.starts_with(&format!("{name}{{")));
        assert!(is_shown || recorded.contains(name), "nobody shows `{name}`");
    }
    let wanted = [
        "ConsumedReadCapacityUnits",
        "SystemErrors",
        "ThrottledRequests",
        "nagaya_queue_dead_letters",
    ];
    assert!(wanted.iter().all(|name| looked_at.contains(name)), "{looked_at:?}");
}

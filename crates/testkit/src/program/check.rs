//! The check at the end of a server process. Runs when a [`Served`] is dropped in a test that has
//! not failed: lets the server finish its work, closes it, and complains about the rest.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Served, control};
use crate::{Left, wait};

/// The things that are left, in words.
pub(super) fn look(house: &mut Served) -> Vec<String> {
    let mut left = pending(house);
    left.extend(end(house));
    left.extend(errors(house));
    left
}

/// Jobs, dead letters, subscriptions and panicked tasks of the open server.
fn pending(house: &Served) -> Vec<String> {
    // Running work ends first, and the server notices that its clients have gone.
    let rests = wait::find_within(house.rest_patience, || match control::pending(&house.control) {
        Ok(pending) => match words(&pending, house.own_subscriptions, &house.allowed) {
            left if left.is_empty() => Ok(()),
            left => Err(left),
        },
        Err(why) => Err(vec![format!("it takes no requests: {why}")]),
    });
    rests.err().unwrap_or_default()
}

fn words(pending: &Json, own_subscriptions: u64, allowed: &BTreeSet<Left>) -> Vec<String> {
    let queues = |name: &str| -> Vec<String> {
        let queues = pending.get(name).and_then(Json::as_object).into_iter().flatten();
        queues.map(|(queue, count)| format!("{count} in `{queue}`")).collect()
    };
    let open = control::count_subscriptions(pending).saturating_sub(own_subscriptions);
    let panicked = pending.get("panicked").and_then(Json::as_array).into_iter().flatten();
    let found = [
        (Left::Jobs, "unfinished jobs", queues("due")),
        (Left::DeadLetters, "dead letters", queues("dead")),
        (
            Left::Subscribers,
            "leaked subscriptions",
            Vec::from_iter((open > 0).then(|| open.to_string())),
        ),
        (Left::Tasks, "panicked tasks", panicked.map(Json::to_string).collect()),
    ];
    let found =
        found.into_iter().filter(|(left, _, what)| !what.is_empty() && !allowed.contains(left));
    found.map(|(_, name, what)| format!("{name}: {}", what.join(", "))).collect()
}

/// Closes it.
fn end(house: &mut Served) -> Option<String> {
    if let Ok(Some(status)) = house.child.try_wait() {
        return Some(format!("it ended before the test, with {status}"));
    }
    match house.find_close() {
        Some(status) if status.success() => None,
        Some(status) => Some(format!("it ended with {status}")),
        None => Some("it does not end".to_owned()),
    }
}

/// Lines of level ERROR that the test does not expect.
fn errors(house: &Served) -> Option<String> {
    if house.allowed.contains(&Left::Errors) {
        return None;
    }
    let log = house.log.whole();
    let is_error = |line: &&str| line.contains(" ERROR ") || line.contains(r#""level":"ERROR""#);
    let is_expected = |line: &&str| house.expected_errors.iter().any(|text| line.contains(text));
    let errors: Vec<&str> =
        log.lines().filter(is_error).filter(|line| !is_expected(line)).collect();
    (!errors.is_empty()).then(|| format!("errors in its log: {}", errors.join("\n")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::words;
    use crate::Left;

    #[test]
    fn leftovers_are_reported_by_kind_unless_they_are_allowed() {
        let none = json!({ "due": {}, "dead": {}, "subscriptions": 3, "panicked": [] });
        assert_eq!(words(&none, 3, &BTreeSet::new()), [""; 0]);
        let pending = json!({
            "due": { "asks": 2 }, "dead": { "mails": 1, "bus.outbox": 4 },
            "subscriptions": 5, "panicked": ["sweeper (2)"],
        });
        let expected = [
            (Left::Jobs, "unfinished jobs: 2 in `asks`"),
            (Left::DeadLetters, "dead letters: 4 in `bus.outbox`, 1 in `mails`"),
            (Left::Subscribers, "leaked subscriptions: 2"),
            (Left::Tasks, "panicked tasks: \"sweeper (2)\""),
        ];
        assert_eq!(words(&pending, 3, &BTreeSet::new()), expected.map(|(_, words)| words));
        for (allowed, _) in expected {
            let others =
                expected.iter().filter(|(left, _)| *left != allowed).map(|(_, words)| *words);
            let found = words(&pending, 3, &BTreeSet::from([allowed]));
            assert_eq!(found, others.collect::<Vec<_>>(), "{allowed:?}");
        }
    }
}

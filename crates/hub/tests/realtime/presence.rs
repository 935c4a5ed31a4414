//! Leases end at their exact time.

use std::time::Duration;

use base::{Clock, Tasks, Timestamp};
use hub::{Lapsed, Presence, Present};
use tokio::sync::mpsc;

const SECOND: Duration = Duration::from_secs(1);

fn names(presence: &Presence) -> Vec<String> {
    presence.list("room").into_iter().map(|present| present.member).collect()
}

#[testkit::test]
async fn a_member_is_present_until_its_lease_ends_and_not_longer() {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let presence = Presence::new(&clock);
    assert!(presence.renew("room", "a", "Aki", 60 * SECOND));
    assert!(presence.renew("room", "b", "", 30 * SECOND));
    assert!(!presence.renew("room", "b", "Bo", 30 * SECOND));
    let aki = Present { member: "a".to_owned(), note: "Aki".to_owned() };
    assert_eq!((presence.count("room"), &presence.list("room")[0]), (2, &aki));
    time.advance(30 * SECOND - Duration::from_millis(1)).await;
    assert_eq!(names(&presence), ["a", "b"]);
    time.advance(Duration::from_millis(1)).await;
    assert_eq!(names(&presence), ["a"], "no task had to notice");
    assert!(!presence.leave("room", "b"));
    assert!(presence.leave("room", "a"));
    assert_eq!((presence.count("room"), presence.count("elsewhere")), (0, 0));
}

#[testkit::test]
async fn a_waiting_task_gets_each_end_once_at_its_time() {
    let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
    let (presence, tasks) = (Presence::new(&clock), Tasks::new());
    let (sender, mut received) = mpsc::unbounded_channel();
    let (watched, watch) = (presence.clone(), clock.clone());
    tasks.spawn("watch", async move {
        loop {
            let lapsed = watched.lapsed().await;
            sender.send((watch.now().seconds(), lapsed)).unwrap();
        }
    });
    time.settle().await;
    presence.renew("room", "a", "", 60 * SECOND);
    time.advance(10 * SECOND).await;
    presence.renew("room", "b", "", 20 * SECOND);
    presence.renew("room", "left", "", 20 * SECOND);
    presence.leave("room", "left");
    time.advance(40 * SECOND).await;
    presence.renew("room", "a", "", 60 * SECOND);
    time.advance(100 * SECOND).await;
    let lapsed = |member: &str| Lapsed { place: "room".to_owned(), member: member.to_owned() };
    assert_eq!(received.try_recv().unwrap(), (30, vec![lapsed("b")]));
    assert_eq!(received.try_recv().unwrap(), (110, vec![lapsed("a")]));
    assert!(received.try_recv().is_err());
    assert_eq!(tasks.panicked(), Vec::<String>::new());
}

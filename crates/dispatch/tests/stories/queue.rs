//! The delay queue, step by step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base::Timestamp;
use dispatch::{Error, Failed, Job, MessageId, NewMessage, QueueOptions, Schedule};
use parking_lot::Mutex;
use table::{Item, KeyAttribute, KeySpec, Put, TableSpec, TransactWrite};
use testkit::{Left, World};

use crate::support::{
    HOUR, SECOND, bodies, drive, kill, pass_unseen, process, received, things, world,
};

const VISIBILITY: Duration = Duration::from_secs(30);

/// The world of a story that leaves messages in the queue: it tests how messages are delivered, not
/// how they end.
async fn unfinished() -> World {
    let world = world().await;
    world.allow(Left::Jobs);
    world
}

/// The time after `duration` from now.
fn later(world: &World, duration: Duration) -> Timestamp {
    world.clock.now().checked_add(duration).unwrap()
}

#[testkit::test]
async fn messages_are_delivered_in_the_order_of_their_due_times() {
    let world = unfinished().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    assert!(received(&world, &queue).await.is_empty());
    for (body, seconds) in [("third", 30), ("first", 10), ("second", 20)] {
        let message = NewMessage::new(body).delay(SECOND * seconds);
        queue.enqueue(message).await.unwrap();
    }
    queue.enqueue(NewMessage::new("fourth").due(later(&world, SECOND * 40))).await.unwrap();
    world.time.advance(Duration::from_millis(9_999)).await;
    assert!(received(&world, &queue).await.is_empty());
    world.time.advance(Duration::from_millis(1)).await;
    assert_eq!(bodies(&received(&world, &queue).await), ["first"]);
    world.time.advance(SECOND * 20).await;
    assert_eq!(bodies(&received(&world, &queue).await), ["second", "third"]);
    world.time.advance(SECOND * 11).await;
    assert_eq!(bodies(&received(&world, &queue).await), ["first", "fourth"]);
}

#[testkit::test]
async fn a_waiting_consumer_wakes_at_the_very_millisecond() {
    let world = world().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    let due = later(&world, Duration::from_millis(7_199_999));
    let (waits, clock) = (queue.clone(), world.clock.clone());
    let woken = Arc::new(Mutex::new(None));
    let log = Arc::clone(&woken);
    instance.ground.tasks.spawn("consumer", async move {
        let got = waits.receive(1).await.unwrap().pop().unwrap();
        *log.lock() = Some((got.message().due(), clock.now()));
        got.delete().await.unwrap();
    });
    world.time.settle().await;
    queue.enqueue(NewMessage::new("much later").due(due)).await.unwrap();
    world.time.advance(HOUR * 2).await;
    assert_eq!(*woken.lock(), Some((due, due)));
}

#[testkit::test]
async fn a_message_due_in_the_past_is_due_now() {
    let world = unfinished().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    received(&world, &queue).await;
    let id = queue.enqueue(NewMessage::new("late").due(Timestamp::EPOCH)).await.unwrap();
    assert_eq!(id.due(), world.clock.now());
    assert_eq!(bodies(&received(&world, &queue).await), ["late"]);
}

#[testkit::test]
async fn a_message_sent_after_the_clock_was_set_ahead_is_delivered_at_once() {
    let world = unfinished().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    assert!(received(&world, &queue).await.is_empty());
    world.time.set_wall(later(&world, HOUR)).await;
    queue.enqueue(NewMessage::new("now")).await.unwrap();
    assert_eq!(bodies(&received(&world, &queue).await), ["now"]);
}

#[testkit::test]
async fn a_held_message_is_delivered_again_when_its_lease_ends_and_not_before() {
    let world = world().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    queue.enqueue(NewMessage::new("a")).await.unwrap();
    received(&world, &queue).await;
    let first = received(&world, &queue).await.pop();
    world.time.advance(VISIBILITY - Duration::from_millis(1)).await;
    assert!(received(&world, &queue).await.is_empty());
    world.time.advance(Duration::from_millis(1)).await;
    let second = received(&world, &queue).await.pop().unwrap();
    assert_eq!(second.message().receives, 2);
    // The former holder gets an error and changes nothing.
    if let Some(first) = first {
        assert!(matches!(first.extend().await, Err(Error::Lost(_))));
        assert!(matches!(first.clone().retry("slow").await, Err(Error::Lost(_))));
        assert!(matches!(first.delete().await, Err(Error::Lost(_))));
    }
    second.delete().await.unwrap();
    assert_eq!(queue.depth().await.unwrap().messages, 0);
}

#[testkit::test]
async fn extending_a_lease_holds_a_message_for_any_time() {
    let world = unfinished().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    received(&world, &queue).await;
    queue.enqueue(NewMessage::new("a")).await.unwrap();
    let held = received(&world, &queue).await.pop().unwrap();
    for _ in 0..10 {
        world.time.advance(VISIBILITY - SECOND).await;
        held.extend().await.unwrap();
        assert!(received(&world, &queue).await.is_empty());
    }
    world.time.advance(VISIBILITY).await;
    assert_eq!(received(&world, &queue).await.len(), 1);
}

#[testkit::test]
async fn a_message_received_too_often_becomes_a_dead_letter_that_can_be_replayed() {
    let world = world().await;
    let instance = world.instance().await;
    let options = QueueOptions { max_receives: 3, ..QueueOptions::default() };
    let queue = instance.dispatch.queue("fragile", options).unwrap();
    received(&world, &queue).await;
    queue.enqueue(NewMessage::new("poison")).await.unwrap();
    for _ in 0..2 {
        let held = received(&world, &queue).await.pop().unwrap();
        held.retry("it hurts").await.unwrap();
        world.time.advance(HOUR).await;
    }
    // The third holder dies without ending the message.
    assert_eq!(received(&world, &queue).await[0].message().receives, 3);
    world.time.advance(VISIBILITY).await;
    assert!(received(&world, &queue).await.is_empty());
    let dead = queue.list_dead(None, 10).await.unwrap().letters;
    let [letter] = &dead[..] else { panic!("{dead:?}") };
    assert_eq!((letter.receives, letter.reason.as_str()), (3, "received 3 times"));
    assert_eq!(letter.died, world.clock.now());
    assert_eq!(queue.depth().await.unwrap().dead, 1);

    assert!(queue.replay(&letter.id).await.unwrap());
    assert!(!queue.replay(&letter.id).await.unwrap());
    let again = received(&world, &queue).await.pop().unwrap();
    assert_eq!((again.message().receives, &again.message().body[..]), (1, &b"poison"[..]));
    assert_eq!(again.message().sent, letter.sent);
    again.bury("on purpose").await.unwrap();
    assert_eq!(queue.list_dead(None, 10).await.unwrap().letters[0].reason, "on purpose");
    assert_eq!(queue.purge().await.unwrap(), 1);
}

#[testkit::test]
async fn a_message_that_was_never_sent_can_be_buried_and_replayed() {
    let world = unfinished().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    queue.bury(NewMessage::new("part"), "no use").await.unwrap();
    assert!(received(&world, &queue).await.is_empty());
    let dead = queue.list_dead(None, 10).await.unwrap().letters;
    let [letter] = &dead[..] else { panic!("{dead:?}") };
    assert_eq!((letter.receives, letter.reason.as_str()), (0, "no use"));
    assert!(queue.replay(&letter.id).await.unwrap());
    assert_eq!(bodies(&received(&world, &queue).await), ["part"]);
    assert!(queue.list_dead(None, 10).await.unwrap().letters.is_empty());
}

#[testkit::test]
async fn dead_letters_are_listed_in_pages_replayed_all_and_purged() {
    let world = world().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    received(&world, &queue).await;
    for number in 0..25 {
        queue.enqueue(NewMessage::new(format!("{number:02}"))).await.unwrap();
        received(&world, &queue).await.pop().unwrap().bury("no").await.unwrap();
        world.time.advance(SECOND).await;
    }
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let part = queue.list_dead(after.as_deref(), 10).await.unwrap();
        assert!(part.letters.len() <= 10);
        listed.extend(part.letters.into_iter().map(|letter| letter.body));
        after = part.next;
        if after.is_none() {
            break;
        }
    }
    assert!(listed.len() == 25 && listed.is_sorted());
    assert_eq!(queue.replay_all().await.unwrap(), 25);
    let again = received(&world, &queue).await;
    assert_eq!(again.len(), 25);
    for delivery in again {
        delivery.bury("no, really").await.unwrap();
    }
    assert_eq!(queue.purge().await.unwrap(), 25);
    assert_eq!(queue.purge().await.unwrap(), 0);
    assert_eq!(queue.depth().await.unwrap().dead, 0);
}

#[testkit::test]
async fn a_message_in_the_callers_transaction_is_sent_only_with_its_commit() {
    let world = unfinished().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    received(&world, &queue).await;
    let key = KeySpec::simple(KeyAttribute::s("id"));
    world.tables.ensure_table(TableSpec::new("orders", key)).await.unwrap();
    let order = || {
        let put = Put::new("orders", Item::new().with("id", "1"));
        put.when(table::attr("id").not_exists())
    };
    let note = queue.prepare(NewMessage::new("made")).unwrap();
    let both = TransactWrite::new(vec![order().into(), note.write()]);
    world.tables.transact_write(both).await.unwrap();
    note.committed();
    assert_eq!(bodies(&received(&world, &queue).await), ["made"]);
    // The second order is refused, and so is its message.
    let note = queue.prepare(NewMessage::new("refused")).unwrap();
    let both = TransactWrite::new(vec![order().into(), note.write()]);
    assert!(world.tables.transact_write(both).await.is_err());
    note.committed();
    world.time.advance(SECOND * 5).await;
    assert!(received(&world, &queue).await.is_empty());
}

#[testkit::test]
async fn a_message_without_a_confirmed_commit_is_found_within_seconds() {
    let world = unfinished().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    received(&world, &queue).await;
    let note = queue.prepare(NewMessage::new("quiet")).unwrap();
    let alone = TransactWrite::new(vec![note.write()]);
    drop(note);
    world.time.settle().await;
    world.tables.transact_write(alone).await.unwrap();
    world.time.advance(SECOND * 2).await;
    assert_eq!(bodies(&received(&world, &queue).await), ["quiet"]);
}

#[testkit::test]
async fn a_message_can_be_cancelled_until_a_consumer_holds_it() {
    let world = unfinished().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    received(&world, &queue).await;
    let id = queue.enqueue(NewMessage::new("a").delay(HOUR)).await.unwrap();
    let id: MessageId = id.to_string().parse().unwrap();
    assert!(queue.cancel(id).await.unwrap());
    assert!(!queue.cancel(id).await.unwrap());
    let id = queue.enqueue(NewMessage::new("b")).await.unwrap();
    assert_eq!(received(&world, &queue).await.len(), 1);
    assert!(!queue.cancel(id).await.unwrap());
    world.time.advance(HOUR * 2).await;
    assert_eq!(bodies(&received(&world, &queue).await), ["b"]);
}

#[testkit::test]
async fn a_server_that_was_down_for_a_day_delivers_the_messages_that_came_due() {
    let world = unfinished().await;
    let before = world.instance().await;
    let queue = things(&before);
    for hour in 1..=30 {
        let message = NewMessage::new(format!("{hour:02}")).delay(HOUR * hour);
        queue.enqueue(message).await.unwrap();
    }
    drop(queue);
    before.close(&world.time).await;
    pass_unseen(&world, HOUR * 24).await;
    let after = world.instance().await;
    let queue = things(&after);
    received(&world, &queue).await;
    let due = bodies(&received(&world, &queue).await);
    assert_eq!((due.len(), due.is_sorted()), (24, true));
    let depth = queue.depth().await.unwrap();
    assert_eq!((depth.messages, depth.due), (30, 24));
    assert_eq!(world.clock.now().since(depth.oldest_due.unwrap()), HOUR * 23);
}

#[testkit::test]
async fn two_instances_never_both_hold_a_message() {
    let world = unfinished().await;
    let (one, two) = (world.instance().await, world.instance().await);
    let queues = [things(&one), things(&two)];
    for queue in &queues {
        received(&world, queue).await;
    }
    world.time.advance(SECOND * 15).await;
    for number in 0..400_u64 {
        let delay = Duration::from_millis(number * 10);
        let queue = &queues[usize::try_from(number % 2).unwrap()];
        queue.enqueue(NewMessage::new(format!("{number}")).delay(delay)).await.unwrap();
    }
    let mut seen: Vec<String> = Vec::new();
    let mut shares = [0, 0];
    for _ in 0..60 {
        world.time.advance(Duration::from_millis(100)).await;
        let (left, right) = tokio::join!(queues[0].try_receive(100), queues[1].try_receive(100));
        for (share, got) in shares.iter_mut().zip([left.unwrap(), right.unwrap()]) {
            seen.extend(bodies(&got));
            *share += got.len();
        }
    }
    // All leases still run, so a message that came twice was held twice.
    seen.sort();
    let count = seen.len();
    seen.dedup();
    assert_eq!((count, seen.len()), (400, 400));
    assert!(shares.iter().all(|share| *share > 100), "{shares:?}");
}

#[testkit::test]
async fn messages_of_a_dead_instance_reach_another_when_their_leases_end() {
    let world = unfinished().await;
    let (one, two) = (world.instance().await, world.instance().await);
    let queue = things(&one);
    received(&world, &queue).await;
    received(&world, &things(&two)).await;
    queue.enqueue_all((0..20).map(|number| NewMessage::new(format!("{number}")))).await.unwrap();
    assert_eq!(received(&world, &queue).await.len(), 20);
    drop(queue);
    one.close(&world.time).await;
    world.time.advance(VISIBILITY + SECOND).await;
    assert_eq!(received(&world, &things(&two)).await.len(), 20);
}

#[testkit::test]
async fn after_a_kill_free_messages_are_delivered_at_once_and_held_ones_when_their_leases_end() {
    let world = unfinished().await;
    let killed = process();
    drive(&killed, async {
        let queue = things(&world.instance().await);
        received(&world, &queue).await;
        let messages = (0..40).map(|number| NewMessage::new(format!("{number}")));
        queue.enqueue_all(messages).await.unwrap();
        assert_eq!(queue.try_receive(20).await.unwrap().len(), 20);
    });
    kill(killed);
    let instance = world.instance().await;
    let queue = things(&instance);
    received(&world, &queue).await;
    assert_eq!(received(&world, &queue).await.len(), 20);
    world.time.advance(VISIBILITY - SECOND).await;
    assert!(received(&world, &queue).await.is_empty());
    world.time.advance(SECOND).await;
    assert_eq!(received(&world, &queue).await.len(), 40);
}

#[testkit::test]
async fn shards_of_a_killed_process_are_taken_over_before_a_lease_would_end() {
    let world = unfinished().await;
    let survivor = world.instance().await;
    received(&world, &things(&survivor)).await;
    let killed = process();
    drive(&killed, async {
        let queue = things(&world.instance().await);
        received(&world, &queue).await;
        let messages = (0..40).map(|_| NewMessage::new("later").delay(SECOND * 25));
        queue.enqueue_all(messages).await.unwrap();
    });
    kill(killed);
    world.time.advance(SECOND * 25).await;
    assert_eq!(received(&world, &things(&survivor)).await.len(), 40);
}

#[testkit::test]
async fn a_message_sent_by_an_instance_that_does_not_consume_is_delivered_by_one_that_does() {
    let world = unfinished().await;
    let (sender, consumer) = (world.instance().await, world.instance().await);
    received(&world, &things(&consumer)).await;
    world.time.advance(SECOND * 15).await;
    things(&sender).enqueue(NewMessage::new("now")).await.unwrap();
    things(&sender).enqueue(NewMessage::new("later").delay(SECOND * 5)).await.unwrap();
    world.time.advance(SECOND).await;
    assert_eq!(bodies(&received(&world, &things(&consumer)).await), ["now"]);
    world.time.advance(SECOND * 4).await;
    assert_eq!(bodies(&received(&world, &things(&consumer)).await), ["later"]);
}

#[testkit::test]
async fn a_worker_holds_deletes_retries_and_gives_up() {
    let world = world().await;
    let instance = world.instance().await;
    let options = QueueOptions { max_receives: 4, ..QueueOptions::default() };
    let queue = instance.dispatch.queue("work", options).unwrap();
    let tries: Arc<Mutex<Vec<(String, Timestamp)>>> = Arc::default();
    let (log, clock) = (Arc::clone(&tries), world.clock.clone());
    queue.work(2, move |message| {
        let (log, clock) = (Arc::clone(&log), clock.clone());
        async move {
            let body = String::from_utf8(message.body.to_vec())?;
            log.lock().push((body.clone(), clock.now()));
            match body.as_str() {
                // Much longer than the visibility timeout.
                "slow" => clock.sleep(HOUR).await,
                "flaky" if message.receives < 3 => return Err(Failed::retry("not yet")),
                "hopeless" => return Err(Failed::for_good("never")),
                "stubborn" => return Err(Failed::retry_after(SECOND, "again")),
                _ => {}
            }
            Ok(())
        }
    });
    for body in ["slow", "flaky", "hopeless", "stubborn", "fine"] {
        queue.enqueue(NewMessage::new(body)).await.unwrap();
    }
    world.time.advance(HOUR * 2).await;
    let tries = tries.lock().clone();
    let count = |wanted: &str| tries.iter().filter(|(body, _)| body == wanted).count();
    let counts = ["slow", "flaky", "hopeless", "stubborn", "fine"].map(count);
    assert_eq!(counts, [1, 3, 1, 4, 1]);
    let dead = queue.list_dead(None, 10).await.unwrap().letters;
    let reasons: Vec<&str> = dead.iter().map(|letter| letter.reason.as_str()).collect();
    assert_eq!(reasons, ["never", "again"]);
    assert_eq!(queue.depth().await.unwrap().messages, 0);
    assert_eq!(queue.purge().await.unwrap(), 2);
}

#[testkit::test]
async fn a_handler_that_panics_gets_its_message_again() {
    let world = world().await;
    // The story needs this panic; the end asserts that it is the only one.
    world.allow(Left::Tasks);
    let instance = world.instance().await;
    let queue = things(&instance);
    let calls = Arc::new(AtomicU32::new(0));
    let counts = Arc::clone(&calls);
    queue.work(1, move |_| {
        let first = counts.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            assert!(!first, "on purpose");
            Ok(())
        }
    });
    queue.enqueue(NewMessage::new("a")).await.unwrap();
    world.time.advance(VISIBILITY + SECOND).await;
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(queue.depth().await.unwrap().messages, 0);
    assert_eq!(instance.ground.tasks.panicked(), ["queue handler"]);
}

#[testkit::test]
async fn invalid_input_is_refused_before_anything_is_written() {
    let world = world().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    let large = vec![0; dispatch::limits::BODY_BYTES_MAX + 1];
    assert!(matches!(queue.enqueue(NewMessage::new(large)).await, Err(Error::BodyTooLarge(_))));
    let far = NewMessage::new("a").due(Timestamp::from_millis(u64::MAX));
    assert!(matches!(queue.enqueue(far).await, Err(Error::DueTooFar(_))));
    let long = "x".repeat(65);
    for name in ["", "Grand", "a b", "a#b", long.as_str()] {
        let refused = instance.dispatch.queue(name, QueueOptions::default());
        assert!(matches!(refused.err(), Some(Error::BadName(_))), "{name}");
    }
    let reserved = instance.dispatch.queue("bus.outbox", QueueOptions::default());
    assert!(matches!(reserved.err(), Some(Error::ReservedName(_))));
    let other = QueueOptions { max_receives: 1, ..QueueOptions::default() };
    let differs = instance.dispatch.queue("things", other);
    assert!(matches!(differs.err(), Some(Error::QueueDiffers(_))));
    assert_eq!(queue.depth().await.unwrap().messages, 0);
    for id in ["", "1.2", "1.9.0190a0a0-0000-7000-8000-000000000000", "x.1.y"] {
        assert!(id.parse::<MessageId>().is_err(), "{id}");
    }
}

#[testkit::test]
async fn the_largest_messages_share_transactions_as_far_as_they_fit() {
    let world = world().await;
    let instance = world.instance().await;
    let queue = things(&instance);
    received(&world, &queue).await;
    let large = vec![7; dispatch::limits::BODY_BYTES_MAX];
    let messages = (0..40).map(|_| NewMessage::new(large.clone()));
    assert_eq!(queue.enqueue_all(messages).await.unwrap().len(), 40);
    let got = received(&world, &queue).await;
    assert_eq!(got.len(), 40);
    for delivery in got {
        delivery.delete().await.unwrap();
    }
    assert_eq!(queue.depth().await.unwrap().messages, 0);
}

#[testkit::test]
async fn a_house_that_is_starting_hands_out_nothing_and_runs_no_job() {
    let world = world().await;
    let instance = world.instance().await;
    let pause = instance.dispatch.pause();
    let calls = Arc::new(AtomicU32::new(0));
    let queue = things(&instance);
    let counts = Arc::clone(&calls);
    queue.work(1, move |_| {
        counts.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }
    });
    let counts = Arc::clone(&calls);
    let job = Job::new("minutely", Schedule::every(Duration::from_secs(60)).unwrap());
    let run = move |_| {
        counts.fetch_add(10, Ordering::Relaxed);
        async { Ok(vec![]) }
    };
    instance.dispatch.scheduler().start(job, run).await.unwrap();
    queue.enqueue(NewMessage::new("a")).await.unwrap();
    world.time.advance(SECOND * 61).await;
    assert_eq!(calls.load(Ordering::Relaxed), 0, "it is not open yet");
    drop(pause);
    world.time.settle().await;
    assert_eq!(calls.load(Ordering::Relaxed), 11, "both were due");
}

//! The rules of the delay queue under random loads.

use std::collections::HashMap;
use std::time::Duration;

use base::Random;
use dispatch::{NewMessage, QueueOptions};
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use testkit::Left;

use crate::support::{received, world};

/// How a consumer ends a message.
#[derive(Clone, Copy, Debug)]
enum EndAction {
    Delete,
    Retry,
    Drop,
    Bury,
}

fn end_action(draw: u8) -> EndAction {
    match draw % 8 {
        0..4 => EndAction::Delete,
        4 | 5 => EndAction::Retry,
        6 => EndAction::Drop,
        _ => EndAction::Bury,
    }
}

const OPTIONS: QueueOptions = QueueOptions {
    visibility: Duration::from_secs(10),
    max_receives: 4,
    retry_first: Duration::from_secs(1),
    retry_longest: Duration::from_secs(60),
};

async fn run(sends: Vec<(u8, u32)>, end_actions: Vec<u8>, seed: u64) -> Result<(), String> {
    let world = world().await;
    // A buried message becomes a dead letter, and so does one that was dropped too often.
    world.allow(Left::DeadLetters);
    world.seed(seed);
    let instances = [world.instance().await, world.instance().await];
    let queues = [0, 1].map(|at: usize| instances[at].dispatch.queue("rules", OPTIONS).unwrap());
    for queue in &queues {
        received(&world, queue).await;
    }
    let mut sent = HashMap::new();
    for (at, delay) in &sends {
        let message = NewMessage::new(vec![]).delay(Duration::from_millis(u64::from(*delay)));
        let id = queues[usize::from(at % 2)].enqueue(message).await.unwrap();
        sent.insert(id.uuid(), (id.due(), 0));
    }
    let (mut ended, mut end_actions) = (0, end_actions.into_iter().cycle());
    for _ in 0..600 {
        world.time.advance(Duration::from_millis(997)).await;
        for queue in &queues {
            let got = queue.try_receive(7).await.unwrap();
            let dues: Vec<_> = got.iter().map(|delivery| delivery.message().due()).collect();
            let fresh = got.iter().all(|delivery| delivery.message().receives == 1);
            if fresh && !dues.is_sorted() {
                return Err(format!("out of order: {dues:?}"));
            }
            for delivery in got {
                let message = delivery.message().clone();
                let (due, receives) = sent.get_mut(&message.id.uuid()).ok_or("a stranger")?;
                *receives += 1;
                if world.clock.now() < *due || world.clock.now() < message.due() {
                    return Err(format!("{message:?} came before {due:?}"));
                }
                if message.receives != *receives || *receives > OPTIONS.max_receives {
                    return Err(format!("{message:?} is receive {receives}"));
                }
                match end_action(end_actions.next().unwrap_or_default()) {
                    EndAction::Delete => delivery.delete().await.unwrap(),
                    EndAction::Retry => delivery.retry("again").await.unwrap(),
                    EndAction::Drop => continue,
                    EndAction::Bury => delivery.bury("enough").await.unwrap(),
                }
                ended += 1;
            }
        }
    }
    let depth = queues[0].depth().await.unwrap();
    match depth.messages {
        0 => Ok(()),
        left => Err(format!("{left} of {} are left after {ended} ends", sends.len())),
    }
}

proptest! {
    #![proptest_config(testkit::depth::cases(5))]

    #[test]
    fn every_message_is_delivered_when_due_and_ends_deleted_or_dead(
        sends in vec((any::<u8>(), 0..60_000_u32), 1..40),
        end_actions in vec(any::<u8>(), 1..50),
        seed in any::<u64>(),
    ) {
        prop_assert_eq!(testkit::run(0, run(sends, end_actions, seed)), Ok(()));
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_jitter_within_their_upper_half(
        receives in 1..2_000_u32,
        seed in any::<u64>(),
    ) {
        let pause = OPTIONS.pause(receives, &Random::seeded(seed));
        let doubled = 2_f64.powi(i32::try_from(receives).unwrap().min(40) - 1);
        let whole = Duration::from_secs_f64(doubled.min(60.0));
        prop_assert!(whole / 2 <= pause && pause <= whole, "{pause:?} of {whole:?}");
    }
}

//! Leases over several instances.

use std::time::Duration;

use dispatch::Error;
use table::{Item, KeyAttribute, KeySpec, Put, TableSpec, TransactWrite};

use crate::support::{SECOND, world};

const LEASE: Duration = Duration::from_secs(10);

#[testkit::test]
async fn one_holds_a_lease_and_tokens_grow() {
    let world = world().await;
    let (one, two) = (world.instance().await, world.instance().await);
    let (one, two) = (one.dispatch.leases(), two.dispatch.leases());
    let first = one.acquire("door", LEASE).await.unwrap().unwrap();
    assert!(two.acquire("door", LEASE).await.unwrap().is_none());
    assert!(one.acquire("door", LEASE).await.unwrap().is_none());
    assert!(two.acquire("window", LEASE).await.unwrap().is_some());
    let token = first.token();
    first.release().await.unwrap();
    let second = two.acquire("door", LEASE).await.unwrap().unwrap();
    assert!(second.token() > token);
    assert!(matches!(one.acquire("Door", LEASE).await, Err(Error::BadName(_))));
}

#[testkit::test]
async fn a_lease_ends_by_itself_unless_it_is_renewed() {
    let world = world().await;
    let (one, two) = (world.instance().await, world.instance().await);
    let (one, two) = (one.dispatch.leases(), two.dispatch.leases());
    let mut lease = one.acquire("door", LEASE).await.unwrap().unwrap();
    for _ in 0..5 {
        world.time.advance(LEASE - SECOND).await;
        lease.renew().await.unwrap();
    }
    world.time.advance(LEASE - Duration::from_millis(1)).await;
    assert!(lease.is_held());
    assert!(two.acquire("door", LEASE).await.unwrap().is_none());
    world.time.advance(Duration::from_millis(1)).await;
    assert!(!lease.is_held());
    // The lease ended, but nobody else has it, so it can be renewed.
    lease.renew().await.unwrap();
    world.time.advance(LEASE).await;
    assert!(two.acquire("door", LEASE).await.unwrap().is_some());
    assert!(matches!(lease.renew().await, Err(Error::Lost(_))));
    assert!(matches!(lease.release().await, Err(Error::Lost(_))));
}

#[testkit::test]
async fn a_former_holder_cannot_write_past_the_fence() {
    let world = world().await;
    let key = KeySpec::simple(KeyAttribute::s("id"));
    world.tables.ensure_table(TableSpec::new("doors", key)).await.unwrap();
    let (one, two) = (world.instance().await, world.instance().await);
    let write = |lease: &dispatch::Lease, writer: &str| {
        let item = Item::new().with("id", "door").with("writer", writer);
        TransactWrite::new(vec![lease.check(), Put::new("doors", item).into()])
    };
    let paused = one.dispatch.leases().acquire("door", LEASE).await.unwrap().unwrap();
    world.tables.transact_write(write(&paused, "one")).await.unwrap();
    world.time.advance(LEASE).await;
    let present = two.dispatch.leases().wait("door", LEASE).await.unwrap();
    world.tables.transact_write(write(&present, "two")).await.unwrap();
    assert!(world.tables.transact_write(write(&paused, "one")).await.is_err());
    let done = TransactWrite::new(vec![present.release_write()]);
    world.tables.transact_write(done).await.unwrap();
    assert!(one.dispatch.leases().acquire("door", LEASE).await.unwrap().is_some());
}

#[testkit::test]
async fn a_waiting_caller_gets_the_lease_when_it_is_free() {
    let world = world().await;
    let instance = world.instance().await;
    let leases = instance.dispatch.leases();
    let held = leases.acquire("door", LEASE * 6).await.unwrap().unwrap();
    let begun = world.clock.now();
    let waiting = async {
        leases.wait("door", LEASE).await.unwrap();
        world.clock.now().since(begun)
    };
    let (waited, ()) = tokio::join!(waiting, async {
        world.time.advance(LEASE).await;
        held.release().await.unwrap();
        world.time.advance(LEASE).await;
    });
    assert_eq!(waited, LEASE + SECOND);
}

#[testkit::test]
async fn work_under_a_lease_is_dropped_when_the_lease_is_lost() {
    let world = world().await;
    let (one, two) = (world.instance().await, world.instance().await);
    let (one, two) = (one.dispatch.leases(), two.dispatch.leases());
    let long = one.run("door", LEASE, |_| world.clock.sleep(LEASE * 10));
    let (done, ()) = tokio::join!(long, async {
        world.time.advance(LEASE * 9).await;
        assert!(two.run("door", LEASE, |_| async {}).await.unwrap().is_none());
        world.time.advance(LEASE).await;
    });
    assert_eq!(done.unwrap(), Some(()));

    let mut lost = one.acquire("door", LEASE).await.unwrap().unwrap();
    world.time.advance(LEASE).await;
    let _taken = two.acquire("door", LEASE).await.unwrap().unwrap();
    let work = lost.renew_while(std::future::pending::<()>());
    let (ended, ()) = tokio::join!(work, world.time.advance(LEASE));
    assert!(matches!(ended, Err(Error::Lost(_))));
}

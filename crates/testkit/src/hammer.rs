//! A store under load, to be killed: what it writes, and what must be there afterwards.
//!
//! Each writer has its own rows and does one operation after the other; operation `number` of a
//! writer follows from the seed. So the number of acknowledged operations determines a writer's
//! rows, except for one operation without an acknowledgement. The program is `src/bin/hammer.rs`,
//! the trial `tests/recovery.rs`.
//!
//!   table      key              written by
//!   ledger     pk writer, sk    puts, conditional edits, deletes, transactions; index by group
//!   pairs      id writer-a, -b  transactions: both at once, with two rows of the ledger and
//!                               the total; an index comes and goes
//!   totals     id               counted up in each transaction
//!   fleeting   id writer-slot   puts that expire
//!   moments    id writer        ephemeral, alone and in transactions

mod model;

use std::path::Path;

use base::{Clock, Random, Tasks, Timestamp, VirtualTime};
use table::{
    Delete, Embedded, Error, Get, Item, KeyAttribute, KeySpec, Options, Put, Return, TableSpec,
    Tables, TransactWrite, Update, attr,
};

pub use self::model::{Entry, Rows, load};

/// Concurrent writers.
pub const WRITERS: u64 = 8;
/// Rows of the ledger per writer, and as many that expire.
pub const SLOTS: u64 = 12;
/// The time at which the first store of a trial opens.
pub const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Writes a whole row.
    Put(u64),
    /// Edits a row as last seen, or creates it.
    Edit(u64),
    /// Removes a row.
    Delete(u64),
    /// Writes two rows, both halves of the pair and the total.
    Transact(u64),
    /// Writes a row that expires after this number of seconds.
    Fleet(u64, u64),
    /// Writes an ephemeral row.
    Moment,
    /// Adds an index to the table of pairs, or drops it.
    Declare(bool),
}

impl Op {
    /// Operation `number` of `writer`.
    pub fn of(seed: u64, writer: u64, number: u64) -> Op {
        let random = Random::seeded(seed).fork(&format!("{writer}/{number}"));
        let slot = random.below(SLOTS);
        match random.below(20) {
            0..6 => Op::Put(slot),
            6..9 => Op::Edit(slot),
            9..11 => Op::Delete(slot),
            11..15 => Op::Transact(slot),
            15..18 => Op::Fleet(slot, random.below(100)),
            18 => Op::Moment,
            // Only one writer declares, and rarely: it makes all others wait.
            _ if writer == 0 && random.chance(0.3) => Op::Declare(random.chance(0.5)),
            _ => Op::Put(slot),
        }
    }
}

/// The second slot that a transaction writes.
pub fn beside(slot: u64) -> u64 {
    (slot + 1) % SLOTS
}

/// Opens the store in `path` at `now`. Everything is small, so that settling, rotation, checkpoints
/// and sweeping all happen within a few hundred operations.
pub async fn open(
    path: &Path,
    now: Timestamp,
    short_history: bool,
    tasks: &Tasks,
) -> Result<(Embedded, VirtualTime), Error> {
    let (clock, time) = Clock::virtual_at(now);
    let options = Options {
        path: path.to_owned(),
        memory_mib: 1,
        segment_mib: 1,
        checkpoint_hours: 1,
        // None at all: every run of the archivist makes a checkpoint and deletes older ones.
        history_gib: if short_history { 0 } else { 1 },
        ..Options::default()
    };
    let house = Embedded::open(options, clock, tasks).await?;
    let simple = || KeySpec::simple(KeyAttribute::s("id"));
    for spec in [
        ledger(),
        TableSpec::new("totals", simple()),
        TableSpec::new("fleeting", simple()).expiring_by("gone"),
        TableSpec::new("moments", simple()).ephemeral(),
    ] {
        house.ensure_table(spec).await?;
    }
    if !house.list_tables().await?.contains(&"pairs".to_owned()) {
        house.ensure_table(pairs(false)).await?;
    }
    Ok((house, time))
}

fn ledger() -> TableSpec {
    let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
    let by_group = KeySpec::composite(KeyAttribute::s("group"), KeyAttribute::n("rank"));
    TableSpec::new("ledger", key).index("by-group", by_group).with_old_images()
}

/// The table of pairs, with its index or without.
pub fn pairs(indexed: bool) -> TableSpec {
    let spec = TableSpec::new("pairs", KeySpec::simple(KeyAttribute::s("id")));
    if indexed { spec.index("by-mark", KeySpec::simple(KeyAttribute::n("mark"))) } else { spec }
}

/// The key of a row of the ledger.
pub fn ledger_key(writer: u64, slot: u64) -> Item {
    Item::new().with("pk", format!("w{writer}")).with("sk", slot)
}

/// A row of the ledger: what operation `mark` left of what operation `entry.put` wrote.
pub fn ledger_item(writer: u64, slot: u64, entry: Entry) -> Item {
    let Entry { mark, put } = entry;
    let pad = "x".repeat(usize::try_from(put * 37 % 3000).unwrap_or(0));
    ledger_key(writer, slot)
        .with("mark", mark)
        .with("group", format!("g{}", mark % 5))
        .with("rank", mark % 100)
        .with("put", put)
        .with("pad", pad)
}

/// The id of half a pair.
pub fn pair_id(writer: u64, half: char) -> String {
    format!("w{writer}-{half}")
}

/// The id of a fleeting row.
pub fn fleeting_id(writer: u64, slot: u64) -> String {
    format!("w{writer}-{slot}")
}

/// Does operation `number` of `writer`. Returns when it is acknowledged.
pub async fn perform(
    house: &Embedded,
    writer: u64,
    number: u64,
    op: Op,
    now: Timestamp,
) -> Result<(), Error> {
    let written = Entry { mark: number, put: number };
    match op {
        Op::Put(slot) => {
            house.put(Put::new("ledger", ledger_item(writer, slot, written))).await?;
        }
        Op::Edit(slot) => edit(house, writer, slot, written).await?,
        Op::Delete(slot) => {
            let delete = Delete::new("ledger", ledger_key(writer, slot));
            house.delete(delete.returning(Return::AllOld)).await?;
        }
        Op::Transact(slot) => house.transact_write(transaction(writer, slot, written)).await?,
        Op::Fleet(slot, seconds) => {
            let item = Item::new().with("id", fleeting_id(writer, slot)).with("mark", number);
            let item = item.with("gone", now.seconds() + seconds);
            house.put(Put::new("fleeting", item)).await?;
        }
        Op::Moment => {
            house.put(Put::new("moments", Item::new().with("id", format!("w{writer}")))).await?;
        }
        Op::Declare(indexed) => house.ensure_table(pairs(indexed)).await?,
    }
    Ok(())
}

async fn edit(house: &Embedded, writer: u64, slot: u64, written: Entry) -> Result<(), Error> {
    let key = ledger_key(writer, slot);
    let Some(seen) = house.get(Get::new("ledger", key.clone())).await? else {
        let put = Put::new("ledger", ledger_item(writer, slot, written));
        return house.put(put.when(attr("pk").not_exists())).await.map(drop);
    };
    let edited = ledger_item(writer, slot, written);
    let mut update = Update::new("ledger", key).when(attr("put").exists());
    if let Some(mark) = seen.get("mark") {
        update = update.when(attr("mark").eq(mark.clone()));
    }
    for name in ["mark", "group", "rank"] {
        if let Some(value) = edited.get(name) {
            update = update.set(name, value.clone());
        }
    }
    house.update(update).await.map(drop)
}

fn transaction(writer: u64, slot: u64, written: Entry) -> TransactWrite {
    let half = |half| Item::new().with("id", pair_id(writer, half)).with("mark", written.mark);
    let mut writes = vec![
        Put::new("ledger", ledger_item(writer, slot, written)).into(),
        Put::new("pairs", half('a')).into(),
        Put::new("ledger", ledger_item(writer, beside(slot), written)).into(),
        Update::new("totals", Item::new().with("id", "all")).add("count", 1).into(),
        Put::new("pairs", half('b')).into(),
    ];
    if written.mark.is_multiple_of(2) {
        writes.push(Put::new("moments", Item::new().with("id", format!("w{writer}"))).into());
    }
    let transaction = TransactWrite::new(writes);
    let token = format!("w{writer}-{}", written.mark);
    if written.mark.is_multiple_of(3) { transaction.token(token) } else { transaction }
}

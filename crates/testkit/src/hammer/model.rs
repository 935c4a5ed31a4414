//! The rows of a writer after its operations, in theory and in the store.

use std::collections::BTreeMap;

use base::Timestamp;
use table::{Embedded, Error, Get, Item, Tables, Value};

use super::{Op, SLOTS, beside, fleeting_id, ledger_item, ledger_key, pair_id};

/// A row of the ledger: the operation that edited it last, and the one that wrote all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The operation that edited it last.
    pub mark: u64,
    /// The operation that wrote the rest.
    pub put: u64,
}

/// All rows of a writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Its part of the ledger by slot.
    pub ledger: BTreeMap<u64, Entry>,
    /// Its fleeting rows by slot: the operation, and the second from which it is gone.
    pub fleeting: BTreeMap<u64, (u64, u64)>,
    /// Its last transaction.
    pub pair: Option<u64>,
    /// The number of its transactions. The store does not distinguish them by writer.
    pub transactions: u64,
    /// Whether the pairs have their index, if this writer declared it.
    pub indexed: Option<bool>,
}

impl Rows {
    /// Records that operation `number` was done at `now`.
    pub fn apply(&mut self, number: u64, op: Op, now: Timestamp) {
        let written = Entry { mark: number, put: number };
        match op {
            Op::Put(slot) => {
                self.ledger.insert(slot, written);
            }
            Op::Edit(slot) => {
                self.ledger.entry(slot).or_insert(written).mark = number;
            }
            Op::Delete(slot) => {
                self.ledger.remove(&slot);
            }
            Op::Transact(slot) => {
                self.ledger.insert(slot, written);
                self.ledger.insert(beside(slot), written);
                self.pair = Some(number);
                self.transactions += 1;
            }
            Op::Fleet(slot, seconds) => {
                self.fleeting.insert(slot, (number, now.seconds() + seconds));
            }
            Op::Moment => {}
            Op::Declare(indexed) => self.indexed = Some(indexed),
        }
    }

    /// The rows that a reader sees at `now`, without those that the store does not record by
    /// writer.
    #[must_use]
    pub fn seen_at(&self, now: Timestamp) -> Rows {
        let mut seen = self.clone();
        seen.fleeting.retain(|_, (_, gone)| *gone > now.seconds());
        seen.transactions = 0;
        seen.indexed = None;
        seen
    }
}

/// The rows of `writer` in the store.
///
/// # Errors
/// The store's error, or a row or a pair that is not whole.
pub async fn load(house: &Embedded, writer: u64) -> Result<Rows, String> {
    let mut rows = Rows::default();
    for slot in 0..SLOTS {
        let found = get(house, "ledger", ledger_key(writer, slot)).await?;
        if let Some(item) = found {
            let entry = Entry { mark: number(&item, "mark")?, put: number(&item, "put")? };
            if item != ledger_item(writer, slot, entry) {
                return Err(format!("a row of no operation: {item:?}"));
            }
            rows.ledger.insert(slot, entry);
        }
        let id = Item::new().with("id", fleeting_id(writer, slot));
        if let Some(item) = get(house, "fleeting", id).await? {
            rows.fleeting.insert(slot, (number(&item, "mark")?, number(&item, "gone")?));
        }
    }
    let mut halves = Vec::new();
    for half in ['a', 'b'] {
        let found = get(house, "pairs", Item::new().with("id", pair_id(writer, half))).await?;
        halves.push(found.map(|item| number(&item, "mark")).transpose()?);
    }
    if halves.first() != halves.last() {
        return Err(format!("half a transaction of writer {writer}: {halves:?}"));
    }
    rows.pair = halves.into_iter().flatten().next();
    Ok(rows)
}

async fn get(house: &Embedded, table: &str, key: Item) -> Result<Option<Item>, String> {
    let got: Result<Option<Item>, Error> = house.get(Get::new(table, key)).await;
    got.map_err(|error| error.to_string())
}

fn number(item: &Item, name: &str) -> Result<u64, String> {
    let number = item.get(name).and_then(Value::as_n).and_then(table::Number::floor_u64);
    number.ok_or_else(|| format!("no `{name}` in {item:?}"))
}

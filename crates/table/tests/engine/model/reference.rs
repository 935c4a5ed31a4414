//! The model: tables as plain maps. Says for every call what a house must answer.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use table::{
    Actions, BatchWrite, Condition, Delete, Durability, Get, Item, KeySpec, KeyType, Number, Put,
    Return, TableSpec, TransactItem, TransactWrite, Update, Value,
};

use super::evaluate::{apply, cut, edited, holds, only_removes};
use crate::support::failure::{Failure, Reason};
use crate::support::generate::START_S;

/// Seconds for which a token is remembered.
const TOKEN_S: u64 = 600;
/// Seconds after which an expiry is too long ago to be one.
const FIVE_YEARS_S: u64 = 5 * 365 * 24 * 3600;

/// A key value, ordered as keys are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyPart {
    Number(Number),
    Text(Vec<u8>),
    Bytes(Bytes),
}

/// The value of a key attribute, if the item has one that can stand in a key.
pub(crate) fn key_part(item: &Item, name: &str, kind: KeyType) -> Option<KeyPart> {
    match (item.get(name)?, kind) {
        (Value::N(number), KeyType::N) => Some(KeyPart::Number(*number)),
        (Value::S(text), KeyType::S) if !text.is_empty() => {
            Some(KeyPart::Text(text.as_bytes().to_vec()))
        }
        (Value::B(bytes), KeyType::B) if !bytes.is_empty() => Some(KeyPart::Bytes(bytes.clone())),
        _ => None,
    }
}

/// The parts of a key, if the item has them all.
pub(crate) fn key_parts(item: &Item, key: &KeySpec) -> Option<Vec<KeyPart>> {
    key.attributes().map(|attribute| key_part(item, &attribute.name, attribute.kind)).collect()
}

/// One table.
pub(crate) struct Table {
    /// Its declaration.
    pub(crate) spec: TableSpec,
    items: BTreeMap<Vec<KeyPart>, Item>,
}

/// All tables, and the time.
pub(crate) struct Model {
    now: u64,
    tables: BTreeMap<String, Table>,
    tokens: BTreeMap<String, (u64, Vec<TransactItem>)>,
}

/// One write, whatever its kind.
struct Write<'a> {
    table: &'a str,
    key: &'a Item,
    verb: Verb<'a>,
    condition: Option<&'a Condition>,
    returning: Return,
    tell: bool,
}

enum Verb<'a> {
    Put,
    Update(&'a Actions),
    Delete,
    Check,
}

impl Table {
    /// How many items there are, and what they weigh; those that are gone but not swept count.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let weights = self.items.values().map(|item| item.size() as u64);
        (self.items.len() as u64, weights.sum())
    }

    /// Whether an item is gone at `now`.
    fn is_gone(&self, item: &Item, now: u64) -> bool {
        let second = self.spec.ttl.as_ref().and_then(|ttl| item.get(ttl)?.as_n().copied());
        second.is_some_and(|second| {
            let tomorrow = Number::from(now + 1);
            second >= Number::from(1)
                && second < tomorrow
                && second >= Number::from(now - FIVE_YEARS_S + 1)
        })
    }

    fn check_key(&self, key: &Item) -> Result<Vec<KeyPart>, Failure> {
        let parts = key_parts(key, &self.spec.key).ok_or(Failure::Invalid)?;
        if key.len() == parts.len() { Ok(parts) } else { Err(Failure::Invalid) }
    }

    /// Key attributes are there and fit; those of indexes fit if they are there.
    fn check_item(&self, item: &Item) -> Result<Vec<KeyPart>, Failure> {
        for attribute in self.spec.indexes.iter().flat_map(|index| index.key.attributes()) {
            let fits = key_part(item, &attribute.name, attribute.kind).is_some();
            if item.contains(&attribute.name) && !fits {
                return Err(Failure::Invalid);
            }
        }
        key_parts(item, &self.spec.key).ok_or(Failure::Invalid)
    }
}

impl Model {
    /// No tables, at the start.
    pub(crate) fn new() -> Model {
        Model { now: START_S, tables: BTreeMap::new(), tokens: BTreeMap::new() }
    }

    /// Lets time pass; what is gone by then is swept.
    pub(crate) fn advance(&mut self, seconds: u64) {
        self.now += seconds;
        for table in self.tables.values_mut() {
            let mut items = std::mem::take(&mut table.items);
            items.retain(|_, item| !table.is_gone(item, self.now));
            table.items = items;
        }
    }

    /// Ends the process that holds the tables.
    pub(crate) fn restart(&mut self) {
        let tables = self.tables.values_mut();
        let brief = tables.filter(|table| table.spec.durability == Durability::Ephemeral);
        brief.for_each(|table| table.items.clear());
    }

    /// All tables by name.
    pub(crate) fn tables(&self) -> &BTreeMap<String, Table> {
        &self.tables
    }

    /// The table of that name.
    pub(crate) fn table(&self, name: &str) -> Result<&Table, Failure> {
        self.tables.get(name).ok_or(Failure::NoSuchTable)
    }

    /// The items of a table that are not gone, by key.
    pub(crate) fn living<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a Item> {
        table.items.values().filter(|item| !table.is_gone(item, self.now))
    }

    pub(crate) fn ensure(&mut self, spec: &TableSpec) -> Result<(), Failure> {
        match self.tables.get_mut(&spec.name) {
            Some(table) if table.spec.key != spec.key => return Err(Failure::Differs),
            Some(table) => table.spec = spec.clone(),
            None => {
                let table = Table { spec: spec.clone(), items: BTreeMap::new() };
                self.tables.insert(spec.name.clone(), table);
            }
        }
        Ok(())
    }

    pub(crate) fn delete_table(&mut self, name: &str) -> Result<(), Failure> {
        self.tables.remove(name).map(|_| ()).ok_or(Failure::NoSuchTable)
    }

    pub(crate) fn get(&self, get: &Get) -> Result<Option<Item>, Failure> {
        let table = self.table(&get.table)?;
        let key = table.check_key(&get.key)?;
        let found = table.items.get(&key).filter(|item| !table.is_gone(item, self.now));
        Ok(found.map(|item| match get.projection.as_slice() {
            [] => item.clone(),
            paths => cut(paths, item),
        }))
    }

    pub(crate) fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>, Failure> {
        let mut reasons = Vec::new();
        for get in gets {
            let fits = self.table(&get.table)?.check_key(&get.key).is_ok();
            reasons.push(if fits { Reason::None } else { Reason::Invalid });
        }
        if reasons.contains(&Reason::Invalid) {
            return Err(Failure::Cancelled(reasons));
        }
        check_distinct(gets)?;
        gets.iter().map(|get| self.get(get)).collect()
    }

    pub(crate) fn batch_get(&self, gets: &[Get]) -> Result<Vec<(String, Item)>, Failure> {
        check_distinct(gets)?;
        let found = gets.iter().map(|get| self.get(get)).collect::<Result<Vec<_>, _>>()?;
        let named = gets.iter().zip(found);
        Ok(named.filter_map(|(get, item)| Some((get.table.clone(), item?))).collect())
    }

    pub(crate) fn put(&mut self, put: &Put) -> Result<Option<Item>, Failure> {
        self.write_one(&Write::put(put))
    }

    pub(crate) fn update(&mut self, update: &Update) -> Result<Option<Item>, Failure> {
        self.write_one(&Write::update(update))
    }

    pub(crate) fn delete(&mut self, delete: &Delete) -> Result<Option<Item>, Failure> {
        self.write_one(&Write::delete(delete))
    }

    pub(crate) fn batch_write(&mut self, writes: &[BatchWrite]) -> Result<(), Failure> {
        let writes: Vec<Write<'_>> = writes.iter().map(Write::batched).collect();
        let keys = writes.iter().map(|write| self.check(write)).collect::<Result<Vec<_>, _>>()?;
        check_once(writes.iter().map(|write| write.table).zip(keys))?;
        for write in &writes {
            self.write_one(write)?;
        }
        Ok(())
    }

    pub(crate) fn transact(&mut self, transaction: &TransactWrite) -> Result<(), Failure> {
        let writes: Vec<Write<'_>> = transaction.writes.iter().map(Write::transacted).collect();
        for write in &writes {
            self.check_form(write)?;
        }
        let named = writes.iter().filter_map(|write| {
            let key = &self.table(write.table).ok()?.spec.key;
            Some((write.table, key_parts(write.key, key)?))
        });
        check_once(named)?;
        if let Some(token) = &transaction.token
            && let Some((until, spent)) = self.tokens.get(token)
            && *until > self.now
        {
            let same = *spent == transaction.writes;
            return if same { Ok(()) } else { Err(Failure::TokenMismatch) };
        }
        let decided: Vec<_> = writes.iter().map(|write| self.decide(write)).collect();
        if decided.iter().any(Result::is_err) {
            let reasons = decided.into_iter().map(|decided| match decided {
                Ok(_) => Reason::None,
                Err(Failure::Condition(item)) => Reason::Condition(item),
                Err(_) => Reason::Invalid,
            });
            return Err(Failure::Cancelled(reasons.collect()));
        }
        for (write, after) in writes.iter().zip(decided.into_iter().flatten()) {
            self.store(write, after.1);
        }
        if let Some(token) = &transaction.token {
            let spent = (self.now + TOKEN_S, transaction.writes.clone());
            self.tokens.insert(token.clone(), spent);
        }
        Ok(())
    }

    /// What fails a whole transaction; all else is the fault of one write.
    fn check_form(&self, write: &Write<'_>) -> Result<(), Failure> {
        if let Verb::Update(actions) = write.verb
            && edited(actions).is_empty()
        {
            return Err(Failure::Invalid);
        }
        let table = self.table(write.table)?;
        let indexes = table.spec.indexes.iter().map(|index| &index.key);
        let mut parts = indexes.chain([&table.spec.key]).flat_map(KeySpec::attributes);
        let empty = parts.any(|part| match (write.key.get(&part.name), part.kind) {
            (Some(Value::S(text)), KeyType::S) => text.is_empty(),
            (Some(Value::B(bytes)), KeyType::B) => bytes.is_empty(),
            _ => false,
        });
        if empty { Err(Failure::Invalid) } else { Ok(()) }
    }

    fn check(&self, write: &Write<'_>) -> Result<Vec<KeyPart>, Failure> {
        let table = self.table(write.table)?;
        match write.verb {
            Verb::Put => table.check_item(write.key),
            Verb::Update(actions) => {
                let key = table.check_key(write.key)?;
                let mut names = table.spec.key.attributes().map(|attribute| &attribute.name);
                if names.any(|name| edited(actions).iter().any(|path| path.root == *name)) {
                    return Err(Failure::Invalid);
                }
                Ok(key)
            }
            Verb::Delete | Verb::Check => table.check_key(write.key),
        }
    }

    fn write_one(&mut self, write: &Write<'_>) -> Result<Option<Item>, Failure> {
        self.check(write)?;
        let (before, after) = self.decide(write)?;
        self.store(write, after.clone());
        let of_update = |item: Option<Item>| match write.verb {
            Verb::Update(actions) => {
                item.map(|item| cut(&edited(actions), &item)).filter(|item| !item.is_empty())
            }
            Verb::Put | Verb::Delete | Verb::Check => None,
        };
        Ok(match write.returning {
            Return::None => None,
            Return::AllOld => before,
            Return::AllNew => after,
            Return::UpdatedOld => of_update(before),
            Return::UpdatedNew => of_update(after),
        })
    }

    /// The item before and after.
    fn decide(&self, write: &Write<'_>) -> Result<(Option<Item>, Option<Item>), Failure> {
        let table = self.table(write.table)?;
        let key = self.check(write)?;
        let found = table.items.get(&key).filter(|item| !table.is_gone(item, self.now)).cloned();
        let nothing = Item::new();
        let passes = |condition| holds(condition, found.as_ref().unwrap_or(&nothing));
        if !write.condition.is_none_or(passes) {
            return Err(Failure::Condition(found.filter(|_| write.tell)));
        }
        let after = match write.verb {
            Verb::Put => Some(write.key.clone()),
            Verb::Update(actions) if found.is_none() && only_removes(actions) => None,
            Verb::Update(actions) => {
                let before = found.as_ref().unwrap_or(write.key);
                let after = apply(actions, before).map_err(|_| Failure::Invalid)?;
                table.check_item(&after)?;
                Some(after)
            }
            Verb::Delete => None,
            Verb::Check => found.clone(),
        };
        Ok((found, after))
    }

    fn store(&mut self, write: &Write<'_>, after: Option<Item>) {
        if matches!(write.verb, Verb::Check) {
            return;
        }
        let key = self.check(write).expect("a decided write has the right form");
        let table = self.tables.get_mut(write.table).expect("a decided write has a table");
        match after {
            Some(item) => table.items.insert(key, item),
            None => table.items.remove(&key),
        };
    }
}

fn check_distinct(gets: &[Get]) -> Result<(), Failure> {
    check_once(gets.iter().map(|get| (get.table.as_str(), format!("{:?}", get.key))))
}

fn check_once<T: Ord>(mut named: impl Iterator<Item = T>) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    if named.all(|one| seen.insert(one)) { Ok(()) } else { Err(Failure::Invalid) }
}

impl<'a> Write<'a> {
    fn put(put: &'a Put) -> Write<'a> {
        Write {
            table: &put.table,
            key: &put.item,
            verb: Verb::Put,
            condition: put.condition.as_ref(),
            returning: put.returning,
            tell: put.item_on_failure,
        }
    }

    fn update(update: &'a Update) -> Write<'a> {
        Write {
            table: &update.table,
            key: &update.key,
            verb: Verb::Update(&update.actions),
            condition: update.condition.as_ref(),
            returning: update.returning,
            tell: update.item_on_failure,
        }
    }

    fn delete(delete: &'a Delete) -> Write<'a> {
        Write {
            table: &delete.table,
            key: &delete.key,
            verb: Verb::Delete,
            condition: delete.condition.as_ref(),
            returning: delete.returning,
            tell: delete.item_on_failure,
        }
    }

    fn batched(write: &'a BatchWrite) -> Write<'a> {
        let (table, key, verb) = match write {
            BatchWrite::Put { table, item } => (table, item, Verb::Put),
            BatchWrite::Delete { table, key } => (table, key, Verb::Delete),
        };
        Write { table, key, verb, condition: None, returning: Return::None, tell: false }
    }

    fn transacted(write: &'a TransactItem) -> Write<'a> {
        match write {
            TransactItem::Put(put) => Write::put(put),
            TransactItem::Update(update) => Write::update(update),
            TransactItem::Delete(delete) => Write::delete(delete),
            TransactItem::Check(check) => Write {
                table: &check.table,
                key: &check.key,
                verb: Verb::Check,
                condition: Some(&check.condition),
                returning: Return::None,
                tell: check.item_on_failure,
            },
        }
    }
}

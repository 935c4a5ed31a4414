//! The cost of a request in DynamoDB's capacity units, reported on request.

use std::collections::BTreeMap;

use table::{Item, Projected, TableSpec, Written};

use super::fault::Fault;
use super::write::JsonWriter;

/// The bytes of one unit of a consistent read.
const READ_BYTES: f64 = 4096.0;
/// The bytes of one unit of a write.
const WRITE_BYTES: usize = 1024;

/// How much detail a caller wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CapacityDetail {
    #[default]
    Nothing,
    Total,
    Indexes,
}

impl CapacityDetail {
    pub(super) fn read(word: Option<&str>) -> Result<CapacityDetail, Fault> {
        match word {
            None | Some("NONE") => Ok(CapacityDetail::Nothing),
            Some("TOTAL") => Ok(CapacityDetail::Total),
            Some("INDEXES") => Ok(CapacityDetail::Indexes),
            Some(other) => {
                Err(Fault::no_choice(other, "returnConsumedCapacity", "INDEXES, TOTAL, NONE"))
            }
        }
    }
}

/// The units charged to one table.
#[derive(Clone, Debug, Default)]
pub(super) struct Charge {
    /// The units of the table itself.
    pub(super) table: f64,
    /// The units of its local and global indexes.
    pub(super) local: BTreeMap<String, f64>,
    pub(super) global: BTreeMap<String, f64>,
    /// Whether these are units of reading, for transactions that report both kinds.
    pub(super) reads: bool,
}

/// The units of reading `bytes`.
pub(super) fn read_units(bytes: u64, consistent: bool) -> f64 {
    let whole = (bytes as f64 / READ_BYTES).ceil().max(1.0);
    if consistent { whole } else { whole / 2.0 }
}

/// The units of a write by the size of the item before and after.
fn write_units(before: usize, after: usize) -> f64 {
    before.max(after).div_ceil(WRITE_BYTES).max(1) as f64
}

impl Charge {
    /// The cost of a read of the table, or of one of its indexes.
    pub(super) fn of_read(spec: Option<(&TableSpec, &str)>, units: f64) -> Charge {
        let mut charge = Charge { reads: true, ..Charge::default() };
        let index = spec.and_then(|(spec, index)| spec.find_index(index));
        match index {
            None => charge.table = units,
            Some((_, index)) if index.local => {
                charge.local.insert(index.name.clone(), units);
            }
            Some((_, index)) => {
                charge.global.insert(index.name.clone(), units);
            }
        }
        charge
    }

    /// The cost of a page: `bytes` is the size of everything read, and `fetched` are the sizes of
    /// whole items that a local index fetched from the table; each of those is a read of its own.
    pub(super) fn of_page(
        index: Option<(&TableSpec, &str)>,
        bytes: u64,
        fetched: &[u32],
        consistent: bool,
    ) -> Charge {
        let of_table: u64 = fetched.iter().copied().map(u64::from).sum();
        let units = read_units(bytes.saturating_sub(of_table), consistent);
        let mut charge = Charge::of_read(index, units);
        let each = fetched.iter().map(|bytes| read_units(u64::from(*bytes), consistent));
        charge.table += each.sum::<f64>();
        charge
    }

    /// The cost of a write with its changes in indexes, if the caller wants to know.
    pub(super) fn of_write(wanted: CapacityDetail, written: &Written<'_>) -> Charge {
        if wanted == CapacityDetail::Nothing {
            return Charge::default();
        }
        let spec = written.table;
        let size = |item: Option<&Item>| item.map_or(0, Item::size);
        let mut charge = Charge {
            table: write_units(size(written.before), size(written.after)),
            ..Charge::default()
        };
        for index in &spec.indexes {
            let before = part(spec, index, written.before);
            let after = part(spec, index, written.after);
            if before == after {
                continue;
            }
            let stays = index.key.attributes().all(|attribute| {
                let value = |item: &Option<Item>| item.as_ref()?.get(&attribute.name).cloned();
                value(&before) == value(&after)
            });
            let (old, new) = (size(before.as_ref()), size(after.as_ref()));
            // A moved entry is deleted in one place and written in another.
            let units = match before.is_some() && after.is_some() && !stays {
                true => write_units(old, 0) + write_units(0, new),
                false => write_units(old, new),
            };
            let group = if index.local { &mut charge.local } else { &mut charge.global };
            group.insert(index.name.clone(), units);
        }
        charge
    }

    /// A transaction costs twice as much in the table and the same in its indexes.
    pub(super) fn transacted(mut self) -> Charge {
        self.table *= 2.0;
        self
    }

    pub(super) fn total(&self) -> f64 {
        self.table + self.local.values().sum::<f64>() + self.global.values().sum::<f64>()
    }

    /// Adds the cost of another part of the same request.
    pub(super) fn add(&mut self, other: Charge) {
        self.table += other.table;
        self.reads |= other.reads;
        for (name, units) in other.local {
            *self.local.entry(name).or_default() += units;
        }
        for (name, units) in other.global {
            *self.global.entry(name).or_default() += units;
        }
    }

    /// Writes the cost as an object. `split` adds whether the units are of reading or writing.
    pub(super) fn write(
        &self,
        out: &mut JsonWriter,
        table: &str,
        wanted: CapacityDetail,
        split: bool,
    ) {
        let kind = if self.reads { "ReadCapacityUnits" } else { "WriteCapacityUnits" };
        let units = |out: &mut JsonWriter, units: f64| {
            out.raw("{").field("CapacityUnits").plain(PrintedUnits(units));
            if split {
                out.field(kind).plain(PrintedUnits(units));
            }
            out.raw("}");
        };
        out.raw("{").field("TableName").text(table);
        out.field("CapacityUnits").plain(PrintedUnits(self.total()));
        if split {
            out.field(kind).plain(PrintedUnits(self.total()));
        }
        if wanted == CapacityDetail::Indexes {
            out.field("Table");
            units(out, self.table);
            for (field, group) in
                [("LocalSecondaryIndexes", &self.local), ("GlobalSecondaryIndexes", &self.global)]
            {
                if !group.is_empty() {
                    out.field(field).raw("{").list(group, |out, (name, used)| {
                        out.text(name).raw(":");
                        units(out, *used);
                    });
                    out.raw("}");
                }
            }
        }
        out.raw("}");
    }
}

/// Writes the cost of each table, if the caller wants to know; `split` as in [`Charge::write`].
pub(super) fn write_charges<'c>(
    out: &mut JsonWriter,
    charges: impl IntoIterator<Item = (&'c String, &'c Charge)>,
    wanted: CapacityDetail,
    split: bool,
) {
    if wanted == CapacityDetail::Nothing {
        return;
    }
    out.field("ConsumedCapacity").raw("[").list(charges, |out, (table, charge)| {
        charge.write(out, table, wanted, split);
    });
    out.raw("]");
}

/// PrintedUnits are always printed with a fraction, even if it is zero.
struct PrintedUnits(f64);

impl std::fmt::Display for PrintedUnits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1}", self.0)
    }
}

/// The part of an item that an index contains, if the item is in the index.
pub(super) fn part(
    spec: &TableSpec,
    index: &table::IndexSpec,
    item: Option<&Item>,
) -> Option<Item> {
    let item = item?;
    if !index.key.attributes().all(|attribute| item.contains(&attribute.name)) {
        return None;
    }
    let included: &[String] = match &index.projection {
        Projected::All => return Some(item.clone()),
        Projected::KeysOnly => &[],
        Projected::Include(names) => names,
    };
    let keys: Vec<&str> = index
        .key
        .attributes()
        .chain(spec.key.attributes())
        .map(|attribute| attribute.name.as_str())
        .collect();
    let wanted = |name: &str| included.iter().any(|other| other == name) || keys.contains(&name);
    Some(
        item.iter()
            .filter(|(name, _)| wanted(name))
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect(),
    )
}

//! The description of a table in DescribeTable.

use table::{IndexSpec, KeySpec, KeyType, Projected, TableDescription, TableSpec};

use crate::door::measure::Counts;
use crate::door::meta::{Meta, UnitChanges, Units};
use crate::door::names::{index_arn, stream_arn, table_arn};
use crate::door::write::JsonWriter;

/// A table with its stored properties.
pub(in crate::door) struct Description<'a> {
    pub(in crate::door) table: &'a TableDescription,
    pub(in crate::door) meta: &'a Meta,
    pub(in crate::door) status: &'a str,
    /// The sizes of its indexes.
    pub(in crate::door) counts: &'a Counts,
}

impl Description<'_> {
    pub(in crate::door) fn write(&self, out: &mut JsonWriter) {
        let spec = &self.table.spec;
        out.raw("{").field("TableName").text(&spec.name);
        out.field("TableStatus").text(self.status);
        out.field("TableArn").text(&table_arn(&spec.name));
        out.field("TableId").text(&table_id(&spec.name, self.table.created_ms));
        out.field("CreationDateTime").plain(seconds(self.table.created_ms));
        out.field("ItemCount").plain(self.table.items);
        out.field("TableSizeBytes").plain(self.table.bytes);
        self.write_definitions(out);
        out.field("KeySchema");
        write_key(out, &spec.key);
        out.field("ProvisionedThroughput");
        write_units(out, self.meta.units, self.meta.scaled);
        self.write_billing(out);
        write_indexes(out, spec, |out, index| self.write_index(out, index));
        if let Some(stream) = &self.meta.stream {
            if stream.until.is_none() {
                out.field("StreamSpecification").raw("{\"StreamEnabled\":true");
                out.field("StreamViewType").text(&stream.view).raw("}");
            }
            out.field("LatestStreamLabel").text(&stream.label);
            out.field("LatestStreamArn").text(&stream_arn(&spec.name, &stream.label));
        }
        if let Some(class) = &self.meta.class {
            out.field("TableClassSummary").raw("{\"TableClass\":").text(class).raw("}");
        }
        out.field("DeletionProtectionEnabled").plain(self.meta.is_protected).raw("}");
    }

    /// A table that was never billed by request has no summary.
    fn write_billing(&self, out: &mut JsonWriter) {
        let (mode, since) = match (self.meta.units, self.meta.pay_per_request_ms) {
            (None, since) => ("PAY_PER_REQUEST", since.unwrap_or(self.table.created_ms)),
            (Some(_), Some(since)) => ("PROVISIONED", since),
            (Some(_), None) => return,
        };
        out.field("BillingModeSummary").raw("{").field("BillingMode").text(mode);
        out.field("LastUpdateToPayPerRequestDateTime").plain(seconds(since)).raw("}");
    }

    fn write_definitions(&self, out: &mut JsonWriter) {
        let spec = &self.table.spec;
        let of_indexes = spec.indexes.iter().flat_map(|index| index.key.attributes());
        let mut attributes: Vec<_> = spec.key.attributes().chain(of_indexes).collect();
        attributes.sort_by(|one, other| one.name.cmp(&other.name));
        attributes.dedup();
        out.field("AttributeDefinitions").raw("[").list(attributes, |out, attribute| {
            out.raw("{").field("AttributeName").text(&attribute.name);
            out.field("AttributeType").text(match attribute.kind {
                KeyType::S => "S",
                KeyType::N => "N",
                KeyType::B => "B",
            });
            out.raw("}");
        });
        out.raw("]");
    }

    fn write_index(&self, out: &mut JsonWriter, index: &IndexSpec) {
        out.field("IndexArn").text(&index_arn(&self.table.spec.name, &index.name));
        let (items, bytes) = self.counts.get(&index.name).copied().unwrap_or_default();
        out.field("ItemCount").plain(items).field("IndexSizeBytes").plain(bytes);
        if !index.local {
            out.field("IndexStatus").text(self.status).field("ProvisionedThroughput");
            let units = self.meta.index_units.get(&index.name).copied();
            let scaled = self.meta.indexes_scaled.get(&index.name).copied();
            write_units(out, units, scaled.unwrap_or_default());
        }
    }
}

/// An id made of the name and the time of creation: a later table with the same name has another
/// one.
pub(in crate::door) fn table_id(name: &str, created_ms: u64) -> String {
    let name = crc32fast::hash(name.as_bytes());
    format!("{name:08x}-0000-4000-8000-{created_ms:012x}")
}

/// Writes the local and global indexes of a table; `more` adds fields to each.
pub(in crate::door) fn write_indexes(
    out: &mut JsonWriter,
    spec: &TableSpec,
    more: impl Fn(&mut JsonWriter, &IndexSpec),
) {
    for (field, local) in [("LocalSecondaryIndexes", true), ("GlobalSecondaryIndexes", false)] {
        let mut indexes = spec.indexes.iter().filter(|index| index.local == local).peekable();
        if indexes.peek().is_none() {
            continue;
        }
        out.field(field).raw("[").list(indexes, |out, index| {
            out.raw("{").field("IndexName").text(&index.name).field("KeySchema");
            write_key(out, &index.key);
            out.field("Projection");
            write_projection(out, &index.projection);
            more(out, index);
            out.raw("}");
        });
        out.raw("]");
    }
}

/// Seconds of Unix time, the form of times in the protocol.
pub(in crate::door) fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

pub(in crate::door) fn write_key(out: &mut JsonWriter, key: &KeySpec) {
    let kinds = ["HASH", "RANGE"];
    out.raw("[").list(key.attributes().zip(kinds), |out, (attribute, kind)| {
        out.raw("{").field("AttributeName").text(&attribute.name);
        out.field("KeyType").text(kind).raw("}");
    });
    out.raw("]");
}

fn write_projection(out: &mut JsonWriter, projection: &Projected) {
    match projection {
        Projected::All => out.raw("{\"ProjectionType\":\"ALL\"}"),
        Projected::KeysOnly => out.raw("{\"ProjectionType\":\"KEYS_ONLY\"}"),
        Projected::Include(names) => {
            out.raw("{\"ProjectionType\":\"INCLUDE\",\"NonKeyAttributes\":[");
            out.list(names, |out, name| {
                out.text(name);
            });
            out.raw("]}")
        }
    };
}

pub(in crate::door) fn write_units(
    out: &mut JsonWriter,
    units: Option<Units>,
    scaled: UnitChanges,
) {
    let (read, write) = units.unwrap_or_default();
    out.raw("{").field("NumberOfDecreasesToday").plain(0);
    for (field, time) in [
        ("LastIncreaseDateTime", scaled.increased_ms),
        ("LastDecreaseDateTime", scaled.decreased_ms),
    ] {
        if let Some(time) = time {
            out.field(field).plain(seconds(time));
        }
    }
    out.field("ReadCapacityUnits").plain(read).field("WriteCapacityUnits").plain(write).raw("}");
}

//! Streams: ListStreams, DescribeStream, GetShardIterator, GetRecords, on the engine's change feed.
//!
//! A stream has one shard, which is the log from the change at which the stream was switched on to
//! the one at which it was switched off. The number of a record consists of its change's place in
//! the log and its own place in the change; an iterator contains the number of the last record
//! read.
//!
//! - **Invariant:** the records of one stream have growing numbers, and a reader that follows its
//!   iterators gets none of them twice.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Deserialize;
use table::{Change, ChangeKind, Error, Feed, Item, Scan, from_item};

use super::Door;
use super::fault::{Fault, Faults, Kind, check_range};
use super::meta::{Meta, Stream};
use super::names::{
    TableName, check_arn, check_length, check_table, part_of, stream_arn, table_of,
};
use super::read::Request;
use super::tables::{read_limit, seconds};
use super::write::JsonWriter;

/// Records in one response, as in DynamoDB.
const RECORDS_MAX: i64 = 1000;
/// The length of a shard's name, as in DynamoDB.
const SHARD_BYTES: RangeInclusive<usize> = 28..=65;
/// The length of a record's number, as in DynamoDB.
const NUMBER_BYTES: RangeInclusive<usize> = 21..=40;
/// The possible starts of an iterator.
const ITERATORS: &str = "AFTER_SEQUENCE_NUMBER, AT_SEQUENCE_NUMBER, LATEST, TRIM_HORIZON";
const INVALID: &str = "One or more parameter values were invalid:";
/// Changes of any table that one call looks at. A stream of a quiet table on a busy server must not
/// read the whole log in one call.
const LOOKED_AT_MAX: usize = 20_000;
/// Readers kept where they stopped, so that the next call need not search for the place.
const FEEDS_MAX: usize = 64;
/// Numbers for the changes of one transaction, between its number and the next.
const PLACES: u64 = 1000;

const SHARD: &str = "shardId-00000000000000000000-00000000";

/// Readers where they stopped, by the number of the last change read.
pub(super) type Feeds = BTreeMap<u64, Feed>;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListStreams {
    table_name: Option<TableName>,
    limit: Option<i64>,
    exclusive_start_stream_arn: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DescribeStream {
    stream_arn: Option<String>,
    limit: Option<i64>,
    exclusive_start_shard_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GetShardIterator {
    stream_arn: Option<String>,
    shard_id: Option<String>,
    shard_iterator_type: Option<String>,
    sequence_number: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct GetRecords {
    shard_iterator: Option<String>,
    limit: Option<i64>,
}

impl Request for ListStreams {
    fn check(&self, faults: &mut Faults) {
        if self.table_name.is_some() {
            faults.see(check_table(&self.table_name, "tableName"));
        }
        faults.see(read_limit(self.limit));
        faults.see(check_arn(&self.exclusive_start_stream_arn, "exclusiveStartStreamArn"));
    }
}

impl Request for DescribeStream {
    fn check(&self, faults: &mut Faults) {
        faults.require(&self.stream_arn, "streamArn");
        faults.see(check_arn(&self.stream_arn, "streamArn"));
        faults.see(read_limit(self.limit));
        if let Some(shard) = &self.exclusive_start_shard_id {
            faults.see(check_length(shard, "exclusiveStartShardId", SHARD_BYTES));
        }
    }
}

impl Request for GetShardIterator {
    fn check(&self, faults: &mut Faults) {
        faults.require(&self.stream_arn, "streamArn");
        faults.see(check_arn(&self.stream_arn, "streamArn"));
        faults.require(&self.shard_id, "shardId");
        if let Some(shard) = &self.shard_id {
            faults.see(check_length(shard, "shardId", SHARD_BYTES));
        }
        faults.require(&self.shard_iterator_type, "shardIteratorType");
        if let Some(number) = &self.sequence_number {
            faults.see(check_length(number, "sequenceNumber", NUMBER_BYTES));
        }
        match self.shard_iterator_type.as_deref() {
            Some(word) if !ITERATORS.split(", ").any(|known| known == word) => {
                faults.see::<()>(Err(Fault::no_choice(word, "shardIteratorType", ITERATORS)));
            }
            Some(_) | None => {}
        }
    }
}

impl Request for GetRecords {
    fn check(&self, faults: &mut Faults) {
        faults.require(&self.shard_iterator, "shardIterator");
        faults.see(check_range(self.limit, "limit", 1, RECORDS_MAX));
    }
}

impl Door {
    pub(super) fn list_streams(&self, request: ListStreams) -> Result<String, Fault> {
        let limit = read_limit(request.limit)?;
        let table = request.table_name.map(|name| self.name_of(Some(name))).transpose()?;
        let start = request.exclusive_start_stream_arn.unwrap_or_default();
        if !start.is_empty() {
            read_arn(&start)?;
        }
        let mut streams = Vec::new();
        for meta in self.list_metas()? {
            let Some(stream) = &meta.stream else { continue };
            let arn = stream_arn(&meta.name, &stream.label);
            let wanted = table.as_ref().is_none_or(|name| *name == meta.name);
            if wanted && arn > start {
                streams.push((arn, stream.label.clone(), meta.name.clone()));
            }
        }
        streams.sort();
        let more = streams.len() > limit;
        streams.truncate(limit);
        let mut out = JsonWriter::new();
        out.raw("{\"Streams\":[").list(&streams, |out, (arn, label, table)| {
            out.raw("{").field("StreamArn").text(arn).field("StreamLabel").text(label);
            out.field("TableName").text(table).raw("}");
        });
        out.raw("]");
        if let Some((arn, _, _)) = streams.last().filter(|_| more) {
            out.field("LastEvaluatedStreamArn").text(arn);
        }
        out.raw("}");
        Ok(out.finish())
    }

    pub(super) async fn describe_stream(&self, request: DescribeStream) -> Result<String, Fault> {
        let (meta, stream) = self.find_stream(request.stream_arn).await?;
        let mut out = JsonWriter::new();
        out.raw("{\"StreamDescription\":{").field("StreamArn");
        out.text(&stream_arn(&meta.name, &stream.label));
        out.field("StreamLabel").text(&stream.label).field("TableName").text(&meta.name);
        let status = if stream.until.is_none() { "ENABLED" } else { "DISABLED" };
        out.field("StreamStatus").text(status).field("StreamViewType").text(&stream.view);
        let created = format!("{}Z", stream.label).parse::<base::Timestamp>().unwrap_or_default();
        out.field("CreationRequestDateTime").plain(seconds(created.millis()));
        self.store.with_spec(&meta.name, |spec| {
            out.field("KeySchema");
            super::tables::write_key(&mut out, &spec.key);
        })?;
        out.field("Shards").raw("[");
        if request.exclusive_start_shard_id.is_none() {
            out.raw("{").field("ShardId").text(SHARD).field("SequenceNumberRange").raw("{");
            out.field("StartingSequenceNumber").text(&number_text(stream.after * PLACES + 1));
            if let Some(until) = stream.until {
                out.field("EndingSequenceNumber").text(&number_text((until + 1) * PLACES));
            }
            out.raw("}}");
        }
        out.raw("]}}");
        Ok(out.finish())
    }

    pub(super) async fn get_shard_iterator(
        &self,
        request: GetShardIterator,
    ) -> Result<String, Fault> {
        let kind = request.shard_iterator_type.unwrap_or_default();
        let names_record = kind.ends_with("_SEQUENCE_NUMBER");
        match &request.sequence_number {
            Some(_) if !names_record => {
                return Err(Fault::invalid(format!(
                    "{INVALID} SequenceNumber should not be passed for this iterator type"
                )));
            }
            None if names_record => {
                let message = format!("{INVALID} SequenceNumber cannot be null");
                return Err(Fault::invalid(message));
            }
            Some(_) | None => {}
        }
        let (meta, stream) = self.find_stream(request.stream_arn).await?;
        if request.shard_id.as_deref() != Some(SHARD) {
            let message = "Requested resource not found: Shard does not exist";
            return Err(Fault::new(Kind::NoSuchResource, message));
        }
        let number = || {
            let text = request.sequence_number.as_deref();
            let number = text.and_then(|text| text.parse::<u64>().ok());
            number.ok_or_else(|| Fault::invalid("Invalid SequenceNumber for the shard"))
        };
        let (mark, position) = match kind.as_str() {
            "TRIM_HORIZON" => (OLDEST, (stream.after + 1) * PLACES - 1),
            "LATEST" => (GIVEN, (self.store.last_change() + 1) * PLACES - 1),
            "AT_SEQUENCE_NUMBER" => (GIVEN, number()?.saturating_sub(1)),
            _ => (GIVEN, number()?),
        };
        let arn = stream_arn(&meta.name, &stream.label);
        let mut out = JsonWriter::new();
        out.raw("{\"ShardIterator\":").text(&format!("{arn}|{mark}|{position}")).raw("}");
        Ok(out.finish())
    }

    pub(super) async fn get_records(&self, request: GetRecords) -> Result<String, Fault> {
        let limit = usize::try_from(request.limit.unwrap_or(RECORDS_MAX)).unwrap_or_default();
        let iterator = request.shard_iterator.unwrap_or_default();
        let mut parts = iterator.rsplitn(3, '|');
        let (position, mark, arn) = (parts.next(), parts.next(), parts.next());
        let position = position.and_then(|position| position.parse::<u64>().ok());
        let (Some(position), Some(mark), Some(arn)) = (position, mark, arn) else {
            return Err(Fault::invalid("Invalid ShardIterator"));
        };
        let (meta, stream) = self.find_stream(Some(arn.to_owned())).await?;
        let (records, reached) = self.read_records(&meta.name, &stream, mark, position, limit)?;
        let mut out = JsonWriter::new();
        out.raw("{\"Records\":[").list(&records, |out, record| record.write(out, &stream.view));
        out.raw("]");
        if stream.until.is_none_or(|until| reached < (until + 1) * PLACES - 1) {
            out.field("NextShardIterator").text(&format!("{arn}|{GIVEN}|{reached}"));
        }
        out.raw("}");
        Ok(out.finish())
    }

    /// The records after a number, and the number that was reached.
    fn read_records(
        &self,
        table: &str,
        stream: &Stream,
        mark: &str,
        position: u64,
        limit: usize,
    ) -> Result<(Vec<Record>, u64), Fault> {
        let until = stream.until.unwrap_or(u64::MAX / PLACES - 1);
        // The reader may be in the middle of a change, so that change is read again.
        let after = (position / PLACES).saturating_sub(u64::from(position % PLACES != PLACES - 1));
        let mut feed = self.feeds.lock().remove(&after);
        let (mut records, mut reached) = (Vec::new(), position);
        for _ in 0..LOOKED_AT_MAX {
            let next = feed.get_or_insert_with(|| self.store.changes(after)).try_next();
            let changes = match next {
                Ok(Some(changes)) if changes.seq <= until => changes,
                Ok(Some(_)) => {
                    return Ok((records, (until + 1) * PLACES - 1));
                }
                Ok(None) if stream.until.is_some() => {
                    return Ok((records, (until + 1) * PLACES - 1));
                }
                Ok(None) => break,
                Err(Error::TooOld { oldest, .. }) if mark == OLDEST => {
                    feed = Some(self.store.changes(oldest));
                    continue;
                }
                Err(Error::TooOld { .. }) => {
                    let message = "The records behind this iterator are no longer kept";
                    return Err(Fault::new(Kind::TrimmedData, message));
                }
                Err(error) => return Err(error.into()),
            };
            for (at, change) in changes.changes.into_iter().enumerate() {
                let number = changes.seq * PLACES + at as u64;
                let is_new = number > position && change.table == table && !change.is_idle();
                if is_new && records.len() < limit {
                    records.push(Record { number, time_ms: changes.time_ms, change });
                    reached = number;
                } else if is_new {
                    // The next call reads the rest of this change with a new reader.
                    return Ok((records, reached));
                }
            }
            reached = reached.max((changes.seq + 1) * PLACES - 1);
        }
        self.keep_feed(reached / PLACES, feed);
        Ok((records, reached))
    }

    fn keep_feed(&self, after: u64, feed: Option<Feed>) {
        let mut feeds = self.feeds.lock();
        if feeds.len() == FEEDS_MAX {
            // The reader with the lowest number is the least likely to be used again.
            feeds.pop_first();
        }
        feeds.extend(feed.map(|feed| (after, feed)));
    }

    async fn find_stream(&self, arn: Option<String>) -> Result<(Meta, Stream), Fault> {
        let arn = arn.ok_or_else(|| Fault::missing("streamArn"))?;
        let missing = || {
            let message = format!("Requested resource not found: Stream: {arn} not found");
            Fault::new(Kind::NoSuchResource, message)
        };
        let (table, label) = read_arn(&arn)?;
        if !self.shows(table) {
            return Err(missing());
        }
        let meta = self.load_meta(table).await?;
        let stream = meta.stream.clone().filter(|stream| stream.label == label);
        Ok((meta, stream.ok_or_else(missing)?))
    }

    fn list_metas(&self) -> Result<Vec<Meta>, Fault> {
        let mut scan = Scan::new(self.own.as_str());
        let mut metas = Vec::new();
        loop {
            let page = self.store.scan_page(&scan)?;
            for item in page.items {
                // Records of backups and restores are here too; no table name contains a slash.
                let name = item.get("name").and_then(table::Value::as_s).unwrap_or_default();
                if !name.contains('/') && self.shows(name) {
                    metas.push(from_item(item)?);
                }
            }
            match page.last_key {
                Some(key) => scan.start_after = Some(key),
                None => return Ok(metas),
            }
        }
    }
}

/// The origin of an iterator: the beginning, which moves on with the log, or a place that the
/// caller named or got.
const OLDEST: &str = "oldest";
const GIVEN: &str = "given";

/// One change of one item.
struct Record {
    number: u64,
    time_ms: u64,
    change: Change,
}

impl Record {
    fn write(&self, out: &mut JsonWriter, view: &str) {
        let (name, expired) = match self.change.kind {
            ChangeKind::Insert => ("INSERT", false),
            ChangeKind::Modify => ("MODIFY", false),
            ChangeKind::Remove => ("REMOVE", false),
            ChangeKind::Expire => ("REMOVE", true),
        };
        out.raw("{").field("eventID").text(&format!("{:032x}", self.number));
        out.field("eventName").text(name).field("eventVersion").text("1.1");
        out.field("eventSource").text("aws:dynamodb").field("awsRegion").text("us-east-1");
        if expired {
            out.field("userIdentity");
            out.raw("{\"PrincipalId\":\"dynamodb.amazonaws.com\",\"Type\":\"Service\"}");
        }
        out.field("dynamodb").raw("{").field("Keys").item(&self.change.key);
        let shown = |image: &Option<Item>, views: [&str; 2]| {
            image.clone().filter(|_| views.contains(&view))
        };
        let new = shown(&self.change.new, ["NEW_IMAGE", "NEW_AND_OLD_IMAGES"]);
        let old = shown(&self.change.old, ["OLD_IMAGE", "NEW_AND_OLD_IMAGES"]);
        let mut bytes = self.change.key.size();
        for (field, image) in [("NewImage", new), ("OldImage", old)] {
            if let Some(image) = image {
                bytes += image.size();
                out.field(field).item(&image);
            }
        }
        out.field("SequenceNumber").text(&number_text(self.number));
        out.field("SizeBytes").plain(bytes).field("StreamViewType").text(view);
        out.field("ApproximateCreationDateTime").plain(self.time_ms / 1000).raw("}}");
    }
}

/// The table and the label in the ARN of a stream.
fn read_arn(arn: &str) -> Result<(&str, &str), Fault> {
    let parts = table_of(arn).zip(part_of(arn, "stream"));
    parts.ok_or_else(|| Fault::invalid(format!("Invalid StreamArn: {arn}")))
}

/// At least 21 digits, like DynamoDB's numbers.
fn number_text(number: u64) -> String {
    format!("{number:021}")
}

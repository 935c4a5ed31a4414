//! Queries, scans and exports: pages of items, one line each.

use std::collections::BTreeMap;

use base::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use table::{
    AsOf, Condition, HIDDEN, Item, KeyCondition, KeySpec, Page, Path, Placeholders, SortCondition,
    TableSpec, item_from_json, item_to_json, plain,
};

use super::items::line_of;
use super::request::Format;
use super::{Desk, SECRETS};
use crate::Error;

/// What queries and scans have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Read {
    pub(crate) table: String,
    pub(crate) index: Option<String>,
    pub(crate) filter: Option<String>,
    pub(crate) projection: Option<String>,
    /// `ExpressionAttributeNames`
    pub(crate) names: BTreeMap<String, String>,
    /// `ExpressionAttributeValues`, as DynamoDB's JSON
    pub(crate) values: BTreeMap<String, Json>,
    /// Items to print, at most.
    pub(crate) limit: Option<u32>,
    /// Whether to go on behind the first page.
    pub(crate) all: bool,
    /// The key to start behind, as DynamoDB's JSON.
    pub(crate) after: Option<Json>,
    pub(crate) format: Format,
    /// The instant as it was given; none for now.
    #[serde(default)]
    pub(crate) at: Option<String>,
}

/// Reads one partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Query {
    pub(crate) read: Read,
    pub(crate) partition: Partition,
    pub(crate) descending: bool,
}

/// Which partition, and what stretch of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Partition {
    /// The texts of the key's values.
    Plain { value: String, sort: Option<SortGiven> },
    /// A `KeyConditionExpression`.
    Condition(String),
}

/// What must hold of the sort key, with the texts of its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SortGiven {
    Eq(String),
    Lt(String),
    Le(String),
    Gt(String),
    Ge(String),
    Between(String, String),
    Begins(String),
}

/// Reads a whole table or index, or a part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scan {
    pub(crate) read: Read,
    /// Which part of how many.
    pub(crate) segment: Option<(u32, u32)>,
}

/// A read as the store takes it.
pub(super) enum Asked {
    Query(table::Query),
    Scan(table::Scan),
}

/// The expressions of a read, understood.
struct Expressions {
    filter: Option<Condition>,
    projection: Vec<Path>,
}

impl Read {
    /// Brings the expressions into DynamoDB's spelling and checks them, as far as they can be
    /// without the table.
    pub(crate) fn prepare(&mut self, mut key_condition: Option<&mut String>) -> Result<(), Error> {
        let Read { filter, projection, names, values, .. } = self;
        let own = filter.iter_mut().chain(projection.iter_mut());
        for expression in own.chain(key_condition.as_deref_mut()) {
            table::respell(expression, names, values)?;
        }
        let placeholders = self.placeholders()?;
        if let Some(condition) = key_condition {
            table::parse_condition(condition, &placeholders)?;
        }
        self.expressions(&placeholders)?;
        placeholders.check_used()?;
        self.start()?;
        Ok(())
    }

    fn placeholders(&self) -> Result<Placeholders, Error> {
        let values = self
            .values
            .iter()
            .map(|(name, json)| Ok((name.clone(), table::value_from_json(json)?)));
        let values = values.collect::<Result<_, table::Error>>()?;
        Ok(Placeholders::new(self.names.clone(), values))
    }

    fn expressions(&self, placeholders: &Placeholders) -> Result<Expressions, Error> {
        let filter = self.filter.as_ref();
        let filter = filter.map(|text| table::parse_filter(text, placeholders)).transpose()?;
        // What is found would tell what is not shown.
        let is_secret = |path: &&Path| SECRETS.hides_attribute(&self.table, &path.root);
        if let Some(path) = filter.iter().flat_map(Condition::paths).find(is_secret) {
            let (table, name) = (self.table.clone(), path.root.clone());
            return Err(Error::SecretAttribute { table, name });
        }
        let projection = self.projection.as_ref();
        let projection =
            projection.map(|text| table::parse_projection(text, placeholders)).transpose()?;
        Ok(Expressions { filter, projection: projection.unwrap_or_default() })
    }

    /// The key of what is read.
    fn key<'s>(&self, spec: &'s TableSpec) -> Result<&'s KeySpec, Error> {
        let Some(index) = &self.index else { return Ok(&spec.key) };
        match spec.find_index(index) {
            Some((_, found)) if SECRETS.hides_index(spec, index) => {
                Err(Error::SecretAttribute { table: spec.name.clone(), name: found.name.clone() })
            }
            Some((_, index)) => Ok(&index.key),
            None => Err(Error::NoSuchIndex {
                table: spec.name.clone(),
                index: index.clone(),
                existing: spec.indexes.iter().map(|index| index.name.clone()).collect(),
            }),
        }
    }

    fn start(&self) -> Result<Option<Item>, Error> {
        Ok(self.after.as_ref().map(item_from_json).transpose()?)
    }

    fn line(&self, item: &Item) -> String {
        line_of(&self.table, item, self.format)
    }
}

impl Partition {
    fn read(&self, key: &KeySpec, placeholders: &Placeholders) -> Result<KeyCondition, Error> {
        let (value, sort) = match self {
            Partition::Condition(text) => {
                return Ok(table::parse_key_condition(text, placeholders, key)?);
            }
            Partition::Plain { value, sort } => (value, sort),
        };
        let partition = (key.partition.name.clone(), key.partition.read(value)?);
        let sort = match (sort, &key.sort) {
            (None, _) => None,
            (Some(sort), Some(attribute)) => {
                let condition = sort.read(|text| Ok(attribute.read(text)?))?;
                Some((attribute.name.clone(), condition))
            }
            (Some(_), None) => {
                let message = format!("the key is {key}: there is no sort key");
                return Err(Error::Store(table::Error::Invalid(message)));
            }
        };
        Ok(KeyCondition { partition, sort })
    }
}

impl SortGiven {
    fn read(
        &self,
        value: impl Fn(&str) -> Result<table::Value, Error>,
    ) -> Result<SortCondition, Error> {
        Ok(match self {
            SortGiven::Eq(text) => SortCondition::Eq(value(text)?),
            SortGiven::Lt(text) => SortCondition::Lt(value(text)?),
            SortGiven::Le(text) => SortCondition::Le(value(text)?),
            SortGiven::Gt(text) => SortCondition::Gt(value(text)?),
            SortGiven::Ge(text) => SortCondition::Ge(value(text)?),
            SortGiven::Between(low, high) => SortCondition::Between(value(low)?, value(high)?),
            SortGiven::Begins(prefix) => SortCondition::BeginsWith(value(prefix)?),
        })
    }
}

impl Desk {
    pub(super) async fn query(&self, asked: Query) -> Result<(), Error> {
        let Query { read, partition, descending } = asked;
        let (at, spec) = self.declared(&read).await?;
        let placeholders = read.placeholders()?;
        let key = partition.read(read.key(&spec)?, &placeholders)?;
        let Expressions { filter, projection } = read.expressions(&placeholders)?;
        let query = table::Query {
            table: read.table.clone(),
            index: read.index.clone(),
            key,
            descending,
            limit: None,
            start_after: None,
            filter,
            projection,
            consistent: false,
        };
        self.pages(&read, at, Asked::Query(query)).await
    }

    pub(super) async fn scan(&self, asked: Scan) -> Result<(), Error> {
        let Scan { read, segment } = asked;
        let (at, spec) = self.declared(&read).await?;
        read.key(&spec)?;
        let Expressions { filter, projection } = read.expressions(&read.placeholders()?)?;
        let scan = table::Scan {
            table: read.table.clone(),
            index: read.index.clone(),
            segment,
            limit: None,
            start_after: None,
            filter,
            projection,
            consistent: false,
        };
        self.pages(&read, at, Asked::Scan(scan)).await
    }

    /// The instant that is asked about, and the declaration of the table for it.
    async fn declared(&self, read: &Read) -> Result<(Option<Timestamp>, TableSpec), Error> {
        let Some(at) = &read.at else { return Ok((None, self.spec(&read.table).await?)) };
        let at = self.instant(at)?;
        Ok((Some(at), self.spec_at(&read.table, read.index.as_deref(), at).await?))
    }

    /// Prints pages until there are enough, and says so when more follow.
    async fn pages(
        &self,
        read: &Read,
        at: Option<Timestamp>,
        mut asked: Asked,
    ) -> Result<(), Error> {
        let (mut start, mut left) = (read.start()?, read.limit);
        let past = match at {
            Some(at) => Some(self.past_of(&asked, at).await?),
            None => None,
        };
        loop {
            let page = self.page(past.as_ref(), &mut asked, left, start).await?;
            let Page { items, last_key, .. } = page;
            for item in &items {
                self.say(read.line(item)).await?;
            }
            let printed = u32::try_from(items.len()).unwrap_or(u32::MAX);
            left = left.map(|left| left.saturating_sub(printed));
            let Some(last_key) = last_key else { return Ok(()) };
            let goes_on = if read.limit.is_some() { left != Some(0) } else { read.all };
            if !goes_on {
                return self.tell_more(past.as_ref(), asked, last_key).await;
            }
            start = Some(last_key);
        }
    }

    /// Says how to go on behind `last_key`, if anything is there.
    async fn tell_more(
        &self,
        past: Option<&AsOf>,
        mut asked: Asked,
        last_key: Item,
    ) -> Result<(), Error> {
        let key = item_to_json(&last_key).to_string().replace('\'', r"'\''");
        let next = self.page(past, &mut asked, Some(1), Some(last_key)).await?;
        if next.scanned == 0 {
            return Ok(());
        }
        let note = format!("more may follow; go on with --after '{key}', or ask for --all");
        self.note(note).await
    }

    async fn page(
        &self,
        past: Option<&AsOf>,
        asked: &mut Asked,
        limit: Option<u32>,
        start_after: Option<Item>,
    ) -> Result<Page, table::Error> {
        match asked {
            Asked::Query(query) => {
                (query.limit, query.start_after) = (limit, start_after);
                match past {
                    Some(past) => past.query(query),
                    None => self.store.query(query.clone()).await,
                }
            }
            Asked::Scan(scan) => {
                (scan.limit, scan.start_after) = (limit, start_after);
                match past {
                    Some(past) => past.scan(scan),
                    None => self.store.scan(scan.clone()).await,
                }
            }
        }
    }

    pub(super) async fn export(&self, table: &str, format: Format) -> Result<(), Error> {
        self.spec(table).await?;
        let all = self.description(table).await?.items;
        let (mut start, mut count, mut lossy) = (None, 0_u64, 0_u64);
        loop {
            let scan = table::Scan { start_after: start, ..table::Scan::new(table) };
            let Page { items, last_key, .. } = self.store.scan(scan).await?;
            for item in &items {
                let line = match format {
                    Format::Json => line_of(table, item, format),
                    Format::Dynamodb => format!("{{\"Item\":{}}}", line_of(table, item, format)),
                };
                self.say(line).await?;
                count += 1;
                lossy += u64::from(format == Format::Json && plain::is_lossy(item));
                self.tell_progress(count, Some(all.max(count))).await?;
            }
            start = last_key;
            if start.is_none() {
                break;
            }
        }
        if lossy > 0 {
            let items = crate::commands::counted(lossy, "item");
            let note = format!(
                "{items} with binaries or sets, which plain JSON writes as texts and lists; \
                 --format dynamodb keeps them apart"
            );
            self.note(note).await?;
        }
        if SECRETS.touches_table(table) {
            let note =
                format!("secrets are exported as `{HIDDEN}`; an import leaves them as they are");
            self.note(note).await?;
        }
        let items = crate::commands::counted(count, "item");
        self.note(format!("exported {items} of `{table}`")).await
    }
}

//! Looking into tables: what an address asks for as a query or a scan, what it cost, and items as
//! people read and write them.
//!
//! Items are written as DynamoDB's JSON, in which every value says its type: nothing is lost on the
//! way out and in. Many at once may also come as plain JSON, which people and programs like better.

use std::collections::BTreeMap;

use base::{Timestamp, When};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use table::plain::Plain;
use table::{
    AsOf, Condition, Error, Get, Item, KeyAttribute, KeySpec, Page, Part, Placeholders, Progress,
    Query, Scan, SortCondition, TableSpec, Tables, Value, item_from_json, item_to_json,
    value_from_json, value_to_json,
};

use crate::Console;
use crate::limits::{IMPORT_ITEMS_MAX, ITEMS_PER_PAGE, LOOKED_AT_PER_PAGE};

/// What is looked for: all of it stands in the address of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    /// An index; nothing for the table itself.
    pub(crate) index: String,
    /// The value of the partition key; nothing for all of them, which is a scan.
    pub(crate) partition: String,
    /// How the sort key compares: `eq`, `lt`, `le`, `gt`, `ge`, `begins` or `between`.
    pub(crate) op: String,
    pub(crate) sort: String,
    /// The other end of `between`.
    pub(crate) until: String,
    /// `down` for the greatest first.
    pub(crate) order: String,
    /// What must hold of an item, as an expression with its values: `score > 10`.
    pub(crate) filter: String,
    /// The instant that is looked at; nothing for now.
    pub(crate) at: String,
    /// The key behind which to go on, as DynamoDB's JSON.
    pub(crate) after: String,
    /// The key of the item that is open beside the list, as DynamoDB's JSON.
    pub(crate) open: String,
    /// Which version of it is shown: the number of a change, or `last` for the newest in its history.
    pub(crate) version: String,
    /// Where the page of versions begins: before the change of this number.
    pub(crate) older: String,
}

impl Asked {
    /// What was asked for when a form was made; what cannot be read asks for nothing.
    pub(crate) fn of_form(text: &str) -> Asked {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The same for a form, which brings it back.
    pub(crate) fn to_form(&self) -> String {
        serde_json::to_string(self).expect("texts have a JSON form")
    }

    /// The query of an address that asks for this.
    pub(crate) fn to_query(&self) -> String {
        let fields = [
            ("index", &self.index),
            ("partition", &self.partition),
            ("op", &self.op),
            ("sort", &self.sort),
            ("until", &self.until),
            ("order", &self.order),
            ("filter", &self.filter),
            ("at", &self.at),
            ("after", &self.after),
            ("open", &self.open),
            ("version", &self.version),
            ("older", &self.older),
        ];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let pairs = given.map(|(name, value)| format!("{name}={}", escape(value)));
        pairs.collect::<Vec<_>>().join("&")
    }

    /// The same with no item open.
    pub(crate) fn closed(&self) -> Asked {
        let nothing = String::new;
        Asked { open: nothing(), version: nothing(), older: nothing(), ..self.clone() }
    }

    /// The same with this item open.
    pub(crate) fn opening(&self, key: String) -> Asked {
        Asked { open: key, ..self.closed() }
    }

    /// The same of now.
    pub(crate) fn now(&self) -> Asked {
        Asked { at: String::new(), version: String::new(), ..self.clone() }
    }

    /// The instant that is looked at; none for now.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn instant(&self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        if self.at.trim().is_empty() {
            return Ok(None);
        }
        let read: Result<When, base::NotAnInstant> = self.at.parse();
        let when = read.map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Some(when.as_of(now)))
    }
}

/// A value as it stands in the query of an address.
fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

/// A page of items, and what it cost.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) page: Page,
    /// Whether the whole table was walked, not one partition.
    pub(crate) is_scan: bool,
}

impl Found {
    /// Read units as DynamoDB counts them: one for 4 KB, half as much for who need not see the
    /// newest.
    pub(crate) fn units(&self) -> f64 {
        self.page.bytes.div_ceil(4_096).max(1) as f64 / 2.0
    }
}

/// A read as the store takes it.
enum Read {
    Query(Query),
    Scan(Scan),
}

impl Console {
    /// A page of what is asked for.
    pub(crate) async fn browse(
        &self,
        spec: &TableSpec,
        asked: &Asked,
        at: Option<Timestamp>,
    ) -> Result<Found, Error> {
        let mut read = self.read(spec, asked)?;
        if let Some(at) = at {
            // What had the name before is another table, with another key perhaps.
            let created = self.tables.describe_table(&spec.name).await?.created_ms;
            let created = Timestamp::from_millis(created);
            if created > at {
                let name = &spec.name;
                let told =
                    format!("there was no table `{name}` at {at}; it was created at {created}");
                return Err(Error::Invalid(told));
            }
        }
        let past = match (at, &read) {
            (None, _) => None,
            (Some(at), Read::Query(query)) => Some(self.look_back(Part::Query(query), at).await?),
            (Some(at), Read::Scan(scan)) => Some(self.look_back(Part::Scan(scan), at).await?),
        };
        let mut page = Page::default();
        loop {
            let next = match (&past, &read) {
                (Some(past), Read::Query(query)) => past.query(query)?,
                (Some(past), Read::Scan(scan)) => past.scan(scan)?,
                (None, Read::Query(query)) => self.tables.query(query.clone()).await?,
                (None, Read::Scan(scan)) => self.tables.scan(scan.clone()).await?,
            };
            page.items.extend(next.items);
            (page.scanned, page.bytes) = (page.scanned + next.scanned, page.bytes + next.bytes);
            page.last_key = next.last_key;
            // A filter may leave little of what was looked at.
            let is_full = page.items.len() >= ITEMS_PER_PAGE as usize;
            if page.last_key.is_none() || is_full || page.scanned >= LOOKED_AT_PER_PAGE {
                break;
            }
            match &mut read {
                Read::Query(query) => query.start_after.clone_from(&page.last_key),
                Read::Scan(scan) => scan.start_after.clone_from(&page.last_key),
            }
        }
        if !asked.index.is_empty() {
            page = match &past {
                Some(past) => whole_then(past, spec, page)?,
                None => whole(&*self.tables, spec, page).await?,
            };
        }
        for item in &mut page.items {
            *item = self.secrets.shown(&spec.name, item).into_owned();
        }
        Ok(Found { page, is_scan: matches!(read, Read::Scan(_)) })
    }

    /// What is asked for, as the store takes it.
    fn read(&self, spec: &TableSpec, asked: &Asked) -> Result<Read, Error> {
        let start_after = match asked.after.is_empty() {
            true => None,
            false => Some(read_item(&asked.after)?),
        };
        let key = key_of(spec, &asked.index)?;
        if self.secrets.hides_index(spec, &asked.index) {
            let (table, index) = (&spec.name, &asked.index);
            return Err(Error::Invalid(format!(
                "index `{index}` of `{table}` is ordered by a secret"
            )));
        }
        let filter = self.filter(spec, &asked.filter)?;
        let index = Some(asked.index.clone()).filter(|index| !index.is_empty());
        // With a filter more is looked at for a page than it shows.
        let limit = Some(ITEMS_PER_PAGE);
        if asked.partition.is_empty() {
            let scan = Scan::new(&spec.name);
            return Ok(Read::Scan(Scan { index, limit, start_after, filter, ..scan }));
        }
        let partition = key.partition.read(&asked.partition)?;
        let mut query = Query::new(&spec.name, &key.partition.name, partition);
        if let Some(sort) = key.sort.as_ref().filter(|_| !asked.sort.is_empty()) {
            query = query.sort(&sort.name, sort_condition(sort, asked)?);
        }
        let descending = asked.order == "down";
        Ok(Read::Query(Query { index, descending, limit, start_after, filter, ..query }))
    }

    /// A filter as people write it.
    fn filter(&self, spec: &TableSpec, text: &str) -> Result<Option<Condition>, Error> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let (mut text, mut names, mut values) = (text.to_owned(), BTreeMap::new(), BTreeMap::new());
        table::respell(&mut text, &mut names, &mut values)?;
        let values = values.into_iter().map(|(name, json)| Ok((name, value_from_json(&json)?)));
        let placeholders = Placeholders::new(names, values.collect::<Result<_, Error>>()?);
        let filter = table::parse_filter(&text, &placeholders)?;
        // What is found would tell what is not shown.
        let is_secret = |path: &&table::Path| self.secrets.hides_attribute(&spec.name, &path.root);
        if let Some(path) = filter.paths().find(is_secret) {
            return Err(Error::Invalid(format!("`{}` is a secret: no filter sees it", path.root)));
        }
        Ok(Some(filter))
    }

    /// A part of a table as it was at an instant.
    pub(crate) async fn look_back(&self, part: Part<'_>, at: Timestamp) -> Result<AsOf, Error> {
        let store = self.store.as_ref().ok_or_else(|| {
            Error::Invalid("the past is the embedded store's; this house is on DynamoDB".to_owned())
        })?;
        store.as_of(part, at, &Progress::new()).await
    }
}

/// A page of an index of the past with its items whole.
fn whole_then(past: &AsOf, spec: &TableSpec, mut page: Page) -> Result<Page, Error> {
    let get = |item: &Item| past.get(&Get::new(&spec.name, key_in(spec, item))).transpose();
    page.items = page.items.iter().filter_map(get).collect::<Result<_, _>>()?;
    Ok(page)
}

/// A page of an index with its items as the table has them: an index may hold a part of each, and
/// who changes an item must have all of it.
async fn whole(tables: &dyn Tables, spec: &TableSpec, mut page: Page) -> Result<Page, Error> {
    let get = |item: &Item| (key_text(spec, item), Get::new(&spec.name, key_in(spec, item)));
    let gets: BTreeMap<String, Get> = page.items.iter().map(get).collect();
    if gets.is_empty() {
        return Ok(page);
    }
    let mut got = tables.batch_get(gets.into_values().collect()).await?;
    for get in got.unprocessed {
        let table = get.table.clone();
        got.items.extend(tables.get(get).await?.map(|item| (table, item)));
    }
    let by_key = got.items.into_iter().map(|(_, item)| (key_text(spec, &item), item));
    let mut by_key: BTreeMap<String, Item> = by_key.collect();
    // One that is gone meanwhile is not there.
    page.items =
        page.items.iter().filter_map(|item| by_key.remove(&key_text(spec, item))).collect();
    Ok(page)
}

/// The key of a table, or of one of its indexes.
pub(crate) fn key_of<'s>(spec: &'s TableSpec, index: &str) -> Result<&'s KeySpec, Error> {
    if index.is_empty() {
        return Ok(&spec.key);
    }
    let found = spec.indexes.iter().find(|known| known.name == index).map(|index| &index.key);
    found.ok_or_else(|| Error::Invalid(format!("`{}` has no index `{index}`", spec.name)))
}

fn sort_condition(sort: &KeyAttribute, asked: &Asked) -> Result<SortCondition, Error> {
    let value = sort.read(&asked.sort)?;
    Ok(match asked.op.as_str() {
        "" | "eq" => SortCondition::Eq(value),
        "lt" => SortCondition::Lt(value),
        "le" => SortCondition::Le(value),
        "gt" => SortCondition::Gt(value),
        "ge" => SortCondition::Ge(value),
        "begins" => SortCondition::BeginsWith(value),
        "between" => SortCondition::Between(value, sort.read(&asked.until)?),
        other => return Err(Error::Invalid(format!("a sort key does not compare by `{other}`"))),
    })
}

/// The key of an item, as DynamoDB's JSON.
pub(crate) fn key_text(spec: &TableSpec, item: &Item) -> String {
    item_to_json(&key_in(spec, item)).to_string()
}

/// The key of an item.
pub(crate) fn key_in(spec: &TableSpec, item: &Item) -> Item {
    let keys = spec
        .key
        .attributes()
        .filter_map(|attribute| Some((attribute.name.clone(), item.get(&attribute.name)?.clone())));
    keys.collect()
}

/// The key of an item as people say it.
pub(crate) fn spoken_key(spec: &TableSpec, item: &Item) -> String {
    let values = spec.key.attributes().filter_map(|attribute| item.get(&attribute.name));
    values.map(spoken).collect::<Vec<_>>().join(" · ")
}

/// A value as people read it.
pub(crate) fn spoken(value: &Value) -> String {
    match value {
        Value::S(text) => text.as_ref().to_owned(),
        Value::N(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        Value::Null => "null".to_owned(),
        Value::B(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_) | Value::M(_) | Value::L(_) => {
            let json = value_to_json(value);
            let inner = json.as_object().and_then(|typed| typed.values().next());
            inner.unwrap_or(&json).to_string()
        }
    }
}

/// An item from DynamoDB's JSON, bare or in `{"Item": …}`, as in DynamoDB's exports.
pub(crate) fn read_item(text: &str) -> Result<Item, Error> {
    let json: Json = serde_json::from_str(text)
        .map_err(|cause| Error::Invalid(format!("the item is not JSON: {cause}")))?;
    unwrapped(&json)
}

/// Items from DynamoDB's JSON: one a line, or a document with `Items`, as a scan prints it.
pub(crate) fn read_items(text: &str) -> Result<Vec<Item>, Error> {
    let whole = serde_json::from_str::<Json>(text).ok();
    let listed = whole.as_ref().and_then(|json| json.get("Items")?.as_array());
    match listed {
        Some(list) => bounded(list.iter().map(unwrapped).collect::<Result<_, _>>()?),
        None => read_lines(text, read_item),
    }
}

/// Items from plain JSON, one a line, with keys as the table declares them.
pub(crate) fn read_plain(text: &str, spec: &TableSpec) -> Result<Vec<Item>, Error> {
    read_lines(text, |line| Plain::parse(line)?.into_item(spec))
}

fn read_lines(text: &str, read: impl Fn(&str) -> Result<Item, Error>) -> Result<Vec<Item>, Error> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(index, line): (usize, &str)| {
        read(line).map_err(|error| Error::Invalid(format!("line {}: {error}", index + 1)))
    };
    bounded(lines.map(read).collect::<Result<_, _>>()?)
}

fn bounded(items: Vec<Item>) -> Result<Vec<Item>, Error> {
    if items.len() > IMPORT_ITEMS_MAX {
        let count = items.len();
        return Err(Error::Invalid(format!(
            "at most {IMPORT_ITEMS_MAX} items come in at once, not {count}; \
             `nagaya table import` takes any number"
        )));
    }
    Ok(items)
}

fn unwrapped(json: &Json) -> Result<Item, Error> {
    let wrapped = json.as_object().filter(|fields| fields.len() == 1);
    let wrapped = wrapped.and_then(|fields| fields.get("Item"));
    item_from_json(wrapped.unwrap_or(json))
}

#[cfg(test)]
mod tests {
    use base::{Clock, Tasks, Timestamp};
    use table::{
        Embedded, Item, KeyAttribute, KeySpec, Page, Projected, Put, Query, TableSpec, Tables,
        Value,
    };

    use super::{
        Asked, Found, key_of, key_text, read_items, read_plain, sort_condition, spoken_key, whole,
    };

    fn spec() -> TableSpec {
        let key = KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::n("sk"));
        TableSpec::new("scores", key).index("by", KeySpec::simple(KeyAttribute::s("game")))
    }

    #[test]
    fn items_come_back_as_they_were_written_in_both_forms() {
        let lines = "{\"Item\":{\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}}}\n\n\
                     {\"pk\":{\"S\":\"b\"},\"sk\":{\"N\":\"0.10000000000000000000000000000000001\"}}\n";
        let read = read_items(lines).unwrap();
        assert_eq!(read.len(), 2);
        let document = "{\"Items\":[{\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}}],\"Count\":1}";
        assert_eq!(read_items(document).unwrap(), read[..1]);
        assert_eq!(spoken_key(&spec(), &read[1]), "b · 0.10000000000000000000000000000000001");
        assert_eq!(key_text(&spec(), &read[0]), "{\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}}");
        let plain = read_plain("{\"pk\":\"a\",\"sk\":\"1\"}\n", &spec()).unwrap();
        assert_eq!(plain, read[..1], "the key's declaration knows what is a number");
        let told = read_items("{}\n{\"a\":1}").unwrap_err().to_string();
        assert!(told.contains("line 2"), "{told}");
    }

    #[test]
    fn what_is_asked_for_stands_in_addresses_and_forms() {
        let asked = Asked {
            partition: "a b&c=1".to_owned(),
            at: "2026-04-01T09:30:00.000Z".to_owned(),
            open: "{\"pk\":{\"S\":\"é\"}}".to_owned(),
            ..Asked::default()
        };
        let query = "partition=a%20b%26c%3D1&at=2026-04-01T09:30:00.000Z\
                     &open=%7B%22pk%22:%7B%22S%22:%22%C3%A9%22%7D%7D";
        assert_eq!(asked.to_query(), query);
        assert_eq!(Asked::of_form(&asked.to_form()), asked);
        assert_eq!(Asked::of_form("nothing"), Asked::default());
        assert_eq!(
            asked.closed().to_query(),
            "partition=a%20b%26c%3D1&at=2026-04-01T09:30:00.000Z"
        );
    }

    #[test]
    fn what_is_asked_is_checked_against_the_key() {
        let spec = spec();
        assert!(key_of(&spec, "by").is_ok());
        assert!(key_of(&spec, "nothing").is_err());
        let sort = spec.key.sort.clone().unwrap();
        let asked = |op: &str, sort: &str| Asked {
            op: op.to_owned(),
            sort: sort.to_owned(),
            until: "9".to_owned(),
            ..Asked::default()
        };
        for op in ["", "eq", "lt", "le", "gt", "ge", "between"] {
            assert!(sort_condition(&sort, &asked(op, "7")).is_ok(), "{op}");
        }
        assert!(sort_condition(&sort, &asked("like", "7")).is_err());
        let told = sort_condition(&sort, &asked("eq", "x")).unwrap_err().to_string();
        assert!(told.contains("`sk` is a number, not `x`"), "{told}");
    }

    #[tokio::test]
    async fn an_item_that_an_index_knows_by_its_keys_is_shown_whole() {
        let (clock, _time) = Clock::virtual_at(Timestamp::from_millis(1_800_000_000_000));
        let store = Embedded::in_memory(clock, &Tasks::new()).await.unwrap();
        let by_game = KeySpec::simple(KeyAttribute::s("game"));
        let key = KeySpec::simple(KeyAttribute::s("pk"));
        let spec =
            TableSpec::new("scores", key).index_projecting("by-game", by_game, Projected::KeysOnly);
        store.ensure_table(spec.clone()).await.unwrap();
        let item = |pk: &str| Item::new().with("pk", pk).with("game", "go").with("note", "kept");
        for pk in ["b", "a"] {
            store.put(Put::new("scores", item(pk))).await.unwrap();
        }
        let query = Query::new("scores", "game", Value::from("go")).index("by-game");
        let found = store.query(query).await.unwrap();
        assert!(found.items.iter().all(|item| !item.contains("note")), "{found:?}");
        let order =
            |page: &Page| page.items.iter().map(|item| spoken_key(&spec, item)).collect::<Vec<_>>();
        let before = order(&found);
        let shown = whole(&store, &spec, found).await.unwrap();
        assert_eq!(order(&shown), before);
        assert!(shown.items.iter().all(|item| item.contains("note")), "{shown:?}");
    }

    #[test]
    fn a_read_costs_half_a_unit_for_each_4_kilobytes() {
        let of = |bytes| Found { page: Page { bytes, ..Page::default() }, is_scan: false }.units();
        assert_eq!([of(0), of(4_096), of(4_097), of(40_960)], [0.5, 0.5, 1.0, 5.0]);
        assert_eq!(super::spoken(&Value::M(Item::new())), "{}");
    }
}

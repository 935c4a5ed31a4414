//! Looking into tables: what an address asks for as a query or a scan, what it cost, and items as
//! people read and write them.
//!
//! Items are written as DynamoDB's JSON, in which every value says its type: nothing is lost on the
//! way out and in. Many at once may also come as plain JSON, which people and programs like better.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;
use table::plain::Plain;
use table::{
    Error, Get, Item, KeyAttribute, KeySpec, Page, Query, Scan, SortCondition, TableSpec, Tables,
    Value, item_from_json, item_to_json, value_to_json,
};

use crate::Console;
use crate::limits::{IMPORT_ITEMS_MAX, ITEMS_PER_PAGE};

/// What is looked for.
#[derive(Clone, Debug, Default, Deserialize)]
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
    /// The key behind which to go on, as DynamoDB's JSON.
    pub(crate) after: String,
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

impl Console {
    /// A page of what is asked for.
    pub(crate) async fn browse(&self, spec: &TableSpec, asked: &Asked) -> Result<Found, Error> {
        let start = match asked.after.is_empty() {
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
        if asked.partition.is_empty() {
            let mut scan = Scan::new(&spec.name).limit(ITEMS_PER_PAGE);
            if !asked.index.is_empty() {
                scan = scan.index(&asked.index);
            }
            scan.start_after = start;
            let page = self.tables.scan(scan).await?;
            return Ok(Found { page: self.shown(spec, asked, page).await?, is_scan: true });
        }
        let partition = key.partition.read(&asked.partition)?;
        let mut query = Query::new(&spec.name, &key.partition.name, partition);
        query = query.limit(ITEMS_PER_PAGE);
        if !asked.index.is_empty() {
            query = query.index(&asked.index);
        }
        if let Some(sort) = key.sort.as_ref().filter(|_| !asked.sort.is_empty()) {
            query = query.sort(&sort.name, sort_condition(sort, asked)?);
        }
        query.descending = asked.order == "down";
        query.start_after = start;
        let page = self.tables.query(query).await?;
        Ok(Found { page: self.shown(spec, asked, page).await?, is_scan: false })
    }

    /// A page of whole items, without their secrets.
    async fn shown(&self, spec: &TableSpec, asked: &Asked, page: Page) -> Result<Page, Error> {
        let mut page = match asked.index.is_empty() {
            true => page,
            false => whole(&*self.tables, spec, page).await?,
        };
        for item in &mut page.items {
            *item = self.secrets.shown(&spec.name, item).into_owned();
        }
        Ok(page)
    }
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

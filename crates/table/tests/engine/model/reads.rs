//! Queries and scans, judged page by page.
//!
//! What is read at once, without filter and projection, must be the model's items in the order of
//! their sort keys. Where that leaves the order open (equal sort keys in an index, scans), the
//! house chooses, and every page must keep to its choice.

use std::cmp::Ordering;

use proptest::prop_assert_eq;
use proptest::test_runner::TestCaseError;
use table::{
    Condition, Item, KeySpec, Page, Path, Projected, Query, Scan, SortCondition, Tables, Value,
};

use super::evaluate::{cut, holds};
use super::reference::{KeyPart, Model, Table, key_part, key_parts};
use crate::support::failure::Failure;
use crate::support::generate::expressions::paths_of;
use crate::support::generate::{QueryPlan, ScanPlan};

/// What is read: a table or one of its indexes.
struct Source<'a> {
    table: &'a Table,
    key: &'a KeySpec,
    projection: &'a Projected,
    is_index: bool,
}

impl<'a> Source<'a> {
    fn of(model: &'a Model, table: &str, index: Option<&str>) -> Result<Source<'a>, Failure> {
        let table = model.table(table)?;
        let Some(name) = index else {
            let (key, projection) = (&table.spec.key, &Projected::All);
            return Ok(Source { table, key, projection, is_index: false });
        };
        let index = table.spec.indexes.iter().find(|index| index.name == name);
        let index = index.ok_or(Failure::NoSuchIndex)?;
        Ok(Source { table, key: &index.key, projection: &index.projection, is_index: true })
    }

    fn key_names(&self) -> Vec<String> {
        let attributes = self.key.attributes().chain(self.table.spec.key.attributes());
        attributes.map(|attribute| attribute.name.clone()).collect()
    }

    /// The items in it, as it shows them.
    fn items(&self, model: &Model) -> Vec<Item> {
        let mut names = self.key_names();
        match self.projection {
            Projected::All => names.clear(),
            Projected::KeysOnly => {}
            Projected::Include(more) => names.extend(more.clone()),
        }
        let shown: Vec<Path> = names.into_iter().map(Path::from).collect();
        let inside = model.living(self.table).filter(|item| key_parts(item, self.key).is_some());
        inside.map(|item| if shown.is_empty() { item.clone() } else { cut(&shown, item) }).collect()
    }

    fn sort_part(&self, item: &Item) -> Option<KeyPart> {
        let sort = self.key.sort.as_ref()?;
        key_part(item, &sort.name, sort.kind)
    }

    fn key_of(&self, item: &Item) -> Item {
        let names = self.key_names().into_iter();
        names.filter_map(|name| Some((name.clone(), item.get(&name)?.clone()))).collect()
    }
}

/// Asks the query, at once and in pages, and judges what comes.
pub(crate) async fn judge_query(
    tables: &dyn Tables,
    model: &Model,
    plan: &QueryPlan,
) -> Result<(), TestCaseError> {
    let any_key = &model.tables().values().next().map(|table| table.spec.key.clone());
    let source = match Source::of(model, &plan.table, plan.index.as_deref()) {
        Ok(source) => source,
        Err(failure) => {
            let Some(key) = any_key else { return Ok(()) };
            let answer = tables.query(plan.on(key)).await;
            prop_assert_eq!(answer.map_err(Failure::from), Err(failure));
            return Ok(());
        }
    };
    let query = plan.on(source.key);
    if !is_valid(&query, &source) {
        let answer = tables.query(query).await;
        prop_assert_eq!(answer.map_err(Failure::from), Err(Failure::Invalid));
        return Ok(());
    }
    let expected = matching(&source.items(model), &query, &source);
    let whole = Query { limit: None, filter: None, projection: Vec::new(), ..query.clone() };
    let page = tables.query(whole).await.map_err(unexpected)?;
    let parts: Vec<_> = page.items.iter().map(|item| source.sort_part(item)).collect();
    let ordered = parts.is_sorted_by(|left, right| match left.cmp(right) {
        Ordering::Less => !query.descending,
        Ordering::Greater => query.descending,
        Ordering::Equal => true,
    });
    proptest::prop_assert!(ordered, "out of order: {:?}", page.items);
    assert_same_items(&page.items, &expected)?;
    let pages = Pages {
        limit: query.limit,
        filter: query.filter.clone(),
        projection: query.projection.clone(),
    };
    let mut start = None;
    let mut rest = page.items.as_slice();
    loop {
        let page = tables.query(Query { start_after: start, ..query.clone() }).await;
        let page = page.map_err(unexpected)?;
        rest = pages.judge(&page, rest, &source)?;
        start = page.last_key;
        if start.is_none() {
            break;
        }
    }
    prop_assert_eq!(rest, &[]);
    Ok(())
}

/// Asks the scan, segment by segment, at once and in pages, and judges what comes.
pub(crate) async fn judge_scan(
    tables: &dyn Tables,
    model: &Model,
    plan: &ScanPlan,
) -> Result<(), TestCaseError> {
    let scan = &plan.scan;
    let source = match Source::of(model, &scan.table, scan.index.as_deref()) {
        Ok(source) => source,
        Err(failure) => {
            let answer = tables.scan(scan.clone()).await;
            prop_assert_eq!(answer.map_err(Failure::from), Err(failure));
            return Ok(());
        }
    };
    let segments: Vec<_> = match plan.segments {
        None => vec![None],
        Some(total) => (0..total).map(|number| Some((number, total))).collect(),
    };
    let pages = Pages {
        limit: scan.limit,
        filter: scan.filter.clone(),
        projection: scan.projection.clone(),
    };
    let mut all = Vec::new();
    for segment in segments {
        let scan = Scan { segment, ..scan.clone() };
        let whole = Scan { limit: None, filter: None, projection: Vec::new(), ..scan.clone() };
        let page = tables.scan(whole).await.map_err(unexpected)?;
        let (mut start, mut rest) = (None, page.items.as_slice());
        loop {
            let page = tables.scan(Scan { start_after: start, ..scan.clone() }).await;
            let page = page.map_err(unexpected)?;
            rest = pages.judge(&page, rest, &source)?;
            start = page.last_key;
            if start.is_none() {
                break;
            }
        }
        prop_assert_eq!(rest, &[]);
        all.extend(page.items);
    }
    assert_same_items(&all, &source.items(model))
}

/// How pages were asked for.
struct Pages {
    limit: Option<u32>,
    filter: Option<Condition>,
    projection: Vec<Path>,
}

impl Pages {
    /// Whether nothing is asked of an index but its keys, which it tells alone.
    fn want_keys(&self, source: &Source<'_>) -> bool {
        let keys: Vec<Path> = source.key_names().into_iter().map(Path::from).collect();
        let only_keys = self.projection.iter().all(|path| keys.contains(path));
        let looks = self.filter.is_some() || source.table.spec.ttl.is_some();
        source.is_index && !looks && !self.projection.is_empty() && only_keys
    }

    /// Judges a page that begins with the first of `rest`; answers what comes after it.
    fn judge<'i>(
        &self,
        page: &Page,
        rest: &'i [Item],
        source: &Source<'_>,
    ) -> Result<&'i [Item], TestCaseError> {
        let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let (seen, rest) = rest.split_at(limit.min(rest.len()));
        let passing = seen
            .iter()
            .filter(|item| self.filter.as_ref().is_none_or(|filter| holds(filter, item)));
        let expected = Page {
            items: passing
                .map(|item| match self.projection.as_slice() {
                    [] => item.clone(),
                    paths => cut(paths, item),
                })
                .collect(),
            last_key: seen.last().filter(|_| seen.len() == limit).map(|item| source.key_of(item)),
            scanned: u32::try_from(seen.len()).expect("a test table is small"),
            bytes: match self.want_keys(source) {
                true => seen.iter().map(|item| source.key_of(item).size() as u64).sum(),
                false => seen.iter().map(|item| item.size() as u64).sum(),
            },
        };
        prop_assert_eq!(page, &expected);
        Ok(rest)
    }
}

/// A filter names no key attribute, bounds are in order, and only texts and bytes have beginnings.
fn is_valid(query: &Query, source: &Source<'_>) -> bool {
    let paths = query.filter.as_ref().map(paths_of).unwrap_or_default();
    let mut key = source.key.attributes();
    if key.any(|attribute| paths.iter().any(|path| path.root == attribute.name)) {
        return false;
    }
    match &query.key.sort {
        Some((_, SortCondition::Between(low, high))) => order(low, high).is_le(),
        Some((_, SortCondition::BeginsWith(prefix))) => !matches!(prefix, Value::N(_)),
        _ => true,
    }
}

fn matching(items: &[Item], query: &Query, source: &Source<'_>) -> Vec<Item> {
    let (partition, value) = &query.key.partition;
    let inside = items.iter().filter(|item| item.get(partition) == Some(value));
    let inside = inside.filter(|item| {
        let Some((_, condition)) = &query.key.sort else { return true };
        let sort = source.key.sort.as_ref().and_then(|sort| item.get(&sort.name));
        sort.is_some_and(|sort| obeys(sort, condition))
    });
    inside.cloned().collect()
}

fn obeys(sort: &Value, condition: &SortCondition) -> bool {
    match condition {
        SortCondition::Eq(value) => order(sort, value).is_eq(),
        SortCondition::Lt(value) => order(sort, value).is_lt(),
        SortCondition::Le(value) => order(sort, value).is_le(),
        SortCondition::Gt(value) => order(sort, value).is_gt(),
        SortCondition::Ge(value) => order(sort, value).is_ge(),
        SortCondition::Between(low, high) => order(sort, low).is_ge() && order(sort, high).is_le(),
        SortCondition::BeginsWith(prefix) => match (sort, prefix) {
            (Value::S(sort), Value::S(prefix)) => sort.starts_with(&**prefix),
            (Value::B(sort), Value::B(prefix)) => sort.starts_with(prefix),
            _ => false,
        },
    }
}

fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::S(left), Value::S(right)) => left.as_bytes().cmp(right.as_bytes()),
        (Value::N(left), Value::N(right)) => left.cmp(right),
        (Value::B(left), Value::B(right)) => left.cmp(right),
        _ => unreachable!("a key attribute has one type"),
    }
}

fn assert_same_items(answered: &[Item], expected: &[Item]) -> Result<(), TestCaseError> {
    let sorted = |items: &[Item]| {
        let mut items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
        items.sort();
        items
    };
    prop_assert_eq!(sorted(answered), sorted(expected));
    Ok(())
}

fn unexpected(error: table::Error) -> TestCaseError {
    TestCaseError::fail(format!("a valid read failed: {error}"))
}

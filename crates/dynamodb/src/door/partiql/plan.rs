//! Turns a statement into a request of the engine. A SELECT with a whole key is a get, one with a
//! partition key is a query, any other is a scan; all other statements are one write.

use std::collections::BTreeSet;

use table::{
    Check, Comparator, Condition, Delete, Get, Item, KeyCondition, KeySpec, Operand, Page, Path,
    Put, Query, Return, Scan, SortCondition, Step, TableSpec, TransactItem, Update, Value,
    check_paths,
};

use super::ExecuteStatement;
use super::parse::{SelectStatement, Statement, statement};
use crate::door::Door;
use crate::door::fault::Fault;
use crate::door::items::telling;
use crate::door::pages::check_projected;
use crate::door::read::JsonValue;

/// The request.
pub(super) enum Plan {
    Get(Get, Shape),
    Query(Query, Shape),
    Scan(Scan, Shape),
    Write(TransactItem),
}

/// The values of a SELECT, each returned under the last name of its path: `m.k` as `k`, `m.l[0]` as
/// `l[0]`. Whole items if the SELECT names no value.
pub(super) struct Shape(Vec<Path>);

impl Shape {
    /// The attributes that contain the values.
    fn roots(&self) -> Vec<Path> {
        let roots: BTreeSet<&str> = self.0.iter().map(|path| path.root.as_str()).collect();
        roots.into_iter().map(Path::from).collect()
    }

    /// The returned form of an item with these attributes.
    pub(super) fn item(&self, item: Item) -> Item {
        if self.0.iter().all(|path| path.steps.is_empty()) {
            return item;
        }
        let found =
            self.0.iter().filter_map(|path| Some((name_of(path), path.find(&item)?.clone())));
        found.collect()
    }

    /// The same for a page.
    pub(super) fn page(&self, (mut page, fetched): (Page, Vec<u32>)) -> (Page, Vec<u32>) {
        page.items = page.items.into_iter().map(|item| self.item(item)).collect();
        (page, fetched)
    }
}

/// The last name of a path, with the list positions after it.
fn name_of(path: &Path) -> String {
    path.steps.iter().fold(path.root.clone(), |name, step| match step {
        Step::Field(field) => field.clone(),
        Step::Index(index) => format!("{name}[{index}]"),
    })
}

impl Door {
    pub(super) fn plan(&self, request: ExecuteStatement) -> Result<Plan, Fault> {
        let parameters = request.parameters.into_iter().flatten().map(|JsonValue(value)| value);
        let item_on_failure = telling(request.return_values_on_condition_check_failure.as_deref())?;
        let consistent = request.consistent_read.unwrap_or(false);
        let text = request.statement.ok_or_else(|| Fault::missing("statement"))?;
        let write = match statement(&text, parameters.collect())? {
            Statement::Select(select) => return self.plan_select(select, consistent),
            Statement::Insert { table, item } => {
                let table = self.name_of(Some(table.into()))?;
                let is_new = |spec: &TableSpec| Condition::NotExists(partition(spec));
                let condition = self.store.with_spec(&table, is_new)?;
                TransactItem::Put(Put::new(table, item).when(condition))
            }
            Statement::Update { table, actions, condition, returning } => {
                let (table, key, condition) = self.pinned(table, condition, true)?;
                let returning = read_returning(returning.as_deref())?;
                let update = Update { table, key, actions, condition, returning, item_on_failure };
                TransactItem::Update(update)
            }
            Statement::Delete { table, condition, returning } => {
                let (table, key, condition) = self.pinned(table, condition, false)?;
                let returning = read_returning(returning.as_deref())?;
                TransactItem::Delete(Delete { table, key, condition, returning, item_on_failure })
            }
            Statement::Exists { table, condition } => {
                let (table, key, condition) = self.pinned(table, condition, true)?;
                let condition = condition.ok_or_else(whole_key)?;
                TransactItem::Check(Check { table, key, condition, item_on_failure })
            }
        };
        Ok(Plan::Write(write))
    }

    /// The key that a condition fixes, and the rest of the condition; with `exists` also the
    /// condition that the item exists.
    fn pinned(
        &self,
        table: String,
        condition: Condition,
        exists: bool,
    ) -> Result<(String, Item, Option<Condition>), Fault> {
        let table = self.name_of(Some(table.into()))?;
        let (key, rest) = self.store.with_spec(&table, |spec| {
            let (key, mut rest) = pin(&spec.key, condition)?;
            if exists {
                rest.insert(0, Condition::Exists(partition(spec)));
            }
            Ok::<_, Fault>((key, rest))
        })??;
        Ok((table, key, rest.into_iter().reduce(Condition::and)))
    }

    fn plan_select(&self, mut select: SelectStatement, consistent: bool) -> Result<Plan, Fault> {
        let table = self.name_of(Some(select.table.into()))?;
        select.table = table.clone();
        self.store.with_spec(&table, |spec| plan_select(spec, select, consistent))?
    }
}

fn plan_select(spec: &TableSpec, select: SelectStatement, consistent: bool) -> Result<Plan, Fault> {
    let SelectStatement { table, index, paths, condition, order } = select;
    // The engine sees only whole attributes. Overlapping paths would each copy the whole attribute.
    check_paths(&paths)?;
    let shape = Shape(paths);
    let projection = shape.roots();
    let key = match &index {
        None => &spec.key,
        Some(name) => match spec.find_index(name) {
            Some((_, index)) => {
                check_projected(spec, index, &projection)?;
                &index.key
            }
            None => {
                return Err(Fault::invalid(format!(
                    "The table does not have the specified index: {name}"
                )));
            }
        },
    };
    if index.is_none()
        && order.is_none()
        && let Some(condition) = condition.clone()
        && let Ok((key, rest)) = pin(&spec.key, condition)
        && rest.is_empty()
    {
        return Ok(Plan::Get(Get { table, key, projection, consistent }, shape));
    }
    let found = condition.clone().and_then(|condition| stretch(key, condition));
    let descending = match (&found, order) {
        (_, None) => false,
        (Some(_), Some((name, descending))) if key.attributes().any(|own| own.name == name) => {
            descending
        }
        (_, Some(_)) => {
            return Err(Fault::invalid(
                "Must have WHERE clause in the statement when using ORDER BY clause, with an \
                 equality of the partition key; the order is by the sort key",
            ));
        }
    };
    let (limit, start_after) = (None, None);
    Ok(match found {
        Some((key, filter)) => {
            let query = Query {
                table,
                index,
                key,
                descending,
                limit,
                start_after,
                filter,
                projection,
                consistent,
            };
            Plan::Query(query, shape)
        }
        None => {
            let (segment, filter) = (None, condition);
            let scan =
                Scan { table, index, segment, limit, start_after, filter, projection, consistent };
            Plan::Scan(scan, shape)
        }
    })
}

/// The key condition within one partition, and the rest of the condition; `None` if the condition
/// fixes no partition, or filters by the key in a way that a key condition cannot express.
fn stretch(key: &KeySpec, condition: Condition) -> Option<(KeyCondition, Option<Condition>)> {
    let mut parts = Vec::new();
    split(condition, &mut parts);
    let value = take(&mut parts, |part| equals(part, &key.partition.name))?;
    let sort = key.sort.as_ref().and_then(|attribute| {
        let found = take(&mut parts, |part| sort_condition(part, &attribute.name))?;
        Some((attribute.name.clone(), found))
    });
    let mut paths = parts.iter().flat_map(Condition::paths);
    let is_key = |path: &Path| key.attributes().any(|attribute| attribute.name == path.root);
    if paths.any(is_key) {
        return None;
    }
    drop(paths);
    let key = KeyCondition { partition: (key.partition.name.clone(), value), sort };
    Some((key, parts.into_iter().reduce(Condition::and)))
}

fn partition(spec: &TableSpec) -> Path {
    Path::from(spec.key.partition.name.as_str())
}

/// The key that a condition fixes, and the other parts of the condition.
fn pin(key: &KeySpec, condition: Condition) -> Result<(Item, Vec<Condition>), Fault> {
    let mut parts = Vec::new();
    split(condition, &mut parts);
    let mut pinned = Item::new();
    for attribute in key.attributes() {
        let value = take(&mut parts, |part| equals(part, &attribute.name));
        pinned.insert(attribute.name.as_str(), value.ok_or_else(whole_key)?);
    }
    Ok((pinned, parts))
}

fn split(condition: Condition, parts: &mut Vec<Condition>) {
    match condition {
        Condition::And(left, right) => {
            split(*left, parts);
            split(*right, parts);
        }
        other => parts.push(other),
    }
}

/// Takes out the first part for which `find` returns a value.
fn take<T>(parts: &mut Vec<Condition>, find: impl Fn(&Condition) -> Option<T>) -> Option<T> {
    let (at, found) = parts.iter().enumerate().find_map(|(at, part)| Some((at, find(part)?)))?;
    parts.remove(at);
    Some(found)
}

/// The value that an attribute must equal.
fn equals(part: &Condition, name: &str) -> Option<Value> {
    match part {
        Condition::Compare(Operand::Path(path), Comparator::Eq, Operand::Value(value)) => {
            is_attribute(path, name).then(|| value.clone())
        }
        _ => None,
    }
}

fn sort_condition(part: &Condition, name: &str) -> Option<SortCondition> {
    match part {
        Condition::Compare(Operand::Path(path), comparator, Operand::Value(value))
            if is_attribute(path, name) =>
        {
            let value = value.clone();
            match comparator {
                Comparator::Eq => Some(SortCondition::Eq(value)),
                Comparator::Lt => Some(SortCondition::Lt(value)),
                Comparator::Le => Some(SortCondition::Le(value)),
                Comparator::Gt => Some(SortCondition::Gt(value)),
                Comparator::Ge => Some(SortCondition::Ge(value)),
                Comparator::Ne => None,
            }
        }
        Condition::Between(Operand::Path(path), Operand::Value(low), Operand::Value(high))
            if is_attribute(path, name) =>
        {
            Some(SortCondition::Between(low.clone(), high.clone()))
        }
        Condition::BeginsWith(Operand::Path(path), Operand::Value(prefix @ Value::S(_)))
            if is_attribute(path, name) =>
        {
            Some(SortCondition::BeginsWith(prefix.clone()))
        }
        _ => None,
    }
}

fn is_attribute(path: &Path, name: &str) -> bool {
    path.steps.is_empty() && path.root == name
}

fn read_returning(words: Option<&str>) -> Result<Return, Fault> {
    match words {
        None => Ok(Return::None),
        Some("ALL_OLD") => Ok(Return::AllOld),
        Some("ALL_NEW") => Ok(Return::AllNew),
        Some("MODIFIED_OLD") => Ok(Return::UpdatedOld),
        Some("MODIFIED_NEW") => Ok(Return::UpdatedNew),
        Some(other) => Err(Fault::invalid(format!("`RETURNING {other} *` is not known"))),
    }
}

/// The error for a statement that is not about exactly one item.
pub(super) fn whole_key() -> Fault {
    Fault::invalid("Where clause does not contain a mandatory equality on all key attributes")
}

//! Where the other implementation does not do what AWS does. Each with what AWS does.

use table::{
    Actions, Comparator, Condition, Get, Item, KeySpec, Operand, Path, Query, Return, SetValue,
    Step as PathStep, TableSpec, Term, TransactItem, TransactWrite, Update, Value,
};

use super::Step;
use crate::support::generate::expressions::paths_of;

/// Whether AWS refuses this request although the other one may take it.
pub(crate) fn is_refused_by_aws(step: &Step, specs: &[TableSpec]) -> bool {
    let refused = |table: &str, condition: &Option<Condition>| {
        condition.as_ref().is_some_and(|condition| {
            is_refused(condition) || enters_key(&paths_of(condition), table, specs)
        })
    };
    match step {
        Step::Put(put) => refused(&put.table, &put.condition),
        Step::Update(update) => {
            refused(&update.table, &update.condition)
                || edits_key(update, specs)
                || conflict(&edited(&update.actions))
                || appends_twice(&update.actions)
        }
        Step::Delete(delete) => refused(&delete.table, &delete.condition),
        Step::WildQuery(query) => refused(&query.table, &query.filter),
        Step::Get(get) => conflict(&get.projection.iter().collect::<Vec<_>>()),
        Step::Transact(transaction) => transaction.writes.iter().any(|write| match write {
            // AWS asks for an expression here.
            TransactItem::Update(update) => update.actions == Actions::default(),
            TransactItem::Check(check) => is_refused(&check.condition),
            TransactItem::Put(_) | TransactItem::Delete(_) => false,
        }),
        Step::BatchWrite(_)
        | Step::TransactGet(_)
        | Step::TransactAgain
        | Step::Query(_)
        | Step::Scan(_) => false,
    }
}

/// AWS wants the first operand to be another path than the rest, literals of a type that can be
/// compared so, and bounds in order. The other one looks at bounds, but not in a transaction.
fn is_refused(condition: &Condition) -> bool {
    let twice = |first: &Operand, rest: &[&Operand]| {
        matches!(first, Operand::Path(_)) && rest.contains(&first)
    };
    let unordered = |operands: &[&Operand]| {
        operands.iter().any(|operand| match operand {
            Operand::Value(value) => !matches!(value, Value::S(_) | Value::N(_) | Value::B(_)),
            Operand::Path(_) | Operand::Size(_) => false,
        })
    };
    match condition {
        Condition::Compare(left, how, right) => {
            let orders = !matches!(how, Comparator::Eq | Comparator::Ne);
            twice(left, &[right]) || orders && unordered(&[left, right])
        }
        Condition::Between(middle, low, high) => {
            let crossed = match (low, high) {
                (Operand::Value(low), Operand::Value(high)) => !is_in_order(low, high),
                (_, _) => false,
            };
            twice(middle, &[low, high]) || unordered(&[middle, low, high]) || crossed
        }
        Condition::In(one, many) => twice(one, &many.iter().collect::<Vec<_>>()),
        Condition::BeginsWith(whole, part) => {
            let no_text = |operand: &Operand| match operand {
                Operand::Value(value) => !matches!(value, Value::S(_) | Value::B(_)),
                Operand::Size(_) => true,
                Operand::Path(_) => false,
            };
            twice(whole, &[part]) || no_text(whole) || no_text(part)
        }
        Condition::Contains(whole, part) => twice(whole, &[part]),
        Condition::And(left, right) | Condition::Or(left, right) => {
            is_refused(left) || is_refused(right)
        }
        Condition::Not(inner) => is_refused(inner),
        Condition::Exists(_) | Condition::NotExists(_) | Condition::Type(..) => false,
    }
}

fn is_in_order(low: &Value, high: &Value) -> bool {
    match (low, high) {
        (Value::S(low), Value::S(high)) => low <= high,
        (Value::N(low), Value::N(high)) => low <= high,
        (Value::B(low), Value::B(high)) => low <= high,
        (_, _) => false,
    }
}

/// Key attributes of tables and indexes have no inside. The other one says so only of filters.
fn enters_key(paths: &[&Path], table: &str, specs: &[TableSpec]) -> bool {
    let spec = specs.iter().find(|spec| spec.name == table);
    let keys = spec.into_iter().flat_map(|spec| {
        std::iter::once(&spec.key).chain(spec.indexes.iter().map(|index| &index.key))
    });
    let mut attributes = keys.flat_map(KeySpec::attributes);
    attributes.any(|attribute| {
        paths.iter().any(|path| path.root == attribute.name && !path.steps.is_empty())
    })
}

/// AWS refuses to edit a key before it looks at the item; the other one looks first.
fn edits_key(update: &Update, specs: &[TableSpec]) -> bool {
    let spec = specs.iter().find(|spec| spec.name == update.table);
    let mut key = spec.into_iter().flat_map(|spec| spec.key.attributes());
    key.any(|attribute| edited(&update.actions).iter().any(|path| path.root == attribute.name))
}

/// AWS refuses to take one value for a map and for a list.
fn conflict(paths: &[&Path]) -> bool {
    let same_way = |one: &Path, two: &Path, steps: usize| {
        one.root == two.root && one.steps.iter().take(steps).eq(two.steps.iter().take(steps))
    };
    paths.iter().any(|one| {
        paths.iter().any(|two| {
            let mut pairs = one.steps.iter().zip(&two.steps).enumerate();
            pairs.any(|(at, pair)| {
                matches!(pair, (PathStep::Field(_), PathStep::Index(_))) && same_way(one, two, at)
            })
        })
    })
}

/// AWS refuses to append to what was appended to.
fn appends_twice(actions: &Actions) -> bool {
    fn appends(term: &Term) -> usize {
        match term {
            Term::ListAppend(first, second) => 1 + appends(first).max(appends(second)),
            Term::IfNotExists(_, otherwise) => appends(otherwise),
            Term::Path(_) | Term::Value(_) => 0,
        }
    }
    actions.set.iter().any(|(_, value)| match value {
        SetValue::Term(term) => appends(term) > 1,
        SetValue::Plus(left, right) | SetValue::Minus(left, right) => {
            appends(left) > 1 || appends(right) > 1
        }
    })
}

/// Whether all that is done is to take away.
pub(crate) fn only_removes(actions: &Actions) -> bool {
    !edited(actions).is_empty() && actions.set.is_empty() && actions.add.is_empty()
}

fn edited(actions: &Actions) -> Vec<&Path> {
    let paths = actions.set.iter().map(|(path, _)| path).chain(&actions.remove);
    paths.chain(actions.add.iter().chain(&actions.delete).map(|(path, _)| path)).collect()
}

/// An empty text in a transaction where a key has another type: for the other one the whole call is
/// invalid, for us one write. AWS says so of empty keys of the right type, as we do.
pub(crate) fn names_empty_text(transaction: &TransactWrite) -> bool {
    format!("{transaction:?}").contains("S(\"\")")
}

/// `ALL_OLD` of an update that makes the item: AWS answers nothing, the other one the key.
pub(crate) fn is_made_from_nothing<E, F>(
    update: &Update,
    ours: &Result<Option<Item>, E>,
    other: &Result<Option<Item>, F>,
) -> bool {
    let key = matches!(other, Ok(Some(item)) if *item == update.key);
    update.returning == Return::AllOld && matches!(ours, Ok(None)) && key
}

/// Of an edited list element AWS answers the element alone, the other one its whole attribute.
pub(crate) fn answers_elements(update: &Update) -> bool {
    let edited = edited(&update.actions);
    let mut steps = edited.iter().flat_map(|path| &path.steps);
    matches!(update.returning, Return::UpdatedOld | Return::UpdatedNew)
        && steps.any(|step| matches!(step, PathStep::Index(_)))
}

/// The other one adds the key to what is projected in a transaction; AWS does not.
pub(crate) fn without_projection(gets: &[Get]) -> Vec<Get> {
    gets.iter().map(|get| Get { projection: Vec::new(), ..get.clone() }).collect()
}

/// A partition of a table without sort key has one item. The other one answers it again when asked
/// to go on behind it; AWS answers an empty page.
pub(crate) fn repeats_its_only_item(query: &Query, specs: &[TableSpec]) -> bool {
    let spec = specs.iter().find(|spec| spec.name == query.table);
    query.index.is_none() && spec.is_some_and(|spec| spec.key.sort.is_none())
}

//! What conditions, updates and projections mean, written down a second time and without haste:
//! no shared code with the engine beyond the syntax tree and the order of numbers.

use std::cmp::Ordering;

use table::{
    Actions, Comparator, Condition, Item, Number, Operand, Path, SetValue, Step, Term, Value,
};

/// Whether `condition` holds of `item`.
pub(crate) fn holds(condition: &Condition, item: &Item) -> bool {
    let value = |operand: &Operand| resolve(operand, item);
    match condition {
        Condition::Compare(left, how, right) => compare(*how, value(left), value(right)),
        Condition::Between(middle, low, high) => {
            compare(Comparator::Le, value(low), value(middle))
                && compare(Comparator::Le, value(middle), value(high))
        }
        Condition::In(one, many) => {
            many.iter().any(|other| compare(Comparator::Eq, value(one), value(other)))
        }
        Condition::Exists(path) => find(path, item).is_some(),
        Condition::NotExists(path) => find(path, item).is_none(),
        Condition::Type(of, kind) => value(of).map(|value| value.kind()) == Some(*kind),
        Condition::BeginsWith(whole, part) => match (value(whole), value(part)) {
            (Some(Value::S(whole)), Some(Value::S(part))) => whole.find(&*part) == Some(0),
            (Some(Value::B(whole)), Some(Value::B(part))) => {
                whole.len() >= part.len() && whole.slice(..part.len()) == part
            }
            _ => false,
        },
        Condition::Contains(whole, part) => match (value(whole), value(part)) {
            (Some(Value::S(whole)), Some(Value::S(part))) => whole.split(&*part).nth(1).is_some(),
            (Some(Value::B(whole)), Some(Value::B(part))) => {
                (0..whole.len()).any(|from| whole.slice(from..).starts_with(&part))
            }
            (Some(Value::Ss(set)), Some(Value::S(part))) => set.iter().any(|held| **held == *part),
            (Some(Value::Ns(set)), Some(Value::N(part))) => set.iter().any(|held| *held == part),
            (Some(Value::Bs(set)), Some(Value::B(part))) => set.iter().any(|held| *held == part),
            (Some(Value::L(list)), Some(part)) => list.contains(&part),
            _ => false,
        },
        Condition::And(left, right) => holds(left, item) & holds(right, item),
        Condition::Or(left, right) => holds(left, item) | holds(right, item),
        Condition::Not(inner) => !holds(inner, item),
    }
}

fn resolve(operand: &Operand, item: &Item) -> Option<Value> {
    match operand {
        Operand::Value(value) => Some(value.clone()),
        Operand::Path(path) => find(path, item).cloned(),
        Operand::Size(path) => {
            let size = match find(path, item)? {
                Value::S(text) => text.chars().map(char::len_utf16).sum(),
                Value::B(bytes) => bytes.len(),
                Value::M(map) => map.iter().count(),
                Value::L(list) => list.len(),
                Value::Ss(set) => set.len(),
                Value::Ns(set) => set.len(),
                Value::Bs(set) => set.len(),
                Value::N(_) | Value::Bool(_) | Value::Null => return None,
            };
            Some(Value::from(u32::try_from(size).expect("test values are small")))
        }
    }
}

fn compare(how: Comparator, left: Option<Value>, right: Option<Value>) -> bool {
    let (Some(left), Some(right)) = (left, right) else { return how == Comparator::Ne };
    let order = match (&left, &right) {
        (Value::S(left), Value::S(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Value::N(left), Value::N(right)) => Some(left.cmp(right)),
        (Value::B(left), Value::B(right)) => Some(left.cmp(right)),
        _ => None,
    };
    match how {
        Comparator::Eq => left == right,
        Comparator::Ne => left != right,
        Comparator::Lt => order == Some(Ordering::Less),
        Comparator::Gt => order == Some(Ordering::Greater),
        Comparator::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Comparator::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

fn find<'a>(path: &Path, item: &'a Item) -> Option<&'a Value> {
    let mut value = item.get(&path.root)?;
    for step in &path.steps {
        value = match (step, value) {
            (Step::Field(name), Value::M(map)) => map.get(name)?,
            (Step::Index(index), Value::L(list)) => list.get(*index as usize)?,
            _ => return None,
        };
    }
    Some(value)
}

/// An update that the item as it is does not allow.
#[derive(Debug)]
pub(crate) struct Impossible;

/// What `before` becomes: values are worked out on it as it was; then elements are replaced, new
/// ones appended, and last of all removed, from behind.
pub(crate) fn apply(actions: &Actions, before: &Item) -> Result<Item, Impossible> {
    let mut puts: Vec<(Path, Value)> = Vec::new();
    let mut removals: Vec<Path> = actions.remove.clone();
    for (path, value) in &actions.set {
        puts.push((path.clone(), set_value(value, before)?));
    }
    for (path, value) in &actions.add {
        puts.push((path.clone(), sum(find(path, before), value)?));
    }
    for (path, value) in &actions.delete {
        match difference(find(path, before), value)? {
            Some(rest) => puts.push((path.clone(), rest)),
            None => removals.push(path.clone()),
        }
    }
    for path in puts.iter().map(|(path, _)| path).chain(&removals) {
        check_way(path, before)?;
    }
    let mut after = before.clone();
    puts.sort_by(|(left, _), (right, _)| left.cmp(right));
    let (present, absent): (Vec<_>, Vec<_>) =
        puts.into_iter().partition(|(path, _)| find(path, before).is_some());
    for (path, value) in present.into_iter().chain(absent) {
        put_at(&mut after, &path, value);
    }
    removals.retain(|path| find(path, before).is_some());
    removals.sort();
    for path in removals.iter().rev() {
        remove_at(&mut after, path);
    }
    Ok(after)
}

/// All but the last step must lead somewhere, and the last must fit what is there.
fn check_way(path: &Path, item: &Item) -> Result<(), Impossible> {
    let Some((last, way)) = path.steps.split_last() else { return Ok(()) };
    let parent = Path { root: path.root.clone(), steps: way.to_vec() };
    match (find(&parent, item), last) {
        (Some(Value::M(_)), Step::Field(_)) | (Some(Value::L(_)), Step::Index(_)) => Ok(()),
        _ => Err(Impossible),
    }
}

fn parent_of<'a>(item: &'a mut Item, path: &Path) -> Option<(&'a mut Value, Step)> {
    let (last, way) = path.steps.split_last()?;
    let mut value = item.get_mut(&path.root)?;
    for step in way {
        value = match (step, value) {
            (Step::Field(name), Value::M(map)) => map.get_mut(name)?,
            (Step::Index(index), Value::L(list)) => list.get_mut(*index as usize)?,
            _ => return None,
        };
    }
    Some((value, last.clone()))
}

fn put_at(item: &mut Item, path: &Path, value: Value) {
    match parent_of(item, path) {
        None => {
            item.insert(path.root.clone(), value);
        }
        Some((Value::M(map), Step::Field(name))) => {
            map.insert(name, value);
        }
        Some((Value::L(list), Step::Index(index))) => match list.get_mut(index as usize) {
            Some(element) => *element = value,
            None => list.push(value),
        },
        Some(_) => unreachable!("the way was checked"),
    }
}

fn remove_at(item: &mut Item, path: &Path) {
    match parent_of(item, path) {
        None => {
            item.remove(&path.root);
        }
        Some((Value::M(map), Step::Field(name))) => {
            map.remove(&name);
        }
        Some((Value::L(list), Step::Index(index))) => {
            list.remove(index as usize);
        }
        Some(_) => unreachable!("the way was checked"),
    }
}

fn set_value(value: &SetValue, before: &Item) -> Result<Value, Impossible> {
    let number = |term: &Term| match self::term(term, before)? {
        Value::N(number) => Ok(number),
        _ => Err(Impossible),
    };
    let result = |number: Result<Number, _>| number.map(Value::N).map_err(|_| Impossible);
    match value {
        SetValue::Term(term) => self::term(term, before),
        SetValue::Plus(left, right) => result(number(left)?.checked_add(number(right)?)),
        SetValue::Minus(left, right) => result(number(left)?.checked_sub(number(right)?)),
    }
}

fn term(term: &Term, before: &Item) -> Result<Value, Impossible> {
    match term {
        Term::Value(value) => Ok(value.clone()),
        Term::Path(path) => find(path, before).cloned().ok_or(Impossible),
        Term::IfNotExists(path, otherwise) => match find(path, before) {
            Some(value) => Ok(value.clone()),
            None => self::term(otherwise, before),
        },
        Term::ListAppend(first, second) => {
            match (self::term(first, before)?, self::term(second, before)?) {
                (Value::L(first), Value::L(second)) => Ok(Value::L([first, second].concat())),
                _ => Err(Impossible),
            }
        }
    }
}

fn sum(before: Option<&Value>, value: &Value) -> Result<Value, Impossible> {
    let Some(before) = before else { return Ok(value.clone()) };
    Ok(match (before.clone(), value.clone()) {
        (Value::N(one), Value::N(two)) => Value::N(one.checked_add(two).map_err(|_| Impossible)?),
        (Value::Ss(one), Value::Ss(two)) => Value::Ss(one.into_iter().chain(two).collect()),
        (Value::Ns(one), Value::Ns(two)) => Value::Ns(one.into_iter().chain(two).collect()),
        (Value::Bs(one), Value::Bs(two)) => Value::Bs(one.into_iter().chain(two).collect()),
        _ => return Err(Impossible),
    })
}

/// What is left of a set; nothing if that is empty.
fn difference(before: Option<&Value>, value: &Value) -> Result<Option<Value>, Impossible> {
    let Some(before) = before else { return Ok(None) };
    let mut before = before.clone();
    let empty = match (&mut before, value) {
        (Value::Ss(left), Value::Ss(out)) => {
            left.retain(|element| !out.contains(element));
            left.is_empty()
        }
        (Value::Ns(left), Value::Ns(out)) => {
            left.retain(|element| !out.contains(element));
            left.is_empty()
        }
        (Value::Bs(left), Value::Bs(out)) => {
            left.retain(|element| !out.contains(element));
            left.is_empty()
        }
        _ => return Err(Impossible),
    };
    Ok((!empty).then_some(before))
}

/// Whether all that is done is to take away.
pub(crate) fn only_removes(actions: &Actions) -> bool {
    !edited(actions).is_empty() && actions.set.is_empty() && actions.add.is_empty()
}

/// The paths that an update edits.
pub(crate) fn edited(actions: &Actions) -> Vec<Path> {
    let set = actions.set.iter().map(|(path, _)| path.clone());
    let add = actions.add.iter().map(|(path, _)| path.clone());
    let delete = actions.delete.iter().map(|(path, _)| path.clone());
    set.chain(add).chain(delete).chain(actions.remove.clone()).collect()
}

/// The parts of `item` at `paths`, with what stands around them.
pub(crate) fn cut(paths: &[Path], item: &Item) -> Item {
    let mut parts = Item::new();
    for (name, value) in item.iter() {
        let ways: Vec<&[Step]> = paths
            .iter()
            .filter(|path| path.root == name)
            .map(|path| path.steps.as_slice())
            .collect();
        if let Some(part) = part(value, &ways) {
            parts.insert(name, part);
        }
    }
    parts
}

fn part(value: &Value, ways: &[&[Step]]) -> Option<Value> {
    if ways.iter().any(|way| way.is_empty()) {
        return Some(value.clone());
    }
    let behind = |step: &Step| -> Vec<&[Step]> {
        ways.iter()
            .filter_map(|way| way.split_first().filter(|(first, _)| *first == step))
            .map(|(_, rest)| rest)
            .collect()
    };
    match value {
        Value::M(map) => {
            let parts = map.iter().filter_map(|(name, value)| {
                Some((name.to_owned(), part(value, &behind(&Step::Field(name.to_owned())))?))
            });
            let parts: Item = parts.collect();
            (!parts.is_empty()).then_some(Value::M(parts))
        }
        Value::L(list) => {
            let parts = (0..)
                .zip(list)
                .filter_map(|(index, value)| part(value, &behind(&Step::Index(index))));
            let parts: Vec<Value> = parts.collect();
            (!parts.is_empty()).then_some(Value::L(parts))
        }
        _ => None,
    }
}

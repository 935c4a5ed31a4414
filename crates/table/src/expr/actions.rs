//! Updates: what DynamoDB would refuse to try, and what an item becomes.
//!
//! Every value is worked out on the item as it was; then all paths are edited at once, so that
//! list positions mean what they meant before. Refusals are in DynamoDB's own words.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::expr::condition::wrong_operand;
use crate::expr::path::{check_paths, position, project};
use crate::expr::{Actions, Path, SetValue, Step, Term};
use crate::limits::ITEM_BYTES_MAX;
use crate::number::Number;
use crate::spec::KeySpec;
use crate::validate::{check_value, update_too_large};
use crate::value::{Item, Name, Value, ValueType};

impl Actions {
    /// Whether DynamoDB would take these actions on a table with this key; looks at no item.
    /// No action at all is fine: such an update makes the item when it is missing.
    pub(crate) fn check(&self, key: &KeySpec) -> Result<(), Error> {
        self.check_form()?;
        let touched = self.touched();
        for attribute in key.attributes() {
            if touched.iter().any(|path| path.root == attribute.name) {
                return Err(Error::invalid(format!(
                    "One or more parameter values were invalid: Cannot update attribute {}. \
                     This attribute is part of the key",
                    attribute.name
                )));
            }
        }
        Ok(())
    }

    /// The part of [`Actions::check`] that needs no table.
    pub(crate) fn check_form(&self) -> Result<(), Error> {
        check_paths(&self.touched())?;
        for (_, value) in self.add.iter().chain(&self.delete) {
            check_value(value)?;
        }
        for (_, value) in &self.add {
            check_added(value, "ADD")?;
        }
        for (_, value) in &self.delete {
            check_added(value, "DELETE")?;
        }
        for (_, value) in &self.set {
            value.check()?;
        }
        Ok(())
    }

    /// Whether all that is done is to take away. On a missing item such actions do nothing.
    pub(crate) fn only_remove(&self) -> bool {
        let takes = !self.remove.is_empty() || !self.delete.is_empty();
        takes && self.set.is_empty() && self.add.is_empty()
    }

    /// What `before` becomes. The actions must have passed [`Actions::check`].
    pub(crate) fn apply(&self, before: &Item) -> Result<Item, Error> {
        let mut roots: BTreeMap<&str, Edit<'_>> = BTreeMap::new();
        // All of it will be in the item. A short text can copy one large attribute hundreds of
        // times, so the sum is checked before the next copy.
        let mut set_bytes = 0;
        for (path, value) in &self.set {
            let value = value.work_out(before)?;
            set_bytes += value.size();
            if set_bytes > ITEM_BYTES_MAX {
                return Err(update_too_large());
            }
            plan(&mut roots, path, Change::Put(value));
        }
        for path in &self.remove {
            plan(&mut roots, path, Change::Remove);
        }
        for (path, value) in &self.add {
            plan(&mut roots, path, Change::Put(added(path.find(before), value)?));
        }
        for (path, value) in &self.delete {
            plan(&mut roots, path, taken_out(path.find(before), value)?);
        }
        let mut after = before.clone();
        edit_fields(roots, &mut after)?;
        Ok(after)
    }

    /// The paths that are edited, clause by clause.
    pub(crate) fn touched(&self) -> Vec<Path> {
        let set = self.set.iter().map(|(path, _)| path);
        let add = self.add.iter().map(|(path, _)| path);
        let delete = self.delete.iter().map(|(path, _)| path);
        set.chain(&self.remove).chain(add).chain(delete).cloned().collect()
    }

    /// The edited parts of `item`: what DynamoDB answers as `UPDATED_OLD` of the item before and
    /// as `UPDATED_NEW` of the item after.
    pub(crate) fn project_updated(&self, item: &Item) -> Item {
        let touched = self.touched();
        if touched.is_empty() { Item::new() } else { project(&touched, item) }
    }
}

impl SetValue {
    fn check(&self) -> Result<(), Error> {
        let (sign, left, right) = match self {
            SetValue::Term(term) => return term.check(),
            SetValue::Plus(left, right) => ("+", left, right),
            SetValue::Minus(left, right) => ("-", left, right),
        };
        for term in [left, right] {
            term.check()?;
            check_literal(term, sign, ValueType::N)?;
        }
        Ok(())
    }

    fn work_out(&self, before: &Item) -> Result<Value, Error> {
        match self {
            SetValue::Term(term) => Ok(term.work_out(before)?.into_owned()),
            SetValue::Plus(left, right) => {
                Ok(Value::N(left.number(before)?.checked_add(right.number(before)?)?))
            }
            SetValue::Minus(left, right) => {
                Ok(Value::N(left.number(before)?.checked_sub(right.number(before)?)?))
            }
        }
    }
}

impl Term {
    fn check(&self) -> Result<(), Error> {
        match self {
            Term::Path(path) => path.check(),
            Term::Value(value) => check_value(value),
            Term::IfNotExists(path, otherwise) => {
                path.check()?;
                otherwise.check()
            }
            Term::ListAppend(first, second) => {
                for term in [first, second] {
                    if term.appends() {
                        return Err(Error::invalid(
                            "The function is not allowed to be used this way in an expression; \
                             function: list_append",
                        ));
                    }
                    term.check()?;
                    check_literal(term, "list_append", ValueType::L)?;
                }
                Ok(())
            }
        }
    }

    /// Whether a list is appended to in it.
    fn appends(&self) -> bool {
        match self {
            Term::ListAppend(_, _) => true,
            Term::IfNotExists(_, otherwise) => otherwise.appends(),
            Term::Path(_) | Term::Value(_) => false,
        }
    }

    fn number(&self, before: &Item) -> Result<Number, Error> {
        self.work_out(before)?.as_n().copied().ok_or_else(wrong_type)
    }

    fn work_out<'a>(&'a self, before: &'a Item) -> Result<Cow<'a, Value>, Error> {
        match self {
            Term::Path(path) => path.find(before).map(Cow::Borrowed).ok_or_else(|| {
                Error::invalid(
                    "The provided expression refers to an attribute that does not exist in the \
                     item",
                )
            }),
            Term::Value(value) => Ok(Cow::Borrowed(value)),
            Term::IfNotExists(path, otherwise) => match path.find(before) {
                Some(value) => Ok(Cow::Borrowed(value)),
                None => otherwise.work_out(before),
            },
            Term::ListAppend(first, second) => {
                match (first.work_out(before)?.into_owned(), second.work_out(before)?.into_owned())
                {
                    (Value::L(mut first), Value::L(second)) => {
                        first.extend(second);
                        let list = Value::L(first);
                        if list.size() > ITEM_BYTES_MAX {
                            return Err(update_too_large());
                        }
                        Ok(Cow::Owned(list))
                    }
                    (_, _) => Err(wrong_type()),
                }
            }
        }
    }
}

fn check_literal(term: &Term, name: &str, wanted: ValueType) -> Result<(), Error> {
    match term {
        Term::Value(value) if value.kind() != wanted => {
            Err(wrong_operand("operator or function", name, value.kind().name()))
        }
        Term::Path(_) | Term::Value(_) | Term::IfNotExists(_, _) | Term::ListAppend(_, _) => Ok(()),
    }
}

/// `ADD` takes a number or a set, `DELETE` a set. DynamoDB spells the types out here.
fn check_added(value: &Value, operator: &str) -> Result<(), Error> {
    let kind = match value {
        Value::Ss(_) | Value::Ns(_) | Value::Bs(_) => return Ok(()),
        Value::N(_) if operator == "ADD" => return Ok(()),
        Value::N(_) => "NUMBER",
        Value::S(_) => "STRING",
        Value::B(_) => "Binary",
        Value::Bool(_) => "BOOL",
        Value::Null => "NULL",
        Value::M(_) => "MAP",
        Value::L(_) => "LIST",
    };
    // Of `DELETE` it names the types of `ADD` too.
    Err(wrong_operand("operator", operator, &format!("{kind}, typeSet: ALLOWED_FOR_ADD_OPERAND")))
}

fn added(before: Option<&Value>, value: &Value) -> Result<Value, Error> {
    match (before, value) {
        (None, value) => Ok(value.clone()),
        (Some(Value::N(before)), Value::N(value)) => Ok(Value::N(before.checked_add(*value)?)),
        (Some(Value::Ss(before)), Value::Ss(more)) => Ok(Value::Ss(before | more)),
        (Some(Value::Ns(before)), Value::Ns(more)) => Ok(Value::Ns(before | more)),
        (Some(Value::Bs(before)), Value::Bs(more)) => Ok(Value::Bs(before | more)),
        (Some(_), _) => Err(wrong_type()),
    }
}

fn taken_out(before: Option<&Value>, value: &Value) -> Result<Change, Error> {
    match (before, value) {
        (None, _) => Ok(Change::Remove),
        (Some(Value::Ss(before)), Value::Ss(less)) => Ok(rest(before - less, Value::Ss)),
        (Some(Value::Ns(before)), Value::Ns(less)) => Ok(rest(before - less, Value::Ns)),
        (Some(Value::Bs(before)), Value::Bs(less)) => Ok(rest(before - less, Value::Bs)),
        (Some(_), _) => Err(wrong_type()),
    }
}

/// No stored set is empty: with its last element goes the attribute.
fn rest<T>(left: BTreeSet<T>, wrap: impl FnOnce(BTreeSet<T>) -> Value) -> Change {
    if left.is_empty() { Change::Remove } else { Change::Put(wrap(left)) }
}

fn wrong_type() -> Error {
    Error::invalid("An operand in the update expression has an incorrect data type")
}

/// What happens at the end of a path.
enum Change {
    Put(Value),
    Remove,
}

/// What happens to one value: a change of it, or edits inside it.
#[derive(Default)]
struct Edit<'a> {
    change: Option<Change>,
    fields: BTreeMap<&'a str, Edit<'a>>,
    elements: BTreeMap<u32, Edit<'a>>,
}

fn plan<'a>(roots: &mut BTreeMap<&'a str, Edit<'a>>, path: &'a Path, change: Change) {
    let mut edit = roots.entry(&path.root).or_default();
    for step in &path.steps {
        edit = match step {
            Step::Field(name) => edit.fields.entry(name).or_default(),
            Step::Index(index) => edit.elements.entry(*index).or_default(),
        };
    }
    edit.change = Some(change);
}

/// Attributes that are put or removed one by one. Each moves those behind it, so where more are
/// edited the map is built anew: in a map of 50 000, as many edits would take seconds.
const EDITS_IN_PLACE_MAX: usize = 64;

fn edit_fields(edits: BTreeMap<&str, Edit<'_>>, map: &mut Item) -> Result<(), Error> {
    let in_place = edits.len() <= EDITS_IN_PLACE_MAX;
    let (mut put, mut removed) = (Vec::new(), BTreeSet::new());
    for (name, edit) in edits {
        match edit.change {
            Some(Change::Put(value)) if in_place => drop(map.insert(name, value)),
            Some(Change::Put(value)) => put.push((Name::from(name), value)),
            Some(Change::Remove) if in_place => drop(map.remove(name)),
            Some(Change::Remove) => drop(removed.insert(name)),
            None => edit_inside(edit.fields, edit.elements, map.get_mut(name))?,
        }
    }
    if !in_place {
        let kept = std::mem::take(map).into_iter().filter(|(name, _)| !removed.contains(&**name));
        *map = kept.chain(put).collect();
    }
    Ok(())
}

/// Positions are those of the list before: removals close up only after all else was edited, and
/// what is put behind the end is appended in the order of its positions.
fn edit_elements(edits: BTreeMap<u32, Edit<'_>>, list: &mut Vec<Value>) -> Result<(), Error> {
    let mut removed = BTreeSet::new();
    let mut appended = Vec::new();
    for (index, edit) in edits {
        let index = position(index);
        match (edit.change, list.get_mut(index)) {
            (Some(Change::Put(value)), Some(element)) => *element = value,
            (Some(Change::Put(value)), None) => appended.push(value),
            (Some(Change::Remove), _) => {
                removed.insert(index);
            }
            (None, element) => edit_inside(edit.fields, edit.elements, element)?,
        }
    }
    let mut index = 0;
    list.retain(|_| {
        let kept = !removed.contains(&index);
        index += 1;
        kept
    });
    list.extend(appended);
    Ok(())
}

fn edit_inside(
    fields: BTreeMap<&str, Edit<'_>>,
    elements: BTreeMap<u32, Edit<'_>>,
    value: Option<&mut Value>,
) -> Result<(), Error> {
    match value {
        Some(Value::M(map)) if elements.is_empty() => edit_fields(fields, map),
        Some(Value::L(list)) if fields.is_empty() => edit_elements(elements, list),
        Some(_) | None => Err(Error::invalid(
            "The document path provided in the update expression is invalid for update",
        )),
    }
}

//! Document paths: how they are made, followed, kept apart, and used to cut an item down.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::Error;
use crate::expr::{Path, Step};
use crate::limits::DEPTH_MAX;
use crate::value::{Item, Value};

impl From<&str> for Path {
    /// The whole text is one attribute name; dots in it are part of the name.
    fn from(name: &str) -> Path {
        Path { root: name.to_owned(), steps: Vec::new() }
    }
}

impl From<String> for Path {
    /// The whole text is one attribute name; dots in it are part of the name.
    fn from(name: String) -> Path {
        Path { root: name, steps: Vec::new() }
    }
}

impl Path {
    /// The field `name` of the map at this path.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>) -> Path {
        self.steps.push(Step::Field(name.into()));
        self
    }

    /// The element at `index` (from 0) of the list at this path.
    #[must_use]
    pub fn at(mut self, index: u32) -> Path {
        self.steps.push(Step::Index(index));
        self
    }

    /// The value this path leads to in `item`.
    pub fn find<'a>(&self, item: &'a Item) -> Option<&'a Value> {
        self.steps.iter().try_fold(item.get(&self.root)?, |value, step| match (step, value) {
            (Step::Field(name), Value::M(map)) => map.get(name),
            (Step::Index(index), Value::L(list)) => list.get(position(*index)),
            (Step::Field(_) | Step::Index(_), _) => None,
        })
    }

    /// Whether the path is as long as DynamoDB allows.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let levels = self.steps.len() + 1;
        if levels > DEPTH_MAX {
            return Err(Error::invalid(format!(
                "The document path has too many nesting levels; nesting levels: {levels}"
            )));
        }
        Ok(())
    }
}

/// As DynamoDB writes paths in its messages: `[root, field, [3]]`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.root)?;
        for step in &self.steps {
            match step {
                Step::Field(name) => write!(f, ", {name}")?,
                Step::Index(index) => write!(f, ", [{index}]")?,
            }
        }
        f.write_str("]")
    }
}

/// Where in a list an index points. A 32-bit index fits every machine that the engine runs on.
pub(crate) fn position(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// The parts of `item` at `paths`, or all of it when there are none. What leads to a part is kept
/// around it; list elements close up in the order they had. Paths must be such as a projection can
/// have together.
pub fn project(paths: &[Path], item: &Item) -> Item {
    if paths.is_empty() {
        return item.clone();
    }
    let mut roots: BTreeMap<&str, Wanted<'_>> = BTreeMap::new();
    for path in paths {
        roots.entry(&path.root).or_default().add(&path.steps);
    }
    pick_fields(&roots, item)
}

/// Refuses paths that DynamoDB would not take together: one inside another, or two that take the
/// same value once for a map and once for a list. As there, the first kind is told first. Each path
/// is looked at once.
///
/// # Errors
/// The first two that clash.
pub fn check_paths(paths: &[Path]) -> Result<(), Error> {
    paths.iter().try_for_each(Path::check)?;
    let mut roots: BTreeMap<&str, Taken<'_>> = BTreeMap::new();
    let mut conflict = None;
    for (number, path) in paths.iter().enumerate() {
        let clash = roots.entry(&path.root).or_default().take(number, &path.steps);
        if let Some(one) = clash.overlap {
            return Err(clashing("overlap", paths.get(one), path));
        }
        conflict = conflict.or(clash.conflict.map(|one| (one, path)));
    }
    match conflict {
        Some((one, two)) => Err(clashing("conflict", paths.get(one), two)),
        None => Ok(()),
    }
}

fn clashing(how: &str, one: Option<&Path>, two: &Path) -> Error {
    let one = one.unwrap_or(two);
    Error::invalid(format!(
        "Two document paths {how} with each other; must remove or rewrite one of these paths; path \
         one: {one}, path two: {two}"
    ))
}

/// The first of the earlier paths with which one cannot stand together.
#[derive(Default)]
struct Clash {
    overlap: Option<usize>,
    conflict: Option<usize>,
}

/// Which paths have taken a value, by the number of the first in each case.
#[derive(Default)]
struct Taken<'a> {
    whole: Option<usize>,
    by_field: Option<usize>,
    by_index: Option<usize>,
    fields: BTreeMap<&'a str, Taken<'a>>,
    indexes: BTreeMap<u32, Taken<'a>>,
}

impl<'a> Taken<'a> {
    /// Takes what a path leads to from here.
    fn take(&mut self, number: usize, steps: &'a [Step]) -> Clash {
        let (mut clash, mut taken) = (Clash::default(), self);
        for step in steps {
            clash.overlap = first(clash.overlap, taken.whole);
            taken = match step {
                Step::Field(name) => {
                    clash.conflict = first(clash.conflict, taken.by_index);
                    taken.by_field.get_or_insert(number);
                    taken.fields.entry(name).or_default()
                }
                Step::Index(index) => {
                    clash.conflict = first(clash.conflict, taken.by_field);
                    taken.by_index.get_or_insert(number);
                    taken.indexes.entry(*index).or_default()
                }
            };
        }
        let inside = first(taken.by_field, taken.by_index);
        clash.overlap = first(clash.overlap, first(taken.whole, inside));
        taken.whole.get_or_insert(number);
        clash
    }
}

fn first(one: Option<usize>, two: Option<usize>) -> Option<usize> {
    one.into_iter().chain(two).min()
}

/// What is wanted of one value: parts of it, or all when no part is named.
#[derive(Default)]
struct Wanted<'a> {
    fields: BTreeMap<&'a str, Wanted<'a>>,
    indexes: BTreeMap<u32, Wanted<'a>>,
}

impl<'a> Wanted<'a> {
    fn add(&mut self, steps: &'a [Step]) {
        let mut wanted = self;
        for step in steps {
            wanted = match step {
                Step::Field(name) => wanted.fields.entry(name).or_default(),
                Step::Index(index) => wanted.indexes.entry(*index).or_default(),
            };
        }
    }

    fn pick(&self, value: &Value) -> Option<Value> {
        if self.fields.is_empty() && self.indexes.is_empty() {
            return Some(value.clone());
        }
        match value {
            Value::M(map) => {
                let picked = pick_fields(&self.fields, map);
                (!picked.is_empty()).then_some(Value::M(picked))
            }
            Value::L(list) => {
                let picked: Vec<Value> = self
                    .indexes
                    .iter()
                    .filter_map(|(index, wanted)| wanted.pick(list.get(position(*index))?))
                    .collect();
                (!picked.is_empty()).then_some(Value::L(picked))
            }
            Value::S(_)
            | Value::N(_)
            | Value::B(_)
            | Value::Bool(_)
            | Value::Null
            | Value::Ss(_)
            | Value::Ns(_)
            | Value::Bs(_) => None,
        }
    }
}

fn pick_fields(fields: &BTreeMap<&str, Wanted<'_>>, map: &Item) -> Item {
    fields
        .iter()
        .filter_map(|(name, wanted)| Some(((*name).to_owned(), wanted.pick(map.get(name)?)?)))
        .collect()
}

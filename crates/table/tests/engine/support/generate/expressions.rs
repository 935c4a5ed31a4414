//! Random expressions of every form, valid as expressions; whether they hold or can be done
//! depends on the item.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use proptest::sample::{select, subsequence};
use table::{
    Actions, Comparator, Condition, KeyType, Operand, Path, SetValue, Term, Value, ValueType, attr,
};

use super::{ATTRIBUTES, FIELDS, attribute, key_value, leaf, number, scalar, second, texts, value};

/// A condition on one item.
pub(crate) fn condition() -> BoxedStrategy<Condition> {
    let single = prop_oneof![
        4 => presence(),
        6 => comparison(),
        2 => range(),
        2 => inclusion(),
    ];
    single
        .prop_recursive(2, 5, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(left, right)| left.and(right)),
                (inner.clone(), inner.clone()).prop_map(|(left, right)| left.or(right)),
                inner.prop_map(|condition| !condition),
            ]
        })
        .boxed()
}

/// The paths that a condition names.
pub(crate) fn paths_of(condition: &Condition) -> Vec<&Path> {
    match condition {
        Condition::Compare(left, _, right)
        | Condition::BeginsWith(left, right)
        | Condition::Contains(left, right) => {
            [left, right].into_iter().filter_map(path_in).collect()
        }
        Condition::Between(middle, low, high) => {
            [middle, low, high].into_iter().filter_map(path_in).collect()
        }
        Condition::In(one, many) => std::iter::once(one).chain(many).filter_map(path_in).collect(),
        Condition::Exists(path) | Condition::NotExists(path) => vec![path],
        Condition::Type(operand, _) => path_in(operand).into_iter().collect(),
        Condition::And(left, right) | Condition::Or(left, right) => {
            [paths_of(left), paths_of(right)].concat()
        }
        Condition::Not(inner) => paths_of(inner),
    }
}

fn path_in(operand: &Operand) -> Option<&Path> {
    match operand {
        Operand::Path(path) | Operand::Size(path) => Some(path),
        Operand::Value(_) => None,
    }
}

fn presence() -> BoxedStrategy<Condition> {
    let kinds = [
        ValueType::S,
        ValueType::N,
        ValueType::B,
        ValueType::Bool,
        ValueType::Null,
        ValueType::M,
        ValueType::L,
        ValueType::Ss,
        ValueType::Ns,
        ValueType::Bs,
    ];
    prop_oneof![
        path().prop_map(Path::exists),
        path().prop_map(Path::not_exists),
        Just(attr("pk").exists()),
        Just(attr("pk").not_exists()),
        (path(), select(kinds.to_vec())).prop_map(|(path, kind)| path.is_type(kind)),
    ]
    .boxed()
}

fn comparison() -> BoxedStrategy<Condition> {
    let equal = select(&[Comparator::Eq, Comparator::Ne]);
    let ordering = select(&[Comparator::Lt, Comparator::Le, Comparator::Gt, Comparator::Ge]);
    let any_of = prop_oneof![equal.clone(), ordering.clone()];
    prop_oneof![
        (known(), equal).prop_map(|((path, value), how)| {
            Condition::Compare(path.into(), how, value.into())
        }),
        (path(), ordering.clone(), scalar())
            .prop_map(|(path, how, value)| { Condition::Compare(path.into(), how, value.into()) }),
        (scalar(), ordering, path())
            .prop_map(|(value, how, path)| { Condition::Compare(value.into(), how, path.into()) }),
        (path(), any_of.clone(), path()).prop_filter_map("one path", |(left, how, right)| {
            (left != right).then(|| Condition::Compare(left.into(), how, right.into()))
        }),
        (path(), any_of, 0..4_u32).prop_map(|(path, how, size)| {
            Condition::Compare(path.size().into(), how, size.into())
        }),
    ]
    .boxed()
}

fn range() -> BoxedStrategy<Condition> {
    let between = |kind: KeyType| {
        (path(), key_value(kind), key_value(kind)).prop_map(|(path, one, two)| {
            let (low, high) = if precedes(&two, &one) { (two, one) } else { (one, two) };
            path.between(low, high)
        })
    };
    let sizes = (path(), 0..3_u32, 0..3_u32)
        .prop_map(|(path, low, more)| path.size().between(low, low + more));
    prop_oneof![between(KeyType::S), between(KeyType::N), between(KeyType::B), sizes].boxed()
}

/// Whether `left` stands before `right`, for two values of one type that keys use.
fn precedes(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::S(left), Value::S(right)) => left < right,
        (Value::N(left), Value::N(right)) => left < right,
        (Value::B(left), Value::B(right)) => left < right,
        (_, _) => false,
    }
}

fn inclusion() -> BoxedStrategy<Condition> {
    let prefix = prop_oneof![key_value(KeyType::S), key_value(KeyType::B)];
    let distinct = |left: &Path, right: &Path| left != right;
    prop_oneof![
        (known(), vec(value(), 0..3))
            .prop_map(|((path, value), more)| { path.is_in(more.into_iter().chain([value])) }),
        (path(), prefix).prop_map(|(path, prefix)| {
            Condition::BeginsWith(path.into(), Operand::Value(prefix))
        }),
        (path(), path()).prop_filter_map("one path", move |(path, prefix)| {
            distinct(&path, &prefix)
                .then(|| Condition::BeginsWith(path.into(), Operand::Path(prefix)))
        }),
        (path(), scalar()).prop_map(|(path, part)| path.contains(part)),
        (path(), path()).prop_filter_map("one path", move |(path, part)| {
            distinct(&path, &part).then(|| path.contains(part))
        }),
    ]
    .boxed()
}

/// Paths that often lead somewhere, key attributes among them.
pub(crate) fn path() -> BoxedStrategy<Path> {
    let roots: Vec<Path> = ATTRIBUTES.iter().chain(&["pk", "sk"]).map(|name| attr(*name)).collect();
    let inner: Vec<Path> = ["m", "x", "l"]
        .iter()
        .flat_map(|root| {
            let fields = FIELDS.iter().map(|field| attr(*root).field(*field));
            fields.chain((0..3).map(|index| attr(*root).at(index)))
        })
        .chain([attr("m").field("a").field("a"), attr("l").at(0).at(1), attr("l").at(0).field("a")])
        .collect();
    prop_oneof![3 => select(roots), 1 => select(inner)].boxed()
}

/// An attribute and a value that it may have.
fn known() -> BoxedStrategy<(Path, Value)> {
    let pairs = ATTRIBUTES.iter().map(|name| (Just(attr(*name)), attribute(name)).boxed());
    proptest::strategy::Union::new(pairs).boxed()
}

/// Paths to be answered, none inside another; empty about half the time.
pub(crate) fn projection() -> BoxedStrategy<Vec<Path>> {
    let pool = vec![
        attr("pk"),
        attr("sk"),
        attr("s1"),
        attr("n1"),
        attr("x"),
        attr("ss"),
        attr("m").field("a"),
        attr("m").field("b").field("a"),
        attr("l").at(0),
        attr("l").at(2),
        attr("l").at(1).field("a"),
    ];
    let count = 1..pool.len();
    prop_oneof![Just(Vec::new()), subsequence(pool, count)].boxed()
}

/// What an update does: edits of different attributes.
pub(crate) fn actions() -> BoxedStrategy<Actions> {
    vec(edit(), 0..5)
        .prop_map(|edits| {
            let mut all = Actions::default();
            let mut roots = BTreeSet::new();
            for edit in edits {
                if touched(&edit).all(|path| roots.contains(&path.root)) {
                    continue;
                }
                if touched(&edit).any(|path| roots.contains(&path.root)) {
                    continue;
                }
                roots.extend(touched(&edit).map(|path| path.root.clone()));
                all.set.extend(edit.set);
                all.remove.extend(edit.remove);
                all.add.extend(edit.add);
                all.delete.extend(edit.delete);
            }
            all
        })
        .boxed()
}

fn touched(actions: &Actions) -> impl Iterator<Item = &Path> {
    let set = actions.set.iter().map(|(path, _)| path);
    let add = actions.add.iter().map(|(path, _)| path);
    let delete = actions.delete.iter().map(|(path, _)| path);
    set.chain(&actions.remove).chain(add).chain(delete)
}

/// The edit of one attribute.
fn edit() -> BoxedStrategy<Actions> {
    prop_oneof![
        3 => edit_scalar(),
        3 => edit_number(),
        2 => edit_set(),
        2 => edit_list(),
        2 => edit_map(),
        1 => second().prop_map(|second| set(attr("exp"), Term::Value(second.into()))),
    ]
    .boxed()
}

fn edit_scalar() -> BoxedStrategy<Actions> {
    let name = select(&["s1", "s2", "b1", "x", "n2"]).prop_map(attr);
    let known = select(&["s1", "s2", "b1", "x", "n2"])
        .prop_flat_map(|name| (Just(attr(name)), attribute(name)));
    prop_oneof![
        4 => known.clone().prop_map(|(path, value)| set(path, Term::Value(value))),
        2 => known.prop_map(|(path, value)| set(path.clone(), path.or(value))),
        1 => (name.clone(), path()).prop_map(|(path, from)| set(path, Term::Path(from))),
        2 => name.prop_map(remove),
        1 => value().prop_map(|value| set(attr("x"), Term::Value(value))),
    ]
    .boxed()
}

fn edit_number() -> BoxedStrategy<Actions> {
    let name = select(&["n1", "n2", "x"]).prop_map(attr);
    let sum = (name.clone(), number(), any::<bool>(), any::<bool>());
    prop_oneof![
        2 => (name.clone(), number()).prop_map(|(path, number)| add(path, number)),
        3 => sum.prop_map(|(path, number, default, plus)| {
            let term = if default { path.clone().or(0) } else { Term::Path(path.clone()) };
            set(path, if plus { term.plus(number) } else { term.minus(number) })
        }),
        1 => (name.clone(), number()).prop_map(|(path, number)| {
            set(path, Term::Value(number.into()).minus(attr("n1")))
        }),
        1 => name.prop_map(remove),
    ]
    .boxed()
}

fn edit_set() -> BoxedStrategy<Actions> {
    let numbers = btree_set(number(), 1..3).prop_map(Value::Ns);
    let known = prop_oneof![
        (Just(attr("ss")), texts()),
        (Just(attr("ns")), numbers.clone()),
        (Just(attr("x")), texts()),
        (Just(attr("ns")), texts()),
    ];
    prop_oneof![
        3 => known.clone().prop_map(|(path, value)| add(path, value)),
        3 => known.prop_map(|(path, value)| take_out(path, value)),
        1 => Just(remove(attr("ss"))),
    ]
    .boxed()
}

fn edit_list() -> BoxedStrategy<Actions> {
    let whole = (vec(leaf(), 0..3), 0..4_u8).prop_map(|(elements, how)| {
        let list = attr("l");
        let or_empty = attr("l").or(Value::L(Vec::new()));
        set(
            list.clone(),
            match how {
                0 => list.append(elements),
                1 => or_empty.append(elements),
                2 => or_empty.prepend(elements),
                _ => Term::Value(Value::L(elements)),
            },
        )
    });
    let indexes = subsequence(vec![0_u32, 1, 2, 5, 7], 1..4);
    let elements = (indexes, vec((leaf(), 0..4_u8), 4)).prop_map(|(indexes, edits)| {
        let mut actions = Actions::default();
        for (index, (value, how)) in indexes.into_iter().zip(edits) {
            let path = attr("l").at(index);
            match how {
                0 => actions.remove.push(path),
                1 => actions.set.push((path.field("a"), Term::Value(value).into())),
                _ => actions.set.push((path, Term::Value(value).into())),
            }
        }
        actions
    });
    prop_oneof![whole, elements].boxed()
}

fn edit_map() -> BoxedStrategy<Actions> {
    let fields = subsequence(FIELDS.to_vec(), 1..=3);
    (fields, vec((leaf(), number(), 0..6_u8), 3))
        .prop_map(|(fields, edits)| {
            let mut actions = Actions::default();
            for (field, (value, number, how)) in fields.into_iter().zip(edits) {
                let path = attr("m").field(field);
                match how {
                    0 | 1 => actions.remove.push(path),
                    2 => actions.add.push((path, number.into())),
                    3 => actions.set.push((path.clone(), path.or(0).plus(number))),
                    _ => actions.set.push((path, Term::Value(value).into())),
                }
            }
            actions
        })
        .boxed()
}

fn set(path: Path, value: impl Into<SetValue>) -> Actions {
    Actions { set: vec![(path, value.into())], ..Actions::default() }
}

fn remove(path: Path) -> Actions {
    Actions { remove: vec![path], ..Actions::default() }
}

fn add(path: Path, value: impl Into<Value>) -> Actions {
    Actions { add: vec![(path, value.into())], ..Actions::default() }
}

fn take_out(path: Path, value: Value) -> Actions {
    Actions { delete: vec![(path, value)], ..Actions::default() }
}

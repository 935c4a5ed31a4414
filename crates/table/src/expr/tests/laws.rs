//! Laws that hold of every tree and every item.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use serde_json::json;

use crate::error::Error;
use crate::expr::parse::{
    Placeholders, parse_actions, parse_condition, parse_filter, parse_key_condition,
    parse_projection,
};
use crate::expr::path::{check_paths, project};
use crate::expr::render::Renderer;
use crate::expr::tests::strategies::{
    actions, condition, item, key_condition, path, value, word_salad,
};
use crate::expr::tests::{message, placeholders};
use crate::expr::{Actions, Comparator, Condition, Operand, Path, SetValue, Step, Term};
use crate::spec::{KeyAttribute, KeySpec};
use crate::value::{Item, Value};

fn read_back(renderer: Renderer) -> Placeholders {
    Placeholders::new(renderer.names, renderer.values)
}

fn key() -> KeySpec {
    KeySpec::composite(KeyAttribute::s("pk"), KeyAttribute::s("sk"))
}

/// That reading what was written gives the same tree, or the same refusal.
fn same<T: PartialEq + std::fmt::Debug>(
    tree: T,
    check: Result<(), Error>,
    read: Result<T, Error>,
    placeholders: &Placeholders,
) {
    match check {
        Ok(()) => assert_eq!(read.unwrap(), tree),
        Err(refusal) => {
            let told = message(read);
            assert!(told.ends_with(&refusal.to_string()), "{told} is not {refusal}");
        }
    }
    assert!(placeholders.check_used().is_ok());
}

proptest! {
    #![proptest_config(testkit::depth::cases(256))]

    #[test]
    fn a_written_condition_reads_back(condition in condition()) {
        let mut renderer = Renderer::new();
        let text = renderer.condition(&condition);
        let placeholders = read_back(renderer);
        let read = parse_condition(&text, &placeholders);
        same(condition.clone(), condition.check(), read, &placeholders);
    }

    #[test]
    fn written_actions_read_back(actions in actions()) {
        let mut renderer = Renderer::new();
        let text = renderer.actions(&actions);
        let placeholders = read_back(renderer);
        let read = parse_actions(&text, &placeholders);
        same(actions.clone(), actions.check_form(), read, &placeholders);
    }

    #[test]
    fn a_written_key_condition_reads_back(condition in key_condition()) {
        let mut renderer = Renderer::new();
        let text = renderer.key_condition(&condition);
        let placeholders = read_back(renderer);
        let read = parse_key_condition(&text, &placeholders, &key());
        match condition.check(&key()) {
            Ok(()) => prop_assert_eq!(read.unwrap(), condition),
            // The text is refused by the first of several rules it breaks, maybe another one.
            Err(_) => prop_assert!(read.is_err()),
        }
    }

    #[test]
    fn a_written_projection_reads_back(paths in vec(path(), 1..4)) {
        let mut renderer = Renderer::new();
        let text = renderer.projection(&paths);
        let placeholders = read_back(renderer);
        let read = parse_projection(&text, &placeholders);
        same(paths.clone(), check_paths(&paths), read, &placeholders);
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in any::<String>(), salad in word_salad()) {
        let placeholders = placeholders(&json!({"#n": "n", ":v": {"N": "1"}, ":s": {"SS": ["a"]}}));
        for text in [text, salad] {
            let condition = parse_condition(&text, &placeholders);
            prop_assert_eq!(condition.ok(), parse_filter(&text, &placeholders).ok());
            let _ = parse_key_condition(&text, &placeholders, &key());
            let _ = parse_projection(&text, &placeholders);
            if let Ok(actions) = parse_actions(&text, &placeholders) {
                prop_assert!(!actions.touched().is_empty());
            }
        }
    }

    #[test]
    fn negation_swaps_and_with_or(one in condition(), two in condition(), item in item()) {
        let item = Some(&item);
        let neither = !one.clone().or(two.clone());
        let not_both = !one.clone().and(two.clone());
        prop_assert_eq!(neither.holds(item), (!one.clone()).and(!two.clone()).holds(item));
        prop_assert_eq!(not_both.holds(item), (!one.clone()).or(!two).holds(item));
        prop_assert_eq!((!!one.clone()).holds(item), one.holds(item));
    }

    #[test]
    fn no_item_is_an_empty_item(condition in condition()) {
        prop_assert_eq!(condition.holds(None), condition.holds(Some(&Item::new())));
    }

    #[test]
    fn comparisons_agree_with_each_other(
        item in item(),
        path in path(),
        (low, high) in (value(), value()),
    ) {
        let item = Some(&item);
        let subject = Operand::Path(path.clone());
        let (low, high) = (Operand::Value(low), Operand::Value(high));
        let compare = |comparator, right: &Operand| {
            Condition::Compare(subject.clone(), comparator, right.clone()).holds(item)
        };
        prop_assert_eq!(compare(Comparator::Ne, &low), !compare(Comparator::Eq, &low));
        prop_assert!(!(compare(Comparator::Lt, &low) && compare(Comparator::Ge, &low)));
        prop_assert_eq!(
            Condition::Between(subject.clone(), low.clone(), high.clone()).holds(item),
            compare(Comparator::Ge, &low) && compare(Comparator::Le, &high)
        );
        prop_assert_eq!(
            Condition::In(subject.clone(), vec![low.clone(), high.clone()]).holds(item),
            compare(Comparator::Eq, &low) || compare(Comparator::Eq, &high)
        );
        let exists = Condition::Exists(path.clone()).holds(item);
        prop_assert_eq!(exists, !Condition::NotExists(path).holds(item));
    }

    #[test]
    fn a_put_value_is_found_again(before in item(), path in path(), value in value()) {
        let set = SetValue::Term(Term::Value(value.clone()));
        let actions = Actions { set: vec![(path.clone(), set)], ..Actions::default() };
        if let Ok(after) = actions.apply(&before) {
            match path.find(&after) {
                Some(found) => prop_assert_eq!(found, &value),
                None => {
                    let mut list = path;
                    list.steps.pop();
                    let Some(Value::L(list)) = list.find(&after) else {
                        panic!("only a list puts a value elsewhere, at its end")
                    };
                    prop_assert_eq!(list.last(), Some(&value));
                }
            }
        }
    }

    #[test]
    fn updates_leave_other_attributes_alone(before in item(), actions in actions()) {
        if actions.check_form().is_ok()
            && let Ok(after) = actions.apply(&before)
        {
            let touched: BTreeSet<String> =
                actions.touched().into_iter().map(|path| path.root).collect();
            let others = |item: &Item| -> Item {
                item.clone().into_iter().filter(|(name, _)| !touched.contains(name.as_str())).collect()
            };
            prop_assert_eq!(others(&before), others(&after));
            prop_assert!(others(&actions.project_updated(&after)).is_empty());
        }
    }

    #[test]
    fn a_projection_finds_fields_where_they_were(item in item(), paths in vec(path(), 1..4)) {
        if check_paths(&paths).is_ok() {
            let projected = project(&paths, &item);
            let in_no_list = |path: &&Path| {
                path.steps.iter().all(|step| matches!(step, Step::Field(_)))
            };
            for path in paths.iter().filter(in_no_list) {
                prop_assert_eq!(path.find(&projected), path.find(&item));
            }
        }
    }
}

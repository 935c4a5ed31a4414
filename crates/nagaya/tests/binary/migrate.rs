//! `nagaya migrate`: a house on its way between the backends, and `nagaya tables`.

use std::collections::BTreeMap;

use testkit::Program;
use testkit::node::Node;
use testkit::program::run;

use crate::instances::Door;
use crate::own_tables::OWN_TABLES;

/// Runs `nagaya migrate`; its exit code, answer and notes.
fn migrate(door: &Door, program: &Program, arguments: &str) -> (i32, String, String) {
    run(door.lead(program.command()).arg("migrate").args(arguments.split(' ')))
}

/// The same, if all goes well.
#[track_caller]
fn migrated(door: &Door, program: &Program, arguments: &str) -> (String, String) {
    let (code, out, notes) = migrate(door, program, arguments);
    assert_eq!(code, 0, "{arguments}: {out}{notes}");
    (out, notes)
}

/// Lines of JSON, by the table that each tells of.
fn lines(out: &str) -> BTreeMap<String, serde_json::Value> {
    let line = |line: &str| {
        let told: serde_json::Value = serde_json::from_str(line).unwrap();
        (told["table"].as_str().unwrap().to_owned(), told)
    };
    out.lines().map(line).collect()
}

#[test]
fn a_house_moves_to_dynamodb_and_back_although_it_is_killed_on_the_way() {
    let (first, last) = (&testkit::program!().closed(), &testkit::program!());
    first.answer("table create visitors --partition pk:S", &[]);
    let item = |number| format!(r#"{{"Item":{{"pk":{{"S":"{number}"}}}}}}"#) + "\n";
    let items: String = (0..400).map(item).collect();
    std::fs::write(first.directory().join("items"), items).unwrap();
    first.answer("table import visitors --in items", &[]);
    let door = Door::open(first);

    let (plan, _) = migrated(&door, first, "plan --to dynamodb");
    assert!(plan.contains("visitors") && plan.contains("400 items"), "{plan}");
    let mut command = door.lead(first.command());
    let mut killed = Node::heard_by_errors(command.args(["migrate", "apply", "--to", "dynamodb"]));
    let line = killed.line().unwrap();
    drop(killed);
    assert!(line.starts_with("AiResponseMetrics: "), "{line}");
    let (plan, _) = migrated(&door, first, "plan --to dynamodb");
    assert!(plan.lines().next().unwrap().contains("copied: "), "{plan}");
    let begun = lines(&migrated(&door, first, "plan --to dynamodb --json").0);
    assert_eq!(begun["AiResponseMetrics"]["there"], "copied");
    assert_eq!(begun["visitors"]["items"], 400);
    let (code, out, _) = migrate(&door, first, "verify --to dynamodb --json");
    let differing = lines(&out);
    assert_eq!((code, &differing["visitors"]["same"]), (1, &false.into()), "{out}");
    assert_eq!(differing["visitors"]["source"]["items"], 400);
    assert_eq!(differing["AiResponseMetrics"]["same"], true);
    let (code, _, told) = migrate(&door, first, "verify --to dynamodb");
    assert!(code == 1 && told.contains("the two sides are not the same"), "{told}");

    let (out, notes) = migrated(&door, first, "apply --to dynamodb");
    assert!(notes.starts_with("AiResponseMetrics: ") && notes.contains("earlier"), "{notes}");
    assert!(notes.contains("visitors: 400 items"), "{notes}");
    assert!(out.starts_with("copied "), "{out}");
    let (there, _) = migrated(&door, first, "verify --to dynamodb");
    let same = lines(&migrated(&door, first, "verify --to dynamodb --json").0);
    assert!(same.values().all(|table| table["same"] == true), "{same:?}");
    assert_eq!(same["visitors"]["target"]["items"], 400);
    let planned = lines(&migrated(&door, first, "plan --to dynamodb --json").0);
    assert_eq!(planned["visitors"]["there"], "occupied", "{planned:?}");
    let (code, _, told) = migrate(&door, first, "apply --to dynamodb");
    assert!(code == 1 && told.contains("holds items there already"), "{told}");

    migrated(&door, last, "apply --to embedded");
    let (back, _) = migrated(&door, last, "verify --to embedded");
    assert_eq!(back, there, "the same checksums after the way back");
    let checked = last.answer("table check", &[]);
    assert!(checked.contains("looked at "), "{checked}");
}

#[test]
fn the_tables_of_the_house_are_printed_for_those_who_make_them() {
    let empty = testkit::program!();
    let tables = |form: &str| {
        let mut command = empty.command();
        let (code, out, error) = run(command.args(["tables", form, "--aws-prefix", "live-"]));
        assert_eq!((code, error.as_str()), (0, ""));
        serde_json::from_str::<serde_json::Value>(&out).unwrap()
    };
    let own: Vec<String> = OWN_TABLES.iter().map(|name| format!("live-{name}")).collect();
    let template = tables("cloudformation");
    let mut names: Vec<String> = template["Resources"]
        .as_object()
        .unwrap()
        .values()
        .map(|resource| resource["Properties"]["TableName"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, own);
    let configuration = tables("terraform");
    let mut names: Vec<String> = configuration["resource"]["aws_dynamodb_table"]
        .as_object()
        .unwrap()
        .values()
        .map(|table| table["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, own);
    assert!(!empty.directory().join("nagaya-data").exists(), "nothing was opened");
}

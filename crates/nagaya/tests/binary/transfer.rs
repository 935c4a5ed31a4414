//! Exports and imports.

use std::io::Write;
use std::process::Stdio;

use testkit::Program;

/// One item with every type, texts beyond ASCII, and numbers at their limits.
const EVERYTHING: &str = r#"{"Item":{"b":{"B":"AP8="},"bool":{"BOOL":false},"bs":{"BS":["AA==","AQ=="]},"empty":{"S":""},"l":{"L":[{"N":"-99999999999999999999999999999999999999"},{"L":[]},{"M":{}}]},"m":{"M":{"名前":{"S":"花子\n\"引用\" 🏠"}}},"n":{"N":"0.00000000000000000000000000000000000012345678901234567890123456789012345678"},"ns":{"NS":["-1.5","12345678901234567890123456789012345678"]},"null":{"NULL":true},"pk":{"S":"鍵'\""},"sk":{"N":"12345678901234567890123456789012345678"},"ss":{"SS":["a","あ"]}}}"#;

const CREATE: &str = "table create things --partition pk:S --sort sk:N";

/// Imports these lines from standard input; gives code and what is told.
fn import(program: &Program, arguments: &str, lines: &str) -> (i32, String) {
    let mut command = program.command();
    command.args(["table", "import", "things"]).args(arguments.split_whitespace());
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // One that is refused does not read to the end.
    let _ = input.write_all(lines.as_bytes());
    drop(input);
    let done = child.wait_with_output().unwrap();
    (done.status.code().unwrap(), String::from_utf8(done.stderr).unwrap())
}

fn line(number: u32) -> String {
    format!(r#"{{"Item":{{"pk":{{"S":"p"}},"sk":{{"N":"{number}"}}}}}}"#)
}

#[test]
fn an_export_comes_back_as_it_was_between_open_and_closed_houses() {
    let (open, closed) = (testkit::program!(), testkit::program!().closed());
    let _house = open.open();
    open.answer(CREATE, &[]);
    closed.answer(CREATE, &[]);
    let others: Vec<String> = (0..60).map(line).collect();
    let lines = format!("{EVERYTHING}\n\n{}", others.join("\n"));
    let imported = (0, "imported 61 items into `things`\n".to_owned());
    assert_eq!(import(&open, "", &lines), imported);

    let (code, _, told) = open.run("table export things --out there.ndjson", &[]);
    assert_eq!((code, told.as_str()), (0, "exported 61 items of `things`\n"));
    let file = open.directory().join("there.ndjson");
    let (code, _, told) = closed.run("table import things --in", &[file.to_str().unwrap()]);
    assert_eq!((code, told), imported);

    let back = closed.answer("table export things", &[]);
    assert_eq!(back, std::fs::read_to_string(&file).unwrap());
    assert_eq!(back, open.answer("table export things", &[]));
    assert!(back.lines().any(|line| line == EVERYTHING), "{back}");
}

#[test]
fn plain_json_keeps_digits_and_says_what_it_cannot_keep() {
    let program = testkit::program!().closed();
    program.answer(CREATE, &[]);
    let plain = "{\"n\":12345678901234567890123456789012345678,\"pk\":\"花子\",\"sk\":1}\n";
    assert_eq!(import(&program, "--format json", plain).0, 0);
    assert_eq!(program.run("table export things --format json", &[]).1, plain);
    import(&program, "", EVERYTHING);
    let (code, _, told) = program.run("table export things --format json", &[]);
    assert_eq!(code, 0);
    assert!(told.starts_with("1 item with binaries or sets"), "{told}");
}

#[test]
fn a_bad_line_is_told_by_its_number_and_what_came_before_is_there() {
    let (open, closed) = (testkit::program!(), testkit::program!().closed());
    let _house = open.open();
    for (bad, told) in [
        ("{", "line 31: not JSON: EOF while parsing an object at line 1 column 1"),
        ("7", "line 31: a number stands where an object of attributes should"),
        (
            r#"{"Item":{"pk":{"S":"x"}}}"#,
            "line 31: One or more parameter values were invalid: \
            Missing the key sk in the item",
        ),
        (
            r#"{"Item":{"pk":{"S":"x"},"sk":{"N":"one"}}}"#,
            "line 31: The parameter cannot be \
            converted to a numeric value: one",
        ),
    ] {
        let lines: Vec<String> = (0..30).map(line).chain([bad.to_owned(), line(99)]).collect();
        let expected = (1, format!("nagaya: {told}; items imported before it: 30\n"));
        for program in [&open, &closed] {
            program.answer(CREATE, &[]);
            assert_eq!(import(program, "", &lines.join("\n")), expected);
            assert_eq!(program.answer("table scan things", &[]).lines().count(), 30);
            program.answer("table drop things --yes", &[]);
        }
    }
}

#[test]
fn of_two_lines_with_one_key_the_later_wins() {
    let program = testkit::program!().closed();
    program.answer(CREATE, &[]);
    let lines = "{\"pk\":\"a\",\"sk\":1,\"v\":1}\n{\"pk\":\"a\",\"sk\":1,\"v\":2}\n";
    let imported = (0, "imported 2 items into `things`\n".to_owned());
    assert_eq!(import(&program, "--format json", lines), imported);
    let found = program.answer("table get things pk=a sk=1", &[]);
    assert_eq!(found, "{\"pk\":\"a\",\"sk\":1,\"v\":2}\n");
}

#[test]
fn an_export_never_overwrites_and_leaves_no_half_file() {
    let program = testkit::program!().closed();
    program.answer(CREATE, &[]);
    std::fs::write(program.directory().join("kept"), "mine").unwrap();
    let (code, _, told) = program.run("table export things --out kept", &[]);
    assert_eq!((code, told.as_str()), (1, "nagaya: `kept`: File exists (os error 17)\n"));
    assert_eq!(std::fs::read_to_string(program.directory().join("kept")).unwrap(), "mine");
    assert_eq!(program.run("table export nothing --out half", &[]).0, 1);
    assert!(!program.directory().join("half").exists());
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let program = testkit::program!().closed();
    program.answer(CREATE, &[]);
    let lines: Vec<String> = (0..5_000).map(line).collect();
    assert_eq!(import(&program, "", &lines.join("\n")).0, 0);
    let mut command = program.command();
    command.args(["table", "scan", "things", "--all"]);
    let mut scan = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(scan.stdout.take());
    let done = scan.wait_with_output().unwrap();
    assert_eq!((done.status.code(), done.stderr), (Some(0), Vec::new()));
}

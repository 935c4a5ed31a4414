//! `nagaya table`, on a house that is open and on one that is not.

use base::Timestamp;
use testkit::Program;

use crate::own_tables::{EMPTY_HOUSE, for_visitors};

/// What happened, command by command, with times left out, and what depends on them.
type Transcript = Vec<(String, i32, String, String)>;

fn play(program: &Program, script: &[(&str, &[&str])]) -> Transcript {
    let step = |(arguments, last): &(&str, &[&str])| {
        let (code, out, error) = program.run(arguments, last);
        let told = |text: &str| timeless(&for_visitors(text));
        (format!("{arguments} {}", last.join(" ")), code, told(&out), told(&error))
    };
    script.iter().map(step).collect()
}

fn timeless(text: &str) -> String {
    let is_time = |word: &str| word.parse::<Timestamp>().is_ok();
    let words = text.split_inclusive([' ', '"', '\n']);
    let word = |word: &str| match word.strip_suffix([' ', '"', '\n']) {
        Some(bare) if is_time(bare) => word.replace(bare, "<time>"),
        Some(_) | None => word.to_owned(),
    };
    words.map(word).collect()
}

/// Plays the script on a house that is open and on one that is not, and finds no difference.
fn play_on_both(script: &[(&str, &[&str])]) -> Transcript {
    let closed = testkit::program!().closed();
    let open = testkit::program!();
    let house = open.open();
    let transcript = play(&closed, script);
    assert_eq!(play(&open, script), transcript);
    drop(house);
    transcript
}

/// Each command with its code and what it prints, on either stream.
fn expect(expected: &[(&str, &[&str], i32, &str)]) {
    let script: Vec<(&str, &[&str])> =
        expected.iter().map(|(arguments, last, ..)| (*arguments, *last)).collect();
    let transcript = play_on_both(&script);
    for ((_, _, code, printed), (command, actual, out, error)) in expected.iter().zip(transcript) {
        let told = format!("{out}{error}");
        assert_eq!((*code, *printed), (actual, told.as_str()), "{command}");
    }
}

const CREATE: (&str, &[&str], i32, &str) = (
    "table create scores --partition game:S --sort user:S --index by-score:game:S,score:N \
     --ttl until",
    &[],
    0,
    "created `scores`\n",
);
const ADA: (&str, &[&str], i32, &str) =
    ("table put scores", &[r#"{"game":"go","user":"ada","score":10}"#], 0, "added an item\n");
const BOB: (&str, &[&str], i32, &str) =
    ("table put scores", &[r#"{"game":"go","user":"bob","score":9}"#], 0, "added an item\n");
const ADA_LINE: &str = "{\"game\":\"go\",\"score\":10,\"user\":\"ada\"}\n";
const BOB_LINE: &str = "{\"game\":\"go\",\"score\":9,\"user\":\"bob\"}\n";
const HANAKO: (&str, &[&str], i32, &str) = (
    "table put scores",
    &[r#"{"game":"go","user":"花子","score":"7.50","tags":["a",{"b":null}]}"#],
    0,
    "added an item\n",
);

#[test]
fn tables_are_made_looked_at_and_dropped() {
    expect(&[
        ("table ls", &[], 0, EMPTY_HOUSE),
        CREATE,
        ("table create scores --partition a:S", &[], 1, "nagaya: table `scores` exists\n"),
        ("table create now --partition id:N --ephemeral", &[], 0, "created `now`\n"),
        ADA,
        (
            "table ls",
            &[],
            0,
            &format!(
                "{EMPTY_HOUSE}now                           0      0\nscores                        1      20\n"
            ),
        ),
        (
            "table describe scores",
            &[],
            0,
            "table    scores\n\
             key      game (S), user (S)\n\
             index    by-score: game (S), score (N); whole items\n\
             ttl      until\n\
             class    durable\n\
             created  <time>\n\
             items    1\n\
             bytes    20\n",
        ),
        (
            "table describe now --json",
            &[],
            0,
            "{\"bytes\":0,\"created\":\"<time>\",\"durability\":\"Ephemeral\",\"indexes\":[],\
             \"items\":0,\"key\":{\"partition\":{\"kind\":\"N\",\"name\":\"id\"},\"sort\":null},\
             \"name\":\"now\",\"old_images\":false,\"ttl\":null}\n",
        ),
        ("table drop scores --yes", &[], 0, "dropped `scores` with 1 item\n"),
        ("table describe scores", &[], 1, "nagaya: there is no table `scores`; there are now\n"),
        ("table drop now --yes", &[], 0, "dropped `now` with 0 items\n"),
        ("table drop now --yes", &[], 1, "nagaya: there is no table `now`; there are \n"),
    ]);
}

#[test]
fn items_are_put_got_and_deleted() {
    let typed = r#"{"game":{"S":"go"},"user":{"S":"花子"}}"#;
    expect(&[
        CREATE,
        HANAKO,
        (
            "table get scores game=go user=花子",
            &[],
            0,
            "{\"game\":\"go\",\"score\":7.5,\"tags\":[\"a\",{\"b\":null}],\"user\":\"花子\"}\n",
        ),
        (
            "table get scores --format dynamodb --json",
            &[typed],
            0,
            "{\"game\":{\"S\":\"go\"},\"score\":{\"N\":\"7.5\"},\"tags\":{\"L\":[{\"S\":\"a\"},\
             {\"M\":{\"b\":{\"NULL\":true}}}]},\"user\":{\"S\":\"花子\"}}\n",
        ),
        (
            "table put scores --format dynamodb",
            &[r#"{"game":{"S":"go"},"user":{"S":"花子"}}"#],
            0,
            "replaced an item\n",
        ),
        ("table get scores user=花子 game=go", &[], 0, "{\"game\":\"go\",\"user\":\"花子\"}\n"),
        ("table delete scores game=go user=花子", &[], 0, "deleted an item\n"),
        ("table delete scores game=go user=花子", &[], 0, "there was no such item\n"),
        (
            "table get scores game=go user=花子",
            &[],
            1,
            "nagaya: table `scores` has no item with that key\n",
        ),
        (
            "table get scores game=go",
            &[],
            1,
            "nagaya: the key is game (S), user (S): `user` is missing\n",
        ),
        (
            "table put scores",
            &[r#"{"game":"go","user":7}"#],
            1,
            "nagaya: One or more parameter values were invalid: Type mismatch for key user \
             expected: S actual: N\n",
        ),
        ("table get things a=b", &[], 1, "nagaya: there is no table `things`; there are scores\n"),
    ]);
}

#[test]
fn queries_take_values_and_expressions() {
    let both = format!("{ADA_LINE}{BOB_LINE}");
    let by_score = format!("{BOB_LINE}{ADA_LINE}");
    expect(&[
        CREATE,
        ADA,
        BOB,
        ("table query scores --partition go", &[], 0, &both),
        ("table query scores --partition chess", &[], 0, ""),
        ("table query scores --partition go --index by-score", &[], 0, &by_score),
        ("table query scores --partition go --descending --limit 2", &[], 0, &by_score),
        ("table query scores --partition go --sort-begins a", &[], 0, ADA_LINE),
        ("table query scores --partition go --sort-eq bob", &[], 0, BOB_LINE),
        ("table query scores --partition go --sort-lt bob", &[], 0, ADA_LINE),
        ("table query scores --partition go --sort-le ada", &[], 0, ADA_LINE),
        ("table query scores --partition go --sort-gt ada", &[], 0, BOB_LINE),
        ("table query scores --partition go --sort-ge bob", &[], 0, BOB_LINE),
        (
            "table query scores --partition go --index by-score --sort-between 9.5 11",
            &[],
            0,
            ADA_LINE,
        ),
        ("table query scores --partition go --index by-score --sort-gt -1", &[], 0, &by_score),
        ("table query scores --key", &[r#"game = "go" AND begins_with(user, "b")"#], 0, BOB_LINE),
        (
            "table query scores --key",
            &[r#"game = "go" AND #u = "ada""#, "--names", r##"{"#u":"user"}"##],
            0,
            ADA_LINE,
        ),
        (
            "table query scores --key-condition",
            &[
                "game = :g",
                "--filter",
                "score >= 10",
                "--values",
                r#"{":g":{"S":"go"}}"#,
                "--projection",
                "score",
            ],
            0,
            "{\"score\":10}\n",
        ),
    ]);
}

#[test]
fn pages_go_on_where_the_last_one_ended() {
    let both = format!("{ADA_LINE}{BOB_LINE}");
    let by_score = format!("{BOB_LINE}{ADA_LINE}");
    let first = format!(
        "{ADA_LINE}more may follow; go on with --after \
         '{{\"game\":{{\"S\":\"go\"}},\"user\":{{\"S\":\"ada\"}}}}', or ask for --all\n"
    );
    let after = r#"{"game":{"S":"go"},"user":{"S":"ada"}}"#;
    expect(&[
        CREATE,
        ADA,
        BOB,
        ("table query scores --partition go --limit 1", &[], 0, &first),
        ("table query scores --partition go --after", &[after], 0, BOB_LINE),
        ("table scan scores --all", &[], 0, &both),
        ("table scan scores --limit 1", &[], 0, &first),
        ("table scan scores --limit 1 --filter", &["score < 10"], 0, BOB_LINE),
        ("table scan scores --segment 0/1 --index by-score --all", &[], 0, &by_score),
        (
            "table query scores --partition go --index no",
            &[],
            1,
            "nagaya: table `scores` has no index `no`; there are by-score\n",
        ),
        (
            "table query scores --partition go --index by-score --sort-gt x",
            &[],
            1,
            "nagaya: `score` is a number, not `x`\n",
        ),
    ]);
}

#[test]
fn every_segment_of_a_scan_together_is_the_whole() {
    let closed = testkit::program!().closed();
    closed.run("table create things --partition id:N", &[]);
    let items: String = (0..20).map(|number| format!("{{\"id\":{number}}}\n")).collect();
    std::fs::write(closed.directory().join("items"), items).unwrap();
    closed.answer("table import things --format json --in items", &[]);
    let lines = |arguments: &str| {
        let (_, out, _) = closed.run(arguments, &[]);
        out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let mut parts: Vec<String> =
        (0..3).flat_map(|part| lines(&format!("table scan things --segment {part}/3"))).collect();
    let mut all = lines("table scan things");
    parts.sort();
    all.sort();
    assert_eq!((all.len(), parts), (20, all));
}

#[test]
fn a_check_tells_what_it_looked_at() {
    expect(&[
        CREATE,
        ADA,
        (
            "table check",
            &[],
            0,
            "looked at n tables, n items with n rows of indexes and expiry, and n changes in the \
             log\nall is well\n",
        ),
    ]);
}

#[test]
fn an_ephemeral_table_takes_items_only_while_a_house_keeps_them() {
    let script: &[(&str, &[&str])] = &[
        ("table create now --partition id:N --ephemeral", &[]),
        ("table put now", &[r#"{"id":1}"#]),
        ("table get now id=1", &[]),
    ];
    let closed = testkit::program!().closed();
    let refused = play(&closed, script);
    let told = "nagaya: table `now` is ephemeral and no house is open: the write would be gone \
                at once\n";
    assert_eq!(refused.get(1).map(|step| (step.1, step.3.as_str())), Some((1, told)));
    let _house = closed.open();
    assert_eq!(play(&closed, &script[1..])[1].2, "{\"id\":1}\n");
}

#[test]
fn arguments_are_refused_before_anything_is_opened() {
    let empty = testkit::program!();
    for (arguments, last, told) in [
        ("table", &[][..], "requires a subcommand"),
        ("table ls --tables", &[], "unexpected argument '--tables'"),
        ("table get things", &[], "<NAME=VALUE|--json <JSON>>"),
        ("table get things id", &[], "expected `name=value`"),
        ("table get things id=1 --json {}", &[], "cannot be used with"),
        ("table get things --json {", &[], "--json: EOF while parsing"),
        ("table get things --json", &[r#"{"id":1}"#], "--json: a number stands where"),
        ("table query things", &[], "--partition <VALUE>|--key-condition <EXPRESSION>"),
        ("table query things --sort-eq 1", &[], "--partition <VALUE>"),
        ("table query things --partition a --sort-eq 1 --sort-gt 0", &[], "cannot be used with"),
        ("table query things --key", &["id ="], "Invalid ConditionExpression: Syntax error"),
        ("table query things --key", &[r#"id = "a"#], "a quote is not closed"),
        ("table scan things --filter", &["a = :v"], "attribute value used in expression is not"),
        ("table scan things --filter", &["a = 1", "--names", r##"{"#n":"a"}"##], "unused"),
        ("table scan things --limit 0", &[], "0 is not in 1.."),
        ("table scan things --limit 1 --all", &[], "cannot be used with"),
        ("table scan things --segment 4/4", &[], "expected a part, from 0, of how many"),
        ("table scan things --format xml", &[], "[possible values: json, dynamodb]"),
        ("table put things {", &[], "the item: not JSON: EOF while parsing"),
        ("table put things [1]", &[], "the item: not JSON: invalid type: sequence"),
        ("table put things --format dynamodb", &[r#"{"id":1}"#], "a number stands where"),
        ("table create things", &[], "--partition <NAME:TYPE>"),
        ("table create things --partition id", &[], "expected a name with its type"),
        ("table drop things", &[], "--yes"),
        ("backup restore --at noon --to x", &[], "`noon` is not a time"),
        ("backup restore", &[], "--to <DIRECTORY>"),
        ("backup restore --to x --at 2999-01-01T00:00:00Z", &[], "has not come yet"),
        ("backup verify", &[], "<BACKUP>"),
    ] {
        let (code, out, error) = empty.run(arguments, last);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments}: {error}");
        assert!(error.contains(told), "{arguments}: {error}");
    }
    assert_eq!(std::fs::read_dir(empty.directory()).unwrap().count(), 0);
}

#[test]
fn a_house_that_is_not_there_is_not_made() {
    let empty = testkit::program!();
    for arguments in ["table ls", "backup list", "backup create", "backup restore --to x"] {
        let (code, _, error) = empty.run(arguments, &[]);
        let told = "nagaya: there is no house in `nagaya-data`; `nagaya serve` makes one\n";
        assert_eq!((code, error.as_str()), (1, told), "{arguments}");
    }
    assert_eq!(std::fs::read_dir(empty.directory()).unwrap().count(), 0);
}

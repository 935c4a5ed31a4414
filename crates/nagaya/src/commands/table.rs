//! `nagaya table`: tables and their items, in a house that is open or not.
//!
//! Here a command line becomes a [`Request`], checked as far as it can be before anything is
//! opened. What it does stands in `store.rs`.

mod arguments;

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};

use self::arguments::{
    AFTER, ALL, AT, BETWEEN, DESCENDING, EPHEMERAL, FILTER, FORMAT, IN, INDEX, ITEM, JSON, KEY,
    KEY_CONDITION, LIMIT, NAMES, OUT, PARTITION, PROJECTION, SEGMENT, SORT, SORTS, TABLE, TTL,
    VALUES, YES,
};
use super::{already_json, as_json, is_json};
use crate::Error;
use crate::config::{Config, Invalid};
use crate::control::{self, Input, Terminal};
use crate::store::{Format, Request};

pub(super) const NAME: &str = "table";

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Look at tables and items, and change them")
        .subcommand_required(true)
        .subcommand(Command::new("ls").about("List the tables").arg(as_json()))
        .subcommand(describe())
        .subcommand(get())
        .subcommand(query())
        .subcommand(scan())
        .subcommand(put())
        .subcommand(with_key(Command::new("delete").about("Delete an item")))
        .subcommand(create())
        .subcommand(drop())
        .subcommand(export())
        .subcommand(import())
        .subcommand(
            Command::new("check")
                .about("Compare rows, indexes, expiry, counts and the log")
                .arg(as_json()),
        )
}

pub(super) fn run(
    matches: &ArgMatches,
    load: impl FnOnce() -> Result<Config, Invalid>,
) -> Result<(), Error> {
    let (name, matches) = matches.subcommand().expect("the parser requires a command");
    let path = |id| matches.try_get_one::<PathBuf>(id).ok().flatten();
    let mut input = None;
    let request = match name {
        "ls" => Request::List { json: is_json(matches) },
        "describe" => Request::Describe { table: table_of(matches), json: matches.get_flag(JSON) },
        "get" => Request::Get {
            table: table_of(matches),
            key: arguments::key(matches)?,
            format: format_of(matches),
            at: arguments::at(matches),
        },
        "query" => Request::Query(Box::new(arguments::query(matches)?)),
        "scan" => Request::Scan(Box::new(arguments::scan(matches)?)),
        "put" => Request::Put {
            table: table_of(matches),
            item: arguments::item(matches)?,
            format: format_of(matches),
        },
        "delete" => Request::Delete { table: table_of(matches), key: arguments::key(matches)? },
        "create" => Request::Create { spec: arguments::spec(matches) },
        "drop" => Request::Drop { table: table_of(matches) },
        "export" => Request::Export { table: table_of(matches), format: format_of(matches) },
        "import" => {
            input = Some(Input::open(path(IN).map(PathBuf::as_path))?);
            Request::Import { table: table_of(matches), format: format_of(matches) }
        }
        "check" => Request::Check { json: is_json(matches) },
        other => unreachable!("the parser knows no command `{other}`"),
    };
    let config = load()?;
    let mut terminal = match path(OUT) {
        Some(path) => Terminal::file(path)?,
        None => Terminal::standard(),
    };
    control::ask(&config.settings, request, input, &mut terminal)
}

fn table_of(matches: &ArgMatches) -> String {
    matches.get_one::<String>(TABLE).cloned().expect("the parser requires it")
}

fn format_of(matches: &ArgMatches) -> Format {
    *matches.get_one::<Format>(FORMAT).expect("it has a default")
}

fn describe() -> Command {
    let json = Arg::new(JSON).long("json").action(ArgAction::SetTrue).help("Print JSON");
    Command::new("describe")
        .about("Print how a table is declared, and its size")
        .arg(table())
        .arg(json)
}

fn get() -> Command {
    with_key(Command::new("get").about("Print an item")).arg(at()).arg(format(Format::Json))
}

/// The instant that is looked at.
fn at() -> Arg {
    Arg::new(AT)
        .long(AT)
        .value_name("INSTANT")
        .allow_hyphen_values(true)
        .value_parser(arguments::instant)
        .help("As it was then: a time such as 2026-04-01T09:30:00Z, or `-5m` for five minutes ago")
}

fn query() -> Command {
    let text = |id: &'static str, help: &'static str| {
        Arg::new(id).long(id).value_name("VALUE").help(help).allow_hyphen_values(true)
    };
    let sorts = SORTS.map(|(id, help, _)| text(id, help).requires(PARTITION));
    let between = text(BETWEEN, "Where the sort key lies between the two, or is one of them")
        .num_args(2)
        .value_names(["LOW", "HIGH"])
        .requires(PARTITION);
    let condition = Arg::new(KEY_CONDITION)
        .long(KEY_CONDITION)
        .visible_alias("key")
        .value_name("EXPRESSION")
        .help("Which items, as a key condition: 'pk = \"x\" AND begins_with(sk, \"y\")'");
    let descending = Arg::new(DESCENDING)
        .long(DESCENDING)
        .action(ArgAction::SetTrue)
        .help("From the greatest sort key down");
    let query = Command::new("query")
        .about("Print items of one partition of a table or index, in the order of the sort key")
        .arg(table())
        .arg(text(PARTITION, "The value of the partition key; binary in Base64"))
        .args(sorts)
        .arg(between)
        .group(ArgGroup::new(SORT).args(SORTS.map(|(id, ..)| id)).arg(BETWEEN))
        .arg(condition)
        .group(ArgGroup::new("items").args([PARTITION, KEY_CONDITION]).required(true));
    with_paging(query).arg(descending)
}

fn scan() -> Command {
    let segment = Arg::new(SEGMENT)
        .long(SEGMENT)
        .value_name("PART/OF")
        .value_parser(arguments::segment)
        .help("Only one part of several, for scans beside each other: 0/4 to 3/4");
    let scan = Command::new("scan").about("Print items of a whole table or index").arg(table());
    with_paging(scan).arg(segment)
}

fn with_paging(command: Command) -> Command {
    let text = |id: &'static str, name: &'static str, help: &'static str| {
        Arg::new(id).long(id).value_name(name).help(help)
    };
    let limit = text(LIMIT, "COUNT", "Print at most this many items")
        .value_parser(value_parser!(u32).range(1..));
    let all = Arg::new(ALL)
        .long(ALL)
        .action(ArgAction::SetTrue)
        .conflicts_with(LIMIT)
        .help("Print all items, not only the first page of 1 MB");
    command
        .arg(text(INDEX, "INDEX", "Through a secondary index"))
        .arg(text(FILTER, "EXPRESSION", "Only items of which this holds: 'score > 10'"))
        .arg(text(PROJECTION, "EXPRESSION", "Only these attributes: 'a, b.c, d[0]'"))
        .arg(text(NAMES, "JSON", "Names that the expressions stand in for: '{\"#n\": \"name\"}'"))
        .arg(text(VALUES, "JSON", "Values likewise, typed: '{\":v\": {\"BOOL\": true}}'"))
        .arg(limit)
        .arg(all)
        .arg(text(AFTER, "JSON", "Start behind this key, which an earlier page has told"))
        .arg(at())
        .arg(format(Format::Json))
        .arg(already_json())
}

fn put() -> Command {
    let item = Arg::new(ITEM)
        .required(true)
        .value_name("ITEM")
        .help("The item as JSON, or `-` to read it from standard input");
    Command::new("put")
        .about("Write an item, whatever was there")
        .arg(table())
        .arg(item)
        .arg(format(Format::Json))
}

fn create() -> Command {
    let attribute = |id: &'static str, help: &'static str| {
        let arg = Arg::new(id).long(id).value_name("NAME:TYPE").help(help);
        arg.value_parser(arguments::attribute)
    };
    let index = Arg::new(INDEX)
        .long(INDEX)
        .value_name("INDEX:NAME:TYPE[,NAME:TYPE]")
        .action(ArgAction::Append)
        .value_parser(arguments::index)
        .help("A secondary index; may be given several times");
    let ttl = Arg::new(TTL)
        .long(TTL)
        .value_name("ATTRIBUTE")
        .help("The attribute with the second (Unix time) from which an item is gone");
    let ephemeral = Arg::new(EPHEMERAL)
        .long(EPHEMERAL)
        .action(ArgAction::SetTrue)
        .help("Keep it in memory only: empty after every start");
    Command::new("create")
        .about("Create a table")
        .arg(table())
        .arg(attribute(PARTITION, "The partition key with its type: S, N or B").required(true))
        .arg(attribute(SORT, "The sort key with its type"))
        .arg(index)
        .arg(ttl)
        .arg(ephemeral)
}

fn drop() -> Command {
    let yes = Arg::new(YES)
        .long(YES)
        .action(ArgAction::SetTrue)
        .required(true)
        .help("Yes, with all its items");
    Command::new("drop").about("Remove a table with all its items").arg(table()).arg(yes)
}

fn export() -> Command {
    let out = Arg::new(OUT)
        .long(OUT)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("Into this new file [default: standard output]");
    Command::new("export")
        .about("Print all items of a table, one on each line")
        .arg(table())
        .arg(out)
        .arg(format(Format::Dynamodb))
        .arg(already_json())
}

fn import() -> Command {
    let file = Arg::new(IN)
        .long(IN)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("From this file [default: standard input]");
    Command::new("import")
        .about("Write the items of an export, one on each line, into a table")
        .arg(table())
        .arg(file)
        .arg(format(Format::Dynamodb))
}

fn table() -> Arg {
    Arg::new(TABLE).required(true).value_name("TABLE").help("The table's name")
}

fn with_key(command: Command) -> Command {
    let key = Arg::new(KEY)
        .num_args(1..)
        .value_name("NAME=VALUE")
        .value_parser(arguments::pair)
        .help("The key attributes; binary in Base64");
    let json = Arg::new(JSON)
        .long("json")
        .value_name("JSON")
        .help("The key as DynamoDB's JSON: '{\"pk\": {\"S\": \"x\"}}'");
    command
        .arg(table())
        .arg(key)
        .arg(json)
        .group(ArgGroup::new("by").args([KEY, JSON]).required(true))
}

fn format(default: Format) -> Arg {
    Arg::new(FORMAT)
        .long(FORMAT)
        .value_name("FORMAT")
        .value_parser(value_parser!(Format))
        .default_value(default.name())
        .help("How items are written: plain JSON, or DynamoDB's JSON with types")
}

//! Layers, names and messages.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use super::{Config, Origin, Settings, Sources, file, names, show};

/// A file of this text, which lives as long as the test holds it.
fn file_of(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn sources(text: &str, variables: &[(&str, &str)]) -> (Sources, tempfile::NamedTempFile) {
    let file = file_of(text);
    let environment =
        variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let sources = Sources {
        file: Some(file.path().to_owned()),
        environment: environment.collect(),
        flags: Vec::new(),
    };
    (sources, file)
}

fn complaint(text: &str, variables: &[(&str, &str)]) -> String {
    let (sources, file) = sources(text, variables);
    let complaint = Config::load(&sources).unwrap_err().to_string();
    complaint.replace(&file.path().display().to_string(), "FILE")
}

#[test]
fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
    let (mut sources, file) = sources("http.drain_seconds = 1", &[]);
    let seconds_and_origin = |sources: &Sources| {
        let config = Config::load(sources).unwrap();
        (config.settings.http.drain_seconds, config.origin("http.drain_seconds").to_string())
    };
    let from_file = format!("{}:1", file.path().display());
    assert_eq!(seconds_and_origin(&sources), (1, from_file));
    sources.environment.push(("NAGAYA_HTTP_DRAIN_SECONDS".into(), "2".into()));
    assert_eq!(seconds_and_origin(&sources), (2, "NAGAYA_HTTP_DRAIN_SECONDS".to_owned()));
    sources.flags.push(("http.drain_seconds", "3".to_owned()));
    assert_eq!(seconds_and_origin(&sources), (3, "--http-drain-seconds".to_owned()));
    let untouched = Config::load(&sources).unwrap();
    assert_eq!(untouched.origin("http.listen"), &Origin::Default);
}

#[test]
fn every_problem_of_every_layer_is_told_at_once() {
    let text = "[http]\nlistne = \"x\"\ndrain_seconds = \"30\"\nheader_bytes_max = 1\n[sotre]\n";
    let told = complaint(
        text,
        &[
            ("NAGAYA_HTTP_LISTEN", "here"),
            ("NAGAYA_HTTP_LITSEN", "127.0.0.1:1"),
            ("NAGAYA_UNLIKE_ANYTHING_KNOWN", "x"),
            ("UNRELATED", "x"),
        ],
    );
    assert_eq!(
        told.lines().collect::<Vec<_>>(),
        [
            "unknown setting `http.listne` (FILE:2); did you mean `http.listen`?",
            "unknown setting `sotre` (FILE:5); did you mean `store`?",
            "unknown setting `NAGAYA_HTTP_LITSEN` (environment); did you mean `NAGAYA_HTTP_LISTEN`?",
            "unknown setting `NAGAYA_UNLIKE_ANYTHING_KNOWN` (environment)",
            "`http.drain_seconds` is `30` (FILE:3), expected a whole number from 0 to 3600, without \
         quotes",
            "`http.header_bytes_max` is `1` (FILE:4), expected a whole number from 8192 to 1048576",
            "`http.listen` is `here` (NAGAYA_HTTP_LISTEN), expected an address with its port, such as \
         `127.0.0.1:8080`, `localhost:8080` or `:8080`",
        ]
    );
}

#[test]
fn a_wrong_value_is_told_even_if_a_higher_layer_overrides_it() {
    let told = complaint("log.format = \"xml\"", &[("NAGAYA_LOG_FORMAT", "json")]);
    assert_eq!(told, "`log.format` is `xml` (FILE:1), expected `text` or `json`");
}

#[test]
fn values_of_the_wrong_kind_are_shown_as_they_were_written() {
    let told = complaint("http.listen = [\"a\", 1]\nstore.path = 7\nlog.level = 1979-05-27", &[]);
    assert_eq!(
        told.lines().map(|line| line.split(" (").next().unwrap()).collect::<Vec<_>>(),
        ["`http.listen` is `[\"a\", 1]`", "`log.level` is `1979-05-27`", "`store.path` is `7`",]
    );
}

#[test]
fn a_section_that_is_no_table_is_unknown() {
    assert_eq!(complaint("\nhttp = 3", &[]), "unknown setting `http` (FILE:2)");
    assert_eq!(
        complaint("[http.listen]\n", &[]).split(',').next().unwrap(),
        "`http.listen` is `[http.listen]` (FILE:1)"
    );
}

#[test]
fn what_is_not_toml_is_told_by_line() {
    let told = complaint("[http]\nlisten = = 3", &[]);
    assert!(told.starts_with("FILE: line 2: "), "{told}");
}

#[test]
fn a_named_file_must_be_there() {
    let named = |path: &str| Sources {
        environment: vec![("NAGAYA_CONFIG".into(), path.into())],
        ..Sources::default()
    };
    let told = Config::load(&named("not/there.toml")).unwrap_err().to_string();
    assert!(told.starts_with("cannot read the settings in `not/there.toml`: "), "{told}");
    let file = file_of("log.level = \"warn\"");
    assert!(Config::load(&named(file.path().to_str().unwrap())).is_ok());
}

#[test]
fn numbers_may_be_written_as_toml_writes_them() {
    let (sources, _file) =
        sources("[http]\nbody_bytes_max = 0x10_000\nconnections_max = 1_000", &[]);
    let http = Config::load(&sources).unwrap().settings.http;
    assert_eq!((http.body_bytes_max, http.connections_max), (65_536, 1_000));
}

#[test]
fn what_is_printed_gives_the_same_settings_again() {
    let (first, _file) = sources("http.listen = \"[::1]:9\"\nstore.path = 'a \"b\" \\ c'", &[]);
    let config = Config::load(&first).unwrap();
    let printed = show::in_force(&config, true);
    assert!(printed.contains("drain_seconds = 30  # default\n"), "{printed}");
    let (again, _file) = sources(&printed, &[]);
    let again = Config::load(&again).unwrap();
    assert_eq!(format!("{:?}", again.settings), format!("{:?}", config.settings));
    assert_eq!(again.settings.store.path, Path::new("a \"b\" \\ c"));
}

#[test]
fn no_secret_is_printed_or_listed() {
    let secrets = [
        ("AWS_SECRET_ACCESS_KEY", "hush-1"),
        ("AWS_SESSION_TOKEN", "hush-2"),
        ("NAGAYA_MESH_API_KEY", "hush-3"),
        ("NAGAYA_SCORE_EDGE_AUTH", "hush-4"),
        ("NAGAYA_HTTP_TLS_KEY", "key.pem"),
        ("AWS_ACCESS_KEY_ID", "AKIA1"),
    ];
    let (sources, _file) = sources("", &secrets);
    let config = Config::load(&sources).unwrap();
    let printed = show::in_force(&config, true) + &show::in_force_as_json(&config);
    assert!(!printed.contains("hush"), "{printed}");
    let told = "# secret_access_key is kept secret  # AWS_SECRET_ACCESS_KEY\n";
    for part in [told, "tls_key = \"key.pem\"", "access_key_id = \"AKIA1\""] {
        assert!(printed.contains(part), "{printed}");
    }
    let listed = show::listed(&config);
    let hidden = listed.iter().filter(|setting| setting.is_secret);
    let hidden: Vec<&str> = hidden.map(|setting| setting.key.as_str()).collect();
    let secret = ["mesh.api_key", "score.edge_auth", "aws.secret_access_key", "aws.session_token"];
    assert_eq!(hidden, secret);
}

#[test]
fn no_password_in_a_url_is_printed_or_listed() {
    let urls = [
        ("NAGAYA_HUB_NATS_URL", "nats://me:hush@a:4222,nats://hush@b"),
        ("AWS_ENDPOINT_URL_DYNAMODB", "http://me:hush@dynamodb:8000"),
    ];
    let (sources, _file) = sources("", &urls);
    let config = Config::load(&sources).unwrap();
    let listed: Vec<String> = show::listed(&config).into_iter().map(|shown| shown.value).collect();
    let printed = show::in_force(&config, true) + &show::in_force_as_json(&config);
    assert!(!printed.contains("hush") && !listed.concat().contains("hush"), "{printed}{listed:?}");
    let told = "# nats_url = \"nats://***@a:4222,nats://***@b\"  # its password is kept secret  # ";
    for part in [told, "\"http://***@dynamodb:8000\""] {
        assert!(printed.contains(part), "{printed}");
    }
    assert!(listed.contains(&"http://***@dynamodb:8000".to_owned()), "{listed:?}");
}

#[test]
fn the_example_names_every_setting_with_its_default() {
    let uncommented: String = show::example()
        .lines()
        .filter_map(|line| match line.strip_prefix("# ") {
            Some(setting) if setting.contains(" = ") => Some(format!("{setting}\n")),
            Some(_) => None,
            None => Some(format!("{line}\n")),
        })
        .collect();
    let mut settings = Settings::default();
    let keys: Vec<&str> = settings.all().iter().map(|setting| setting.key).collect();
    let mut problems = Vec::new();
    let given = file::parse(Path::new("example"), &uncommented, &keys, &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    let named: Vec<(&str, &str)> =
        given.iter().map(|given| (given.key, given.text.as_str())).collect();
    let all = settings.all();
    let defaults: Vec<(&str, String)> =
        all.iter().map(|setting| (setting.key, setting.write())).collect();
    let defaults: BTreeSet<(&str, &str)> =
        defaults.iter().map(|(key, text)| (*key, text.as_str())).collect();
    assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), defaults);
}

#[test]
fn the_committed_example_is_the_generated_one() {
    let committed = include_str!("../../../../nagaya.example.toml");
    assert!(
        committed == show::example(),
        "write it anew: cargo run -- config example > nagaya.example.toml"
    );
}

#[test]
fn every_default_is_a_good_value_and_every_spelling_is_unique() {
    let mut settings = Settings::default();
    let (mut variables, mut flags) = (BTreeSet::new(), BTreeSet::new());
    for setting in &mut settings.all() {
        let default = setting.write();
        assert_eq!(setting.read(&default), Ok(()), "{}", setting.key);
        assert!(variables.insert(names::variable(setting.key)), "{}", setting.key);
        assert!(flags.insert(names::flag(setting.key)), "{}", setting.key);
    }
    assert!(!variables.contains(names::CONFIG_VARIABLE) && !flags.contains("--config"));
}

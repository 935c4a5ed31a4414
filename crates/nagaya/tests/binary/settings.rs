//! Settings through the real layers.

use std::net::TcpListener;
use std::process::Command;

use testkit::Program;
use testkit::program::run;

/// The program in a directory with a `nagaya.toml` of this text.
fn program_with(text: &str) -> Program {
    let program = testkit::program!();
    std::fs::write(program.directory().join("nagaya.toml"), text).unwrap();
    program
}

/// The program fails for its settings although it is told to serve on a taken port: so it looked
/// at the settings first.
fn assert_refused(command: &mut Command, complaint: &str) {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    command.env("NAGAYA_HTTP_LISTEN", taken.local_addr().unwrap().to_string());
    let (code, out, error) = run(command);
    assert_eq!((code, out.as_str()), (2, ""), "{error}");
    assert!(error.contains(complaint), "{error}");
}

#[test]
fn a_wrong_setting_of_any_layer_is_refused_by_name_before_a_socket_opens() {
    let empty = testkit::program!();
    let seconds = "expected a whole number from 0 to 3600";
    let told = |origin: &str| format!("`http.drain_seconds` is `soon` ({origin}), {seconds}");

    let flag = ["--http-drain-seconds", "soon"];
    assert_refused(empty.command().args(flag), &told("--http-drain-seconds"));
    assert_refused(empty.command().arg("serve").args(flag), &told("--http-drain-seconds"));
    let variable = "NAGAYA_HTTP_DRAIN_SECONDS";
    assert_refused(empty.command().env(variable, "soon"), &told(variable));
    let program = program_with("[http]\ndrain_seconds = \"soon\"\n");
    assert_refused(&mut program.command(), &told("nagaya.toml:2"));
}

#[test]
fn an_unknown_setting_of_any_layer_is_refused_with_the_nearest_known() {
    let empty = testkit::program!();
    assert_refused(empty.command().args(["--http-listne", "x"]), "'--http-listen'");
    assert_refused(
        empty.command().env("NAGAYA_HTTP_LISTNE", "x"),
        "unknown setting `NAGAYA_HTTP_LISTNE` (environment); did you mean `NAGAYA_HTTP_LISTEN`?",
    );
    let program = program_with("[http]\nlistne = \"x\"\n");
    assert_refused(
        &mut program.command(),
        "unknown setting `http.listne` (nagaya.toml:2); did you mean `http.listen`?",
    );
}

#[test]
fn each_layer_overrides_the_one_below() {
    let empty = testkit::program!();
    let program = program_with("http.drain_seconds = 1");
    let print = |command: &mut Command| {
        let (code, out, error) = run(command.args(["config", "print", "--origin"]));
        assert_eq!((code, error.as_str()), (0, ""));
        let line = out.lines().find(|line| line.starts_with("drain_seconds")).unwrap();
        line.to_owned()
    };
    let variable = "NAGAYA_HTTP_DRAIN_SECONDS";
    assert_eq!(print(&mut empty.command()), "drain_seconds = 30  # default");
    assert_eq!(print(&mut program.command()), "drain_seconds = 1  # nagaya.toml:1");
    assert_eq!(
        print(program.command().env(variable, "2")),
        "drain_seconds = 2  # NAGAYA_HTTP_DRAIN_SECONDS"
    );
    assert_eq!(
        print(program.command().env(variable, "2").args(["--http-drain-seconds", "3"])),
        "drain_seconds = 3  # --http-drain-seconds"
    );
}

#[test]
fn a_file_is_named_by_flag_or_environment() {
    let program = program_with("http.drain_seconds = 1");
    std::fs::write(program.directory().join("other.toml"), "http.drain_seconds = 2").unwrap();
    let has = |command: &mut Command, line: &str| {
        let (_, out, error) = run(command.args(["config", "print", "--origin"]));
        assert!(out.contains(line), "{out}{error}");
    };
    has(program.command().env("NAGAYA_CONFIG", "other.toml"), "= 2  # other.toml:1");
    let named = ["--config", "nagaya.toml"];
    has(program.command().env("NAGAYA_CONFIG", "other.toml").args(named), "nagaya.toml:1");
    let missing = ["--config", "missing.toml"];
    assert_refused(program.command().args(missing), "cannot read the settings in `missing");
}

#[test]
fn settings_are_checked_without_serving() {
    let program = program_with("");
    let (code, out, _) = run(program.command().args(["config", "check"]));
    assert_eq!((code, out.as_str()), (0, "all settings are good\n"));
    let program = program_with("log.format = \"xml\"");
    let (code, _, error) = run(program.command().args(["config", "check"]));
    assert_eq!(code, 2);
    assert_eq!(error, "nagaya: `log.format` is `xml` (nagaya.toml:1), expected `text` or `json`\n");
}

#[test]
fn the_example_can_be_used_as_it_is() {
    let example = testkit::program!().answer("config example", &[]);
    let program = program_with(&example);
    let (code, out, _) = run(program.command().args(["config", "print"]));
    assert_eq!(code, 0);
    assert!(out.contains("listen = \"127.0.0.1:8080\"\n"), "{out}");
}

#[test]
fn help_explains_settings_and_exit_codes_and_shells_are_taught() {
    let empty = testkit::program!();
    let (code, help, _) = run(empty.command().arg("--help-all"));
    assert_eq!(code, 0);
    for part in ["--http-drain-seconds <NUMBER>", "[env: NAGAYA_HTTP_DRAIN_SECONDS]", "Exit codes:"]
    {
        assert!(help.contains(part), "{help}");
    }
    let short = run(empty.command().arg("--help"));
    assert_eq!(short, run(empty.command().arg("help")), "the same by either name");
    assert!(short.1.contains("--http-listen") && !short.1.contains("drain"), "{}", short.1);
    let of_a_command = run(empty.command().args(["table", "query", "--help"]));
    assert_eq!(of_a_command, run(empty.command().args(["help", "table", "query"])));
    assert!(of_a_command.1.contains("--partition"), "{}", of_a_command.1);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, script, _) = run(empty.command().args(["completions", shell]));
        assert_eq!(code, 0);
        for word in ["store-path", "sort-begins", "restore"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        assert!(!script.contains("http-drain-seconds"), "{shell}: nobody changes it");
        let (_, whole, _) = run(empty.command().args(["completions", shell, "--all"]));
        assert!(whole.contains("http-drain-seconds"), "{shell}");
    }
    assert_eq!(run(empty.command().arg("dance")).0, 2);
}

#[test]
fn a_certificate_that_cannot_be_used_is_a_wrong_setting() {
    let program =
        program_with("[http]\ntls_certificate = \"certificate.pem\"\ntls_key = \"key.pem\"\n");
    let missing = "cannot use `certificate.pem` for TLS: ";
    assert_refused(&mut program.command(), missing);
    assert_refused(program.command().args(["config", "check"]), missing);
    std::fs::write(program.directory().join("certificate.pem"), "nothing").unwrap();
    std::fs::write(program.directory().join("key.pem"), "nothing").unwrap();
    assert_refused(&mut program.command(), "there is no certificate in it");
    let half = program_with("[http]\ntls_key = \"key.pem\"\n");
    assert_refused(&mut half.command(), "`http.tls_certificate` is missing");
    assert!(!program.directory().join("nagaya-data").exists(), "nothing was opened");
}

#[test]
fn an_address_to_listen_on_may_be_a_port_alone() {
    let empty = testkit::program!();
    for (listen, written) in [(":8080", "0.0.0.0:8080"), ("localhost:80", "127.0.0.1:80")] {
        let printed = empty.answer("config print --http-listen", &[listen]);
        assert!(printed.contains(&format!("listen = \"{written}\"")), "{printed}");
    }
    let told = "expected a URL without a path, such as `https://nagaya.example.org`";
    assert_refused(empty.command().args(["--http-public-url", "nagaya.example.org/x"]), told);
}

#[test]
fn a_file_of_games_that_is_missing_ends_the_start() {
    let program = program_with("score.games_file = \"games.json\"");
    let missing = "`score.games_file` `games.json`: No such file";
    assert_refused(&mut program.command(), missing);
    assert_refused(program.command().args(["config", "check"]), missing);
    std::fs::write(program.directory().join("games.json"), "{}").unwrap();
    assert_refused(&mut program.command(), "`score.games_file` `games.json`: not a list of games");
    std::fs::write(program.directory().join("games.json"), "[]").unwrap();
    program.answer("config check", &[]);
}

#[test]
fn a_collector_without_an_address_is_refused() {
    let empty = testkit::program!();
    let told = "`otlp.endpoint` is `https://x` (--otlp-endpoint), expected an address such as";
    assert_refused(empty.command().args(["--otlp-endpoint", "https://x"]), told);
}

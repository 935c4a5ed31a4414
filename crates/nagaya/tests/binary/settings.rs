//! Settings through the real layers.

use std::net::TcpListener;
use std::process::Command;

use tempfile::TempDir;

use crate::house::{nagaya, run};

/// A directory with a `nagaya.toml` of this text.
fn directory_with(text: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("nagaya.toml"), text).unwrap();
    directory
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
    let empty = TempDir::new().unwrap();
    let seconds = "expected a whole number from 0 to 3600";
    let told = |origin: &str| format!("`http.drain_seconds` is `soon` ({origin}), {seconds}");

    let flag = ["--http-drain-seconds", "soon"];
    assert_refused(nagaya(empty.path()).args(flag), &told("--http-drain-seconds"));
    assert_refused(nagaya(empty.path()).arg("serve").args(flag), &told("--http-drain-seconds"));
    let variable = "NAGAYA_HTTP_DRAIN_SECONDS";
    assert_refused(nagaya(empty.path()).env(variable, "soon"), &told(variable));
    let directory = directory_with("[http]\ndrain_seconds = \"soon\"\n");
    assert_refused(&mut nagaya(directory.path()), &told("nagaya.toml:2"));
}

#[test]
fn an_unknown_setting_of_any_layer_is_refused_with_the_nearest_known() {
    let empty = TempDir::new().unwrap();
    assert_refused(nagaya(empty.path()).args(["--http-listne", "x"]), "'--http-listen'");
    assert_refused(
        nagaya(empty.path()).env("NAGAYA_HTTP_LISTNE", "x"),
        "unknown setting `NAGAYA_HTTP_LISTNE` (environment); did you mean `NAGAYA_HTTP_LISTEN`?",
    );
    let directory = directory_with("[http]\nlistne = \"x\"\n");
    assert_refused(
        &mut nagaya(directory.path()),
        "unknown setting `http.listne` (nagaya.toml:2); did you mean `http.listen`?",
    );
}

#[test]
fn each_layer_overrides_the_one_below() {
    let empty = TempDir::new().unwrap();
    let directory = directory_with("http.drain_seconds = 1");
    let print = |command: &mut Command| {
        let (code, out, error) = run(command.args(["config", "print", "--origin"]));
        assert_eq!((code, error.as_str()), (0, ""));
        let line = out.lines().find(|line| line.starts_with("drain_seconds")).unwrap();
        line.to_owned()
    };
    let variable = "NAGAYA_HTTP_DRAIN_SECONDS";
    assert_eq!(print(&mut nagaya(empty.path())), "drain_seconds = 30  # default");
    assert_eq!(print(&mut nagaya(directory.path())), "drain_seconds = 1  # nagaya.toml:1");
    assert_eq!(
        print(nagaya(directory.path()).env(variable, "2")),
        "drain_seconds = 2  # NAGAYA_HTTP_DRAIN_SECONDS"
    );
    assert_eq!(
        print(nagaya(directory.path()).env(variable, "2").args(["--http-drain-seconds", "3"])),
        "drain_seconds = 3  # --http-drain-seconds"
    );
}

#[test]
fn a_file_is_named_by_flag_or_environment() {
    let directory = directory_with("http.drain_seconds = 1");
    std::fs::write(directory.path().join("other.toml"), "http.drain_seconds = 2").unwrap();
    let has = |command: &mut Command, line: &str| {
        let (_, out, error) = run(command.args(["config", "print", "--origin"]));
        assert!(out.contains(line), "{out}{error}");
    };
    has(nagaya(directory.path()).env("NAGAYA_CONFIG", "other.toml"), "= 2  # other.toml:1");
    let named = ["--config", "nagaya.toml"];
    has(nagaya(directory.path()).env("NAGAYA_CONFIG", "other.toml").args(named), "nagaya.toml:1");
    let missing = ["--config", "missing.toml"];
    assert_refused(nagaya(directory.path()).args(missing), "cannot read the settings in `missing");
}

#[test]
fn settings_are_checked_without_serving() {
    let directory = directory_with("");
    let (code, out, _) = run(nagaya(directory.path()).args(["config", "check"]));
    assert_eq!((code, out.as_str()), (0, "all settings are good\n"));
    let directory = directory_with("log.format = \"xml\"");
    let (code, _, error) = run(nagaya(directory.path()).args(["config", "check"]));
    assert_eq!(code, 2);
    assert_eq!(error, "nagaya: `log.format` is `xml` (nagaya.toml:1), expected `text` or `json`\n");
}

#[test]
fn the_example_can_be_used_as_it_is() {
    let (code, example, _) =
        run(nagaya(TempDir::new().unwrap().path()).args(["config", "example"]));
    assert_eq!(code, 0);
    let directory = directory_with(&example);
    let (code, out, _) = run(nagaya(directory.path()).args(["config", "print"]));
    assert_eq!(code, 0);
    assert!(out.contains("listen = \"127.0.0.1:8080\"\n"), "{out}");
}

#[test]
fn help_explains_settings_and_exit_codes_and_shells_are_taught() {
    let empty = TempDir::new().unwrap();
    let (code, help, _) = run(nagaya(empty.path()).arg("--help"));
    assert_eq!(code, 0);
    for part in ["--http-drain-seconds <NUMBER>", "[env: NAGAYA_HTTP_DRAIN_SECONDS]", "Exit codes:"]
    {
        assert!(help.contains(part), "{help}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, script, _) = run(nagaya(empty.path()).args(["completions", shell]));
        assert_eq!(code, 0);
        for word in ["http-drain-seconds", "sort-begins", "restore"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(nagaya(empty.path()).arg("dance")).0, 2);
}

#[test]
fn a_certificate_that_cannot_be_used_is_a_wrong_setting() {
    let directory =
        directory_with("[http]\ntls_certificate = \"certificate.pem\"\ntls_key = \"key.pem\"\n");
    let missing = "cannot use `certificate.pem` for TLS: ";
    assert_refused(&mut nagaya(directory.path()), missing);
    assert_refused(nagaya(directory.path()).args(["config", "check"]), missing);
    std::fs::write(directory.path().join("certificate.pem"), "nothing").unwrap();
    std::fs::write(directory.path().join("key.pem"), "nothing").unwrap();
    assert_refused(&mut nagaya(directory.path()), "there is no certificate in it");
    let half = directory_with("[http]\ntls_key = \"key.pem\"\n");
    assert_refused(&mut nagaya(half.path()), "`http.tls_certificate` is missing");
    assert!(!directory.path().join("nagaya-data").exists(), "nothing was opened");
}

#[test]
fn a_collector_without_an_address_is_refused() {
    let empty = TempDir::new().unwrap();
    let told = "`otlp.endpoint` is `https://x` (--otlp-endpoint), expected an address such as";
    assert_refused(nagaya(empty.path()).args(["--otlp-endpoint", "https://x"]), told);
}

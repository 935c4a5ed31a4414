//! What `packaging` and the compose files say, read by the tools that will read them.

use std::path::Path;
use std::process::Command;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::Signal;
use serde_json::Value as Json;
use testkit::node::{Node, python_program};
use testkit::program::run;

const UNIT: &str = include_str!("../../../../packaging/nagaya.service");

/// The value of a line of the unit.
#[track_caller]
fn said(key: &str) -> &'static str {
    let line = UNIT.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("the unit says nothing of {key}"))
}

/// What may be added to the unit: the file's name and its text.
const ADDITIONS: [(&str, &str); 3] = [
    ("tls.conf", include_str!("../../../../packaging/nagaya.service.d/tls.conf")),
    ("low-ports.conf", include_str!("../../../../packaging/nagaya.service.d/low-ports.conf")),
    ("operator.conf", include_str!("../../../../packaging/nagaya.service.d/operator.conf")),
];

/// What systemd says of the unit with these additions.
#[track_caller]
fn judge(additions: &[(&str, &str)]) {
    let program = testkit::program!();
    let unit = program.directory().join("nagaya.service");
    // It is not installed, and systemd looks for it.
    let here = UNIT.replace("/usr/local/bin/nagaya", env!("CARGO_BIN_EXE_nagaya"));
    std::fs::write(&unit, here).unwrap();
    let folder = program.directory().join("nagaya.service.d");
    std::fs::create_dir(&folder).unwrap();
    for (name, text) in additions {
        std::fs::write(folder.join(name), text).unwrap();
    }
    // With a colon at its end, systemd's own units are found too.
    let path = format!("{}:", program.directory().display());
    let mut verify = Command::new("systemd-analyze");
    verify.arg("verify").arg(&unit).env("SYSTEMD_UNIT_PATH", path);
    let judged = verify.output().expect("`cargo xtask test tools` installs systemd");
    let told = String::from_utf8_lossy(&judged.stderr);
    let is_ours = told.lines().any(|line| line.contains("nagaya"));
    assert!(!is_ours, "{additions:?}: {told}");
}

#[test]
fn systemd_takes_the_unit_and_what_may_be_added() {
    let texts = ADDITIONS.iter().map(|(_, text)| *text).chain([UNIT]);
    for line in texts.flat_map(str::lines).filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let is_section = line.starts_with('[') && line.ends_with(']');
        assert!(is_section || line.contains('='), "{line}");
    }
    judge(&[]);
    for addition in ADDITIONS {
        judge(&[addition]);
    }
    judge(&ADDITIONS);
}

#[test]
fn the_unit_comes_back_after_a_reboot_and_does_not_repeat_what_no_restart_mends() {
    assert_eq!((said("Restart"), said("RestartPreventExitStatus")), ("on-failure", "2 3"));
    assert_eq!(said("WantedBy"), "multi-user.target");
    assert_eq!(said("StartLimitIntervalSec"), "0", "a port that is free late is waited for");
}

#[test]
fn what_is_added_to_the_unit_are_settings_that_the_program_takes() {
    let program = testkit::program!();
    let names = ["127.0.0.1".to_owned()].to_vec();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    // What systemd puts in the place of `%d`.
    let credentials = program.directory().join("credentials");
    std::fs::create_dir(&credentials).unwrap();
    let write = |name: &str, text: &str| std::fs::write(credentials.join(name), text).unwrap();
    write("tls-certificate", &cert.pem());
    write("tls-key", &signing_key.serialize_pem());
    write("operator-password", "a sentence to remember\n");
    let mut command = program.command();
    for line in ADDITIONS.iter().flat_map(|(_, text)| text.lines()) {
        let setting = line.strip_prefix("Environment=").and_then(|set| set.split_once('='));
        if let Some((name, value)) = setting {
            command.env(name, value.replace("%d", credentials.to_str().unwrap()));
        }
        let file = line.strip_prefix("LoadCredential=").and_then(|load| load.split_once(':'));
        if let Some((name, path)) = file {
            assert!(credentials.join(name).is_file() && path.starts_with("/etc/nagaya/"), "{line}");
        }
    }
    let checked = run(command.args(["config", "print"]));
    assert_eq!(checked.0, 0, "{}", checked.2);
    for part in ["listen = \"0.0.0.0:80\"", "operator-password\"", "tls-key\""] {
        assert!(checked.1.contains(part), "{part}: {}", checked.1);
    }
}

#[test]
fn the_settings_file_that_the_unit_names_is_the_one_that_is_read() {
    assert!(UNIT.contains("/etc/nagaya/nagaya.toml"));
    assert_eq!(said("WorkingDirectory").replace("%E", "/etc"), "/etc/nagaya");
    assert_eq!(said("ConfigurationDirectory"), "nagaya", "it is there also without a file");
    let program = testkit::program!();
    let without = run(program.command().args(["config", "check"]));
    assert_eq!(without.0, 0, "{}", without.2);
    std::fs::write(program.directory().join("nagaya.toml"), "[mesh]\nsite = \"school\"\n").unwrap();
    let read = run(program.command().args(["config", "print", "--origin"]));
    assert!(read.1.contains("nagaya.toml:2"), "{}", read.1);
}

/// The services of a compose file, as a reader of YAML sees them.
#[track_caller]
fn services(file: &str) -> serde_json::Map<String, Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let read =
        Command::new(python_program("python")).args(["-c", script]).arg(&path).output().unwrap();
    assert!(read.status.success(), "{file}: {}", String::from_utf8_lossy(&read.stderr));
    let composed: Json = serde_json::from_slice(&read.stdout).unwrap();
    composed["services"].as_object().unwrap().clone()
}

#[test]
fn the_houses_of_the_compose_files_have_good_settings() {
    let program = testkit::program!();
    for (file, count) in [("compose.yaml", 1), ("compose.distributed.yaml", 2)] {
        let services = services(file);
        for (name, service) in &services {
            assert_eq!(service["restart"], "unless-stopped", "{file}, {name}: after a reboot");
        }
        let houses = services.iter().filter(|(_, service)| {
            service["build"].is_string() && service.get("command").is_none()
        });
        let houses: Vec<_> = houses.collect();
        assert_eq!(houses.len(), count, "{file}");
        for (name, service) in houses {
            let mut command = program.command();
            for (variable, value) in service["environment"].as_object().unwrap() {
                command.env(variable, value.as_str().unwrap());
            }
            let checked = run(command.args(["config", "check"]));
            assert_eq!(checked.0, 0, "{file}, {name}: {}", checked.2);
        }
    }
}

#[test]
fn a_container_is_not_started_again_and_again_for_what_no_restart_mends() {
    let docker = include_str!("../../../../Dockerfile");
    let started = docker.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let started: Vec<String> = serde_json::from_str(started).unwrap();
    assert!(started.iter().any(|word| word == "--hold"), "{started:?}");
    assert!(docker.contains("! readelf"), "the build fails with a binary that is not stripped");
    let program = testkit::program!();
    let mut command = program.command();
    command.args(&started).env("NAGAYA_LOG_FORMAT", "loud");
    let mut held = Node::heard_by_errors(&mut command);
    let told = held.line().unwrap();
    assert!(told.contains("`log.format` is `loud`"), "{told}");
    assert!(held.line().unwrap().contains("waits to be stopped"));
    held.signal(Signal::TERM);
    assert_eq!(held.wait().code(), Some(2));
}

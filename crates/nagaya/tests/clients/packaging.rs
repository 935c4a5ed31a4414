//! What `packaging` and the compose files say, read by the tools that will read them.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use testkit::node::python_program;
use testkit::program::run;

const UNIT: &str = include_str!("../../../../packaging/nagaya.service");

/// The value of a line of the unit.
#[track_caller]
fn said(key: &str) -> &'static str {
    let line = UNIT.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("the unit says nothing of {key}"))
}

#[test]
fn systemd_takes_the_unit() {
    for line in UNIT.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let is_section = line.starts_with('[') && line.ends_with(']');
        assert!(is_section || line.contains('='), "{line}");
    }
    let program = testkit::program!();
    let unit = program.directory().join("nagaya.service");
    // It is not installed, and systemd looks for it.
    let here = UNIT.replace("/usr/local/bin/nagaya", env!("CARGO_BIN_EXE_nagaya"));
    std::fs::write(&unit, here).unwrap();
    let Ok(judged) = Command::new("systemd-analyze").arg("verify").arg(&unit).output() else {
        return println!("there is no systemd-analyze here; the unit's lines were read");
    };
    let told = String::from_utf8_lossy(&judged.stderr);
    assert!(judged.status.success() && !told.contains("nagaya.service"), "{told}");
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

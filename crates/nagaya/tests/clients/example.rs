//! The examples as they are run: `mesh-client` by a class, a terminal for everybody, and the client
//! of `score-game` over TLS.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;
use testkit::Served;
use testkit::node::{Node, node, packages};
use testkit::program::run;

use crate::lessons::certify;

/// The example beside a house, in a folder where Node finds a WebSocket whatever its version.
struct Class {
    directory: TempDir,
    address: String,
    key: String,
}

impl Class {
    fn beside(house: &Served) -> Class {
        let directory = TempDir::new().unwrap();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mesh-client");
        for file in ["main.js", "mesh.js", "package.json"] {
            std::fs::copy(example.join(file), directory.path().join(file)).unwrap();
        }
        let modules = packages("npm", &["ws"]).join("node_modules");
        std::os::unix::fs::symlink(modules, directory.path().join("node_modules")).unwrap();
        let (address, key) = (house.address.clone(), house.mesh_key().to_owned());
        Class { directory, address, key }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = node(&self.directory.path().join("main.js"));
        let url = format!("http://{}", self.address);
        command.args(arguments).args(["--url", &url, "--key", &self.key]);
        command
    }

    fn run(&self, arguments: &[&str]) -> Node {
        Node::start(&mut self.command(arguments))
    }
}

#[test]
fn the_example_hosts_joins_reports_fires_comes_back_and_ends() {
    let data = testkit::program!();
    let house = data.open();
    let class = Class::beside(&house);

    let mut host =
        class.run(&["host", "--name", "理科室", "--node", "先生", "--report", "温度=21"]);
    let opened = host.line().unwrap();
    let id = opened.strip_prefix("group ").and_then(|rest| rest.strip_suffix(" in local"));
    let id = id.unwrap_or_else(|| panic!("{opened}"));
    host.until("先生: 温度 = 21");

    let mut groups = class.run(&["groups"]);
    assert_eq!(groups.line(), Some(format!("{id}  理科室")));
    assert!(groups.wait().success());

    let mut member = class.run(&["join", "--group", id, "--node", "たろう", "--fire", "ジャンプ"]);
    assert_eq!(member.line().as_deref(), Some("joined as たろう"));
    member.until("たろう fired ジャンプ");
    member.until("先生: 温度 = 21");
    host.until("たろう fired ジャンプ");

    assert_eq!(house.close().0.code(), Some(0));
    let _house = Served::open_at(&class.address, &mut data.serve());
    // Who joins later tells something new again and again: whoever hears it has come back.
    let late = class.run(&["join", "--group", id, "--node", "はなこ", "--report", "湿度=50"]);
    host.until("はなこ: 湿度 = 50");
    member.until("はなこ: 湿度 = 50");
    member.until("先生: 温度 = 21");
    late.signal(Signal::TERM);
    assert!(late.wait().success());

    host.signal(Signal::TERM);
    assert!(host.wait().success());
    member.until(&format!("Group {id}@local has been dissolved successfully."));
    assert_eq!(member.line(), None);
    assert!(member.wait().success());
}

#[test]
fn the_example_says_what_was_refused() {
    let data = testkit::program!();
    let house = data.open();
    let mut class = Class::beside(&house);
    let refused = |class: &Class, arguments: &[&str]| {
        let mut command = class.command(arguments);
        let (code, out, error) = run(&mut command);
        assert_eq!((code, out.as_str()), (1, ""), "{error}");
        error
    };
    let nowhere = refused(&class, &["join", "--group", "無い", "--node", "たろう"]);
    assert_eq!(nowhere, "GroupNotFound: Group not found: 無い@local\n");
    let unknown = refused(&class, &["sing"]);
    assert!(
        unknown.starts_with("usage: node main.js <command> --key KEY [options]\n"),
        "{unknown}"
    );
    class.key = "da2-another".to_owned();
    let locked = refused(&class, &["groups"]);
    assert_eq!(locked, "UnauthorizedException: You are not authorized to make this call.\n");
}

#[test]
fn the_score_client_submits_over_tls_and_its_cookie_is_secure() {
    let data = testkit::program!();
    let (certificate, key) = certify(data.directory());
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let root = tests.join("../../../..").canonicalize().unwrap();
    let mut command = data.serve();
    command.env("NAGAYA_HTTP_TLS_CERTIFICATE", &certificate).env("NAGAYA_HTTP_TLS_KEY", &key);
    command.env("NAGAYA_SCORE_GAMES_FILE", root.join("examples/score-game/games.json"));
    let house = Served::open(&mut command);
    let mut player = node(&tests.join("score.mjs"));
    player.env("NAGAYA_URL", format!("https://{}", house.address)).env("NAGAYA_ROOT", &root);
    player.env("NAGAYA_CONTROL", house.control()).env("NODE_EXTRA_CA_CERTS", &certificate);
    let mut player = Node::start(&mut player);
    player.until("submitted");
    assert!(player.wait().success());
}

//! One lesson with every client: open a group, join, subscribe, report, fire, beat, be refused; the
//! house closes and opens again, then is killed and opens again, and the client comes back by itself;
//! dissolve.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::node::{Node, node, packages};
use testkit::{Program, Served};

/// Where houses listen.
const HOST: &str = "127.0.0.1";

/// Files of a certificate for a house, and of its key.
pub(crate) fn certify(directory: &Path) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed([HOST.to_owned()]).unwrap();
    let [certificate, key] = ["house.pem", "house.key"].map(|name| directory.join(name));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (certificate, key)
}

/// A house with its directory, and how it is to be opened.
struct Lesson {
    program: Program,
    /// The files of certificate and key, if it has TLS.
    certificate: Option<(PathBuf, PathBuf)>,
}

impl Lesson {
    fn over_http() -> Lesson {
        Lesson { program: testkit::program!(), certificate: None }
    }

    fn over_https() -> Lesson {
        let program = testkit::program!();
        let certificate = Some(certify(program.directory()));
        Lesson { program, certificate }
    }

    fn command(&self) -> Command {
        let mut command = self.program.serve();
        if let Some((certificate, key)) = &self.certificate {
            command.env("NAGAYA_HTTP_TLS_CERTIFICATE", certificate);
            command.env("NAGAYA_HTTP_TLS_KEY", key);
        }
        command
    }

    /// Plays it with the client of a script.
    #[track_caller]
    fn play(&self, script: &str, packages: &Path, scheme: &str) {
        let mut house = Served::open(&mut self.command());
        let address = house.address.clone();
        assert!(address.starts_with(HOST), "{address}");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script);
        let mut command = node(&script);
        command.env("NAGAYA_URL", format!("{scheme}://{address}"));
        command.env("NAGAYA_KEY", house.mesh_key()).env("NAGAYA_PACKAGES", packages);
        if let Some((certificate, _)) = &self.certificate {
            command.env("NODE_EXTRA_CA_CERTS", certificate);
        }
        let mut client = Node::start(&mut command);
        for end in ["close", "kill"] {
            client.until(end);
            match end {
                "close" => {
                    let (status, log) = house.close();
                    assert_eq!(status.code(), Some(0), "{log}");
                }
                _ => house.kill(),
            }
            house = Served::open_at(&address, &mut self.command());
            client.tell("open");
        }
        assert_eq!(client.line(), None);
        assert!(client.wait().success(), "the client has told why");
    }
}

#[test]
fn aws_appsync_has_a_lesson() {
    let names = ["aws-appsync", "graphql", "graphql-tag", "ws"];
    let packages = packages("npm-appsync", &names);
    Lesson::over_http().play("appsync.mjs", &packages, "http");
}

#[test]
fn the_subscription_link_has_a_lesson() {
    let links = ["aws-appsync-auth-link", "aws-appsync-subscription-link"];
    let packages = packages("npm", &[&links[..], &["@apollo/client", "graphql", "ws"]].concat());
    Lesson::over_http().play("subscription_link.mjs", &packages, "http");
}

#[test]
fn amplify_has_a_lesson_over_tls() {
    let packages = packages("npm", &["aws-amplify", "ws"]);
    Lesson::over_https().play("amplify.mjs", &packages, "https");
}

#[test]
fn amplify_has_a_lesson_without_tls_if_the_scheme_is_shouted() {
    let packages = packages("npm", &["aws-amplify", "ws"]);
    Lesson::over_http().play("amplify.mjs", &packages, "HTTP");
}

#[test]
fn graphql_ws_has_a_lesson() {
    let packages = packages("npm", &["graphql", "graphql-ws", "ws"]);
    Lesson::over_http().play("graphql_ws.mjs", &packages, "http");
}

//! Classes of forty: each has a host who makes its group, and pupils who join and report.

use serde_json::{Value as Json, json};

use super::{PEOPLE, Person, Request, beside_an_abuser, each, serve, text};

const CLASS: usize = 40;

/// What the abuser's own group and node are called, for the calls that it makes too often.
const ABUSER: &str = "mallory";

const CREATE: &str =
    "mutation($h: ID!) { createGroup(name: \"g\", hostId: $h, domain: \"local\") { id } }";
const JOIN: &str =
    "mutation($g: ID!, $n: ID!) { joinGroup(groupId: $g, domain: \"local\", nodeId: $n) { id } }";
const REPORT: &str = "mutation($g: ID!, $n: ID!, $v: String!) { reportDataByNode(groupId: $g, \
    domain: \"local\", nodeId: $n, data: [{ key: \"x\", value: $v }]) { groupId } }";
const STATUSES: &str = "query($g: ID!) { listGroupStatuses(groupId: $g, domain: \"local\") { \
    nodeId data { value } } }";

fn asked(query: &str, variables: &Json) -> Json {
    json!({ "query": query, "variables": variables })
}

/// Somebody with the class key, which the abuser has as well.
struct Pupil<'k> {
    person: Person,
    key: &'k str,
}

impl<'k> Pupil<'k> {
    fn connect(address: &str, key: &'k str) -> Pupil<'k> {
        Pupil { person: Person::connect(address), key }
    }

    #[track_caller]
    fn call(&mut self, query: &str, variables: &Json) -> Json {
        self.person.post("/mesh/graphql", self.key, &asked(query, variables))["data"].clone()
    }
}

/// Its own group again and again, groups of ever new hosts, a node that has not joined, a node that
/// is too fast, values that are refused, and a wrong key.
fn abuse(key: &str, group: &str, number: usize) -> Request {
    let call =
        |query, variables: Json| Request::post("/mesh/graphql", key, &asked(query, &variables));
    match number % 6 {
        0 => call(CREATE, json!({ "h": ABUSER })),
        1 => call(CREATE, json!({ "h": format!("stranger-{number}") })),
        2 => call(REPORT, json!({ "g": group, "n": format!("stranger-{number}"), "v": "1" })),
        3 => call(REPORT, json!({ "g": group, "n": ABUSER, "v": "1" })),
        4 => call(CREATE, json!({ "h": "" })),
        _ => {
            let path = format!("/mesh/poll?groupId={group}&domain=local&x-api-key=wrong");
            Request::get(&path, "")
        }
    }
}

#[test]
fn a_thousand_pupils_and_one_flooder_share_an_address_and_no_pupil_is_refused() {
    let program = testkit::program!();
    let house = serve(&program, &[]);
    let key = format!("x-api-key: {}\r\n", house.mesh_key());
    let address = house.address.as_str();
    let mut mallory = Pupil::connect(address, &key);
    let own = text(&mallory.call(CREATE, &json!({ "h": ABUSER })), "/createGroup/id");
    mallory.call(JOIN, &json!({ "g": own, "n": ABUSER }));

    let classes = PEOPLE / CLASS;
    let groups: Vec<_> = (0..classes).map(|_| std::sync::OnceLock::new()).collect();
    beside_an_abuser(
        address,
        |number| abuse(&key, &own, number),
        || {
            each(classes, |class| {
                let mut host = Pupil::connect(address, &key);
                let made = host.call(CREATE, &json!({ "h": format!("host-{class}") }));
                groups[class].set(text(&made, "/createGroup/id")).unwrap();
            });
            each(PEOPLE, |number| {
                let (group, node) = (groups[number % classes].get(), format!("n-{number}"));
                let mut pupil = Pupil::connect(address, &key);
                pupil.call(JOIN, &json!({ "g": group, "n": node }));
                pupil.call(REPORT, &json!({ "g": group, "n": node, "v": node }));
            });
        },
    );

    let mut reader = Pupil::connect(address, &key);
    let mut told = 0;
    for group in &groups {
        let seen = reader.call(STATUSES, &json!({ "g": group.get() }));
        let statuses = seen["listGroupStatuses"].as_array().unwrap();
        let is_own = |status: &&Json| status["data"][0]["value"] == status["nodeId"];
        told += statuses.iter().filter(is_own).count();
    }
    assert_eq!(told, PEOPLE);
}

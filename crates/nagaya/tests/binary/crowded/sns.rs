//! People with a token of their school, who register with it, read their timeline and post. A
//! registration with a password costs a slow hash, of which one runs at a time; the rates before it
//! are the same.

use base::Timestamp;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value as Json, json};
use std::sync::OnceLock;
use std::time::Duration;

use super::{PEOPLE, Person, Request, beside_an_abuser, each, serve, text};

const ISSUER: &str = "https://school.example";

/// How long the school's tokens are good.
const TOKEN_SECONDS: u64 = 3_600;

/// The sign-in service of a school.
struct School {
    pair: Ed25519KeyPair,
}

impl School {
    fn new() -> School {
        School { pair: Ed25519KeyPair::from_seed_unchecked(&[5; 32]).unwrap() }
    }

    /// The file that makes the house believe it.
    fn issuers(&self) -> Json {
        let x = URL_SAFE_NO_PAD.encode(self.pair.public_key());
        let keys = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "1", "x": x }] });
        json!([{ "issuer": ISSUER, "audience": "nagaya", "jwks": keys }])
    }

    fn token(&self, name: &str, now: Timestamp) -> String {
        let text = |value: Json| URL_SAFE_NO_PAD.encode(value.to_string());
        let head = text(json!({ "alg": "EdDSA", "kid": "1" }));
        let claims = text(json!({
            "iss": ISSUER, "sub": name, "aud": "nagaya", "exp": now.seconds() + TOKEN_SECONDS,
        }));
        let message = format!("{head}.{claims}");
        let mark = URL_SAFE_NO_PAD.encode(self.pair.sign(message.as_bytes()));
        format!("{message}.{mark}")
    }
}

/// Somebody's first request: the account's id, and the line with its token.
fn register(person: &mut Person, token: &str, name: &str) -> (String, String) {
    let wanted = json!({ "token": token, "username": name, "email": mail(name) });
    let opened = person.post("/sns/v1/auth/external", "", &wanted);
    (text(&opened, "/user/userId"), bearer(&text(&opened, "/token")))
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

fn mail(name: &str) -> String {
    format!("{name}@school.example")
}

/// Guesses at an account; tokens that nobody has; registrations under a name that is taken; one
/// user who reads and posts too fast, and posts what is refused; and a stream without a ticket.
fn abuse(own: &str, number: usize) -> Request {
    let post =
        |path: &str, head: &str, body: Json| Request::post(&format!("/sns/v1{path}"), head, &body);
    match number % 7 {
        0 => post("/auth/login", "", json!({ "email": mail("mallory"), "password": "a guess" })),
        1 => Request::get("/sns/v1/timeline", &bearer(&format!("wrong-{number}"))),
        2 => {
            let password = "correct horse";
            let taken =
                json!({ "email": mail("eve"), "username": "mallory", "password": password });
            post("/auth/register", "", taken)
        }
        3 => Request::get("/sns/v1/timeline", own),
        4 => post("/posts", own, json!({ "content": "buy" })),
        5 => post("/posts", own, json!({ "content": "" })),
        _ => post("/auth/external", "", json!({ "token": "forged" })),
    }
}

#[test]
fn a_thousand_members_and_one_flooder_share_an_address_and_no_member_is_refused() {
    let program = testkit::program!();
    let school = School::new();
    std::fs::write(program.directory().join("issuers.json"), school.issuers().to_string()).unwrap();
    let house = serve(&program, &[("NAGAYA_SNS_ISSUERS_FILE", "issuers.json")]);
    let address = house.address.as_str();
    let now = house.now();
    let (_, own) =
        register(&mut Person::connect(address), &school.token("mallory", now), "mallory");
    // So that the abuser has none of the thousand registrations of this hour.
    let now = house.advance(Duration::from_secs(60));

    let members: Vec<OnceLock<(String, String)>> = (0..PEOPLE).map(|_| OnceLock::new()).collect();
    beside_an_abuser(
        address,
        |number| abuse(&own, number),
        || {
            each(PEOPLE, |number| {
                let (mut person, name) = (Person::connect(address), format!("p-{number}"));
                let (id, token) = register(&mut person, &school.token(&name, now), &name);
                person.get("/sns/v1/timeline", &token);
                person.post("/sns/v1/posts", &token, &json!({ "content": name }));
                members[number].set((id, token)).unwrap();
            });
        },
    );

    each(PEOPLE, |number| {
        let (id, token) = members[number].get().unwrap();
        let posts = Person::connect(address).get(&format!("/sns/v1/users/{id}/posts"), token);
        assert!(posts.to_string().contains(&format!("\"p-{number}\"")), "{posts}");
    });
}

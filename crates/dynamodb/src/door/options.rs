//! The settings of the door: its address, its keys and its origins.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use base::options::{Form, LISTEN_EXPECTED, Value, read_listen};

base::options! {
    /// A DynamoDB endpoint on the embedded store, for tools that speak DynamoDB.
    pub struct Options in "dynamodb" {
        /// Address and port of the endpoint, such as `127.0.0.1:8000`. Empty: no endpoint.
        pub listen: Listen = Listen::default();
        /// A file with the accepted access keys, one per line: the id, a space, the secret.
        pub keys_file: Option<PathBuf> = None;
        /// Whether callers need no key. Only on a loopback address.
        pub open: bool = false;
        /// Origins whose pages may call the endpoint from a browser, separated by commas:
        /// `https://example.org, http://localhost:3000`. Their calls need keys like all others.
        /// Empty: no page may call.
        pub cors_origins: Origins = Origins::default();
    }
}

/// The address of the endpoint, if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listen(pub Option<SocketAddr>);

impl Value for Listen {
    fn read(&mut self, text: &str) -> bool {
        let address = if text.is_empty() { Some(None) } else { read_listen(text).map(Some) };
        address.map(|address| *self = Listen(address)).is_some()
    }

    fn write(&self) -> String {
        self.0.map(|address| address.to_string()).unwrap_or_default()
    }

    fn expected(&self) -> String {
        format!("{LISTEN_EXPECTED}, or nothing")
    }

    fn form(&self) -> Form {
        Form::Text
    }
}

/// The origins of pages, as a list with commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(Vec<String>);

impl Origins {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, origin: &str) -> bool {
        self.0.iter().any(|listed| listed == origin)
    }
}

impl Value for Origins {
    fn read(&mut self, text: &str) -> bool {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let origins: Vec<String> = parts.map(str::to_owned).collect();
        let all_are = origins.iter().all(|origin| is_origin(origin));
        if all_are {
            self.0 = origins;
        }
        all_are
    }

    fn write(&self) -> String {
        self.0.join(", ")
    }

    fn expected(&self) -> String {
        "origins such as `https://example.org, http://localhost:3000`, or nothing".to_owned()
    }

    fn form(&self) -> Form {
        Form::Text
    }
}

/// Whether a text is an origin as a browser sends it: scheme, host and an optional port, in lower
/// case, and nothing after them.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let in_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:[]".contains(&byte);
    matches!(scheme, "http" | "https") && !host.is_empty() && host.bytes().all(in_host)
}

/// The access keys in the text of a keys file, by id. Empty lines and lines that begin with `#` are
/// skipped.
///
/// # Errors
/// A line is not a key, or there is no key. The message contains no secret.
pub fn read_keys(text: &str) -> Result<BTreeMap<String, String>, String> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let mut keys = BTreeMap::new();
    for (number, line) in lines {
        let mut words = line.split_whitespace();
        let (Some(id), Some(secret), None) = (words.next(), words.next(), words.next()) else {
            return Err(format!("line {}: a key is an id, a space, and a secret", number + 1));
        };
        keys.insert(id.to_owned(), secret.to_owned());
    }
    if keys.is_empty() {
        return Err("it contains no key".to_owned());
    }
    Ok(keys)
}

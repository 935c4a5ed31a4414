//! Where the door stands and who has its keys.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use base::options::{Form, LISTEN_EXPECTED, Value, read_listen};

base::options! {
    /// The house as a DynamoDB endpoint, for the tools that speak DynamoDB.
    pub struct Options in "dynamodb" {
        /// Address and port of the endpoint, such as `127.0.0.1:8000`. Nothing: there is none.
        pub listen: Listen = Listen::default();
        /// A file with the access keys that are let in, one a line: its id, a space, its secret.
        pub keys_file: Option<PathBuf> = None;
        /// Whether everybody is let in without a key. Only on a loopback address.
        pub open: bool = false;
        /// Origins whose pages may call the endpoint from a browser, with commas between:
        /// `https://example.org, http://localhost:3000`. Their calls need keys as all others do.
        /// Nothing: no page may.
        pub cors_origins: Origins = Origins::default();
    }
}

/// Where the endpoint listens, if there is one.
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

/// Origins of pages, as a list with commas.
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

/// Whether a text is an origin as a browser sends it: scheme, host and maybe a port, in lower case,
/// nothing behind.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let in_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:[]".contains(&byte);
    matches!(scheme, "http" | "https") && !host.is_empty() && host.bytes().all(in_host)
}

/// The access keys in the text of a keys' file, by their ids. Empty lines and those that begin
/// with `#` say nothing.
///
/// # Errors
/// A line is no key, or there is none at all; in words that do not tell a secret.
pub fn read_keys(text: &str) -> Result<BTreeMap<String, String>, String> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let mut keys = BTreeMap::new();
    for (number, line) in lines {
        let mut words = line.split_whitespace();
        let (Some(id), Some(secret), None) = (words.next(), words.next(), words.next()) else {
            return Err(format!("line {}: a key is its id, a space, its secret", number + 1));
        };
        keys.insert(id.to_owned(), secret.to_owned());
    }
    if keys.is_empty() {
        return Err("there is no key in it".to_owned());
    }
    Ok(keys)
}

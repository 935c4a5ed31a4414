//! Where pupils come in: the address that people use, and the key that their editors send.

use super::JOIN;

/// What it takes to join a class.
pub(super) struct Entry<'e> {
    /// Scheme and host, as people reach the server.
    pub(super) address: &'e str,
    /// The key that clients send.
    pub(super) key: &'e str,
}

impl Entry<'_> {
    /// The page for pupils, with the key behind `#`: browsers keep that to themselves, so that the key
    /// stands in no log.
    pub(super) fn link(&self) -> String {
        format!("{}#key={}", self.page(), encoded(self.key))
    }

    /// The same page without the key.
    pub(super) fn page(&self) -> String {
        format!("{}{JOIN}", self.address)
    }

    /// The address that an editor needs.
    pub(super) fn endpoint(&self) -> String {
        format!("{}/mesh/graphql", self.address)
    }

    /// Whether the address is good on the server's own computer alone.
    pub(super) fn is_of_this_computer(&self) -> bool {
        let host = self.address.split_once("//").map_or(self.address, |(_, host)| host);
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let is_loopback = name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        is_loopback || name == "localhost" || name.ends_with(".localhost")
    }
}

/// A text as part of an address.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let part = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::{Entry, encoded};

    #[test]
    fn the_link_of_pupils_has_the_key_where_no_log_sees_it() {
        let entry = Entry { address: "http://192.168.1.9:8080", key: "da2-a b#組" };
        let link = "http://192.168.1.9:8080/mesh/join#key=da2-a%20b%23%E7%B5%84";
        assert_eq!(entry.link(), link);
        assert_eq!(entry.endpoint(), "http://192.168.1.9:8080/mesh/graphql");
    }

    #[test]
    fn an_address_of_this_computer_is_known_by_its_host() {
        let is = |address| Entry { address, key: "" }.is_of_this_computer();
        for here in
            ["http://localhost:8080", "http://127.0.0.2", "https://[::1]:80", "http://a.localhost"]
        {
            assert!(is(here), "{here}");
        }
        for there in [
            "http://192.168.0.2:80",
            "https://mesh.example",
            "http://localhost.example",
            "http://[fe80::1]",
        ] {
            assert!(!is(there), "{there}");
        }
    }

    #[test]
    fn an_encoded_text_holds_nothing_that_ends_a_part_of_an_address() {
        assert_eq!(encoded("local"), "local");
        assert_eq!(encoded("3年1組&x=/"), "3%E5%B9%B41%E7%B5%84%26x%3D%2F");
    }
}

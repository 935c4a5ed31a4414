//! Which domain a caller belongs to.

use std::net::IpAddr;

use crate::{DomainForm, Options};

/// The caller's domain: its public address as the server sees it. Every private address belongs to
/// one site: on a classroom's network each computer has an address of its own, and they must still
/// find each other.
pub(crate) fn of(address: IpAddr, options: &Options) -> String {
    if is_private(address) {
        return options.site.clone();
    }
    match options.domain {
        DomainForm::Hashed => {
            let bytes = format!("{}{address}", options.domain_secret);
            format!("{:x}", crc32fast::hash(bytes.as_bytes()))
        }
        DomainForm::Address => address.to_string(),
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            // A carrier's inner network is no public one either.
            let shared = first == 100 && (64..128).contains(&second);
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || shared
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::{DomainForm, Options};

    fn domain(address: &str, options: &Options) -> String {
        of(address.parse().unwrap(), options)
    }

    #[test]
    fn a_classroom_is_one_domain_and_the_world_is_by_address() {
        let options = Options::default();
        for inside in
            ["192.168.1.7", "10.0.0.1", "172.16.3.4", "127.0.0.1", "169.254.1.1", "100.64.0.9"]
        {
            assert_eq!(domain(inside, &options), "local", "{inside}");
        }
        for inside in ["::1", "fe80::1", "fd00::1"] {
            assert_eq!(domain(inside, &options), "local", "{inside}");
        }
        assert_eq!(domain("203.0.113.9", &options), "203.0.113.9");
        assert_eq!(domain("2001:db8::9", &options), "2001:db8::9");
    }

    #[test]
    fn a_hashed_domain_is_a_checksum_in_plain_hexadecimal() {
        let options = Options {
            domain: DomainForm::Hashed,
            domain_secret: "123456".to_owned(),
            ..Options::default()
        };
        // By zlib.
        assert_eq!(domain("7.8.9.10", &options), "71944ff0");
        assert_eq!(domain("7.8.9.11", &options), "6937f66", "not padded");
    }
}

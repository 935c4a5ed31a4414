//! Which domain a caller belongs to.

use std::net::{IpAddr, Ipv6Addr};

use crate::{DomainForm, Options};

/// The caller's domain: its public address as the server sees it, of IPv6 the first 64 bits, which
/// are those of a site: each computer in it has an address of its own, and changes it. Every private
/// address belongs to one site: on a classroom's network each computer has an address of its own, and
/// they must still find each other.
pub(crate) fn of(address: IpAddr, options: &Options) -> String {
    let address = address.to_canonical();
    if is_private(address) {
        return of_site(options);
    }
    let network = match address {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
    };
    formed(&network.to_string(), options)
}

/// The domain of all callers with a private address.
pub(crate) fn of_site(options: &Options) -> String {
    formed(&options.site, options)
}

fn formed(place: &str, options: &Options) -> String {
    match options.domain {
        DomainForm::Hashed => {
            let bytes = format!("{}{place}", options.domain_secret);
            format!("{:x}", crc32fast::hash(bytes.as_bytes()))
        }
        DomainForm::Address => place.to_owned(),
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
        assert_eq!(domain("::ffff:203.0.113.9", &options), "203.0.113.9");
        assert_eq!(domain("::ffff:192.168.1.7", &options), "local");
    }

    #[test]
    fn callers_of_one_site_share_its_prefix() {
        let options = Options::default();
        assert_eq!(domain("2001:db8:1:2::9", &options), "2001:db8:1:2::");
        let other = domain("2001:db8:1:2:a1b2:c3d4:e5f6:1", &options);
        assert_eq!(other, "2001:db8:1:2::", "another computer of the same site");
        assert_eq!(domain("2001:db8:1:3::9", &options), "2001:db8:1:3::", "another site");
    }

    #[test]
    fn private_callers_have_a_hashed_domain_too() {
        let hashed = |site: &str, secret: &str| Options {
            domain: DomainForm::Hashed,
            site: site.to_owned(),
            domain_secret: secret.to_owned(),
            ..Options::default()
        };
        let options = hashed("local", "123456");
        // By zlib, of `123456local`.
        assert_eq!(domain("192.168.1.7", &options), "9dd2c715");
        assert_eq!(domain("::1", &options), domain("192.168.1.7", &options));
        assert_ne!(domain("::1", &hashed("local", "other")), domain("::1", &options));
        let one = domain("2001:db8:1:2::9", &options);
        assert_eq!(one, domain("2001:db8:1:2::a", &options));
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

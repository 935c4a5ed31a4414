//! Which addresses may be asked. What is not on the public internet is asked only where the
//! operator named it: a source that others may point anywhere would otherwise be a door into the
//! house's own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || first == 0
        || first >= 240
        // Carriers' own, protocol assignments, and networks for benchmarks.
        || (first == 100 && (64..128).contains(&second))
        || (first == 192 && second == 0 && third == 0)
        || (first == 198 && (18..20).contains(&second)))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let [one, two] = high.to_be_bytes();
        let [three, four] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(one, two, three, four))
    };
    match (a, b) {
        // An address of IPv4 in other clothes is what it is beneath: mapped, translated, 6to4.
        (0, 0) if (c, d, e, f) == (0, 0, 0, 0xffff) => v4(g, h),
        (0x64, 0xff9b) => (c, d, e, f) == (0, 0, 0, 0) && v4(g, h),
        (0x2002, _) => v4(b, c),
        // Teredo and documentation.
        (0x2001, 0 | 0xdb8) => false,
        // The rest of the public internet is 2000::/3.
        (first, _) => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::is_public;

    #[test]
    fn only_the_public_internet_is_public() {
        let public = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111"];
        let private = [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.1",
            "198.18.0.1",
            "192.0.2.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::127.0.0.1",
        ];
        let judge = |text: &str| is_public(text.parse::<IpAddr>().unwrap());
        assert_eq!(public.map(judge), [true; 5]);
        for address in private {
            assert!(!judge(address), "{address}");
        }
        assert!(judge("::ffff:8.8.8.8") && judge("64:ff9b::808:808") && judge("2002:808:808::"));
    }
}

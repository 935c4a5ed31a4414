//! The addresses at which other machines of the local network reach this one.
//!
//! First comes the address from which this machine would call the internet; nothing is sent to find
//! it. Then come those that the kernel lists, without the networks of containers and virtual
//! machines, which others do not reach. Where the system has no `/proc`, there is only the first.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use ipnet::Ipv4Net;

/// Addresses of documentation: a route leads to them wherever one leads to the internet.
const ELSEWHERE: [&str; 2] = ["192.0.2.1:9", "[2001:db8::1]:9"];

/// The beginnings of the names of interfaces that lead to containers and virtual machines.
const VIRTUAL: [&str; 9] =
    ["docker", "br-", "veth", "virbr", "vmnet", "cni", "flannel", "lxc", "podman"];

/// Where other machines reach a listener at `listen`, the best first; nowhere if it is a loopback
/// address.
pub(super) fn addresses(listen: IpAddr) -> Vec<IpAddr> {
    if !listen.is_unspecified() {
        return Vec::from_iter((!listen.to_canonical().is_loopback()).then_some(listen));
    }
    // A listener on every IPv6 interface takes IPv4 too.
    let mut found: Vec<IpAddr> = route(ELSEWHERE.first().copied()).into_iter().collect();
    let read = |name: &str| -> String { std::fs::read_to_string(name).unwrap_or_default() };
    // Below the process itself: a service may see no other part of `/proc`.
    let virtual_networks = virtual_networks(&read("/proc/self/net/route"));
    for ip in own(&read("/proc/self/net/fib_trie")) {
        let is_virtual = virtual_networks.iter().any(|network| network.contains(&ip));
        if !is_virtual && !found.contains(&IpAddr::V4(ip)) {
            found.push(IpAddr::V4(ip));
        }
    }
    if found.is_empty() && listen.is_ipv6() {
        found.extend(route(ELSEWHERE.last().copied()));
    }
    found
}

/// The address from which this machine would call `there`.
fn route(there: Option<&str>) -> Option<IpAddr> {
    let there: SocketAddr = there?.parse().ok()?;
    let any = if there.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).ok()?;
    // Connecting a datagram socket only chooses a route.
    socket.connect(there).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}

/// The IPv4 addresses of this machine, from the kernel's table of routes.
fn own(fib_trie: &str) -> Vec<Ipv4Addr> {
    let mut last: Option<Ipv4Addr> = None;
    let mut found: Vec<Ipv4Addr> = Vec::new();
    for line in fib_trie.lines() {
        if let Some((_, address)) = line.split_once("|-- ") {
            last = address.trim().parse().ok();
        }
        let is_own = line.trim() == "/32 host LOCAL";
        if let Some(ip) = last.filter(|_| is_own) {
            let leads_here = ip.is_loopback() || ip.is_link_local() || found.contains(&ip);
            found.extend((!leads_here).then_some(ip));
        }
    }
    found
}

/// The networks behind interfaces of containers and virtual machines.
fn virtual_networks(routes: &str) -> Vec<Ipv4Net> {
    let network = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [interface, destination, gateway, _, _, _, _, mask, ..] = fields.as_slice() else {
            return None;
        };
        let is_virtual = VIRTUAL.iter().any(|name| interface.starts_with(name));
        if !is_virtual || *gateway != "00000000" {
            return None;
        }
        Ipv4Net::with_netmask(hex(destination)?, hex(mask)?).ok()
    };
    routes.lines().filter_map(network).collect()
}

/// An address as the kernel prints it: its bytes as a number of this machine.
fn hex(text: &str) -> Option<Ipv4Addr> {
    u32::from_str_radix(text, 16).ok().map(|number| Ipv4Addr::from(number.to_ne_bytes()))
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::{addresses, own, virtual_networks};

    const FIB_TRIE: &str = "\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.1
           /32 host LOCAL
     +-- 172.17.0.0/16 2 0 2
        |-- 172.17.0.0
           /16 link UNICAST
        |-- 172.17.0.1
           /32 host LOCAL
     +-- 192.168.1.0/24 2 0 2
        |-- 192.168.1.7
           /32 host LOCAL
        |-- 192.168.1.255
           /32 link BROADCAST
Local:
        |-- 192.168.1.7
           /32 host LOCAL
";

    const ROUTES: &str = "\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
wlan0\t0001A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0
";

    #[test]
    fn the_kernel_lists_addresses_and_which_of_them_are_those_of_containers() {
        let found = own(FIB_TRIE);
        assert_eq!(found, [Ipv4Addr::new(172, 17, 0, 1), Ipv4Addr::new(192, 168, 1, 7)]);
        if cfg!(target_endian = "little") {
            let networks = virtual_networks(ROUTES);
            assert_eq!(networks, ["172.17.0.0/16".parse().unwrap()]);
        }
        assert!(own("").is_empty() && virtual_networks("x y").is_empty());
    }

    #[test]
    fn a_loopback_address_is_reached_from_nowhere_else() {
        for ip in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert!(addresses(ip.parse().unwrap()).is_empty(), "{ip}");
        }
        let own: IpAddr = "192.0.2.7".parse().unwrap();
        assert_eq!(addresses(own), [own]);
        for any in ["0.0.0.0", "::"] {
            let found = addresses(any.parse().unwrap());
            let leads_here = |ip: &IpAddr| ip.is_loopback() || ip.is_unspecified();
            assert!(!found.iter().any(leads_here), "{found:?}");
        }
    }
}

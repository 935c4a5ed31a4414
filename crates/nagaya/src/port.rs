//! A port that is taken: by whom, and which one is free.
//!
//! The kernel lists listeners with the number of their socket, and every process its sockets. Both
//! are read only after a start has failed. Processes of other users hide theirs; then the owner
//! stays unknown, as it does where there is no `/proc`.

use std::fmt;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};

use crate::Error;

/// How many ports after the taken one are tried.
const TRIED: u16 = 50;

/// The state of a listener in the kernel's list.
const LISTENING: &str = "0A";

/// Ports below this one need a permission.
const PRIVILEGED: u16 = 1024;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    name: String,
    id: u32,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` (process {})", self.name, self.id)
    }
}

/// Says more about a listener that could not be opened: `key` is its setting.
pub(crate) fn explain(key: &'static str, error: edge::Error) -> Error {
    let edge::Error::Listen { address, cause } = error else { return error.into() };
    let why = match cause.kind() {
        io::ErrorKind::AddrInUse => in_use(key, address),
        io::ErrorKind::PermissionDenied if address.port() < PRIVILEGED => format!(
            "ports below {PRIVILEGED} need a permission: `CAP_NET_BIND_SERVICE`, as \
             `packaging/nagaya.service.d/low-ports.conf` gives it to the service"
        ),
        io::ErrorKind::AddrNotAvailable => format!(
            "this machine has no such address; `{key} = \":{}\"` is every address that it has",
            address.port()
        ),
        _ => cause.to_string(),
    };
    Error::Listen { address, why }
}

fn in_use(key: &str, address: SocketAddr) -> String {
    let owner = find_owner(address.port());
    let by = owner.map_or_else(|| "another process".to_owned(), |owner| owner.to_string());
    let flag = crate::config::names::flag(key);
    match next_free(address) {
        Some(free) => {
            format!("{by} uses the port; port {} is free: `{flag} {free}`", free.port())
        }
        None => format!("{by} uses the port"),
    }
}

/// The next port on the same address that nobody uses.
fn next_free(address: SocketAddr) -> Option<SocketAddr> {
    let ports = (address.port().checked_add(1)?..).take(TRIED.into());
    let mut addresses = ports.map(|port| SocketAddr::new(address.ip(), port));
    addresses.find(|free| TcpListener::bind(free).is_ok())
}

/// The process that listens on a port.
fn find_owner(port: u16) -> Option<Owner> {
    let listed = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(fs::read_to_string);
    let sockets: Vec<String> =
        listed.iter().flatten().flat_map(|list| sockets_on(list, port)).collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let id = ids.find(|id| {
        let open = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
        let mut leads = open.filter_map(|file| fs::read_link(file.path()).ok());
        leads.any(|lead| sockets.iter().any(|socket| lead.as_os_str() == socket.as_str()))
    })?;
    let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
    Some(Owner { name: name.trim().to_owned(), id })
}

/// The sockets that listen on a port, as a process names them.
fn sockets_on(list: &str, port: u16) -> Vec<String> {
    let suffix = format!(":{port:04X}");
    let socket = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, _, state, _, _, _, _, _, inode, ..] = fields.as_slice() else {
            return None;
        };
        let is_it = local.ends_with(&suffix) && *state == LISTENING;
        is_it.then(|| format!("socket:[{inode}]"))
    };
    list.lines().filter_map(socket).collect()
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use super::{explain, find_owner, sockets_on};

    const LIST: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1
   1: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 4712 1
   2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1
";

    #[test]
    fn the_sockets_of_a_port_are_those_that_listen_on_it() {
        assert_eq!(sockets_on(LIST, 8080), ["socket:[4711]"]);
        assert_eq!(sockets_on(LIST, 80), ["socket:[4713]"]);
        assert!(sockets_on(LIST, 8081).is_empty() && sockets_on("", 80).is_empty());
    }

    #[test]
    fn a_taken_port_is_told_with_its_owner_and_the_next_free_one() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let owner = find_owner(address.port()).unwrap();
        assert_eq!(owner.id, std::process::id());
        let cause = std::io::ErrorKind::AddrInUse.into();
        let told = explain("http.listen", edge::Error::Listen { address, cause }).to_string();
        let begins = format!("cannot listen on {address}: {owner} uses the port; port ");
        assert!(told.starts_with(&begins), "{told}");
        let free = told.rsplit("--http-listen ").next().unwrap().trim_end_matches('`');
        let free: SocketAddr = free.parse().unwrap();
        assert!(free.port() > address.port() && free.ip() == address.ip(), "{told}");
    }
}

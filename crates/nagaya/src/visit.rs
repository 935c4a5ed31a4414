//! A house that is open, asked through its own door by a command: one GET, one answer.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::{Error, Settings};

/// A house on this machine answers at once or not at all.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a house answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Asks the house that these settings open.
///
/// # Errors
/// Nobody answers there, or what answers is no house.
pub(crate) fn get(settings: &Settings, path: &str) -> Result<Answer, Error> {
    if settings.http.tls_certificate.is_some() {
        let told = "the house speaks TLS, which this command does not; ask it by another client";
        return Err(Error::Usage(told.to_owned()));
    }
    let address = reachable(settings.http.listen);
    let asked = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // Of the older kind, whose answers end with the connection.
        write!(stream, "GET {path} HTTP/1.0\r\nhost: {address}\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = asked().map_err(|cause| Error::NobodyThere { address, cause })?;
    read(&answer).ok_or(Error::NoAnswer { address })
}

fn read(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

/// Who listens everywhere listens here too.
pub(crate) fn reachable(listen: SocketAddr) -> SocketAddr {
    let here = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(here, listen.port())
}

#[cfg(test)]
mod tests {
    use super::{reachable, read};

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        let answer = read("HTTP/1.1 503 Service Unavailable\r\na: b\r\n\r\nred\r\n\r\nx").unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (503, "red\r\n\r\nx"));
        assert!(read("SSH-2.0-something\r\n").is_none());
        assert!(read("").is_none());
    }

    #[test]
    fn who_listens_everywhere_is_found_here() {
        for (listen, here) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(reachable(listen.parse().unwrap()), here.parse().unwrap());
        }
    }
}

//! Who asks: the address of the caller, also through proxies.
//!
//! The peer of the connection is the caller, unless it is a proxy that the settings trust. Then
//! the header that this proxy writes is read from the right, where the nearest proxy has written:
//! each trusted address passes the word on to the one before it, and the first that is not trusted
//! is the caller.
//!
//! Invariants: without trusted proxies no header changes anything. What a caller writes itself
//! stands left of what the first trusted proxy adds, so it is never reached. Only the header that
//! the settings name is read, because a proxy that writes the one passes the other on as it came.
//! A word that is no address ends the search at the last trusted one.

mod forwarded;
mod networks;

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};
pub use networks::{Networks, ProxyHeader};

use crate::limits::guard::PROXY_HOPS_MAX;
use crate::{Bucket, Options};

/// Who sits at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// The connection's number: no other one of the server has it.
    pub(crate) connection: u64,
    /// Whether the connection itself is encrypted.
    pub(crate) tls: bool,
}

/// Who asks. An extractor, and an extension of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    pub(crate) address: IpAddr,
    pub(crate) secure: bool,
    /// The number of the caller's own connection; none of a caller behind a trusted proxy, which
    /// sends requests of many callers over one connection.
    pub(crate) connection: Option<u64>,
}

impl Client {
    /// Who sent the request. Routes without a server, in tests, are asked by nobody in particular.
    pub(crate) fn of(extensions: &Extensions) -> Client {
        let address = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let nobody = Client { address, secure: false, connection: None };
        extensions.get().copied().unwrap_or(nobody)
    }

    /// The caller's address; an IPv4 address in IPv6's clothes is shown as what it is.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// What counts as one caller: the address, of IPv6 the first 64 bits. A household or a phone
    /// is given a whole /64 and may speak from any address in it.
    pub fn network(&self) -> IpAddr {
        network(self.address)
    }

    /// The bucket of the caller's own connection, if it has one. Callers behind a trusted proxy have
    /// none: it sends requests of many callers over one connection.
    pub fn connection(&self) -> Option<Bucket> {
        self.connection.map(Bucket::Connection)
    }

    /// Whether the caller speaks TLS, to us or to a trusted proxy.
    pub fn is_secure(&self) -> bool {
        self.secure
    }
}

/// What counts as one caller with this address.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Client, Infallible> {
        Ok(Client::of(&parts.extensions))
    }
}

/// Whom we believe about others.
#[derive(Clone)]
pub(crate) struct Trust {
    proxies: Networks,
    header: ProxyHeader,
}

impl Trust {
    pub(crate) fn new(options: &Options) -> Trust {
        Trust { proxies: options.trusted_proxies.clone(), header: options.proxy_header }
    }

    /// Whether this is the address of a trusted proxy.
    pub(crate) fn is_proxy(&self, address: IpAddr) -> bool {
        self.proxies.contains(address.to_canonical())
    }

    /// Who asks, if the peer of the connection sent these headers.
    pub(crate) fn client(&self, peer: Peer, headers: &HeaderMap) -> Client {
        let address = peer.address.ip().to_canonical();
        let connection = Some(peer.connection);
        let mut client = Client { address, secure: peer.tls, connection };
        if !self.proxies.contains(client.address) {
            return client;
        }
        client.connection = None;
        client.secure |= forwarded::says_https(self.header, headers);
        for hop in forwarded::addresses(self.header, headers).take(PROXY_HOPS_MAX) {
            let Some(address) = hop else { break };
            client.address = address.to_canonical();
            if !self.proxies.contains(client.address) {
                break;
            }
        }
        client
    }
}

#[cfg(test)]
mod tests;

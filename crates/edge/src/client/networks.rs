//! Settings about proxies: which to trust, and which header they write.

use std::net::IpAddr;

use base::options::{Form, Value};
use ipnet::IpNet;

/// Networks in CIDR notation, separated by commas; a lone address is a network of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// Whether one of them holds the address.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

impl Value for Networks {
    fn read(&mut self, text: &str) -> bool {
        let parts = text.split(',').map(str::trim);
        let parts = parts.filter(|_| !text.trim().is_empty());
        let networks: Option<Vec<IpNet>> = parts
            .map(|part| part.parse().ok().or_else(|| part.parse::<IpAddr>().ok().map(IpNet::from)))
            .collect();
        networks.map(|networks| self.0 = networks).is_some()
    }

    fn write(&self) -> String {
        let all: Vec<String> = self.0.iter().map(IpNet::to_string).collect();
        all.join(", ")
    }

    fn expected(&self) -> String {
        "networks such as `10.0.0.0/8, ::1`, or nothing".to_owned()
    }

    fn form(&self) -> Form {
        Form::Text
    }
}

base::choice! {
    /// The header in which proxies tell whom they speak for.
    pub enum ProxyHeader {
        /// `X-Forwarded-For` and `X-Forwarded-Proto`, which most proxies write.
        XForwardedFor = "x-forwarded-for",
        /// `Forwarded`, the standard (RFC 7239).
        Forwarded = "forwarded",
    }
}

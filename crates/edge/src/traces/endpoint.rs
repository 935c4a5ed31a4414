//! The address of a collector.

use axum::http::Uri;
use base::options::{Form, Value};

/// An address of plain HTTP: a collector stands beside the house or in its network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    uri: Uri,
}

impl Endpoint {
    /// Host and port to connect to.
    pub(super) fn address(&self) -> (String, u16) {
        let host = self.uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (host.to_owned(), self.uri.port_u16().unwrap_or(80))
    }

    /// What the `host` header says.
    pub(super) fn authority(&self) -> &str {
        self.uri.authority().map_or("", |authority| authority.as_str())
    }

    /// Where traces go.
    pub(super) fn traces_path(&self) -> String {
        format!("{}/v1/traces", self.uri.path().trim_end_matches('/'))
    }
}

impl Default for Endpoint {
    fn default() -> Endpoint {
        Endpoint { uri: Uri::from_static("http://127.0.0.1:4318") }
    }
}

impl Value for Endpoint {
    fn read(&mut self, text: &str) -> bool {
        let good = |uri: &Uri| {
            uri.scheme_str() == Some("http")
                && uri.query().is_none()
                && uri.host().is_some_and(|host| !host.is_empty())
                && !uri.authority().is_some_and(|authority| authority.as_str().contains('@'))
        };
        let uri = text.parse().ok().filter(good);
        uri.map(|uri| self.uri = uri).is_some()
    }

    fn write(&self) -> String {
        self.uri.to_string()
    }

    fn expected(&self) -> String {
        "an address such as `http://127.0.0.1:4318`".to_owned()
    }

    fn form(&self) -> Form {
        Form::Text
    }
}

#[cfg(test)]
mod tests {
    use base::options::Value;

    use super::Endpoint;

    #[test]
    fn an_address_is_plain_http_and_traces_go_below_it() {
        let read = |text: &str| {
            let mut endpoint = Endpoint::default();
            endpoint.read(text).then_some(endpoint)
        };
        let beside = read("http://localhost:4318").unwrap();
        assert_eq!(beside.address(), ("localhost".to_owned(), 4318));
        assert_eq!(beside.traces_path(), "/v1/traces");
        let below = read("http://[::1]/otlp/").unwrap();
        assert_eq!(below.address(), ("::1".to_owned(), 80));
        assert_eq!((below.authority(), below.traces_path().as_str()), ("[::1]", "/otlp/v1/traces"));
        for wrong in
            ["", "localhost:4318", "https://x", "http://", "http://a@b", "http://x/?y", "x"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

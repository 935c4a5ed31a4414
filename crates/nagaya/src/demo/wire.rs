//! One call to the house, as any client makes it.

use std::net::SocketAddr;

use serde_json::Value as Json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The way to the house.
#[derive(Clone)]
pub(super) struct Wire {
    address: SocketAddr,
}

/// A call, and what goes with it.
pub(super) struct Call<'c> {
    pub(super) method: &'c str,
    pub(super) path: &'c str,
    pub(super) headers: Vec<(&'c str, String)>,
    pub(super) body: Option<Json>,
}

/// What was answered.
pub(super) struct Told {
    pub(super) status: u16,
    head: String,
    pub(super) json: Json,
}

impl Told {
    /// A text of the answer, by its JSON pointer.
    pub(super) fn text(&self, pointer: &str) -> Result<String, String> {
        let found = self.json.pointer(pointer).and_then(Json::as_str).map(str::to_owned);
        found.ok_or_else(|| format!("no {pointer} in an answer of {}: {}", self.status, self.json))
    }

    /// The first cookie that was set, as it is sent back.
    pub(super) fn cookie(&self) -> Option<String> {
        let line = self.head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("set-cookie").then_some(value.trim())
        })?;
        line.split(';').next().map(str::to_owned)
    }
}

impl Wire {
    pub(super) fn new(address: SocketAddr) -> Wire {
        Wire { address }
    }

    pub(super) async fn post(
        &self,
        path: &str,
        headers: Vec<(&str, String)>,
        body: Json,
    ) -> Result<Told, String> {
        self.call(Call { method: "POST", path, headers, body: Some(body) }).await?.good()
    }

    pub(super) async fn get(
        &self,
        path: &str,
        headers: Vec<(&str, String)>,
    ) -> Result<Told, String> {
        self.call(Call { method: "GET", path, headers, body: None }).await?.good()
    }

    pub(super) async fn call(&self, call: Call<'_>) -> Result<Told, String> {
        let body = call.body.map(|body| body.to_string()).unwrap_or_default();
        // Of the older kind, whose answers end with the connection.
        let mut request =
            format!("{} {} HTTP/1.0\r\nhost: {}\r\n", call.method, call.path, self.address);
        // A terminal does not show the house's own calls.
        request.push_str("user-agent: nagaya-demo\r\n");
        for (name, value) in call.headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!(
            "content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        let mut answer = Vec::new();
        let asked = async {
            let mut stream = TcpStream::connect(self.address).await?;
            stream.write_all(request.as_bytes()).await?;
            stream.read_to_end(&mut answer).await
        };
        asked.await.map_err(|cause| cause.to_string())?;
        read(&String::from_utf8_lossy(&answer)).ok_or_else(|| "no answer".to_owned())
    }
}

impl Told {
    fn good(self) -> Result<Told, String> {
        let is_good = (200..300).contains(&self.status);
        if is_good { Ok(self) } else { Err(format!("{}: {}", self.status, self.json)) }
    }
}

fn read(answer: &str) -> Option<Told> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let json = serde_json::from_str(body).unwrap_or(Json::Null);
    Some(Told { status, head: head.to_owned(), json })
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn an_answer_has_its_status_its_cookie_and_its_json() {
        let told = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=a1; Path=/\r\n\r\n{\"token\":\"x\"}";
        let told = read(told).unwrap();
        assert_eq!((told.status, told.cookie().as_deref()), (200, Some("sid=a1")));
        assert_eq!(told.text("/token").unwrap(), "x");
        assert!(told.text("/other").is_err());
    }
}

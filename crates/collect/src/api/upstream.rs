//! The wire of the other side: how upstreams are asked, and what of their answers is read.
//!
//! Two clients, because who named a source decides where it may lead. What the settings name may be
//! private. A source of the API is asked through a client whose resolver leaves out private
//! addresses, so that the address that was judged is the one that is connected to; an address that
//! stands in the URL itself is judged before the call.
//!
//! Secrets go to the origin that the source names, and to no other one: redirects are followed
//! here, not by the client, which would take headers of its own choice along. What an upstream says
//! is shown and kept without them.
//!
//! The practice upstream (`model/practice.rs`) is answered here without a call: its host is compared
//! before any name is resolved, and answers lead nowhere.

use std::error::Error as StdError;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use base::Clock;
use edge::{Networks, StatusCode};
use jiff::fmt::rfc2822;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response, Url};
use serde_json::Value;

use crate::items::files::Credentials;
use crate::limits::{
    ANSWER_BYTES_MAX, IDLE_CONNECTIONS_MAX, PREVIEW_BYTES_MAX, REDIRECTS_MAX, TRY_TIMEOUT,
};
use crate::model::answer::{Refused, check_window, read_value};
use crate::model::decimal::Decimal;
use crate::model::guard::is_public;
use crate::model::practice;
use crate::model::redact::scrub;
use crate::model::retry::Trouble;
use crate::model::slot::{Slot, read_time};
use crate::model::source::Source;

/// What the practice upstream answers with.
const JSON: &str = "application/json";

/// How all upstreams are asked.
#[derive(Clone)]
pub(crate) struct Upstreams {
    clock: Clock,
    networks: Networks,
    /// For sources that the settings name.
    named: Client,
    /// For the others.
    guarded: Client,
}

/// Who is asked, and with what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whom<'a> {
    pub(crate) source: &'a Source,
    pub(crate) credentials: &'a Credentials,
    /// Whether the settings name it, so that it may be private.
    pub(crate) is_named: bool,
}

/// An answer as it came, and what it is worth.
#[derive(Debug)]
pub(crate) struct Preview {
    pub(crate) url: String,
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<String>,
    pub(crate) latency_ms: u64,
    /// What an operator looks at: the beginning, with signs for what is no text.
    pub(crate) body: String,
    pub(crate) is_cut: bool,
    pub(crate) verdict: Result<Decimal, Trouble>,
}

impl Upstreams {
    pub(crate) fn new(clock: &Clock, networks: &Networks) -> Upstreams {
        // The second to come is the same.
        let _installed_before = rustls::crypto::ring::default_provider().install_default();
        let resolver = Guarded { networks: networks.clone() };
        Upstreams {
            clock: clock.clone(),
            networks: networks.clone(),
            named: client(|builder| builder),
            guarded: client(|builder| builder.dns_resolver(resolver.clone())),
        }
    }

    /// Asks for a slot, once.
    pub(crate) async fn ask(&self, whom: Whom<'_>, slot: Slot) -> Result<Decimal, Trouble> {
        let asked = self.ask_openly(whom, slot).await;
        asked.map_err(|trouble| trouble.without(&whom.credentials.hidden))
    }

    async fn ask_openly(&self, whom: Whom<'_>, slot: Slot) -> Result<Decimal, Trouble> {
        let url = self.check(whom, slot)?;
        let call = async {
            let response = self.send(whom, url).await?;
            self.check_status(&response)?;
            let (body, is_cut) = read_body(response).await?;
            if is_cut { Err(Trouble::TooLarge) } else { Ok(body) }
        };
        // The house's clock, not the client's own.
        let _answer = self.clock.hold_for_answer();
        let body = self.clock.timeout(TRY_TIMEOUT, call).await;
        read_answer(whom.source, slot, &body.map_err(|_elapsed| Trouble::TimedOut)??)
    }

    /// Asks for a slot as [`Upstreams::ask`] does, and answers what came as it came, but for
    /// secrets.
    pub(crate) async fn preview(&self, whom: Whom<'_>, slot: Slot) -> Preview {
        let began = self.clock.instant();
        let hidden = &whom.credentials.hidden;
        let mut preview = Preview {
            url: whom.source.shown_url(slot),
            status: None,
            content_type: None,
            latency_ms: 0,
            body: String::new(),
            is_cut: false,
            verdict: Err(Trouble::TimedOut),
        };
        let _answer = self.clock.hold_for_answer();
        let look = self.look(whom, slot, &mut preview);
        let verdict = self.clock.timeout(TRY_TIMEOUT, look).await;
        let verdict = verdict.unwrap_or(Err(Trouble::TimedOut));
        preview.verdict = verdict.map_err(|trouble| trouble.without(hidden));
        preview.latency_ms = whole_millis(self.clock.instant().since(began));
        preview
    }

    async fn look(
        &self,
        whom: Whom<'_>,
        slot: Slot,
        preview: &mut Preview,
    ) -> Result<Decimal, Trouble> {
        let hidden = &whom.credentials.hidden;
        let url = self.check(whom, slot)?;
        let response = self.send(whom, url).await?;
        preview.status = Some(response.status().as_u16());
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        preview.content_type = kind.map(|kind| scrub(kind, hidden));
        let status = self.check_status(&response);
        let (body, is_cut) = read_body(response).await?;
        let mut shown = scrub(&String::from_utf8_lossy(&body), hidden);
        preview.is_cut = shown.len() > PREVIEW_BYTES_MAX;
        shown.truncate(shown.floor_char_boundary(PREVIEW_BYTES_MAX));
        preview.body = shown;
        status?;
        if is_cut { Err(Trouble::TooLarge) } else { read_answer(whom.source, slot, &body) }
    }

    /// What is asked, if it may be.
    fn check(&self, whom: Whom<'_>, slot: Slot) -> Result<Url, Trouble> {
        let url = whom.source.url(slot, |file| whom.credentials.in_url(file));
        let url = url.map_err(Trouble::NoSecret)?;
        let shown = || whom.source.shown_url(slot);
        let url: Url =
            url.parse().map_err(|error| Trouble::Forbidden(format!("{}: {error}", shown())))?;
        if !whom.is_named {
            self.check_literal(&url)?;
        }
        Ok(url)
    }

    /// Sends a call, and follows redirects on its own host, not out of TLS. To another origin, such
    /// as another port, no secret goes along, and an address that holds one is not followed.
    async fn send(&self, whom: Whom<'_>, first: Url) -> Result<Response, Trouble> {
        if first.scheme() == "http" && first.host_str() == Some(practice::HOST) {
            return Ok(self.practise(&first));
        }
        let client = if whom.is_named { &self.named } else { &self.guarded };
        let Credentials { headers, hidden, .. } = whom.credentials;
        let mut url = first.clone();
        for _ in 0..=REDIRECTS_MAX {
            let is_own = url.origin() == first.origin();
            let sent = client.get(url.clone());
            let sent = if is_own { sent.headers(headers.clone()) } else { sent };
            let response = sent.send().await.map_err(|error| trouble(&error))?;
            let Some(next) = redirect(&response, &url) else { return Ok(response) };
            let place = || Trouble::Redirected(next.origin().ascii_serialization());
            let stays = next.host_str() == first.host_str()
                && matches!(next.scheme(), "http" | "https")
                && (url.scheme() != "https" || next.scheme() == "https");
            let is_open = hidden.iter().all(|secret| !next.as_str().contains(secret.as_str()));
            if !stays || (next.origin() != first.origin() && !is_open) {
                return Err(place());
            }
            url = next;
        }
        Err(Trouble::Redirected(url.origin().ascii_serialization()))
    }

    /// The answer of the practice upstream, in the form in which others answer.
    fn practise(&self, url: &Url) -> Response {
        let text = |name: &str| {
            let found = url.query_pairs().find(|(key, _)| key == name);
            found.map(|(_, text)| text.into_owned()).unwrap_or_default()
        };
        let (from, to) = (text("from"), text("to"));
        let reply = match (read_time(&from), read_time(&to)) {
            (Some(begin), Some(end)) => practice::answer(url.path(), begin, end, self.clock.now()),
            _ => practice::Reply::Nothing,
        };
        let mut answer = edge::Response::new(String::new());
        match reply {
            practice::Reply::Value(count) => {
                let body = serde_json::json!({ "from": from, "to": to, "count": count });
                answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
                *answer.body_mut() = body.to_string();
            }
            practice::Reply::Later(pause) => {
                // Whole seconds are all that the header can say.
                let seconds = pause.as_millis().div_ceil(1_000);
                *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                let seconds = HeaderValue::try_from(seconds.to_string());
                answer.headers_mut().extend(seconds.ok().map(|value| (RETRY_AFTER, value)));
            }
            practice::Reply::Nothing => *answer.status_mut() = StatusCode::NOT_FOUND,
        }
        answer.into()
    }

    fn check_status(&self, response: &Response) -> Result<(), Trouble> {
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let retry_after = self.retry_after(response.headers());
        Err(Trouble::Status { code: status.as_u16(), retry_after })
    }

    /// A host that is an address is resolved by nobody.
    fn check_literal(&self, url: &Url) -> Result<(), Trouble> {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        match host.parse::<IpAddr>() {
            Ok(address) if !may_ask(&self.networks, address) => {
                Err(Trouble::Forbidden(Private(host.to_owned()).to_string()))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Seconds, or a date.
    fn retry_after(&self, headers: &HeaderMap) -> Option<Duration> {
        let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
        let seconds = || Some(Duration::from_secs(text.parse().ok()?));
        let date = || {
            let date = rfc2822::parse(text).ok()?.timestamp().as_millisecond();
            let date = base::Timestamp::from_millis(u64::try_from(date).ok()?);
            Some(date.since(self.clock.now()))
        };
        seconds().or_else(date)
    }
}

/// A duration as it is told.
pub(crate) fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The value in an answer, if it is one for this slot.
pub(crate) fn read_answer(source: &Source, slot: Slot, body: &[u8]) -> Result<Decimal, Trouble> {
    let answer: Result<Value, _> = serde_json::from_slice(body);
    let answer = answer.map_err(|error| Trouble::Refused(Refused::NotJson(error.to_string())))?;
    if source.echo {
        let word = |name: &str| answer.get(name).and_then(Value::as_str);
        check_window(slot, word("from"), word("to")).map_err(Trouble::Refused)?;
    }
    let value = answer.pointer(&source.pointer);
    let value = value.ok_or_else(|| Refused::Missing(source.pointer.clone()));
    let read = |value: &Value| read_value(source.kind, &value.to_string());
    value.and_then(read).map_err(Trouble::Refused)
}

/// A client. Nothing of it is taken from the environment.
fn client(with: impl Fn(ClientBuilder) -> ClientBuilder) -> Client {
    let builder = || {
        let builder = Client::builder()
            .no_proxy()
            .user_agent(concat!("nagaya-collect/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
            .tcp_nodelay(true);
        with(builder)
    };
    builder().build().unwrap_or_else(|error| {
        // A machine without them can still ask over plain HTTP.
        tracing::warn!(%error, "no root certificates: sources with https cannot be asked");
        builder().tls_certs_only([]).build().expect("a client without certificates needs nothing")
    })
}

/// Where an answer leads, if it is a redirect to somewhere.
fn redirect(response: &Response, from: &Url) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    from.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()
}

/// The body, and whether it goes on behind what is read of it.
async fn read_body(mut response: Response) -> Result<(Vec<u8>, bool), Trouble> {
    let mut body = Vec::new();
    loop {
        let part = response.chunk().await.map_err(|error| trouble(&error))?;
        let Some(part) = part else { return Ok((body, false)) };
        if body.len() + part.len() > ANSWER_BYTES_MAX {
            return Ok((body, true));
        }
        body.extend_from_slice(&part);
    }
}

/// What a failed call means. What we said to the client comes back somewhere in its causes.
fn trouble(error: &reqwest::Error) -> Trouble {
    let mut cause: &(dyn StdError + 'static) = error;
    loop {
        if let Some(private) = cause.downcast_ref::<Private>() {
            return Trouble::Forbidden(private.to_string());
        }
        match cause.source() {
            Some(deeper) => cause = deeper,
            // The innermost says what happened; the others name the URL, which is known.
            None => return Trouble::Unreachable(cause.to_string()),
        }
    }
}

fn may_ask(networks: &Networks, address: IpAddr) -> bool {
    is_public(address) || networks.contains(address.to_canonical())
}

/// Resolves names to addresses that may be asked.
#[derive(Clone)]
struct Guarded {
    networks: Networks,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let networks = self.networks.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> =
                found.filter(|address| may_ask(&networks, address.ip())).collect();
            if allowed.is_empty() {
                return Err(Private(name.as_str().to_owned()).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// A host that has no address that may be asked.
#[derive(Debug)]
struct Private(String);

impl fmt::Display for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Private(host) = self;
        write!(f, "`{host}` is private, and not in `collect.private_networks`")
    }
}

impl StdError for Private {}

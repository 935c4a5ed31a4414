//! Authentication: requests signed by AWS Signature Version 4 with a known key.
//!
//! A call is checked twice: its head before its body is read ([`Door::admit`]), so that strangers
//! cannot send bodies, and the signature with the body.
//!
//! - **Invariant:** the signature covers the body, the target and the time; a request signed more
//!   than a quarter of an hour ago is refused.
//! - **Invariant:** a signature for another service is refused. The region is not checked: there is
//!   one endpoint.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use base::{Clock, Timestamp};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256};

use super::fault::{Fault, Kind};
use super::options::Origins;
use super::{Call, Door, Reply};

/// The allowed difference of a caller's clock, as in AWS.
const SKEW_MAX: Duration = Duration::from_secs(15 * 60);
/// Cached derived keys: one for each key, day, region and service in use.
const DERIVED_MAX: usize = 64;

/// Letters of a region. AWS's longest have fewer than half as many.
const REGION_LETTERS_MAX: usize = 64;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "dynamodb";
/// Hex digits of a signature.
const SIGNATURE_LETTERS: usize = 64;

/// The rule that admits callers.
#[derive(Debug)]
pub struct Guard {
    /// The secrets by key id. None: every caller is admitted.
    secrets: Option<BTreeMap<String, String>>,
    derived: Mutex<BTreeMap<String, hmac::Key>>,
    /// Origins whose pages may call from a browser.
    pub(super) origins: Origins,
}

impl Guard {
    /// Admits callers that sign with one of these keys, given as ids and secrets.
    pub fn keys(secrets: BTreeMap<String, String>) -> Guard {
        Guard { secrets: Some(secrets), derived: Mutex::default(), origins: Origins::default() }
    }

    /// Admits every caller. Only for an address that nobody else can reach.
    pub fn open() -> Guard {
        Guard { secrets: None, derived: Mutex::default(), origins: Origins::default() }
    }

    /// Whether every caller is admitted.
    pub fn is_open(&self) -> bool {
        self.secrets.is_none()
    }

    /// Checks the signature of a call.
    pub(super) fn check(&self, call: &Call<'_>, clock: &Clock) -> Result<(), Fault> {
        let Some(signed) = self.check_head(call, clock)? else { return Ok(()) };
        let SignedHead { credential, secret, stamp } = signed;
        let canonical = canonical(call, credential.headers)?;
        let scope = credential.scope;
        let text = format!(
            "{ALGORITHM}\n{stamp}\n{scope}\n{}",
            hex(digest(&SHA256, canonical.as_bytes()))
        );
        let key = self.derive(&credential, secret);
        let signature = decode_hex(credential.signature).ok_or_else(wrong)?;
        hmac::verify(&key, text.as_bytes(), &signature).map_err(|_| wrong())
    }

    /// Checks everything that needs no body: a well-formed, recent signature for this service by a
    /// known key. `None` if every caller is admitted.
    fn check_head<'s, 'c>(
        &'s self,
        call: &Call<'c>,
        clock: &Clock,
    ) -> Result<Option<SignedHead<'s, 'c>>, Fault> {
        let Some(secrets) = &self.secrets else { return Ok(None) };
        let Some(header) = call.header("authorization") else {
            return Err(Fault::new(Kind::MissingToken, "Request is missing Authentication Token"));
        };
        let credential = Credential::read(header)?;
        let unknown = || {
            let message = "The security token included in the request is invalid.";
            Fault::new(Kind::UnknownKey, message)
        };
        let secret = secrets.get(credential.key).ok_or_else(unknown)?;
        credential.check_scope()?;
        let stamp = call.header("x-amz-date").unwrap_or_default();
        check_time(stamp, clock.now())?;
        if !stamp.starts_with(credential.date) {
            return Err(wrong());
        }
        Ok(Some(SignedHead { credential, secret, stamp }))
    }

    /// The derived key for one day, region and service, cached because the derivation is the most
    /// expensive step.
    fn derive(&self, credential: &Credential<'_>, secret: &str) -> hmac::Key {
        let name = format!("{}/{}", credential.key, credential.scope);
        let mut derived = self.derived.lock();
        if let Some(key) = derived.get(&name) {
            return key.clone();
        }
        let mut key = hmac::Key::new(HMAC_SHA256, format!("AWS4{secret}").as_bytes());
        for part in credential.scope.split('/') {
            key = hmac::Key::new(HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref());
        }
        if derived.len() == DERIVED_MAX {
            derived.clear();
        }
        derived.insert(name, key.clone());
        key
    }
}

impl Door {
    /// Checks the head of a call before its body is read: the response to a call that cannot be
    /// admitted, whatever its body is.
    pub fn admit(&self, call: &Call<'_>) -> Option<Reply> {
        let fault = self.guard.check_head(call, &self.clock).err()?;
        let mut reply = self.refuse(&fault);
        self.guard.let_read(call, &mut reply);
        Some(reply)
    }

    /// The response to a call with the name of another host. Without keys, a page could otherwise
    /// make a browser on this machine send calls, and they would be admitted.
    pub fn refuse_host(&self, host: &str) -> Reply {
        let message = format!("`{host}` is not a name of this machine; `http.hosts` lists others");
        self.refuse(&Fault::new(Kind::AccessDenied, message))
    }
}

/// A head that was admitted.
struct SignedHead<'s, 'c> {
    credential: Credential<'c>,
    secret: &'s str,
    stamp: &'c str,
}

/// The parsed authorization header.
struct Credential<'a> {
    key: &'a str,
    date: &'a str,
    /// Day, region, service and the closing word.
    scope: &'a str,
    headers: &'a str,
    signature: &'a str,
}

impl<'a> Credential<'a> {
    fn read(header: &'a str) -> Result<Credential<'a>, Fault> {
        let incomplete = || {
            Fault::new(
                Kind::IncompleteSignature,
                "Authorization header requires 'Credential', 'Signature' and 'SignedHeaders' \
                 parameters of AWS4-HMAC-SHA256.",
            )
        };
        let rest = header.strip_prefix(ALGORITHM).ok_or_else(incomplete)?;
        let find = |name: &str| {
            let mut parts = rest.split(',').map(str::trim);
            parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
        };
        let credential = find("Credential").ok_or_else(incomplete)?;
        let (key, scope) = credential.split_once('/').ok_or_else(incomplete)?;
        let date = scope.split('/').next().unwrap_or_default();
        if scope.split('/').count() != 4 || !scope.ends_with("/aws4_request") {
            return Err(incomplete());
        }
        let signature = find("Signature").ok_or_else(incomplete)?;
        if signature.len() != SIGNATURE_LETTERS || decode_hex(signature).is_none() {
            return Err(incomplete());
        }
        let headers = find("SignedHeaders").ok_or_else(incomplete)?;
        Ok(Credential { key, date, scope, headers, signature })
    }

    /// Whether the scope names this service and a possible region.
    fn check_scope(&self) -> Result<(), Fault> {
        let mut parts = self.scope.split('/').skip(1);
        let (region, service) =
            (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let scoped = |message: String| Err(Fault::new(Kind::WrongSignature, message));
        if service != SERVICE {
            return scoped(format!(
                "Credential should be scoped to correct service: '{SERVICE}', not '{service}'."
            ));
        }
        let in_region = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if region.is_empty() || region.len() > REGION_LETTERS_MAX || !region.bytes().all(in_region)
        {
            return scoped("Credential should be scoped to a valid region.".to_owned());
        }
        Ok(())
    }
}

/// The canonical form of the signed request.
fn canonical(call: &Call<'_>, headers: &str) -> Result<String, Fault> {
    let must = |name: &str| headers.split(';').any(|signed| signed == name);
    if !must("host") || !must("x-amz-date") || !must("x-amz-target") {
        return Err(wrong());
    }
    let (path, query) = call.path.split_once('?').unwrap_or((call.path, ""));
    let mut pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_unstable();
    let mut text = format!("{}\n{path}\n{}\n", call.method, pairs.join("&"));
    for name in headers.split(';') {
        let value = call.header(name).ok_or_else(wrong)?;
        let words: Vec<&str> = value.split_whitespace().collect();
        writeln!(text, "{name}:{}", words.join(" ")).expect("text always has room");
    }
    write!(text, "\n{headers}\n{}", hex(digest(&SHA256, call.body))).expect("text always has room");
    Ok(text)
}

/// A time such as `20261116T101500Z`, close enough to now.
fn check_time(stamp: &str, now: Timestamp) -> Result<(), Fault> {
    let time = read_time(stamp).ok_or_else(|| {
        Fault::new(
            Kind::IncompleteSignature,
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.",
        )
    })?;
    if now.since(time) > SKEW_MAX || time.since(now) > SKEW_MAX {
        return Err(Fault::new(
            Kind::WrongSignature,
            format!("Signature expired: {stamp} is now earlier or later than {now} by 15 min."),
        ));
    }
    Ok(())
}

fn read_time(stamp: &str) -> Option<Timestamp> {
    let (day, time) = stamp.strip_suffix('Z')?.split_once('T')?;
    let part = |text: &str, from: usize, to: usize| text.get(from..to).map(str::to_owned);
    let day = format!("{}-{}-{}", part(day, 0, 4)?, part(day, 4, 6)?, part(day, 6, 8)?);
    let time = format!("{}:{}:{}", part(time, 0, 2)?, part(time, 2, 4)?, part(time, 4, 6)?);
    format!("{day}T{time}.000Z").parse().ok()
}

fn wrong() -> Fault {
    Fault::new(
        Kind::WrongSignature,
        "The request signature we calculated does not match the signature you provided. Check \
         your AWS Secret Access Key and signing method. Consult the service documentation for \
         details.",
    )
}

fn hex(digest: ring::digest::Digest) -> String {
    base::hex(digest.as_ref())
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits?;
    if digits.len() % 2 != 0 {
        return None;
    }
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair.iter().fold(0, |byte, digit| byte * 16 + digit)).ok())
        .collect()
}

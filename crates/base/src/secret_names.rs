//! Names of URL parameters whose values are secrets. The access log, and every place that shows a
//! URL, leave these values out.

/// Parts of names whose values are secrets. One too many is better than one too few.
const SECRET_PARTS: [&str; 16] = [
    "token",
    "ticket",
    "key",
    "secret",
    "password",
    "passwd",
    "pwd",
    "pass",
    "auth",
    "signature",
    "credential",
    "session",
    "jwt",
    "cookie",
    "code",
    "bearer",
];

/// Whole names whose values are secrets: AppSync's sockets send their authorization this way, and
/// the id of a host in the live room is a secret.
const SECRET_NAMES: [&str; 8] =
    ["header", "payload", "hostid", "sig", "pin", "sid", "hash", "apid"];

/// Whether the value of a parameter with this name is a secret. The name may be percent-encoded, as
/// in the URL.
///
/// ```
/// assert!(base::is_secret_name("X-Api-Key") && base::is_secret_name("%74oken"));
/// assert!(!base::is_secret_name("limit"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let name = decoded(name).to_ascii_lowercase();
    SECRET_NAMES.contains(&name.as_str()) || SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// Decodes percent escapes: an encoded name means the same.
fn decoded(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits = (ahead.next(), ahead.next());
        match (byte, digits) {
            (b'%', (Some(high), Some(low))) => {
                let digit =
                    |byte: u8| char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
                match (digit(high), digit(low)) {
                    (Some(high), Some(low)) => {
                        bytes.push(high << 4 | low);
                        rest = ahead;
                    }
                    (_, None) | (None, Some(_)) => bytes.push(byte),
                }
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

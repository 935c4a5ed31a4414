//! W3C Trace Context: the header `traceparent`, read and written.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base::hex;

pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

const SAMPLED: u8 = 1;

/// The place of one request in a trace. A handler finds it in its request's extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub(super) id: [u8; 16],
    pub(super) span: [u8; 8],
    pub(super) parent: Option<[u8; 8]>,
    is_sampled: bool,
}

/// What a request brings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parent {
    trace: [u8; 16],
    span: [u8; 8],
    is_sampled: bool,
}

impl Trace {
    pub(super) fn new(id: [u8; 16], span: [u8; 8], is_sampled: bool) -> Trace {
        Trace { id, span, parent: None, is_sampled }
    }

    pub(super) fn below(parent: Parent, span: [u8; 8]) -> Trace {
        let Parent { trace, span: above, is_sampled } = parent;
        Trace { id: trace, span, parent: Some(above), is_sampled }
    }

    /// The trace's id, in 32 hexadecimal digits.
    pub fn id(&self) -> String {
        hex(&self.id)
    }

    /// Whether somebody wants to see it.
    pub fn is_sampled(&self) -> bool {
        self.is_sampled
    }

    /// The header that puts a call made for this request under it. The answer carries it too.
    pub fn header(&self) -> HeaderValue {
        let flags = if self.is_sampled { "01" } else { "00" };
        let header = ["00", &hex(&self.id), &hex(&self.span), flags].join("-");
        HeaderValue::try_from(header).expect("hexadecimal digits fit a header")
    }
}

impl Parent {
    /// Reads the header if there is one, and only one, and it is right.
    pub(super) fn find(headers: &HeaderMap) -> Option<Parent> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let (value, more) = (values.next()?, values.next());
        more.is_none().then_some(())?;
        Parent::read(value.to_str().ok()?)
    }

    fn read(text: &str) -> Option<Parent> {
        let mut parts = text.splitn(5, '-');
        let [version] = bytes(parts.next()?)?;
        let (trace, span) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
        let [flags] = bytes(parts.next()?)?;
        // Version 0 ends here, later ones may go on, and 255 is none.
        let is_known = match version {
            0 => parts.next().is_none(),
            255 => false,
            _ => true,
        };
        let is_valid = is_known && trace != [0; 16] && span != [0; 8];
        is_valid.then_some(Parent { trace, span, is_sampled: flags & SAMPLED != 0 })
    }
}

/// Exactly `N` bytes in lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        // A sign would pass for a digit with the parser.
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.contains('+'))?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{Parent, TRACEPARENT, Trace};

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn what_is_written_is_read_back(
            id in any::<[u8; 16]>(), span in any::<[u8; 8]>(), is_sampled in any::<bool>(),
        ) {
            let expected = (id != [0; 16] && span != [0; 8])
                .then_some(Parent { trace: id, span, is_sampled });
            let header = Trace::new(id, span, is_sampled).header();
            prop_assert_eq!(Parent::read(header.to_str().unwrap()), expected);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _read = Parent::read(&text);
        }
    }

    #[test]
    fn only_a_right_header_is_followed() {
        assert!(Parent::read(VALID).is_some_and(|parent| parent.is_sampled));
        assert!(Parent::read(&VALID.replace("00-0af", "01-0af")).is_some());
        assert!(Parent::read(&format!("cc{}-more", &VALID[2..])).is_some());
        for wrong in [
            "",
            "00",
            &VALID[..VALID.len() - 1],
            &format!("{VALID}-more"),
            &VALID.replace("00-0af", "ff-0af"),
            &VALID.replace("0af7", "0AF7"),
            &VALID.replace("0af7", "+af7"),
            &VALID.replace("b7ad6b7169203331", "0000000000000000"),
            &VALID.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &VALID.replace('-', "_"),
            "00-０af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(Parent::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn two_headers_are_none() {
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, HeaderValue::from_static(VALID));
        assert!(Parent::find(&headers).is_some());
        headers.append(TRACEPARENT, HeaderValue::from_static(VALID));
        assert_eq!(Parent::find(&headers), None);
    }
}

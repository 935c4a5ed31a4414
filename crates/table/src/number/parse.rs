//! A number's text, taken apart.

use crate::error::Error;

/// What stands in a number's text; `mantissa` holds only while `digits` are within bounds.
pub(super) struct Scanned {
    pub(super) negative: bool,
    pub(super) mantissa: u128,
    pub(super) digits: i64,
    pub(super) exponent: i64,
}

/// Takes a number's text apart in one pass, without outer zeros.
pub(super) fn scan(text: &str) -> Result<Scanned, Error> {
    take_apart(text).ok_or_else(|| not_a_number(text))
}

fn take_apart(text: &str) -> Option<Scanned> {
    let bytes = text.as_bytes();
    let (negative, bytes) = split_sign(bytes);
    let split = bytes.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (body, exponent) = match split {
        Some(at) => (bytes.get(..at)?, read_exponent(bytes.get(at + 1..)?)?),
        None => (bytes, 0),
    };
    let mut scanned = Scanned { negative, mantissa: 0, digits: 0, exponent };
    let (mut seen, mut point, mut zeros) = (false, false, 0_u32);
    for byte in body {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'.' if !point => {
                point = true;
                continue;
            }
            _ => return None,
        };
        seen = true;
        scanned.exponent = scanned.exponent.saturating_sub(point.into());
        if digit == 0 {
            // Zeros before the first digit count for nothing, the others once a digit follows.
            zeros = if scanned.digits == 0 { 0 } else { zeros.saturating_add(1) };
            continue;
        }
        scanned.digits += i64::from(zeros) + 1;
        let shift = 10_u128.wrapping_pow(zeros.saturating_add(1));
        scanned.mantissa = scanned.mantissa.wrapping_mul(shift).wrapping_add(digit.into());
        zeros = 0;
    }
    scanned.exponent = scanned.exponent.saturating_add(zeros.into());
    seen.then_some(scanned)
}

fn split_sign(bytes: &[u8]) -> (bool, &[u8]) {
    match bytes.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        Some(_) | None => (false, bytes),
    }
}

/// An exponent. One that does not fit 64 bits is no number at all to DynamoDB.
fn read_exponent(bytes: &[u8]) -> Option<i64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

fn not_a_number(text: &str) -> Error {
    if text.is_empty() {
        return Error::invalid("The parameter cannot be converted to a numeric value");
    }
    Error::invalid(format!("The parameter cannot be converted to a numeric value: {text}"))
}

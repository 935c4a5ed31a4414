//! Decimal numbers of up to 38 digits, as DynamoDB keeps them.
//!
//! A number is `± mantissa × 10^exponent`, the mantissa without trailing zeros and zero in one form
//! only, so that equal numbers are equal bytes. The order-preserving bytes of a number are:
//!
//! ```text
//!   zero      [0x02]
//!   positive  [0x03][magnitude + 130][digit pairs …]
//!   negative  [0x01][the bytes after 0x03 of its positive, each complemented]
//! ```
//!
//! The magnitude is the power of ten of the first digit (-130 to 125: exactly one byte). A digit
//! pair `p` (00 to 99, from the first digit on) is `2p + 1` while more follow and `2p` at the end,
//! which both ends the number by itself and puts `12` before `1201` before `13`.

mod parse;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::limits::NUMBER_DIGITS_MAX;

/// The power of ten of the first digit, least.
const MAGNITUDE_MIN: i32 = -130;
/// The power of ten of the first digit, greatest.
const MAGNITUDE_MAX: i32 = 125;

const SIGN_NEGATIVE: u8 = 1;
const SIGN_ZERO: u8 = 2;
const SIGN_POSITIVE: u8 = 3;

/// A number: exact, canonical (equal numbers are equal bytes), from 1E-130 to 9.99…E+125.
///
/// The mantissa is kept in two halves: a `u128` would align every value to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number {
    high: u64,
    low: u64,
    exponent: i16,
    negative: bool,
}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number { high: 0, low: 0, exponent: 0, negative: false };

    /// Reads a number as DynamoDB does: an optional sign, digits with an optional point, an
    /// optional exponent; zeros at either end count for nothing.
    pub fn parse(text: &str) -> Result<Number, Error> {
        let scanned = parse::scan(text)?;
        if scanned.digits == 0 {
            // Zero is in range whatever its exponent says.
            return Ok(Number::ZERO);
        }
        if scanned.digits > i64::from(NUMBER_DIGITS_MAX) {
            return Err(too_many_digits());
        }
        check_range(scanned.exponent, scanned.digits)?;
        let exponent = i16::try_from(scanned.exponent).expect("the range was checked");
        Ok(Number::raw(scanned.negative, scanned.mantissa, exponent))
    }

    /// The sum, if it is exact within 38 digits and in range.
    pub fn checked_add(self, other: Number) -> Result<Number, Error> {
        if self.is_zero() {
            return Ok(other);
        }
        if other.is_zero() {
            return Ok(self);
        }
        // The last digits of canonical numbers are not zero, so when the exponents differ the sum
        // keeps a digit at the lesser one, and a difference below 10^38 has parts below 2 × 10^38:
        // whatever does not fit 128 bits would not fit 38 digits either.
        let exponent = self.exponent.min(other.exponent);
        let left = self.aligned_to(exponent).ok_or_else(too_many_digits)?;
        let right = other.aligned_to(exponent).ok_or_else(too_many_digits)?;
        if self.negative == other.negative {
            let sum = left.checked_add(right).ok_or_else(too_many_digits)?;
            return Number::from_parts(self.negative, sum, exponent);
        }
        let negative = if left >= right { self.negative } else { other.negative };
        Number::from_parts(negative, left.abs_diff(right), exponent)
    }

    /// The difference, if it is exact within 38 digits and in range.
    pub fn checked_sub(self, other: Number) -> Result<Number, Error> {
        self.checked_add(other.negated())
    }

    /// The number as an integer, if it is one and fits.
    pub fn to_i64(&self) -> Option<i64> {
        let whole = i128::try_from(self.aligned_to(0)?).ok()?;
        i64::try_from(if self.negative { -whole } else { whole }).ok()
    }

    /// The whole part of a number that is not negative, if it fits.
    pub fn floor_u64(&self) -> Option<u64> {
        if self.negative {
            return None;
        }
        if self.exponent >= 0 {
            return u64::try_from(self.aligned_to(0)?).ok();
        }
        let divisor = 10_u128.checked_pow(self.exponent.unsigned_abs().into());
        u64::try_from(divisor.map_or(0, |divisor| self.mantissa() / divisor)).ok()
    }

    /// The nearest binary floating point number.
    pub fn to_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        let text = format!("{sign}{}e{}", self.mantissa(), self.exponent);
        text.parse().expect("digits and an exponent are a float")
    }

    /// Whether this is zero.
    pub fn is_zero(&self) -> bool {
        self.high == 0 && self.low == 0
    }

    /// Whether this is less than zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Appends bytes that sort as the numbers do and end by themselves, at most 21 of them.
    pub fn encode_ordered(&self, out: &mut Vec<u8>) {
        if self.is_zero() {
            out.push(SIGN_ZERO);
            return;
        }
        out.push(if self.negative { SIGN_NEGATIVE } else { SIGN_POSITIVE });
        let start = out.len();
        let biased = self.magnitude() - MAGNITUDE_MIN;
        out.push(u8::try_from(biased).expect("the magnitude of a number spans one byte"));
        // An even count of digits, so that pairs start at the first one.
        let digits = self.digits();
        let mut rest = self.mantissa() * if digits.is_multiple_of(2) { 1 } else { 10 };
        let mut more = 0;
        while rest > 0 {
            out.push((rest % 100) as u8 * 2 + more);
            rest /= 100;
            more = 1;
        }
        let (_, pairs) = out.split_at_mut(start + 1);
        pairs.reverse();
        if self.negative {
            let (_, body) = out.split_at_mut(start);
            body.iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// Reads what `encode_ordered` wrote at the start of `bytes`; answers how many it took.
    pub fn decode_ordered(bytes: &[u8]) -> Option<(Number, usize)> {
        let (sign, body) = bytes.split_first()?;
        let flip = match *sign {
            SIGN_ZERO => return Some((Number::ZERO, 1)),
            SIGN_POSITIVE => 0,
            SIGN_NEGATIVE => 0xFF,
            _ => return None,
        };
        let (biased, pairs) = body.split_first()?;
        let magnitude = i32::from(biased ^ flip) + MAGNITUDE_MIN;
        let mut mantissa = 0_u128;
        for (at, byte) in pairs.iter().enumerate() {
            let byte = byte ^ flip;
            let pair = byte / 2;
            if pair > 99 || (at == 0 && pair < 10) {
                return None;
            }
            mantissa = mantissa.checked_mul(100)?.checked_add(pair.into())?;
            if byte % 2 == 1 {
                continue;
            }
            if pair == 0 {
                return None;
            }
            let digits = i32::try_from(count_digits(mantissa)).ok()?;
            let exponent = i16::try_from(magnitude + 1 - digits).ok()?;
            let number = Number::from_parts(flip != 0, mantissa, exponent).ok()?;
            return Some((number, at + 3));
        }
        None
    }

    /// Sign, mantissa and exponent of ten.
    pub(crate) fn parts(&self) -> (bool, u128, i16) {
        (self.negative, self.mantissa(), self.exponent)
    }

    /// `± mantissa × 10^exponent` in canonical form, if it is within digits and range.
    pub(crate) fn from_parts(
        negative: bool,
        mantissa: u128,
        exponent: i16,
    ) -> Result<Number, Error> {
        if mantissa == 0 {
            return Ok(Number::ZERO);
        }
        let (mantissa, zeros) = strip_zeros(mantissa);
        let exponent = i64::from(exponent) + i64::from(zeros);
        let digits = count_digits(mantissa);
        if digits > NUMBER_DIGITS_MAX {
            return Err(too_many_digits());
        }
        check_range(exponent, digits.into())?;
        let exponent = i16::try_from(exponent).expect("the range was checked");
        Ok(Number::raw(negative, mantissa, exponent))
    }

    /// How many digits stand before and after the point, outer zeros not counted.
    pub(crate) fn digits_around_point(&self) -> (usize, usize) {
        let digits = self.digits() as usize;
        let fraction = digits.min(self.exponent.min(0).unsigned_abs().into());
        (digits - fraction, fraction)
    }

    fn digits(&self) -> u32 {
        count_digits(self.mantissa())
    }

    fn raw(negative: bool, mantissa: u128, exponent: i16) -> Number {
        Number { high: (mantissa >> 64) as u64, low: mantissa as u64, exponent, negative }
    }

    fn from_integer(negative: bool, integer: u64) -> Number {
        let (mantissa, zeros) = strip_zeros(integer.into());
        Number::raw(negative, mantissa, zeros)
    }

    fn mantissa(&self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    fn negated(self) -> Number {
        Number { negative: !self.negative && !self.is_zero(), ..self }
    }

    /// The power of ten of the first digit.
    fn magnitude(&self) -> i32 {
        i32::from(self.exponent) + self.digits().cast_signed() - 1
    }

    /// The mantissa at a lesser exponent, if it is an integer that fits.
    fn aligned_to(&self, exponent: i16) -> Option<u128> {
        if self.is_zero() {
            return Some(0);
        }
        let shift = u32::try_from(self.exponent - exponent).ok()?;
        self.mantissa().checked_mul(10_u128.checked_pow(shift)?)
    }

    fn cmp_absolute(&self, other: &Number) -> Ordering {
        let widened =
            |number: &Number| number.mantissa() * 10_u128.pow(NUMBER_DIGITS_MAX - number.digits());
        self.magnitude().cmp(&other.magnitude()).then_with(|| widened(self).cmp(&widened(other)))
    }
}

fn strip_zeros(mantissa: u128) -> (u128, i16) {
    let mut zeros = 0;
    // Most numbers fit 64 bits, where dividing is several times cheaper.
    if let Ok(mut small) = u64::try_from(mantissa) {
        while small != 0 && small.is_multiple_of(10) {
            small /= 10;
            zeros += 1;
        }
        return (small.into(), zeros);
    }
    let mut mantissa = mantissa;
    while mantissa.is_multiple_of(10) {
        mantissa /= 10;
        zeros += 1;
    }
    (mantissa, zeros)
}

fn count_digits(mantissa: u128) -> u32 {
    match u64::try_from(mantissa) {
        Ok(small) => small.checked_ilog10().map_or(0, |log| log + 1),
        Err(_) => mantissa.ilog10() + 1,
    }
}

fn check_range(exponent: i64, digits: i64) -> Result<(), Error> {
    let magnitude = exponent.saturating_add(digits - 1);
    if magnitude > MAGNITUDE_MAX.into() {
        let text = "Number overflow. Attempting to store a number with magnitude larger than \
                    supported range";
        return Err(Error::invalid(text));
    }
    if magnitude < MAGNITUDE_MIN.into() {
        let text = "Number underflow. Attempting to store a number with magnitude smaller than \
                    supported range";
        return Err(Error::invalid(text));
    }
    Ok(())
}

fn too_many_digits() -> Error {
    Error::invalid("Attempting to store more than 38 significant digits in a Number")
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        let sign = |number: &Number| match (number.is_zero(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        match sign(self).cmp(&sign(other)) {
            Ordering::Equal if self.is_zero() => Ordering::Equal,
            Ordering::Equal if self.negative => other.cmp_absolute(self),
            Ordering::Equal => self.cmp_absolute(other),
            unequal @ (Ordering::Less | Ordering::Greater) => unequal,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// DynamoDB's text: plain digits, never an exponent.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        let digits = self.mantissa().to_string();
        if self.exponent >= 0 {
            return write!(f, "{digits}{:0<1$}", "", usize::from(self.exponent.unsigned_abs()));
        }
        let places = usize::from(self.exponent.unsigned_abs());
        match digits.split_at_checked(digits.len().saturating_sub(places)) {
            Some((whole, fraction)) if !whole.is_empty() => write!(f, "{whole}.{fraction}"),
            Some(_) | None => write!(f, "0.{digits:0>places$}"),
        }
    }
}

/// As `Display`: what a test prints should read as a number.
impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Number {
    type Err = Error;

    fn from_str(text: &str) -> Result<Number, Error> {
        Number::parse(text)
    }
}

macro_rules! number_from_unsigned {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Number {
            fn from(integer: $integer) -> Number {
                Number::from_integer(false, integer as u64)
            }
        }
    )*};
}

macro_rules! number_from_signed {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Number {
            fn from(integer: $integer) -> Number {
                Number::from_integer(integer < 0, integer.unsigned_abs().into())
            }
        }
    )*};
}

number_from_unsigned!(u32, u64, usize);
number_from_signed!(i32, i64);

#[cfg(test)]
mod tests;

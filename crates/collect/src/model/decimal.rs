//! Values: decimals that are exact, so that the same values always add up to the same sum.
//!
//! A value is a whole number of 10^-18. Its whole part may have twenty digits: thousands of the
//! greatest values add up before a sum stops at the end.

use std::fmt;

/// Digits after the point that are kept.
const DECIMALS: usize = 18;
/// What one is.
const ONE: i128 = 1_000_000_000_000_000_000;
/// The end of the range: thirty-eight digits, which is what the store keeps of a number.
const MOST: i128 = 10_i128.pow(38) - 1;

/// A decimal number with up to eighteen digits after the point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Decimal(i128);

impl Decimal {
    /// Reads digits with an optional sign and point. Digits after the eighteenth decimal are
    /// rounded off.
    pub(crate) fn parse(text: &str) -> Option<Decimal> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return None,
            None => (text, ""),
        };
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let whole: i128 = whole.parse().ok()?;
        let kept = fraction.get(..DECIMALS.min(fraction.len()))?;
        let small: i128 = format!("{kept:0<DECIMALS$}").parse().ok()?;
        let rounded =
            i128::from(fraction.as_bytes().get(DECIMALS).is_some_and(|next| *next >= b'5'));
        let scaled = whole.checked_mul(ONE)?.checked_add(small + rounded)?;
        let scaled = Some(scaled).filter(|scaled| *scaled <= MOST)?;
        Some(Decimal(if is_negative { -scaled } else { scaled }))
    }

    /// Whether it has no digits after the point.
    pub(crate) fn is_whole(self) -> bool {
        self.0 % ONE == 0
    }

    /// It as an integer, if it is one and fits.
    pub(crate) fn to_i64(self) -> Option<i64> {
        if self.is_whole() { i64::try_from(self.0 / ONE).ok() } else { None }
    }

    /// The nearest binary floating point number.
    pub(crate) fn to_f64(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// How far it is from zero.
    pub(crate) fn size(self) -> Decimal {
        Decimal(self.0.abs())
    }

    /// The sum; it stops at the ends of the range.
    #[must_use]
    pub(crate) fn plus(self, other: Decimal) -> Decimal {
        Decimal(self.0.saturating_add(other.0).clamp(-MOST, MOST))
    }

    /// Its share for each of so many, rounded.
    pub(crate) fn shared_by(self, count: u64) -> Option<Decimal> {
        let count = i128::from(count);
        if count == 0 {
            return None;
        }
        let (whole, rest) = (self.0 / count, self.0 % count);
        let rounds = rest.abs() * 2 >= count;
        Some(Decimal(whole + if rounds { rest.signum() } else { 0 }))
    }
}

impl From<u64> for Decimal {
    fn from(whole: u64) -> Decimal {
        Decimal(i128::from(whole) * ONE)
    }
}

/// Plain digits, without zeros at the end.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0.unsigned_abs() / ONE.unsigned_abs(), self.0 % ONE);
        let sign = if self.0 < 0 { "-" } else { "" };
        if fraction == 0 {
            return write!(f, "{sign}{whole}");
        }
        let fraction = format!("{:0>DECIMALS$}", fraction.unsigned_abs());
        write!(f, "{sign}{whole}.{}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::Decimal;

    fn read(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn a_decimal_is_exact() {
        assert_eq!(read("0.1").plus(read("0.2")), read("0.3"));
        assert_eq!(read("-0.5").plus(read("0.25")).to_string(), "-0.25");
        assert_eq!(read("21.50").to_string(), "21.5");
        assert_eq!(read("1").shared_by(3).unwrap().to_string(), "0.333333333333333333");
        assert_eq!(read("-2").shared_by(3).unwrap().to_string(), "-0.666666666666666667");
        assert_eq!(read("1").shared_by(0), None);
        assert_eq!(read("0.0000000000000000015").to_string(), "0.000000000000000002");
        assert!(read("-3") < read("-2.5") && read("-2.5") < read("0"));
        assert_eq!((read("-7").to_i64(), read("7.5").to_i64()), (Some(-7), None));
    }

    #[test]
    fn what_is_no_plain_number_is_none() {
        for text in ["", "-", ".5", "5.", "1e3", "+1", "1,5", " 1", "0x1", "--1", "1.2.3"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(Decimal::parse(&"9".repeat(30)), None);
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn a_decimal_is_read_as_it_is_written(number in any::<i64>(), divisor in 1..10_000_u64) {
            let decimal = read(&number.to_string()).shared_by(divisor).unwrap();
            prop_assert_eq!(read(&decimal.to_string()), decimal);
            let nearly = number as f64 / divisor as f64;
            prop_assert!((decimal.to_f64() - nearly).abs() <= 1e-9 * nearly.abs().max(1.0));
        }
    }
}

//! Numbers against independent judges: digit strings for text and order, decimal columns on paper
//! for arithmetic.

use std::cmp::Ordering;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use testkit::{depth, seed};

use super::Number;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap()
}

fn message(text: &str) -> String {
    Number::parse(text).unwrap_err().to_string()
}

#[test]
fn the_text_is_canonical() {
    for (text, canonical) in [
        ("0", "0"),
        ("-0", "0"),
        ("+0.00e10", "0"),
        ("0e126", "0"),
        ("0e1000", "0"),
        ("-0.0e-1000", "0"),
        ("007", "7"),
        ("1.50", "1.5"),
        ("-.5", "-0.5"),
        ("5.", "5"),
        ("12e3", "12000"),
        ("12E-3", "0.012"),
        ("1200e-2", "12"),
        ("123.456e1", "1234.56"),
        ("0.00000000000000000000000000000000000000000001e44", "1"),
        ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
    ] {
        assert_eq!(number(text).to_string(), canonical, "{text}");
    }
    assert_eq!(number("1e125").to_string(), format!("1{}", "0".repeat(125)));
    assert_eq!(number("1e-130").to_string(), format!("0.{}1", "0".repeat(129)));
}

#[test]
fn what_is_no_number_is_refused() {
    for text in
        ["", " 1", "1 ", "+", "-", ".", "e1", "1e", "1e+", "1.2.3", "--1", "1_0", "NaN", "0x1"]
    {
        assert!(message(text).starts_with("The parameter cannot be converted"), "{text}");
    }
    assert!(message("1e99999999999999999999").starts_with("The parameter cannot be converted"));
    assert!(message("１").starts_with("The parameter cannot be converted"));
}

#[test]
fn the_bounds_are_dynamodbs() {
    let nines = "9".repeat(38);
    assert!(Number::parse(&format!("{nines}e88")).is_ok());
    assert!(message("1e126").starts_with("Number overflow"));
    assert!(message("-10e125").starts_with("Number overflow"));
    assert!(message("1e9223372036854775807").starts_with("Number overflow"));
    assert!(message("0.1e-130").starts_with("Number underflow"));
    assert!(message("1e-9223372036854775808").starts_with("Number underflow"));
    assert!(message(&format!("{nines}1")).contains("38 significant digits"));
    assert!(message(&format!("1{}1", "0".repeat(300))).contains("38 significant digits"));
    assert!(Number::parse(&format!("000{nines}000.000")).is_ok());
}

#[test]
fn integers_convert_both_ways() {
    for integer in
        [0, 1, -1, 10, -100, 1_700_000_000, i64::MAX, i64::MIN, 1_000_000_000_000_000_000]
    {
        assert_eq!(Number::from(integer), number(&integer.to_string()));
        assert_eq!(Number::from(integer).to_i64(), Some(integer));
    }
    assert_eq!(Number::from(u64::MAX), number("18446744073709551615"));
    assert_eq!(Number::from(u64::MAX).to_i64(), None);
    assert_eq!(number("9223372036854775808").to_i64(), None);
    assert_eq!(number("1.5").to_i64(), None);
    assert_eq!(number("1e30").to_i64(), None);
}

#[test]
fn the_whole_part_is_cut_not_rounded() {
    for (text, floor) in [
        ("0", Some(0)),
        ("0.999", Some(0)),
        ("1e-130", Some(0)),
        ("1700000000.9", Some(1_700_000_000)),
        ("18446744073709551615.5", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("1e125", None),
        ("-0.5", None),
    ] {
        assert_eq!(number(text).floor_u64(), floor, "{text}");
    }
}

#[test]
fn floats_are_the_nearest() {
    assert_eq!(number("0.1").to_f64(), 0.1);
    assert_eq!(number("-123456789.125").to_f64(), -123_456_789.125);
    assert_eq!(number("1e125").to_f64(), 1e125);
    assert_eq!(number("0").to_f64(), 0.0);
}

/// Every number has its digits in these columns: powers of ten from 126 (one more than a number
/// may have, for carries) down to -167 (38 digits at the least magnitude).
const COLUMNS: usize = 294;
const FIRST_POWER: i32 = 126;

/// A number written down in decimal columns, as on squared paper: the judge of all others.
#[derive(Clone)]
struct Paper {
    negative: bool,
    columns: [u8; COLUMNS],
}

impl Paper {
    /// `± digits × 10^exponent`; the digits must lie within the columns.
    fn new(negative: bool, digits: &[u8], exponent: i32) -> Paper {
        let mut columns = [0; COLUMNS];
        let last = usize::try_from(FIRST_POWER - exponent).unwrap();
        columns[last + 1 - digits.len()..=last].copy_from_slice(digits);
        Paper { negative: negative && digits.iter().any(|digit| *digit != 0), columns }
    }

    /// The first and the last column that is not zero.
    fn span(&self) -> Option<(usize, usize)> {
        let first = self.columns.iter().position(|digit| *digit != 0)?;
        Some((first, self.columns.iter().rposition(|digit| *digit != 0)?))
    }

    fn text(&self) -> String {
        let point = usize::try_from(FIRST_POWER).unwrap() + 1;
        let (first, last) = self.span().unwrap_or((point - 1, point - 1));
        let mut text = String::from(if self.negative { "-" } else { "" });
        for at in first.min(point - 1)..=last.max(point - 1) {
            if at == point {
                text.push('.');
            }
            text.push(char::from(b'0' + self.columns[at]));
        }
        text
    }

    fn cmp(&self, other: &Paper) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.columns.cmp(&other.columns),
            (true, true) => other.columns.cmp(&self.columns),
        }
    }

    fn add(&self, other: &Paper) -> Paper {
        let (large, small) =
            if self.columns >= other.columns { (self, other) } else { (other, self) };
        let same = self.negative == other.negative;
        let mut columns = [0; COLUMNS];
        let mut carry = 0;
        for at in (0..COLUMNS).rev() {
            let (x, y) = (i32::from(large.columns[at]), i32::from(small.columns[at]));
            let sum = if same { x + y + carry } else { x - y + carry };
            columns[at] = u8::try_from(sum.rem_euclid(10)).unwrap();
            carry = sum.div_euclid(10);
        }
        assert_eq!(carry, 0);
        let negative = large.negative && columns.iter().any(|digit| *digit != 0);
        Paper { negative, columns }
    }

    /// Whether DynamoDB can hold it.
    fn fits(&self) -> bool {
        let last_first = usize::try_from(FIRST_POWER + 130).unwrap();
        self.span()
            .is_none_or(|(first, last)| last - first < 38 && (1..=last_first).contains(&first))
    }
}

/// Random decimals, near to each other now and then.
struct Decimals {
    random: StdRng,
}

impl Decimals {
    fn new(seed: u64) -> Decimals {
        Decimals { random: StdRng::seed_from_u64(seed) }
    }

    /// Up to 38 digits, often few, at a magnitude that is often near zero.
    fn any(&mut self) -> Paper {
        let count = if self.random.random() { 38 } else { 6 };
        let count = self.random.random_range(1..=count);
        let mut digits: Vec<u8> = (0..count).map(|_| self.random.random_range(0..10)).collect();
        digits[0] = digits[0].max(1);
        let reach = if self.random.random() { 10 } else { 125 };
        let magnitude = self.random.random_range(-reach..=reach).max(-130);
        let exponent = magnitude + 1 - count;
        if self.random.random_range(0..200) == 0 {
            return Paper::new(false, &[0], 0);
        }
        Paper::new(self.random.random(), &digits, exponent)
    }

    /// A number that differs little from `paper`, or not at all.
    fn near(&mut self, paper: &Paper) -> Paper {
        let mut near = paper.clone();
        let (first, last) = paper.span().unwrap_or((126, 126));
        match self.random.random_range(0..4) {
            0 => near.negative = !near.negative && paper.span().is_some(),
            1 => {
                near.columns[self.random.random_range(first..=last)] =
                    self.random.random_range(0..10)
            }
            2 => near.columns[last] = 0,
            _ => {}
        }
        near.negative &= near.span().is_some();
        if near.fits() { near } else { paper.clone() }
    }

    /// The same number in one of its many spellings.
    fn spelling(&mut self, paper: &Paper) -> String {
        let plain = paper.text();
        let (sign, plain) = match plain.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => (if self.random.random() { "+" } else { "" }, plain.as_str()),
        };
        let zeros = "0".repeat(self.random.random_range(0..3));
        let Some((first, last)) = paper.span() else {
            return format!("{sign}{zeros}0");
        };
        if self.random.random() {
            let point = if plain.contains('.') { "" } else { "." };
            return format!("{sign}{zeros}{plain}{point}{zeros}");
        }
        let digits: String =
            paper.columns[first..=last].iter().map(|digit| char::from(b'0' + digit)).collect();
        let (head, tail) = digits.split_at(self.random.random_range(0..=digits.len()));
        let exponent =
            FIRST_POWER - i32::try_from(last).unwrap() + i32::try_from(tail.len()).unwrap();
        format!("{sign}{zeros}{head}.{tail}{zeros}e{exponent}")
    }
}

/// Checks text, order and ordered bytes of `count` random pairs.
fn check_pairs(number_of_test: u64, count: u32) {
    let seed = seed::draw().wrapping_add(number_of_test);
    let mut decimals = Decimals::new(seed);
    let (mut left_bytes, mut right_bytes) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let left_paper = decimals.any();
        let right_paper =
            if decimals.random.random() { decimals.any() } else { decimals.near(&left_paper) };
        let spelling = decimals.spelling(&left_paper);
        let (left, right) = (number(&spelling), number(&right_paper.text()));
        assert_eq!(left.to_string(), left_paper.text(), "seed {seed}: {spelling}");
        assert_eq!(number(&left.to_string()), left);

        let order = left_paper.cmp(&right_paper);
        assert_eq!(left.cmp(&right), order, "seed {seed}: {left} and {right}");
        assert_eq!(left == right, order == Ordering::Equal, "seed {seed}: {left} and {right}");
        left_bytes.clear();
        right_bytes.clear();
        left.encode_ordered(&mut left_bytes);
        right.encode_ordered(&mut right_bytes);
        assert_eq!(left_bytes.cmp(&right_bytes), order, "seed {seed}: {left} and {right}");

        let used = left_bytes.len();
        assert!(used <= 21);
        left_bytes.extend_from_slice(&right_bytes);
        assert_eq!(Number::decode_ordered(&left_bytes), Some((left, used)), "seed {seed}");
    }
}

/// Pairs of each of the four tests, which run beside each other.
fn pairs() -> u32 {
    depth::pick(15_000, 300_000)
}

#[test]
fn text_order_and_bytes_agree_with_paper_1() {
    check_pairs(1, pairs());
}

#[test]
fn text_order_and_bytes_agree_with_paper_2() {
    check_pairs(2, pairs());
}

#[test]
fn text_order_and_bytes_agree_with_paper_3() {
    check_pairs(3, pairs());
}

#[test]
fn text_order_and_bytes_agree_with_paper_4() {
    check_pairs(4, pairs());
}

#[test]
fn sums_and_differences_agree_with_paper() {
    let mut decimals = Decimals::new(seed::draw());
    let (mut exact, mut refused) = (0, 0);
    let count = depth::pick(15_000, 150_000);
    for _ in 0..count {
        let left_paper = decimals.any();
        let right_paper =
            if decimals.random.random() { decimals.any() } else { decimals.near(&left_paper) };
        let (left, right) = (number(&left_paper.text()), number(&right_paper.text()));
        let mut turned_paper = right_paper.clone();
        turned_paper.negative = !right_paper.negative && right_paper.span().is_some();
        for (paper, result) in [
            (left_paper.add(&right_paper), left.checked_add(right)),
            (left_paper.add(&turned_paper), left.checked_sub(right)),
        ] {
            match result {
                Ok(sum) => {
                    exact += 1;
                    assert!(paper.fits(), "{left} ± {right} is {sum}");
                    assert_eq!(sum.to_string(), paper.text(), "{left} ± {right}");
                }
                Err(_) => {
                    refused += 1;
                    assert!(!paper.fits(), "{left} ± {right} is {}", paper.text());
                }
            }
        }
    }
    assert!(exact > count / 4 && refused > count / 4, "{exact} exact, {refused} refused");
}

#[test]
fn sums_meet_their_bounds_exactly() {
    let nines = number(&"9".repeat(38));
    assert_eq!(nines.checked_add(number("1")).unwrap(), number("1e38"));
    assert_eq!(number("1e38").checked_sub(number("1")).unwrap(), nines);
    assert!(number("1e38").checked_add(number("1")).is_err());
    assert!(nines.checked_add(number("0.1")).is_err());
    assert!(
        number("9e125").checked_add(number("1e125")).unwrap_err().to_string().contains("overflow")
    );
    let underflow = number("1.1e-130").checked_sub(number("1e-130")).unwrap_err();
    assert!(underflow.to_string().contains("underflow"));
    assert_eq!(number("5").checked_sub(number("5")).unwrap(), Number::ZERO);
    assert_eq!(number("-5").checked_add(number("5")).unwrap().to_string(), "0");
}

#[test]
fn whatever_decodes_encodes_to_the_same_bytes() {
    let mut random = StdRng::seed_from_u64(seed::draw());
    let mut decoded = 0;
    let count = depth::pick(50_000, 500_000);
    for _ in 0..count {
        // Only signs and magnitudes that let the rest be looked at.
        let mut bytes = vec![random.random_range(1..=3)];
        bytes.extend((0..random.random_range(0..24)).map(|_| random.random::<u8>()));
        if let Some((number, used)) = Number::decode_ordered(&bytes) {
            decoded += 1;
            let mut again = Vec::new();
            number.encode_ordered(&mut again);
            assert_eq!(again, bytes[..used]);
        }
    }
    assert!(decoded > count / 6, "{decoded}");
}

//! Numbers against independent judges: digit strings for text and order, decimal columns on paper
//! for arithmetic.

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
    assert!(message("0e126").starts_with("Number overflow"));
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

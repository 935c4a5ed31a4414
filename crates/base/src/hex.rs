//! Bytes as hexadecimal digits.

/// Two digits for each byte, in lower case.
pub fn hex<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> String {
    let bytes = bytes.into_iter();
    let mut text = String::with_capacity(2 * bytes.size_hint().0);
    for byte in bytes {
        for half in [byte >> 4, byte & 0xf] {
            text.push(char::from_digit(half.into(), 16).expect("half a byte is one digit"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::hex;

    proptest! {
        #![proptest_config(testkit::depth::cases(256))]

        #[test]
        fn digits_are_those_of_the_formatter(bytes in any::<[u8; 16]>()) {
            let formatted = format!("{:032x}", u128::from_be_bytes(bytes));
            prop_assert_eq!(hex(&bytes), formatted);
        }
    }
}

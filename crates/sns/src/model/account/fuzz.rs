//! Any text as a username, an e-mail address, a name and a description.

use super::{check_email, check_username, fold};
use crate::limits::{BIO, DISPLAY_NAME, EMAIL_BYTES_MAX, USERNAME_LETTERS};

#[test]
fn every_name_is_refused_or_names_one_user_whatever_its_case() {
    testkit::fuzz::check("names", |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        assert_eq!(fold(&fold(text)), fold(text));
        if let Ok(name) = check_username(text) {
            assert!(USERNAME_LETTERS.contains(&name.len()) && name == text);
            assert_eq!(fold(&name), name.to_ascii_lowercase());
        }
        if let Ok(email) = check_email(text) {
            assert!(email.len() <= EMAIL_BYTES_MAX && email.matches('@').count() == 1);
            assert_eq!(check_email(&email).unwrap(), email);
            if email.is_ascii() {
                assert_eq!(fold(&email.to_ascii_uppercase()), fold(&email));
            }
        }
        for rule in [DISPLAY_NAME, BIO] {
            if let Ok(clean) = rule.apply(text) {
                assert_eq!(rule.apply(&clean).unwrap(), clean);
                assert_eq!(rule.refusing().apply(&clean).unwrap(), clean);
            }
        }
    });
}

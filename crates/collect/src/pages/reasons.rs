//! Why a slot has no value, in the reader's language.
//!
//! The ledger and the API keep reasons as English sentences, which clients and older rows hold too.
//! Pages compare them with the sentences that the room writes and show the reader's own. A sentence
//! that is not known, such as one that an upstream or an operating system wrote, stays as it is.

/// The sentences that the room writes; `{}` stands for what differs. The first that fits counts.
pub(super) const WRITTEN: [&str; 17] = [
    "no answer within {}",
    "no answer: {}",
    "status {}",
    "a redirect that is not followed, to {}",
    "an answer of more than {} bytes",
    "the answer is not JSON: {}",
    "the answer is of {}, asked was {}",
    "the answer has nothing at `{}`",
    "the value must be a whole number from {}, not {}",
    "the value must be a decimal from {}, not {}",
    "`{}` is private, and not in `collect.private_networks`",
    "the file `{}` of its secret cannot be read",
    "the source is instant, and its slot could be read until {} alone",
    "the slot before it was still asked for",
    "its message could not be sent",
    "nobody planned",
    "the clock was set",
];

/// A reason in words of `shown`, which stand in the order of [`WRITTEN`].
pub(super) fn translate(shown: &[&str; WRITTEN.len()], reason: &str) -> String {
    let found = WRITTEN.iter().zip(shown).find_map(|(pattern, sentence)| {
        let parts = split(pattern, reason)?;
        let fill = |text: String, part: &&str| text.replacen("{}", part, 1);
        Some(parts.iter().fold((*sentence).to_owned(), fill))
    });
    found.unwrap_or_else(|| reason.to_owned())
}

/// What stands in the holes of a pattern, if it fits.
fn split<'r>(pattern: &str, reason: &'r str) -> Option<Vec<&'r str>> {
    let (first, holes) = pattern.split_once("{}").map_or((pattern, None), |(a, b)| (a, Some(b)));
    let mut rest = reason.strip_prefix(first)?;
    let Some(holes) = holes else { return rest.is_empty().then(Vec::new) };
    let mut parts = Vec::new();
    let mut literals = holes.split("{}").peekable();
    while let Some(literal) = literals.next() {
        // The last one ends the reason, so that a hole may hold the text of a literal.
        let end = match literals.peek() {
            None => rest.len() - rest.strip_suffix(literal).map_or(0, |_| literal.len()),
            Some(_) => rest.find(literal)?,
        };
        let (part, after) = rest.split_at_checked(end)?;
        rest = after.strip_prefix(literal)?;
        parts.push(part);
    }
    (!parts.iter().any(|part| part.is_empty())).then_some(parts)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::Timestamp;

    use super::{WRITTEN, split, translate};
    use crate::items::Gap;
    use crate::model::answer::Refused;
    use crate::model::kind::Kind;
    use crate::model::retry::Trouble;
    use crate::pages::words;

    /// All that the room itself says of a failed slot. What an upstream or the system says is `x`.
    fn all() -> Vec<String> {
        let text = || "x".to_owned();
        let refused = [
            Refused::NotJson(text()),
            Refused::OtherWindow { asked: text(), said: text() },
            Refused::Missing("/count".to_owned()),
            Refused::NotAValue { kind: Kind::Count, said: "7.5".to_owned() },
            Refused::NotAValue { kind: Kind::Gauge, said: "null".to_owned() },
        ];
        let troubles = [
            Trouble::Unreachable(text()),
            Trouble::TimedOut,
            Trouble::Status { code: 503, retry_after: Some(Duration::ZERO) },
            Trouble::Redirected(text()),
            Trouble::TooLarge,
            Trouble::NoSecret(text()),
            Trouble::Over(Timestamp::EPOCH),
        ];
        let troubles = refused.map(Trouble::Refused).into_iter().chain(troubles);
        let gap = |by_clock| Gap { from: Timestamp::EPOCH, to: Timestamp::EPOCH, by_clock };
        let gaps = [true, false].map(|by_clock| gap(by_clock).cause().to_owned());
        troubles.map(|trouble| trouble.to_string()).chain(gaps).collect()
    }

    #[test]
    fn every_reason_that_the_room_writes_is_shown_in_japanese() {
        let words = words::of(edge::Language::Ja);
        for reason in all() {
            let shown = translate(&words.reasons, &reason);
            assert!(!shown.is_ascii(), "{reason}: {shown}");
            assert!(!shown.contains("{}"), "{reason}: {shown}");
        }
    }

    #[test]
    fn what_differs_is_kept_and_what_is_not_known_stays() {
        let words = words::of(edge::Language::Ja);
        assert_eq!(translate(&words.reasons, "status 503"), "ステータス 503 が返りました");
        assert_eq!(translate(&words.reasons, "not stored: x"), "not stored: x");
        assert_eq!(split("a {}, b {}", "a 1, b 2, b 3"), Some(vec!["1", "2, b 3"]));
        assert_eq!(split("a {} alone", "a b"), None);
        assert_eq!(split("a {}", "a "), None);
        assert_eq!((split("a", "a"), split("a", "ab")), (Some(Vec::new()), None));
    }

    #[test]
    fn a_sentence_has_as_many_holes_in_every_language() {
        let holes = |text: &str| text.matches("{}").count();
        for language in edge::Language::ALL {
            for (written, shown) in WRITTEN.iter().zip(words::of(language).reasons) {
                assert_eq!(holes(written), holes(shown), "{shown}");
            }
        }
    }
}

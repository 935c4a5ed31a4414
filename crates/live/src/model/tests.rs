//! Decisions without a runtime.

use base::{Timestamp, Uuid};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::{
    Blocks, ChangeBlocks, ChangeRoom, CreateRoom, ListChange, PostComment, Room, Rules, id_behind,
    retry_key,
};
use crate::error::Error;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const HOST: &str = "5f1d7a84c9b04b1f";
const RULES: Rules = Rules { graphemes_max: 200, bytes_max: 2_048, comments_max: 200_000 };

fn room() -> Room {
    let create = CreateRoom { name: "r".to_owned(), host_id: HOST.to_owned() };
    create.decide("id".to_owned(), "CODE22".to_owned(), "salt".to_owned(), NOW).unwrap()
}

fn post(content: &str) -> PostComment {
    PostComment {
        content: content.to_owned(),
        nickname: None,
        client_id: None,
        participant: "p".to_owned(),
        host_id: None,
    }
}

proptest! {
    #[test]
    fn an_id_is_always_behind_the_last_one(last in any::<u128>(), fresh in any::<u128>()) {
        let last = Uuid::from_u128(last >> 1).to_string();
        let next = id_behind(&last, Uuid::from_u128(fresh));
        prop_assert!(next > last, "{next} {last}");
    }

    #[test]
    fn what_is_stored_fits_its_bounds_whatever_was_sent(content in any::<String>()) {
        if let Ok(comment) = room().admit(&post(&content), &RULES, None, Uuid::nil(), NOW) {
            prop_assert!(!comment.content.is_empty() && comment.content.len() <= 2_048);
            prop_assert!(!comment.content.contains("\n\n"));
            prop_assert!(!comment.content.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        }
    }

    #[test]
    fn only_the_credential_is_the_host(presented in any::<String>()) {
        prop_assert_eq!(room().is_host(Some(&presented)), presented == HOST);
        prop_assert!(!room().is_host(None));
    }
}

/// The room after a word was blocked.
fn blocking(word: &str) -> Result<Room, Error> {
    let words = ListChange { add: Some(vec![word.to_owned()]), ..ListChange::default() };
    let blocks = ChangeBlocks { words, ..ChangeBlocks::default() };
    room().change(&ChangeRoom { blocks, ..ChangeRoom::default() }, NOW)
}

#[test]
fn a_blocked_word_is_found_inside_a_longer_one_in_any_script() {
    let held = |word: &str, content: &str| blocking(word).unwrap().blocks.hold([content, ""]);
    for (word, content) in [
        ("bad", "so BADLY"),
        ("ΟΔΟΣ", "η οδοσήμανση"),
        ("Straße", "STRASSE"),
        ("ＢＡＤ", "bad"),
        ("ばか", "ﾊﾞｶ"),
        ("ヷ", "わ\u{3099}"),
        ("ゝ", "ヽ"),
        ("㍿", "株式会社"),
        ("é", "e\u{301}"),
    ] {
        assert!(held(word, content), "{word} in {content}");
        assert!(held(content, word) || content.chars().count() > 6, "{content} in {word}");
    }
    for content in ["very bad", "very\tBAD", "very\nbad", "very \u{3000} bad"] {
        assert!(held("very bad", content), "{content:?}");
    }
    assert!(!held("bad", "ba d"));
    // A room of before, whose word ends with the other sigma.
    let words = |word: &str| Blocks { words: vec![word.to_owned()], ..Blocks::default() };
    assert!(words("οδος").hold(["ΟΔΟΣ", ""]) && words("οδος").hold(["", "Οδοσήμανση"]));
}

#[test]
fn a_word_that_shows_nothing_holds_nothing() {
    for nothing in ["", "\u{200b}", "\u{ad}\u{2060}", "\u{3164}"] {
        assert!(blocking(nothing).is_err(), "{nothing:?}");
        let old = Blocks { words: vec![nothing.to_owned()], ..Blocks::default() };
        assert!(!old.hold(["hello", "Ada"]), "{nothing:?}");
    }
}

proptest! {
    #[test]
    fn what_is_folded_stays_as_it_is(text in any::<String>(), more in "[\\PC\u{0}-\u{3fff}]{0,30}") {
        for text in [text, more] {
            let folded = super::text::folded(&text);
            prop_assert_eq!(&super::text::folded(&folded), &folded, "{:?}", text);
        }
    }
}

#[test]
fn a_participant_is_known_by_another_name_in_every_room() {
    let other = Room { salt: "other".to_owned(), ..room() };
    assert_ne!(room().author("p"), other.author("p"));
    assert_eq!(room().author("p"), room().author("p"));
    assert_eq!(room().author("p").len(), 24);
}

#[test]
fn a_retry_is_known_by_its_participant_its_id_and_its_words() {
    let key = |id: &str, content: &str| retry_key(id, &post(content)).unwrap();
    assert_eq!(key("1", "a"), key("1", "a"));
    assert_ne!(key("1", "a"), key("1", "b"));
    assert_ne!(key("1", "a"), key("1a", ""), "the border between them counts");
    let other = PostComment { participant: "q".to_owned(), ..post("a") };
    assert_ne!(key("1", "a"), retry_key("1", &other).unwrap(), "each counts for itself");
    assert!(matches!(retry_key("a b", &post("x")), Err(Error::Invalid(_))));
}

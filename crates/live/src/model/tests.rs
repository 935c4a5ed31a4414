//! Decisions without a runtime.

use base::{Timestamp, Uuid};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::{ChangeRoom, CreateRoom, PostComment, Room, Rules, id_behind, retry_key};
use crate::error::Error;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const RULES: Rules = Rules { graphemes_max: 200, bytes_max: 2_048, comments_max: 200_000 };

fn room() -> Room {
    let create = CreateRoom { name: "r".to_owned(), host_id: "h".to_owned() };
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
        prop_assert_eq!(room().is_host(Some(&presented)), presented == "h");
        prop_assert!(!room().is_host(None));
    }
}

#[test]
fn a_blocked_word_is_found_inside_a_longer_one_in_any_script() {
    let held = |word: &str, content: &str| {
        let change =
            ChangeRoom { blocked_words: Some(vec![word.to_owned()]), ..ChangeRoom::default() };
        room().change(&change, NOW).unwrap().holds_blocked_word(content, "")
    };
    for (word, content) in [("bad", "so BADLY"), ("ΟΔΟΣ", "η οδοσήμανση"), ("Straße", "STRAßE")]
    {
        assert!(held(word, content), "{word} in {content}");
    }
    for content in ["very bad", "very\tBAD", "very\nbad"] {
        assert!(held("very bad", content), "{content:?}");
    }
    assert!(!held("bad", "ba d"));
    // A room of before, whose word ends with the other sigma.
    let old = Room { blocked_words: vec!["οδος".to_owned()], ..room() };
    assert!(old.holds_blocked_word("ΟΔΟΣ", "") && old.holds_blocked_word("", "Οδοσήμανση"));
}

#[test]
fn a_participant_is_known_by_another_name_in_every_room() {
    let other = Room { salt: "other".to_owned(), ..room() };
    assert_ne!(room().author("p"), other.author("p"));
    assert_eq!(room().author("p"), room().author("p"));
    assert_eq!(room().author("p").len(), 24);
}

#[test]
fn a_retry_is_known_by_its_id_and_its_words() {
    let key = |id: &str, content: &str| retry_key(id, &post(content)).unwrap();
    assert_eq!(key("1", "a"), key("1", "a"));
    assert_ne!(key("1", "a"), key("1", "b"));
    assert_ne!(key("1", "a"), key("1a", ""), "the border between them counts");
    assert!(matches!(retry_key("a b", &post("x")), Err(Error::Invalid(_))));
}

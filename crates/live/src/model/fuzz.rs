//! Any texts as comments, names and words that a room holds back.

use base::{Timestamp, Uuid};
use unicode_normalization::UnicodeNormalization;

use super::text::{blocked_word, folded, is_invisible, nickname};
use super::{Blocks, CreateRoom, PostComment, Room, Rules};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const RULES: Rules = Rules { graphemes_max: 200, bytes_max: 2_048, comments_max: 200_000 };

fn room() -> Room {
    let create = CreateRoom { name: "r".to_owned(), host_id: "5f1d7a84c9b04b1f".to_owned() };
    create.decide("id".to_owned(), "CODE22".to_owned(), "salt".to_owned(), NOW).unwrap()
}

/// A comment is stored in its normal form and within its bounds, and so is a name.
fn check_texts(room: &Room, content: &str) {
    let post = PostComment {
        content: content.to_owned(),
        nickname: None,
        client_id: None,
        participant: "p".to_owned(),
        host_id: None,
    };
    if let Ok(comment) = room.admit(&post, &RULES, None, Uuid::nil(), NOW) {
        assert!(!comment.content.is_empty() && comment.content.len() <= RULES.bytes_max);
        assert_eq!(RULES.content(&comment.content).unwrap(), comment.content);
    }
    if let Ok(name) = nickname(Some(content)) {
        assert_eq!(nickname(Some(&name)).unwrap(), name);
    }
    assert_eq!(folded(&folded(content)), folded(content));
}

/// A word that a room holds back is found wherever it stands by itself, in any case of its letters,
/// and inside a longer text whose letters do not change its own.
fn check_blocked(word: &str, before: &str, after: &str) {
    // Only words in normal form stand in texts as they are.
    if blocked_word(word).is_err() || RULES.content(word).ok().as_deref() != Some(word) {
        return;
    }
    let blocks = Blocks { words: vec![blocked_word(word).unwrap()], ..Blocks::default() };
    let inside = format!("{before}{word}{after}");
    // An accent behind a letter, or a vowel behind a consonant, makes another letter.
    let seen = |text: &str| text.chars().filter(|it| !is_invisible(*it)).nfkc().collect::<String>();
    let is_whole = seen(&inside).contains(&seen(word));
    let apart = format!("{before} {word} {after}");
    for text in [Some(apart), is_whole.then_some(inside)].into_iter().flatten() {
        assert!(blocks.hold([&text, ""]), "{word:?} is not found in {text:?}");
        assert!(blocks.hold(["", &text]), "{word:?} is not found in the name {text:?}");
    }
}

#[test]
fn every_blocked_word_is_found_and_every_text_is_stored_in_its_normal_form() {
    testkit::fuzz::check("words", |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        check_texts(&room(), text);
        let mut parts = text.splitn(3, '\n');
        if let (Some(word), Some(before)) = (parts.next(), parts.next()) {
            check_blocked(word, before, parts.next().unwrap_or_default());
        }
    });
}

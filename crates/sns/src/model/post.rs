//! Posts.

use base::Timestamp;

use super::timeline::Place;
use super::{PostId, UserId};
use crate::error::{Error, Flaw};
use crate::limits::{CONTENT, CONTENT_BYTES_MAX};

/// A post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Post {
    pub(crate) id: PostId,
    pub(crate) author: UserId,
    /// As it was typed; whoever shows it escapes it.
    pub(crate) content: String,
    pub(crate) likes: u64,
    pub(crate) created: Timestamp,
}

impl Post {
    /// Where it stands among posts.
    pub(crate) fn place(&self) -> Place {
        Place { created: self.created, post: self.id }
    }
}

/// What a post may say: 1 to 280 characters as people count them, not only white space.
pub(crate) fn check_content(text: &str) -> Result<(), Error> {
    if text.len() > CONTENT_BYTES_MAX {
        return Err(Flaw::ContentTooLarge(text.len()).into());
    }
    let applied = CONTENT.apply(text).map(drop);
    applied.map_err(|error| Flaw::Text { field: "content", error }.into())
}

#[cfg(test)]
mod tests {
    use super::check_content;

    #[test]
    fn content_is_counted_in_graphemes_and_not_only_white_space() {
        for good in ["x", "👩‍👩‍👧‍👦".repeat(280).as_str(), "か\u{3099}".repeat(280).as_str(), " a\n"]
        {
            assert!(check_content(good).is_ok(), "{good}");
        }
        let accents = format!("e{}", "\u{301}".repeat(8_200));
        let wide = format!("x{}", " ".repeat(17_000));
        for bad in ["", " \n\t", "\u{200b}", "あ".repeat(281).as_str(), &accents, &wide] {
            assert!(check_content(bad).is_err(), "{bad}");
        }
    }
}

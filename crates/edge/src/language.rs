//! The language of a page: what its address says (`?lang=ja`), what was chosen before, or what the
//! browser asks for.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};

use crate::cookies;

const COOKIE: &str = "lang";

/// Japanese in hiragana alone.
const HIRAGANA: &str = "ja-Hira";

/// A language that the pages speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English.
    En,
    /// Japanese.
    Ja,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 2] = [Language::Ja, Language::En];

    /// As HTML and browsers call it.
    pub fn tag(self) -> &'static str {
        match self {
            Language::En => "en",
            Language::Ja => "ja",
        }
    }

    /// What it calls itself.
    pub fn name(self) -> &'static str {
        match self {
            Language::En => "English",
            Language::Ja => "日本語",
        }
    }

    /// By its tag, whatever region stands behind it.
    fn tagged(tag: &str) -> Option<Language> {
        let word = tag.trim().split('-').next()?;
        Language::ALL.into_iter().find(|language| language.tag().eq_ignore_ascii_case(word))
    }

    /// The one that the browser asks for most; of equal wishes the first counts.
    pub(crate) fn wished<'h>(lines: impl IntoIterator<Item = &'h HeaderValue>) -> Option<Language> {
        let lines = lines
            .into_iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(','));
        let best = lines.filter_map(wish).reduce(|best, next| match next.1 > best.1 {
            true => next,
            false => best,
        });
        best.map(|(language, _)| language)
    }
}

/// A known language and how much it is wished for, in thousandths.
fn wish(part: &str) -> Option<(Language, u16)> {
    let (tag, weight) = part.split_once(';').unwrap_or((part, "q=1"));
    let weight: f32 = weight.trim().strip_prefix("q=")?.parse().ok()?;
    let language = Language::tagged(tag)?;
    (weight > 0.0).then_some((language, (weight.min(1.0) * 1_000.0) as u16))
}

/// Who reads a page. An extractor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// In which language.
    pub language: Language,
    /// Whether Japanese is written in hiragana alone (`ja-Hira`), where a page can do that.
    pub is_kana: bool,
    /// Whether it was chosen just now, and is to be remembered.
    is_choice: bool,
}

impl Reader {
    /// The language as HTML and browsers call it, with the way it is written.
    pub fn tag(self) -> &'static str {
        if self.is_kana { HIRAGANA } else { self.language.tag() }
    }

    /// The cookie by which a choice is remembered, if one was made.
    pub(crate) fn cookie(self) -> Option<HeaderValue> {
        let tag = self.tag();
        let cookie = format!("{COOKIE}={tag}; Path=/; Max-Age=31536000; SameSite=Lax");
        let cookie = HeaderValue::try_from(cookie).expect("a tag is a few letters");
        self.is_choice.then_some(cookie)
    }

    /// Who sends this with their request.
    pub(crate) fn of(query: &str, headers: &HeaderMap) -> Reader {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut said = pairs.filter(|(name, _)| *name == "lang");
        let written =
            |tag: &str| Some((Language::tagged(tag)?, tag.eq_ignore_ascii_case(HIRAGANA)));
        let chosen = said.next().and_then(|(_, tag)| written(tag));
        let kept = || written(cookies::find(headers, COOKIE)?);
        let wished = || Some((Language::wished(headers.get_all(header::ACCEPT_LANGUAGE))?, false));
        let (language, is_kana) =
            chosen.or_else(kept).or_else(wished).unwrap_or((Language::En, false));
        Reader { language, is_kana, is_choice: chosen.is_some() }
    }
}

impl<S: Sync> FromRequestParts<S> for Reader {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Reader, Infallible> {
        Ok(Reader::of(parts.uri.query().unwrap_or_default(), &parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

    use super::{Language, Reader};

    fn headers(lines: &[(HeaderName, &str)]) -> HeaderMap {
        let lines = lines.iter().map(|(name, value)| (name.clone(), *value));
        lines.map(|(name, value)| (name, HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn the_language_is_the_one_most_wished_for() {
        for (wish, tag) in [
            ("", "en"),
            ("ja", "ja"),
            ("ja-JP,ja;q=0.9,en;q=0.8", "ja"),
            ("en-US,en;q=0.9,ja;q=0.8", "en"),
            ("fr, ja;q=0.4, en;q=0.3", "ja"),
            ("en;q=0.1,ja;q=0.2", "ja"),
            ("ja;q=0,en;q=0.1", "en"),
            ("ja;q=0", "en"),
            ("*", "en"),
            ("JA", "ja"),
            (";;;,ja;q=x,,en", "en"),
            ("jav", "en"),
        ] {
            let reader = Reader::of("", &headers(&[(header::ACCEPT_LANGUAGE, wish)]));
            assert_eq!((reader.language.tag(), reader.is_choice), (tag, false), "{wish}");
        }
        assert_eq!(Reader::of("", &HeaderMap::new()).language, Language::En);
    }

    #[test]
    fn an_address_outweighs_a_choice_and_a_choice_the_browser() {
        let lines = [(header::ACCEPT_LANGUAGE, "en"), (header::COOKIE, "a=b; lang=ja")];
        let kept = headers(&lines);
        assert_eq!(Reader::of("", &kept).language, Language::Ja);
        assert_eq!(Reader::of("", &kept).cookie(), None);
        let chosen = Reader::of("x=1&lang=en", &kept);
        assert_eq!(chosen.language, Language::En);
        assert!(chosen.cookie().unwrap().to_str().unwrap().starts_with("lang=en; Path=/;"));
        assert_eq!(Reader::of("lang=fr", &kept).language, Language::Ja);
        assert_eq!(Reader::of("lang=%22%3E", &kept).cookie(), None);
        let kana = Reader::of("lang=ja-Hira", &kept);
        assert_eq!((kana.language, kana.is_kana, kana.tag()), (Language::Ja, true, "ja-Hira"));
        assert!(kana.cookie().unwrap().to_str().unwrap().starts_with("lang=ja-Hira;"));
        assert!(Reader::of("", &headers(&[(header::COOKIE, "lang=ja-Hira")])).is_kana);
        assert_eq!(Reader::of("lang=ja", &kept).tag(), "ja");
    }
}

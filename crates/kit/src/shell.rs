//! What stands around every page.

use edge::{Language, Page, Reader};
use maud::{DOCTYPE, Markup, html};
use serde::Serialize;

use crate::{Assets, desk};

/// A page without its content.
#[derive(Debug)]
pub struct Shell<'s, G> {
    /// Who reads it.
    pub reader: Reader,
    /// What the browser's tab says.
    pub title: &'s str,
    /// Where the house's name leads to.
    pub home: &'s str,
    /// Where its files are.
    pub assets: &'s Assets,
    /// The page's stylesheets, by their names.
    pub styles: &'s [&'s str],
    /// The module that makes the page live, by its name.
    pub module: &'s str,
    /// What the module needs to know. It is not run: modules read it as data.
    pub given: &'s G,
    /// Says what kind of page it is, to the stylesheet.
    pub class: &'s str,
    /// Whether the content fills the screen, without a header.
    pub is_bare: bool,
}

impl<G: Serialize> Shell<'_, G> {
    /// The page around `content`.
    ///
    /// # Panics
    /// What is given has no JSON form.
    pub fn around(&self, content: &Markup) -> Page {
        self.document(None, content)
    }

    /// The page around `content`, for the operator: with the side bar, the search, and the way out.
    /// `here` is the path of its entry in the side bar.
    ///
    /// # Panics
    /// What is given has no JSON form.
    pub fn desk(&self, here: &str, content: &Markup) -> Page {
        self.document(Some(here), content)
    }

    fn document(&self, desk: Option<&str>, content: &Markup) -> Page {
        let given = serde_json::to_string(self.given).expect("what is given has a JSON form");
        let document = html! {
            (DOCTYPE)
            html lang=(self.reader.tag()) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · Nagaya" }
                    link rel="icon" type="image/svg+xml" href=(self.assets.path("kit/icon.svg"));
                    link rel="stylesheet" href=(self.assets.path("kit/base.css"));
                    @for style in self.styles {
                        link rel="stylesheet" href=(self.assets.path(style));
                    }
                    script type="module" src=(self.assets.path(self.module)) {}
                    @if !self.is_bare {
                        script type="module" src=(self.assets.path("kit/language.js")) {}
                    }
                    @if desk.is_some() {
                        script type="module" src=(self.assets.path("kit/search.js")) {}
                    }
                }
                body .(self.class) .has-side[desk.is_some()] data-given=(given) {
                    @if self.is_bare {
                        main #content { (content) }
                    } @else {
                        a .skip href="#content" { (skip(self.reader)) }
                        @if let Some(here) = desk {
                            (desk::header(self.reader, &self.languages()))
                            (desk::side(self.reader, here))
                        } @else { (self.header()) }
                        main #content tabindex=[desk.map(|_| "-1")] { (content) }
                        @if desk.is_some() { (desk::search(self.reader)) }
                    }
                }
            }
        };
        Page::new(document).with_reader(self.reader)
    }

    fn header(&self) -> Markup {
        html! {
            header .house {
                a .brand href=(self.home) { "長屋" span { "Nagaya" } }
                nav { (self.languages()) }
            }
        }
    }

    /// The ways to the other languages.
    fn languages(&self) -> Markup {
        let others = Language::ALL.into_iter().filter(|other| *other != self.reader.language);
        html! {
            @for other in others {
                a href={ "?lang=" (other.tag()) } lang=(other.tag()) hreflang=(other.tag()) {
                    (other.name())
                }
            }
        }
    }
}

fn skip(reader: Reader) -> &'static str {
    match reader.language {
        Language::En => "Skip to the content",
        Language::Ja if reader.is_kana => "なかみへ すすむ",
        Language::Ja => "本文へ移動",
    }
}

//! A rendered page in which only the base address is open. A cache by address would be one by the
//! `Host` header: a stranger could fill it.

use axum::http::HeaderValue;
use maud::{Markup, PreEscaped};

use crate::tagged::fingerprint;

/// Stands for the base address. Texts do not have it: it is not a character.
const BASE: &str = "\u{FFFF}";

pub(super) struct Template {
    html: String,
    fingerprint: String,
}

impl Template {
    /// Renders a page for any base address.
    pub(super) fn new(render: impl FnOnce(&str) -> Markup) -> Template {
        let html = render(BASE).into_string();
        let fingerprint = fingerprint(html.as_bytes());
        Template { html, fingerprint }
    }

    /// The strong tag of the page under a base address.
    pub(super) fn tag(&self, base: &str) -> HeaderValue {
        let tag = format!("\"{}-{}\"", self.fingerprint, fingerprint(base.as_bytes()));
        HeaderValue::try_from(tag).expect("hexadecimal digits fit a header")
    }

    /// The page under a base address. An [`Address`](crate::Address) has no letter that HTML or a
    /// shell would read as its own, so it is not escaped again.
    pub(super) fn markup(&self, base: &str) -> Markup {
        PreEscaped(self.html.replace(BASE, base))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use maud::html;

    use super::Template;

    #[test]
    fn one_rendering_serves_every_address() {
        let renderings = Cell::new(0);
        let template = Template::new(|base| {
            renderings.set(renderings.get() + 1);
            html! { p { (base) " & " (base) } }
        });
        for address in ["http://a", "https://[::1]:8080"] {
            let wanted = format!("<p>{address} &amp; {address}</p>");
            assert_eq!(template.markup(address).into_string(), wanted);
        }
        assert_eq!(renderings.get(), 1);
    }

    #[test]
    fn the_tag_is_that_of_the_page_and_the_address() {
        let template = |text: &str| Template::new(|base| html! { (base) (text) });
        assert_eq!(template("x").tag("http://a"), template("x").tag("http://a"));
        assert_ne!(template("x").tag("http://a"), template("x").tag("http://b"));
        assert_ne!(template("x").tag("http://a"), template("y").tag("http://a"));
    }
}

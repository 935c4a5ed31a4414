//! The page for pupils: whether their device reaches the server, and what their editor needs. It
//! holds no secret: the key stands behind `#` in the address, where only the browser sees it.

use maud::{Markup, html};

use super::JOIN;
use super::class::fact;
use super::entry::Entry;
use super::words::Words;

pub(super) fn render(words: &Words, entry: &Entry) -> Markup {
    let (join, way) = (&words.join, &words.way);
    html! {
        div .stack {
            div .row .spread {
                div { h1 { (join.title) } p .lead { (join.lead) } }
                @for (tag, name) in words.scripts {
                    a .button .small href={ (JOIN) "?lang=" (tag) } lang=(tag) data-keeps-key {
                        (name)
                    }
                }
            }
            p .notice #reach role="status" { (join.without_script) }
            form .card .scripted #asks-key hidden {
                label for="typed" { (join.key) }
                div .row { input #typed autocomplete="off" spellcheck="false" maxlength="200";
                    button .primary { (join.use_key) } }
            }
            section .card {
                h2 { (join.steps_title) }
                ol .steps { @for step in join.steps { li { (step) } } }
                dl .facts {
                    (fact(way.endpoint, &entry.endpoint(), "endpoint", way.copy_endpoint))
                    (fact(way.key, "–", "key", way.copy_key))
                }
            }
            section .card .scripted #open hidden {
                h2 { (join.groups) }
                ul #open-groups .plain {}
                p .hint #no-groups { (join.no_groups) }
            }
        }
        template #open-group { li data-slot="name" {} }
    }
}

//! Small drawings of 24 by 24, in the colour of the text around them.

use maud::{Markup, html};

/// A drawing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Icon {
    House,
    Bell,
    Person,
    Lens,
    Heart,
    Bin,
}

/// The drawing, silent: the text beside it says what it means.
pub(super) fn icon(icon: Icon) -> Markup {
    let path = match icon {
        Icon::House => "M3 11.5 12 4l9 7.5M6 9.5V20h12V9.5M10 20v-6h4v6",
        Icon::Bell => "M6 17V11a6 6 0 0 1 12 0v6l1.5 2h-15zM10 21.5h4",
        Icon::Person => "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c1-4 4-6 7.5-6s6.5 2 7.5 6",
        Icon::Lens => "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 21 21",
        Icon::Heart => {
            "M12 20C5 15 3 11.5 3 8.5A4.7 4.7 0 0 1 12 7a4.7 4.7 0 0 1 9 1.5c0 3-2 6.5-9 11.5z"
        }
        Icon::Bin => "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5.5M14 11v5.5",
    };
    html! {
        svg .icon viewBox="0 0 24 24" aria-hidden="true" { path d=(path) {} }
    }
}

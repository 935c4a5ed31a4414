//! QR codes as markup: one path, dark on light whatever the theme, because scanners want that.

use std::fmt::Write as _;

use maud::{Markup, html};
use qrcode::{Color, QrCode};

/// Light modules around the code, as the standard asks for.
const QUIET: usize = 4;

/// A QR code for `text`, described to who cannot see it by `label`; nothing if `text` is too long
/// for one.
pub fn qr(text: &str, label: &str) -> Markup {
    let Ok(code) = QrCode::new(text) else { return html! {} };
    let width = code.width();
    let mut path = String::new();
    for (index, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            let (x, y) = (index % width + QUIET, index / width + QUIET);
            let _ = write!(path, "M{x} {y}h1v1h-1z");
        }
    }
    let side = width + 2 * QUIET;
    html! {
        svg .qr viewBox={ "0 0 " (side) " " (side) } role="img" aria-label=(label)
            shape-rendering="crispEdges" {
            rect width=(side) height=(side) fill="#fff" {}
            path d=(path) fill="#000" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::qr;

    #[test]
    fn a_code_has_its_three_eyes_and_a_margin() {
        let svg = qr("https://example.org/live/r/K7MPQ2", "join").into_string();
        assert!(svg.contains("viewBox=\"0 0 37 37\""), "{svg}");
        for corner in ["M4 4h", "M32 4h", "M4 32h"] {
            assert!(svg.contains(corner), "{corner}");
        }
        assert!(!svg.contains("M3 "), "the margin is light");
    }

    #[test]
    fn a_text_too_long_for_a_code_has_none() {
        assert_eq!(qr(&"x".repeat(5_000), "join").into_string(), "");
    }
}

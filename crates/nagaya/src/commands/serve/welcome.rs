//! The box that a house prints when it is open: where it is, what lives where, and what somebody
//! needs in the first minute. Lines have no sides, so that they can be copied whole.

use std::io::IsTerminal;

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

use crate::commands::counted;
use crate::store::Store;
use crate::{Error, House, Settings};

/// As wide as a terminal usually is.
const WIDTH: usize = 80;

/// What lives where, as far as a first minute goes.
const ROOMS: [(&str, &str); 6] = [
    ("mesh", "/mesh/class; POST /mesh/graphql, sockets on /mesh/graphql/realtime"),
    ("sns", "/sns, and for programs /sns/v1"),
    ("live", "/live"),
    ("collect", "/collect"),
    ("score", "/score"),
    ("console", "/console, and every interface on /openapi"),
];

/// The box of this house. `ways` are where a demonstration is looked at, by their names.
pub(super) async fn render(
    house: &House,
    settings: &Settings,
    ways: &[(&str, String)],
) -> Result<String, Error> {
    let (tables, items) = house.contents().await?;
    let mut lines = vec![line("address", &house.url())];
    lines.extend(ROOMS.map(|(room, place)| line(room, place)));
    lines.extend(house.dynamodb_url().map(|url| line("dynamodb", &url)));
    lines.push(line("mesh key", house.mesh_key()));
    lines.push(line("data", &Store::place(settings)));
    if let Some(link) = house.setup_link() {
        lines.push(line("set up", link));
        // In a log it would be noise.
        if std::io::stdout().is_terminal() {
            lines.extend(drawn(link));
        }
    }
    let url = house.url();
    lines.extend(ways.iter().map(|(name, path)| line(name, &format!("{url}{path}"))));
    let holds = format!("{}, {}", counted(tables, "table"), counted(items, "item"));
    lines.push(line("holds", &holds));
    let title = format!("── Nagaya {} is open ", env!("CARGO_PKG_VERSION"));
    let rest = WIDTH.saturating_sub(title.chars().count());
    Ok(format!("{title}{}\n{}{}\n", "─".repeat(rest), lines.concat(), "─".repeat(WIDTH)))
}

fn line(name: &str, value: &str) -> String {
    format!("  {name:<8} {value}\n")
}

/// A QR code of `text` for a telephone: black on white whatever the terminal's colours are. Nothing
/// if the text is too long for one.
fn drawn(text: &str) -> Option<String> {
    let code = QrCode::new(text).ok()?;
    let picture = code.render::<Dense1x2>().build();
    let lines = picture.lines().map(|line| format!("  \x1b[38;5;16;48;5;231m{line}\x1b[0m\n"));
    Some(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::{drawn, line};

    #[test]
    fn names_stand_in_one_column() {
        assert_eq!(line("sns", "/sns/v1"), "  sns      /sns/v1\n");
        assert_eq!(line("mesh key", "da2-x"), "  mesh key da2-x\n");
    }

    #[test]
    fn a_code_is_square_with_a_margin_in_black_on_white() {
        let code = drawn("http://127.0.0.1:8080/console/setup?token=0123456789").unwrap();
        let rows: Vec<&str> = code.lines().collect();
        let widths: Vec<usize> = rows.iter().map(|row| row.chars().count()).collect();
        assert!(widths.iter().all(|width| Some(width) == widths.first()), "{widths:?}");
        // Two rows of modules in a line, and the signs for the colours around it.
        let modules = widths[0] - "  \x1b[38;5;16;48;5;231m\x1b[0m".chars().count();
        assert_eq!(rows.len(), modules.div_ceil(2));
        assert!(rows[0].contains("    "), "the margin is light: {}", rows[0]);
        assert_eq!(drawn(&"x".repeat(5_000)), None);
    }
}

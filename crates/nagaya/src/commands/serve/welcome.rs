//! The box that a house prints when it is open: where people find it, what lives where, and what
//! somebody needs in the first minute. Lines have no sides, so that they can be copied whole.
//!
//! On a terminal it stays at the bottom (`screen.rs`), so it is short. A QR code of the set-up link
//! comes before it, where there is room for both and where a telephone would reach the address.

use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

use crate::commands::{counted, print};
use crate::screen::{Screen, Size, rows_of};
use crate::store::Store;
use crate::{Error, House, Settings};

/// As wide as a terminal usually is.
const WIDTH: usize = 80;

/// What lives where, as far as a first minute goes.
const ROOMS: [(&str, &str); 2] = [
    ("rooms", "/mesh/class  /sns  /live  /collect  /score"),
    ("console", "/console, and every interface on /openapi"),
];

/// Further addresses that are shown: more are those of virtual machines.
const FURTHER_MAX: usize = 2;

/// Prints the box of this house. `ways` are where a demonstration is looked at, by their names.
pub(super) async fn show(
    house: &House,
    settings: &Settings,
    ways: &[(&str, String)],
    screen: Option<&Screen>,
) -> Result<(), Error> {
    let text = render(house, settings, ways, house.setup_link()).await?;
    let Some(screen) = screen else { return print(&text) };
    let link = house.setup_link().filter(|_| !house.reach().shared_urls().is_empty());
    if let Some(code) = link.and_then(drawn).filter(|code| has_room(code, &text, screen.size())) {
        print(&code)?;
    }
    screen.pin(&text).map_err(Error::system("cannot write to standard output"))
}

/// Takes the set-up link from the box of a screen when somebody has used it.
pub(super) async fn follow(
    house: &House,
    settings: &Settings,
    ways: &[(&str, String)],
    screen: Option<&Screen>,
) -> Result<(), Error> {
    if let (Some(screen), Some(_)) = (screen, house.setup_link()) {
        house.set_up().await;
        let text = render(house, settings, ways, None).await?;
        screen.replace_pinned(&text).map_err(Error::system("cannot write to standard output"))?;
    }
    Ok(())
}

async fn render(
    house: &House,
    settings: &Settings,
    ways: &[(&str, String)],
    setup_link: Option<&str>,
) -> Result<String, Error> {
    let (tables, items) = house.contents().await?;
    let url = house.url();
    let mut lines = vec![line("address", &url)];
    lines.extend(network(house, settings));
    lines.extend(ROOMS.map(|(room, place)| line(room, place)));
    lines.extend(house.dynamodb_url().map(|url| line("dynamodb", &url)));
    lines.push(line("mesh key", house.mesh_key()));
    lines.push(line("data", &Store::place(settings)));
    lines.extend(setup_link.map(|link| line("set up", link)));
    lines.extend(ways.iter().map(|(name, path)| line(name, &format!("{url}{path}"))));
    let holds = format!("{}, {}", counted(tables, "table"), counted(items, "item"));
    lines.push(line("holds", &holds));
    let title = format!("── Nagaya {} is open ", env!("CARGO_PKG_VERSION"));
    let rest = WIDTH.saturating_sub(title.chars().count());
    Ok(format!("{title}{}\n{}{}\n", "─".repeat(rest), lines.concat(), "─".repeat(WIDTH)))
}

/// Who reaches the house beside this machine, and how others would.
fn network(house: &House, settings: &Settings) -> Vec<String> {
    let (reach, is_named) = (house.reach(), settings.http.public_url.get().is_some());
    match reach.shared_urls().as_slice() {
        _ if is_named => Vec::new(),
        [] if reach.is_local() => {
            let port = house.address().port();
            let how = format!("this machine only; `--http-listen :{port}` opens it to the network");
            vec![line("network", &how)]
        }
        [] => vec![line("network", "this machine has no address that others reach")],
        [_, further @ ..] => {
            further.iter().take(FURTHER_MAX).map(|url| line("also", url)).collect()
        }
    }
}

fn line(name: &str, value: &str) -> String {
    format!("  {name:<8} {value}\n")
}

/// Whether the terminal shows the code and the box at once.
fn has_room(code: &str, text: &str, size: Size) -> bool {
    let rows: usize = text.lines().map(|line| rows_of(line, size.columns)).sum();
    rows + code.lines().count() < size.rows
}

/// A QR code of `text` for a telephone: black on white whatever the terminal's colours are. Nothing
/// if the text is too long for one.
fn drawn(text: &str) -> Option<String> {
    // A screen loses no part of a code, so it needs little redundancy and stays small.
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let picture = code.render::<Dense1x2>().build();
    let lines = picture.lines().map(|line| format!("  \x1b[38;5;16;48;5;231m{line}\x1b[0m\n"));
    Some(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::{drawn, has_room, line};
    use crate::screen::Size;

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

    #[test]
    fn a_code_is_drawn_where_the_box_stays_in_view() {
        let size = |rows| Size { columns: 80, rows };
        assert!(has_room("1\n2\n", "3\n4\n", size(5)));
        assert!(!has_room("1\n2\n", "3\n4\n", size(4)), "the cursor has a row of its own");
    }
}

//! A terminal that people look at: the box of the house stays at the bottom, and above it stands a
//! short line for each request and for whatever else the house reports.
//!
//! Where standard output or standard error leads anywhere else, there is no screen, and the log is
//! written for programs (`log.rs`). What is no news on a screen is in `screen/requests.rs`.
//!
//! - **Invariant:** whatever is printed after the box stands above it, and the box is whole, as long
//!   as the terminal has room for both.

mod requests;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use base::Clock;
use parking_lot::Mutex;
use rustix::termios::tcgetwinsize;

pub(crate) use self::requests::Request;
use self::requests::{Requests, Shown};

/// Lines of the terminal that the box leaves for what happens.
const LINES_LEFT: usize = 4;

/// Columns of a terminal that does not tell its size.
const USUAL_SIZE: Size = Size { columns: 80, rows: 24 };

const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// What a terminal shows at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// The terminal. Clones are the same.
#[derive(Clone)]
pub(crate) struct Screen {
    shared: Arc<Mutex<State>>,
    has_color: bool,
}

struct State {
    /// The box, which stands below everything else.
    pinned: Option<String>,
    requests: Requests,
}

impl Screen {
    /// The screen of this process, if people look at it.
    pub(crate) fn find(environment: &[(OsString, OsString)]) -> Option<Screen> {
        let value = |name: &str| {
            environment.iter().find(|(known, _)| known == name).map(|(_, value)| value)
        };
        let is_dumb = value("TERM").is_some_and(|term| term == "dumb");
        let is_seen = io::stdout().is_terminal() && io::stderr().is_terminal();
        if !is_seen || is_dumb {
            return None;
        }
        let has_color = value("NO_COLOR").is_none_or(|text| text.is_empty());
        let state = State { pinned: None, requests: Requests::new(Clock::real()) };
        Some(Screen { shared: Arc::new(Mutex::new(state)), has_color })
    }

    /// How much it shows at once.
    pub(crate) fn size(&self) -> Size {
        let size = tcgetwinsize(io::stdout()).ok();
        let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
        size.map_or(USUAL_SIZE, |size| Size {
            columns: size.ws_col.into(),
            rows: size.ws_row.into(),
        })
    }

    /// Prints the box, which stays below what is printed later.
    pub(crate) fn pin(&self, text: &str) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.pinned = Some(text.to_owned());
        write(text)
    }

    /// Prints another box in the place of the one that is there.
    pub(crate) fn replace_pinned(&self, text: &str) -> io::Result<()> {
        let mut state = self.shared.lock();
        let before = state.pinned.replace(text.to_owned()).unwrap_or_default();
        let erased = erase(&before, self.size()).unwrap_or_default();
        write(&format!("{erased}{text}"))
    }

    /// Lets the box scroll away: what comes now is the end.
    pub(crate) fn unpin(&self) {
        self.shared.lock().pinned = None;
    }

    /// Prints a line of the log.
    pub(crate) fn log(&self, level: tracing::Level, text: &str) {
        let (color, word) = match level {
            tracing::Level::ERROR => (RED, "error  "),
            tracing::Level::WARN => (YELLOW, "warning  "),
            tracing::Level::INFO => ("", ""),
            tracing::Level::DEBUG | tracing::Level::TRACE => (DIM, ""),
        };
        let line = self.colored(color, &format!("{word}{text}"));
        self.line(&self.shared.lock(), &line);
    }

    /// Prints a line for a request, if it is news.
    pub(crate) fn request(&self, request: &Request) {
        let mut state = self.shared.lock();
        match state.requests.take(request) {
            Shown::No => {}
            Shown::Line { left_out } => {
                if left_out > 0 {
                    let more = format!("… and {left_out} more requests");
                    self.line(&state, &self.colored(DIM, &more));
                }
                let color = match request.status {
                    Some(500..) => RED,
                    Some(400..) => YELLOW,
                    Some(_) | None => "",
                };
                let line = request.line(self.size().columns);
                self.line(&state, &self.colored(color, &line));
            }
        }
    }

    fn colored(&self, color: &str, text: &str) -> String {
        match self.has_color && !color.is_empty() {
            true => format!("{color}{text}{PLAIN}"),
            false => text.to_owned(),
        }
    }

    /// A line above the box. The state is passed because it is locked: lines come one by one.
    fn line(&self, state: &State, line: &str) {
        let text = match &state.pinned {
            None => format!("{line}\n"),
            Some(pinned) => above(pinned, line, self.size()),
        };
        // A terminal that is gone is noticed elsewhere; the house does not end for it.
        let _written = write(&text);
    }
}

/// What prints `line` above the box that ends where the cursor stands.
fn above(pinned: &str, line: &str, size: Size) -> String {
    match erase(pinned, size) {
        Some(erased) => format!("{erased}{line}\n{pinned}"),
        None => format!("{line}\n"),
    }
}

/// What erases the box that ends where the cursor stands; nothing if the terminal has no room for it
/// and a few lines.
fn erase(pinned: &str, size: Size) -> Option<String> {
    let rows: usize = pinned.lines().map(|line| rows_of(line, size.columns)).sum();
    // To the beginning of the box, and everything from there on away.
    (rows + LINES_LEFT <= size.rows).then(|| format!("\r\x1b[{rows}A\x1b[J"))
}

/// How many rows of the terminal a line takes.
pub(crate) fn rows_of(line: &str, columns: usize) -> usize {
    let width: usize = line.chars().map(width_of).sum();
    width.div_ceil(columns.max(1)).max(1)
}

/// Columns of a character: those of Chinese, Japanese and Korean scripts take two. Only names in the
/// path of the data can be such.
fn width_of(character: char) -> usize {
    let is_wide = matches!(u32::from(character),
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f
        | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd);
    if is_wide { 2 } else { 1 }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::{Size, above, rows_of};

    #[test]
    fn a_line_takes_the_rows_that_it_is_wrapped_to() {
        for (line, rows) in [("", 1), ("1234", 1), ("12345", 2), ("長屋", 1), ("長屋だ", 2)] {
            assert_eq!(rows_of(line, 4), rows, "{line}");
        }
        assert_eq!(rows_of("1", 0), 1);
    }

    #[test]
    fn a_line_stands_above_the_box_if_there_is_room_for_both() {
        let size = Size { columns: 10, rows: 7 };
        let printed = above("a\n12345678901\n", "GET /", size);
        assert_eq!(printed, "\r\x1b[3A\x1b[JGET /\na\n12345678901\n");
        assert_eq!(above("a\nb\nc\nd\n", "GET /", size), "GET /\n");
    }
}

//! The first minute of somebody who has only the program: a terminal, a browser, and what both show.

use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;

use testkit::Program;
use testkit::program::{read, run};
use testkit::wait;

use crate::stage::browse_at;

/// Rows that the box may take of the smallest terminal, whose others are for what happens.
const BOX_ROWS_MAX: usize = 15;

/// What the shell in the terminal prints after the program, with the exit code.
const ENDED: &str = "the program ended with";

/// A terminal in which the program runs, with nothing inherited. Ended when dropped.
struct Terminal {
    socket: PathBuf,
    columns: usize,
}

impl Terminal {
    /// Starts the program as people do, on a free port.
    #[track_caller]
    fn open(program: &Program, columns: usize, rows: usize, more: &str) -> Terminal {
        let socket = program.directory().join(format!("terminal-{columns}-{rows}"));
        let terminal = Terminal { socket, columns };
        // The shell says how the program ended: tmux may take its time to notice. Ctrl-C reaches both.
        let house = format!(
            "trap : INT; {} {more}; echo \"{ENDED} $?\"; exec sleep infinity",
            env!("CARGO_BIN_EXE_nagaya")
        );
        let (columns, rows) = (columns.to_string(), rows.to_string());
        terminal.ask(&[
            "start-server",
            ";",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            "-c",
            program.directory().to_str().unwrap(),
            &house,
        ]);
        terminal
    }

    /// Runs tmux to its end; what it prints.
    #[track_caller]
    fn ask(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C.UTF-8");
        // No settings of whoever runs the tests.
        tmux.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket).args(arguments);
        let (code, out, error) = run(&mut tmux);
        assert_eq!(code, 0, "{arguments:?}: {error} (`cargo xtask test tools` installs tmux)");
        out
    }

    /// The rows that are in view.
    #[track_caller]
    fn rows(&self) -> Vec<String> {
        self.ask(&["capture-pane", "-p"]).lines().map(str::to_owned).collect()
    }

    /// The rows once they hold a text.
    #[track_caller]
    fn rows_with(&self, text: &str) -> Vec<String> {
        wait::until(&format!("`{text}` on the terminal"), || {
            let rows = self.rows();
            match rows.iter().any(|row| row.contains(text)) {
                true => Ok(rows),
                false => Err(rows.join("\n")),
            }
        })
    }

    /// What the box names so, also if it takes several rows.
    #[track_caller]
    fn named(&self, name: &str) -> String {
        let joined = self.ask(&["capture-pane", "-p", "-J"]);
        let named = joined.lines().find_map(|line| line.strip_prefix(&format!("  {name:<8} ")));
        named.unwrap_or_else(|| panic!("no {name}:\n{joined}")).trim_end().to_owned()
    }

    /// The rows above the box, which is whole and stands at the end. While it is drawn anew it may not
    /// be, so this waits.
    #[track_caller]
    fn above_the_box(&self) -> Vec<String> {
        wait::until("the box at the end of the terminal", || find_above(self.rows(), true))
    }

    /// Presses Ctrl-C and waits for the end; the exit code, and what is in view then.
    #[track_caller]
    fn close(&self) -> (String, String) {
        self.ask(&["send-keys", "C-c"]);
        wait::until("the end of the house", || {
            let rows = self.rows();
            // The terminal may show the keys that were pressed in front of it.
            match rows.iter().find_map(|row| row.split_once(ENDED)) {
                Some((_, code)) => Ok((code.trim().to_owned(), rows.join("\n"))),
                None => Err(rows.join("\n")),
            }
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut kill = Command::new("tmux");
        let _killed = kill.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

/// The rows above the box, or why it is not whole.
fn find_above(mut rows: Vec<String>, is_new: bool) -> Result<Vec<String>, String> {
    while rows.last().is_some_and(|row| row.trim().is_empty()) {
        rows.pop();
    }
    let shown = rows.join("\n");
    let top = rows.iter().position(|row| row.starts_with("── Nagaya "));
    let Some(top) = top else { return Err(format!("no top:\n{shown}")) };
    if !rows.last().is_some_and(|row| row.starts_with("────")) {
        return Err(format!("no end:\n{shown}"));
    }
    if rows.len() - top > BOX_ROWS_MAX {
        return Err(format!("it is large:\n{shown}"));
    }
    let named = ["address", "rooms", "mesh key", "data", "holds"].map(|name| (name, 1));
    // The link works once, and is not shown afterwards.
    for (name, count) in named.into_iter().chain([("set up", usize::from(is_new))]) {
        let begins = format!("  {name:<8} ");
        if rows.iter().skip(top).filter(|row| row.starts_with(&begins)).count() != count {
            return Err(format!("{name} is not there {count} times:\n{shown}"));
        }
    }
    rows.truncate(top);
    Ok(rows)
}

/// One GET by a client with a name.
#[track_caller]
fn get(url: &str, path: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = "user-agent: Mozilla/5.0\r\naccept: text/html\r\nconnection: close";
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\n{head}\r\n\r\n").unwrap();
    read(stream)
}

#[test]
fn the_box_stays_in_view_and_requests_are_short_lines_above_it() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let program = testkit::program!();
        let terminal = Terminal::open(&program, columns, rows, "--http-listen localhost:0");
        terminal.rows_with("  holds  ");
        assert_eq!(terminal.above_the_box(), [""; 0], "nothing else is printed at a start");
        let url = terminal.named("address");
        assert!(terminal.named("set up").starts_with(&format!("{url}/console/setup?token=")));
        for path in ["/readyz", "/favicon.ico", "/live", "/mesh/class/state", "/nothing", "/live"] {
            get(&url, path);
        }
        terminal.rows_with("/nothing");
        let above = terminal.above_the_box();
        let words = |row: &String| -> Vec<String> {
            row.split_whitespace().take(3).map(str::to_owned).collect()
        };
        let lines: Vec<Vec<String>> = above.iter().map(words).collect();
        assert_eq!(lines, [["GET", "/live", "200"], ["GET", "/nothing", "404"]], "{above:#?}");
        assert!(above.iter().all(|row| row.chars().count() <= terminal.columns), "{above:#?}");
        // More than the terminal has rows for: the first lines scroll away, the box does not.
        let mut pages = 0_u32..;
        wait::until("lines that scroll", || {
            get(&url, &format!("/nothing/{}", pages.next().expect("numbers do not end")));
            let above = terminal.above_the_box();
            wait::holds(!above.iter().any(|row| row.contains("/live")), "room for all")
        });
        terminal.above_the_box();
        let (code, shown) = terminal.close();
        assert_eq!(code, "0", "{shown}");
        assert!(shown.contains("closed"), "{shown}");
    }
}

#[test]
fn a_log_in_a_pipe_is_for_programs() {
    let program = testkit::program!();
    let more = "--http-listen localhost:0 2> log.json";
    let terminal = Terminal::open(&program, 80, 24, more);
    terminal.rows_with("  holds  ");
    let url = terminal.named("address");
    get(&url, "/live");
    let log = wait::until("a line of the log", || {
        let log = std::fs::read_to_string(program.directory().join("log.json")).unwrap();
        if log.contains("\"/live\"") { Ok(log) } else { Err(log) }
    });
    let line: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!((&line["target"], &line["status"]), (&"access".into(), &200.into()));
    assert!(!terminal.rows().iter().any(|row| row.starts_with("GET")), "it is in the log alone");
    assert_eq!(terminal.close().0, "0");
}

#[test]
fn from_the_program_to_a_success_in_each_room_by_what_the_screen_offers() {
    let program = testkit::program!();
    let terminal = Terminal::open(&program, 120, 40, "--http-listen localhost:0");
    terminal.rows_with("  holds  ");
    let (url, link, key) =
        (terminal.named("address"), terminal.named("set up"), terminal.named("mesh key"));
    let given = [("NAGAYA_LINK", link.as_str()), ("NAGAYA_MESH_KEY", key.as_str())];
    browse_at("first_minute.mjs", &url, &given);
    let above = wait::until("a box without the used link", || find_above(terminal.rows(), false));
    assert!(above.iter().any(|row| row.starts_with("PUT    /score/scores/")), "{above:#?}");
    let is_calm = |row: &String| !row.contains("/assets/") && !row.contains('{');
    assert!(above.iter().all(is_calm), "{above:#?}");
    let (code, shown) = terminal.close();
    assert_eq!(code, "0", "{shown}");
}

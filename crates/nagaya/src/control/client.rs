//! The command line's side: opens the store itself, or asks the house that has it open.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::{Clock, Random, Tasks};
use table::{Backend, Embedded, Turn};
use tokio::sync::mpsc;

use super::orders::Order;
use super::{Address, End, OpenAddress, lines};
use crate::commands::progress::Progress;
use crate::store::{self, Desk, InputLine, LINES_WAITING, Request, Said, Store};
use crate::{Error, Settings};

/// How long a store that is in use may be out of reach: a house is about to open or to end.
/// Commands before this one are waited for without a limit, because nobody knows what they do.
const REACH: Duration = Duration::from_secs(5);

/// Between two tries to reach it.
const RETRY: Duration = Duration::from_millis(50);

/// Tasks of a store that was opened for one command have this long to stop.
const TASKS_STOP: Duration = Duration::from_secs(10);

/// Where no bar can be shown, a word about the work is said every so many items.
const NOTE_ITEMS: u64 = 10_000;

/// Does what is asked where the store is: here, or in the house that has it open.
///
/// # Errors
/// It could not be done, or not all of it.
pub(crate) fn ask(
    settings: &Settings,
    request: Request,
    input: Option<Input>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("cannot start the runtime"))?;
    let done = take_turn(settings).and_then(|turn| {
        runtime.block_on(reach(turn, settings, &Clock::real(), request, input, terminal))
    });
    // A thread that waits for input which nobody needs any more is not waited for.
    runtime.shutdown_background();
    terminal.finish(done)
}

async fn reach(
    turn: Option<Turn>,
    settings: &Settings,
    clock: &Clock,
    request: Request,
    input: Option<Input>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let path = &settings.store.path;
    let (tasks, began) = (Tasks::new(), clock.instant());
    loop {
        let in_use = match Store::open(settings, clock, &Random::from_os(), &tasks).await {
            Ok(store) => {
                let done = here(&store, clock, request, input, terminal).await;
                let stopped = tasks.finish(clock, TASKS_STOP).await.map_err(Error::Tasks);
                let closed = store.engine().map_or(Ok(()), Embedded::close);
                return done.and(stopped).and(closed.map_err(Error::Store));
            }
            Err(Error::Store(in_use @ table::Error::InUse(_))) => in_use,
            Err(error) => return Err(error),
        };
        match connect(path) {
            Ok(stream) => {
                drop(turn);
                return there(stream, &request, input, terminal);
            }
            Err(cause) if clock.instant().since(began) >= REACH => {
                return Err(Error::Unreachable { in_use, cause });
            }
            Err(_) => clock.sleep(RETRY).await,
        }
    }
}

/// Waits until it is this command's turn, as far as commands open the store themselves.
fn take_turn(settings: &Settings) -> Result<Option<Turn>, Error> {
    let path = &settings.store.path;
    if settings.store.backend != Backend::Embedded {
        return Ok(None);
    }
    if !Embedded::is_at(path) {
        return Err(Error::NoHouse(path.clone()));
    }
    let noting = || eprintln!("waiting for another command to finish");
    Embedded::take_turn(path, noting).map(Some).map_err(Error::Store)
}

/// Where the house is that has this directory open; none if none has, or if it does not say.
pub(crate) fn find_open(directory: &Path) -> Option<OpenAddress> {
    let mut stream = connect(directory).ok()?;
    stream.set_read_timeout(Some(REACH)).ok()?;
    let order = serde_json::to_string(&Order::Address).expect("an order is JSON");
    writeln!(stream, "{order}").ok()?;
    stream.shutdown(Shutdown::Write).ok()?;
    let line = lines::next_blocking(&mut BufReader::new(stream)).ok()??;
    serde_json::from_str(line.strip_prefix("> ")?).ok()
}

fn connect(directory: &Path) -> io::Result<UnixStream> {
    let address = Address::of(directory)?;
    UnixStream::connect(&address.path)
}

/// In this process, on a store that it has opened.
async fn here(
    store: &Store,
    clock: &Clock,
    request: Request,
    input: Option<Input>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let (feed, lines) = mpsc::channel(LINES_WAITING);
    let (output, said) = mpsc::channel(LINES_WAITING);
    if let Some(input) = input {
        tokio::task::spawn_blocking(move || input.feed(&feed));
    }
    let engine = store.engine().cloned();
    let desk = Desk {
        store: store.tables(),
        clock: clock.clone(),
        url: None,
        ears: None,
        // In DynamoDB all tables stay.
        stays_open: engine.is_none(),
        engine,
        input: lines,
        output,
    };
    let (done, printed) = tokio::join!(store::run(desk, request), terminal.print(said));
    printed.and(done)
}

/// In the house at the other end.
fn there(
    stream: UnixStream,
    request: &Request,
    input: Option<Input>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let mut sender = stream.try_clone().map_err(Error::system("cannot reach the house"))?;
    let request = serde_json::to_string(request).expect("a request always has a JSON form");
    // Sent beside the reading: a house that has enough stops listening and says why.
    let sending = std::thread::spawn(move || {
        let sent = match writeln!(sender, "{request}") {
            Ok(()) => input.map_or(Ok(()), |input| input.send(&mut sender)),
            Err(_) => Ok(()),
        };
        // Without it the house would wait for more. It fails when the house has gone, which shows
        // in what comes back.
        let _ = sender.shutdown(Shutdown::Write);
        sent
    });
    let mut answers = BufReader::new(stream);
    loop {
        if answers.buffer().is_empty() {
            terminal.flush()?;
        }
        let line = match lines::next_blocking(&mut answers) {
            Ok(Some(line)) => line,
            Ok(None) | Err(_) => return Err(Error::HouseGone),
        };
        match line.split_at_checked(2) {
            Some(("> ", text)) => terminal.say(&Said::Line(text.to_owned()))?,
            Some(("! ", text)) => terminal.say(&Said::Note(text.to_owned()))?,
            Some(("~ ", far)) => {
                let (done, of) = serde_json::from_str(far).map_err(|_| Error::HouseGone)?;
                terminal.say(&Said::Progress { done, of })?;
            }
            Some(("= ", end)) => {
                let End { code, message } =
                    serde_json::from_str(end).map_err(|_| Error::HouseGone)?;
                if code != 0 {
                    return Err(Error::House { message, code });
                }
                // The house took the end of the input for its end; only the sender knows better.
                return sending.join().unwrap_or(Err(Error::HouseGone));
            }
            Some(_) | None => return Err(Error::HouseGone),
        }
    }
}

/// Where lines come from.
pub(crate) struct Input {
    reader: Box<dyn BufRead + Send>,
}

impl Input {
    /// A file, or standard input.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn open(path: Option<&Path>) -> Result<Input, Error> {
        let reader: Box<dyn BufRead + Send> = match path {
            None => Box::new(BufReader::new(io::stdin())),
            Some(path) => Box::new(BufReader::new(
                File::open(path).map_err(|cause| Error::File { path: path.to_owned(), cause })?,
            )),
        };
        Ok(Input { reader })
    }

    /// All of it, if it is not longer than one line may be.
    ///
    /// # Errors
    /// It cannot be read, is too long or not text.
    pub(crate) fn read_all(mut self) -> Result<String, Error> {
        let mut text = String::new();
        while let Some(line) = lines::next_blocking(&mut self.reader)? {
            text.push_str(&line);
            text.push('\n');
            if text.len() as u64 > lines::LINE_BYTES_MAX {
                return Err(Error::LineTooLong { max: lines::LINE_BYTES_MAX });
            }
        }
        Ok(text)
    }

    fn feed(mut self, feed: &mpsc::Sender<InputLine>) {
        while let Some(line) = lines::next_blocking(&mut self.reader).transpose() {
            let failed = line.is_err();
            if feed.blocking_send(line).is_err() || failed {
                return;
            }
        }
    }

    /// Sends it all, or as much as the house wants.
    fn send(mut self, sender: &mut UnixStream) -> Result<(), Error> {
        loop {
            let bytes = self.reader.fill_buf().map_err(Error::system("cannot read the input"))?;
            let length = bytes.len();
            if length == 0 || sender.write_all(bytes).is_err() {
                return Ok(());
            }
            self.reader.consume(length);
        }
    }
}

/// Where the answer goes: notes to standard error, lines to standard output or a file.
pub(crate) struct Terminal {
    out: BufWriter<Box<dyn Write + Send>>,
    /// A file that is removed again if it does not become whole.
    file: Option<PathBuf>,
    /// Whether standard output leads to a reader that has enough, as `head` has.
    closed: bool,
    /// What is shown while work goes on.
    progress: Option<Progress>,
    /// Whether lines of the answer already stand where that would be shown.
    is_full: bool,
}

impl Terminal {
    /// To standard output.
    pub(crate) fn standard() -> Terminal {
        Terminal::to(Box::new(io::stdout()), None)
    }

    /// To a new file.
    ///
    /// # Errors
    /// The file cannot be made, or is there already.
    pub(crate) fn file(path: &Path) -> Result<Terminal, Error> {
        let failed = |cause| Error::File { path: path.to_owned(), cause };
        let file = File::create_new(path).map_err(failed)?;
        Ok(Terminal::to(Box::new(file), Some(path.to_owned())))
    }

    fn to(out: Box<dyn Write + Send>, file: Option<PathBuf>) -> Terminal {
        let out = BufWriter::new(out);
        Terminal { out, file, closed: false, progress: None, is_full: false }
    }

    /// Shows that this is being done, until there is something to say.
    pub(crate) fn working(mut self, what: &str) -> Terminal {
        self.progress = Some(Progress::begin(what));
        self
    }

    async fn print(&mut self, mut said: mpsc::Receiver<Said>) -> Result<(), Error> {
        while let Some(told) = said.recv().await {
            self.say(&told)?;
            if said.is_empty() {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// What was said is there before there is a wait for more: who follows a house sees it live.
    fn flush(&mut self) -> Result<(), Error> {
        let flushed = self.out.flush();
        self.check(flushed)
    }

    fn say(&mut self, said: &Said) -> Result<(), Error> {
        let written = match said {
            Said::Line(line) => {
                if !self.is_full && self.file.is_none() && io::stdout().is_terminal() {
                    (self.is_full, self.progress) = (true, None);
                }
                writeln!(self.out, "{line}")
            }
            Said::Note(note) => {
                self.progress = None;
                // Lines that came before it stand before it.
                let flushed = self.out.flush();
                eprintln!("{note}");
                flushed
            }
            Said::Progress { done, of } => {
                self.show(*done, *of);
                Ok(())
            }
        };
        self.check(written)
    }

    /// On a terminal a bar, elsewhere a line now and then.
    fn show(&mut self, done: u64, of: Option<u64>) {
        let progress = self.progress.get_or_insert_with(|| Progress::begin("items"));
        if !progress.is_hidden() && !self.is_full {
            progress.count(done, of);
        } else if done.is_multiple_of(NOTE_ITEMS) {
            eprintln!("{done} items so far");
        }
    }

    /// What is left to print, if the command was done; else nothing is left of a file.
    fn finish(&mut self, done: Result<(), Error>) -> Result<(), Error> {
        self.progress = None;
        let flushed = self.out.flush();
        let done = done.and(self.check(flushed));
        if let (Some(path), true) = (&self.file, done.is_err())
            && let Err(cause) = fs::remove_file(path)
        {
            eprintln!("`{}` is not whole, and cannot be removed: {cause}", path.display());
        }
        // A reader that has enough is no failure.
        if self.closed { Ok(()) } else { done }
    }

    fn check(&mut self, written: io::Result<()>) -> Result<(), Error> {
        written.map_err(|cause| {
            self.closed |= self.file.is_none() && cause.kind() == io::ErrorKind::BrokenPipe;
            Error::System { context: "cannot write the answer", cause }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use base::{Clock, Tasks, Timestamp};
    use table::Embedded;
    use tempfile::TempDir;

    use super::{REACH, Terminal, reach};
    use crate::error::Exit;
    use crate::store::Request;
    use crate::{Error, Settings};

    #[tokio::test]
    async fn a_house_that_is_held_by_something_else_is_out_of_reach() {
        let (directory, tasks) = (TempDir::new().unwrap(), Tasks::new());
        let (clock, time) = Clock::virtual_at(Timestamp::EPOCH);
        let mut settings = Settings::default();
        settings.store.path = directory.path().join("nagaya-data");
        // It holds the store, and has no control socket.
        let opened = Embedded::open(settings.store.clone(), clock.clone(), &tasks);
        let holder = opened.await.unwrap();
        let mut terminal = Terminal::standard();
        let asked = reach(None, &settings, &clock, Request::CreateBackup, None, &mut terminal);
        let begun = clock.instant();
        let (refused, ()) = tokio::join!(
            async {
                let refused = asked.await.unwrap_err();
                (refused, clock.instant().since(begun))
            },
            time.advance(REACH + Duration::from_secs(1))
        );
        let (refused, waited) = refused;
        assert_eq!(waited, REACH, "it may be about to open");
        assert!(matches!(refused, Error::Unreachable { .. }), "{refused}");
        assert_eq!(refused.exit(), Exit::Store);
        let told = refused.to_string();
        let part = "is in use by another process, and that takes no commands: ";
        assert!(told.contains("nagaya-data") && told.contains(part), "{told}");
        drop(holder);
    }
}

//! The output of a process, read as it arrives, so that the process never waits for its reader.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A process that ended has closed its streams; a child that it left behind may not have.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// One stream of a process.
pub(super) struct Output {
    text: Arc<Mutex<String>>,
    /// Disconnected when everything is read.
    reading: Receiver<()>,
}

impl Output {
    /// Reads a stream to its end.
    pub(super) fn keep(source: impl Read + Send + 'static) -> Output {
        let text = Arc::new(Mutex::new(String::new()));
        let (until_end, reading) = mpsc::channel();
        let kept = Arc::clone(&text);
        std::thread::spawn(move || {
            let _reading: mpsc::Sender<()> = until_end;
            for line in BufReader::new(source).split(b'\n').map_while(Result::ok) {
                let mut kept = kept.lock().expect("nobody panics with the text in hand");
                kept.push_str(&String::from_utf8_lossy(&line));
                kept.push('\n');
            }
        });
        Output { text, reading }
    }

    /// The text so far.
    pub(super) fn text(&self) -> String {
        self.text.lock().expect("nobody panics with the text in hand").clone()
    }

    /// The whole text, after the process has ended.
    pub(super) fn whole(&self) -> String {
        let ended = self.reading.recv_timeout(LAST_WORDS);
        debug_assert_ne!(ended, Err(RecvTimeoutError::Timeout), "the stream is still open");
        self.text()
    }
}

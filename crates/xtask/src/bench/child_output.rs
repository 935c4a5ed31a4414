//! Waits for a line on the output of a child within a time: a server that hangs at its start must
//! not hang a bench.

use std::io::{BufRead, BufReader};
use std::process::ChildStdout;
use std::sync::mpsc;
use std::time::Duration;

/// How long a server has to report that it is open.
const START: Duration = Duration::from_secs(60);

/// The result of `find` for the first line in which it finds something, and the output after it.
/// The caller ends the child if there is no result.
pub(super) fn wait_for<T: Send + 'static>(
    output: ChildStdout,
    mut find: impl FnMut(&str) -> Option<T> + Send + 'static,
) -> Result<(T, BufReader<ChildStdout>), String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = String::new();
        while let Ok(1..) = output.read_line(&mut line) {
            if let Some(found) = find(line.trim()) {
                // The receiver is gone if this came too late.
                let _late = sender.send((found, output));
                return;
            }
            line.clear();
        }
    });
    receiver.recv_timeout(START).map_err(|error| match error {
        mpsc::RecvTimeoutError::Timeout => format!("it did not open within {START:?}"),
        mpsc::RecvTimeoutError::Disconnected => "it ended before it was open".to_owned(),
    })
}

/// A port that is alone on its line.
pub(super) fn wait_for_port(output: ChildStdout) -> Result<(u16, BufReader<ChildStdout>), String> {
    wait_for(output, |line| line.parse().ok())
}

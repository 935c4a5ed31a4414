//! Connections that each send the next request right after a response, on one thread.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use crate::bench::house::{answer_length, take_what_came};
use crate::bench::poller::Poller;
use crate::run;

/// Without any response for this time, something is lost.
const STUCK: Duration = Duration::from_secs(15);

/// The size of one read: every response fits.
const SPACE: usize = 64 * 1024;

/// The protocol of the responses.
#[derive(Clone, Copy)]
pub(super) enum ResponseProtocol {
    /// HTTP; the response must be a success.
    Http,
    /// The protocol of Redis.
    Redis,
}

/// The connections.
pub(super) struct Lines {
    speech: ResponseProtocol,
    poller: Poller,
    lines: Vec<Line>,
    space: Vec<u8>,
}

struct Line {
    stream: TcpStream,
    rest: Vec<u8>,
    /// The number of the request that waits for its response.
    asked: usize,
}

impl Lines {
    pub(super) fn new(
        speech: ResponseProtocol,
        streams: impl IntoIterator<Item = Result<TcpStream, String>>,
    ) -> Result<Lines, String> {
        let poller = Poller::new()?;
        let mut lines = Vec::new();
        for stream in streams {
            let stream = stream?;
            stream.set_nonblocking(true).map_err(|error| error.to_string())?;
            poller.add(&stream, lines.len())?;
            lines.push(Line { stream, rest: Vec::new(), asked: 0 });
        }
        Ok(Lines { speech, poller, lines, space: vec![0; SPACE] })
    }

    /// Sends all requests and passes each response with its request's number to `taken`; returns
    /// the responses per second.
    pub(super) fn drive(
        &mut self,
        questions: impl IntoIterator<Item = Vec<u8>>,
        mut taken: impl FnMut(usize, &[u8]) -> Result<(), String>,
    ) -> Result<f64, String> {
        let mut questions = questions.into_iter();
        let begin = run::now();
        let (mut asked, mut answered, mut last) = (0, 0, begin);
        for (line, question) in self.lines.iter_mut().zip(questions.by_ref()) {
            line.ask(asked, &question)?;
            asked += 1;
        }
        while answered < asked {
            if last.elapsed() > STUCK {
                return Err(format!("{} answers are missing", asked - answered));
            }
            for (key, _) in self.poller.wait(Duration::from_millis(100))? {
                let Some(line) = self.lines.get_mut(key) else { continue };
                take_what_came(&mut line.stream, &mut line.rest, &mut self.space)?;
                let Some(length) = self.speech.length(&line.rest)? else { continue };
                taken(line.asked, line.rest.get(..length).unwrap_or_default())?;
                line.rest.drain(..length);
                (answered, last) = (answered + 1, run::now());
                if let Some(question) = questions.next() {
                    line.ask(asked, &question)?;
                    asked += 1;
                }
            }
        }
        Ok(answered as f64 / begin.elapsed().as_secs_f64())
    }
}

impl Line {
    fn ask(&mut self, number: usize, question: &[u8]) -> Result<(), String> {
        self.asked = number;
        self.stream.write_all(question).map_err(|error| format!("cannot ask: {error}"))
    }
}

impl ResponseProtocol {
    /// The length of the first response, if it is complete; it must be a success.
    fn length(self, bytes: &[u8]) -> Result<Option<usize>, String> {
        let (good, length) = match self {
            ResponseProtocol::Http => (bytes.starts_with(b"HTTP/1.1 200"), answer_length(bytes)),
            ResponseProtocol::Redis => (!bytes.starts_with(b"-"), reply_length(bytes)),
        };
        match length {
            Some(_) if !good => Err(String::from_utf8_lossy(bytes).into_owned()),
            whole_or_none => Ok(whole_or_none),
        }
    }
}

/// The length of the first Redis reply, if it is complete.
pub(super) fn reply_length(bytes: &[u8]) -> Option<usize> {
    let line = bytes.iter().position(|byte| *byte == b'\n')? + 1;
    let number =
        || -> Option<i64> { std::str::from_utf8(bytes.get(1..line - 2)?).ok()?.parse().ok() };
    match bytes.first()? {
        b'$' => {
            let length = line + usize::try_from(number()?).map_or(0, |length| length + 2);
            (bytes.len() >= length).then_some(length)
        }
        b'*' => {
            let mut length = line;
            for _ in 0..number()? {
                length += reply_length(bytes.get(length..)?)?;
            }
            Some(length)
        }
        _ => Some(line),
    }
}

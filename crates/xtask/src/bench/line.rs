//! A number of connections that each ask as soon as they were answered, on one thread.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use crate::bench::house::{answer_length, take_what_came};
use crate::bench::poller::Poller;
use crate::run;

/// Nothing was answered for so long: something is lost.
const STUCK: Duration = Duration::from_secs(15);

/// What is read at once: every answer fits.
const SPACE: usize = 64 * 1024;

/// How answers end.
#[derive(Clone, Copy)]
pub(super) enum Speech {
    /// HTTP; the answer must be good.
    Http,
    /// Redis' protocol.
    Redis,
}

/// Connections that ask.
pub(super) struct Lines {
    speech: Speech,
    poller: Poller,
    lines: Vec<Line>,
    space: Vec<u8>,
}

struct Line {
    stream: TcpStream,
    rest: Vec<u8>,
    /// The number of the question that waits for its answer.
    asked: usize,
}

impl Lines {
    pub(super) fn new(
        speech: Speech,
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

    /// Asks all questions and hands over each answer with the question's number; answers how many
    /// came in a second.
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

impl Speech {
    /// How long the first answer is, if it is whole; it must be a good one.
    fn length(self, bytes: &[u8]) -> Result<Option<usize>, String> {
        let (good, length) = match self {
            Speech::Http => (bytes.starts_with(b"HTTP/1.1 200"), answer_length(bytes)),
            Speech::Redis => (!bytes.starts_with(b"-"), reply_length(bytes)),
        };
        match length {
            Some(_) if !good => Err(String::from_utf8_lossy(bytes).into_owned()),
            whole_or_none => Ok(whole_or_none),
        }
    }
}

/// How long the first reply of Redis is, if it is whole.
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

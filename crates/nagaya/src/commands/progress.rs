//! What a terminal shows while long work goes on: on standard error, and only if that is a
//! terminal, so that neither a file nor a pipe ever holds a bar.

use std::io::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Error;

/// How often a line is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// A line that says what goes on, and for how long.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Begins, with what is being done.
    pub(crate) fn begin(what: impl Into<String>) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style("{spinner} {elapsed} {msg}"));
        bar.set_message(what.into());
        bar.enable_steady_tick(TICK);
        Progress { bar }
    }

    /// Whether nobody sees it.
    pub(crate) fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
    }

    /// Goes on with something else.
    pub(crate) fn turn_to(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// Leaves a line behind, above what goes on, or where nobody sees that alone.
    pub(crate) fn note(&self, line: &str) -> Result<(), Error> {
        if !self.bar.is_hidden() {
            self.bar.println(line);
            return Ok(());
        }
        let written = writeln!(std::io::stderr().lock(), "{line}");
        written.map_err(Error::system("cannot write to standard error"))
    }

    /// So many items are done, of so many if that is known.
    pub(crate) fn count(&self, done: u64, of: Option<u64>) {
        if let Some(of) = of.filter(|_| self.bar.length().is_none()) {
            self.bar.set_length(of);
            self.bar
                .set_style(style("{spinner} {elapsed} {msg} {wide_bar} {pos}/{len}, {eta} left"));
        } else if self.bar.length().is_none() {
            self.bar.set_style(style("{spinner} {elapsed} {msg}: {pos}, {per_sec}"));
        }
        self.bar.set_position(done);
    }
}

/// A line that is done with leaves nothing behind.
impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is written here")
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn both_forms_can_be_drawn() {
        let progress = Progress::begin("exporting");
        progress.count(1, None);
        progress.count(2, Some(4));
        assert_eq!((progress.bar.position(), progress.bar.length()), (2, Some(4)));
    }
}

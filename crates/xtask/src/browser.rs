//! The one Chromium that all page tests share.
//!
//! Each test is a process of its own, so the runner starts the browser, passes its address to the
//! tests as `NAGAYA_BROWSER`, and ends it after them. A script next to the tests does the rest:
//! `crates/nagaya/tests/pages/shared_browser.mjs`. Without the variable, a test starts a browser of
//! its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use crate::run;

/// The script that starts the browser, relative to the workspace's root.
const SCRIPT: &str = "crates/nagaya/tests/pages/shared_browser.mjs";

/// Closing a browser takes a second; one that hangs is killed after this time.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);

/// How often a closing browser is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running browser. Dropping it ends it.
pub(crate) struct Browser {
    script: Child,
    endpoint: String,
}

impl Browser {
    /// Starts it and waits for its address.
    ///
    /// # Errors
    /// It does not start. The reason is on the standard error.
    pub(crate) fn start() -> Result<Browser, String> {
        let mut node = run::program("node");
        node.arg(SCRIPT).env("NAGAYA_PACKAGES", run::tools_folder().join("npm"));
        let started = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let script = started.map_err(|error| format!("cannot start `node`: {error}"))?;
        // From here on, an early return drops the browser, which ends it.
        let mut browser = Browser { script, endpoint: String::new() };
        let output = browser.script.stdout.take().ok_or("the browser has no output")?;
        let read = BufReader::new(output).read_line(&mut browser.endpoint);
        read.map_err(|error| format!("reading the browser's address: {error}"))?;
        browser.endpoint.truncate(browser.endpoint.trim_end().len());
        if browser.endpoint.starts_with("ws://") {
            Ok(browser)
        } else {
            Err(format!("the browser gives no address, but `{}`", browser.endpoint))
        }
    }

    /// Its address for the tests.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The script ends when its input is closed.
        drop(self.script.stdin.take());
        let start = run::now();
        while start.elapsed() < CLOSE_LIMIT {
            match self.script.try_wait() {
                Ok(None) => thread::sleep(POLL_INTERVAL),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        // If it has ended meanwhile, there is nothing to kill.
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

//! Whether the house can take requests, and if not, why.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

/// Green while every part is; amber when one does less than it should, which takes no requests away.
/// Clones share their state. A change of state is one line in the log.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    red: Arc<Mutex<Reasons>>,
    amber: Arc<Mutex<Reasons>>,
}

/// Why, by part.
type Reasons = BTreeMap<&'static str, Reason>;

/// Why a part is not green.
#[derive(Clone)]
enum Reason {
    Told(String),
    /// Asked for whenever somebody wants to know: it changes while the state does not.
    Asked(Arc<dyn Fn() -> String + Send + Sync>),
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Told(reason) => f.write_str(reason),
            Reason::Asked(ask) => f.write_str(&ask()),
        }
    }
}

impl Readiness {
    /// All green.
    pub fn new() -> Readiness {
        Readiness::default()
    }

    /// Turns `part` red. A second reason replaces the first; the same one again changes nothing.
    pub fn set_red(&self, part: &'static str, reason: impl Into<String>) {
        let reason = reason.into();
        if set(&self.red, part, &reason) {
            tracing::warn!(part, reason, "not ready");
        }
    }

    /// Turns `part` red for a reason that changes while it is, such as how far something has come.
    /// It is not logged: a start is no failure.
    pub fn set_red_while(
        &self,
        part: &'static str,
        reason: impl Fn() -> String + Send + Sync + 'static,
    ) {
        self.red.lock().insert(part, Reason::Asked(Arc::new(reason)));
    }

    /// Turns `part` amber: requests are taken, but not all is well.
    pub fn set_amber(&self, part: &'static str, reason: impl Into<String>) {
        let reason = reason.into();
        if set(&self.amber, part, &reason) {
            tracing::warn!(part, reason, "not well");
        }
    }

    /// Turns `part` green again.
    pub fn set_green(&self, part: &'static str) {
        let (red, amber) = (self.red.lock().remove(part), self.amber.lock().remove(part));
        if let Some(Reason::Told(_)) = red.or(amber) {
            tracing::info!(part, "ready again");
        }
    }

    /// What is red and why; `None` when all is green.
    pub fn find_reasons(&self) -> Option<String> {
        list(&self.red)
    }

    /// What is amber and why; `None` when nothing is.
    pub fn find_warnings(&self) -> Option<String> {
        list(&self.amber)
    }
}

/// Sets a reason; false if it is the one that is set already.
fn set(reasons: &Mutex<Reasons>, part: &'static str, reason: &str) -> bool {
    let before = reasons.lock().insert(part, Reason::Told(reason.to_owned()));
    !matches!(before, Some(Reason::Told(before)) if before == reason)
}

fn list(reasons: &Mutex<Reasons>) -> Option<String> {
    // Asked for outside of the lock.
    let reasons = reasons.lock().clone();
    let reasons: Vec<String> =
        reasons.iter().map(|(part, reason)| format!("{part}: {reason}")).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::Readiness;

    #[test]
    fn a_reason_that_changes_is_told_as_it_is_when_asked() {
        let (readiness, percent) = (Readiness::new(), Arc::new(AtomicU32::new(0)));
        let reached = Arc::clone(&percent);
        readiness.set_red_while("start", move || format!("{} %", reached.load(Ordering::Relaxed)));
        assert_eq!(readiness.find_reasons().as_deref(), Some("start: 0 %"));
        percent.store(40, Ordering::Relaxed);
        assert_eq!(readiness.find_reasons().as_deref(), Some("start: 40 %"));
        readiness.set_green("start");
        assert_eq!(readiness.find_reasons(), None);
    }
}

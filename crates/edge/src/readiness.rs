//! Whether the house can take requests, and if not, why.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Green while every part is; amber when one does less than it should, which takes no requests away.
/// Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    red: Arc<Mutex<Reasons>>,
    amber: Arc<Mutex<Reasons>>,
}

/// Why, by part.
type Reasons = BTreeMap<&'static str, String>;

impl Readiness {
    /// All green.
    pub fn new() -> Readiness {
        Readiness::default()
    }

    /// Turns `part` red. A second reason replaces the first.
    pub fn set_red(&self, part: &'static str, reason: impl Into<String>) {
        let reason = reason.into();
        tracing::warn!(part, reason, "not ready");
        self.red.lock().insert(part, reason);
    }

    /// Turns `part` amber: requests are taken, but not all is well.
    pub fn set_amber(&self, part: &'static str, reason: impl Into<String>) {
        let reason = reason.into();
        tracing::warn!(part, reason, "not well");
        self.amber.lock().insert(part, reason);
    }

    /// Turns `part` green again.
    pub fn set_green(&self, part: &'static str) {
        let (red, amber) = (self.red.lock().remove(part), self.amber.lock().remove(part));
        if red.or(amber).is_some() {
            tracing::info!(part, "ready again");
        }
    }

    /// What is red and why; `None` when all is green.
    pub fn find_reasons(&self) -> Option<String> {
        list(&self.red.lock())
    }

    /// What is amber and why; `None` when nothing is.
    pub fn find_warnings(&self) -> Option<String> {
        list(&self.amber.lock())
    }
}

fn list(reasons: &Reasons) -> Option<String> {
    let reasons: Vec<String> =
        reasons.iter().map(|(part, reason)| format!("{part}: {reason}")).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

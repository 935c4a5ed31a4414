//! Whether the house can take requests, and if not, why.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Green while every part is. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    red: Arc<Mutex<BTreeMap<&'static str, String>>>,
}

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

    /// Turns `part` green again.
    pub fn set_green(&self, part: &'static str) {
        if self.red.lock().remove(part).is_some() {
            tracing::info!(part, "ready again");
        }
    }

    /// What is red and why; `None` when all is green.
    pub fn find_reasons(&self) -> Option<String> {
        let red = self.red.lock();
        let reasons: Vec<String> =
            red.iter().map(|(part, reason)| format!("{part}: {reason}")).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

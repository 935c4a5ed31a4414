//! What the console asks the mesh.

use kit::{Answer, Ask, Found, FoundKind};

use crate::limits::SEARCH_RESULTS_MAX;
use crate::model::Group;
use crate::{Mesh, items};

impl Ask for Mesh {
    fn name(&self) -> &'static str {
        "mesh"
    }

    /// Living groups whose names begin so, of every class. Names are kept as they were written, so
    /// the case of letters counts.
    fn search<'a>(&'a self, wanted: &'a str, limit: usize) -> Answer<'a, Vec<Found>> {
        Box::pin(async move {
            let limit = i32::try_from(limit.min(SEARCH_RESULTS_MAX)).ok();
            let groups = self.search_groups(wanted, limit).await.unwrap_or_default();
            groups.into_iter().map(found).collect()
        })
    }

    /// Groups and what they leave expire in some days: the console remembers that it saw one.
    fn was_used(&self) -> Answer<'_, bool> {
        Box::pin(async move {
            let first = self.tables.scan(items::scan_first()).await;
            first.is_ok_and(|page| !page.items.is_empty())
        })
    }
}

fn found(group: Group) -> Found {
    let domain = group.key.domain;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".:-_".contains(letter);
    let path = match domain.chars().all(is_plain) {
        true => format!("/mesh/class?domain={domain}"),
        false => "/mesh/class".to_owned(),
    };
    Found { kind: FoundKind::Group, name: group.name, hint: domain, path }
}

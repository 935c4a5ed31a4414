//! The search over everything that has a page: pages and settings by their names, tables, and what
//! the rooms find. All are asked at once, within one time; a room that is late is left out.

use std::sync::Arc;

use edge::Language;
use futures_util::future::join_all;
use kit::{Ask, Found, FoundKind, QUESTION_LETTERS_MAX, matches};

use crate::Console;
use crate::limits::{FOUND_MAX, FOUND_PER_ROOM, SEARCH_TIME};

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) found: Vec<Found>,
    /// Whether there are more than are shown.
    pub(crate) is_more: bool,
    /// Whether somebody did not answer in time.
    pub(crate) is_late: bool,
}

impl Console {
    /// Everything whose name holds `wanted`: all pages if it is empty.
    pub(crate) async fn search(&self, wanted: &str, language: Language) -> Results {
        let wanted: String = wanted.trim().chars().take(QUESTION_LETTERS_MAX as usize).collect();
        let mut found = pages(&wanted, language);
        if wanted.is_empty() {
            return Results { found, ..Results::default() };
        }
        let (tables, rooms) = tokio::join!(
            self.clock.timeout(SEARCH_TIME, self.find_tables(&wanted)),
            join_all(self.rooms.iter().map(|room| self.ask(room, &wanted))),
        );
        let mut is_late = tables.is_err();
        found.extend(tables.unwrap_or_default());
        for of_room in rooms {
            is_late |= of_room.is_none();
            found.extend(of_room.unwrap_or_default());
        }
        found.extend(self.find_settings(&wanted));
        // What begins as the question stands before what only holds it.
        let lower = wanted.to_lowercase();
        found.sort_by_key(|found| !found.name.to_lowercase().starts_with(&lower));
        let is_more = found.len() > FOUND_MAX;
        found.truncate(FOUND_MAX);
        Results { found, is_more, is_late }
    }

    async fn ask(&self, room: &Arc<dyn Ask>, wanted: &str) -> Option<Vec<Found>> {
        let mut found =
            self.clock.timeout(SEARCH_TIME, room.search(wanted, FOUND_PER_ROOM)).await.ok()?;
        found.truncate(FOUND_PER_ROOM);
        Some(found)
    }

    async fn find_tables(&self, wanted: &str) -> Vec<Found> {
        let names = self.tables.list_tables().await.unwrap_or_default();
        let found = names.into_iter().filter(|name| matches(name, wanted)).map(|name| Found {
            kind: FoundKind::Table,
            path: format!("/console/tables/{name}"),
            hint: String::new(),
            name,
        });
        found.collect()
    }

    fn find_settings(&self, wanted: &str) -> Vec<Found> {
        let found = self.settings.iter().filter(|setting| matches(&setting.key, wanted));
        let found = found.map(|setting| Found {
            kind: FoundKind::Setting,
            name: setting.key.clone(),
            hint: setting.about.split(". ").next().unwrap_or_default().to_owned(),
            path: "/console/settings".to_owned(),
        });
        found.take(FOUND_PER_ROOM).collect()
    }
}

/// Pages are found by their names in every language.
fn pages(wanted: &str, language: Language) -> Vec<Found> {
    let desks = kit::desks().filter(|desk| {
        Language::ALL.into_iter().any(|language| matches(desk.name(language), wanted))
    });
    let found = desks.map(|desk| Found {
        kind: FoundKind::Page,
        name: desk.name(language).to_owned(),
        hint: desk.path.to_owned(),
        path: desk.path.to_owned(),
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use edge::Language;

    use super::pages;

    #[test]
    fn pages_are_found_by_their_names_in_every_language() {
        let names = |wanted| {
            let found = pages(wanted, Language::En);
            found.into_iter().map(|found| found.name).collect::<Vec<_>>()
        };
        assert_eq!(names("TABL"), ["Tables"]);
        assert_eq!(names("概要"), ["Overview"]);
        assert!(names("").len() > 10);
        assert!(names("nothing like it").is_empty());
    }
}

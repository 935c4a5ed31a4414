//! What the console asks the social network.

use kit::{Answer, Ask, Found, FoundKind, matches};

use crate::Sns;
use crate::items::user;
use crate::limits::PEOPLE_PER_SEARCH;
use crate::model::account::User;

impl Ask for Sns {
    fn name(&self) -> &'static str {
        "sns"
    }

    /// The person of that name, and others of those that one read finds.
    fn search<'a>(&'a self, wanted: &'a str, limit: usize) -> Answer<'a, Vec<Found>> {
        Box::pin(async move {
            let wanted = wanted.trim_start_matches('@');
            let mut people: Vec<User> =
                self.find_by_name(wanted).await.ok().flatten().into_iter().collect();
            let scan = self.layout.users.scan_people(PEOPLE_PER_SEARCH);
            let page = self.tables.scan(scan).await.unwrap_or_default();
            let others = page.items.iter().filter_map(user::read);
            let exact = people.first().map(|user| user.id);
            people.extend(others.filter(|user| {
                let is_meant =
                    matches(&user.username, wanted) || matches(&user.display_name, wanted);
                is_meant && Some(user.id) != exact
            }));
            let found = people.into_iter().take(limit).map(|user| Found {
                kind: FoundKind::Person,
                path: format!("/sns/u/{}", user.username),
                hint: format!("@{}", user.username),
                // Guests have none.
                name: match user.display_name.is_empty() {
                    true => user.username,
                    false => user.display_name,
                },
            });
            found.collect()
        })
    }

    fn was_used(&self) -> Answer<'_, bool> {
        Box::pin(async move {
            let first = self.tables.scan(self.layout.users.scan_people(1)).await;
            first.is_ok_and(|page| !page.items.is_empty())
        })
    }
}

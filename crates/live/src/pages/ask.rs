//! What the console asks the live room.

use kit::{Answer, Ask, Found, FoundKind, matches};

use crate::{Live, items};

impl Ask for Live {
    fn name(&self) -> &'static str {
        "live"
    }

    /// Rooms by their names and codes, of those that one read finds.
    fn search<'a>(&'a self, wanted: &'a str, limit: usize) -> Answer<'a, Vec<Found>> {
        Box::pin(async move {
            let Ok(page) = self.tables.scan(self.layout.scan_rooms()).await else {
                return Vec::new();
            };
            let rooms = page.items.iter().filter_map(items::read_room);
            let rooms =
                rooms.filter(|room| matches(&room.name, wanted) || room.code.starts_with(wanted));
            let found = rooms.take(limit).map(|room| Found {
                kind: FoundKind::Room,
                path: format!("/live/r/{}", room.code),
                name: room.name,
                hint: room.code,
            });
            found.collect()
        })
    }

    fn was_used(&self) -> Answer<'_, bool> {
        Box::pin(async move {
            let first = self.tables.scan(self.layout.scan_rooms().limit(1)).await;
            first.is_ok_and(|page| !page.items.is_empty())
        })
    }
}

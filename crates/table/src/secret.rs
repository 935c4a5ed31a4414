//! Which tables and attributes hold secrets: hashes of passwords, tokens, keys, sessions.
//!
//! The crate that owns a table declares its secrets beside the table's layout, as a constant. Every
//! part that shows items to people (commands, console, change feed, DynamoDB endpoint) asks one
//! [`Secrets`], which the binary composes of all declarations. The store itself keeps secrets like
//! other values; backups and migrations carry them.

use std::borrow::Cow;

use crate::spec::TableSpec;
use crate::value::{Item, Value};

/// What is shown in the place of a secret value.
pub const HIDDEN: &str = "(hidden)";

/// The secrets of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The table's name, in which one `*` stands for any text: names contain an environment.
    table: &'static str,
    /// The attributes; none if the whole table is secret.
    attributes: &'static [&'static str],
}

/// The secrets of all tables.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    declared: Vec<Secret>,
}

impl Secret {
    /// All of a table.
    pub const fn table(table: &'static str) -> Secret {
        Secret { table, attributes: &[] }
    }

    /// These attributes of a table's items. None of them is part of the table's own key.
    pub const fn attributes(table: &'static str, attributes: &'static [&'static str]) -> Secret {
        Secret { table, attributes }
    }

    fn is_of(&self, table: &str) -> bool {
        match self.table.split_once('*') {
            None => self.table == table,
            Some((begin, end)) => table.strip_prefix(begin).is_some_and(|rest| rest.ends_with(end)),
        }
    }
}

impl Secrets {
    /// Of these declarations.
    pub fn new(declared: impl IntoIterator<Item = Secret>) -> Secrets {
        Secrets { declared: declared.into_iter().collect() }
    }

    /// Whether nothing of a table may be shown.
    pub fn hides_table(&self, table: &str) -> bool {
        self.of(table).any(|secret| secret.attributes.is_empty())
    }

    /// Whether something of a table may not be shown.
    pub fn touches_table(&self, table: &str) -> bool {
        self.of(table).next().is_some()
    }

    /// Whether an index orders its table by a secret: its keys tell what its items do not.
    pub fn hides_index(&self, spec: &TableSpec, index: &str) -> bool {
        spec.find_index(index).is_some_and(|(_, index)| {
            let mut keys = index.key.attributes();
            keys.any(|attribute| self.hides_attribute(&spec.name, &attribute.name))
        })
    }

    /// Whether an attribute of a table's items may not be shown.
    pub fn hides_attribute(&self, table: &str, attribute: &str) -> bool {
        self.hides_table(table) || self.attributes(table).any(|secret| secret == attribute)
    }

    /// An item of a table as it may be shown: secrets are there, but not what they are.
    pub fn shown<'i>(&self, table: &str, item: &'i Item) -> Cow<'i, Item> {
        let mut shown = Cow::Borrowed(item);
        for attribute in self.attributes(table).filter(|attribute| item.contains(attribute)) {
            shown.to_mut().insert(attribute, HIDDEN);
        }
        shown
    }

    /// An item that somebody wrote who was not shown its secrets: those that are missing or
    /// [`HIDDEN`] in it are as they are in the item that it replaces.
    #[must_use]
    pub fn kept(&self, table: &str, mut written: Item, replaced: Option<&Item>) -> Item {
        for attribute in self.attributes(table) {
            let is_known =
                written.get(attribute).is_some_and(|value| *value != Value::from(HIDDEN));
            if is_known {
                continue;
            }
            match replaced.and_then(|item| item.get(attribute)) {
                Some(secret) => written.insert(attribute, secret.clone()),
                None => written.remove(attribute),
            };
        }
        written
    }

    pub(crate) fn attributes(&self, table: &str) -> impl Iterator<Item = &'static str> {
        self.of(table).flat_map(|secret| secret.attributes.iter().copied())
    }

    fn of(&self, table: &str) -> impl Iterator<Item = &Secret> {
        self.declared.iter().filter(move |secret| secret.is_of(table))
    }
}

#[cfg(test)]
mod tests {
    use super::{HIDDEN, Secret, Secrets};
    use crate::spec::{KeyAttribute, KeySpec, TableSpec};
    use crate::value::Item;

    fn secrets() -> Secrets {
        Secrets::new([Secret::table("sessions"), Secret::attributes("users-*", &["hash", "salt"])])
    }

    fn user() -> Item {
        Item::new().with("id", "a").with("hash", "$argon2$x").with("name", "Ada")
    }

    #[test]
    fn a_pattern_covers_every_environment_and_no_other_table() {
        let secrets = secrets();
        assert!(secrets.hides_table("sessions") && secrets.touches_table("sessions"));
        assert!(secrets.touches_table("users-prod") && secrets.touches_table("users-"));
        assert!(!secrets.hides_table("users-prod"));
        for other in ["users", "session", "my-users-prod", "sessions-2"] {
            assert!(!secrets.touches_table(other), "{other}");
        }
    }

    #[test]
    fn a_secret_is_shown_as_hidden_and_comes_back_as_it_was() {
        let (secrets, user) = (secrets(), user());
        let shown = secrets.shown("users-prod", &user).into_owned();
        assert_eq!(shown, user.clone().with("hash", HIDDEN));
        let edited = shown.with("name", "Grace");
        let kept = secrets.kept("users-prod", edited, Some(&user));
        assert_eq!(kept, user.clone().with("name", "Grace"));
        let without = Item::new().with("id", "a");
        let kept = secrets.kept("users-prod", without, Some(&user));
        assert_eq!(kept, Item::new().with("id", "a").with("hash", "$argon2$x"));
        let new = secrets.kept("users-prod", user.clone().with("hash", HIDDEN), None);
        assert!(!new.contains("hash"), "the word is no hash");
        let known = user.clone().with("hash", "$argon2$y");
        assert_eq!(secrets.kept("users-prod", known.clone(), Some(&user)), known);
        assert_eq!(*secrets.shown("things", &user), user);
    }

    #[test]
    fn an_index_by_a_secret_is_hidden() {
        let spec = TableSpec::new("users-prod", KeySpec::simple(KeyAttribute::s("id")))
            .index("by-name", KeySpec::simple(KeyAttribute::s("name")))
            .index("by-hash", KeySpec::simple(KeyAttribute::s("hash")));
        assert!(secrets().hides_index(&spec, "by-hash"));
        assert!(!secrets().hides_index(&spec, "by-name"));
        assert!(!secrets().hides_index(&spec, "none"));
    }
}

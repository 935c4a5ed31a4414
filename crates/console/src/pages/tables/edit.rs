//! Changing one item: what is saved takes the place of what was loaded and of nothing else.

use table::{Error, Get, Put, Secrets, TableSpec, Tables, attr};

use crate::browse::{key_in, key_text, read_item};
use crate::past::over;

/// Saves an item. `was` is the item as it was loaded, without its `secrets`, which stay as they are;
/// nothing for one that is new. Answers its key.
///
/// # Errors
/// Another item would be written over, or it has changed since it was loaded.
pub(super) async fn save(
    tables: &dyn Tables,
    secrets: &Secrets,
    spec: &TableSpec,
    written: &str,
    was: &str,
) -> Result<String, Error> {
    let item = read_item(written)?;
    let key = key_text(spec, &item);
    if was.is_empty() {
        let put = Put::new(&spec.name, item).when(attr(&spec.key.partition.name).not_exists());
        refused(tables.put(put).await, || {
            format!("an item with the key {key} is there already; open it to change it")
        })?;
        return Ok(key);
    }
    let was = read_item(was)?;
    if key != key_text(spec, &was) {
        let told = format!(
            "an item keeps its key: {} cannot become {key}; a new item can",
            key_text(spec, &was)
        );
        return Err(Error::Invalid(told));
    }
    let changed = || format!("the item {key} has changed since it was loaded; load it again");
    // A condition cannot ask whether there is anything else, so it is looked at first.
    let there = tables.get(Get::new(&spec.name, key_in(spec, &was))).await?;
    let Some(there) = there.filter(|there| *secrets.shown(&spec.name, there) == was) else {
        return Err(Error::Invalid(changed()));
    };
    let item = secrets.kept(&spec.name, item, Some(&there));
    refused(tables.put(over(spec, item, &there)).await, changed)?;
    Ok(key)
}

fn refused<T>(done: Result<T, Error>, why: impl FnOnce() -> String) -> Result<(), Error> {
    match done {
        Ok(_) => Ok(()),
        Err(Error::ConditionFailed { .. }) => Err(Error::Invalid(why())),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use base::{Clock, Tasks, Timestamp};
    use table::{
        Embedded, Get, HIDDEN, Item, KeyAttribute, KeySpec, Put, Secret, Secrets, TableSpec,
        Tables, Value, item_to_json,
    };

    use super::save;

    fn text(item: &Item) -> String {
        item_to_json(item).to_string()
    }

    #[tokio::test]
    async fn a_save_writes_over_nothing_but_what_was_loaded() {
        let (clock, _time) = Clock::virtual_at(Timestamp::from_millis(1_800_000_000_000));
        let store = Embedded::in_memory(clock, &Tasks::new()).await.unwrap();
        let spec = TableSpec::new("things", KeySpec::simple(KeyAttribute::s("id")));
        store.ensure_table(spec.clone()).await.unwrap();
        let first = Item::new().with("id", "a").with("n", 1).with("kept", "yes");
        save(&store, &Secrets::default(), &spec, &text(&first), "").await.unwrap();
        let told = save(&store, &Secrets::default(), &spec, &text(&first), "")
            .await
            .unwrap_err()
            .to_string();
        assert!(told.contains("is there already"), "{told}");

        let second = first.clone().with("n", 2).with("more", true);
        save(&store, &Secrets::default(), &spec, &text(&second), &text(&first)).await.unwrap();
        let told = save(&store, &Secrets::default(), &spec, &text(&second), &text(&first))
            .await
            .unwrap_err();
        assert!(told.to_string().contains("has changed"), "{told}");

        // Somebody adds what this page has not seen.
        let third = second.clone().with("theirs", 3);
        store.put(Put::new("things", third.clone())).await.unwrap();
        let told = save(&store, &Secrets::default(), &spec, &text(&first), &text(&second))
            .await
            .unwrap_err();
        assert!(told.to_string().contains("has changed"), "{told}");

        let other = third.clone().with("id", "b");
        let told = save(&store, &Secrets::default(), &spec, &text(&other), &text(&third))
            .await
            .unwrap_err();
        assert!(told.to_string().contains("keeps its key"), "{told}");
        let there = store.get(Get::new("things", Item::new().with("id", "a"))).await.unwrap();
        assert_eq!(there.unwrap().get("theirs"), Some(&Value::from(3)));
        assert_eq!(store.describe_table("things").await.unwrap().items, 1);
    }

    #[tokio::test]
    async fn a_save_keeps_the_secrets_that_the_page_did_not_show() {
        let (clock, _time) = Clock::virtual_at(Timestamp::from_millis(1_800_000_000_000));
        let store = Embedded::in_memory(clock, &Tasks::new()).await.unwrap();
        let spec = TableSpec::new("users", KeySpec::simple(KeyAttribute::s("id")));
        store.ensure_table(spec.clone()).await.unwrap();
        let secrets = Secrets::new([Secret::attributes("users", &["hash"])]);
        let user = Item::new().with("id", "a").with("hash", "$argon2$x");
        store.put(Put::new("users", user.clone())).await.unwrap();
        let was = secrets.shown("users", &user).into_owned();
        assert_eq!(was.get("hash"), Some(&Value::from(HIDDEN)));
        let written = was.clone().with("name", "Ada");
        save(&store, &secrets, &spec, &text(&written), &text(&was)).await.unwrap();
        let there = store.get(Get::new("users", Item::new().with("id", "a"))).await.unwrap();
        assert_eq!(there, Some(user.with("name", "Ada")));
    }
}

//! Whole tables: what there is, how it is declared, whether it is sound.

use base::Timestamp;
use serde_json::json;
use table::{Durability, Projected, TableDescription, TableSpec};

use super::Desk;
use crate::Error;
use crate::commands::counted;

impl Desk {
    pub(super) async fn list(&self, as_json: bool) -> Result<(), Error> {
        let mut rows = vec![["table".to_owned(), "items".to_owned(), "bytes".to_owned()]];
        for name in self.store.list_tables().await? {
            let TableDescription { items, bytes, .. } = self.store.describe_table(&name).await?;
            rows.push([name, items.to_string(), bytes.to_string()]);
        }
        for line in listed(&rows, as_json) {
            self.say(line).await?;
        }
        Ok(())
    }

    pub(super) async fn describe(&self, table: &str, as_json: bool) -> Result<(), Error> {
        let description = self.description(table).await?;
        if as_json {
            return self.say(json_of(&description)).await;
        }
        for line in columns(&lines_of(&description)) {
            self.say(line).await?;
        }
        Ok(())
    }

    pub(super) async fn create(&self, spec: TableSpec) -> Result<(), Error> {
        let name = spec.name.clone();
        if self.store.list_tables().await?.contains(&name) {
            return Err(Error::TableExists(name));
        }
        self.store.ensure_table(spec).await?;
        self.note(format!("created `{name}`")).await
    }

    pub(super) async fn drop_table(&self, table: &str) -> Result<(), Error> {
        let items = self.description(table).await?.items;
        self.store.delete_table(table).await?;
        self.note(format!("dropped `{table}` with {}", counted(items, "item"))).await
    }

    pub(super) async fn check(&self, as_json: bool) -> Result<(), Error> {
        let report = self.engine("a check")?.check().await?;
        let sound = match report.problems.len() {
            0 => Ok(()),
            count => Err(Error::Unsound(count)),
        };
        if as_json {
            let told = json!({
                "tables": report.tables, "items": report.items, "entries": report.entries,
                "changes": report.changes, "problems": report.problems,
            });
            self.say(told.to_string()).await?;
            return sound;
        }
        self.say(format!(
            "looked at {}, {} with {} of indexes and expiry, and {} in the log",
            counted(report.tables, "table"),
            counted(report.items, "item"),
            counted(report.entries, "row"),
            counted(report.changes, "change"),
        ))
        .await?;
        for problem in &report.problems {
            self.say(problem).await?;
        }
        sound?;
        self.say("all is well").await
    }

    pub(super) async fn create_backup(&self) -> Result<(), Error> {
        let backup = self.engine("a backup")?.backups().create().await?;
        self.say(backup.id.clone()).await?;
        let (bytes, path) = (backup.bytes(), backup.path.display());
        self.note(format!("a backup of {} in {path}", counted(bytes, "byte"))).await
    }
}

fn lines_of(description: &TableDescription) -> Vec<[String; 2]> {
    let TableDescription { spec, created_ms, items, bytes } = description;
    let line = |name: &str, value: String| [name.to_owned(), value];
    let mut lines = vec![line("table", spec.name.clone()), line("key", spec.key.to_string())];
    for index in &spec.indexes {
        let projected = match &index.projection {
            Projected::All => "whole items".to_owned(),
            Projected::KeysOnly => "keys only".to_owned(),
            Projected::Include(names) => format!("keys and {}", names.join(", ")),
        };
        let told = format!("{}: {}; {projected}", index.name, index.key);
        lines.push(line("index", told));
    }
    lines.push(line("ttl", spec.ttl.clone().unwrap_or_else(|| "none".to_owned())));
    let class = match spec.durability {
        Durability::Durable => "durable",
        Durability::Ephemeral => "ephemeral",
    };
    lines.push(line("class", class.to_owned()));
    lines.push(line("created", Timestamp::from_millis(*created_ms).to_string()));
    lines.push(line("items", items.to_string()));
    lines.push(line("bytes", bytes.to_string()));
    lines
}

fn json_of(description: &TableDescription) -> String {
    let TableDescription { spec, created_ms, items, bytes } = description;
    let created = Timestamp::from_millis(*created_ms).to_string();
    let mut json = json!({ "created": created, "items": items, "bytes": bytes });
    let spec = serde_json::to_value(spec).expect("a declaration always has a JSON form");
    if let (Some(json), serde_json::Value::Object(spec)) = (json.as_object_mut(), spec) {
        json.extend(spec);
    }
    json.to_string()
}

/// A list under its titles: in columns for people, or a line of JSON for each of its rows.
pub(crate) fn listed<const N: usize>(rows: &[[String; N]], as_json: bool) -> Vec<String> {
    let Some((titles, rows_below)) = rows.split_first().filter(|_| as_json) else {
        return columns(rows);
    };
    let line = |row: &[String; N]| {
        let fields = titles.iter().zip(row).map(|(title, value)| {
            let number = value.parse::<u64>().ok().map(serde_json::Value::from);
            (title.replace(' ', "_"), number.unwrap_or_else(|| value.as_str().into()))
        });
        serde_json::Value::Object(fields.collect()).to_string()
    };
    rows_below.iter().map(line).collect()
}

/// Lines whose cells stand below each other.
fn columns<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let length = |text: &String| text.chars().count();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(length).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

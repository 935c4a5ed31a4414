//! What was measured, for people and for programs.

use serde_json::json;

/// A figure, and what it stands beside.
#[derive(Debug)]
pub(super) struct Row {
    /// A word that programs know it by.
    id: &'static str,
    what: String,
    value: f64,
    unit: Unit,
    /// What the machine does without a house: the name of that figure, and the figure.
    limit: Option<(&'static str, f64)>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    PerSecond,
    Millis,
}

impl Row {
    pub(super) fn new(id: &'static str, what: &str, value: f64, unit: Unit) -> Row {
        Row { id, what: what.to_owned(), value, unit, limit: None }
    }

    /// Beside what the machine does without a house.
    pub(super) fn beside(mut self, name: &'static str, limit: f64) -> Row {
        self.limit = Some((name, limit));
        self
    }
}

/// A table.
pub(super) fn text(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.what.chars().count()).max().unwrap_or_default();
    let line = |row: &Row| {
        let value = match row.unit {
            Unit::PerSecond => format!("{:>11}/s ", grouped(row.value)),
            Unit::Millis => format!("{:>11.3} ms", row.value),
        };
        let limit = match row.limit {
            Some((name, limit)) => {
                format!("  {:.2} of {} {name}/s", row.value / limit, grouped(limit))
            }
            None => String::new(),
        };
        format!("{}\n", format!("{:<width$}  {value}{limit}", row.what).trim_end())
    };
    rows.iter().map(line).collect()
}

/// A line of JSON for each.
pub(super) fn json(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let unit = match row.unit {
            Unit::PerSecond => "1/s",
            Unit::Millis => "ms",
        };
        let limit = row.limit.map(|(name, value)| json!({ "what": name, "value": value }));
        let ratio = row.limit.map(|(_, limit)| row.value / limit);
        let row = json!({
            "what": row.id, "value": row.value, "unit": unit, "limit": limit, "ratio": ratio,
        });
        format!("{row}\n")
    };
    rows.iter().map(line).collect()
}

/// `12 345`
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Row, Unit, grouped, json, text};

    #[test]
    fn figures_stand_beside_what_bounds_them() {
        let rows = [
            Row::new("sync", "a sync", 0.25, Unit::Millis),
            Row::new("writes", "writes", 8_000.0, Unit::PerSecond).beside("syncs", 4_000.0),
        ];
        assert_eq!(
            text(&rows),
            "a sync        0.250 ms\nwrites        8 000/s   2.00 of 4 000 syncs/s\n"
        );
        let lines = json(&rows);
        let writes: serde_json::Value =
            serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!((&writes["ratio"], &writes["limit"]["what"]), (&2.0.into(), &"syncs".into()));
        assert_eq!(
            [1.0, 999.0, 1_000.0, 1_234_567.0].map(grouped),
            ["1", "999", "1 000", "1 234 567"]
        );
    }
}

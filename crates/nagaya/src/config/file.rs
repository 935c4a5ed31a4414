//! The layer in a file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use base::options::Form;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Given, Kind, Origin, Problem};

/// Every value of the file whose key is known.
pub(super) fn read(path: &Path, keys: &[&'static str], problems: &mut Vec<Problem>) -> Vec<Given> {
    match std::fs::read_to_string(path) {
        Ok(source) => parse(path, &source, keys, problems),
        Err(cause) => {
            problems.push(Problem::Unreadable { path: path.to_owned(), cause });
            Vec::new()
        }
    }
}

/// What [`read`] does, on the text of the file.
pub(super) fn parse(
    path: &Path,
    source: &str,
    keys: &[&'static str],
    problems: &mut Vec<Problem>,
) -> Vec<Given> {
    let mut reader = Reader { path: path.to_owned(), source, keys, given: Vec::new(), problems };
    match DeTable::parse(source) {
        Ok(table) => reader.table("", table.get_ref()),
        Err(error) => {
            let line = error.span().map_or(1, |span| reader.line(&span));
            let cause = format!("line {line}: {}", error.message());
            reader.problems.push(Problem::NotToml { path: path.to_owned(), cause });
        }
    }
    reader.given
}

struct Reader<'a> {
    path: PathBuf,
    source: &'a str,
    keys: &'a [&'static str],
    given: Vec<Given>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = match prefix {
                "" => name.get_ref().to_string(),
                _ => format!("{prefix}.{}", name.get_ref()),
            };
            let origin = Origin::File { path: self.path.clone(), line: self.line(&name.span()) };
            match value.get_ref() {
                DeValue::Table(inner) if self.leads_on(&key) || !inner.is_empty() => {
                    self.table(&key, inner);
                }
                DeValue::Table(_)
                | DeValue::String(_)
                | DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_) => self.value(&key, value, origin),
            }
        }
    }

    /// Whether known keys begin so.
    fn leads_on(&self, prefix: &str) -> bool {
        self.keys
            .iter()
            .any(|key| key.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.')))
    }

    fn value(&mut self, key: &str, value: &Spanned<DeValue<'_>>, origin: Origin) {
        let Some(key) = self.keys.iter().find(|known| **known == key) else {
            let sections = self.keys.iter().filter_map(|key| key.split('.').next());
            let known = self.keys.iter().copied().chain(sections).map(str::to_owned);
            return self.problems.push(Problem::unknown(key, origin, known));
        };
        let written = || self.source.get(value.span()).unwrap_or_default().to_owned();
        let (kind, text) = match value.get_ref() {
            DeValue::String(text) => (Kind::As(Form::Text), text.to_string()),
            DeValue::Integer(number) => {
                // TOML also writes 0xff and 1_000, which no other layer does.
                let plain = i128::from_str_radix(number.as_str(), number.radix());
                (
                    Kind::As(Form::Number),
                    plain.map_or_else(|_| written(), |plain| plain.to_string()),
                )
            }
            DeValue::Float(_) => (Kind::As(Form::Number), written()),
            DeValue::Boolean(switch) => (Kind::As(Form::Bool), switch.to_string()),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                (Kind::Unfit, written())
            }
        };
        self.given.push(Given { key, text, kind, origin });
    }

    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.source.get(..span.start).unwrap_or_default();
        before.matches('\n').count() + 1
    }
}

//! What is wrong with the settings, all of it.

use std::fmt;
use std::path::PathBuf;

use super::Origin;

/// Settings that cannot be used. Each problem has its own line.
#[derive(Debug)]
pub struct Invalid {
    pub(super) problems: Vec<Problem>,
}

impl std::error::Error for Invalid {}

#[derive(Debug)]
pub(super) enum Problem {
    Unreadable { path: PathBuf, cause: std::io::Error },
    NotToml { path: PathBuf, cause: String },
    Unknown { name: String, origin: Origin, nearest: Option<String> },
    Wrong { key: &'static str, text: String, origin: Origin, expected: String },
}

impl Problem {
    /// A name that is none of `known`.
    pub(super) fn unknown(
        name: &str,
        origin: Origin,
        known: impl Iterator<Item = String>,
    ) -> Problem {
        Problem::Unknown { name: name.to_owned(), origin, nearest: find_nearest(name, known) }
    }
}

/// The known name that a slip of the finger would explain.
fn find_nearest(name: &str, known: impl Iterator<Item = String>) -> Option<String> {
    // One edit in three letters; beyond that a guess would only mislead. None at all is a section
    // that was written as a value.
    let reach = name.chars().count() / 3;
    let near = known.map(|known| (strsim::damerau_levenshtein(name, &known), known));
    near.filter(|(distance, _)| (1..=reach).contains(distance)).min().map(|(_, known)| known)
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
        write!(f, "{}", lines.join("\n"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable { path, cause } => {
                write!(f, "cannot read the settings in `{}`: {cause}", path.display())
            }
            Problem::NotToml { path, cause } => write!(f, "{}: {cause}", path.display()),
            Problem::Unknown { name, origin, nearest } => {
                write!(f, "unknown setting `{name}` ({origin})")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
                    None => Ok(()),
                }
            }
            Problem::Wrong { key, text, origin, expected } => {
                write!(f, "`{key}` is `{text}` ({origin}), expected {expected}")
            }
        }
    }
}

//! The house style as functions over files.
//!
//! A rule takes a path (relative to the workspace, with `/`) and a text, and returns the
//! violations; `tests/tidy.rs` runs each rule over the tree, and each rule's own tests show it a
//! planted violation. The rules read text, not syntax: they are meant to catch a slip, not an
//! adversary.

pub mod doors;
pub mod manifests;
pub mod project;
pub mod rooms;
pub mod sources;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A text file of the tree.
#[derive(Clone, Debug)]
pub struct File {
    /// Relative to the workspace's root.
    pub path: String,
    /// Its contents.
    pub text: String,
}

/// One violation of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there and how to fix it.
    pub what: String,
}

impl Finding {
    /// A finding on one line.
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Every text file that git tracks or would track, so that a new file is checked before its commit;
/// inputs of fuzz targets are data.
pub fn files_of_the_tree() -> Result<Vec<File>, String> {
    let root = workspace_root();
    let list = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .map_err(|error| format!("cannot start git: {error}"))?;
    if !list.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&list.stderr)));
    }
    let mut files = Vec::new();
    for path in list.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let path = String::from_utf8_lossy(path).into_owned();
        if is_corpus(&path) {
            continue;
        }
        // A tracked file may be deleted in the working tree, and images are not text.
        if let Ok(text) = std::fs::read_to_string(root.join(&path)) {
            files.push(File { path, text });
        }
    }
    Ok(files)
}

/// The folder of the workspace's manifest.
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crate of a path.
pub(crate) fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split('/').next()
}

/// Whether a path is an input of a fuzz target.
fn is_corpus(path: &str) -> bool {
    matches!(path.split('/').collect::<Vec<_>>().as_slice(), ["crates", _, "corpus", _, _])
}

/// Whether a path is a Rust file.
pub(crate) fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

/// Whether all of a file is test code.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/benches/") || path.ends_with("/tests.rs")
}

/// The shipped lines with their numbers: without test modules and comments.
pub(crate) fn shipped_lines<'t>(path: &str, text: &'t str) -> Vec<(usize, &'t str)> {
    if is_test_file(path) {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let tests_start = lines.windows(2).position(|pair| match pair {
        [attribute, module] => {
            *attribute == "#[cfg(test)]" && module.starts_with("mod ") && module.ends_with('{')
        }
        _ => false,
    });
    let shipped = lines.into_iter().take(tests_start.unwrap_or(usize::MAX));
    let numbered = shipped.enumerate().map(|(index, line)| (index + 1, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//")).collect()
}

/// Whether `line` contains `word` as a whole word.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line.get(..start).and_then(|text| text.chars().next_back());
        let after = line.get(start + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_test_modules_and_comments_are_not_shipped() {
        let text = "//! Head.\nfn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        assert_eq!(shipped_lines("crates/base/src/a.rs", text), [(2, "fn a() {}")]);
        assert_eq!(shipped_lines("crates/base/tests/a.rs", text), []);
    }

    #[test]
    fn a_test_module_in_its_own_file_does_not_end_the_shipped_part() {
        let text = "#[cfg(test)]\nmod tests;\nfn a() {}\n";
        assert_eq!(shipped_lines("crates/base/src/a.rs", text).last(), Some(&(3, "fn a() {}")));
    }

    #[test]
    fn words_are_found_whole() {
        assert!(has_word("a (word)", "word"));
        assert!(!has_word("a word_too", "word"));
        assert!(!has_word("a swords", "word"));
    }
}

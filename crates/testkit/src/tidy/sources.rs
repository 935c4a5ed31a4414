//! Rules about single files: heads, lengths, imports, forbidden words.

use super::{Finding, has_word, is_rust, is_test_file, shipped_lines};

/// A file of this many lines is listed as one to split.
pub const LONG_FILE_LINES: usize = 400;
/// A file of more lines than this is refused.
pub const FILE_LINES_MAX: usize = 800;

/// The only files that may contain it: LMDB maps a file into memory, which Rust cannot prove sound;
/// no safe crate offers two system calls and an option of the allocator.
const UNSAFE_HOMES: [&str; 3] = [
    "crates/base/src/allocator.rs",
    "crates/table/src/embedded/settled/lmdb.rs",
    "crates/table/src/embedded/kernel.rs",
];
// Spelled in parts, because these rules also check this file.
const UNSAFE: &str = concat!("un", "safe");
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
const FOLDERS: [&str; 4] =
    [concat!("/", "home"), concat!("/", "root"), concat!("/", "work"), concat!("/", "tmp")];

/// Every Rust file opens with `//!`: what lives here, what does not, where to read next.
pub fn opens_with_a_head(path: &str, text: &str) -> Vec<Finding> {
    if !is_rust(path) || text.starts_with("//! ") {
        return Vec::new();
    }
    vec![Finding::new(path, 1, "the file does not open with `//!` and what lives in it")]
}

/// No Rust file is longer than [`FILE_LINES_MAX`].
pub fn is_not_too_long(path: &str, text: &str) -> Vec<Finding> {
    let lines = text.lines().count();
    if !is_rust(path) || lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    let what = format!("{lines} lines, at most {FILE_LINES_MAX}: make it a folder of that name");
    vec![Finding::new(path, lines, what)]
}

/// Whether a Rust file should be split soon.
pub fn is_long(path: &str, text: &str) -> bool {
    is_rust(path) && text.lines().count() > LONG_FILE_LINES
}

/// A module with children is `name.rs` beside `name/`.
pub fn is_not_mod_rs(path: &str, _text: &str) -> Vec<Finding> {
    if path.ends_with("/mod.rs") {
        vec![Finding::new(path, 1, "a module with children is `name.rs` beside `name/`")]
    } else {
        Vec::new()
    }
}

/// Imports name what they use, outside tests and preludes.
pub fn imports_no_globs(path: &str, text: &str) -> Vec<Finding> {
    if !is_rust(path) {
        return Vec::new();
    }
    let globs = shipped_lines(path, text).into_iter().filter(|(_, line)| is_glob(line));
    globs.map(|(line, _)| Finding::new(path, line, "a glob import: name what is used")).collect()
}

fn is_glob(line: &str) -> bool {
    line.match_indices("::*").any(|(start, star)| {
        let before = line.get(..start).unwrap_or_default();
        let after = line.get(start + star.len()..).unwrap_or_default().trim_start();
        let ends = after.is_empty() || after.starts_with([';', ',', '}']);
        ends && !before.ends_with("prelude")
    })
}

/// Only three files contain code that the compiler cannot check, and the word is nowhere else.
pub fn leaves_soundness_to_the_compiler(path: &str, text: &str) -> Vec<Finding> {
    if !is_rust(path) || UNSAFE_HOMES.contains(&path) {
        return Vec::new();
    }
    let what = format!("`{UNSAFE}` stands only in {}", UNSAFE_HOMES.join(" and "));
    find_words(path, text, &[UNSAFE], |_| what.clone())
}

/// No mark for later work is in the text; open work is in issues.
pub fn leaves_no_marks(path: &str, text: &str) -> Vec<Finding> {
    find_words(path, text, &MARKS, |mark| format!("`{mark}`: do it now, or write an issue"))
}

/// No file names a folder of one machine.
pub fn names_no_machine_folder(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for folder in FOLDERS.iter().filter(|folder| starts_a_path(line, folder)) {
            let what = format!("`{folder}` is a folder of one machine: use a relative path");
            findings.push(Finding::new(path, index + 1, what));
        }
    }
    findings
}

/// Whether `folder` begins a path in `line`, and is not the middle of another one.
fn starts_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        let before = line.get(..start).and_then(|text| text.chars().next_back());
        let after = line.get(start + folder.len()..).and_then(|text| text.chars().next());
        let in_a_path = |c: char| c.is_alphanumeric() || "._-~}*)/".contains(c);
        let in_a_name = |c: char| c.is_alphanumeric() || "_-".contains(c);
        !before.is_some_and(in_a_path) && !after.is_some_and(in_a_name)
    })
}

fn find_words(
    path: &str,
    text: &str,
    words: &[&str],
    what: impl Fn(&str) -> String,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for word in words.iter().filter(|word| has_word(line, word)) {
            findings.push(Finding::new(path, index + 1, what(word)));
        }
    }
    findings
}

/// Test names make a claim: at least two words.
pub fn names_tests_as_claims(path: &str, text: &str) -> Vec<Finding> {
    if !is_rust(path) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut after_attribute = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            after_attribute = true;
        } else if let Some(rest) = line.strip_prefix("fn ").or(line.strip_prefix("async fn ")) {
            let name = rest.split('(').next().unwrap_or_default();
            if after_attribute && name.split('_').count() < 2 {
                let what = format!("`{name}` names no claim: say what holds");
                findings.push(Finding::new(path, index + 1, what));
            }
            after_attribute = false;
        }
    }
    findings
}

/// Tests wait for a condition, never for time.
pub fn sleeps_in_no_test(path: &str, text: &str) -> Vec<Finding> {
    if !is_rust(path) {
        return Vec::new();
    }
    let shipped = shipped_lines(path, text).last().map_or(0, |(line, _)| *line);
    let first_test_line = if is_test_file(path) { 0 } else { shipped };
    let calls = [concat!("thread::", "sleep("), concat!("time::", "sleep(")];
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate().skip(first_test_line) {
        if calls.iter().any(|call| line.contains(call)) {
            findings.push(Finding::new(path, index + 1, "a test that sleeps: wait for the state"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "crates/base/src/clock.rs";

    const NONE: [usize; 0] = [];

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_file_without_head_is_found() {
        assert_eq!(lines(&opens_with_a_head(FILE, "use std::fmt;\n")), [1]);
        assert_eq!(lines(&opens_with_a_head(FILE, "//! The clock.\n")), NONE);
        assert_eq!(lines(&opens_with_a_head("README.md", "# Nagaya\n")), NONE);
    }

    #[test]
    fn a_file_of_801_lines_is_found_and_one_of_800_is_not() {
        assert_eq!(lines(&is_not_too_long(FILE, &"//\n".repeat(801))), [801]);
        assert_eq!(lines(&is_not_too_long(FILE, &"//\n".repeat(800))), NONE);
        assert!(is_long(FILE, &"//\n".repeat(401)) && !is_long(FILE, &"//\n".repeat(400)));
    }

    #[test]
    fn a_mod_rs_is_found() {
        assert_eq!(lines(&is_not_mod_rs("crates/base/src/clock/mod.rs", "")), [1]);
        assert_eq!(lines(&is_not_mod_rs(FILE, "")), NONE);
    }

    #[test]
    fn a_glob_import_is_found_outside_tests_and_preludes() {
        let text = "//! H.\nuse a::*;\nuse b::{c::*, d};\nuse e::prelude::*;\nlet x = y::*z;\n";
        assert_eq!(lines(&imports_no_globs(FILE, text)), [2, 3]);
        let test = "#[cfg(test)]\nmod tests {\n    use super::*;\n}\n";
        assert_eq!(lines(&imports_no_globs(FILE, test)), NONE);
        assert_eq!(lines(&imports_no_globs("crates/base/tests/a.rs", text)), NONE);
    }

    #[test]
    fn unchecked_code_is_found_outside_its_home() {
        let text = format!("//! H.\n{UNSAFE} {{ open() }}\n#![deny({UNSAFE}_code)]\n");
        assert_eq!(lines(&leaves_soundness_to_the_compiler(FILE, &text)), [2]);
        for home in UNSAFE_HOMES {
            assert_eq!(lines(&leaves_soundness_to_the_compiler(home, &text)), NONE);
        }
    }

    #[test]
    fn a_mark_is_found_in_any_file() {
        for mark in MARKS {
            assert_eq!(lines(&leaves_no_marks("README.md", &format!("a\n{mark}: b\n"))), [2]);
        }
        assert_eq!(lines(&leaves_no_marks(FILE, "todo!()\n")), NONE);
    }

    #[test]
    fn a_folder_of_one_machine_is_found_where_it_begins_a_path() {
        for folder in FOLDERS {
            let text = format!("a\ncd {folder}/x\n`{folder}`\n");
            assert_eq!(lines(&names_no_machine_folder("docs/a.md", &text)), [2, 3]);
            let innocent = format!("./a{folder}/b\n<{folder}er>\n$X{folder}\n");
            assert_eq!(lines(&names_no_machine_folder("docs/a.md", &innocent)), NONE);
        }
    }

    #[test]
    fn a_test_without_a_claim_is_found() {
        let text = "#[test]\nfn works() {}\n#[test]\nfn time_never_turns_back() {}\nfn a() {}\n";
        assert_eq!(lines(&names_tests_as_claims(FILE, text)), [2]);
    }

    #[test]
    fn a_sleeping_test_is_found_and_sleeping_code_is_not() {
        let sleep = concat!("std::thread::", "sleep(x);");
        let text = format!("fn a() {{\n{sleep}\n}}\n#[cfg(test)]\nmod tests {{\n{sleep}\n}}\n");
        assert_eq!(lines(&sleeps_in_no_test(FILE, &text)), [6]);
        assert_eq!(lines(&sleeps_in_no_test("crates/a/tests/b.rs", &text)), [2, 6]);
    }
}

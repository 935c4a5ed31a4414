//! The tree follows the house style. The rules, each with a planted violation, are in
//! `testkit::tidy`; here they run on the real files.

use testkit::tidy::{self, File, Finding, doors, manifests, project, rooms, sources};

type Rule = fn(&str, &str) -> Vec<Finding>;

fn files() -> Vec<File> {
    let files = tidy::files_of_the_tree().expect("the tree can be listed");
    assert!(files.iter().any(|file| file.path == "Cargo.toml"), "the tree has a manifest");
    files
}

#[track_caller]
fn assert_keeps(rule: Rule) {
    assert_none(files().iter().flat_map(|file| rule(&file.path, &file.text)).collect());
}

#[track_caller]
fn assert_none(findings: Vec<Finding>) {
    let list: String = findings.iter().map(|finding| format!("\n  {finding}")).collect();
    assert!(findings.is_empty(), "{} found:{list}", findings.len());
}

#[test]
fn every_file_opens_with_a_head() {
    assert_keeps(sources::opens_with_a_head);
}

#[test]
fn no_file_is_too_long() {
    let files = files();
    let long = files.iter().filter(|file| sources::is_long(&file.path, &file.text)).count();
    println!("{long} files have more than {} lines", sources::LONG_FILE_LINES);
    assert_keeps(sources::is_not_too_long);
}

#[test]
fn no_file_is_called_mod_rs() {
    assert_keeps(sources::is_not_mod_rs);
}

#[test]
fn imports_name_what_they_take() {
    assert_keeps(sources::imports_no_globs);
}

#[test]
fn only_listed_files_contain_unchecked_code() {
    assert_keeps(sources::leaves_soundness_to_the_compiler);
}

#[test]
fn no_mark_for_later_work_is_in_the_text() {
    assert_keeps(sources::leaves_no_marks);
}

#[test]
fn no_file_names_a_folder_of_one_machine() {
    assert_keeps(sources::names_no_machine_folder);
}

#[test]
fn names_of_tests_are_claims() {
    assert_keeps(sources::names_tests_as_claims);
}

#[test]
fn no_test_sleeps() {
    assert_keeps(sources::sleeps_in_no_test);
}

#[test]
fn only_edge_names_the_http_library() {
    assert_keeps(doors::leaves_the_wire_to_edge);
    assert_keeps(manifests::leaves_http_to_edge);
}

#[test]
fn only_the_binary_reads_environment_and_arguments() {
    assert_keeps(doors::leaves_the_environment_to_the_binary);
}

#[test]
fn only_table_touches_data_files() {
    assert_keeps(doors::leaves_the_disk_to_table);
}

#[test]
fn every_crate_knows_only_lower_crates() {
    assert_keeps(manifests::knows_only_lower_crates);
}

#[test]
fn members_stand_bottom_up() {
    assert_none(manifests::lists_members_bottom_up(&files()));
}

#[test]
fn every_crate_inherits_from_the_workspace() {
    assert_keeps(manifests::inherits_from_the_workspace);
    assert_keeps(manifests::takes_versions_from_the_workspace);
}

#[test]
fn services_have_the_same_rooms() {
    assert_keeps(rooms::has_only_known_rooms);
    assert_keeps(rooms::keeps_rooms_apart);
}

#[test]
fn the_workspace_denies_the_agreed_lints() {
    assert_keeps(project::denies_the_agreed_lints);
    assert_keeps(project::guards_the_doors);
}

#[test]
fn the_changelog_has_a_place_for_what_comes_next() {
    assert!(files().iter().any(|file| file.path == "CHANGELOG.md"), "there is a CHANGELOG.md");
    assert_keeps(project::has_an_unreleased_part);
}

#[test]
fn links_between_pages_lead_somewhere() {
    let root = tidy::workspace_root();
    let exists = |path: &std::path::Path| root.join(path).exists();
    let judge = |file: &File| project::links_lead_somewhere(&file.path, &file.text, &exists);
    assert_none(files().iter().flat_map(judge).collect());
}

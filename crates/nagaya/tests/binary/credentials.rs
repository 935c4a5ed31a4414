//! `nagaya key`, `nagaya operator`, `nagaya score sign`, and the way in that a house prints at its first start.

use testkit::{Program, Served};

/// What lies between two parts of a text.
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {text}"));
    rest.split_once(after).map_or(rest, |(part, _)| part)
}

/// The id that the note about a new secret tells.
fn create(program: &Program, arguments: &str) -> (String, String) {
    let (code, text, note) = program.run(&format!("key create {arguments}"), &[]);
    assert_eq!(code, 0, "{note}");
    (text.trim_end().to_owned(), between(&note, "revoked as `", "`").to_owned())
}

fn keys_are_made_listed_and_revoked(program: &Program) {
    let (first, id) = create(program, "school --scope mesh --scope collect:read");
    assert!(first.starts_with("nk_school_") && first.len() == 50, "{first}");
    let (second, _) = create(program, "school --expires 2099-01-01T00:00:00Z");
    assert_ne!(first, second);
    let listed = program.answer("key list", &[]);
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.contains(&format!("{id}  collect:read,mesh  ")), "{listed}");
    assert!(listed.contains("2099-01-01T00:00:00.000Z  never"), "{listed}");
    assert!(!listed.contains(&first[10..]) && !listed.contains(&second[10..]), "{listed}");
    for (arguments, told) in [
        ("key create school", "key `school` has 2 valid secrets; revoke one of them first"),
        ("key create a_b --scope mesh", "`a_b` cannot name a key"),
        ("key create a --scope Mesh", "no room knows the scope `Mesh`; there are mesh, sns, "),
        ("key create a --scope collect:write", "collect, collect:read, collect:operate, score"),
        ("key create a", "a new key needs 1 to 32 scopes, not 0"),
        ("key create a --scope mesh --expires 2001-01-01T00:00:00Z", "a key cannot expire at 2001"),
        ("key revoke nobody", "there is no key `nobody`"),
        ("key revoke school/nothing", "there is no key `school/nothing`"),
        ("table scan edge_credentials", "table `edge_credentials` holds secrets"),
        ("table export edge_credentials", "table `edge_credentials` holds secrets"),
        ("table delete edge_credentials pk=key sk=school", "holds secrets"),
    ] {
        let (code, out, error) = program.run(arguments, &[]);
        assert_eq!((code, out.as_str()), (1, ""), "{arguments}");
        assert!(error.contains(told), "{arguments}: {error}");
    }
    let revoked = program.answer("key revoke", &[&id]);
    assert_eq!(revoked, "revoked 1 secret of key `school`\n");
    assert_eq!(program.answer("key list", &[]).lines().count(), 2);
    program.answer("key revoke school", &[]);
    assert_eq!(program.answer("key list", &[]).lines().count(), 1);
}

#[test]
fn an_open_house_has_keys() {
    let program = testkit::program!();
    let house = program.open();
    keys_are_made_listed_and_revoked(&program);
    let (status, log) = house.close();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains("nk_"), "{log}");
}

#[test]
fn a_closed_house_has_keys() {
    keys_are_made_listed_and_revoked(&testkit::program!().closed());
}

#[test]
fn keys_of_plays_turn_by_hand_and_are_not_shown() {
    let said = "new plays get a new key; those under way keep theirs\n";
    let program = testkit::program!();
    let house = program.open();
    let token = |house: &Served| {
        let answer = get(house, "/score/get-start", "");
        between(&answer, "\"token_start\":\"", "\"").to_owned()
    };
    let first = token(&house);
    assert_eq!(program.answer("score keys rotate", &[]), said);
    let ended = get(&house, &format!("/score/get-end?token_start={first}"), "");
    assert!(ended.contains("\"ok\":true"), "{ended}");
    let (status, log) = house.close();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!log.contains(&first), "{log}");
    assert_eq!(program.answer("score keys rotate", &[]), said);
}

fn get(house: &Served, path: &str, cookie: &str) -> String {
    house.ask("GET", path, &format!("accept: text/html\r\ncookie: {cookie}\r\n"), "")
}

/// Sends a form as a browser does on plain HTTP: with its origin.
fn post(house: &Served, path: &str, origin: &str, form: &str) -> String {
    let head =
        format!("origin: http://{origin}\r\ncontent-type: application/x-www-form-urlencoded\r\n");
    house.ask("POST", path, &head, form)
}

/// The path of a link to this house.
fn path_of<'t>(house: &Served, link: &'t str) -> &'t str {
    let path = link.trim().strip_prefix(&format!("http://{}", house.address));
    path.unwrap_or_else(|| panic!("{link} does not lead to {}", house.address))
}

fn set_password(house: &Served, path: &str, password: &str) -> String {
    assert!(get(house, path, "").starts_with("HTTP/1.1 200 "));
    let token = between(path, "token=", "&");
    let form = format!("token={token}&password={password}&again={password}");
    let foreign = post(house, "/console/setup", "evil.example", &form);
    assert!(foreign.starts_with("HTTP/1.1 403 "), "{foreign}");
    let done = post(house, "/console/setup", &house.address, &form);
    assert!(done.starts_with("HTTP/1.1 303 "), "{done}");
    let replayed = post(house, "/console/setup", &house.address, &form);
    assert!(replayed.starts_with("HTTP/1.1 410 "), "{replayed}");
    between(&done, "set-cookie: ", ";").to_owned()
}

#[test]
fn the_operator_comes_in_by_the_link_of_the_first_start() {
    let program = testkit::program!();
    let house = program.open();
    let link = house.set_up_link().to_owned();
    let cookie = set_password(&house, path_of(&house, &link), "a+sentence+to+remember");
    assert!(get(&house, "/console", &cookie).starts_with("HTTP/1.1 200 "));
    assert!(get(&house, "/console", "").starts_with("HTTP/1.1 303 "));
    let (_, log) = house.close();
    assert!(!log.contains(between(&link, "token=", "\n")), "{log}");

    let house = program.open();
    assert_eq!(house.find_named("set up"), None);
    assert!(get(&house, "/console", &cookie).starts_with("HTTP/1.1 200 "), "sessions are durable");
    let wrong = post(&house, "/console/sign-in", &house.address, "password=wrong");
    assert!(wrong.starts_with("HTTP/1.1 401 "), "{wrong}");
    let form = "password=a+sentence+to+remember";
    let right = post(&house, "/console/sign-in", &house.address, form);
    assert!(right.starts_with("HTTP/1.1 303 "), "{right}");

    program.answer("operator sign-out", &[]);
    assert!(get(&house, "/console", &cookie).starts_with("HTTP/1.1 303 "));
    let link = program.answer("operator link", &[]);
    let cookie = set_password(&house, path_of(&house, &link), "another+sentence");
    assert!(get(&house, "/console", &cookie).starts_with("HTTP/1.1 200 "));
    let old = post(&house, "/console/sign-in", &house.address, form);
    assert!(old.starts_with("HTTP/1.1 401 "), "{old}");
}

#[test]
fn a_link_of_a_closed_house_works_when_it_opens() {
    let program = testkit::program!().closed();
    let (code, link, note) = program.run("operator link --operator-url https://n.example/", &[]);
    assert_eq!(code, 0, "{note}");
    assert!(link.starts_with("https://n.example/console/setup?token="), "{link}");
    assert!(note.contains("works once, for 24 hours"), "{note}");
    let house = program.open();
    let old = get(&house, link.trim().strip_prefix("https://n.example").unwrap(), "");
    assert!(old.starts_with("HTTP/1.1 410 "), "the start made a newer one: {old}");
    set_password(&house, path_of(&house, house.set_up_link()), "a+sentence+to+remember");
}

#[test]
fn the_signature_of_a_play_is_what_clients_send() {
    let program = testkit::program!();
    let vectors: serde_json::Value =
        serde_json::from_str(include_str!("../../../score/vectors.json")).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    for signature in vectors["signatures"].as_array().unwrap() {
        let (token, message) = (text(&vectors["end"]["token"]), text(&signature["message"]));
        let printed = program.answer("score sign", &[&token, &message]);
        assert_eq!(printed.trim_end(), text(&signature["base64url"]));
    }
}

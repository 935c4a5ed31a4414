//! The pages on the wire: whole without script, harmless whatever was written, and never holding a
//! host's credential.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Answer, HOST, Talk};
use crate::Options;

const JA: &[(&str, &str)] = &[("accept-language", "ja")];

/// A form without script.
async fn write(talk: &Talk, code: &str, form: &str) -> Answer {
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    talk.ask("POST", &format!("/live/r/{code}"), &headers, form).await
}

async fn code_of(talk: &Talk, room: &str) -> String {
    let shown = talk.get(&format!("/live/rooms/{room}")).await.is(200);
    shown["code"].as_str().unwrap().to_owned()
}

async fn pages(talk: &Talk, room: &str) -> [String; 4] {
    let code = code_of(talk, room).await;
    let room = |kind: &str| format!("/live/{kind}/{room}");
    ["/live".to_owned(), format!("/live/r/{code}"), room("host"), room("wall")]
}

#[testkit::test]
async fn every_page_speaks_two_languages_under_the_strict_policy() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    for path in pages(&talk, &room).await {
        let english = talk.get(&path).await;
        let japanese = talk.ask("GET", &path, JA, "").await;
        assert!(english.text().contains("<html lang=\"en\">"), "{path}");
        assert!(japanese.text().contains("<html lang=\"ja\">"), "{path}");
        let policy = english.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("trusted-types"));
        assert!(!policy.contains("inline") && !policy.contains("eval"), "{policy}");
        assert!(!english.text().contains(" style=") && !english.text().contains(" onclick="));
        assert!(!english.text().contains("<script>"), "{path}");
        let chosen = talk.ask("GET", &format!("{path}?lang=en"), JA, "").await;
        assert!(chosen.text().contains("<html lang=\"en\">"), "{path}");
        assert!(chosen.header("set-cookie").unwrap().starts_with("lang=en;"), "{path}");
    }
}

#[testkit::test]
async fn every_file_that_a_page_or_a_module_names_is_there_for_ever() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let mut wanted = BTreeSet::new();
    for path in pages(&talk, &room).await {
        let page = talk.get(&path).await.text().to_owned();
        let named = page.split('"').filter(|part| part.starts_with("/live/assets/"));
        wanted.extend(named.map(str::to_owned));
    }
    let mut seen = BTreeSet::new();
    while let Some(path) = wanted.pop_first() {
        let file = talk.get(&path).await;
        assert_eq!(file.status, 200, "{path}");
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
        let kind = file.header("content-type").unwrap();
        let expected =
            [(".js", "text/javascript"), (".css", "text/css"), (".svg", "image/svg+xml")];
        assert!(
            expected.iter().any(|(end, is)| path.ends_with(end) && kind.starts_with(is)),
            "{path}"
        );
        let folder = path.rsplit_once('/').unwrap().0;
        for import in file.text().split("from \"./").skip(1) {
            let name = import.split('"').next().unwrap();
            wanted.insert(format!("{folder}/{name}"));
        }
        seen.insert(path);
        wanted.retain(|path| !seen.contains(path));
    }
    assert!(seen.iter().any(|path| path.ends_with("/kit/dom.js")), "{seen:?}");
    assert!(seen.iter().any(|path| path.ends_with("/lanes.js")), "{seen:?}");
    for unhashed in ["/live/assets/room.js", "/live/assets/kit/dom.js", "/live/room.js"] {
        assert_eq!(talk.get(unhashed).await.status, 404, "{unhashed}");
    }
}

#[testkit::test]
async fn a_participant_without_script_reads_and_writes() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let code = code_of(&talk, &room).await;
    let said = write(&talk, &code, "content=%E3%81%AF%E3%81%84&nickname=Ada").await;
    assert_eq!((said.status, said.header("location")), (303, Some(&*format!("/live/r/{code}"))));
    let page = talk.get(&format!("/live/r/{}", code.to_lowercase())).await;
    assert!(
        page.text().contains(">はい</p>") && page.text().contains(">Ada</bdi>"),
        "{}",
        page.text()
    );
    // Older ones are behind a link.
    for number in 0..100 {
        talk.say(&room, &format!("no {number}")).await;
    }
    let page = talk.get(&format!("/live/r/{code}")).await.text().to_owned();
    assert!(!page.contains(">はい</p>") && page.contains(">no 0</p>"));
    let older = page.split("href=\"?before=").nth(1).unwrap().split('"').next().unwrap();
    let older = talk.get(&format!("/live/r/{code}?before={older}")).await.text().to_owned();
    assert!(older.contains(">はい</p>") && !older.contains(">no 0</p>"));
}

#[testkit::test]
async fn a_browser_without_script_gets_a_participant_with_its_first_comment() {
    let options = Options { address_comments_per_second: 1, ..Options::default() };
    let talk = Talk::alone_with(options).await;
    let room = talk.create().await;
    let code = code_of(&talk, &room).await;
    let said = write(&talk, &code, "content=a&nickname=Ada").await;
    let cookie = said.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; HttpOnly; SameSite=Lax"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    for number in 0..10 {
        talk.speak(&room, &format!("bot-{number}"), "buy").await;
    }
    assert_eq!(write(&talk, &code, "content=a&nickname=Ben").await.status, 429);
    let form = "application/x-www-form-urlencoded";
    let headers = [("content-type", form), ("cookie", &*cookie)];
    let again = talk.ask("POST", &format!("/live/r/{code}"), &headers, "content=b").await;
    assert_eq!((again.status, again.header("set-cookie")), (303, None));
}

#[testkit::test]
async fn a_held_comment_of_the_form_is_answered_by_a_note() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let code = code_of(&talk, &room).await;
    talk.patch(&room, json!({ "hostId": HOST, "blockWords": ["rude"] })).await.is(200);
    let said = write(&talk, &code, "content=RUDE&nickname=Ada").await;
    let path = format!("/live/r/{code}?held=1");
    assert_eq!((said.status, said.header("location")), (303, Some(&*path)));
    let note = "role=\"status\">Sent. It appears after the host approves it.</p>";
    assert!(talk.get(&path).await.text().contains(note));
    let japanese = talk.ask("GET", &path, JA, "").await;
    assert!(japanese.text().contains("送信しました。ホストの承認後に表示されます。</p>"));
    assert!(!talk.get(&format!("/live/r/{code}")).await.text().contains(note));
}

#[testkit::test]
async fn what_the_form_may_not_say_is_explained_and_kept() {
    let talk = Talk::alone().await;
    let room = talk.create().await;
    let code = code_of(&talk, &room).await;
    let refused = async |form: &str, status: u16, told: &str| {
        let page = write(&talk, &code, form).await;
        assert_eq!(page.status, status, "{}", page.text());
        assert!(page.text().contains(&format!("role=\"alert\">{told}")), "{}", page.text());
        page.text().to_owned()
    };
    refused("content=+%0A", 400, "That text is empty or too long.").await;
    let long = "x".repeat(201);
    let page = refused(&format!("content={long}&nickname=Ada"), 400, "That text").await;
    assert!(page.contains(&format!("{long}</textarea>")) && page.contains("value=\"Ada\""));
    for _ in 0..5 {
        assert_eq!(write(&talk, &code, "content=a&nickname=B").await.status, 303);
    }
    refused("content=a&nickname=B", 429, "That was too fast.").await;
    talk.pass_ms(10_000).await;
    talk.patch(&room, json!({ "hostId": HOST, "paused": true })).await.is(200);
    refused("content=a", 409, "The host has paused the comments.").await;
    talk.patch(&room, json!({ "hostId": HOST, "slowModeSeconds": 60, "paused": false })).await;
    assert_eq!(write(&talk, &code, "content=a").await.status, 303);
    refused("content=a", 429, "The room is in slow mode.").await;
    talk.patch(&room, json!({ "hostId": HOST })).await.is(200);
    refused("content=a", 409, "The room is closed.").await;
    let huge = format!("content={}", "x".repeat(1_000_000));
    write(&talk, &code, &huge).await.is_problem(413, "body_too_large");
    write(&talk, &code, "\u{0}%ff=%").await;
    assert_eq!(talk.get(&format!("/live/r/{code}")).await.status, 200);
}

#[testkit::test]
async fn what_was_written_is_text_on_every_page() {
    let talk = Talk::open().await;
    let name = "\"><script>alert(1)</script>&amp;'";
    let body = json!({ "name": name, "hostId": HOST });
    let made = talk.post("/live/rooms", body).await.is(201);
    let room = made["roomId"].as_str().unwrap();
    let comment = json!({
        "content": "<img src=x onerror=alert(1)> \u{5d0}\u{2067}abc \u{202e}gnp.exe",
        "nickname": "</bdi><b>x",
    });
    talk.post(&format!("/live/rooms/{room}/comments"), comment).await.is(201);
    for path in pages(&talk, room).await {
        let page = talk.get(&path).await.text().to_owned();
        assert!(!page.contains("<script>") && !page.contains("<img"), "{page}");
        assert!(!page.contains("<b>"), "{page}");
        if path != "/live" {
            assert!(page.contains("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        }
        if path.contains("/r/") || path.contains("/wall/") {
            // A direction ends where the text does.
            assert!(page.contains("<p class=\"said\" dir=\"auto\" data-slot=\"content\">&lt;img"));
            assert!(page.contains("<bdi data-slot=\"nickname\">&lt;/bdi&gt;&lt;b&gt;x</bdi>"));
            assert!(!page.contains('\u{202e}') && !page.contains('\u{2067}'), "{page}");
        }
    }
}

#[testkit::test]
async fn hidden_comments_are_on_no_page() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let comment = talk.speak(&room, "a", "taken back").await.is(201);
    let shown = async |is: bool| {
        for path in pages(&talk, &room).await {
            let wanted = is && (path.contains("/r/") || path.contains("/wall/"));
            assert_eq!(talk.get(&path).await.text().contains("taken back"), wanted, "{path}");
        }
    };
    shown(true).await;
    talk.act(&room, &comment, "hide").await.is(200);
    shown(false).await;
    talk.act(&room, &comment, "restore").await.is(200);
    shown(true).await;
}

#[testkit::test]
async fn a_code_leads_to_its_room_however_it_is_typed_and_a_wrong_one_to_a_page_that_says_so() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let code = code_of(&talk, &room).await;
    let typed = format!("{}+{}", code[..3].to_lowercase(), &code[3..]);
    let led = talk.get(&format!("/live/join?code={typed}")).await;
    assert_eq!((led.status, led.header("location")), (303, Some(&*format!("/live/r/{code}"))));
    assert_eq!(talk.get("/live/join").await.header("location"), Some("/live"));
    let astray = talk.get("/live/join?code=%0d%0aset-cookie:x//evil").await;
    assert_eq!(astray.header("location"), Some("/live/r/SETCOO"));
    for path in ["/live/r/SETCOO", "/live/r/x", "/live/host/x", "/live/wall/x"] {
        let gone = talk.get(path).await;
        assert_eq!(gone.status, 404, "{path}");
        assert!(gone.text().contains("There is no such room"), "{path}: {}", gone.text());
    }
    assert!(talk.ask("GET", "/live/r/x", JA, "").await.text().contains("ルームが見つかりません"));
}

#[testkit::test]
async fn a_host_lists_its_rooms_without_its_credential_in_an_address() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    let listed = talk.as_host("GET", "/live/rooms", "").await.is(200);
    assert_eq!(listed["rooms"][0]["roomId"], json!(room));
    talk.get("/live/rooms").await.is_problem(400, "invalid");
}

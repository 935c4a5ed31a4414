//! The pages on the wire: whole without script, for whom they are meant, and harmless whatever an
//! upstream says.

use std::collections::BTreeSet;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::upstream::Reply;
use super::{Answer, FIRST, House, World};

const JA: (&str, &str) = ("accept-language", "ja");

impl House {
    /// Opens a page of the operator.
    async fn page(&self, path: &str) -> Answer {
        self.ask("GET", path, &[("x-api-key", &self.key)], "").await
    }

    /// Sends a form without script.
    async fn send(&self, path: &str, form: &str) -> Answer {
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.ask("POST", path, &[("x-api-key", &self.key), kind], form).await
    }
}

const PAGES: [&str; 4] = ["", "/operate", "/operate/new", "/operate/edit/tokyo"];

async fn furnished() -> (World, House) {
    let (world, house) = World::with_one().await;
    assert_eq!(house.add(&world, "tokyo", &serde_json::json!({})).await.status, 201);
    (world, house)
}

#[tokio::test]
async fn every_page_speaks_two_languages_under_the_strict_policy() {
    let (_world, house) = furnished().await;
    for path in PAGES {
        let english = house.page(path).await;
        assert_eq!(english.status, 200, "{english:?}");
        let japanese = house.ask("GET", path, &[("x-api-key", &house.key), JA], "").await;
        assert!(english.body.contains("<html lang=\"en\">"), "{path}");
        assert!(japanese.body.contains("<html lang=\"ja\">"), "{path}");
        let policy = english.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("trusted-types"));
        assert!(!english.body.contains(" style=") && !english.body.contains("<script>"), "{path}");
    }
}

#[tokio::test]
async fn every_file_that_a_page_or_a_module_names_is_there_for_ever() {
    let (_world, house) = furnished().await;
    let mut wanted = BTreeSet::new();
    for path in PAGES {
        let page = house.page(path).await.body;
        let named = page.split('"').filter_map(|part| part.strip_prefix("/collect/assets/"));
        wanted.extend(named.map(|name| format!("/assets/{name}")));
    }
    let mut seen = BTreeSet::new();
    while let Some(path) = wanted.pop_first() {
        let file = house.get(&path).await;
        assert_eq!(file.status, 200, "{path}");
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
        let folder = path.rsplit_once('/').unwrap().0;
        for import in file.body.split("from \"./").skip(1) {
            let name = import.split('"').next().unwrap();
            wanted.insert(format!("{folder}/{name}"));
        }
        seen.insert(path);
        wanted.retain(|path| !seen.contains(path));
    }
    for name in ["/kit/dom.js", "/kit/uplot.js", "/kit/uplot.css", "/row.js", "/summary.js"] {
        assert!(seen.iter().any(|path| path.ends_with(name)), "{name}: {seen:?}");
    }
}

#[tokio::test]
async fn the_desk_is_the_operators_and_the_half_hour_everybodys() {
    let (_world, house) = furnished().await;
    assert_eq!(house.get("").await.status, 200);
    for path in ["/operate", "/operate/new", "/operate/edit/tokyo", "/stream/tokyo"] {
        let refusal = house.get(path).await.refusal();
        assert_eq!((refusal.0, refusal.1.as_str()), (401, "key_missing"), "{path}");
    }
    let browser = house.ask("GET", "/operate", &[("accept", "text/html")], "").await;
    let leads = browser.header("location").unwrap();
    assert_eq!((browser.status, leads), (303, "/console/sign-in?next=/collect/operate"));
    for path in ["/operate/source", "/operate/act", "/operate/backfill", "/operate/letters"] {
        assert_eq!(house.ask("POST", path, &[], "").await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn a_source_is_made_and_operated_by_forms_alone() {
    let (world, house) = World::with_one().await;
    let base = world.upstream.url();
    let form = format!("name=osaka&metric=hits&baseUrl={base}/osaka&intervalSeconds=5&echo=true");
    let made = house.send("/operate/source", &form).await;
    assert_eq!(made.status, 303, "{made:?}");
    assert_eq!(made.header("location"), Some("/collect/operate?q=osaka&told=saved"));
    let twice = house.send("/operate/source", &form).await;
    assert_eq!(twice.status, 409);
    assert!(twice.body.contains("there is a source `osaka` already"), "{twice:?}");
    assert!(twice.body.contains("value=\"hits\""), "what was typed stays");
    world.pass(&[&house], 30 + 66).await;

    let desk = house.page("/operate").await.body;
    let strip = desk.split("id=\"source-osaka\"").nth(1).unwrap().split("</ol>").next().unwrap();
    assert_eq!(strip.matches("data-state=\"ok\"").count(), 12, "{strip}");
    assert_eq!(strip.matches("<li ").count(), 60);
    let act = async |act: &str| house.send("/operate/act", &format!("name=osaka&act={act}")).await;
    assert_eq!(
        act("pause").await.header("location"),
        Some("/collect/operate?told=paused#source-osaka")
    );
    assert!(house.page("/operate?show=paused").await.body.contains("id=\"source-osaka\""));
    assert!(!house.page("/operate?show=paused").await.body.contains("id=\"source-default\""));
    assert_eq!(act("resume").await.status, 303);
    assert_eq!(act("trigger").await.status, 303);
    let preview = act("preview").await;
    assert_eq!(preview.status, 200);
    assert!(preview.body.contains("&quot;count&quot;") || preview.body.contains("count"));
    assert!(preview.body.contains(&format!("{base}/osaka/response_count?from=")), "{preview:?}");
    assert_eq!(act("fly").await.status, 400);
    assert_eq!(act("delete").await.status, 303);
    assert!(!house.page("/operate").await.body.contains("id=\"source-osaka\""));
    let fixed = house.send("/operate/act", "name=default&act=delete").await;
    assert_eq!(fixed.status, 409);
    assert!(fixed.body.contains("stands in the settings"), "{fixed:?}");
    let edit = house.page("/operate/edit/default").await.refusal();
    assert_eq!((edit.0, edit.1.as_str()), (409, "source_fixed"));
}

#[tokio::test]
async fn what_failed_is_seen_replayed_and_asked_for_again() {
    let (world, house) = World::with_one().await;
    world.upstream.answer(|_| Reply::Head("404 Not Found".to_owned()));
    world.pass(&[&house], 30 + 20).await;
    let desk = house.page("/operate").await.body;
    assert!(desk.contains("data-state=\"failed\""), "{desk}");
    assert!(desk.contains("status 404"), "{desk}");
    assert!(house.page("/operate?show=troubled").await.body.contains("id=\"source-default\""));

    world.upstream.answer(|_| Reply::Right);
    let id = desk.split("name=\"id\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let replayed =
        house.send("/operate/letters", &format!("act=replay&id={}", id.replace('#', "%23"))).await;
    assert_eq!(replayed.header("location"), Some("/collect/operate?told=replayed#dead-letters"));
    let gone = house.send("/operate/letters", "act=replay&id=x").await;
    assert_eq!(gone.status, 404);
    world.pass(&[&house], 2).await;
    let form = format!(
        "name=default&from={}&to=2025-12-02T10:23:20&order=oldest_first&rate=100&reprocess=failed",
        &FIRST[..16]
    );
    let counted = house.send("/operate/backfill", &format!("{form}&dryRun=true")).await;
    assert!(counted.body.contains("slots would be asked for."), "{counted:?}");
    let wrong = house.send("/operate/backfill", &form.replace("rate=100", "rate=x")).await;
    assert!(wrong.status == 400 && wrong.body.contains("rate must be a whole number"), "{wrong:?}");
    assert_eq!(house.send("/operate/backfill", &form).await.status, 303);
    world.pass(&[&house], 5).await;
    let desk = house.page("/operate").await.body;
    assert!(desk.contains("<progress value=\"") && desk.contains(" data-done"), "{desk}");
    assert_eq!(house.send("/operate/letters", "act=purge").await.status, 303);
    assert!(!house.page("/operate").await.body.contains("name=\"id\""));
}

#[tokio::test]
async fn an_answer_is_shown_as_text_whatever_it_holds() {
    let (world, house) = World::with_house().await;
    world.pass(&[&house], 40).await;
    let evil = "<script>document.title='taken'</script>".to_owned() + &"x".repeat(5000);
    world.upstream.answer(move |_| Reply::Body(evil.clone()));
    let shown = house.send("/operate/act", "name=default&act=preview").await;
    assert!(shown.body.contains("&lt;script&gt;") && !shown.body.contains("<script>"), "{shown:?}");
    assert!(!shown.body.contains(&"x".repeat(4096)), "only its beginning is shown");
    let told =
        house.operate("POST", "/sources/default/preview", &serde_json::json!(null)).await.json();
    assert_eq!((&told["status"], &told["isCut"]), (&200.into(), &true.into()), "{told}");
    assert_eq!(told["count"], serde_json::Value::Null);
    let rows = world.rows("ai_response_count").await.len();
    world.upstream.answer(|_| Reply::Right);
    let told =
        house.operate("POST", "/sources/default/preview", &serde_json::json!(null)).await.json();
    assert_eq!(told["trouble"], serde_json::Value::Null, "{told}");
    assert_eq!(world.rows("ai_response_count").await.len(), rows, "nothing is written");
}

#[tokio::test]
async fn the_stream_tells_slots_of_the_sources_that_are_followed() {
    let (world, house) = furnished().await;
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    let request = format!(
        "GET /collect/stream/default HTTP/1.1\r\nhost: house\r\nx-api-key: {}\r\n\r\n",
        house.key
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let hear = async {
        let (mut heard, mut space) = (String::new(), [0; 4096]);
        while !heard.contains("\"type\":\"slot\"") {
            let read = stream.read(&mut space).await.unwrap();
            heard.push_str(std::str::from_utf8(&space[..read]).unwrap());
        }
        heard
    };
    let houses = [&house];
    let (heard, ()) = tokio::join!(hear, world.pass(&houses, 45));
    assert!(
        heard.contains("\"source\":\"default\"") && heard.contains("\"status\":\"ok\""),
        "{heard}"
    );
    assert!(!heard.contains("\"source\":\"tokyo\""), "{heard}");
    let many = ["x"; 13].join(",");
    assert_eq!(house.page(&format!("/stream/{many}")).await.refusal().0, 400);
    assert_eq!(house.page("/stream/nobody").await.refusal().0, 404);
}

#[tokio::test]
async fn a_long_list_has_pages_and_is_searched() {
    let (world, house) = World::with_house().await;
    for number in 10..23 {
        let name = format!("shop-{number}");
        assert_eq!(house.add(&world, &name, &serde_json::json!({})).await.status, 201);
    }
    let names = async |path: &str| {
        let page = house.page(path).await.body;
        let ids = page.split("id=\"source-").skip(1).map(|part| part.split('"').next().unwrap());
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    let first = names("/operate").await;
    assert_eq!((first.len(), first[0].as_str()), (12, "default"));
    let next = names(&format!("/operate?after={}", first[11])).await;
    assert_eq!(next, ["shop-21", "shop-22"]);
    assert_eq!(names("/operate?q=P-11").await, ["shop-11"]);
    assert!(house.page("/operate").await.body.contains("?after=shop-20"));
    let odd = house.page("/operate?q=%22%3E%3Cb%3E").await;
    assert!(odd.status == 200 && !odd.body.contains("\"><b>"), "{odd:?}");
}

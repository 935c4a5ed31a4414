//! The pages on the wire: whole without script, for whom they are meant, and harmless whatever an
//! upstream says.

use std::collections::BTreeSet;

use testkit::{Answer, Stream};

use super::upstream::Reply;
use super::{Collector, FIRST, Trial};

const JA: (&str, &str) = ("accept-language", "ja");

impl Collector {
    /// Opens a page of the operator.
    pub(super) async fn page(&self, path: &str) -> Answer {
        self.ask("GET", path, &[("x-api-key", &self.key)], "").await
    }

    /// Sends a form without script.
    pub(super) async fn send(&self, path: &str, form: &str) -> Answer {
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.ask("POST", path, &[("x-api-key", &self.key), kind], form).await
    }
}

const PAGES: [&str; 4] = ["", "/operate", "/operate/new", "/operate/edit/tokyo"];

async fn furnished() -> (Trial, Collector) {
    let (trial, collector) = Trial::with_one().await;
    assert_eq!(collector.add(&trial, "tokyo", &serde_json::json!({})).await.status, 201);
    (trial, collector)
}

#[testkit::test]
async fn every_page_speaks_two_languages_under_the_strict_policy() {
    let (_trial, collector) = furnished().await;
    for path in PAGES {
        let english = collector.page(path).await;
        assert_eq!(english.status, 200, "{english:?}");
        let japanese = collector.ask("GET", path, &[("x-api-key", &collector.key), JA], "").await;
        assert!(english.text().contains("<html lang=\"en\">"), "{path}");
        assert!(japanese.text().contains("<html lang=\"ja\">"), "{path}");
        let policy = english.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("trusted-types"));
        assert!(
            !english.text().contains(" style=") && !english.text().contains("<script>"),
            "{path}"
        );
    }
}

#[testkit::test]
async fn every_file_that_a_page_or_a_module_names_is_there_for_ever() {
    let (_trial, collector) = furnished().await;
    let mut wanted = BTreeSet::new();
    for path in PAGES {
        let page = collector.page(path).await;
        let page = page.text();
        let named = page.split('"').filter_map(|part| part.strip_prefix("/collect/assets/"));
        wanted.extend(named.map(|name| format!("/assets/{name}")));
    }
    let mut seen = BTreeSet::new();
    while let Some(path) = wanted.pop_first() {
        let file = collector.get(&path).await;
        assert_eq!(file.status, 200, "{path}");
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
        let folder = path.rsplit_once('/').unwrap().0;
        for import in file.text().split("from \"./").skip(1) {
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

#[testkit::test]
async fn the_desk_is_the_operators_and_the_half_hour_everybodys() {
    let (_trial, collector) = furnished().await;
    assert_eq!(collector.get("").await.status, 200);
    for path in ["/operate", "/operate/new", "/operate/edit/tokyo", "/stream/tokyo"] {
        let refusal = collector.get(path).await.refusal();
        assert_eq!((refusal.0, refusal.1.as_str()), (401, "key_missing"), "{path}");
    }
    let browser = collector.ask("GET", "/operate", &[("accept", "text/html")], "").await;
    let leads = browser.header("location").unwrap();
    assert_eq!((browser.status, leads), (303, "/console/sign-in?next=/collect/operate"));
    for path in ["/operate/source", "/operate/act", "/operate/backfill", "/operate/letters"] {
        assert_eq!(collector.ask("POST", path, &[], "").await.status, 401, "{path}");
    }
}

#[testkit::test]
async fn a_source_is_made_and_operated_by_forms_alone() {
    let (trial, collector) = Trial::with_one().await;
    let base = trial.upstream.url();
    let form = format!("name=osaka&metric=hits&baseUrl={base}/osaka&intervalSeconds=5&echo=true");
    let made = collector.send("/operate/source", &form).await;
    assert_eq!(made.status, 303, "{made:?}");
    assert_eq!(made.header("location"), Some("/collect/operate?q=osaka&told=saved"));
    let twice = collector.send("/operate/source", &form).await;
    assert_eq!(twice.status, 409);
    assert!(twice.text().contains("there is a source `osaka` already"), "{twice:?}");
    assert!(twice.text().contains("value=\"hits\""), "what was typed stays");
    trial.pass(&[&collector], 30 + 66).await;

    let shown = collector.page("/operate").await;
    let shown = shown.text();
    let strip = shown.split("id=\"source-osaka\"").nth(1).unwrap().split("</ol>").next().unwrap();
    assert_eq!(strip.matches("data-state=\"ok\"").count(), 12, "{strip}");
    assert_eq!(strip.matches("<li ").count(), 60);
    let act =
        async |act: &str| collector.send("/operate/act", &format!("name=osaka&act={act}")).await;
    assert_eq!(
        act("pause").await.header("location"),
        Some("/collect/operate?told=paused#source-osaka")
    );
    assert!(collector.page("/operate?show=paused").await.text().contains("id=\"source-osaka\""));
    assert!(!collector.page("/operate?show=paused").await.text().contains("id=\"source-default\""));
    assert_eq!(act("resume").await.status, 303);
    assert_eq!(act("trigger").await.status, 303);
    let preview = act("preview").await;
    assert_eq!(preview.status, 200);
    assert!(preview.text().contains("&quot;count&quot;") || preview.text().contains("count"));
    assert!(preview.text().contains(&format!("{base}/osaka/response_count?from=")), "{preview:?}");
    assert_eq!(act("fly").await.status, 400);
    assert_eq!(act("delete").await.status, 303);
    assert!(!collector.page("/operate").await.text().contains("id=\"source-osaka\""));
    let fixed = collector.send("/operate/act", "name=default&act=delete").await;
    assert_eq!(fixed.status, 409);
    assert!(fixed.text().contains("stands in the settings"), "{fixed:?}");
    let edit = collector.page("/operate/edit/default").await.refusal();
    assert_eq!((edit.0, edit.1.as_str()), (409, "source_fixed"));
}

#[testkit::test]
async fn what_failed_is_seen_replayed_and_asked_for_again() {
    let (trial, collector) = Trial::with_one().await;
    trial.upstream.answer(|_| Reply::Head("404 Not Found".to_owned()));
    trial.pass(&[&collector], 30 + 20).await;
    let shown = collector.page("/operate").await;
    let shown = shown.text();
    assert!(shown.contains("data-state=\"failed\""), "{shown}");
    assert!(shown.contains("status 404"), "{shown}");
    let headers = [("x-api-key", collector.key.as_str()), JA];
    let japanese = collector.ask("GET", "/operate", &headers, "").await;
    let japanese = japanese.text();
    assert!(japanese.contains("✕ ステータス 404 が返りました"), "{japanese}");
    assert!(!japanese.contains("status 404"), "in the strip too");
    assert!(
        collector.page("/operate?show=troubled").await.text().contains("id=\"source-default\"")
    );

    trial.upstream.answer(|_| Reply::Right);
    let id = shown.split("name=\"id\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let replayed = collector
        .send("/operate/letters", &format!("act=replay&id={}", id.replace('#', "%23")))
        .await;
    assert_eq!(replayed.header("location"), Some("/collect/operate?told=replayed#dead-letters"));
    let gone = collector.send("/operate/letters", "act=replay&id=x").await;
    assert_eq!(gone.status, 404);
    trial.pass(&[&collector], 2).await;
    let form = format!(
        "name=default&from={}&to=2025-12-02T10:23:20&order=oldest_first&rate=100&reprocess=failed",
        &FIRST[..16]
    );
    let counted = collector.send("/operate/backfill", &format!("{form}&dryRun=true")).await;
    assert!(counted.text().contains("Slots that would be asked for: "), "{counted:?}");
    let wrong = collector.send("/operate/backfill", &form.replace("rate=100", "rate=x")).await;
    assert!(
        wrong.status == 400 && wrong.text().contains("rate must be a whole number"),
        "{wrong:?}"
    );
    assert_eq!(collector.send("/operate/backfill", &form).await.status, 303);
    trial.pass(&[&collector], 5).await;
    let shown = collector.page("/operate").await;
    let shown = shown.text();
    assert!(shown.contains("<progress value=\"") && shown.contains(" data-done"), "{shown}");
    assert_eq!(collector.send("/operate/letters", "act=purge").await.status, 303);
    assert!(!collector.page("/operate").await.text().contains("name=\"id\""));
}

#[testkit::test]
async fn an_answer_is_shown_as_text_whatever_it_holds() {
    let (trial, collector) = Trial::with_collector().await;
    trial.pass(&[&collector], 40).await;
    let evil = "<script>document.title='taken'</script>".to_owned() + &"x".repeat(5000);
    trial.upstream.answer(move |_| Reply::Body(evil.clone()));
    let shown = collector.send("/operate/act", "name=default&act=preview").await;
    assert!(
        shown.text().contains("&lt;script&gt;") && !shown.text().contains("<script>"),
        "{shown:?}"
    );
    assert!(!shown.text().contains(&"x".repeat(4096)), "only its beginning is shown");
    let told = collector
        .operate("POST", "/sources/default/preview", &serde_json::json!(null))
        .await
        .json();
    assert_eq!((&told["status"], &told["isCut"]), (&200.into(), &true.into()), "{told}");
    assert_eq!(told["count"], serde_json::Value::Null);
    let rows = trial.rows("ai_response_count").await.len();
    trial.upstream.answer(|_| Reply::Right);
    let told = collector
        .operate("POST", "/sources/default/preview", &serde_json::json!(null))
        .await
        .json();
    assert_eq!(told["trouble"], serde_json::Value::Null, "{told}");
    assert_eq!(trial.rows("ai_response_count").await.len(), rows, "nothing is written");
}

#[testkit::test]
async fn the_stream_tells_slots_of_the_sources_that_are_followed() {
    let (trial, collector) = furnished().await;
    let (address, key) = (collector.addresses.all()[0], ("x-api-key", &*collector.key));
    let mut stream = Stream::open(address, "GET", "/collect/stream/default", &[key], "").await;
    let hear = stream.read_until("\"type\":\"slot\"");
    let collectors = [&collector];
    let (heard, ()) = tokio::join!(hear, trial.pass(&collectors, 45));
    assert!(
        heard.contains("\"source\":\"default\"") && heard.contains("\"status\":\"ok\""),
        "{heard}"
    );
    assert!(!heard.contains("\"source\":\"tokyo\""), "{heard}");
    let many = ["x"; 13].join(",");
    assert_eq!(collector.page(&format!("/stream/{many}")).await.refusal().0, 400);
    assert_eq!(collector.page("/stream/nobody").await.refusal().0, 404);
}

#[testkit::test]
async fn a_long_list_has_pages_and_is_searched() {
    let (trial, collector) = Trial::with_collector().await;
    for number in 10..23 {
        let name = format!("shop-{number}");
        assert_eq!(collector.add(&trial, &name, &serde_json::json!({})).await.status, 201);
    }
    let names = async |path: &str| {
        let page = collector.page(path).await;
        let page = page.text();
        let ids = page.split("id=\"source-").skip(1).map(|part| part.split('"').next().unwrap());
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    let first = names("/operate").await;
    assert_eq!((first.len(), first[0].as_str()), (12, "default"));
    let next = names(&format!("/operate?after={}", first[11])).await;
    assert_eq!(next, ["shop-21", "shop-22"]);
    assert_eq!(names("/operate?q=P-11").await, ["shop-11"]);
    assert!(collector.page("/operate").await.text().contains("?after=shop-20"));
    let odd = collector.page("/operate?q=%22%3E%3Cb%3E").await;
    assert!(odd.status == 200 && !odd.text().contains("\"><b>"), "{odd:?}");
}

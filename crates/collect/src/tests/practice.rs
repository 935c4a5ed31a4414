//! The practice source: one click brings a series, another one takes it away, and nothing is called.

use serde_json::{Value as Json, json};

use super::{Collector, Trial};
use crate::Options;

/// Half an hour before the click, and the click.
const BEFORE: &str = "2025-12-02T09:52:30Z";
const CLICK: &str = "2025-12-02T10:22:30Z";

/// A room that nobody has set up.
async fn empty() -> (Trial, Collector) {
    let trial = Trial::new().await;
    let collector = trial.open(Options { reads_per_second: 100_000, ..Options::default() }).await;
    (trial, collector)
}

async fn click(collector: &Collector, act: &str) {
    let clicked = collector.send("/operate/act", &format!("name=practice&act={act}")).await;
    assert_eq!(clicked.status, 303, "{}", clicked.text());
}

fn have_values(slots: &[Json]) -> bool {
    slots.iter().all(|slot| slot["count"].is_number())
}

#[testkit::test]
async fn a_room_without_a_source_offers_the_practice_source_and_only_the_operator_the_button() {
    let (_trial, collector) = empty().await;
    let button = "value=\"practise\"";
    for page in ["", "/operate"] {
        assert!(collector.page(page).await.text().contains("There is no source yet."), "{page}");
    }
    assert!(collector.page("/operate").await.text().contains(button));
    let stranger = collector.get("").await;
    let stranger = stranger.text();
    assert!(
        !stranger.contains(button) && stranger.contains("Try it as the operator"),
        "{stranger}"
    );
    let sent = collector.ask("POST", "/operate/act", &[], "name=practice&act=practise").await;
    assert_eq!(sent.status, 401);
}

#[testkit::test]
async fn one_click_fills_a_series_within_ten_seconds_and_it_goes_on_without_a_hole() {
    let (trial, collector) = empty().await;
    click(&collector, "practise").await;
    trial.pass(&[&collector], 10).await;
    let slots = collector.slots_between("practice", BEFORE, CLICK).await;
    assert!(slots.len() > 350 && have_values(&slots), "{} slots", slots.len());
    let public = collector.get("").await;
    assert!(public.text().contains("<bdi>practice</bdi>"), "everybody sees it");
    let twice = collector.send("/operate/act", "name=practice&act=practise").await;
    assert_eq!(twice.status, 409);

    trial.pass(&[&collector], 75).await;
    let slots = collector.slots_between("practice", CLICK, "2025-12-02T10:23:30Z").await;
    assert!(slots.len() == 12 && have_values(&slots), "{slots:?}");
    assert!(trial.upstream.asked().is_empty(), "the house answers by itself");
}

#[testkit::test]
async fn one_click_removes_the_practice_source_with_its_values() {
    let (trial, collector) = empty().await;
    click(&collector, "practise").await;
    trial.pass(&[&collector], 10).await;
    assert!(!trial.rows("practice_count#practice").await.is_empty());
    assert!(collector.page("/operate").await.text().contains("value=\"end-practice\""));
    click(&collector, "end-practice").await;
    // Slots that were to be asked for up to the next minute find no source.
    trial.pass(&[&collector], 60).await;
    assert!(trial.rows("practice_count#practice").await.is_empty());
    let desk = collector.page("/operate").await;
    assert!(desk.text().contains("value=\"practise\""), "it is offered again");
}

#[testkit::test]
async fn a_source_of_the_operators_that_is_called_practice_is_left_alone() {
    let (trial, collector) = empty().await;
    let added = collector.add(&trial, "practice", &json!({})).await;
    assert_eq!(added.status, 201);
    assert!(!collector.page("/operate").await.text().contains("value=\"end-practice\""));
    let ended = collector.send("/operate/act", "name=practice&act=end-practice").await;
    assert_eq!(ended.status, 404);
}

#[testkit::test]
async fn a_redirect_does_not_lead_to_the_practice_upstream() {
    let (trial, collector) = Trial::with_one().await;
    let place = "302 Found\r\nlocation: http://practice.invalid/orders";
    trial.upstream.answer(move |_| super::upstream::Reply::Head(place.to_owned()));
    let shown = collector.operate("POST", "/sources/default/preview", &Json::Null).await.json();
    let trouble = "a redirect that is not followed, to http://practice.invalid";
    assert_eq!(shown["trouble"], trouble, "{shown}");
}

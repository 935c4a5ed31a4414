//! The file of sources, changed while the house is open.

use serde_json::json;

use super::upstream::Reply;
use super::{Collector, Trial};
use crate::Options;

async fn names(collector: &Collector) -> Vec<String> {
    let answer = collector.operate("GET", "/sources", &json!(null)).await.json();
    let sources = answer["sources"].as_array().unwrap().iter();
    sources.map(|source| source["source"]["name"].as_str().unwrap().to_owned()).collect()
}

#[testkit::test]
async fn a_changed_file_is_taken_and_a_broken_one_changes_nothing() {
    let trial = Trial::new().await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sources.json");
    let source = |name: &str, path: &str| json!({ "name": name, "baseUrl": format!("{}/{name}", trial.upstream.url()), "path": path });
    let usual = "/response_count?from={from}&to={to}";
    let write = |sources: &serde_json::Value| std::fs::write(&path, sources.to_string()).unwrap();
    write(&json!([source("osaka", usual), source("tokyo", usual)]));
    let options = Options { sources_file: Some(path.clone()), ..trial.options() };
    let collector = trial.open(options).await;
    assert_eq!(names(&collector).await, ["default", "osaka", "tokyo"]);
    trial.pass(&[&collector], 30 + 66).await;
    assert_eq!(collector.ledger("tokyo", 1).await.len(), 12);

    // One goes, one comes, and one is asked in another way, which no row of it says.
    let other = "/response_count?from={from}&to={to}&kind=new";
    write(&json!([source("kyoto", usual), source("tokyo", other)]));
    trial.upstream.answer(|_| Reply::Right);
    trial.pass(&[&collector], 6).await;
    assert_eq!(names(&collector).await, ["default", "kyoto", "tokyo"]);
    let before = trial.upstream.asked().len();
    trial.pass(&[&collector], 70).await;
    let asked = trial.upstream.asked().split_off(before);
    assert!(asked.iter().any(|asked| asked.who == "kyoto"), "{asked:?}");
    assert!(asked.iter().all(|asked| asked.who != "osaka"));
    let tokyo: Vec<_> = asked.iter().filter(|asked| asked.who == "tokyo").collect();
    assert!(!tokyo.is_empty() && tokyo.iter().all(|asked| asked.head.contains("kind=new")));

    let explained = async |collector: &Collector| {
        collector.operate("GET", "/explain", &json!(null)).await.json()
    };
    assert_eq!(explained(&collector).await["sourcesFileProblem"], json!(null));
    for broken in
        ["[", "[{\"name\": \"tokyo\"}]", "[{\"name\": \"default\", \"baseUrl\": \"http://x\"}]"]
    {
        std::fs::write(&path, broken).unwrap();
        trial.pass(&[&collector], 6).await;
        let problem =
            explained(&collector).await["sourcesFileProblem"].as_str().unwrap().to_owned();
        assert!(problem.contains("sources.json"), "{problem}");
        assert_eq!(names(&collector).await, ["default", "kyoto", "tokyo"]);
    }
    std::fs::remove_file(&path).unwrap();
    trial.pass(&[&collector], 6).await;
    assert_eq!(names(&collector).await, ["default", "kyoto", "tokyo"]);
    write(&json!([]));
    trial.pass(&[&collector], 6).await;
    assert_eq!(names(&collector).await, ["default"]);
    assert_eq!(explained(&collector).await["sourcesFileProblem"], json!(null));
}

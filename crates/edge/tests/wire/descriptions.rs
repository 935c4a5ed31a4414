//! What the rooms say about themselves.

use axum::Router;
use axum::routing::{get, post};
use edge::{Json, Room};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{OpenApi, ToSchema};

use crate::support::{Site, options};

/// A score that a player sends.
#[derive(Deserialize, Serialize, ToSchema)]
struct Score {
    /// Who played.
    #[schema(example = "花子", max_length = 20)]
    player: String,
    /// How well.
    points: u32,
    /// What else is known.
    notes: Option<Vec<String>>,
}

/// Keeps a score if it is the player's best.
#[utoipa::path(post, path = "/games/{game}/scores", request_body = Score,
    params(("game" = String, Path, description = "The game's <name>")),
    responses(
        (status = 200, description = "The best score now.", body = Score),
        (status = 404, description = "No such game."),
        (status = 409, description = "A better one is there.", body = Score),
    ),
    security(("key" = [])))]
async fn post_score(Json(score): Json<Score>) -> Json<Score> {
    Json(score)
}

/// Lists the best.
#[utoipa::path(get, path = "/games/{game}/scores",
    params(
        ("game" = String, Path, description = "The game's name", example = "tetris"),
        ("limit" = Option<u32>, Query, description = "How many"),
    ),
    responses((status = 200, description = "The best first.", body = Vec<Score>)))]
async fn list_scores() -> Json<Vec<Score>> {
    Json(Vec::new())
}

#[derive(OpenApi)]
#[openapi(
    info(title = "Games", version = "1", description = "Rankings."),
    paths(post_score, list_scores),
    components(schemas(Score)),
    modifiers(&WithKey)
)]
struct Api;

struct WithKey;

impl utoipa::Modify for WithKey {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
        let scheme = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("x-api-key")));
        api.components.as_mut().unwrap().add_security_scheme("key", scheme);
    }
}

async fn site() -> Site {
    let route = post(post_score).merge(get(list_scores));
    let routes = Router::new().route("/games/{game}/scores", route);
    let room = Room::new("games", routes).with_api(Api::openapi());
    Site::of(vec![room], options()).await
}

#[testkit::test]
async fn each_room_describes_itself_in_openapi_3_1() {
    let site = site().await;
    for (room, path) in [("games", "/games/{game}/scores"), ("house", "/readyz")] {
        let answer = site.get(&format!("/{room}/openapi.json")).await;
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let api = answer.json();
        assert!(api["openapi"].as_str().unwrap().starts_with("3.1"), "{api}");
        assert!(api["paths"][path].is_object(), "{api}");
        let tag = answer.header("etag").unwrap();
        let known = format!("if-none-match: {tag}\r\n");
        assert_eq!(site.get_with(&format!("/{room}/openapi.json"), &known).await.status, 304);
    }
    assert_eq!(site.get("/house/openapi.json").await.json()["info"]["version"], "1.2.3");
    assert_eq!(site.get("/other/openapi.json").await.status, 404);
    site.still_serves().await;
}

#[testkit::test]
async fn a_failure_is_a_problem_unless_it_says_otherwise() {
    let site = site().await;
    let api = site.get("/games/openapi.json").await.json();
    let of =
        |schema: &str| json!({ "schema": { "$ref": format!("#/components/schemas/{schema}") } });
    let responses = &api["paths"]["/games/{game}/scores"]["post"]["responses"];
    let problem = json!({ "application/problem+json": of("Problem") });
    assert_eq!(responses["404"]["content"], problem);
    assert_eq!(responses["409"]["content"], json!({ "application/json": of("Score") }));
    assert_eq!(responses["200"]["content"], json!({ "application/json": of("Score") }));
    assert!(api["components"]["schemas"]["Problem"]["properties"]["detail"].is_object(), "{api}");
    site.still_serves().await;
}

#[testkit::test]
async fn what_is_described_is_there() {
    let site = site().await;
    let api = site.get("/house/openapi.json").await.json();
    let paths = api["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 4);
    for (path, item) in paths {
        let answer = site.get(path).await;
        let told = &item["get"]["responses"][answer.status.to_string()];
        let kind = answer.header("content-type").unwrap().split(';').next().unwrap();
        assert!(told["content"][kind].is_object(), "{path}: {answer:?}");
    }
    site.still_serves().await;
}

#[testkit::test]
async fn the_page_shows_operations_schemas_and_how_to_try_them() {
    let site = site().await;
    let page = site.get("/openapi").await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let html = page.text();
    for part in [
        "<h2>Games</h2>",
        "<h2>The house</h2>",
        "Keeps a score if it is the player",
        "The game's &lt;name&gt;",
        r##"href="#games-schema-Score""##,
        r#"id="games-schema-Score""#,
        r#"id="house-get-livez""#,
        "curl 'http://x/games/tetris/scores'",
        "curl -X POST 'http://x/games/GAME/scores' \\\n  -H 'x-api-key: KEY' \\\n  -H 'content-type: application/json' \\\n  -d '{",
        "花子",
        "length ≤ 20",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("style=") && !html.contains("<style"));
    // One module from this server, and no script in the page.
    let scripts: Vec<&str> = html.split("<script").skip(1).collect();
    let [script] = &scripts[..] else { panic!("{scripts:?}") };
    assert!(script.split("</script>").next().unwrap().ends_with('>'), "{script}");
    let module = script.split("src=\"").nth(1).unwrap().split('"').next().unwrap();
    let module = site.get(module).await;
    assert_eq!(module.header("content-type"), Some("text/javascript; charset=utf-8"));
    let style = html.split("stylesheet\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let style = site.get(style).await;
    assert_eq!(
        (style.status, style.header("content-type")),
        (200, Some("text/css; charset=utf-8"))
    );
    assert!(style.header("cache-control").unwrap().contains("immutable"));
    site.still_serves().await;
}

#[testkit::test]
async fn an_operation_says_who_calls_it_and_has_a_form_with_an_example() {
    let site = site().await;
    let api = site.get("/games/openapi.json").await.json();
    assert_eq!(api["servers"], json!([{ "url": "/" }]));
    let post = &api["paths"]["/games/{game}/scores"]["post"];
    let example = &post["requestBody"]["content"]["application/json"]["example"];
    assert_eq!(example["player"], "花子");
    let html = site.get("/openapi").await;
    let html = html.text();
    let operation = |anchor: &str| {
        let rest = html.split(&format!("id=\"{anchor}\"")).nth(1).unwrap();
        rest.split("class=\"operation\"").next().unwrap().to_owned()
    };
    let post = operation("games-post-games--game--scores");
    for part in
        ["API key", "data-ask=\"POST", "data-schemes=\"key\"", "data-in=\"path\"", "<textarea"]
    {
        assert!(post.contains(part), "{part}: {post}");
    }
    // What changes nothing is sent without a question, and names the game that it is about.
    let get = operation("games-get-games--game--scores");
    assert!(!get.contains("data-ask"), "{get}");
    assert!(get.contains("value=\"tetris\"") && get.contains("everyone"), "{get}");
    site.still_serves().await;
}

#[testkit::test]
async fn a_graphql_interface_is_shown_by_its_operations() {
    let sdl = "type Query {\n\t\"\"\"\n\tHow many.\n\t\"\"\"\n\tcount(of: ID!): Int!\n}\n\
               type Mutation {\n\tclear: Boolean!\n}\n";
    let graphql = edge::GraphQl {
        title: "Graphs",
        about: "Counts.",
        endpoint: "/graphs/graphql",
        schema: "/graphs/schema.graphql",
        sdl: sdl.to_owned(),
    };
    let site = Site::of(vec![Room::new("graphs", Router::new()).with_graphql(graphql)], options());
    let site = site.await;
    let page = site.get("/openapi").await;
    let html = page.text();
    for part in [
        "<h2>Graphs</h2>",
        "id=\"graphs-query-count\"",
        "How many.",
        "query($of: ID!) {\n  count(of: $of)\n}",
        "{\n  &quot;of&quot;: &quot;of&quot;\n}",
        "href=\"/graphs/schema.graphql\"",
        "data-ask=\"mutation clear",
        "data-header=\"x-api-key\"",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("data-ask=\"query"), "{html}");
    site.still_serves().await;
}

#[testkit::test]
async fn the_page_is_not_sent_again_to_a_browser_that_has_it() {
    let site = site().await;
    let page = site.get("/openapi").await;
    assert_eq!(page.header("cache-control"), Some("private, no-cache"));
    assert!(page.header("content-security-policy").is_some());
    let tag = page.header("etag").unwrap();
    assert_eq!(site.get("/openapi").await.header("etag"), Some(tag));
    let known = format!("if-none-match: {tag}\r\n");
    let again = site.get_with("/openapi", &known).await;
    assert_eq!((again.status, again.text()), (304, ""));
    assert_eq!(again.header("etag"), Some(tag));
    // In another language and under another address it is another page.
    let japanese = site.get_with("/openapi?lang=ja", &known).await;
    assert_eq!(japanese.status, 200);
    let known_too = format!("if-none-match: {}\r\n", japanese.header("etag").unwrap());
    let japanese = site.get_with("/openapi?lang=ja", &known_too).await;
    assert_eq!(japanese.status, 304);
    assert!(japanese.header("set-cookie").unwrap().starts_with("lang=ja;"), "{japanese:?}");
    let request =
        format!("GET /openapi HTTP/1.1\r\nhost: y.example\r\n{known}connection: close\r\n\r\n");
    let elsewhere = site.ask(&request).await;
    assert_eq!(elsewhere.status, 200);
    let html = elsewhere.text();
    assert!(html.contains("curl 'http://y.example/games/tetris/scores'"), "{html}");
    assert!(!html.contains("http://x/") && !html.contains('\u{FFFF}'), "{html}");
    site.still_serves().await;
}

#[testkit::test]
async fn the_page_speaks_japanese_to_who_reads_it() {
    let site = site().await;
    let page = site.get("/openapi?lang=ja").await;
    assert!(page.header("set-cookie").unwrap().starts_with("lang=ja;"), "{page:?}");
    let html = page.text();
    for part in [
        "<html lang=\"ja\">",
        "<h2>長屋</h2>",
        "調子はどうか",
        "<h2>Games</h2>",
        "<p lang=\"en\">Rankings.</p>",
        "パラメーター",
        "必須",
        " のリスト",
        "?lang=en",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    for word in ["Parameters", "Answers", "Try it", ">required<", "The house", "list of"] {
        assert!(!html.contains(word), "{word}: {html}");
    }
    site.still_serves().await;
}

#[testkit::test]
async fn a_host_that_is_none_is_not_repeated() {
    let site = site().await;
    let request = "GET /openapi HTTP/1.1\r\nhost: x'; rm -rf y\r\nconnection: close\r\n\r\n";
    let page = site.ask(request).await;
    assert!(!page.text().contains("rm -rf"), "{page:?}");
    site.still_serves().await;
}

//! The mock upstream: counts that everybody can check, in the room and on a port of its own.

use edge::{Cors, IntoResponse, Json, Query, Response, Room, Routes, StatusCode, get};
use serde::{Deserialize, Serialize};
use utoipa::openapi::OpenApi as Described;
use utoipa::{OpenApi, ToSchema};

use crate::model::answer::{mock_count, read_iso};

/// What an upstream of the seed's kind answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ResponseCount {
    #[schema(example = "2025-12-02T10:23:00Z")]
    pub(crate) from: String,
    #[schema(example = "2025-12-02T10:23:05Z")]
    pub(crate) to: String,
    #[schema(example = 1)]
    pub(crate) count: u64,
}

/// Why the mock counts nothing, in the seed's form, which its collector knows.
#[derive(Debug, Serialize, ToSchema)]
struct MockError {
    #[schema(example = "the parameter `from` is missing")]
    error: String,
}

/// That somebody answers.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    #[schema(example = "ok")]
    status: &'static str,
}

#[derive(OpenApi)]
#[openapi(paths(get_response_count, get_health))]
struct Api;

pub(super) fn api() -> Described {
    Api::openapi()
}

/// The mock upstream alone, as a room of its own.
pub fn room() -> Room {
    Room::new("mock", routes("")).with_cors(Cors::Anyone)
}

/// Its routes below a path.
pub(super) fn routes(below: &str) -> Routes {
    Routes::new()
        .route(&format!("{below}/response_count"), get(get_response_count))
        .route(&format!("{below}/health"), get(get_health))
}

#[derive(Deserialize)]
struct Window {
    from: Option<String>,
    to: Option<String>,
}

/// What the mock upstream counts in a window: the minute of its end, modulo 11.
#[utoipa::path(get, path = "/collect/response_count", params(
    ("from" = String, Query, description = "ISO 8601."),
    ("to" = String, Query, description = "ISO 8601."),
), responses(
    (status = 200, description = "The window as it was given, and its count.",
     body = ResponseCount),
    (status = 400, description = "A time is missing or not ISO 8601.", body = MockError),
))]
async fn get_response_count(Query(window): Query<Window>) -> Response {
    match count(window) {
        Ok(counted) => Json(counted).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, Json(MockError { error })).into_response(),
    }
}

fn count(window: Window) -> Result<ResponseCount, String> {
    let needed = |name: &str, text: Option<String>| {
        text.filter(|text| !text.is_empty())
            .ok_or_else(|| format!("the parameter `{name}` is missing"))
    };
    let read = |name: &str, text: &str| {
        read_iso(text).ok_or_else(|| format!("`{name}` is `{text}`, which is not ISO 8601"))
    };
    let (from, to) = (needed("from", window.from)?, needed("to", window.to)?);
    read("from", &from)?;
    let count = mock_count(read("to", &to)?);
    Ok(ResponseCount { from, to, count })
}

/// Whether somebody answers.
#[utoipa::path(get, path = "/collect/health", responses(
    (status = 200, description = "Somebody does.", body = Health),
))]
async fn get_health() -> Response {
    Json(Health { status: "ok" }).into_response()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{ResponseCount, Window, count};
    use crate::api::upstream::read_answer;
    use crate::model::decimal::Decimal;
    use crate::model::slot::{Slot, spell};
    use crate::model::source::sample;

    fn ask(from: &str, to: &str) -> Result<ResponseCount, String> {
        count(Window { from: Some(from.to_owned()), to: Some(to.to_owned()) })
    }

    proptest! {
        #![proptest_config(testkit::depth::cases(512))]

        // **Feature: data-collection-scheduler, Property 4: for any valid JSON response that holds
        // the fields from, to and count, parsing produces a structured object with equivalent
        // values that serialises back to equivalent JSON**
        #[test]
        fn an_answer_is_read_and_written_back(
            seconds in 0..253_402_300_700_u64,
            interval_s in 1..=60_u64,
            counted in 0..=1_u64 << 53,
            spaced in any::<bool>(),
        ) {
            let slot = Slot::holding(base::Timestamp::from_millis(seconds * 1000), interval_s);
            let answer = ResponseCount {
                from: spell(slot.from()),
                to: spell(slot.to()),
                count: counted,
            };
            let text = match spaced {
                true => serde_json::to_string_pretty(&answer).unwrap(),
                false => serde_json::to_string(&answer).unwrap(),
            };
            let read: ResponseCount = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&read, &answer);
            let again: serde_json::Value = serde_json::to_value(&read).unwrap();
            prop_assert_eq!(again, serde_json::from_str::<serde_json::Value>(&text).unwrap());
            let taken = read_answer(&sample("default"), slot, text.as_bytes());
            prop_assert_eq!(taken, Ok(Decimal::from(counted)));
        }

        // **Feature: data-collection-scheduler, Property 7: for any valid time window query the
        // response contains the fields from, to and count, count is an integer from 0 to 10, and
        // the same input always produces the same count (determinism)**
        #[test]
        fn the_mock_answers_every_window_alike_and_within_bounds(
            from in 0..253_402_207_200_i64,
            length in 0..100_000_i64,
        ) {
            let text = |seconds| jiff::Timestamp::from_second(seconds).unwrap().to_string();
            let (from, to) = (text(from), text((from + length).min(253_402_207_200)));
            let answer = ask(&from, &to).unwrap();
            prop_assert_eq!((&answer.from, &answer.to), (&from, &to));
            prop_assert!(answer.count <= 10);
            prop_assert_eq!(ask(&from, &to), Ok(answer.clone()));
            let json = serde_json::to_value(&answer).unwrap();
            prop_assert!(json["from"].is_string() && json["to"].is_string());
            prop_assert!(json["count"].is_u64());
        }
    }

    #[test]
    fn what_is_missing_or_no_time_is_told() {
        let missing = count(Window { from: None, to: Some("2025-12-02T10:23:05Z".to_owned()) });
        assert_eq!(missing, Err("the parameter `from` is missing".to_owned()));
        assert_eq!(
            ask("2025-12-02T10:23:00Z", ""),
            Err("the parameter `to` is missing".to_owned())
        );
        let told = Err("`to` is `soon`, which is not ISO 8601".to_owned());
        assert_eq!(ask("2025-12-02T10:23:00Z", "soon"), told);
    }
}

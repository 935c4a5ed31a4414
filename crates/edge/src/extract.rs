//! What handlers take from a request, with clear words when it is not there.
//!
//! The library's own extractors answer in plain text; these answer in problem+json.
//!
//! - **Invariant:** of a caller that a handler refuses for its credential, no byte of the body is
//!   read. Where a layer in front checks the credential, or an extractor before the body does, that
//!   holds by itself; a handler that checks it takes the body as [`Unread`].

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use axum::extract::rejection::{
    BytesRejection, FormRejection, JsonRejection, PathRejection, QueryRejection,
};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Failure, set_known};

/// A body in JSON, of a request or of an answer. The body of a request is an object.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

/// A body as a form without script sends it.
#[derive(Clone, Copy, Debug)]
pub struct Form<T>(pub T);

/// The parameters of a query.
#[derive(Clone, Copy, Debug)]
pub struct Query<T>(pub T);

/// The parameters of a path.
#[derive(Clone, Copy, Debug)]
pub struct Path<T>(pub T);

/// A body of which nothing has been read, for a handler that looks at its caller first.
#[derive(Debug)]
pub struct Unread(Request);

impl Unread {
    /// Reads the body, as far as its route allows, in the memory for callers who have proved who
    /// they are.
    ///
    /// # Errors
    /// It is too large, or does not come to its end.
    pub async fn read(self) -> Result<Bytes, Failure> {
        set_known(self.0.extensions());
        Ok(Bytes::from_request(self.0, &()).await?)
    }
}

impl<S: Sync> FromRequest<S> for Unread {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Unread, Infallible> {
        Ok(Unread(request))
    }
}

/// Reads a body as a JSON object, whatever its content type is.
///
/// # Errors
/// The body is not JSON, not an object, or not an object of this type.
pub fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    let read = serde_json::from_slice(body).map(|Object(value)| value);
    read.map_err(|error| {
        let detail = format!("the body is not what is expected: {error}");
        let failure = Failure::new(StatusCode::BAD_REQUEST, "invalid_body", detail);
        failure.in_japanese("リクエストの本文が正しくありません")
    })
}

/// Reads a field as an object.
///
/// # Errors
/// It is something else.
pub fn read_object<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Object::deserialize(deserializer).map(|Object(value)| value)
}

/// A value that is written as an object. Without it, a derived type also accepts an array: the
/// values of its fields in the order of the source.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Object)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Json<T>, Failure> {
        let axum::Json(Object(value)) = axum::Json::from_request(request, state).await?;
        Ok(Json(value))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Form<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Form<T>, Failure> {
        let axum::Form(value) = axum::Form::from_request(request, state).await?;
        Ok(Form(value))
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Query<T>, Failure> {
        let axum::extract::Query(value) =
            axum::extract::Query::from_request_parts(parts, state).await?;
        Ok(Query(value))
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, Failure> {
        let axum::extract::Path(value) =
            axum::extract::Path::from_request_parts(parts, state).await?;
        Ok(Path(value))
    }
}

impl From<JsonRejection> for Failure {
    fn from(rejection: JsonRejection) -> Failure {
        let status = rejection.status();
        let code = match status {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "not_json",
            StatusCode::UNPROCESSABLE_ENTITY => "invalid_body",
            _ => "malformed_json",
        };
        let told = match code {
            "not_json" => "本文を JSON で送ってください（`content-type: application/json`）",
            "invalid_body" => "リクエストの本文が正しくありません",
            _ => "リクエストの本文が JSON ではありません",
        };
        Failure::new(status, code, lower(&rejection.body_text())).in_japanese(told)
    }
}

impl From<BytesRejection> for Failure {
    fn from(rejection: BytesRejection) -> Failure {
        Failure::new(rejection.status(), "body_incomplete", lower(&rejection.body_text()))
            .in_japanese("リクエストの本文を最後まで読めませんでした")
    }
}

impl From<FormRejection> for Failure {
    fn from(rejection: FormRejection) -> Failure {
        Failure::new(rejection.status(), "invalid_form", lower(&rejection.body_text()))
            .in_japanese("フォームの内容が正しくありません")
    }
}

impl From<QueryRejection> for Failure {
    fn from(rejection: QueryRejection) -> Failure {
        Failure::new(rejection.status(), "invalid_query", lower(&rejection.body_text()))
            .in_japanese("クエリが正しくありません")
    }
}

impl From<PathRejection> for Failure {
    fn from(rejection: PathRejection) -> Failure {
        Failure::new(rejection.status(), "invalid_path", lower(&rejection.body_text()))
            .in_japanese("パスが正しくありません")
    }
}

/// The library's words in the house's style.
fn lower(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::read_json;

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, rename_all = "camelCase")]
    struct Page {
        first_row: u32,
        title: Option<String>,
    }

    #[test]
    fn a_body_is_an_object_and_an_array_is_refused() {
        let page = Page { first_row: 2, title: None };
        assert_eq!(read_json::<Page>(br#"{"firstRow": 2}"#).unwrap(), page);
        assert_eq!(read_json::<Page>(b"{}").unwrap(), Page::default());
        for body in
            ["[]", "[2]", "[2, null]", "null", "2", "\"a\"", "", "{} []", "{\"firstRow\": []}"]
        {
            let failure = read_json::<Page>(body.as_bytes()).unwrap_err();
            assert_eq!(failure.code(), "invalid_body", "{body}");
        }
    }
}

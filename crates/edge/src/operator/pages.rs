//! What the operator sees before the console: set-up, sign-in, and the way out. Forms that work
//! without script.

mod markup;

use std::time::Duration;

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use markup::Notice;
use serde::Deserialize;

use super::accounts::Whence;
use super::guard::{OperatorSession, audited_stranger, foreign, set_cookie, unavailable};
use super::own::is_from_here;
use super::words::{self, Words};
use super::{Operator, browser};
use crate::limits::guard::{PASSWORD_BYTES_MAX, PASSWORD_LETTERS_MIN, SIGN_IN_BYTES_MAX};
use crate::{Bounds, Bucket, Client, Exceeded, Page, Reader, bounded};

pub(super) const SET_UP: &str = "/console/setup";
pub(super) const SIGN_IN: &str = "/console/sign-in";
pub(super) const HOME: &str = "/console";
const SIGN_OUT: &str = "/console/sign-out";
const SIGN_OUT_ALL: &str = "/console/sign-out-everywhere";

impl Operator {
    /// The pages by which the operator comes in and goes out.
    pub fn routes(&self) -> Router {
        let inside = Router::new()
            .route(SIGN_OUT, get(show_sign_out).post(sign_out))
            .route(SIGN_OUT_ALL, post(sign_out_all));
        let small = Bounds { body_bytes_max: Some(SIGN_IN_BYTES_MAX), ..Bounds::default() };
        let outside = Router::new()
            .route(SET_UP, bounded(get(show_set_up).post(set_up), small))
            .route(SIGN_IN, bounded(get(show_sign_in).post(sign_in), small))
            .layer(middleware::from_fn_with_state(self.clone(), audited_stranger))
            .layer(middleware::from_fn_with_state(self.clone(), from_here));
        let inside = self.guard(inside.with_state(self.clone()));
        inside.merge(outside.with_state(self.clone())).layer(middleware::map_response(unstored))
    }
}

#[derive(Deserialize)]
struct LinkQuery {
    token: String,
}

#[derive(Deserialize)]
struct SetUpForm {
    token: String,
    password: String,
    again: String,
}

/// Where somebody wants to be once signed in.
#[derive(Default, Deserialize)]
struct NextQuery {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct SignInForm {
    password: String,
    #[serde(default)]
    next: String,
}

/// Where to sign in, and from there to the page that was asked for.
pub(super) fn sign_in_for(request: &Request) -> String {
    let wanted = request.uri().path();
    match request.method() == Method::GET && wanted != HOME && own_page(wanted) == wanted {
        true => format!("{SIGN_IN}?next={wanted}"),
        false => SIGN_IN.to_owned(),
    }
}

/// A page of this house, if the path is one: what begins with two slashes is another's address, and
/// what could end a query is left out.
fn own_page(path: &str) -> &str {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.');
    let is_own = path.starts_with('/') && !path.starts_with("//") && path.bytes().all(plain);
    if is_own { path } else { HOME }
}

async fn show_set_up(
    State(operator): State<Operator>,
    reader: Reader,
    query: Result<Query<LinkQuery>, QueryRejection>,
) -> Response {
    let token = query.map(|Query(query)| query.token).unwrap_or_default();
    match operator.shared.accounts.is_link(&token).await {
        Ok(true) => markup::set_up(reader, &token, None).into_response(),
        Ok(false) => markup::link_gone(reader).into_response(),
        Err(error) => unavailable(error).into_response(),
    }
}

async fn set_up(
    State(operator): State<Operator>,
    client: Client,
    reader: Reader,
    headers: HeaderMap,
    form: Result<Form<SetUpForm>, FormRejection>,
) -> Response {
    let words = words::of(reader.language);
    let Ok(Form(form)) = form else { return markup::link_gone(reader).into_response() };
    let again = |status, text| markup::set_up(reader, &form.token, Some(Notice { status, text }));
    // A link cannot be guessed, so whoever has one needs no try: nobody of the same address keeps
    // the operator out.
    match operator.shared.accounts.is_link(&form.token).await {
        Ok(true) => {}
        Ok(false) => return markup::link_gone(reader).into_response(),
        Err(error) => return unavailable(error).into_response(),
    }
    if let Some(flaw) = flaw(words, &form) {
        return again(StatusCode::BAD_REQUEST, flaw).into_response();
    }
    let Ok(hash) = operator.shared.passwords.hash(&form.password).await else {
        return again(StatusCode::SERVICE_UNAVAILABLE, words.wait).into_response();
    };
    match operator.shared.accounts.set_up(&form.token, &hash).await {
        Ok(true) => {
            tracing::info!(address = %client.address(), "the operator's password was set");
            operator.let_in(client, &headers, HOME).await
        }
        Ok(false) => markup::link_gone(reader).into_response(),
        Err(error) => unavailable(error).into_response(),
    }
}

/// What is wrong with a new password.
fn flaw(words: &Words, form: &SetUpForm) -> Option<&'static str> {
    if form.password.len() > PASSWORD_BYTES_MAX {
        return Some(words.long);
    }
    if form.password.chars().count() < PASSWORD_LETTERS_MIN {
        return Some(words.short);
    }
    (form.password != form.again).then_some(words.differ)
}

async fn show_sign_in(
    State(operator): State<Operator>,
    client: Client,
    reader: Reader,
    query: Result<Query<NextQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Response {
    let query = query.map(|Query(query)| query).unwrap_or_default();
    let next = own_page(&query.next);
    match operator.session(client, &headers).await {
        Ok(Some(_)) => Redirect::to(next).into_response(),
        Ok(None) => markup::sign_in(reader, next, None).into_response(),
        Err(error) => unavailable(error).into_response(),
    }
}

async fn sign_in(
    State(operator): State<Operator>,
    client: Client,
    reader: Reader,
    headers: HeaderMap,
    form: Result<Form<SignInForm>, FormRejection>,
) -> Response {
    let words = words::of(reader.language);
    let Ok(Form(form)) = form else {
        let notice = Notice { status: StatusCode::BAD_REQUEST, text: words.malformed };
        return markup::sign_in(reader, HOME, Some(notice)).into_response();
    };
    let next = own_page(&form.next);
    let again = |status, text| markup::sign_in(reader, next, Some(Notice { status, text }));
    if let Err(exceeded) = operator.take_try(client) {
        return (exceeded.headers(), again(StatusCode::TOO_MANY_REQUESTS, words.wait))
            .into_response();
    }
    let account = match operator.shared.accounts.find_account().await {
        Ok(Some(account)) => account,
        Ok(None) => return again(StatusCode::CONFLICT, words.not_set_up).into_response(),
        Err(error) => return unavailable(error).into_response(),
    };
    if form.password.len() > PASSWORD_BYTES_MAX {
        return again(StatusCode::UNAUTHORIZED, words.wrong).into_response();
    }
    match operator.shared.passwords.verify(&form.password, &account.password).await {
        Ok(true) => {
            operator.give_try_back(client);
            operator.let_in(client, &headers, next).await
        }
        Ok(false) => {
            tracing::warn!(address = %client.address(), "a sign-in failed");
            again(StatusCode::UNAUTHORIZED, words.wrong).into_response()
        }
        Err(_) => again(StatusCode::SERVICE_UNAVAILABLE, words.wait).into_response(),
    }
}

async fn show_sign_out(reader: Reader) -> Page {
    markup::sign_out(reader)
}

async fn sign_out(
    State(operator): State<Operator>,
    client: Client,
    session: OperatorSession,
) -> Response {
    match operator.shared.accounts.sign_out(&session.token).await {
        Ok(()) => out(client),
        Err(error) => unavailable(error).into_response(),
    }
}

async fn sign_out_all(State(operator): State<Operator>, client: Client) -> Response {
    match operator.shared.accounts.sign_out_all().await {
        Ok(()) => out(client),
        Err(error) => unavailable(error).into_response(),
    }
}

fn out(client: Client) -> Response {
    let forget = set_cookie(client, "", Duration::ZERO);
    ([(header::SET_COOKIE, forget)], Redirect::to(SIGN_IN)).into_response()
}

/// Pages and redirects of one person are kept by nobody.
async fn unstored(mut response: Response) -> Response {
    let control = response.headers_mut().entry(header::CACHE_CONTROL);
    control.or_insert(HeaderValue::from_static("no-store"));
    response
}

impl Operator {
    /// Counts a try of this address.
    fn take_try(&self, client: Client) -> Result<(), Exceeded> {
        self.shared.tries.check(&Bucket::Address(client.network())).map(drop)
    }

    /// Takes a try back that was none: the password was right.
    fn give_try_back(&self, client: Client) {
        self.shared.tries.give_back(&Bucket::Address(client.network()));
    }

    /// Begins a session in this browser, which goes on to a page of the house.
    async fn let_in(&self, client: Client, headers: &HeaderMap, next: &str) -> Response {
        let user_agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let browser = user_agent.and_then(browser::name);
        let whence = Whence { browser, from: Some(client.address().to_string()) };
        match self.shared.accounts.sign_in(whence).await {
            Ok(Some(token)) => {
                let cookie = set_cookie(client, &token, self.shared.accounts.session_time());
                ([(header::SET_COOKIE, cookie)], Redirect::to(next)).into_response()
            }
            Ok(None) => Redirect::to(SIGN_IN).into_response(),
            Err(error) => unavailable(error).into_response(),
        }
    }
}

/// Forms are taken from the house's own pages only.
async fn from_here(State(operator): State<Operator>, request: Request, next: Next) -> Response {
    if let Err(failure) = operator.check_host(&request) {
        return failure.into_response();
    }
    if is_from_here(request.method(), request.uri(), request.headers()) {
        next.run(request).await
    } else {
        foreign().into_response()
    }
}

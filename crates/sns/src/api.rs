//! The room on the wire.
//!
//! `tokens.rs` are access tokens and who they are of, `auth.rs` and `documents.rs` identity,
//! `users.rs`, `social.rs` and `posts.rs` the services, `timeline.rs` what a user reads, `stream.rs`
//! sockets and events, `operate.rs` the operator's calls, `words.rs` what failures say in Japanese,
//! `described.rs` what the description says of all calls alike.
//!
//! Invariants: an e-mail address is in no answer but those to its owner. A request passes, from the
//! outside: the rate of its connection and address unless its token is known, the look at its token, its user's rate,
//! its idempotency key, the rate of what it does. A request that is refused or repeated uses up
//! nothing of the last one. Registrations have a rate of requests of their own.

mod auth;
#[cfg(feature = "bench")]
pub(crate) mod bare;
mod described;
mod documents;
mod operate;
mod posts;
mod social;
pub(crate) mod stream;
mod timeline;
pub(crate) mod tokens;
mod users;
mod words;

use std::sync::Arc;
use std::time::Duration;

use edge::{
    AddressLimit, Bounds, By, Cors, Failure, Ground, Idempotency, Policy, RateLimit, Room, Routes,
    StatusCode, Streams, bounded, delete, get, known_only, post, put, recognised,
};
use moka::sync::Cache;
use serde::Deserialize;
use utoipa::OpenApi;

use self::described::{Credentials, Customs};
use crate::Sns;
use crate::error::{Error, Flaw};
use crate::limits::{
    BODY_BYTES_MAX, IDLE, LIMIT, LIMIT_MAX, OFFSET_MAX, PING, REGISTERING_AT_ONCE,
    REGISTERING_PER_SECOND, REGISTRATIONS_PER_HOUR, TOKENS_KEPT, VERIFIED_MAX,
};
use crate::ops::Part;
use crate::ops::identity::Caller;
use crate::pages;

/// For whom the room's tokens are.
pub(crate) const AUDIENCE: &str = "mini-sns";

/// What the routes need.
pub(crate) struct Door {
    pub(crate) sns: Arc<Sns>,
    streams: Streams,
    /// Requests of one user.
    requests: RateLimit,
    /// Requests of one address that are nobody's yet.
    strangers: AddressLimit,
    /// Registrations of one e-mail address.
    registrations: RateLimit,
    /// Registrations of one address, whoever registers there.
    registrations_of_address: AddressLimit,
    /// Whose tokens are that were verified before, by their digests: a signature costs more than
    /// all the rest of a read.
    verified: Cache<[u8; 32], Caller>,
}

impl Door {
    fn new(sns: &Arc<Sns>, ground: &Ground) -> Door {
        let (sns, streams) = (Arc::clone(sns), ground.streams.paced(PING, IDLE));
        let limit = |policy| RateLimit::new(policy, &ground.clock, &ground.tasks);
        let of_address =
            |policy, share| AddressLimit::new(policy, share, &ground.clock, &ground.tasks);
        let second = |name, rate: u32| {
            Policy::new(name, rate, Duration::from_secs(1)).with_burst(rate.saturating_mul(2))
        };
        let hour = |name, rate| Policy::new(name, rate, Duration::from_secs(3_600));
        let options = &sns.options;
        let requests = limit(second("sns", options.requests_per_second));
        let strangers = second("sns-address", options.address_requests_per_second);
        let strangers = of_address(strangers, "sns-connection");
        let of_registrations = move |rate| hour("sns-registrations-address", rate);
        let registrations = of_registrations(options.address_registrations_per_hour);
        let registrations_of_address = of_address(registrations, "sns-registrations-connection");
        let dials = &ground.dials;
        let changed = requests.clone();
        let change = move |rate| changed.change(second("sns", rate));
        dials.add_rate("sns.requests_per_second", change);
        let changed = strangers.clone();
        let change = move |rate| changed.change(second("sns-address", rate));
        dials.add_rate("sns.address_requests_per_second", change);
        let changed = registrations_of_address.clone();
        let change = move |rate| changed.change(of_registrations(rate));
        dials.add_rate("sns.address_registrations_per_hour", change);
        Door {
            requests,
            strangers,
            registrations: limit(hour("sns-registrations", REGISTRATIONS_PER_HOUR)),
            registrations_of_address,
            streams,
            verified: Cache::new(VERIFIED_MAX),
            sns,
        }
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "SNS",
        version = "1",
        description = "A small social network. Calls need an access token, sent as \
                       `Authorization: Bearer`; every POST takes an `Idempotency-Key`. Lists are \
                       read by `cursor` and `limit`."
    ),
    modifiers(&Credentials, &Customs),
    security(("token" = [])),
    paths(
        auth::register,
        auth::log_in,
        auth::refresh,
        auth::external,
        auth::log_out,
        auth::log_out_all,
        auth::change_password,
        auth::make_ticket,
        documents::key_set,
        documents::discovery,
        users::get_user,
        users::get_by_name,
        users::change_user,
        users::delete_user,
        users::batch,
        social::follow,
        social::unfollow,
        social::list_followers,
        social::list_following,
        social::list_blocks,
        social::list_mutes,
        social::block,
        social::unblock,
        social::mute,
        social::unmute,
        social::like,
        social::unlike,
        social::list_likers,
        social::list_likes,
        posts::create_post,
        posts::get_post,
        posts::delete_post,
        posts::batch,
        posts::list_posts,
        timeline::get_timeline,
        timeline::list_notes,
        timeline::read_notes,
        stream::get_socket,
        stream::get_stream,
        operate::make_invite,
        operate::recount,
        operate::rebuild,
        operate::redrive,
    )
)]
struct Api;

/// The routes of the room.
pub(crate) fn room(sns: &Arc<Sns>, ground: &Ground) -> Room {
    let door = Arc::new(Door::new(sns, ground));
    let Ground { tables, clock, ids, tasks, .. } = ground.clone();
    let idempotency = Idempotency::new(tables, &clock, ids, &tasks);
    let limit = |policy| RateLimit::new(policy, &clock, &tasks);
    let (options, minute) = (&sns.options, Duration::from_secs(60));
    let each_minute = |key, name, rate| {
        let new = limit(Policy::new(name, rate, minute));
        let changed = new.clone();
        let change = move |rate| changed.change(Policy::new(name, rate, minute));
        ground.dials.add_rate(key, change);
        new
    };
    let new_posts = each_minute("sns.posts_per_minute", "sns-posts", options.posts_per_minute);
    let new_follows =
        each_minute("sns.follows_per_minute", "sns-follows", options.follows_per_minute);
    let posting = new_posts.guard_done(posting_routes(&door), By::Subject);
    let following = new_follows.guard_done(following_routes(&door), By::Subject);
    let writing = idempotency.guard(posting.merge(following).merge(writing_routes(&door)));
    let secrets = idempotency.keeping(TOKENS_KEPT);
    // A request with an idempotency key is read before its handler sees it.
    let writing = known_only::<Caller>(writing.merge(secrets.guard(ticket_routes(&door))));
    let routes = secrets.guard(opening_routes(&door)).merge(writing);
    let routes = routes.merge(other_routes(&door));
    let (strangers, recognising) = (door.strangers.clone(), Arc::clone(&door));
    let routes = door.requests.guard_subjects(routes, &strangers);
    let registering = Policy::new("sns-register", REGISTERING_PER_SECOND, Duration::from_secs(1));
    let registering = registering.with_burst(REGISTERING_AT_ONCE);
    let registering = AddressLimit::new(registering, "sns-register-connection", &clock, &tasks);
    let register = secrets.guard(registering_routes(&door));
    let routes = routes.merge(registering.guard(register));
    let routes = recognised(routes, move |client, token: String| {
        let door = Arc::clone(&recognising);
        async move { door.recognise(client, &token).await }
    });
    let streams = strangers.guard(stream::routes(&door));
    let routes = routes.merge(streams).merge(documents::routes(&door));
    let routes = routes.merge(ground.keys.guard(operate::routes(&door), operate::SCOPE));
    let routes = routes.merge(pages::routes(sns.options.registration));
    Room::new("sns", routes)
        .with_api(Api::openapi())
        .in_japanese("SNS", "小さなソーシャルネットワーク。投稿、フォロー、いいね、タイムライン。")
        .with_cors(Cors::Anyone)
}

const SMALL: Bounds = Bounds { body_bytes_max: Some(BODY_BYTES_MAX), answer_within: None };

fn posting_routes(door: &Arc<Door>) -> Routes {
    let create = bounded(post(posts::create_post), SMALL);
    Routes::new().route("/sns/v1/posts", create).with_state(Arc::clone(door))
}

fn following_routes(door: &Arc<Door>) -> Routes {
    let follow = bounded(post(social::follow), SMALL);
    Routes::new().route("/sns/v1/users/{id}/follow", follow).with_state(Arc::clone(door))
}

fn registering_routes(door: &Arc<Door>) -> Routes {
    let register = bounded(post(auth::register), SMALL);
    Routes::new().route("/sns/v1/auth/register", register).with_state(Arc::clone(door))
}

/// POSTs that bring a caller its first token. Their answers hold secrets, and are kept for a moment
/// only.
fn opening_routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/sns/v1/auth/login", bounded(post(auth::log_in), SMALL))
        .route("/sns/v1/auth/refresh", bounded(post(auth::refresh), SMALL))
        .route("/sns/v1/auth/external", bounded(post(auth::external), SMALL))
        .with_state(Arc::clone(door))
}

/// The POST of a caller with a token whose answer is kept for a moment only.
fn ticket_routes(door: &Arc<Door>) -> Routes {
    let ticket = bounded(post(auth::make_ticket), SMALL);
    Routes::new().route("/sns/v1/auth/ticket", ticket).with_state(Arc::clone(door))
}

/// All other POSTs, which have idempotency keys.
fn writing_routes(door: &Arc<Door>) -> Routes {
    Routes::new()
        .route("/sns/v1/auth/logout", bounded(post(auth::log_out), SMALL))
        .route("/sns/v1/auth/logout-all", bounded(post(auth::log_out_all), SMALL))
        .route("/sns/v1/users/batch", bounded(post(users::batch), SMALL))
        .route("/sns/v1/posts/batch", bounded(post(posts::batch), SMALL))
        .route("/sns/v1/posts/{id}/likes", bounded(post(social::like), SMALL))
        .route("/sns/v1/notifications/read", bounded(post(timeline::read_notes), SMALL))
        .with_state(Arc::clone(door))
}

fn other_routes(door: &Arc<Door>) -> Routes {
    let user = get(users::get_user).put(users::change_user).delete(users::delete_user);
    let block = put(social::block).delete(social::unblock);
    let mute = put(social::mute).delete(social::unmute);
    let likes = delete(social::unlike).get(social::list_likers);
    Routes::new()
        .route("/sns/v1/auth/password", bounded(put(auth::change_password), SMALL))
        .route("/sns/v1/users/{id}", bounded(user, SMALL))
        .route("/sns/v1/users/by/username/{name}", get(users::get_by_name))
        .route("/sns/v1/users/{id}/posts", get(posts::list_posts))
        .route("/sns/v1/users/{id}/followers", get(social::list_followers))
        .route("/sns/v1/users/{id}/following", get(social::list_following))
        .route("/sns/v1/users/{id}/likes", get(social::list_likes))
        .route("/sns/v1/users/{id}/blocks", get(social::list_blocks))
        .route("/sns/v1/users/{id}/mutes", get(social::list_mutes))
        .route("/sns/v1/users/{id}/follow", delete(social::unfollow))
        .route("/sns/v1/users/{id}/block", block)
        .route("/sns/v1/users/{id}/mute", mute)
        .route("/sns/v1/posts/{id}", get(posts::get_post).delete(posts::delete_post))
        .route("/sns/v1/posts/{id}/likes", likes)
        .route("/sns/v1/timeline", get(timeline::get_timeline))
        .route("/sns/v1/notifications", get(timeline::list_notes))
        .with_state(Arc::clone(door))
}

/// Which part of a list is asked for, as texts.
#[derive(Debug, Default, Deserialize)]
struct Asked {
    cursor: Option<String>,
    limit: Option<String>,
    offset: Option<String>,
}

impl Asked {
    /// The part, if all of it is within its bounds.
    fn part(&self) -> Result<Part, Error> {
        let number =
            |name: &'static str, text: &Option<String>, usual: usize, least: usize, most: usize| {
                let Some(text) = text.as_deref().filter(|text| !text.is_empty()) else {
                    return Ok(usual);
                };
                let number = text.parse().ok().filter(|number| (least..=most).contains(number));
                let text = text.to_owned();
                number.ok_or(Flaw::Range { name, least, most, text })
            };
        let after = self.cursor.clone().filter(|cursor| !cursor.is_empty());
        let offset = number("offset", &self.offset, 0, 0, OFFSET_MAX)?;
        let limit = number("limit", &self.limit, LIMIT, 1, LIMIT_MAX)?;
        if after.is_some() && offset > 0 {
            return Err(Flaw::TwoBeginnings.into());
        }
        Ok(Part { after, offset, limit })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let japanese = words::japanese(&error);
        let (status, code) = match &error {
            Error::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
            Error::Oneself => (StatusCode::BAD_REQUEST, "oneself"),
            Error::LoginFailed => (StatusCode::UNAUTHORIZED, "login_failed"),
            Error::TokenInvalid => (StatusCode::UNAUTHORIZED, "token_invalid"),
            Error::RegistrationClosed => (StatusCode::FORBIDDEN, "registration_closed"),
            Error::AccountsFull(_) => (StatusCode::INSUFFICIENT_STORAGE, "accounts_full"),
            Error::InviteInvalid => (StatusCode::FORBIDDEN, "invite_invalid"),
            Error::PasswordWrong => (StatusCode::FORBIDDEN, "password_wrong"),
            Error::NotYours => (StatusCode::FORBIDDEN, "not_yours"),
            Error::Blocked => (StatusCode::FORBIDDEN, "blocked"),
            Error::NoSuchUser(_) => (StatusCode::NOT_FOUND, "no_such_user"),
            Error::NoSuchPost(_) => (StatusCode::NOT_FOUND, "no_such_post"),
            Error::NotFollowing => (StatusCode::NOT_FOUND, "not_following"),
            Error::NotLiked => (StatusCode::NOT_FOUND, "not_liked"),
            Error::EmailTaken => (StatusCode::CONFLICT, "email_taken"),
            Error::UsernameTaken(_) => (StatusCode::CONFLICT, "username_taken"),
            Error::UsernameReserved(_) => (StatusCode::CONFLICT, "username_reserved"),
            Error::UsernameHeld(_) => (StatusCode::CONFLICT, "username_held"),
            Error::RenamedTooOften { .. } => (StatusCode::TOO_MANY_REQUESTS, "renamed_too_often"),
            Error::IdentityTaken => (StatusCode::CONFLICT, "identity_taken"),
            Error::AlreadyFollowing => (StatusCode::CONFLICT, "already_following"),
            Error::AlreadyLiked => (StatusCode::CONFLICT, "already_liked"),
            Error::TooManyFailures { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_failures"),
            Error::Busy { .. } => (StatusCode::TOO_MANY_REQUESTS, "busy"),
            Error::Contended => (StatusCode::SERVICE_UNAVAILABLE, "contended"),
            Error::Store(error) | Error::Facts(dispatch::Error::Table(error)) => {
                return Failure::of_store(error);
            }
            Error::Settings(_) | Error::Hub(_) | Error::Keys(_) | Error::Facts(_) => {
                return Failure::internal(error).in_japanese(japanese);
            }
        };
        let failure = Failure::new(status, code, error.to_string()).in_japanese(japanese);
        match error {
            Error::TooManyFailures { wait }
            | Error::Busy { wait }
            | Error::RenamedTooOften { wait } => failure.retry_after(wait),
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Error;

    #[test]
    fn failures_of_the_store_keep_their_codes() {
        testkit::assert_store_codes(|state| {
            let later = dispatch::Error::Table(state.clone());
            [Error::Store(state), Error::Facts(later)]
        });
    }
}

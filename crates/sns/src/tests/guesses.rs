//! Guesses at passwords: growing delays, known devices, many at once; and registrations beside them.

use serde_json::{Value as Json, json};
use testkit::Answer;
use tokio::task::JoinSet;

use super::{HOST, Network, PASSWORD, Person, person, roomy};
use crate::Options;

const WRONG: &str = "wrong wrong";

fn wait_of(answer: &Answer) -> u64 {
    answer.is_problem(429, "too_many_failures");
    answer.header("retry-after").unwrap().parse().unwrap()
}

async fn change(network: &Network, who: &Person, current: &str) -> Answer {
    let body = json!({ "currentPassword": current, "newPassword": "new password" });
    network.ask(who, "PUT", "/auth/password", body).await
}

#[testkit::test]
async fn each_failure_after_the_fifth_doubles_the_delay_up_to_a_quarter_of_an_hour() {
    let network = Network::open().await;
    network.register("ada").await;
    for _ in 0..5 {
        network.log_in("ada", WRONG).await.is_problem(401, "login_failed");
    }
    let mut delays = Vec::new();
    for _ in 0..10 {
        let delay = wait_of(&network.log_in("ada", PASSWORD).await);
        delays.push(delay);
        network.jump(delay - 1).await;
        assert_eq!(wait_of(&network.log_in("ada", PASSWORD).await), 1, "trying adds nothing");
        network.jump(1).await;
        network.log_in("ada", WRONG).await.is_problem(401, "login_failed");
    }
    assert_eq!(delays, [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]);
    network.jump(900).await;
    network.log_in("ada", PASSWORD).await.is(200);
    network.log_in("ada", WRONG).await.is_problem(401, "login_failed");
    network.log_in("ada", PASSWORD).await.is(200);
}

#[testkit::test]
async fn failures_are_forgotten_a_day_after_the_last() {
    let network = Network::open().await;
    network.register("ada").await;
    for _ in 0..4 {
        network.log_in("ada", WRONG).await.is_problem(401, "login_failed");
    }
    network.jump(24 * 3600).await;
    for _ in 0..5 {
        network.log_in("ada", WRONG).await.is_problem(401, "login_failed");
    }
    wait_of(&network.log_in("ada", PASSWORD).await);
}

#[testkit::test(4)]
async fn sixty_guesses_at_once_are_no_more_than_five() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    for path in ["/auth/login", "/auth/password"] {
        let mut tries = JoinSet::new();
        for number in 0..60 {
            let (address, bearer) = (*network.addresses.next(), ada.bearer());
            let guess = format!("wrong wrong {number}");
            let (method, body) = match path {
                "/auth/login" => ("POST", json!({ "email": ada.email, "password": guess })),
                _ => ("PUT", json!({ "currentPassword": guess, "newPassword": "new password" })),
            };
            let path = format!("/sns/v1{path}");
            tries.spawn(async move {
                let headers = [("authorization", &*bearer)];
                let headers = if method == "PUT" { &headers[..] } else { &[] };
                testkit::ask(address, method, &path, headers, &body.to_string()).await
            });
        }
        let mut guessed = 0;
        while let Some(answer) = tries.join_next().await {
            let answer = answer.unwrap();
            match answer.status {
                401 | 403 => guessed += 1,
                _ => drop(wait_of(&answer)),
            }
        }
        assert_eq!(guessed, 5, "{path}");
    }
}

#[testkit::test]
async fn a_wrong_present_password_counts_like_a_failed_log_in() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    for _ in 0..5 {
        change(&network, &ada, WRONG).await.is_problem(403, "password_wrong");
    }
    assert_eq!(wait_of(&change(&network, &ada, PASSWORD).await), 5);
    network.jump(5).await;
    change(&network, &ada, WRONG).await.is_problem(403, "password_wrong");
    assert_eq!(wait_of(&change(&network, &ada, PASSWORD).await), 10);
    // Whoever holds the token of one session keeps nobody from logging in.
    let again = person(&network.log_in("ada", PASSWORD).await.is(200));
    change(&network, &again, PASSWORD).await.is(204);
}

#[testkit::test]
async fn a_right_password_from_a_known_device_passes_whoever_guesses_at_its_address() {
    let network = Network::open().await;
    let ada = network.register("ada").await;
    let log_in = async |password: &str, device: &Json| {
        let body = json!({ "email": ada.email, "password": password, "deviceToken": device });
        network.post("/auth/login", body).await
    };
    let device = log_in(PASSWORD, &Json::Null).await.is(200)["deviceToken"].clone();
    for _ in 0..5 {
        network.log_in("ada", WRONG).await.is_problem(401, "login_failed");
    }
    wait_of(&network.log_in("ada", PASSWORD).await);
    wait_of(&log_in(PASSWORD, &json!("x".repeat(40))).await);
    assert_eq!(log_in(PASSWORD, &device).await.is(200)["deviceToken"], device);
    // It does not reset what others tried.
    wait_of(&network.log_in("ada", PASSWORD).await);
    // Who has the device has no more guesses than others.
    for _ in 0..5 {
        log_in(WRONG, &device).await.is_problem(401, "login_failed");
    }
    assert_eq!(wait_of(&log_in(PASSWORD, &device).await), 5);
    network.jump(5).await;
    log_in(PASSWORD, &device).await.is(200);
    // One token serves all accounts of a browser.
    let body = json!({ "email": format!("bob{HOST}"), "username": "bob", "password": PASSWORD,
        "deviceToken": device });
    assert_eq!(network.post("/auth/register", body).await.is(201)["deviceToken"], device);
}

#[testkit::test(4)]
async fn registrations_take_no_place_from_log_ins() {
    let options = Options { address_requests_per_second: 20, ..roomy() };
    let network = Network::alone(options).await;
    network.register("ada").await;
    let mut flood = JoinSet::new();
    for number in 0..100 {
        let address = *network.addresses.next();
        let body = json!({ "email": format!("{number}{HOST}"), "username": format!("user-{number}"),
            "password": PASSWORD });
        flood.spawn(async move {
            testkit::ask(address, "POST", "/sns/v1/auth/register", &[], &body.to_string()).await
        });
    }
    // Most of them are told to come again while others are hashed.
    let mut made = 0;
    for _ in 0..50 {
        let answer = flood.join_next().await.unwrap().unwrap();
        made += u32::from(answer.status == 201);
        if answer.status != 201 {
            answer.is_problem(429, "busy");
        }
    }
    network.log_in("ada", PASSWORD).await.is(200);
    while let Some(answer) = flood.join_next().await {
        made += u32::from(answer.unwrap().status == 201);
    }
    assert!(made >= 10, "{made} were made");
}

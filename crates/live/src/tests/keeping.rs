//! What is kept, and for how long.

use serde_json::json;

use super::{HOST, Talk};
use crate::Options;
use crate::items::Layout;

const DAY: u64 = 24 * 60 * 60 * 1_000;
/// After a sleep of the machine every job has looked again, and done what was due, within this.
const LOOK_MS: u64 = 100_000;

#[testkit::test]
async fn a_room_past_its_retention_goes_with_everything_in_it() {
    let talk = Talk::open_with(Options { retention_days: 2, ..Options::default() }).await;
    let (quiet, busy) = (talk.create().await, talk.create().await);
    talk.say(&quiet, "once").await;
    talk.pass_long_ms(DAY).await;
    talk.say(&busy, "yesterday").await;
    talk.pass_long_ms(DAY - LOOK_MS - 1).await;
    talk.pass_ms(LOOK_MS).await;
    talk.get(&format!("/live/rooms/{quiet}")).await.is(200);
    talk.pass_long_ms(3_600_001).await;
    talk.pass_ms(LOOK_MS).await;
    talk.get(&format!("/live/rooms/{quiet}")).await.is_problem(404, "room_not_found");
    talk.get(&format!("/live/rooms/{busy}")).await.is(200);
    talk.until_rows("LiveComment-Comments-prod", 1).await;
}

#[testkit::test]
async fn without_a_retention_rooms_stay() {
    let talk = Talk::open().await;
    let room = talk.create().await;
    talk.say(&room, "for ever").await;
    talk.pass_long_ms(3 * DAY).await;
    talk.pass_ms(LOOK_MS).await;
    let page = talk.get(&format!("/live/rooms/{room}/comments")).await.is(200);
    assert_eq!(page["comments"][0]["content"], "for ever");
    talk.patch(&room, json!({ "hostId": HOST })).await.is(200);
}

#[testkit::test]
async fn environments_have_tables_of_their_own_and_names_that_fit() {
    let options = Options { environment: "dev".to_owned(), ..Options::default() };
    let talk = Talk::open_with(options).await;
    talk.create().await;
    assert_eq!(talk.rows("LiveComment-Rooms-dev").await, 1);
    for wrong in ["", "Prod", "a b", "x/y", &"x".repeat(21)] {
        assert!(Layout::new(wrong).is_err(), "{wrong}");
    }
}

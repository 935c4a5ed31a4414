//! An audience in rooms of fifty. As the room's own pages do, everybody has the server sign a
//! participant, joins by a socket, says one thing and likes what the host said.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::OnceLock;

use serde_json::json;

use super::{PEOPLE, Person, Request, beside_an_abuser, each, serve, text};

const ROOMS: usize = 20;

/// A room of the crowd, with what its host said.
struct Hall {
    room: String,
    comment: String,
}

fn issue(person: &mut Person) -> String {
    text(&person.post("/live/participants", "", &json!({})), "/participant")
}

fn named(participant: &str) -> String {
    format!("x-participant: {participant}\r\n")
}

/// Joins a room by a socket, which is open as long as what this gives.
fn join(address: &str, room: &str, participant: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let key = "dGhlIHNhbXBsZSBub25jZQ==";
    let handshake = format!(
        "GET /live/ws HTTP/1.1\r\nhost: {address}\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n"
    );
    stream.write_all(handshake.as_bytes()).unwrap();
    read_to(&mut stream, "\r\n\r\n");
    let join = json!({ "action": "joinRoom", "roomId": room, "v": 1, "participant": participant });
    let join = join.to_string();
    let length = u16::try_from(join.len()).unwrap().to_be_bytes();
    // A whole text of two bytes of length, under a mask of zeros.
    let head = [&[0x81, 0x80 | 126], &length[..], &[0; 4]].concat();
    stream.write_all(&[&head, join.as_bytes()].concat()).unwrap();
    read_to(&mut stream, "\"type\":\"joined\"");
    stream
}

/// Reads until this has come.
#[track_caller]
fn read_to(stream: &mut TcpStream, wanted: &str) {
    let (mut seen, mut part) = (Vec::new(), [0; 1_024]);
    while !String::from_utf8_lossy(&seen).contains(wanted) {
        let count = stream.read(&mut part).unwrap();
        assert_ne!(count, 0, "it has ended: {}", String::from_utf8_lossy(&seen));
        seen.extend(part.get(..count).unwrap());
    }
}

/// A host opens a room and says something in it.
fn open_hall(address: &str, number: usize) -> Hall {
    let mut host = Person::connect(address);
    let participant = named(&issue(&mut host));
    let host_id = format!("host-{number:032}");
    let made =
        host.post("/live/rooms", &participant, &json!({ "name": "Keynote", "hostId": host_id }));
    let room = text(&made, "/roomId");
    let said = json!({ "content": "any questions?", "hostId": host_id });
    let said = host.post(&format!("/live/rooms/{room}/comments"), &participant, &said);
    Hall { room, comment: text(&said, "/commentId") }
}

fn take_part(address: &str, hall: &Hall, number: usize) {
    let mut person = Person::connect(address);
    let participant = issue(&mut person);
    let _joined = join(address, &hall.room, &participant);
    let comments = format!("/live/rooms/{}/comments", hall.room);
    let said = json!({ "content": content(number), "nickname": "Ada" });
    person.post(&comments, &named(&participant), &said);
    let like = format!("{comments}/{}/like", hall.comment);
    person.post(&like, &named(&participant), &json!({}));
}

fn content(number: usize) -> String {
    format!("question {number}")
}

/// In a room of the crowd: comments of ever new participants, of one that is too fast, and of none;
/// ever new participants that are signed; likes; guesses at the host; values that are refused.
fn abuse(hall: &Hall, own: &str, number: usize) -> Request {
    let comments = format!("/live/rooms/{}/comments", hall.room);
    let spam = json!({ "content": "buy" });
    let stranger = named(&format!("stranger-{number}"));
    match number % 8 {
        0 => Request::post(&comments, &stranger, &spam),
        1 => Request::post(&comments, &named(own), &spam),
        2 => Request::post(&comments, "", &spam),
        3 => Request::post("/live/participants", "", &json!({})),
        4 => {
            let like = format!("{comments}/{}/like", hall.comment);
            Request::post(&like, &named(own), &json!({}))
        }
        5 => {
            let hide = format!("{comments}/{}/hide", hall.comment);
            Request::post(&hide, &stranger, &json!({ "hostId": format!("guess-{number:032}") }))
        }
        6 => Request::post(&comments, &stranger, &json!({ "content": "x".repeat(10_000) })),
        _ => {
            let room = json!({ "name": "Nobody comes", "hostId": format!("host-{number:032}") });
            Request::post("/live/rooms", "", &room)
        }
    }
}

/// The comments of a room by what they say, with their likes.
fn comments(address: &str, room: &str) -> BTreeMap<String, u64> {
    let mut reader = Person::connect(address);
    let (mut found, mut after) = (BTreeMap::new(), String::new());
    loop {
        let path = format!("/live/rooms/{room}/comments?limit=200{after}");
        let page = reader.get(&path, "");
        for comment in page["comments"].as_array().unwrap() {
            found.insert(text(comment, "/content"), comment["likes"].as_u64().unwrap());
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return found,
        }
    }
}

#[test]
fn a_thousand_listeners_and_one_flooder_share_an_address_and_no_listener_is_refused() {
    let program = testkit::program!();
    let house = serve(&program, &[]);
    let address = house.address.as_str();
    let (target, mallory) = (open_hall(address, 0), issue(&mut Person::connect(address)));
    let halls: Vec<OnceLock<Hall>> = (0..ROOMS).map(|_| OnceLock::new()).collect();
    beside_an_abuser(
        address,
        |number| abuse(&target, &mallory, number),
        || {
            each(ROOMS - 1, |number| {
                assert!(halls[number].set(open_hall(address, number + 1)).is_ok());
            });
            // The room where the abuser is.
            each(PEOPLE, |number| {
                take_part(address, halls[number % ROOMS].get().unwrap_or(&target), number);
            });
        },
    );
    let mut heard = 0;
    for (number, hall) in halls.iter().enumerate() {
        let hall = hall.get().unwrap_or(&target);
        let found = comments(address, &hall.room);
        let of_room = (number..PEOPLE).step_by(ROOMS);
        heard += of_room.filter(|number| found.contains_key(&content(*number))).count();
        let likes = found["any questions?"];
        // The abuser has liked what the host of its room said, once.
        let of_abuser = u64::from(hall.room == target.room);
        assert_eq!(likes, (PEOPLE / ROOMS) as u64 + of_abuser, "{number}");
    }
    assert_eq!(heard, PEOPLE);
}

//! Frames of HTTP/2 as bytes, for clients that do what no library lets them do.

/// How a connection begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The setting of how many bytes of a stream the client takes.
const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];

/// The reason of a reset that a browser gives when its page is left.
const CANCEL: [u8; 4] = [0, 0, 0, 8];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [head.as_slice(), payload].concat()
}

fn begin(settings: &[u8]) -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, settings)].concat()
}

/// The number of a client's stream.
fn stream(turn: u32) -> u32 {
    2 * turn + 1
}

/// The packed headers of a GET.
fn get(path: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    [&[0x82, 0x86, 0x04], text(path).as_slice(), &[0x01], &text("localhost")].concat()
}

/// Requests that are reset as soon as they are sent.
pub(super) fn rapid_resets(path: &str) -> Vec<u8> {
    let block = get(path);
    let resets = (0..200).flat_map(|turn| {
        let request = frame(HEADERS, END_STREAM | END_HEADERS, stream(turn), &block);
        [request, frame(RST_STREAM, 0, stream(turn), &CANCEL)].concat()
    });
    begin(&[]).into_iter().chain(resets).collect()
}

/// Headers of one request without end.
pub(super) fn continuations() -> Vec<u8> {
    let header = [&[0, 1, b'x', 100], [b'a'; 100].as_slice()].concat();
    let more = (0..2_000).flat_map(|_| frame(CONTINUATION, 0, stream(0), &header));
    let head = frame(HEADERS, END_STREAM, stream(0), &get("/livez"));
    begin(&[]).into_iter().chain(head).chain(more).collect()
}

/// One header of 3 000 bytes that is named ten thousand times, by one byte each.
pub(super) fn unpacked_headers() -> Vec<u8> {
    // 3000 = 127 + 57 + 22 * 128, in the numbers of HPACK.
    let kept = [&[0x40, 1, b'x', 0x7f, 0x80 | 57, 22], [b'a'; 3_000].as_slice()].concat();
    let block = [get("/livez").as_slice(), &kept, &[0xbe; 10_000]].concat();
    [begin(&[]), frame(HEADERS, END_STREAM | END_HEADERS, stream(0), &block)].concat()
}

/// Pings and settings, each of which wants an answer.
pub(super) fn control_frames() -> Vec<u8> {
    let both = [frame(PING, 0, 0, &[0; 8]), frame(SETTINGS, 0, 0, &[])].concat();
    [begin(&[]), both.repeat(500)].concat()
}

/// Requests on one connection whose answers are taken byte by byte: the first one, and no more.
pub(super) fn unread_answers(path: &str) -> Vec<u8> {
    let block = get(path);
    let window = [INITIAL_WINDOW_SIZE.as_slice(), &1_u32.to_be_bytes()].concat();
    let requests =
        (0..8).flat_map(|turn| frame(HEADERS, END_STREAM | END_HEADERS, stream(turn), &block));
    begin(&window).into_iter().chain(requests).collect()
}

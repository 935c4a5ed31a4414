//! Spans as OTLP's protobuf.
//!
//! One message of a schema that does not change, written by hand: the crates that would do it are
//! many and build for longer than the rest of this one. The tests read it back with the protocol's
//! own types.

use std::time::Duration;

use base::Timestamp;

use super::{Span, Value};

/// `SPAN_KIND_SERVER`.
const KIND_SERVER: u64 = 2;
/// `STATUS_CODE_ERROR`.
const STATUS_ERROR: u64 = 2;

/// An `ExportTraceServiceRequest`.
pub(super) fn encode(service_name: &str, spans: &[Span]) -> Vec<u8> {
    let mut resource = Message::default();
    resource.message(1, &attribute("service.name", &Value::Text(service_name.to_owned())));
    resource.message(
        1,
        &attribute("service.version", &Value::Text(env!("CARGO_PKG_VERSION").to_owned())),
    );
    let mut scope = Message::default();
    scope.bytes(1, b"nagaya");
    let mut scope_spans = Message::default();
    scope_spans.message(1, &scope);
    for span in spans {
        scope_spans.message(2, &encode_span(span));
    }
    let mut resource_spans = Message::default();
    resource_spans.message(1, &resource);
    resource_spans.message(2, &scope_spans);
    let mut request = Message::default();
    request.message(1, &resource_spans);
    request.0
}

fn encode_span(span: &Span) -> Message {
    let begun = nanos(span.begun);
    let lasted = u64::try_from(span.lasted.as_nanos()).unwrap_or(u64::MAX);
    let mut message = Message::default();
    message.bytes(1, &span.trace.id);
    message.bytes(2, &span.trace.span);
    if let Some(parent) = &span.trace.parent {
        message.bytes(4, parent);
    }
    message.bytes(5, span.name.as_bytes());
    message.number(6, KIND_SERVER);
    message.fixed64(7, begun);
    message.fixed64(8, begun.saturating_add(lasted));
    for (key, value) in &span.attributes {
        message.message(9, &attribute(key, value));
    }
    if span.is_error {
        let mut status = Message::default();
        status.number(3, STATUS_ERROR);
        message.message(15, &status);
    }
    message
}

fn attribute(key: &str, value: &Value) -> Message {
    let mut any = Message::default();
    match value {
        Value::Text(text) => any.bytes(1, text.as_bytes()),
        Value::Number(number) => any.number(3, *number),
    }
    let mut message = Message::default();
    message.bytes(1, key.as_bytes());
    message.message(2, &any);
    message
}

fn nanos(time: Timestamp) -> u64 {
    let nanos = Duration::from_millis(time.millis()).as_nanos();
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// A protobuf message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, field: u64, number: u64) {
        self.varint(field << 3);
        self.varint(number);
    }

    fn fixed64(&mut self, field: u64, number: u64) {
        self.varint(field << 3 | 1);
        self.0.extend(number.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(u64::try_from(bytes.len()).expect("a length fits 64 bits"));
        self.0.extend(bytes);
    }

    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }

    fn varint(&mut self, mut number: u64) {
        loop {
            let [low, ..] = number.to_le_bytes();
            number >>= 7;
            if number == 0 {
                return self.0.push(low & 0x7f);
            }
            self.0.push(low | 0x80);
        }
    }
}

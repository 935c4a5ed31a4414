//! Writes responses straight into one text, without a JSON tree in between.

use std::fmt::{Display, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use table::{Item, Value};

/// The initial capacity: most responses fit.
const ROOM: usize = 1536;

/// A JSON text under construction.
#[derive(Debug)]
pub(super) struct JsonWriter {
    text: String,
}

impl JsonWriter {
    pub(super) fn new() -> JsonWriter {
        JsonWriter::with_room(0)
    }

    /// For a response of about `bytes` bytes.
    pub(super) fn with_room(bytes: usize) -> JsonWriter {
        JsonWriter { text: String::with_capacity(bytes.max(ROOM)) }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Text that is JSON already.
    pub(super) fn raw(&mut self, json: &str) -> &mut JsonWriter {
        self.text.push_str(json);
        self
    }

    /// A number or a boolean.
    pub(super) fn plain(&mut self, value: impl Display) -> &mut JsonWriter {
        write!(self.text, "{value}").expect("text always has room");
        self
    }

    /// A string.
    pub(super) fn text(&mut self, text: &str) -> &mut JsonWriter {
        self.text.push('"');
        let mut rest = text;
        // Escaped bytes are ASCII, so both sides end at whole characters.
        while let Some((at, byte)) = first_escaped(rest.as_bytes()) {
            self.text.push_str(rest.get(..at).unwrap_or_default());
            match byte {
                b'"' => self.text.push_str("\\\""),
                b'\\' => self.text.push_str("\\\\"),
                b'\n' => self.text.push_str("\\n"),
                b'\r' => self.text.push_str("\\r"),
                b'\t' => self.text.push_str("\\t"),
                _ => write!(self.text, "\\u{byte:04x}").expect("text always has room"),
            }
            rest = rest.get(at + 1..).unwrap_or_default();
        }
        self.text.push_str(rest);
        self.text.push('"');
        self
    }

    /// A field that is not the first: `,"name":`.
    pub(super) fn field(&mut self, name: &str) -> &mut JsonWriter {
        // A field right after a bracket is the first one.
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
        self.text.push('"');
        self.text.push_str(name);
        self.text.push_str("\":");
        self
    }

    /// The same as `field`, for a name that needs escaping.
    pub(super) fn field_of(&mut self, name: &str) -> &mut JsonWriter {
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
        self.text(name).raw(":")
    }

    /// A list: `write` writes each element, with commas between.
    pub(super) fn list<T>(
        &mut self,
        elements: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut JsonWriter, T),
    ) -> &mut JsonWriter {
        for (at, element) in elements.into_iter().enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            write(self, element);
        }
        self
    }

    /// An item as an object of its attributes.
    pub(super) fn item(&mut self, item: &Item) -> &mut JsonWriter {
        self.raw("{").list(item.iter(), |out, (name, value)| {
            out.text(name).raw(":").value(value);
        });
        self.raw("}")
    }

    /// A value as an object of its type.
    pub(super) fn value(&mut self, value: &Value) -> &mut JsonWriter {
        match value {
            Value::S(text) => self.raw("{\"S\":").text(text),
            Value::N(number) => self.raw("{\"N\":\"").plain(number).raw("\""),
            Value::B(bytes) => self.raw("{\"B\":").bytes(bytes),
            Value::Bool(truth) => self.raw("{\"BOOL\":").plain(truth),
            Value::Null => self.raw("{\"NULL\":true"),
            Value::M(map) => self.raw("{\"M\":").item(map),
            Value::L(list) => {
                self.raw("{\"L\":[").list(list, |out, value| {
                    out.value(value);
                });
                self.raw("]")
            }
            Value::Ss(set) => {
                self.raw("{\"SS\":[").list(set, |out, text| {
                    out.text(text);
                });
                self.raw("]")
            }
            Value::Ns(set) => {
                self.raw("{\"NS\":[").list(set, |out, number| {
                    out.raw("\"").plain(number).raw("\"");
                });
                self.raw("]")
            }
            Value::Bs(set) => {
                self.raw("{\"BS\":[").list(set, |out, bytes| {
                    out.bytes(bytes);
                });
                self.raw("]")
            }
        };
        self.raw("}")
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut JsonWriter {
        self.text.push('"');
        STANDARD.encode_string(bytes, &mut self.text);
        self.text.push('"');
        self
    }
}

/// The first byte that needs escaping in a string.
fn first_escaped(bytes: &[u8]) -> Option<(usize, u8)> {
    /// Bytes checked together, in a few instructions: most texts need no escaping.
    const STRETCH: usize = 64;
    let is_escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    for (stretch, start) in bytes.chunks(STRETCH).zip((0..).step_by(STRETCH)) {
        if stretch.iter().fold(false, |any, byte| any | is_escaped(byte)) {
            let found = stretch.iter().enumerate().find(|(_, byte)| is_escaped(byte));
            return found.map(|(at, byte)| (start + at, *byte));
        }
    }
    None
}

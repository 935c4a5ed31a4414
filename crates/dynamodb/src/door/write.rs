//! Answers written straight into one text: no tree of JSON in between.

use std::fmt::{Display, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use table::{Item, Value};

/// Room made at once: most answers fit.
const ROOM: usize = 1536;

/// JSON on its way out.
#[derive(Debug)]
pub(super) struct Out {
    text: String,
}

impl Out {
    pub(super) fn new() -> Out {
        Out::with_room(0)
    }

    /// For an answer of about so many bytes.
    pub(super) fn with_room(bytes: usize) -> Out {
        Out { text: String::with_capacity(bytes.max(ROOM)) }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// As it is.
    pub(super) fn raw(&mut self, json: &str) -> &mut Out {
        self.text.push_str(json);
        self
    }

    /// A number or a truth.
    pub(super) fn plain(&mut self, value: impl Display) -> &mut Out {
        write!(self.text, "{value}").expect("text always has room");
        self
    }

    /// A string.
    pub(super) fn text(&mut self, text: &str) -> &mut Out {
        self.text.push('"');
        let mut rest = text;
        // What is escaped is one byte long, so both sides end at whole characters.
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
    pub(super) fn field(&mut self, name: &str) -> &mut Out {
        // A field right behind a bracket is the first after all.
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
        self.text.push('"');
        self.text.push_str(name);
        self.text.push_str("\":");
        self
    }

    /// As `field`, for a name that somebody else chose.
    pub(super) fn field_of(&mut self, name: &str) -> &mut Out {
        if !self.text.ends_with('{') {
            self.text.push(',');
        }
        self.text(name).raw(":")
    }

    /// Each with `write`, commas between.
    pub(super) fn list<T>(
        &mut self,
        elements: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Out, T),
    ) -> &mut Out {
        for (at, element) in elements.into_iter().enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            write(self, element);
        }
        self
    }

    /// An item as an object of its attributes.
    pub(super) fn item(&mut self, item: &Item) -> &mut Out {
        self.raw("{").list(item.iter(), |out, (name, value)| {
            out.text(name).raw(":").value(value);
        });
        self.raw("}")
    }

    /// A value as an object of its type.
    pub(super) fn value(&mut self, value: &Value) -> &mut Out {
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

    fn bytes(&mut self, bytes: &[u8]) -> &mut Out {
        self.text.push('"');
        STANDARD.encode_string(bytes, &mut self.text);
        self.text.push('"');
        self
    }
}

/// The first byte that cannot stand in a string as it is.
fn first_escaped(bytes: &[u8]) -> Option<(usize, u8)> {
    /// Looked at together, in a few instructions: most texts have nothing to be escaped.
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

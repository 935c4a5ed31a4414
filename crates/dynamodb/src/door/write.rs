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
        Out { text: String::with_capacity(ROOM) }
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
        let mut from = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                0..0x20 => "",
                _ => continue,
            };
            // What is escaped is one byte long, so both sides end at whole characters.
            self.text.push_str(text.get(from..at).unwrap_or_default());
            self.text.push_str(escape);
            if escape.is_empty() {
                write!(self.text, "\\u{byte:04x}").expect("text always has room");
            }
            from = at + 1;
        }
        self.text.push_str(text.get(from..).unwrap_or_default());
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

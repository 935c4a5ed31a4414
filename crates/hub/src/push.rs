//! What is pushed: a text, encoded once, shared by everyone who gets it.

use std::fmt;
use std::sync::Arc;

use base::Monotonic;
use bytes::Bytes;
use parking_lot::Mutex;

use crate::Position;

/// UTF-8 that is shared instead of copied. What a room pushes is one JSON value.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Text(Bytes);

impl Text {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("every constructor takes UTF-8")
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// A part of [`Text::as_str`], which shares its bytes.
    pub(crate) fn part(&self, part: &str) -> Text {
        Text(self.0.slice_ref(part.as_bytes()))
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(Bytes::from(text))
    }
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Text {
        Text(Bytes::from_static(text.as_bytes()))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// What one subscription puts around every push, without copying the push:
/// `{"id":"7","type":"data","payload":` … `}`.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    /// Stands before it.
    pub prefix: Text,
    /// Stands behind it.
    pub suffix: Text,
    /// For clients that resume: stands between the push and the suffix, with the push's position
    /// behind it.
    pub stamp: Option<Text>,
}

impl Envelope {
    /// Its length in bytes.
    pub fn len(&self) -> usize {
        let stamp = self.stamp.as_ref().map_or(0, Text::len);
        self.prefix.len() + stamp + self.suffix.len()
    }

    /// Whether it adds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What stands between the push at `position` and the suffix.
    pub fn stamp_at(&self, position: Position) -> Text {
        match &self.stamp {
            None => Text::default(),
            Some(stamp) => Text::from(format!("{}{position}", stamp.as_str())),
        }
    }
}

/// Which form of a channel's pushes a subscription gets: a number that the room gave to, say, one
/// selection of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct View(pub u64);

/// Makes the form of a push that a view asks for; `None` when it asks for none of it.
pub(crate) type Render = dyn Fn(&Text, View) -> Option<Text> + Send + Sync;

/// One push in its topic.
#[derive(Debug)]
pub(crate) struct Push {
    /// Its number among all instances.
    pub(crate) offset: u64,
    /// Its number in this topic as this instance knows it, without holes: how a member knows
    /// that it has missed something.
    pub(crate) serial: u64,
    pub(crate) at: Monotonic,
    pub(crate) text: Text,
    /// Forms already made. A handful: one for each different selection of a class.
    views: Mutex<Vec<(View, Option<Text>)>>,
}

impl Push {
    pub(crate) fn new(offset: u64, serial: u64, at: Monotonic, text: Text) -> Push {
        Push { offset, serial, at, text, views: Mutex::default() }
    }

    /// The form for `view`, made once however many ask.
    pub(crate) fn form(&self, view: View, render: Option<&Arc<Render>>) -> Option<Text> {
        let Some(render) = render else { return Some(self.text.clone()) };
        let mut views = self.views.lock();
        if let Some((_, made)) = views.iter().find(|(known, _)| *known == view) {
            return made.clone();
        }
        let made = render(&self.text, view);
        views.push((view, made.clone()));
        made
    }
}

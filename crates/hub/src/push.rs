//! A push: a text that is encoded once and shared by all its readers.

use std::fmt;
use std::sync::Arc;

use base::Monotonic;
use bytes::Bytes;
use parking_lot::Mutex;

use crate::Position;

/// UTF-8 text that is shared and not copied. The text of a push is one JSON value.
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

    /// A part of [`Text::as_str`]. It shares the bytes.
    pub(crate) fn part(&self, part: &str) -> Text {
        Text(self.0.slice_ref(part.as_bytes()))
    }

    /// Whether it is empty.
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

/// The text that one subscription puts around every push, without a copy of the push:
/// `{"id":"7","type":"data","payload":` … `}`.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    /// The text before the push.
    pub prefix: Text,
    /// The text at the end.
    pub suffix: Text,
    /// For clients that resume: text between the push and the suffix, followed by the position of
    /// the push.
    pub stamp: Option<Text>,
}

impl Envelope {
    /// The length in bytes.
    pub fn len(&self) -> usize {
        let stamp = self.stamp.as_ref().map_or(0, Text::len);
        self.prefix.len() + stamp + self.suffix.len()
    }

    /// Whether it adds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text between the push at `position` and the suffix.
    pub fn stamp_at(&self, position: Position) -> Text {
        match &self.stamp {
            None => Text::default(),
            Some(stamp) => Text::from(format!("{}{position}", stamp.as_str())),
        }
    }
}

/// The form of a channel's pushes that a subscription gets. The room assigns the number, for
/// example one for each selection of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct View(pub u64);

/// Renders a push for a view; `None` if the view contains nothing of it.
pub(crate) type Renderer = dyn Fn(&Text, View) -> Option<Text> + Send + Sync;

/// One push of a topic.
#[derive(Debug)]
pub(crate) struct Push {
    /// Its number across all instances.
    pub(crate) offset: u64,
    /// Its number in this topic on this instance, without holes. A member notices by it that it has
    /// missed pushes.
    pub(crate) serial: u64,
    pub(crate) at: Monotonic,
    pub(crate) text: Text,
    /// The views rendered so far. A handful: one for each different selection in a class.
    views: Mutex<Vec<(View, Option<Text>)>>,
}

impl Push {
    pub(crate) fn new(offset: u64, serial: u64, at: Monotonic, text: Text) -> Push {
        Push { offset, serial, at, text, views: Mutex::default() }
    }

    /// The form for `view`, rendered once for all subscriptions that use it.
    pub(crate) fn form(&self, view: View, render: Option<&Arc<Renderer>>) -> Option<Text> {
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

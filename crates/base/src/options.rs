//! Settings that know their own names. A crate declares its options once with [`crate::options!`];
//! the binary reads them from its layers, and explains and prints them by the same declaration.
//!
//! ```
//! base::options! {
//!     /// How the door is kept.
//!     pub struct Options in "door" {
//!         /// What is written on it.
//!         pub plate: String = "Nagaya".to_owned();
//!         /// How many may pass at once.
//!         pub width: u32 = 2, 1..=10;
//!     }
//! }
//! use base::options::Section;
//! let mut options = Options::default();
//! let mut settings = options.settings();
//! let width = settings.last_mut().unwrap();
//! assert_eq!((width.key, width.write().as_str()), ("door.width", "2"));
//! assert_eq!(width.read("11").unwrap_err(), "a whole number from 1 to 10");
//! width.read("3").unwrap();
//! assert_eq!(options.width, 3);
//! ```
//!
//! Every value has one text form, which is the same in a file, in the environment and on the
//! command line. This module does not know files or where the text comes from.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Declares the options of a crate: fields with a doc, a default, and for numbers an optional
/// range. Makes the struct, its `Default` and its [`Section`].
#[macro_export]
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident in $section:literal {
            $(
                $(#[doc = $doc:literal])+
                pub $field:ident: $type:ty = $default:expr $(, $range:expr)?;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)+ }
            }
        }

        impl $crate::options::Section for $name {
            fn name(&self) -> &'static str {
                $section
            }

            fn about(&self) -> &'static str {
                concat!($($about, "\n"),+)
            }

            fn settings(&mut self) -> Vec<$crate::options::Setting<'_>> {
                vec![$($crate::options::Setting {
                    key: concat!($section, ".", stringify!($field)),
                    doc: concat!($($doc, "\n"),+),
                    value: &mut self.$field,
                    range: None$(.or(Some($range)))?,
                }),+]
            }
        }
    };
}

/// Declares a choice between words, for options. Makes the enum and its [`options::Value`].
///
/// [`options::Value`]: crate::options::Value
///
/// ```
/// base::choice! {
///     /// How a line of the log looks.
///     pub enum Format {
///         /// For people.
///         Text = "text",
///         /// For programs.
///         Json = "json",
///     }
/// }
/// use base::options::Value;
/// let mut format = Format::Text;
/// assert!(format.read("json") && format == Format::Json);
/// assert_eq!(format.expected(), "`text` or `json`");
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        $vis:vis enum $name:ident {
            $($(#[doc = $doc:literal])+ $choice:ident = $word:literal,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[doc = $doc])+ $choice,)+
        }

        impl $crate::options::Value for $name {
            fn read(&mut self, text: &str) -> bool {
                match text {
                    $($word => *self = $name::$choice,)+
                    _ => return false,
                }
                true
            }

            fn write(&self) -> String {
                match self {
                    $($name::$choice => $word.to_owned(),)+
                }
            }

            fn expected(&self) -> String {
                [$(concat!("`", $word, "`")),+].join(" or ")
            }

            fn form(&self) -> $crate::options::Form {
                $crate::options::Form::Text
            }
        }
    };
}

/// The options of one crate: one table of the configuration file.
pub trait Section {
    /// The part of its keys before the dot.
    fn name(&self) -> &'static str;
    /// The description of the section.
    fn about(&self) -> &'static str;
    /// The settings with their current values, in the order of declaration.
    fn settings(&mut self) -> Vec<Setting<'_>>;
}

/// One value with its name and description.
pub struct Setting<'a> {
    /// The key with its section: `http.listen`.
    pub key: &'static str,
    /// The description.
    pub doc: &'static str,
    /// The value.
    pub value: &'a mut dyn Value,
    /// The allowed range of a number.
    pub range: Option<RangeInclusive<u64>>,
}

impl Setting<'_> {
    /// Sets the value from its text.
    ///
    /// # Errors
    /// A description of the expected value; the value is unchanged.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        let within = match &self.range {
            Some(range) => text.parse().is_ok_and(|number| range.contains(&number)),
            None => true,
        };
        if within && self.value.read(text) { Ok(()) } else { Err(self.expected()) }
    }

    /// The text of the value.
    pub fn write(&self) -> String {
        self.value.write()
    }

    /// A description of the expected value.
    pub fn expected(&self) -> String {
        match &self.range {
            Some(range) => {
                format!("{} from {} to {}", self.value.expected(), range.start(), range.end())
            }
            None => self.value.expected(),
        }
    }
}

/// A type that options may have. Its text must read back as the same value.
pub trait Value {
    /// Sets the value from its text; returns false and changes nothing if the text does not fit.
    fn read(&mut self, text: &str) -> bool;
    /// The text of the value.
    fn write(&self) -> String;
    /// A description of the expected text.
    fn expected(&self) -> String;
    /// How a file writes the value.
    fn form(&self) -> Form;
}

/// How a file writes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In quotes.
    Text,
    /// As a number.
    Number,
    /// As `true` or `false`.
    Bool,
}

macro_rules! parsed_values {
    ($($type:ty: $form:ident, $expected:literal;)+) => {$(
        impl Value for $type {
            fn read(&mut self, text: &str) -> bool {
                text.parse().map(|value| *self = value).is_ok()
            }

            fn write(&self) -> String {
                self.to_string()
            }

            fn expected(&self) -> String {
                $expected.to_owned()
            }

            fn form(&self) -> Form {
                Form::$form
            }
        }
    )+};
}

parsed_values! {
    u16: Number, "a whole number";
    u32: Number, "a whole number";
    u64: Number, "a whole number";
    usize: Number, "a whole number";
    bool: Bool, "`true` or `false`";
    String: Text, "a text";
}

/// An address to listen on. `localhost` is this machine alone; without a host it is every IPv4
/// interface, because a kernel without IPv6 is common in containers.
pub fn read_listen(text: &str) -> Option<SocketAddr> {
    let named = |host: &str| match host {
        "" => Some(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        _ => None,
    };
    text.parse().ok().or_else(|| {
        let (host, port) = text.rsplit_once(':')?;
        Some(SocketAddr::new(named(host)?, port.parse().ok()?))
    })
}

/// What [`read_listen`] takes, in words.
pub const LISTEN_EXPECTED: &str =
    "an address with its port, such as `127.0.0.1:8080`, `localhost:8080` or `:8080`";

impl Value for SocketAddr {
    fn read(&mut self, text: &str) -> bool {
        read_listen(text).map(|address| *self = address).is_some()
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn expected(&self) -> String {
        LISTEN_EXPECTED.to_owned()
    }

    fn form(&self) -> Form {
        Form::Text
    }
}

impl Value for PathBuf {
    fn read(&mut self, text: &str) -> bool {
        if !text.is_empty() {
            *self = PathBuf::from(text);
        }
        !text.is_empty()
    }

    fn write(&self) -> String {
        self.display().to_string()
    }

    fn expected(&self) -> String {
        "a path".to_owned()
    }

    fn form(&self) -> Form {
        Form::Text
    }
}

/// The empty text stands for no value.
impl<T: Value + Default> Value for Option<T> {
    fn read(&mut self, text: &str) -> bool {
        if text.is_empty() {
            *self = None;
            return true;
        }
        let mut value = T::default();
        let is_read = value.read(text);
        if is_read {
            *self = Some(value);
        }
        is_read
    }

    fn write(&self) -> String {
        self.as_ref().map(T::write).unwrap_or_default()
    }

    fn expected(&self) -> String {
        format!("{}, or nothing", T::default().expected())
    }

    fn form(&self) -> Form {
        // Only quotes can hold an empty text.
        Form::Text
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Section, read_listen};

    options! {
        /// Values of every kind.
        struct Options in "test" {
            /// A number.
            pub number: u32 = 5, 1..=1 << 33;
            /// A switch.
            pub switch: bool = true;
            /// A path.
            /// On two lines.
            pub path: PathBuf = PathBuf::from("here");
            /// Maybe a text.
            pub maybe: Option<String> = None;
        }
    }

    fn read(name: &str, text: &str) -> (Options, Result<(), String>) {
        let mut options = Options::default();
        let mut settings = options.settings();
        let setting = settings.iter_mut().find(|setting| setting.key.ends_with(name)).unwrap();
        let result = setting.read(text);
        (options, result)
    }

    #[test]
    fn a_value_out_of_range_or_type_is_refused_and_changes_nothing() {
        let expected = Err("a whole number from 1 to 8589934592".to_owned());
        for text in ["0", "4294967296", "8589934593", "-1", "1.5", "", "five"] {
            let (options, result) = read("number", text);
            assert_eq!((options.number, result), (5, expected.clone()), "{text}");
        }
        assert_eq!(read("switch", "yes").1, Err("`true` or `false`".to_owned()));
        assert_eq!(read("path", "").1, Err("a path".to_owned()));
    }

    #[test]
    fn an_address_to_listen_on_may_be_a_port_alone_or_that_of_this_machine() {
        for (text, address) in [
            (":8080", "0.0.0.0:8080"),
            ("localhost:80", "127.0.0.1:80"),
            ("192.0.2.7:1", "192.0.2.7:1"),
            ("[::]:0", "[::]:0"),
        ] {
            assert_eq!(read_listen(text), address.parse().ok(), "{text}");
        }
        for text in ["", ":", "8080", "localhost", ":65536", "box.local:80", "::1:80", "*:80"] {
            assert_eq!(read_listen(text), None, "{text}");
        }
    }

    #[test]
    fn an_empty_and_a_present_value_differ() {
        assert_eq!(read("maybe", "x").0.maybe.as_deref(), Some("x"));
        assert_eq!(read("maybe", "").0.maybe, None);
    }

    #[test]
    fn every_default_is_read_back_as_it_is_written() {
        for setting in &mut Options::default().settings() {
            let text = setting.write();
            assert_eq!(setting.read(&text), Ok(()), "{}", setting.key);
            assert_eq!(setting.write(), text);
        }
    }
}

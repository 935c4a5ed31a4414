//! What a source is like: for what its upstream answers, what its values measure, who may read them.

/// What an upstream answers for a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The value of the window that it is asked for, whenever it is asked.
    Windowed,
    /// The value of the moment. There is none for a slot that is over.
    Instant,
}

impl Mode {
    pub(crate) const ALL: [Mode; 2] = [Mode::Windowed, Mode::Instant];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Mode::Windowed => "windowed",
            Mode::Instant => "instant",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// What a value measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// How often something happened in a slot: whole, not negative, and added up.
    Count,
    /// How much there was: a decimal, also below zero, and never added up.
    Gauge,
}

impl Kind {
    pub(crate) const ALL: [Kind; 2] = [Kind::Count, Kind::Gauge];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Count => "count",
            Kind::Gauge => "gauge",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Who may read a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Readers {
    /// Everybody.
    Everyone,
    /// Whoever has an API key for reading.
    Key,
    /// The operator alone.
    Operator,
}

impl Readers {
    pub(crate) const ALL: [Readers; 3] = [Readers::Everyone, Readers::Key, Readers::Operator];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Readers::Everyone => "everyone",
            Readers::Key => "key",
            Readers::Operator => "operator",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Readers> {
        Readers::ALL.into_iter().find(|readers| readers.word() == word)
    }
}

/// The mode of a source that does not say: one that neither names the window in its answers nor
/// takes both ends of it is instant. With one end alone, the other is the moment of the call.
pub(crate) fn usual_mode(path: &str, echo: bool) -> Mode {
    let takes = |names: [&str; 2]| names.iter().any(|name| path.contains(name));
    let takes_window = takes(["{from}", "{fromSeconds}"]) && takes(["{to}", "{toSeconds}"]);
    if echo || takes_window { Mode::Windowed } else { Mode::Instant }
}

/// The lag of a source that does not say: behind its window, with a second to settle; an instant
/// one is asked while its slot goes on.
pub(crate) fn usual_lag_s(mode: Mode, interval_s: u64) -> u64 {
    match mode {
        Mode::Windowed => interval_s.saturating_add(1),
        Mode::Instant => 0,
    }
}

//! The spellings of a setting's key.

/// What every variable of ours begins with. One that we do not know is an error, not a stranger.
pub(crate) const PREFIX: &str = "NAGAYA_";

/// Names the file, and so is not a setting in it.
pub(crate) const CONFIG_VARIABLE: &str = "NAGAYA_CONFIG";

/// `http.listen` is `NAGAYA_HTTP_LISTEN`.
pub(crate) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// `http.listen` is `--http-listen`.
pub(crate) fn flag(key: &str) -> String {
    format!("--{}", long(key))
}

/// A flag without its dashes.
pub(crate) fn long(key: &str) -> String {
    key.replace(['.', '_'], "-")
}

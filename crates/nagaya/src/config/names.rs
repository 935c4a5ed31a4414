//! The spellings of a setting's key.

/// What every variable of ours begins with. One that we do not know is an error, not a stranger.
pub(crate) const PREFIX: &str = "NAGAYA_";

/// Names the file, and so is not a setting in it.
pub(crate) const CONFIG_VARIABLE: &str = "NAGAYA_CONFIG";

/// Variables that a room's contract or the tools of AWS name, and the keys that they set. Of two
/// for one key the later counts more.
const ELSEWHERE: [(&str, &str); 9] = [
    ("AI_API_BASE_URL", "collect.base_url"),
    ("AI_METRICS_TABLE_NAME", "collect.table"),
    ("AWS_DEFAULT_REGION", "aws.region"),
    ("AWS_REGION", "aws.region"),
    ("AWS_ENDPOINT_URL", "aws.endpoint"),
    ("AWS_ENDPOINT_URL_DYNAMODB", "aws.endpoint"),
    ("AWS_ACCESS_KEY_ID", "aws.access_key_id"),
    ("AWS_SECRET_ACCESS_KEY", "aws.secret_access_key"),
    ("AWS_SESSION_TOKEN", "aws.session_token"),
];

/// The key that a variable of another name sets.
pub(crate) fn key_elsewhere(variable: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(name, _)| *name == variable).map(|(_, key)| *key)
}

/// How much such a variable counts beside another for the same key.
pub(crate) fn rank(variable: &str) -> Option<usize> {
    ELSEWHERE.iter().position(|(name, _)| *name == variable)
}

/// `http.listen` is `NAGAYA_HTTP_LISTEN`.
pub(crate) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// `http.listen` is `--http-listen`.
pub(crate) fn flag(key: &str) -> String {
    format!("--{}", long(key))
}

/// Another flag for a setting, shorter than its key, if it has one.
pub(crate) fn short(key: &str) -> Option<&'static str> {
    (key == "dynamodb.listen").then_some("dynamodb")
}

/// A flag without its dashes.
pub(crate) fn long(key: &str) -> String {
    key.replace(['.', '_'], "-")
}

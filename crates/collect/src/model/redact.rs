//! What of a URL is shown. The values of parameters that are secrets by their names are left out,
//! and so are secrets of files wherever they turn up.

use base::is_secret_name;

/// Stands for a value that is left out.
pub(crate) const LEFT_OUT: &str = "[redacted]";

/// A secret that is shorter than this is not looked for in texts: it would be found in words that
/// have nothing to do with it.
const SOUGHT_BYTES_MIN: usize = 4;

/// A value that is written into a template, and not a hole of it.
fn is_written(value: &str) -> bool {
    let is_hole = value.starts_with('{') && value.ends_with('}');
    !value.is_empty() && !is_hole
}

/// The parameters of a path: what stands before the query, and the pairs of the query as they are
/// written.
fn pairs(path: &str) -> (&str, impl Iterator<Item = (&str, Option<&str>)>) {
    let (before, query) = path.split_once('?').unwrap_or((path, ""));
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (pair, None),
    });
    (before, pairs)
}

/// A path or URL without the values of its secret parameters.
pub(crate) fn redact(path: &str) -> String {
    rewrite(path, |name, value| match is_secret_name(name) && is_written(value) {
        true => LEFT_OUT.to_owned(),
        false => value.to_owned(),
    })
}

/// The values of the secret parameters that are written into a path.
pub(crate) fn written_secrets(path: &str) -> Vec<String> {
    let (_, pairs) = pairs(path);
    let secret = |(name, value): (&str, Option<&str>)| {
        value.filter(|value| is_secret_name(name) && is_written(value)).map(str::to_owned)
    };
    pairs.filter_map(secret).collect()
}

/// A path with the values that were left out of it, as they stand in the one before; the name of
/// one that is not there.
pub(crate) fn restore(path: &str, before: &str) -> Result<String, String> {
    let mut missing = None;
    let restored = rewrite(path, |name, value| {
        if value != LEFT_OUT {
            return value.to_owned();
        }
        let (_, mut old) = pairs(before);
        let old = old.find(|(other, value)| *other == name && value.is_some());
        match old.and_then(|(_, value)| value) {
            Some(value) => value.to_owned(),
            None => {
                missing = Some(name.to_owned());
                String::new()
            }
        }
    });
    missing.map_or(Ok(restored), Err)
}

/// A text without these secrets.
pub(crate) fn scrub(text: &str, secrets: &[String]) -> String {
    let sought = secrets.iter().filter(|secret| secret.len() >= SOUGHT_BYTES_MIN);
    sought.fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), LEFT_OUT))
}

fn rewrite(path: &str, mut value_of: impl FnMut(&str, &str) -> String) -> String {
    let (before, pairs) = pairs(path);
    if !path.contains('?') {
        return before.to_owned();
    }
    let pairs = pairs.map(|(name, value)| match value {
        Some(value) => format!("{name}={}", value_of(name, value)),
        None => name.to_owned(),
    });
    format!("{before}?{}", pairs.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::{redact, restore, scrub, written_secrets};

    #[test]
    fn secret_parameters_are_left_out_and_put_back() {
        let path = "/x?from={from}&api_key=abc&kind=new&Token=d=e&sig=&key={secret:k}&plain";
        let shown =
            "/x?from={from}&api_key=[redacted]&kind=new&Token=[redacted]&sig=&key={secret:k}&plain";
        assert_eq!(redact(path), shown);
        assert_eq!(written_secrets(path), ["abc", "d=e"]);
        assert_eq!(restore(shown, path).as_deref(), Ok(path));
        assert_eq!(restore("/x?key=[redacted]", "/x?token=abc"), Err("key".to_owned()));
        assert_eq!(redact("/plain"), "/plain");
        assert_eq!(redact("/x?%74oken=abc"), "/x?%74oken=[redacted]");
    }

    #[test]
    fn a_secret_is_taken_out_of_a_text_wherever_it_stands() {
        let secrets = ["sesame".to_owned(), "a".to_owned()];
        assert_eq!(scrub("say sesame, sesame", &secrets), "say [redacted], [redacted]");
    }
}

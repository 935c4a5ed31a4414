//! Values written into an expression: `score >= 10 AND begins_with(title, "a")`. DynamoDB's
//! expressions have only placeholders, so literals become some before the expression is read.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::Error;

/// Moves texts in double quotes and numbers from `expression` into `values`.
pub(super) fn extract(
    expression: &mut String,
    values: &mut BTreeMap<String, Json>,
) -> Result<(), Error> {
    let mut written = String::new();
    let mut rest = expression.as_str();
    while let Some(next) = rest.chars().next() {
        let (length, value) = if next == '"' {
            let length = text_length(rest)?;
            let text: String = serde_json::from_str(rest.get(..length).unwrap_or(rest))
                .map_err(|cause| Error::Usage(format!("`{rest}`: {cause}")))?;
            (length, json!({ "S": text }))
        } else if is_number(written.chars().next_back(), rest) {
            let length = number_length(rest);
            (length, json!({ "N": rest.get(..length).unwrap_or(rest) }))
        } else {
            written.push(next);
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
            continue;
        };
        let free = (values.len()..).map(|number| format!(":literal{number}"));
        let name = free.into_iter().find(|name| !values.contains_key(name));
        let name = name.expect("there are more numbers than values");
        written.push_str(&name);
        values.insert(name, value);
        rest = rest.get(length..).unwrap_or_default();
    }
    *expression = written;
    Ok(())
}

/// How far the text in quotes goes that `rest` begins with, quotes included.
fn text_length(rest: &str) -> Result<usize, Error> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Ok(at + 1),
            _ => {}
        }
    }
    Err(Error::Usage(format!("a quote is not closed: `{rest}`")))
}

/// Whether `rest` begins with a number that is not part of a name and not a list's position.
fn is_number(before: Option<char>, rest: &str) -> bool {
    let continues = |c: char| c.is_ascii_alphanumeric() || "_#:.[".contains(c);
    let digits = rest.strip_prefix('-').unwrap_or(rest);
    !before.is_some_and(continues) && digits.starts_with(|c: char| c.is_ascii_digit())
}

fn number_length(rest: &str) -> usize {
    let sign = usize::from(rest.starts_with('-'));
    let digits = rest.get(sign..).unwrap_or_default();
    sign + digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::extract;

    #[test]
    fn literals_become_placeholders_and_nothing_else_changes() {
        let mut values = BTreeMap::from([(":literal1".to_owned(), json!({ "BOOL": true }))]);
        let mut text =
            r#"a1 = "x \"y\" 日本" AND l[2] < -1.5 AND #n3 IN (:v4,7) AND m.k5 <> """#.to_owned();
        extract(&mut text, &mut values).unwrap();
        assert_eq!(
            text,
            "a1 = :literal2 AND l[2] < :literal3 AND #n3 IN (:v4,:literal4) AND m.k5 <> :literal5"
        );
        assert_eq!(values.get(":literal1"), Some(&json!({ "BOOL": true })));
        assert_eq!(values.get(":literal2"), Some(&json!({ "S": "x \"y\" 日本" })));
        assert_eq!(values.get(":literal3"), Some(&json!({ "N": "-1.5" })));
        assert_eq!(values.get(":literal4"), Some(&json!({ "N": "7" })));
        assert_eq!(values.get(":literal5"), Some(&json!({ "S": "" })));
    }

    #[test]
    fn an_open_quote_is_refused() {
        let mut text = r#"a = "x\""#.to_owned();
        let told = extract(&mut text, &mut BTreeMap::new()).unwrap_err().to_string();
        assert_eq!(told, r#"a quote is not closed: `"x\"`"#);
    }
}

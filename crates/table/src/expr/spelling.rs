//! Expressions as people write them: `score >= 10 AND begins_with(name, "a")`. DynamoDB takes
//! neither values nor reserved words in an expression, so both become placeholders first.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::reserved::is_reserved;
use crate::error::Error;

/// Words that stand between conditions and cannot be meant as names.
const KEYWORDS: [&str; 5] = ["AND", "OR", "NOT", "IN", "BETWEEN"];

/// Moves reserved words from `expression` into `names`, and texts in double quotes and numbers
/// into `values`.
///
/// # Errors
/// A quote is not closed, or what stands in it is no text.
pub fn respell(
    expression: &mut String,
    names: &mut BTreeMap<String, String>,
    values: &mut BTreeMap<String, Json>,
) -> Result<(), Error> {
    let mut written = String::new();
    let mut rest = expression.as_str();
    while let Some(next) = rest.chars().next() {
        let in_list = written.ends_with('[');
        let (length, kind) = measure(next, rest, in_list)?;
        let (token, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        match kind {
            Token::Word if is_meant_as_name(token, behind) => {
                let placeholder = format!("#reserved_{token}");
                written.push_str(&placeholder);
                names.insert(placeholder, token.to_owned());
            }
            Token::Text => {
                let text: String = serde_json::from_str(token)
                    .map_err(|cause| Error::Invalid(format!("{token}: {cause}")))?;
                written.push_str(&add(values, json!({ "S": text })));
            }
            Token::Number => written.push_str(&add(values, json!({ "N": token }))),
            Token::Word | Token::Other => written.push_str(token),
        }
        rest = behind;
    }
    *expression = written;
    Ok(())
}

enum Token {
    Word,
    Text,
    Number,
    Other,
}

fn measure(first: char, rest: &str, in_list: bool) -> Result<(usize, Token), Error> {
    let run = |from: usize, allowed: fn(char) -> bool| {
        let behind = rest.get(from..).unwrap_or_default();
        from + behind.find(|c| !allowed(c)).unwrap_or(behind.len())
    };
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let in_number = |c: char| c.is_ascii_digit() || c == '.';
    let behind_sign = rest.strip_prefix('-').unwrap_or(rest);
    Ok(match first {
        '"' => (text_length(rest)?, Token::Text),
        '#' | ':' => (run(1, in_word), Token::Other),
        _ if in_word(first) && !first.is_ascii_digit() => (run(1, in_word), Token::Word),
        _ if !in_list && behind_sign.starts_with(|c: char| c.is_ascii_digit()) => {
            (run(1, in_number), Token::Number)
        }
        _ => (first.len_utf8(), Token::Other),
    })
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
    Err(Error::Invalid(format!("a quote is not closed: `{rest}`")))
}

/// Whether a word is reserved and yet can only be a name: no keyword, no function.
fn is_meant_as_name(word: &str, behind: &str) -> bool {
    is_reserved(word)
        && !KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
        && !behind.trim_ascii_start().starts_with('(')
}

/// Adds a value under a name that is free, and gives the name.
fn add(values: &mut BTreeMap<String, Json>, value: Json) -> String {
    let mut free = (values.len()..).map(|number| format!(":literal{number}"));
    let name = free.find(|name| !values.contains_key(name));
    let name = name.expect("there are more numbers than values");
    values.insert(name.clone(), value);
    name
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::respell;

    #[test]
    fn literals_become_values_and_nothing_else_changes() {
        let mut names = BTreeMap::new();
        let mut values = BTreeMap::from([(":literal1".to_owned(), json!({ "BOOL": true }))]);
        let mut text =
            r#"a1 = "x \"y\" 日本" AND l[2] < -1.5 AND #n3 IN (:v4,7) AND m.k5 <> """#.to_owned();
        respell(&mut text, &mut names, &mut values).unwrap();
        assert_eq!(
            text,
            "a1 = :literal2 AND l[2] < :literal3 AND #n3 IN (:v4,:literal4) AND m.k5 <> :literal5"
        );
        assert_eq!(values.get(":literal1"), Some(&json!({ "BOOL": true })));
        assert_eq!(values.get(":literal2"), Some(&json!({ "S": "x \"y\" 日本" })));
        assert_eq!(values.get(":literal3"), Some(&json!({ "N": "-1.5" })));
        assert_eq!(values.get(":literal4"), Some(&json!({ "N": "7" })));
        assert_eq!(values.get(":literal5"), Some(&json!({ "S": "" })));
        assert!(names.is_empty());
    }

    #[test]
    fn reserved_words_become_names_unless_they_are_meant() {
        let (mut names, mut values) = (BTreeMap::new(), BTreeMap::new());
        let mut text = "not size (Name) BETWEEN :a and :b OR data.user[0] = #name".to_owned();
        respell(&mut text, &mut names, &mut values).unwrap();
        assert_eq!(
            text,
            "not size (#reserved_Name) BETWEEN :a and :b OR \
             #reserved_data.#reserved_user[0] = #name"
        );
        assert_eq!(names.get("#reserved_Name").map(String::as_str), Some("Name"));
        assert_eq!((names.len(), values.len()), (3, 0));
    }

    #[test]
    fn an_open_quote_is_refused() {
        let mut text = r#"a = "x\""#.to_owned();
        let told = respell(&mut text, &mut BTreeMap::new(), &mut BTreeMap::new());
        assert_eq!(told.unwrap_err().to_string(), r#"a quote is not closed: `"x\"`"#);
    }
}

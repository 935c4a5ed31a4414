//! The form of a source: what the API takes as JSON, field by field.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde_json::{Map, Value as JsonValue};

use super::DESK;
use super::markup::choice;
use super::words::Words;
use crate::error::Error;
use crate::items::source::SourceForm;
use crate::model::kind::{Kind, Mode, Readers};
use crate::model::policy::Policy;
use crate::model::redact::redact;
use crate::model::source::Source;

/// A form as it was sent, by the names of the API.
pub(super) type Fields = BTreeMap<String, String>;

/// Fields that are numbers; an empty one is not there.
const NUMBERS: [&str; 4] = ["intervalSeconds", "lagSeconds", "deadlineSeconds", "retentionDays"];
/// Fields that are texts; an empty one is not there, so that it is the usual.
const TEXTS: [&str; 10] = [
    "name", "metric", "baseUrl", "path", "pointer", "misfire", "overlap", "mode", "kind", "readers",
];

/// What a new source has unless one says otherwise.
pub(super) fn usual() -> Fields {
    let form = r#"{"name": "", "baseUrl": ""}"#;
    let form: SourceForm = serde_json::from_str(form).expect("a name and a base are a form");
    let mut fields = fields_in(&form);
    // It follows the interval.
    fields.remove("lagSeconds");
    fields.insert("readers".to_owned(), Readers::Operator.word().to_owned());
    fields
}

/// The fields of a source.
pub(super) fn fields_of(source: &Source) -> Fields {
    fields_in(&SourceForm::shown(source))
}

/// Fields as they are shown again.
pub(super) fn without_secrets(mut fields: Fields) -> Fields {
    if let Some(path) = fields.get_mut("path") {
        *path = redact(path);
    }
    fields
}

fn fields_in(form: &SourceForm) -> Fields {
    let form = serde_json::to_value(form).expect("words and numbers are JSON");
    let mut fields = Fields::new();
    for (name, value) in form.as_object().into_iter().flatten() {
        let text = match value {
            JsonValue::String(text) => text.clone(),
            JsonValue::Bool(false) => continue,
            JsonValue::Object(files) => {
                let line = |(header, file): (&String, &JsonValue)| {
                    format!("{header}: {}\n", file.as_str().unwrap_or_default())
                };
                files.iter().map(line).collect()
            }
            other => other.to_string(),
        };
        fields.insert(name.clone(), text);
    }
    fields
}

/// The source that a form means.
pub(super) fn read(fields: &Fields) -> Result<Source, Error> {
    let field =
        |name: &str| fields.get(name).map(|text| text.trim()).filter(|text| !text.is_empty());
    let mut form = Map::new();
    for name in TEXTS {
        form.extend(field(name).map(|text| (name.to_owned(), text.into())));
    }
    for name in NUMBERS {
        let Some(text) = field(name) else { continue };
        let number: u64 = text
            .parse()
            .map_err(|_| Error::invalid(format!("{name} must be a whole number, not `{text}`")))?;
        form.insert(name.to_owned(), number.into());
    }
    form.insert("echo".to_owned(), field("echo").is_some().into());
    let mut files = Map::new();
    for line in
        field("headerFiles").unwrap_or_default().lines().filter(|line| !line.trim().is_empty())
    {
        let (header, file) = line.split_once(':').ok_or_else(|| {
            Error::invalid(format!("headerFiles: a line is `header: file`, not `{line}`"))
        })?;
        files.insert(header.trim().to_owned(), file.trim().into());
    }
    form.insert("headerFiles".to_owned(), files.into());
    let form: Result<SourceForm, _> = serde_json::from_value(form.into());
    form.map_err(|error| Error::invalid(error.to_string()))?.source(Readers::Operator)
}

/// The form; `was` is the name of a source that is changed.
pub(super) fn render(
    words: &Words,
    title: &str,
    fields: &Fields,
    was: &str,
    told: Option<&str>,
) -> Markup {
    let value = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
    let policies = || Policy::ALL.map(|policy| (policy.word(), words.policy(policy)));
    html! {
        div .stack {
            h1 { (title) @if !was.is_empty() { ": " bdi { (was) } } }
            @if let Some(told) = told {
                p .notice .alert role="alert" { (words.refused) " " span lang="en" { (told) } }
            }
            form .card .source-form method="post" action="/collect/operate/source" {
                input type="hidden" name="was" value=(was);
                @if was.is_empty() {
                    (line("name", words.f_name, words.f_name_hint, value("name"), true))
                } @else {
                    input type="hidden" name="name" value=(was);
                }
                (line("metric", words.f_metric, words.f_metric_hint, value("metric"), true))
                (line("baseUrl", words.f_base, words.f_base_hint, value("baseUrl"), true))
                (line("path", words.f_path, words.f_path_hint, value("path"), false))
                label .field { (words.f_kind) (choice("kind", kinds(words), value("kind")))
                    span .hint { (words.f_kind_hint) } }
                (line("intervalSeconds", words.f_interval, words.f_interval_hint, value("intervalSeconds"), true))
                (line("lagSeconds", words.f_lag, words.f_lag_hint, value("lagSeconds"), false))
                (line("pointer", words.f_pointer, words.f_pointer_hint, value("pointer"), false))
                label .switch { (words.f_echo)
                    input type="checkbox" name="echo" value="true" checked[!value("echo").is_empty()]; }
                label .field { (words.f_mode) (choice("mode", modes(words), value("mode")))
                    span .hint { (words.f_mode_hint) } }
                label .field { (words.f_readers) (choice("readers", readers(words), value("readers")))
                    span .hint { (words.f_readers_hint) } }
                div .field {
                    label for="headerFiles" { (words.f_headers) }
                    textarea #headerFiles name="headerFiles" rows="2" spellcheck="false"
                        aria-describedby="headerFiles-hint" { (value("headerFiles")) }
                    p #headerFiles-hint .hint { (words.f_headers_hint) }
                }
                label .field { (words.f_misfire) (choice("misfire", policies(), value("misfire"))) }
                label .field { (words.f_overlap) (choice("overlap", policies(), value("overlap"))) }
                (line("deadlineSeconds", words.f_deadline, words.f_deadline_hint, value("deadlineSeconds"), true))
                (line("retentionDays", words.f_retention, words.f_retention_hint, value("retentionDays"), false))
                div .row {
                    button .primary { (words.save) }
                    a .button href=(DESK) { (words.back) }
                }
            }
        }
    }
}

fn kinds(words: &Words) -> [(&'static str, &'static str); 2] {
    Kind::ALL.map(|kind| (kind.word(), words.kind(kind)))
}

/// The modes; the first one leaves it to the path and the answer.
fn modes(words: &Words) -> Vec<(&'static str, &'static str)> {
    let usual = [("", words.mode_usual)].into_iter();
    usual.chain(Mode::ALL.map(|mode| (mode.word(), words.mode(mode)))).collect()
}

fn readers(words: &Words) -> [(&'static str, &'static str); 3] {
    Readers::ALL.map(|readers| (readers.word(), words.readers(readers)))
}

fn line(name: &str, label: &str, hint: &str, value: &str, required: bool) -> Markup {
    let is_number = NUMBERS.contains(&name);
    html! {
        div .field {
            label for=(name) { (label) }
            input id=(name) name=(name) value=(value) required[required] autocomplete="off"
                autocapitalize="none" spellcheck="false" aria-describedby={ (name) "-hint" }
                inputmode=[is_number.then_some("numeric")];
            p .hint id={ (name) "-hint" } { (hint) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, fields_of, read, usual};
    use crate::model::kind::{Kind, Mode, Readers};

    fn filled() -> Fields {
        let mut fields = usual();
        fields.insert("name".to_owned(), "tokyo".to_owned());
        fields.insert("baseUrl".to_owned(), "https://api.example.com".to_owned());
        fields
    }

    #[test]
    fn a_source_is_read_as_it_is_shown() {
        let mut fields = filled();
        fields.insert("headerFiles".to_owned(), "authorization: token\n\nx-b:b".to_owned());
        fields.insert("retentionDays".to_owned(), " 90 ".to_owned());
        let source = read(&fields).unwrap();
        assert_eq!(read(&fields_of(&source)).unwrap(), source);
        assert_eq!((source.retention_days, source.header_files.len()), (Some(90), 2));
        assert_eq!(source.rhythm.lag_s, 6, "it follows the interval");
        assert_eq!((source.mode, source.readers), (Mode::Windowed, Readers::Operator));
        fields.remove("echo");
        assert!(!read(&fields).unwrap().echo, "a box that is not ticked is not sent");
        for (name, text) in [("kind", "gauge"), ("mode", "instant"), ("readers", "everyone")] {
            fields.insert(name.to_owned(), text.to_owned());
        }
        let source = read(&fields).unwrap();
        assert_eq!((source.mode, source.readers), (Mode::Instant, Readers::Everyone));
        assert_eq!((source.kind, source.rhythm.lag_s), (Kind::Gauge, 0));
        assert_eq!(read(&fields_of(&source)).unwrap(), source);
    }

    #[test]
    fn what_is_wrong_with_a_field_is_told() {
        let refusal = |name: &str, text: &str| {
            let mut fields = filled();
            fields.insert(name.to_owned(), text.to_owned());
            read(&fields).unwrap_err().to_string()
        };
        let told = refusal("intervalSeconds", "5 s");
        assert_eq!(told, "intervalSeconds must be a whole number, not `5 s`");
        let told = refusal("headerFiles", "token");
        assert_eq!(told, "headerFiles: a line is `header: file`, not `token`");
        assert!(refusal("name", "").contains("`name`"));
        assert!(refusal("baseUrl", "ftp://x").contains("ftp"));
    }
}

//! The settings: what each means, its value, where that comes from, and how it is changed. Some
//! change while the house runs (`edge::Dials`), until it restarts; for all of them the page has the
//! line for the file or the environment.

use std::sync::Arc;

use base::options::Form as Written;
use edge::{
    Form, IntoResponse, Language, Page, Path, Query, Reader, Redirect, Response, State, StatusCode,
    Turned,
};
use maud::{Markup, html};
use serde::Deserialize;

use super::access::copy;
use super::words::{self, KeepWords, SettingWords, of};
use super::{Kind, Pages, time, with_code};
use crate::ShownSetting;

/// What is looked for.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    q: String,
    /// `set`, `now`, or all of them.
    #[serde(default)]
    show: String,
    /// The setting that was just changed.
    #[serde(default)]
    changed: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChangeForm {
    value: String,
}

/// A setting, and whether it can change now.
struct Shown<'s> {
    setting: &'s ShownSetting,
    /// Nothing for one that needs a restart; else what it was changed to.
    dial: Option<Option<Turned>>,
}

pub(super) async fn show(
    State(pages): State<Arc<Pages>>,
    reader: Reader,
    Query(wanted): Query<Wanted>,
) -> Page {
    pages.settings(reader, &wanted, None)
}

/// Changes a setting until the next restart. The path names it, and so does the audit.
pub(super) async fn change(
    State(pages): State<Arc<Pages>>,
    reader: Reader,
    Path(key): Path<String>,
    Form(form): Form<ChangeForm>,
) -> Response {
    let words = words::settings(reader.language);
    let console = &pages.console;
    let setting = console.settings.iter().find(|setting| setting.key == key);
    let is_fixed = console.dials.find(&key).is_none();
    let Some(setting) = setting.filter(|_| !is_fixed) else {
        let problem = format!("{} {key}", words.fixed);
        return pages.refused(reader, &problem);
    };
    let value = match (setting.check)(&key, form.value.trim()) {
        Ok(value) => value,
        Err(expected) => {
            let (before, after) = words.expected;
            return pages.refused(reader, &format!("{key}: {before}{expected}{after}"));
        }
    };
    if !console.dials.turn(&key, &value, console.clock.now()) {
        return pages.refused(reader, &format!("{} {key}", words.fixed));
    }
    Redirect::to(&format!("/console/settings?changed={key}#{key}")).into_response()
}

impl Pages {
    fn refused(&self, reader: Reader, problem: &str) -> Response {
        let page = self.settings(reader, &Wanted::default(), Some(problem));
        page.with_status(StatusCode::BAD_REQUEST).into_response()
    }

    fn settings(&self, reader: Reader, wanted: &Wanted, problem: Option<&str>) -> Page {
        let (keep, words) = (&of(reader.language).keep, words::settings(reader.language));
        let shown: Vec<Shown<'_>> = self
            .console
            .settings
            .iter()
            .map(|setting| Shown { setting, dial: self.console.dials.find(&setting.key) })
            .filter(|shown| shown.is_wanted(wanted, reader.language))
            .collect();
        let count = match shown.len() {
            1 => words.found_one.to_owned(),
            count => words.found.replace("{n}", &count.to_string()),
        };
        let content = html! {
            div .stack {
                div { h1 { (keep.settings) } p .hint { (words.lead) } }
                @if let Some(problem) = problem { p .notice .alert role="alert" { (with_code(problem)) } }
                @if shown.iter().any(|shown| shown.setting.key == wanted.changed) {
                    p .notice role="status" { (words.changed) " " code { (wanted.changed) } }
                }
                (render_search(words, wanted, &count))
                @for group in shown.chunk_by(|one, next| one.section() == next.section()) {
                    (render_group(keep, words, reader.language, group))
                }
                p #nothing .notice hidden[!shown.is_empty()] { (words.nothing_found) }
            }
        };
        self.plain(reader, keep.settings, Kind::Settings, &content)
    }
}

impl Shown<'_> {
    fn section(&self) -> &str {
        self.setting.key.split('.').next().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.setting.key.split_once('.').map_or(self.setting.key.as_str(), |(_, name)| name)
    }

    /// The value in force.
    fn value(&self) -> &str {
        let turned = self.dial.as_ref().and_then(|turned| turned.as_ref());
        turned.map_or(self.setting.value.as_str(), |turned| turned.value.as_str())
    }

    fn is_turned(&self) -> bool {
        self.dial.as_ref().is_some_and(Option::is_some)
    }

    /// What a search looks through. A secret's value is not in it.
    fn words(&self, language: Language) -> String {
        let about = about(self.setting, language);
        format!("{} {} {about} {}", self.setting.key, self.setting.variable, self.value())
            .to_lowercase()
    }

    fn is_wanted(&self, wanted: &Wanted, language: Language) -> bool {
        let is_shown = match wanted.show.as_str() {
            "set" => !self.setting.origin.is_empty() || self.is_turned(),
            "now" => self.dial.is_some(),
            _ => true,
        };
        let words = self.words(language);
        is_shown && wanted.q.to_lowercase().split_whitespace().all(|part| words.contains(part))
    }

    /// As a file has it, with its table.
    fn in_file(&self) -> String {
        let value = match self.setting.form {
            // A basic string of TOML is a string of JSON.
            Written::Text => serde_json::Value::from(self.value()).to_string(),
            Written::Number | Written::Bool => self.value().to_owned(),
        };
        format!("[{}]\n{} = {value}", self.section(), self.name())
    }

    fn in_environment(&self) -> String {
        let is_plain =
            |letter: char| letter.is_ascii_alphanumeric() || "_./:,@%+=-".contains(letter);
        let value = match self.value() {
            value if value.chars().all(is_plain) => value.to_owned(),
            value => format!("'{}'", value.replace('\'', r"'\''")),
        };
        format!("{}={value}", self.setting.variable)
    }
}

fn about(setting: &ShownSetting, language: Language) -> &str {
    match language {
        Language::En => &setting.about,
        Language::Ja => &setting.about_ja,
    }
}

fn render_search(words: &SettingWords, wanted: &Wanted, count: &str) -> Markup {
    let shows = [("", words.all), ("set", words.set), ("now", words.changeable)];
    html! {
        form .card .finder method="get" action="/console/settings" role="search" {
            div .row {
                label .unseen for="q" { (words.search) }
                input #q type="search" name="q" value=(wanted.q) placeholder=(words.search)
                    autocomplete="off" spellcheck="false";
                label .unseen for="show" { (words.filter) }
                select #show name="show" {
                    @for (show, called) in shows {
                        option value=(show) selected[wanted.show == show] { (called) }
                    }
                }
                button { (words.find) }
            }
            p #count .hint role="status" data-one=(words.found_one) data-many=(words.found) { (count) }
        }
    }
}

fn render_group(
    keep: &KeepWords,
    words: &SettingWords,
    language: Language,
    group: &[Shown<'_>],
) -> Markup {
    let Some(first) = group.first() else { return html! {} };
    let section = first.section();
    let about = match language {
        Language::En => &first.setting.section_about,
        Language::Ja => &first.setting.section_about_ja,
    };
    html! {
        section .card .settings aria-labelledby=(section) {
            h2 #(section) { code { (section) } }
            p .hint { (with_code(about)) }
            @for shown in group { (render_setting(keep, words, language, shown)) }
        }
    }
}

fn render_setting(
    keep: &KeepWords,
    words: &SettingWords,
    language: Language,
    shown: &Shown<'_>,
) -> Markup {
    let setting = shown.setting;
    html! {
        article .setting #(setting.key) data-words=(shown.words(language)) {
            div .row .spread {
                h3 .wrap { code { (setting.key) } }
                @if shown.dial.is_some() { span .badge { (words.is_now) } }
                @else { span .hint { (words.needs_restart) } }
            }
            p .about { (with_code(about(setting, language))) }
            dl .facts {
                div { dt { (keep.value) } dd { (value(words, keep, setting, shown.value())) } }
                @if shown.is_turned() {
                    div { dt { (words.at_start) } dd { (value(words, keep, setting, &setting.value)) } }
                }
                div { dt { (words.default) } dd {
                    @if setting.default.is_empty() { span .hint { (words.empty) } }
                    @else { code .wrap { (setting.default) } }
                } }
                div { dt { (keep.origin) } dd .wrap { (origin(words, shown)) } }
            }
            (render_change(words, language, shown))
        }
    }
}

fn value(words: &SettingWords, keep: &KeepWords, setting: &ShownSetting, text: &str) -> Markup {
    html! {
        @if setting.is_secret { span .hint { (keep.kept_secret) } }
        @else if text.is_empty() { span .hint { (words.empty) } }
        @else { code .wrap { (text) } }
    }
}

fn origin(words: &SettingWords, shown: &Shown<'_>) -> Markup {
    let turned = shown.dial.as_ref().and_then(|turned| turned.as_ref());
    html! {
        @match turned {
            Some(turned) => strong { (words.since) " " (time(turned.at)) },
            None if shown.setting.origin.is_empty() => { (words.by_default) },
            None => code .wrap { (shown.setting.origin) },
        }
    }
}

/// How the setting is changed: at once where that can be, and by a line that lasts.
fn render_change(words: &SettingWords, language: Language, shown: &Shown<'_>) -> Markup {
    let (setting, key) = (shown.setting, &shown.setting.key);
    let form = match setting.form {
        Written::Text => "text",
        Written::Number => "number",
        Written::Bool => "bool",
    };
    let input = html! {
        label .field {
            span { (words.new_value) span .unseen { " " (key) } }
            input name="value" value=(shown.value()) autocomplete="off" spellcheck="false"
                inputmode=[(form == "number").then_some("numeric")];
        }
    };
    html! {
        details {
            summary { span { (words.change) span .unseen { " " (key) } } }
            div .change data-section=(shown.section()) data-name=(shown.name())
                data-variable=(setting.variable) data-form=(form) {
                @if shown.dial.is_some() {
                    form method="post" action={ "/console/settings/" (key) } {
                        p .hint { (words.now_hint) }
                        div .row .tight {
                            (input)
                            button .primary { (words.apply) span .unseen { " " (key) } }
                        }
                    }
                    p .hint { (words.keep_hint) }
                } @else {
                    p .hint { (words.restart_hint) }
                    div .scripted { (input) }
                }
                (render_line(language, words.in_file, "file", &shown.in_file(), key))
                (render_line(language, words.in_environment, "environment", &shown.in_environment(), key))
            }
        }
    }
}

fn render_line(language: Language, called: &str, slot: &str, line: &str, key: &str) -> Markup {
    html! {
        div .line-of {
            div .row .spread {
                span .hint { (with_code(called)) }
                (copy(words::access(language), line, &format!("{key} ({})", called.replace('`', ""))))
            }
            pre .code tabindex="0" data-slot=(slot) { (line) }
        }
    }
}

#[cfg(test)]
mod tests {
    use base::Timestamp;
    use base::options::Form;
    use edge::{Language, Turned};

    use super::{Shown, Wanted};
    use crate::ShownSetting;

    fn setting(value: &str, form: Form, is_secret: bool) -> ShownSetting {
        let text = |text: &str| text.to_owned();
        ShownSetting {
            key: text("room.some_name"),
            about: text("Followers of a user."),
            about_ja: text("フォロワーの数。"),
            section_about: text("A room."),
            section_about_ja: text("部屋。"),
            value: if is_secret { String::new() } else { text(value) },
            default: String::new(),
            origin: String::new(),
            is_secret,
            form,
            variable: text("NAGAYA_ROOM_SOME_NAME"),
            check: |_, text| Ok(text.to_owned()),
        }
    }

    #[test]
    fn lines_are_quoted_as_their_readers_need_it() {
        for (value, form, file, environment) in [
            ("5", Form::Number, "5", "5"),
            ("true", Form::Bool, "true", "true"),
            ("[::1]:80", Form::Text, "\"[::1]:80\"", "'[::1]:80'"),
            ("it's \"x\"\\", Form::Text, r#""it's \"x\"\\""#, r#"'it'\''s "x"\'"#),
            ("", Form::Text, "\"\"", ""),
        ] {
            let setting = setting(value, form, false);
            let shown = Shown { setting: &setting, dial: None };
            assert_eq!(shown.in_file(), format!("[room]\nsome_name = {file}"));
            assert_eq!(shown.in_environment(), format!("NAGAYA_ROOM_SOME_NAME={environment}"));
        }
    }

    #[test]
    fn a_setting_is_found_in_the_readers_language_and_by_what_can_be_done_with_it() {
        let setting = setting("5", Form::Number, false);
        let fixed = Shown { setting: &setting, dial: None };
        let turned = Turned { value: "7".to_owned(), at: Timestamp::EPOCH };
        let free = Shown { setting: &setting, dial: Some(Some(turned)) };
        let is_found = |shown: &Shown<'_>, q: &str, show: &str, language| {
            let wanted = Wanted { q: q.to_owned(), show: show.to_owned(), changed: String::new() };
            shown.is_wanted(&wanted, language)
        };
        assert!(is_found(&fixed, "", "", Language::En));
        assert!(is_found(&fixed, "FOLLOWERS user", "", Language::En));
        assert!(!is_found(&fixed, "followers", "", Language::Ja));
        assert!(is_found(&fixed, "フォロワー", "", Language::Ja));
        assert!(is_found(&fixed, "nagaya_room", "", Language::Ja));
        assert!(
            !is_found(&fixed, "", "set", Language::En) && is_found(&free, "", "set", Language::En)
        );
        assert!(
            !is_found(&fixed, "", "now", Language::En) && is_found(&free, "", "now", Language::En)
        );
        assert_eq!((fixed.value(), free.value()), ("5", "7"));
    }
}

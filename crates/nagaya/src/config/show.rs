//! Settings written as a file: the ones in force with their origins, and the example.

use base::hide_passwords;
use base::options::{Form, Section, Setting};

use console::ShownSetting;

use super::{Config, FILE, Origin, Settings, japanese, names};

/// The settings in force, each with its origin if that is wanted. A file of this text gives the
/// same settings, but for secrets, which are never printed, nor are passwords in URLs.
pub(crate) fn in_force(config: &Config, with_origin: bool) -> String {
    let mut settings = config.settings.clone();
    let sections = settings.sections().into_iter().map(|section| {
        let lines: String = section
            .settings()
            .iter()
            .map(|setting| {
                let line = line_of(setting);
                let shown = hide_passwords(&line).into_owned();
                let line = match (is_secret(setting), shown == line) {
                    (true, _) => format!("# {} is kept secret", name_of(setting)),
                    (false, true) => line,
                    (false, false) => format!("# {shown}  # its password is kept secret"),
                };
                match with_origin {
                    true => format!("{line}  # {}\n", config.origin(setting.key)),
                    false => format!("{line}\n"),
                }
            })
            .collect();
        format!("[{}]\n{lines}", section.name())
    });
    sections.collect::<Vec<_>>().join("\n")
}

/// The settings in force with their origins, a line of JSON for each. A secret is `null`.
pub(crate) fn in_force_as_json(config: &Config) -> String {
    let mut settings = config.settings.clone();
    let line = |setting: Setting<'_>| {
        let text = setting.write();
        let value = match setting.value.form() {
            Form::Text if is_secret(&setting) => serde_json::Value::Null,
            Form::Text => serde_json::Value::from(hide_passwords(&text)),
            // Both are spelled in JSON as they are in a file.
            Form::Number | Form::Bool => {
                serde_json::from_str(&text).unwrap_or_else(|_| text.into())
            }
        };
        let origin = config.origin(setting.key).to_string();
        format!("{}\n", serde_json::json!({ "key": setting.key, "value": value, "origin": origin }))
    };
    settings.all().into_iter().map(line).collect()
}

/// The settings in force for the console.
pub(crate) fn listed(config: &Config) -> Vec<ShownSetting> {
    let (mut settings, mut defaults) = (config.settings.clone(), Settings::default());
    let defaults: Vec<String> = defaults.all().iter().map(Setting::write).collect();
    let mut shown = Vec::with_capacity(defaults.len());
    let mut defaults = defaults.into_iter();
    for section in settings.sections() {
        let (name, section_about) = (section.name(), plain(section.about()));
        for setting in section.settings() {
            let origin = match config.origin(setting.key) {
                Origin::Default => String::new(),
                origin @ (Origin::File { .. } | Origin::Environment(_) | Origin::Flag(_)) => {
                    origin.to_string()
                }
            };
            let is_secret = is_secret(&setting);
            let value = if is_secret { String::new() } else { setting.write() };
            shown.push(ShownSetting {
                key: setting.key.to_owned(),
                about: plain(setting.doc),
                about_ja: japanese::setting(setting.key).unwrap_or_default().to_owned(),
                section_about: section_about.clone(),
                section_about_ja: japanese::section(name).unwrap_or_default().to_owned(),
                value: hide_passwords(&value).into_owned(),
                default: defaults.next().unwrap_or_default(),
                origin,
                is_secret,
                form: setting.value.form(),
                variable: names::variable(setting.key),
                check,
            });
        }
    }
    shown
}

/// Reads a value of a setting, as every layer does: the value as it is written, or what was expected.
fn check(key: &str, text: &str) -> Result<String, String> {
    let mut settings = Settings::default();
    let mut all = settings.all();
    let setting = all.iter_mut().find(|setting| setting.key == key);
    let setting = setting.ok_or_else(|| format!("a setting, not `{key}`"))?;
    setting.read(text)?;
    Ok(setting.write())
}

/// A text of a declaration as one line.
fn plain(doc: &str) -> String {
    doc.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Every setting with its documentation and default, for people to begin with.
pub(crate) fn example() -> String {
    let mut settings = Settings::default();
    let sections: String = settings.sections().into_iter().map(example_of).collect();
    format!(
        "# Nagaya's settings. Each stands here with its default; take away the `#` to change it.\n\
         # Nagaya reads `{FILE}` in its working directory, or the file that `--config` or\n\
         # `{variable}` names. `{key}` may also be set as `{example_variable}` in the\n\
         # environment, which counts more than the file, or as `{flag}` on the command line,\n\
         # which counts most.\n{sections}",
        variable = names::CONFIG_VARIABLE,
        key = "http.listen",
        example_variable = names::variable("http.listen"),
        flag = names::flag("http.listen"),
    )
}

fn example_of(section: &mut dyn Section) -> String {
    let mut text = format!("\n{}[{}]\n", comment(section.about()), section.name());
    for setting in &section.settings() {
        text.push_str(&format!("\n{}# {}\n", comment(setting.doc), line_of(setting)));
    }
    text
}

fn comment(doc: &str) -> String {
    doc.lines().map(|line| format!("# {}\n", line.trim())).collect()
}

/// As in a file: `listen = "127.0.0.1:8080"`.
fn line_of(setting: &Setting<'_>) -> String {
    let value = match setting.value.form() {
        Form::Text => toml::Value::String(setting.write()).to_string(),
        Form::Number | Form::Bool => setting.write(),
    };
    format!("{} = {value}", name_of(setting))
}

/// A setting without its section: `listen`.
fn name_of(setting: &Setting<'_>) -> &'static str {
    setting.key.split('.').next_back().unwrap_or(setting.key)
}

/// Whether a value is for nobody's eyes. Its name says so; `tls_key` is a file's name.
fn is_secret(setting: &Setting<'_>) -> bool {
    const WORDS: [&str; 5] = ["auth", "key", "secret", "password", "token"];
    let name = name_of(setting);
    let says_so = WORDS.iter().any(|word| name.ends_with(word)) && name != "tls_key";
    says_so && !setting.write().is_empty()
}

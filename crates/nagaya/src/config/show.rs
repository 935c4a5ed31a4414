//! Settings written as a file: the ones in force with their origins, and the example.

use base::options::{Form, Section, Setting};

use console::ShownSetting;

use super::{Config, FILE, Origin, Settings, names};

/// The settings in force, each with its origin if that is wanted. A file of this text gives the
/// same settings.
pub(crate) fn in_force(config: &Config, with_origin: bool) -> String {
    let mut settings = config.settings.clone();
    let sections = settings.sections().into_iter().map(|section| {
        let lines: String = section
            .settings()
            .iter()
            .map(|setting| match with_origin {
                true => format!("{}  # {}\n", line_of(setting), config.origin(setting.key)),
                false => format!("{}\n", line_of(setting)),
            })
            .collect();
        format!("[{}]\n{lines}", section.name())
    });
    sections.collect::<Vec<_>>().join("\n")
}

/// The settings in force with their origins, a line of JSON for each.
pub(crate) fn in_force_as_json(config: &Config) -> String {
    let mut settings = config.settings.clone();
    let line = |setting: Setting<'_>| {
        let text = setting.write();
        let value = match setting.value.form() {
            Form::Text => serde_json::Value::from(text),
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

/// The settings in force for the console. A value whose name says so is a secret.
pub(crate) fn listed(config: &Config) -> Vec<ShownSetting> {
    let mut settings = config.settings.clone();
    let shown = settings.all().into_iter().map(|setting| {
        let words = ["key", "secret", "password", "token"];
        let name = setting.key.split('.').next_back().unwrap_or(setting.key);
        let origin = match config.origin(setting.key) {
            Origin::Default => String::new(),
            origin @ (Origin::File { .. } | Origin::Environment(_) | Origin::Flag(_)) => {
                origin.to_string()
            }
        };
        let value = setting.write();
        ShownSetting {
            key: setting.key.to_owned(),
            about: setting.doc.lines().map(str::trim).collect::<Vec<_>>().join(" "),
            is_secret: !value.is_empty() && words.iter().any(|word| name.contains(word)),
            value,
            origin,
        }
    });
    shown.collect()
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
    let name = setting.key.split('.').next_back().unwrap_or(setting.key);
    let value = match setting.value.form() {
        Form::Text => toml::Value::String(setting.write()).to_string(),
        Form::Number | Form::Bool => setting.write(),
    };
    format!("{name} = {value}")
}

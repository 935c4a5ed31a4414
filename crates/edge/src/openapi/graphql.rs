//! A GraphQL schema as the page shows it: its root fields as operations, each with a document that
//! can be sent. The schema is the library's own text, of which only what the page needs is read.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// How deep a document selects: members of members are enough to see an answer.
const DEPTH_MAX: usize = 4;

/// A room's GraphQL interface.
#[derive(Clone, Debug)]
pub struct GraphQl {
    /// What the interface is called.
    pub title: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Where documents are sent.
    pub endpoint: &'static str,
    /// Where the schema is served.
    pub schema: &'static str,
    /// The schema, as text.
    pub sdl: String,
}

/// A field of a root type.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) about: String,
    /// Names and types.
    pub(super) arguments: Vec<(String, String)>,
    pub(super) answer: String,
}

/// The types of a schema by name.
#[derive(Debug, Default)]
pub(super) struct Types {
    types: BTreeMap<String, Vec<Field>>,
    /// The first word of each.
    choices: BTreeMap<String, String>,
}

impl Types {
    /// Reads a schema. What it does not understand is left out.
    pub(super) fn read(sdl: &str) -> Types {
        let mut types = Types::default();
        let mut lines = sdl.lines().map(str::trim);
        while let Some(line) = lines.next() {
            let mut words = line.split_whitespace();
            let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            if !line.ends_with('{') || !["type", "input", "interface", "enum"].contains(&kind) {
                continue;
            }
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
            if kind == "enum" {
                let word = first_choice(&body);
                types.choices.extend(word.map(|word| (name.to_owned(), word.to_owned())));
            } else {
                types.types.insert(name.to_owned(), fields(&body));
            }
        }
        types
    }

    /// The fields of a type.
    pub(super) fn fields(&self, name: &str) -> &[Field] {
        self.types.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// A document that calls a field of the root `kind`, which is `query`, `mutation` or
    /// `subscription`.
    pub(super) fn document(&self, kind: &str, field: &Field) -> String {
        let declared = field.arguments.iter().map(|(name, of)| format!("${name}: {of}"));
        let declared: Vec<String> = declared.collect();
        let passed: Vec<String> =
            field.arguments.iter().map(|(name, _)| format!("{name}: ${name}")).collect();
        let within = |parts: Vec<String>| match parts.is_empty() {
            true => String::new(),
            false => format!("({})", parts.join(", ")),
        };
        let (declared, passed) = (within(declared), within(passed));
        let selected = self.selection(base(&field.answer), 1).unwrap_or_default();
        format!("{kind}{declared} {{\n  {}{passed}{selected}\n}}", field.name)
    }

    /// Values for the arguments that a field demands.
    pub(super) fn variables(&self, field: &Field) -> Value {
        let needed = field.arguments.iter().filter(|(_, of)| of.ends_with('!'));
        let pairs = needed.map(|(name, of)| (name.clone(), self.sample(name, of, DEPTH_MAX)));
        Value::Object(pairs.collect())
    }

    /// What is selected of an answer: nothing of a leaf. `None` if it has no member that would do.
    fn selection(&self, of: &str, depth: usize) -> Option<String> {
        let fields = self.fields(of);
        if fields.is_empty() {
            return Some(String::new());
        }
        let indent = "  ".repeat(depth + 1);
        let is_leaf = |field: &Field| self.fields(base(&field.answer)).is_empty();
        let shown = fields.iter().filter(|field| field.arguments.is_empty());
        let shown = shown.filter(|field| depth + 1 < DEPTH_MAX || is_leaf(field));
        let lines: String = shown
            .filter_map(|field| {
                let selected = self.selection(base(&field.answer), depth + 1)?;
                Some(format!("\n{indent}{}{selected}", field.name))
            })
            .collect();
        (!lines.is_empty()).then(|| format!(" {{{lines}\n{}}}", "  ".repeat(depth)))
    }

    fn sample(&self, name: &str, of: &str, depth: usize) -> Value {
        let of = of.trim_end_matches('!');
        if let Some(inner) = of.strip_prefix('[').and_then(|of| of.strip_suffix(']')) {
            return Value::Array(vec![self.sample(name, inner, depth)]);
        }
        if let Some(choice) = self.choices.get(of) {
            return Value::from(choice.as_str());
        }
        match of {
            "Int" | "Float" => Value::from(1),
            "Boolean" => Value::from(true),
            _ if depth > 0 && !self.fields(of).is_empty() => {
                let members = self.fields(of).iter();
                let pairs = members.map(|member| {
                    (member.name.clone(), self.sample(&member.name, &member.answer, depth - 1))
                });
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            _ => Value::from(name),
        }
    }
}

/// A type without its marks for lists and presence.
pub(super) fn base(of: &str) -> &str {
    of.trim_matches(['[', ']', '!'])
}

/// The fields in the lines of a type. Descriptions stand above a field; arguments may have lines of
/// their own.
fn fields(lines: &[&str]) -> Vec<Field> {
    let (mut fields, mut about) = (Vec::new(), String::new());
    let mut lines = lines.iter();
    while let Some(line) = lines.next() {
        if line.starts_with("\"\"\"") {
            about = quoted(line, &mut lines);
            continue;
        }
        let mut text = (*line).to_owned();
        while text.matches('(').count() > text.matches(')').count() {
            let Some(next) = lines.next() else { break };
            if next.starts_with("\"\"\"") {
                // What an argument means stands in the schema below.
                quoted(next, &mut lines);
                continue;
            }
            text.push(' ');
            text.push_str(next);
        }
        fields.extend(read_field(&text, std::mem::take(&mut about)));
    }
    fields
}

/// The first word of an enum.
fn first_choice<'l>(lines: &[&'l str]) -> Option<&'l str> {
    let mut lines = lines.iter();
    while let Some(line) = lines.next() {
        if line.starts_with("\"\"\"") {
            quoted(line, &mut lines);
        } else if !line.is_empty() {
            return line.split_whitespace().next();
        }
    }
    None
}

/// A description that begins in this line.
fn quoted<'l>(line: &'l str, lines: &mut std::slice::Iter<'_, &'l str>) -> String {
    let rest = line.trim_start_matches("\"\"\"");
    if let Some(whole) = rest.strip_suffix("\"\"\"") {
        return whole.trim().to_owned();
    }
    let more = lines.by_ref().copied().take_while(|line| !line.ends_with("\"\"\""));
    let parts: Vec<&str> = std::iter::once(rest).chain(more).collect();
    parts.join(" ").trim().to_owned()
}

/// `name(first: Type! = default, second: Type): Answer @directive`
fn read_field(text: &str, about: String) -> Option<Field> {
    let (head, answer, arguments) = match text.split_once('(') {
        Some((head, rest)) if !head.contains(':') => {
            let (arguments, answer) = rest.split_once(')')?;
            (head, answer.trim_start().strip_prefix(':')?, arguments)
        }
        _ => {
            let (head, answer) = text.split_once(':')?;
            (head, answer, "")
        }
    };
    let one_type = |text: &str| text.split_whitespace().next().map(str::to_owned);
    let argument = |text: &str| {
        let (name, of) = text.trim().split_once(':')?;
        Some((name.trim().to_owned(), one_type(of)?.trim_end_matches(',').to_owned()))
    };
    // Inline arguments have commas between them, those on lines of their own only spaces.
    let arguments = arguments.replace(':', ": ");
    let mut parts: Vec<String> = Vec::new();
    for word in arguments.split_whitespace() {
        match parts.last_mut() {
            Some(last) if !word.ends_with(':') => {
                last.push(' ');
                last.push_str(word);
            }
            _ => parts.push(word.to_owned()),
        }
    }
    let arguments = parts.iter().filter_map(|part| argument(part)).collect();
    let name = head.trim().to_owned();
    (!name.is_empty() && !name.starts_with('#')).then_some(Field {
        name,
        about,
        arguments,
        answer: one_type(answer)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Types;

    const SDL: &str = r#"
input Sample {
	key: String!
	value: Float!
}

enum Mode {
	"""
	For few.
	"""
	SMALL
	LARGE
}

type Group {
	id: ID!
	nodes: [Node!]!
}

type Node {
	id: ID!
	group: Group!
}

type Query {
	"""
	Living groups
	of a domain.
	"""
	listGroups(domain: String!, prefix: String = "x", limit: Int! = 5): [Group!]!
	count: Int!
}

type Mutation {
	report(
		groupId: ID!
		"""
		What changed.
		"""
		data: [Sample!]!
		mode: Mode!
	): Boolean! @told(to: "all")
}

schema {
	query: Query
	mutation: Mutation
}
"#;

    #[test]
    fn root_fields_are_read_with_their_words_arguments_and_answers() {
        let types = Types::read(SDL);
        let [list, count] = types.fields("Query") else { panic!("{types:?}") };
        assert_eq!(list.about, "Living groups of a domain.");
        let arguments = [("domain", "String!"), ("prefix", "String"), ("limit", "Int!")];
        assert_eq!(list.arguments, arguments.map(|(name, of)| (name.to_owned(), of.to_owned())));
        assert_eq!((list.answer.as_str(), count.answer.as_str()), ("[Group!]!", "Int!"));
        let [report] = types.fields("Mutation") else { panic!("{types:?}") };
        assert_eq!((report.arguments.len(), report.answer.as_str()), (3, "Boolean!"));
        assert_eq!(report.about, "");
        assert!(types.fields("schema").is_empty() && types.fields("None").is_empty());
    }

    #[test]
    fn a_field_has_a_document_and_the_variables_that_it_needs() {
        let types = Types::read(SDL);
        let document = types.document("query", &types.fields("Query")[0]);
        let wanted = "query($domain: String!, $prefix: String, $limit: Int!) {\n  listGroups(domain: $domain, \
                      prefix: $prefix, limit: $limit) {\n    id\n    nodes {\n      id\n      group {\n        id\n      }\n    }\n  }\n}";
        assert_eq!(document, wanted);
        assert_eq!(types.document("query", &types.fields("Query")[1]), "query {\n  count\n}");
        let report = &types.fields("Mutation")[0];
        let data = json!([{ "key": "key", "value": 1 }]);
        let wanted = json!({ "groupId": "groupId", "data": data, "mode": "SMALL" });
        assert_eq!(types.variables(report), wanted);
    }
}

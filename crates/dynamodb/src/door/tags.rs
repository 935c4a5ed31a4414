//! Tags of a table: TagResource, UntagResource, ListTagsOfResource.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Door;
use super::bounded::BoundedList;
use super::fault::{Fault, Faults, Kind};
use super::names::table_of;
use super::read::Request;
use super::transactions::check_at_most;
use super::write::JsonWriter;

/// Tags of one table, as in DynamoDB.
const TAGS_MAX: usize = 50;
/// The length of a tag's key in characters, as in DynamoDB.
const KEY_CHARS_MAX: usize = 128;
/// The length of a tag's value in characters, as in DynamoDB.
const VALUE_CHARS_MAX: usize = 256;
/// The prefix of AWS's own tags.
const RESERVED: &str = "aws:";

/// A tag of a table.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Tag {
    key: Option<String>,
    value: Option<String>,
}

/// The tags of a request.
pub(super) type Tags = BoundedList<Tag, TAGS_MAX>;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TagResource {
    resource_arn: Option<String>,
    tags: Option<Tags>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct UntagResource {
    resource_arn: Option<String>,
    tag_keys: Option<BoundedList<String, TAGS_MAX>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListTags {
    resource_arn: Option<String>,
}

impl Request for TagResource {
    fn check(&self, faults: &mut Faults) {
        faults.require(&self.resource_arn, "resourceArn");
        faults.require(&self.tags, "tags");
        check_tags(&self.tags, faults);
    }
}

impl Request for UntagResource {
    fn check(&self, faults: &mut Faults) {
        faults.require(&self.resource_arn, "resourceArn");
        faults.require(&self.tag_keys, "tagKeys");
        if let Some(keys) = &self.tag_keys {
            faults.see(check_at_most(keys, "tagKeys"));
        }
    }
}

impl Request for ListTags {
    fn check(&self, faults: &mut Faults) {
        faults.require(&self.resource_arn, "resourceArn");
    }
}

impl Door {
    pub(super) async fn tag_resource(&self, request: TagResource) -> Result<String, Fault> {
        let name = self.tagged(request.resource_arn)?;
        let tags = request.tags.unwrap_or_default();
        if tags.is_empty() {
            return Err(Fault::invalid("Atleast one Tag needs to be provided as Input."));
        }
        let _one_at_a_time = self.table_lock.lock().await;
        let mut meta = self.load_meta(&name).await?;
        add_tags(&mut meta.tags, tags)?;
        self.save_meta(&meta).await?;
        Ok(String::new())
    }

    pub(super) async fn untag_resource(&self, request: UntagResource) -> Result<String, Fault> {
        let name = self.tagged(request.resource_arn)?;
        let keys = request.tag_keys.unwrap_or_default();
        if keys.is_empty() {
            return Err(Fault::invalid("Atleast one Tag Key needs to be provided as Input."));
        }
        let _one_at_a_time = self.table_lock.lock().await;
        let mut meta = self.load_meta(&name).await?;
        meta.tags.retain(|key, _| !keys.contains(key));
        self.save_meta(&meta).await?;
        Ok(String::new())
    }

    pub(super) async fn list_tags(&self, request: ListTags) -> Result<String, Fault> {
        let name = self.tagged(request.resource_arn)?;
        let meta = self.load_meta(&name).await?;
        let mut out = JsonWriter::new();
        out.raw("{\"Tags\":[").list(&meta.tags, |out, (key, value)| {
            out.raw("{").field("Key").text(key).field("Value").text(value).raw("}");
        });
        out.raw("]}");
        Ok(out.finish())
    }

    /// The table of a tag operation. Indexes and streams have no tags.
    fn tagged(&self, arn: Option<String>) -> Result<String, Fault> {
        let arn = arn.ok_or_else(|| Fault::missing("resourceArn"))?;
        let name = table_of(&arn).filter(|name| arn.ends_with(&format!(":table/{name}")));
        let name = name.ok_or_else(|| {
            Fault::invalid(format!("Invalid TableArn: Invalid ResourceArn provided as input {arn}"))
        })?;
        let name = self.name_of(Some(name.to_owned().into()))?;
        self.store.with_spec(&name, |_| ()).map_err(|_| {
            let message = format!("Requested resource not found: ResourcArn: {arn} not found");
            Fault::new(Kind::NoSuchResource, message)
        })?;
        Ok(name)
    }
}

/// Records tags without key or value, and those that are too long.
pub(super) fn check_tags(tags: &Option<Tags>, faults: &mut Faults) {
    for (tag, number) in tags.iter().flatten().zip(1..) {
        let at = |field: &str| format!("tags.{number}.member.{field}");
        faults.require(&tag.key, at("key"));
        faults.require(&tag.value, at("value"));
        let too_long = |text: &str, at: String, max: usize| {
            let rule = format!("have length less than or equal to {max}");
            Fault::constraint(&format!("'{text}'"), at, &rule)
        };
        if let Some(key) = tag.key.as_deref() {
            match key.chars().count() {
                0 => {
                    let rule = "have length greater than or equal to 1";
                    faults.see::<()>(Err(Fault::constraint("''", at("key"), rule)));
                }
                1..=KEY_CHARS_MAX => {}
                _ => faults.see::<()>(Err(too_long(key, at("key"), KEY_CHARS_MAX))),
            }
        }
        if let Some(value) = tag.value.as_deref()
            && value.chars().count() > VALUE_CHARS_MAX
        {
            faults.see::<()>(Err(too_long(value, at("value"), VALUE_CHARS_MAX)));
        }
    }
}

/// Adds tags to those of a table.
pub(super) fn add_tags(held: &mut BTreeMap<String, String>, tags: Tags) -> Result<(), Fault> {
    let refused = |why: String| {
        Err(Fault::invalid(format!("One or more parameter values were invalid: {why}")))
    };
    let too_many = || refused(format!("Too many tags: a table has at most {TAGS_MAX}"));
    if tags.len() > TAGS_MAX {
        return too_many();
    }
    for tag in tags {
        let (key, value) = (tag.key.unwrap_or_default(), tag.value.unwrap_or_default());
        if key.to_ascii_lowercase().starts_with(RESERVED) {
            return refused(format!("Tag keys cannot begin with {RESERVED}: {key}"));
        }
        if let Some(text) = [&key, &value].into_iter().find(|text| !text.chars().all(is_allowed)) {
            return refused(format!(
                "Tag keys and values have letters, numbers, white space and + - = . _ : / @ only: \
                 {text}"
            ));
        }
        held.insert(key, value);
        if held.len() > TAGS_MAX {
            return too_many();
        }
    }
    Ok(())
}

fn is_allowed(char: char) -> bool {
    let is_sign = matches!(char, '+' | '-' | '=' | '.' | '_' | ':' | '/' | '@');
    char.is_alphanumeric() || char.is_whitespace() || is_sign
}

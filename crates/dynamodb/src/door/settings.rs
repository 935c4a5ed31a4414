//! What is set on a table beside its declaration: its expiry, its tags; and what is said of the
//! account and the endpoint.

use serde::Deserialize;
use table::{TableSpec, Tables};

use super::fault::{Fault, Kind};
use super::names::{TableName, table_of};
use super::tables::{OneTable, Tag};
use super::write::Out;
use super::{Call, Door};

/// Tags of one table, as DynamoDB has it.
const TAGS_MAX: usize = 50;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct UpdateTimeToLive {
    table_name: Option<TableName>,
    time_to_live_specification: TimeToLive,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TimeToLive {
    attribute_name: String,
    enabled: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TagResource {
    resource_arn: String,
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct UntagResource {
    resource_arn: String,
    tag_keys: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListTags {
    resource_arn: String,
}

impl Door {
    pub(super) async fn update_time_to_live(
        &self,
        request: UpdateTimeToLive,
    ) -> Result<String, Fault> {
        let name = self.name_of(request.table_name)?;
        let wanted = request.time_to_live_specification;
        let _one_at_a_time = self.declaring.lock().await;
        let spec = self.store.with_spec(&name, TableSpec::clone);
        let mut spec = spec.map_err(|_| Fault::no_table(&name))?;
        spec.ttl = match (wanted.enabled, spec.ttl.as_deref()) {
            (true, None) => Some(wanted.attribute_name.clone()),
            (true, Some(held)) if held == wanted.attribute_name => {
                return Err(Fault::invalid("TimeToLive is already enabled"));
            }
            (_, Some(held)) if held != wanted.attribute_name => {
                return Err(Fault::invalid(format!(
                    "TimeToLive is active on a different AttributeName: current AttributeName is \
                     {held}"
                )));
            }
            (true, Some(_)) => return Err(Fault::invalid("TimeToLive is already enabled")),
            (false, Some(_)) => None,
            (false, None) => return Err(Fault::invalid("TimeToLive is already disabled")),
        };
        self.store.ensure_table(spec).await?;
        let mut out = Out::new();
        out.raw("{\"TimeToLiveSpecification\":{").field("AttributeName");
        out.text(&wanted.attribute_name).field("Enabled").plain(wanted.enabled).raw("}}");
        Ok(out.finish())
    }

    pub(super) fn describe_time_to_live(&self, request: OneTable) -> Result<String, Fault> {
        let name = self.name_of(request.table_name)?;
        let ttl = self.store.with_spec(&name, |spec| spec.ttl.clone());
        let mut out = Out::new();
        out.raw("{\"TimeToLiveDescription\":{").field("TimeToLiveStatus");
        match ttl.map_err(|_| Fault::no_table(&name))? {
            Some(attribute) => out.text("ENABLED").field("AttributeName").text(&attribute),
            None => out.text("DISABLED"),
        };
        out.raw("}}");
        Ok(out.finish())
    }

    pub(super) async fn tag_resource(&self, request: TagResource) -> Result<String, Fault> {
        let name = self.tagged(&request.resource_arn)?;
        let _one_at_a_time = self.declaring.lock().await;
        let mut meta = self.load_meta(&name).await?;
        meta.tags.extend(request.tags.into_iter().map(|tag| (tag.key, tag.value)));
        if meta.tags.len() > TAGS_MAX {
            return Err(Fault::invalid(format!(
                "One or more parameter values were invalid: Too many tags: a table has at most \
                 {TAGS_MAX}"
            )));
        }
        self.save_meta(&meta).await?;
        Ok(String::new())
    }

    pub(super) async fn untag_resource(&self, request: UntagResource) -> Result<String, Fault> {
        let name = self.tagged(&request.resource_arn)?;
        let _one_at_a_time = self.declaring.lock().await;
        let mut meta = self.load_meta(&name).await?;
        meta.tags.retain(|key, _| !request.tag_keys.contains(key));
        self.save_meta(&meta).await?;
        Ok(String::new())
    }

    pub(super) async fn list_tags(&self, request: ListTags) -> Result<String, Fault> {
        let name = self.tagged(&request.resource_arn)?;
        let meta = self.load_meta(&name).await?;
        let mut out = Out::new();
        out.raw("{\"Tags\":[").list(&meta.tags, |out, (key, value)| {
            out.raw("{").field("Key").text(key).field("Value").text(value).raw("}");
        });
        out.raw("]}");
        Ok(out.finish())
    }

    /// The table that a tag is about.
    fn tagged(&self, arn: &str) -> Result<String, Fault> {
        let name = table_of(arn).ok_or_else(|| {
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

/// DescribeLimits: what an account of DynamoDB has at first. The house itself has no such bounds.
pub(super) fn describe_limits() -> String {
    let limits = [
        ("AccountMaxReadCapacityUnits", 80_000),
        ("AccountMaxWriteCapacityUnits", 80_000),
        ("TableMaxReadCapacityUnits", 40_000),
        ("TableMaxWriteCapacityUnits", 40_000),
    ];
    let mut out = Out::new();
    out.raw("{");
    for (name, limit) in limits {
        out.field(name).plain(limit);
    }
    out.raw("}");
    out.finish()
}

/// DescribeEndpoints: the one that was asked.
pub(super) fn describe_endpoints(call: &Call<'_>) -> String {
    let mut out = Out::new();
    out.raw("{\"Endpoints\":[{").field("Address").text(call.header("host").unwrap_or_default());
    out.field("CachePeriodInMinutes").plain(1440).raw("}]}");
    out.finish()
}

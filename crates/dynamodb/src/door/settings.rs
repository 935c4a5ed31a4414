//! Settings of a table besides its declaration: its expiry. Also the descriptions of the account
//! and of the endpoint.

use serde::Deserialize;
use table::{TableSpec, Tables};

use super::fault::{Fault, Faults};
use super::names::{TableName, check_table};
use super::read::Request;
use super::tables::{OneTable, check_attribute_name};
use super::write::JsonWriter;
use super::{Call, Door};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct UpdateTimeToLive {
    table_name: Option<TableName>,
    time_to_live_specification: Option<TimeToLive>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TimeToLive {
    attribute_name: Option<String>,
    enabled: Option<bool>,
}

impl Request for UpdateTimeToLive {
    fn check(&self, faults: &mut Faults) {
        faults.see(check_table(&self.table_name, "tableName"));
        faults.require(&self.time_to_live_specification, "timeToLiveSpecification");
        if let Some(wanted) = &self.time_to_live_specification {
            faults.require(&wanted.enabled, "timeToLiveSpecification.enabled");
            let at = "timeToLiveSpecification.attributeName";
            check_attribute_name(&wanted.attribute_name, at, faults);
        }
    }
}

impl Door {
    pub(super) async fn update_time_to_live(
        &self,
        request: UpdateTimeToLive,
    ) -> Result<String, Fault> {
        let name = self.name_of(request.table_name)?;
        let wanted = request.time_to_live_specification.unwrap_or_default();
        let (attribute, enabled) =
            (wanted.attribute_name.unwrap_or_default(), wanted.enabled.unwrap_or_default());
        let _one_at_a_time = self.table_lock.lock().await;
        let spec = self.store.with_spec(&name, TableSpec::clone);
        let mut spec = spec.map_err(|_| Fault::no_table(&name))?;
        spec.ttl = match (enabled, spec.ttl.as_deref()) {
            (true, None) => Some(attribute.clone()),
            (_, Some(held)) if held != attribute => {
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
        let mut out = JsonWriter::new();
        out.raw("{\"TimeToLiveSpecification\":{").field("AttributeName");
        out.text(&attribute).field("Enabled").plain(enabled).raw("}}");
        Ok(out.finish())
    }

    pub(super) fn describe_time_to_live(&self, request: OneTable) -> Result<String, Fault> {
        let name = self.name_of(request.table_name)?;
        let ttl = self.store.with_spec(&name, |spec| spec.ttl.clone());
        let mut out = JsonWriter::new();
        out.raw("{\"TimeToLiveDescription\":{").field("TimeToLiveStatus");
        match ttl.map_err(|_| Fault::no_table(&name))? {
            Some(attribute) => out.text("ENABLED").field("AttributeName").text(&attribute),
            None => out.text("DISABLED"),
        };
        out.raw("}}");
        Ok(out.finish())
    }
}

/// DescribeLimits: the defaults of a DynamoDB account. The server itself has no such limits.
pub(super) fn describe_limits() -> String {
    let limits = [
        ("AccountMaxReadCapacityUnits", 80_000),
        ("AccountMaxWriteCapacityUnits", 80_000),
        ("TableMaxReadCapacityUnits", 40_000),
        ("TableMaxWriteCapacityUnits", 40_000),
    ];
    let mut out = JsonWriter::new();
    out.raw("{");
    for (name, limit) in limits {
        out.field(name).plain(limit);
    }
    out.raw("}");
    out.finish()
}

/// DescribeEndpoints: the endpoint of this request.
pub(super) fn describe_endpoints(call: &Call<'_>) -> String {
    let mut out = JsonWriter::new();
    out.raw("{\"Endpoints\":[{").field("Address").text(call.header("host").unwrap_or_default());
    out.field("CachePeriodInMinutes").plain(1440).raw("}]}");
    out.finish()
}

//! Pages of items: Query and Scan.

use serde::Deserialize;
use table::limits::SEGMENTS_MAX;
use table::{Condition, IndexSpec, Item, Page, Path, Projected, Query, Scan, TableSpec};

use super::Door;
use super::capacity::{CapacityDetail, Charge};
use super::expressions::{Expressions, Names, filter, projection};
use super::fault::{Fault, Faults, check_range};
use super::legacy::{self, Filters, check_attributes, check_filters, check_joint};
use super::names::{TableName, check_short_name, check_table};
use super::read::{JsonItem, JsonValues, Request};
use super::write::JsonWriter;

/// A query or a scan. Each uses some of these fields.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct PageRequest {
    table_name: Option<TableName>,
    index_name: Option<String>,
    select: Option<String>,
    attributes_to_get: Option<Vec<String>>,
    limit: Option<i64>,
    consistent_read: Option<bool>,
    key_conditions: Option<Filters>,
    query_filter: Option<Filters>,
    scan_filter: Option<Filters>,
    conditional_operator: Option<String>,
    scan_index_forward: Option<bool>,
    segment: Option<i64>,
    total_segments: Option<i64>,
    exclusive_start_key: Option<JsonItem>,
    return_consumed_capacity: Option<String>,
    projection_expression: Option<String>,
    filter_expression: Option<String>,
    key_condition_expression: Option<String>,
    expression_attribute_names: Option<Names>,
    expression_attribute_values: Option<JsonValues>,
}

impl Request for PageRequest {
    fn check(&self, faults: &mut Faults) {
        faults.see(Select::read(self.select.as_deref()));
        if let Some(index) = &self.index_name {
            faults.see(check_short_name(index, "indexName"));
        }
        faults.see(CapacityDetail::read(self.return_consumed_capacity.as_deref()));
        check_filters(&self.query_filter, "queryFilter", faults);
        check_filters(&self.scan_filter, "scanFilter", faults);
        faults.see(check_table(&self.table_name, "tableName"));
        faults.see(check_joint(self.conditional_operator.as_deref()));
        faults.see(check_attributes(self.attributes_to_get.as_deref(), "attributesToGet"));
        faults.see(read_limit(self.limit));
        check_filters(&self.key_conditions, "keyConditions", faults);
        faults.see(check_segment(self.segment));
        faults.see(check_total(self.total_segments));
    }
}

/// The parsed parameters that queries and scans have in common.
struct PageOptions {
    table: String,
    index: Option<String>,
    limit: Option<u32>,
    start_after: Option<Item>,
    filter: Option<Condition>,
    projection: Vec<Path>,
    consistent: bool,
    expressions: Expressions,
}

impl Door {
    pub(super) fn query(&self, request: PageRequest) -> Result<String, Fault> {
        let request =
            PageRequest { scan_filter: None, segment: None, total_segments: None, ..request };
        let wanted = CapacityDetail::read(request.return_consumed_capacity.as_deref())?;
        let select = Select::read(request.select.as_deref())?;
        let query = self.read_query(request, select)?;
        let found = self.store.query_fetched(&query, select == Select::All)?;
        let query_info = PageQuery {
            table: &query.table,
            index: query.index.as_deref(),
            consistent: query.consistent,
            select,
            wanted,
        };
        self.answer_page(&query_info, &found)
    }

    pub(super) fn scan(&self, request: PageRequest) -> Result<String, Fault> {
        let request = PageRequest {
            query_filter: None,
            key_conditions: None,
            key_condition_expression: None,
            ..request
        };
        let wanted = CapacityDetail::read(request.return_consumed_capacity.as_deref())?;
        let select = Select::read(request.select.as_deref())?;
        let scan = self.read_scan(request, select)?;
        let found = self.store.scan_fetched(&scan, select == Select::All)?;
        let query_info = PageQuery {
            table: &scan.table,
            index: scan.index.as_deref(),
            consistent: scan.consistent,
            select,
            wanted,
        };
        self.answer_page(&query_info, &found)
    }

    fn read_query(&self, mut request: PageRequest, select: Select) -> Result<Query, Fault> {
        let possible = ["FilterExpression", "KeyConditionExpression"];
        let filtered: Vec<String> =
            request.query_filter.iter().flatten().map(|(name, _)| name.clone()).collect();
        let common = self.read_common(&mut request, select, &possible)?;
        let key = self.store.with_spec(&common.table, |spec| {
            let key = match index_of(spec, common.index.as_deref())? {
                Some(index) => {
                    check_selected(spec, index, select, &common.projection)?;
                    &index.key
                }
                None => &spec.key,
            };
            let mut names = key.attributes().map(|attribute| &attribute.name);
            if let Some(name) = names.find(|name| filtered.contains(name)) {
                return Err(Fault::invalid(format!(
                    "QueryFilter can only contain non-primary key attributes: Primary key \
                     attribute: {name}"
                )));
            }
            match (request.key_condition_expression.as_deref(), request.key_conditions) {
                (Some(text), _) => common.expressions.key(text, key),
                (None, Some(conditions)) => legacy::key_conditions(conditions, key),
                (None, None) => Err(Fault::invalid(
                    "Either the KeyConditions or KeyConditionExpression parameter must be \
                     specified in the request.",
                )),
            }
        })??;
        common.expressions.finish()?;
        let PageOptions {
            table, index, limit, start_after, filter, projection, consistent, ..
        } = common;
        let descending = request.scan_index_forward == Some(false);
        Ok(Query {
            table,
            index,
            key,
            descending,
            limit,
            start_after,
            filter,
            projection,
            consistent,
        })
    }

    fn read_scan(&self, mut request: PageRequest, select: Select) -> Result<Scan, Fault> {
        let segment = read_segment(request.segment, request.total_segments)?;
        let common = self.read_common(&mut request, select, &["FilterExpression"])?;
        common.expressions.finish()?;
        let index = common.index.as_deref();
        self.store.with_spec(&common.table, |spec| match index_of(spec, index)? {
            Some(index) => check_selected(spec, index, select, &common.projection),
            None => Ok(()),
        })??;
        let PageOptions {
            table, index, limit, start_after, filter, projection, consistent, ..
        } = common;
        Ok(Scan { table, index, segment, limit, start_after, filter, projection, consistent })
    }

    /// `possible` are the expressions that could have used values.
    fn read_common(
        &self,
        request: &mut PageRequest,
        select: Select,
        possible: &[&str],
    ) -> Result<PageOptions, Fault> {
        let table = self.name_of(request.table_name.take())?;
        let limit = read_limit(request.limit)?;
        let by_expression = request.key_condition_expression.is_some();
        let expressions = Expressions::new(
            request.expression_attribute_names.take(),
            request.expression_attribute_values.take(),
            &[
                ("ProjectionExpression", request.projection_expression.is_some()),
                ("FilterExpression", request.filter_expression.is_some()),
                ("KeyConditionExpression", by_expression),
            ],
            possible,
            &[
                ("AttributesToGet", request.attributes_to_get.is_some()),
                ("QueryFilter", request.query_filter.is_some()),
                ("ScanFilter", request.scan_filter.is_some()),
                ("ConditionalOperator", request.conditional_operator.is_some()),
                // It may be combined with other expressions, but not with one for the same purpose.
                ("KeyConditions", request.key_conditions.is_some() && by_expression),
            ],
        )?;
        select.check(
            request.attributes_to_get.is_some(),
            request.projection_expression.is_some(),
            request.index_name.is_some(),
        )?;
        let filter = filter(
            &expressions,
            request.filter_expression.as_deref(),
            request.query_filter.take().or(request.scan_filter.take()),
            request.conditional_operator.as_deref(),
        )?;
        let projection = projection(
            &expressions,
            request.projection_expression.as_deref(),
            request.attributes_to_get.take(),
        )?;
        Ok(PageOptions {
            table,
            index: request.index_name.take(),
            limit,
            start_after: request.exclusive_start_key.take().map(|JsonItem(key)| key),
            filter,
            projection,
            consistent: request.consistent_read.unwrap_or(false),
            expressions,
        })
    }

    /// `fetched` are the sizes of the items that a local index fetched from the table.
    fn answer_page(
        &self,
        query_info: &PageQuery<'_>,
        (page, fetched): &(Page, Vec<u32>),
    ) -> Result<String, Fault> {
        // The text is larger than the data, because every value has a type name and punctuation.
        let bytes = usize::try_from(page.bytes).unwrap_or(0);
        let mut out = JsonWriter::with_room(bytes + bytes / 4 + page.items.len() * 64);
        out.raw("{").field("Count").plain(page.items.len());
        out.field("ScannedCount").plain(page.scanned);
        if query_info.select != Select::Count {
            out.field("Items").raw("[").list(&page.items, |out, item| {
                out.item(item);
            });
            out.raw("]");
        }
        if let Some(key) = &page.last_key {
            out.field("LastEvaluatedKey").item(key);
        }
        if query_info.wanted != CapacityDetail::Nothing {
            let charge = self.store.with_spec(query_info.table, |spec| {
                let index = query_info.index.map(|index| (spec, index));
                Charge::of_page(index, page.bytes, fetched, query_info.consistent)
            })?;
            out.field("ConsumedCapacity");
            charge.write(&mut out, query_info.table, query_info.wanted, false);
        }
        out.raw("}");
        Ok(out.finish())
    }
}

/// The parameters that shape the response of a page.
struct PageQuery<'a> {
    table: &'a str,
    index: Option<&'a str>,
    consistent: bool,
    select: Select,
    wanted: CapacityDetail,
}

/// The part of each item in the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Select {
    Default,
    All,
    Projected,
    Specific,
    Count,
}

impl Select {
    fn read(word: Option<&str>) -> Result<Select, Fault> {
        Ok(match word {
            None => Select::Default,
            Some("ALL_ATTRIBUTES") => Select::All,
            Some("ALL_PROJECTED_ATTRIBUTES") => Select::Projected,
            Some("SPECIFIC_ATTRIBUTES") => Select::Specific,
            Some("COUNT") => Select::Count,
            Some(other) => {
                return Err(Fault::no_choice(
                    other,
                    "select",
                    "SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES",
                ));
            }
        })
    }

    fn check(self, attributes: bool, expression: bool, index: bool) -> Result<(), Fault> {
        let given = match (attributes, expression) {
            (true, _) => Some("AttributesToGet"),
            (false, true) => Some("ProjectionExpression"),
            (false, false) => None,
        };
        let target = match self {
            Select::Default => return Ok(()),
            Select::Specific => {
                return match given {
                    Some(_) => Ok(()),
                    None => Err(Fault::invalid(
                        "Must specify the AttributesToGet or ProjectionExpression when choosing \
                         to get SPECIFIC_ATTRIBUTES",
                    )),
                };
            }
            Select::All => "ALL_ATTRIBUTES",
            Select::Projected => "ALL_PROJECTED_ATTRIBUTES",
            Select::Count => "only the Count",
        };
        match given {
            Some(given) => Err(Fault::invalid(format!(
                "Cannot specify the {given} when choosing to get {target}"
            ))),
            None if self == Select::Projected && !index => Err(Fault::invalid(
                "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName",
            )),
            None => Ok(()),
        }
    }
}

fn read_limit(limit: Option<i64>) -> Result<Option<u32>, Fault> {
    check_range(limit, "limit", 1, i64::from(u32::MAX))?;
    Ok(limit.and_then(|limit| u32::try_from(limit).ok()))
}

fn check_segment(segment: Option<i64>) -> Result<(), Fault> {
    check_range(segment, "segment", 0, i64::from(SEGMENTS_MAX) - 1)
}

fn check_total(total: Option<i64>) -> Result<(), Fault> {
    check_range(total, "totalSegments", 1, i64::from(SEGMENTS_MAX))
}

fn read_segment(segment: Option<i64>, total: Option<i64>) -> Result<Option<(u32, u32)>, Fault> {
    check_segment(segment)?;
    check_total(total)?;
    let (segment, total) = match (segment, total) {
        (None, None) => return Ok(None),
        (Some(_), None) => {
            return Err(Fault::invalid(
                "The TotalSegments parameter is required but was not present in the request when \
                 Segment parameter is present",
            ));
        }
        (None, Some(_)) => {
            return Err(Fault::invalid(
                "The Segment parameter is required but was not present in the request when \
                 parameter TotalSegments is present",
            ));
        }
        (Some(segment), Some(total)) => (segment, total),
    };
    if segment >= total {
        return Err(Fault::invalid(format!(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: \
             Segment: {segment} is not less than TotalSegments: {total}"
        )));
    }
    Ok(u32::try_from(segment).ok().zip(u32::try_from(total).ok()))
}

fn index_of<'s>(spec: &'s TableSpec, name: Option<&str>) -> Result<Option<&'s IndexSpec>, Fault> {
    let Some(name) = name else { return Ok(None) };
    match spec.find_index(name) {
        Some((_, index)) => Ok(Some(index)),
        None => Err(Fault::invalid(format!("The table does not have the specified index: {name}"))),
    }
}

/// A global index returns only the attributes that it contains.
fn check_selected(
    spec: &TableSpec,
    index: &IndexSpec,
    select: Select,
    paths: &[Path],
) -> Result<(), Fault> {
    if select == Select::All && !index.local && index.projection != Projected::All {
        return Err(Fault::invalid(format!(
            "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not \
             supported for global secondary index {} because its projection type is not ALL",
            index.name
        )));
    }
    check_projected(spec, index, paths)
}

/// Checks that a global index contains the wanted attributes; a local one fetches them.
pub(super) fn check_projected(
    spec: &TableSpec,
    index: &IndexSpec,
    paths: &[Path],
) -> Result<(), Fault> {
    let included: &[String] = match &index.projection {
        Projected::KeysOnly | Projected::Include(_) if index.local => return Ok(()),
        Projected::All => return Ok(()),
        Projected::KeysOnly => &[],
        Projected::Include(names) => names,
    };
    let holds = |path: &&Path| {
        let mut keys = spec.key.attributes().chain(index.key.attributes());
        included.contains(&path.root) || keys.any(|attribute| attribute.name == path.root)
    };
    let missing: Vec<&str> =
        paths.iter().filter(|path| !holds(path)).map(|path| path.root.as_str()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Fault::invalid(format!(
        "One or more parameter values were invalid: Global secondary index {} does not project \
         [{}]",
        index.name,
        missing.join(", ")
    )))
}

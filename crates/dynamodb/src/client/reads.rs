//! Reading one item, a partition, or a table.

use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity};
use table::{Error, Get, Item, Page, Query, Scan};

use super::Client;
use super::attempts::{RetryRule, failure};
use super::expiry::ReadView;
use super::expressions::SdkExpressions;
use super::values::{Attributes, from_attributes, to_attributes};

impl Client {
    pub(super) async fn get_item(&self, get: Get) -> Result<Option<Item>, Error> {
        let spec = self.spec(&get.table).await?;
        let shown = ReadView::new(&spec, None, &get.projection);
        let mut expressions = SdkExpressions::new();
        let call = self
            .sdk
            .get_item()
            .table_name(self.full(&get.table))
            .set_key(Some(to_attributes(&get.key)))
            .set_projection_expression(expressions.projection(&shown.projection))
            .set_expression_attribute_names(expressions.names())
            .consistent_read(get.consistent);
        let answer = self.send(RetryRule::Safe, || call.clone().send()).await;
        let answer = answer.map_err(|error| failure(error, &get.table))?;
        match answer.item {
            Some(item) => shown.take(item, self.now_s()),
            None => Ok(None),
        }
    }

    pub(super) async fn query_page(&self, query: Query) -> Result<Page, Error> {
        let spec = self.spec(&query.table).await?;
        let shown = ReadView::new(&spec, query.index.as_deref(), &query.projection);
        let mut expressions = SdkExpressions::new();
        let call = self
            .sdk
            .query()
            .table_name(self.full(&query.table))
            .set_index_name(query.index)
            .set_key_condition_expression(expressions.key_condition(&query.key))
            .set_filter_expression(expressions.condition(query.filter.as_ref()))
            .set_projection_expression(expressions.projection(&shown.projection))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .scan_index_forward(!query.descending)
            .set_limit(query.limit.map(limit))
            .set_exclusive_start_key(query.start_after.as_ref().map(to_attributes))
            .consistent_read(query.consistent)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let answer = self.send(RetryRule::Safe, || call.clone().send()).await;
        let answer = answer.map_err(|error| failure(error, &query.table))?;
        let mut page = self.page(&shown, answer.items, answer.last_evaluated_key)?;
        page.scanned = u32::try_from(answer.scanned_count).unwrap_or(0);
        page.bytes =
            weight(answer.consumed_capacity.as_ref(), query.consistent).unwrap_or(page.bytes);
        Ok(page)
    }

    pub(super) async fn scan_page(&self, scan: Scan) -> Result<Page, Error> {
        let spec = self.spec(&scan.table).await?;
        let shown = ReadView::new(&spec, scan.index.as_deref(), &scan.projection);
        let mut expressions = SdkExpressions::new();
        let call = self
            .sdk
            .scan()
            .table_name(self.full(&scan.table))
            .set_index_name(scan.index)
            .set_segment(scan.segment.map(|(number, _)| limit(number)))
            .set_total_segments(scan.segment.map(|(_, total)| limit(total)))
            .set_filter_expression(expressions.condition(scan.filter.as_ref()))
            .set_projection_expression(expressions.projection(&shown.projection))
            .set_expression_attribute_names(expressions.names())
            .set_expression_attribute_values(expressions.values())
            .set_limit(scan.limit.map(limit))
            .set_exclusive_start_key(scan.start_after.as_ref().map(to_attributes))
            .consistent_read(scan.consistent)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let answer = self.send(RetryRule::Safe, || call.clone().send()).await;
        let answer = answer.map_err(|error| failure(error, &scan.table))?;
        let mut page = self.page(&shown, answer.items, answer.last_evaluated_key)?;
        page.scanned = u32::try_from(answer.scanned_count).unwrap_or(0);
        page.bytes =
            weight(answer.consumed_capacity.as_ref(), scan.consistent).unwrap_or(page.bytes);
        Ok(page)
    }

    fn page(
        &self,
        shown: &ReadView<'_>,
        items: Option<Vec<Attributes>>,
        last_key: Option<Attributes>,
    ) -> Result<Page, Error> {
        let now_s = self.now_s();
        let mut page = Page::default();
        for attributes in items.unwrap_or_default() {
            page.items.extend(shown.take(attributes, now_s)?);
        }
        page.bytes = page.items.iter().map(|item| item.size() as u64).sum();
        page.last_key = last_key.map(from_attributes).transpose()?;
        Ok(page)
    }
}

/// The size of a read, to a few kilobytes: DynamoDB reports it in capacity units.
fn weight(consumed: Option<&ConsumedCapacity>, consistent: bool) -> Option<u64> {
    let unit = if consistent { 4096.0 } else { 8192.0 };
    let bytes = consumed?.capacity_units? * unit;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a page is small")]
    Some(bytes as u64)
}

/// A count for the wire. DynamoDB would refuse a count out of range too, so such a count is sent as
/// the largest number and refused there.
fn limit(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

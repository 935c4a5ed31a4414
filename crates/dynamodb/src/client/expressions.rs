//! The expressions of one request, in the form of the SDK's builders.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use table::{Actions, Condition, KeyCondition, Path, Renderer};

use super::values::to_attribute;

/// Writes expressions and collects their placeholders.
#[derive(Default)]
pub(super) struct SdkExpressions {
    renderer: Renderer,
}

impl SdkExpressions {
    pub(super) fn new() -> SdkExpressions {
        SdkExpressions::default()
    }

    pub(super) fn condition(&mut self, condition: Option<&Condition>) -> Option<String> {
        condition.map(|condition| self.renderer.condition(condition))
    }

    pub(super) fn actions(&mut self, actions: &Actions) -> Option<String> {
        Some(self.renderer.actions(actions)).filter(|text| !text.is_empty())
    }

    pub(super) fn key_condition(&mut self, key: &KeyCondition) -> Option<String> {
        Some(self.renderer.key_condition(key))
    }

    pub(super) fn projection(&mut self, paths: &[Path]) -> Option<String> {
        Some(self.renderer.projection(paths)).filter(|text| !text.is_empty())
    }

    /// The names of the placeholders. Call it after all expressions are written.
    pub(super) fn names(&self) -> Option<HashMap<String, String>> {
        let names = &self.renderer.names;
        (!names.is_empty()).then(|| names.clone().into_iter().collect())
    }

    /// The values of the placeholders. Call it after all expressions are written.
    pub(super) fn values(&self) -> Option<HashMap<String, AttributeValue>> {
        let values = self.renderer.values.iter();
        let values: HashMap<_, _> =
            values.map(|(name, value)| (name.clone(), to_attribute(value))).collect();
        (!values.is_empty()).then_some(values)
    }
}

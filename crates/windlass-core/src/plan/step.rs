//! One change at its position in the plan.

use crate::diff::Change;
use crate::resource::ResourceKey;

/// One change at its position in the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanStep {
    /// The change.
    pub change: Change,
    /// Changes of this plan that must be applied first.
    pub waits_for: Vec<ResourceKey>,
}

impl PlanStep {
    /// The action as the API names it: `create_template`.
    pub fn action_name(&self) -> String {
        format!("{}_{}", self.change.action(), self.change.key.kind)
    }
}

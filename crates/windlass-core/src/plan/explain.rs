//! The reason of each step, in words.

use super::PlanStep;
use crate::diff::Cause;

impl PlanStep {
    /// The reason of the step, in one sentence.
    pub fn reason(&self) -> String {
        match self.change.cause {
            Cause::Declared => "added to the fleet".to_owned(),
            Cause::Edited => format!("changed: {}", self.field_list()),
            Cause::Adopted if self.change.base == self.change.desired => {
                "adopts a resource without an owner, unchanged".to_owned()
            }
            Cause::Adopted => {
                format!("adopts a resource without an owner, and changes {}", self.field_list())
            }
            Cause::Contested => {
                "takes over a resource from another repository, once that no longer declares it".to_owned()
            }
            Cause::Removed => "removed from the fleet".to_owned(),
        }
    }

    fn field_list(&self) -> String {
        let fields: Vec<String> = self.change.fields().into_iter().map(|field| field.path).collect();
        match fields.len() {
            0..=4 => fields.join(", "),
            count => format!("{} and {} more", fields[..3].join(", "), count - 3),
        }
    }
}

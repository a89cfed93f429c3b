//! Why each step is there, in words.

use super::PlanStep;
use crate::diff::Cause;

impl PlanStep {
    /// Why the step is there, in one sentence.
    pub fn reason(&self) -> String {
        match self.change.cause {
            Cause::Declared => "declared in the files and not accepted yet".to_owned(),
            Cause::Edited => format!("declared differently: {}", self.field_list()),
            Cause::Adopted if self.change.base == self.change.desired => {
                "adopts a resource nobody owned, as it is".to_owned()
            }
            Cause::Adopted => format!("adopts a resource nobody owned, and changes {}", self.field_list()),
            Cause::Contested => {
                "takes over a resource that another repository owns, once that one gives it up".to_owned()
            }
            Cause::Removed => "owned by this repository and no longer declared".to_owned(),
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

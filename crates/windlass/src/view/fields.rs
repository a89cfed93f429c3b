//! Fields that differ, for people.

use windlass_api::types::FieldChange;
use windlass_core::display::field_text;

/// Differences of fields as lines.
pub(super) fn field_lines(fields: &[FieldChange], width: usize) -> Vec<String> {
    let line = |field: &FieldChange| {
        let field = windlass_core::diff::FieldChange {
            path: field.path.clone(),
            before: field.before.clone(),
            after: field.after.clone(),
        };
        field_text(&field, width)
    };
    fields.iter().flat_map(line).collect()
}

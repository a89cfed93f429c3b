//! For machines and people alike: answers as YAML.

use std::io;

use serde_json::Value;
use windlass_core::yaml;

/// Prints a document. The writer escapes what a terminal must not see.
pub(crate) fn document(value: &Value) -> io::Result<()> {
    super::text(&yaml::write(value.clone()))
}

/// Prints one of many documents.
pub(crate) fn one_of_many(value: &Value) -> io::Result<()> {
    super::text(&format!("---\n{}", yaml::write(value.clone())))
}

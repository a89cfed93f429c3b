//! Pages of lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The next page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageMeta {
    /// The `cursor` of the next page; null on the last page.
    pub next_cursor: Option<String>,
    /// The page size.
    pub limit: usize,
}

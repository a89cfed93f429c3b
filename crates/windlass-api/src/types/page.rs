//! Pages of lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a list goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageMeta {
    /// Give this as `cursor` for the next page; null at the end.
    pub next_cursor: Option<String>,
    /// How many are on a page at most.
    pub limit: usize,
}

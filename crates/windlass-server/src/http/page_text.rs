//! The page of a list that a request asks for.

use serde::Deserialize;
use windlass_control::page::PageQuery;
use windlass_control::refusal::Refusal;

/// A [`PageQuery`] whose fields are texts, so that it can be flattened into a query with other fields.
#[derive(Deserialize)]
pub(crate) struct PageQueryText {
    limit: Option<String>,
    cursor: Option<String>,
}

impl PageQueryText {
    pub(crate) fn read(self) -> Result<PageQuery, Refusal> {
        let wrong = |_| Refusal::bad_request("limit must be a number", "for example limit=100");
        let limit = self.limit.map(|limit| limit.parse()).transpose().map_err(wrong)?;
        Ok(PageQuery { limit, cursor: self.cursor })
    }
}

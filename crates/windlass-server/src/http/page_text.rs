//! Pages of lists, as requests ask for them.

use serde::Deserialize;
use windlass_control::page::PageQuery;
use windlass_control::refusal::Refusal;

/// The same page query in a form that can stand beside other fields.
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

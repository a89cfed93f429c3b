//! Credentials that repositories can name: their paths, never their values.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_api::endpoint::Operation;

use crate::call::ApiCallSpec;
use crate::refusal::{CallError, refusal};
use crate::summary::{self, text};
use crate::tool::{ToolReply, ToolRequest};

/// Arguments of the list.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct List {
    /// The owner of the credentials: always `system`.
    scope: Option<Scope>,
    /// The page size, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The previous page's `next_cursor`.
    cursor: Option<String>,
}

/// Whose credentials.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// The installation's.
    System,
}

impl ToolRequest for List {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        // There is only one scope. Clients may name it, so that more can be added later.
        let (Some(Scope::System) | None) = self.scope;
        match self.limit {
            Some(0 | 501..) => Err(refusal("bad-argument", "limit is 1 to 500", "omit it for 50")),
            _ => Ok(vec![ApiCallSpec::new(Operation::CredentialList)]),
        }
    }

    /// The API returns all credentials, sorted by path; the cursor is the last path of the previous page.
    fn reply(&self, answer: Value) -> ToolReply {
        let all = answer.get("vault_credentials").and_then(Value::as_array);
        let after = self.cursor.as_deref().unwrap_or_default();
        let mut rest = all.into_iter().flatten().filter(|found| text(found, "path") > after);
        let page: Vec<&Value> = rest.by_ref().take(self.limit.unwrap_or(summary::SHOWN)).collect();
        let last = page.last().map(|found| text(found, "path"));
        let next = rest.next().and(last);
        let complete = answer.get("complete").cloned().unwrap_or(Value::Bool(true));
        let value = json!({ "vault_credentials": page, "next_cursor": next, "complete": complete });
        ToolReply { text: summary::count(&value, "vault_credentials", "credential", "credentials"), value }
    }
}

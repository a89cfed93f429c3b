//! Creates repositories in a forge.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::types::GiteaRepositoryBody;

use crate::call::ApiCallSpec;
use crate::refusal::CallError;
use crate::summary::text;
use crate::tool::{ToolReply, ToolRequest};

/// Arguments for a new repository in Gitea.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CreateInGitea {
    /// The organisation or user it belongs to.
    owner: String,
    /// Its name.
    repo: String,
    /// Whether it is private; default true.
    private: Option<bool>,
}

impl ToolRequest for CreateInGitea {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let body = GiteaRepositoryBody {
            owner: self.owner.clone(),
            repo: self.repo.clone(),
            private: self.private.unwrap_or(true),
        };
        Ok(vec![ApiCallSpec::new(Operation::GiteaRepositoryCreate).body(&body)])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let repository = answer.get("repository").cloned().unwrap_or_default();
        let (name, url) = (text(&repository, "full_name"), text(&repository, "ssh_url"));
        ToolReply {
            text: format!("created {name}: push a fleet.yaml to {url}, then register it"),
            value: json!({ "repository": repository }),
        }
    }
}

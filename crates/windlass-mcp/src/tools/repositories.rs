//! Repositories: registering, reading and unregistering them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::types::{RepositoryBody, RepositoryFields};

use crate::call::ApiCallSpec;
use crate::refusal::{CallError, refusal};
use crate::summary::{self, text};
use crate::tool::{ToolReply, ToolRequest};

/// The fields of a repository.
const FIELDS: &[&str] = &[
    "id",
    "name",
    "repo_url",
    "branch",
    "path_prefix",
    "vault_credential_path",
    "required_credential_keys",
    "enabled",
    "auto_apply",
    "reconcile_interval_seconds",
    "status",
    "last_status",
    "last_error",
    "last_run_id",
    "last_synced_at",
    "last_synced_revision",
    "next_sync_at",
    "created_at",
];

/// The most repositories on a page.
const LARGEST_PAGE: usize = 500;

/// Arguments of a registration. Auto-apply is not one of them: whoever may not approve must not be able to turn it on.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Register {
    /// The repository's URL: `https://…`, `ssh://…` or `git@host:path`, without credentials.
    repo_url: String,
    /// Its name, unique in the account. Default: the last part of the URL.
    name: Option<String>,
    /// The branch to follow. Default `main`.
    branch: Option<String>,
    /// The directory of fleet.yaml, relative. Default the root.
    path_prefix: Option<String>,
    /// The path of its credential in Vault; `list_vault_credentials` lists them.
    vault_credential_path: Option<String>,
    /// Another name for `vault_credential_path`.
    ssh_credential_id: Option<String>,
    /// A certificate authority (PEM) to trust for this repository, in addition to the system's.
    ca_pem: Option<String>,
    /// Allowed signers: public keys (OpenSSH lines or armoured OpenPGP), one of which must have signed the commit.
    allowed_signers: Option<String>,
    /// Whether it syncs automatically. Default yes.
    enabled: Option<bool>,
    /// Seconds between syncs, 10 to 86400. Default 300.
    #[schemars(range(min = 10, max = 86400))]
    reconcile_interval_seconds: Option<u64>,
}

impl ToolRequest for Register {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        if self.vault_credential_path.is_some() && self.ssh_credential_id.is_some() {
            let message = "vault_credential_path and ssh_credential_id are the same argument";
            return Err(refusal("bad-argument", message, "give only one of them"));
        }
        let body = RepositoryBody {
            gitops_repository: RepositoryFields {
                name: self.name.clone(),
                repo_url: Some(self.repo_url.clone()),
                branch: self.branch.clone(),
                path_prefix: self.path_prefix.clone(),
                vault_credential_path: self.vault_credential_path.clone().or(self.ssh_credential_id.clone()),
                ca_pem: self.ca_pem.clone(),
                allowed_signers: self.allowed_signers.clone(),
                enabled: self.enabled,
                auto_apply: None,
                forge: None,
                reconcile_interval_seconds: self.reconcile_interval_seconds,
            },
        };
        Ok(vec![ApiCallSpec::new(Operation::RepositoryCreate).body(&body)])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let repository = repository_of(&answer);
        let text = format!("registered {}: {}", text(repository, "name"), text(repository, "status"));
        ToolReply { text, value: json!({ "repository": repository_fields(repository) }) }
    }
}

/// Arguments for reading one repository.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Get {
    /// The repository, by id or name.
    repository_id: String,
}

impl ToolRequest for Get {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        Ok(vec![ApiCallSpec::about(Operation::RepositoryShow, &self.repository_id)?])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let repository = repository_of(&answer);
        let text = format!("{}: {}", text(repository, "name"), text(repository, "status"));
        ToolReply { text, value: json!({ "repository": repository_fields(repository) }) }
    }
}

/// Arguments of the list.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct List {
    /// The page size, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The previous page's `next_cursor`.
    cursor: Option<String>,
}

impl ToolRequest for List {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        if self.limit.is_some_and(|limit| !(1..=LARGEST_PAGE).contains(&limit)) {
            return Err(refusal("bad-argument", "limit is 1 to 500", "omit it for 50"));
        }
        Ok(vec![ApiCallSpec::new(Operation::RepositoryList)])
    }

    /// The API returns all repositories, sorted by name; the cursor is the last name of the previous page.
    fn reply(&self, answer: Value) -> ToolReply {
        let all = answer.get("gitops_repositories").and_then(Value::as_array);
        let after = self.cursor.as_deref().unwrap_or_default();
        let mut rest = all.into_iter().flatten().filter(|repository| text(repository, "name") > after);
        let page: Vec<&Value> = rest.by_ref().take(self.limit.unwrap_or(summary::SHOWN)).collect();
        let last = page.last().map(|repository| text(repository, "name"));
        let next = rest.next().and(last);
        let items: Vec<Map<String, Value>> = page.into_iter().map(repository_fields).collect();
        let value = json!({ "repositories": items, "next_cursor": next });
        ToolReply { text: summary::count(&value, "repositories", "repository", "repositories"), value }
    }
}

/// Arguments for unregistering a repository.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Unregister {
    /// The repository, by id or name.
    repository_id: String,
}

impl ToolRequest for Unregister {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        Ok(vec![ApiCallSpec::about(Operation::RepositoryRemove, &self.repository_id)?])
    }

    fn reply(&self, _: Value) -> ToolReply {
        let text = "unregistered; git is unchanged, and the repository's resources stay, without an owner";
        ToolReply {
            text: text.to_owned(),
            value: json!({ "unregistered": true, "repository_id": self.repository_id }),
        }
    }
}

fn repository_of(answer: &Value) -> &Value {
    answer.get("gitops_repository").unwrap_or(answer)
}

fn repository_fields(repository: &Value) -> Map<String, Value> {
    summary::select_fields(repository, FIELDS)
}

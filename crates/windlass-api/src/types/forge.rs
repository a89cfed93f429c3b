//! Forges: what they are told about a repository, and repositories that are made there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::forge::ForgeKind;

use crate::word::Word;

/// Settings for reporting to a repository's forge. Fields not given stay unchanged or get their default; an empty text
/// removes an optional setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgeFields {
    /// `github`, `gitea` (also for Forgejo) or `gitlab`; `none` turns reporting off. Required unless the repository is
    /// on github.com or gitlab.com.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The address of its API. Default: the usual one of this kind of forge, on the repository's host. The server must
    /// allow any other host (`--forge-api-host`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_url: Option<String>,
    /// `owner/name` there. Default: taken from the repository's URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The path of the credential with the token, under the key `token`. Default: the repository's own credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_path: Option<String>,
    /// Whether to report commit statuses. Default yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_status: Option<bool>,
    /// Whether to comment on pull requests with the plan. Default yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<bool>,
    /// Whether to plan pull requests from forks, which anyone can open. Default no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previews_of_forks: Option<bool>,
}

/// Reporting to a repository's forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgeInfo {
    /// Which API it has.
    #[schemars(with = "Word<ForgeKind>")]
    pub kind: ForgeKind,
    /// The address of its API, if configured.
    pub api_url: Option<String>,
    /// `owner/name` there, if configured.
    pub project: Option<String>,
    /// The path of the credential with the token, if not the repository's own.
    pub credential_path: Option<String>,
    /// Whether commit statuses are reported.
    pub commit_status: bool,
    /// Whether pull requests get comments with the plan.
    pub comment: bool,
    /// Whether pull requests from forks are planned.
    #[serde(default)]
    pub previews_of_forks: bool,
    /// Why the last report failed.
    pub last_error: Option<String>,
}

/// A repository to create in Gitea.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GiteaRepositoryBody {
    /// The owner: an organisation, or the user of the server's token; any user if that is an administrator's token.
    pub owner: String,
    /// Its name.
    pub repo: String,
    /// Whether it is private. Default yes.
    #[serde(default = "yes")]
    pub private: bool,
}

fn yes() -> bool {
    true
}

/// A repository in Gitea.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GiteaRepositoryInfo {
    /// `owner/name`.
    pub full_name: String,
    /// Its https clone URL.
    pub clone_url: String,
    /// Its ssh clone URL.
    pub ssh_url: String,
    /// Its web page.
    pub html_url: String,
    /// Whether it is private.
    pub private: bool,
    /// Its default branch.
    pub default_branch: String,
}

/// A repository in Gitea under its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GiteaRepositoryEnvelope {
    /// The repository.
    pub repository: GiteaRepositoryInfo,
}

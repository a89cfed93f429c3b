//! Forges: what they are told about a repository, and repositories that are made there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::forge::ForgeKind;

use crate::word::Word;

/// What the forge of a repository is told, or what to change about that. Left out means no change, or the default. An empty
/// text removes an optional one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgeFields {
    /// `github`, `gitea` (also for Forgejo) or `gitlab`; `none` to tell the forge nothing any more. Needed unless the
    /// repository is at github.com or gitlab.com.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Where its API is. Default: where forges of this kind have it on the repository's host. Another host must be one that
    /// the server was started with (`--forge-api-host`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_url: Option<String>,
    /// `owner/name` there. Default: what the repository's URL says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Where the token is kept, under the key `token`. Default: the repository's own credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_path: Option<String>,
    /// Whether commits get a status. Default yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_status: Option<bool>,
    /// Whether pull requests get a comment with the plan. Default yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<bool>,
    /// Whether pull requests from forks are planned, too. Anybody can open one, so the default is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previews_of_forks: Option<bool>,
}

/// What the forge of a repository is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgeInfo {
    /// Which API it has.
    #[schemars(with = "Word<ForgeKind>")]
    pub kind: ForgeKind,
    /// Where its API is, if that was said.
    pub api_url: Option<String>,
    /// `owner/name` there, if that was said.
    pub project: Option<String>,
    /// Where the token is kept, if not with the repository's credential.
    pub credential_path: Option<String>,
    /// Whether commits get a status.
    pub commit_status: bool,
    /// Whether pull requests get a comment with the plan.
    pub comment: bool,
    /// Whether pull requests from forks are planned, too.
    #[serde(default)]
    pub previews_of_forks: bool,
    /// Why it could not be told when it was last tried.
    pub last_error: Option<String>,
}

/// A repository to be made in Gitea.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GiteaRepositoryBody {
    /// Whose: an organisation, or the user whose token the server has; anyone, if that is an administrator's.
    pub owner: String,
    /// What it is called.
    pub repo: String,
    /// Whether only those see it that it is shared with. Default yes.
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
    /// Where it is cloned from over https.
    pub clone_url: String,
    /// Where it is cloned from over ssh.
    pub ssh_url: String,
    /// Where people look at it.
    pub html_url: String,
    /// Whether only those see it that it is shared with.
    pub private: bool,
    /// Its branch.
    pub default_branch: String,
}

/// A repository in Gitea under its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GiteaRepositoryEnvelope {
    /// The repository.
    pub repository: GiteaRepositoryInfo,
}

//! The form that registers a repository or changes one, with what its address asks for.

use askama::Template;
use windlass_api::types::{ErrorBody, RepositoryInfo, RepositoryTest};

use super::repository::url_scheme;
use crate::frame::{Frame, NavEntry};
use crate::words;

/// What stands in the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFormFields {
    /// The name; empty for the last part of the address.
    pub name: String,
    /// Where it is.
    pub repo_url: String,
    /// The branch.
    pub branch: String,
    /// The directory of fleet.yaml.
    pub path_prefix: String,
    /// Where the credential is kept.
    pub credential_path: String,
    /// Seconds between syncs, as typed.
    pub interval: String,
    /// Whether it is synced on its own.
    pub enabled: bool,
    /// Whether creates and updates are applied without approval.
    pub auto_apply: bool,
    /// A certificate authority to trust.
    pub ca_pem: String,
    /// Public keys one of which must have signed.
    pub allowed_signers: String,
    /// Whether the certificate authority is taken away.
    pub drops_ca: bool,
    /// Whether signatures are no longer demanded.
    pub drops_signers: bool,
    /// What the forge is told.
    pub forge: ForgeFormFields,
}

/// What stands in the part about the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeFormFields {
    /// Which forge: `none`, `github`, `gitea` or `gitlab`; empty to leave it as it is.
    pub kind: String,
    /// Where its API is.
    pub api_url: String,
    /// `owner/name` there.
    pub project: String,
    /// Where the token is kept.
    pub credential_path: String,
    /// Whether commits get a status.
    pub commit_status: bool,
    /// Whether pull requests get a comment.
    pub comment: bool,
    /// Whether pull requests from forks are planned, too.
    pub previews_of_forks: bool,
}

impl Default for ForgeFormFields {
    fn default() -> ForgeFormFields {
        ForgeFormFields {
            kind: "none".to_owned(),
            api_url: String::new(),
            project: String::new(),
            credential_path: String::new(),
            commit_status: true,
            comment: true,
            previews_of_forks: false,
        }
    }
}

impl Default for RepositoryFormFields {
    fn default() -> RepositoryFormFields {
        RepositoryFormFields {
            name: String::new(),
            repo_url: String::new(),
            branch: "main".to_owned(),
            path_prefix: String::new(),
            credential_path: String::new(),
            interval: "300".to_owned(),
            enabled: true,
            auto_apply: false,
            ca_pem: String::new(),
            allowed_signers: String::new(),
            drops_ca: false,
            drops_signers: false,
            forge: ForgeFormFields::default(),
        }
    }
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "repository_form.html")]
pub struct RepositoryForm {
    /// What surrounds it.
    pub frame: Frame,
    /// The repository that is changed; none if one is registered.
    pub existing: Option<RepositoryInfo>,
    /// What stands in the form.
    pub filled: RepositoryFormFields,
    /// Why it was refused.
    pub error: Option<ErrorBody>,
    /// What a test of the connection found, if one was asked for.
    pub test: Option<RepositoryTest>,
}

/// The fields whose errors begin with their names.
const FIELDS: [&str; 12] = [
    "repo_url",
    "name",
    "branch",
    "path_prefix",
    "vault_credential_path",
    "reconcile_interval_seconds",
    "ca_pem",
    "allowed_signers",
    "forge.kind",
    "forge.api_url",
    "forge.project",
    "forge.credential_path",
];

/// The forges that can be told, as settings and people call them.
const FORGES: [(&str, &str); 4] =
    [("none", "Nothing"), ("github", "GitHub"), ("gitea", "Gitea or Forgejo"), ("gitlab", "GitLab")];

impl RepositoryForm {
    pub(crate) fn shape(&self) -> &'static str {
        url_scheme(&self.filled.repo_url)
    }

    /// What is wrong with one field, and what to do about it.
    pub(crate) fn wrong(&self, field: &str) -> Option<(String, &str)> {
        let error = self.error.as_ref()?;
        let rest = error.message.strip_prefix(field)?;
        let message = rest.strip_prefix(": ").map_or_else(|| error.message.clone(), str::to_owned);
        rest.starts_with([':', ' ']).then_some((message, error.help.as_str()))
    }

    /// What is wrong with no single field.
    pub(crate) fn wrong_at_large(&self) -> Option<&ErrorBody> {
        self.error.as_ref().filter(|_| FIELDS.iter().all(|field| self.wrong(field).is_none()))
    }

    /// Whether the seldom used part is open.
    pub(crate) fn is_advanced(&self) -> bool {
        let filled = &self.filled;
        self.wrong("ca_pem").is_some()
            || self.wrong("allowed_signers").is_some()
            || !filled.ca_pem.is_empty()
            || !filled.allowed_signers.is_empty()
            || self.existing.as_ref().is_some_and(|it| it.has_ca || it.requires_signature)
    }

    /// Whether the part about the forge is open.
    pub(crate) fn is_told(&self) -> bool {
        let is_wrong = FIELDS.iter().any(|field| field.starts_with("forge.") && self.wrong(field).is_some());
        is_wrong || !matches!(self.filled.forge.kind.as_str(), "" | "none")
    }

    pub(crate) fn forges(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        let chosen = self.filled.forge.kind.clone();
        FORGES.into_iter().map(move |(kind, name)| (kind, name, kind == chosen))
    }

    pub(crate) fn has_ca(&self) -> bool {
        self.existing.as_ref().is_some_and(|it| it.has_ca)
    }

    pub(crate) fn has_signers(&self) -> bool {
        self.existing.as_ref().is_some_and(|it| it.requires_signature)
    }
}

//! The form that registers or changes a repository.

use askama::Template;
use windlass_api::types::{ErrorBody, RepositoryInfo, RepositoryTest};

use super::repository::url_scheme;
use crate::frame::{Frame, NavEntry};
use crate::words;

/// The values of the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFormFields {
    /// The name; empty for the last part of the URL.
    pub name: String,
    /// The URL.
    pub repo_url: String,
    /// The branch.
    pub branch: String,
    /// The directory of fleet.yaml.
    pub path_prefix: String,
    /// The path of the credential.
    pub credential_path: String,
    /// Seconds between syncs, as typed.
    pub interval: String,
    /// Whether it is synced automatically.
    pub enabled: bool,
    /// Whether creates and updates are applied without approval.
    pub auto_apply: bool,
    /// A certificate authority to trust.
    pub ca_pem: String,
    /// Public keys, one of which must have signed the commit.
    pub allowed_signers: String,
    /// Whether to remove the certificate authority.
    pub drops_ca: bool,
    /// Whether to stop requiring signatures.
    pub drops_signers: bool,
    /// The settings of status reporting.
    pub forge: ForgeFormFields,
}

/// The values of the forge settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeFormFields {
    /// The forge: `none`, `github`, `gitea` or `gitlab`; empty to keep the setting.
    pub kind: String,
    /// The URL of its API.
    pub api_url: String,
    /// `owner/name` there.
    pub project: String,
    /// The path of the token.
    pub credential_path: String,
    /// Whether commits get a status.
    pub commit_status: bool,
    /// Whether pull requests get a comment.
    pub comment: bool,
    /// Whether pull requests from forks get a preview.
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
    /// The frame of the page.
    pub frame: Frame,
    /// The repository to change; `None` to register one.
    pub existing: Option<RepositoryInfo>,
    /// The values of the form.
    pub fields: RepositoryFormFields,
    /// Why the server rejected it.
    pub error: Option<ErrorBody>,
    /// The result of a connection test, if one was requested.
    pub test: Option<RepositoryTest>,
}

/// The fields that error messages begin with.
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

/// The forges to choose from: spelling and name.
const FORGES: [(&str, &str); 4] =
    [("none", "Nothing"), ("github", "GitHub"), ("gitea", "Gitea or Forgejo"), ("gitlab", "GitLab")];

impl RepositoryForm {
    pub(crate) fn url_scheme(&self) -> &'static str {
        url_scheme(&self.fields.repo_url)
    }

    /// The error of one field, with its help.
    pub(crate) fn field_error(&self, field: &str) -> Option<(String, &str)> {
        let error = self.error.as_ref()?;
        let rest = error.message.strip_prefix(field)?;
        let message = rest.strip_prefix(": ").map_or_else(|| error.message.clone(), str::to_owned);
        rest.starts_with([':', ' ']).then_some((message, error.help.as_str()))
    }

    /// The error, if it belongs to no single field.
    pub(crate) fn general_error(&self) -> Option<&ErrorBody> {
        self.error.as_ref().filter(|_| FIELDS.iter().all(|field| self.field_error(field).is_none()))
    }

    /// Whether the advanced section is open.
    pub(crate) fn is_advanced_open(&self) -> bool {
        let fields = &self.fields;
        self.field_error("ca_pem").is_some()
            || self.field_error("allowed_signers").is_some()
            || !fields.ca_pem.is_empty()
            || !fields.allowed_signers.is_empty()
            || self.existing.as_ref().is_some_and(|it| it.has_ca || it.requires_signature)
    }

    /// Whether the forge section is open.
    pub(crate) fn is_forge_open(&self) -> bool {
        let has_error =
            FIELDS.iter().any(|field| field.starts_with("forge.") && self.field_error(field).is_some());
        has_error || !matches!(self.fields.forge.kind.as_str(), "" | "none")
    }

    pub(crate) fn forges(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        let chosen = self.fields.forge.kind.clone();
        FORGES.into_iter().map(move |(kind, name)| (kind, name, kind == chosen))
    }

    pub(crate) fn has_ca(&self) -> bool {
        self.existing.as_ref().is_some_and(|it| it.has_ca)
    }

    pub(crate) fn has_signers(&self) -> bool {
        self.existing.as_ref().is_some_and(|it| it.requires_signature)
    }
}

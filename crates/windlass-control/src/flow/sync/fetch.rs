//! What a fetch needs, and the fetch itself, which blocks.

use windlass_core::redacted::Redacted;
use windlass_core::repository::Repository;
use windlass_core::run::RunError;
use windlass_secrets::{CredentialFields, SecretError};
use windlass_source::{
    Branch, CommitId, Credential, FetchLimits, FetchOptions, FetchResult, HostKeys, InsecureUrls, Mirror,
    PathPrefix, RemoteScheme, RemoteUrl, Revision, Signers,
};

use crate::control::Control;
use crate::credential::{self, CredentialRefusal, CredentialUse, git_destination};

/// A repository's configuration, checked, with its credential.
#[derive(Clone)]
pub(crate) struct FetchPlan {
    pub(crate) url: RemoteUrl,
    pub(crate) revision: Revision,
    pub(crate) prefix: PathPrefix,
    pub(crate) credential: Credential,
    pub(crate) host_keys: Option<HostKeys>,
    pub(crate) signers: Option<Signers>,
    pub(crate) ca_pem: Option<String>,
    /// The commit of the last good run.
    pub(crate) since: Option<CommitId>,
    pub(crate) limits: FetchLimits,
}

impl FetchPlan {
    /// Checks the configuration and reads the credential. Every problem is returned as the run's error.
    pub(crate) async fn of(
        repository: &Repository,
        account: &str,
        server: &Control,
    ) -> Result<FetchPlan, RunError> {
        let config = server.config();
        let plan = FetchPlan::without_credential(repository, config.insecure_git, config.fetch_limits)?;
        plan.with_credential(repository, account, server).await
    }

    /// Adds the credential that the repository names. Without a credential path there is none; with one, a credential
    /// that cannot be read or may not be sent to the repository's host is an error.
    pub(crate) async fn with_credential(
        mut self,
        repository: &Repository,
        account: &str,
        server: &Control,
    ) -> Result<FetchPlan, RunError> {
        if let Some(path) = &repository.credential_path {
            let fields = server.config().credentials.read(account, path).await;
            let fields = fields
                .map_err(|error: SecretError| RunError::new(error.code(), error.to_string(), error.help()))?;
            if let Some(to) = git_destination(&self.url) {
                let used = CredentialUse { path: path.clone(), to };
                credential::check(server, &repository.account_id, &used, &fields).await.map_err(
                    |CredentialRefusal { code, message, help }| RunError::new(code, message, help),
                )?;
            }
            self.credential = credential_of(path, &fields, &self.url)?;
        }
        Ok(self)
    }

    /// Checks the configuration only.
    pub(crate) fn without_credential(
        repository: &Repository,
        insecure: InsecureUrls,
        limits: FetchLimits,
    ) -> Result<FetchPlan, RunError> {
        let url = RemoteUrl::parse(&repository.repo_url, insecure)
            .map_err(|error| RunError::new("repo-url", error.to_string(), error.help()))?;
        let branch = Branch::parse(&repository.branch)
            .map_err(|error| RunError::new("branch", error.to_string(), error.help()))?;
        let prefix = PathPrefix::parse(&repository.path_prefix)
            .map_err(|error| RunError::new("path-prefix", error.to_string(), error.help()))?;
        let host_keys =
            repository.host_keys.as_deref().map(HostKeys::parse).transpose().map_err(|error| {
                RunError::new(
                    "host-keys",
                    error.to_string(),
                    "forget the pinned keys, then sync to pin new ones",
                )
            })?;
        let signers = repository.signers.as_deref().map(Signers::parse).transpose().map_err(|error| {
            RunError::new("allowed-signers", error.to_string(), "fix the repository's allowed_signers")
        })?;
        Ok(FetchPlan {
            url,
            revision: Revision::Branch(branch),
            prefix,
            credential: Credential::None,
            host_keys,
            signers,
            ca_pem: repository.ca_pem.clone(),
            since: repository.good_commit.as_deref().and_then(CommitId::parse),
            limits,
        })
    }

    /// Fetches into a mirror. Blocks.
    pub(crate) fn fetch(
        &self,
        mirror: &Mirror,
        server: &Control,
    ) -> Result<FetchResult, windlass_source::FetchError> {
        mirror.fetch(&self.options(server))
    }

    /// The plan as options of [`Mirror::fetch`].
    pub(crate) fn options<'p>(&'p self, server: &'p Control) -> FetchOptions<'p> {
        FetchOptions {
            url: &self.url,
            revision: &self.revision,
            credential: &self.credential,
            host_keys: self.host_keys.as_ref(),
            extra_ca_pem: self.ca_pem.as_deref(),
            guard: server.guard(),
            since: self.since.as_ref(),
            limits: self.limits,
            interrupt: server.interrupt(),
        }
    }
}

/// The user name for a token without one. GitHub, GitLab and Gitea accept any name with a token, Bitbucket only this.
const TOKEN_USER: &str = "x-token-auth";

/// Which keys a credential must have.
pub(crate) fn required_keys(scheme: RemoteScheme) -> &'static [&'static str] {
    match scheme {
        RemoteScheme::Ssh => &["ssh_key"],
        RemoteScheme::Https | RemoteScheme::Http => &["username", "password"],
        RemoteScheme::File => &[],
    }
}

/// The credential for a URL, from the fields at a path.
fn credential_of(path: &str, fields: &CredentialFields, url: &RemoteUrl) -> Result<Credential, RunError> {
    let field = |key: &str| fields.get(key).filter(|value| !value.expose().is_empty());
    match (url.scheme(), field("ssh_key"), field("username"), field("password"), field("token")) {
        (RemoteScheme::Ssh, Some(key), ..) => {
            // ssh rejects an OpenSSH key without the final newline.
            let key = Redacted::new(format!("{}\n", key.expose()));
            Ok(Credential::SshKey {
                key,
                known_hosts: field("known_hosts").map(|known| known.expose().clone()),
            })
        }
        (RemoteScheme::Https | RemoteScheme::Http, _, Some(username), Some(password), _) => {
            Ok(Credential::Basic { username: username.expose().clone(), password: password.clone() })
        }
        (RemoteScheme::Https | RemoteScheme::Http, _, username, _, Some(token)) => {
            let username =
                username.map_or_else(|| TOKEN_USER.to_owned(), |username| username.expose().clone());
            Ok(Credential::Basic { username, password: token.clone() })
        }
        (RemoteScheme::File, ..) => Ok(Credential::None),
        (scheme, ..) => {
            let wanted = required_keys(scheme);
            let missing: Vec<&str> = wanted.iter().copied().filter(|key| field(key).is_none()).collect();
            let message = format!("the credential {path} has no {}", missing.join(" and no "));
            let or_token = if scheme == RemoteScheme::Ssh { "" } else { ", or token" };
            let help =
                format!("a repository at {}:// needs {}{or_token}", scheme.as_str(), wanted.join(" and "));
            Err(RunError::new("credential-shape", message, help))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn shape(url: &str, keys: &[&str]) -> Result<String, String> {
        let url = RemoteUrl::parse(url, InsecureUrls::Refused).unwrap();
        let fields =
            keys.iter().map(|key| ((*key).to_owned(), Redacted::new(format!("the {key}")))).collect();
        match credential_of("git/fleet", &fields, &url) {
            Ok(Credential::Basic { username, password }) => Ok(format!("{username}:{}", password.expose())),
            Ok(Credential::SshKey { key, known_hosts }) => Ok(format!("{}{known_hosts:?}", key.expose())),
            Ok(Credential::None) => Ok(String::new()),
            Err(error) => Err(format!("{}: {}", error.message, error.help)),
        }
    }

    #[test]
    fn each_scheme_accepts_its_credential_fields_and_reports_missing_ones() {
        let (https, ssh) = ("https://git.example.com/x", "ssh://git@git.example.com/x");
        assert_eq!(shape(https, &["username", "password"]).unwrap(), "the username:the password");
        assert_eq!(shape(https, &["token"]).unwrap(), "x-token-auth:the token");
        assert_eq!(shape(https, &["username", "token"]).unwrap(), "the username:the token");
        assert_eq!(shape(ssh, &["ssh_key"]).unwrap(), "the ssh_key\nNone");
        assert_eq!(
            shape(ssh, &["ssh_key", "known_hosts"]).unwrap(),
            "the ssh_key\nSome(\"the known_hosts\")"
        );
        let error = shape(https, &["ssh_key", "password"]).unwrap_err();
        assert!(
            error.contains("has no username:") && error.ends_with("username and password, or token"),
            "{error}"
        );
        assert!(shape(https, &[]).unwrap_err().contains("no username and no password"));
        assert!(shape(ssh, &["token"]).unwrap_err().contains("has no ssh_key"));
    }
}

//! Fetching: what is needed for it, and the call itself on a thread that may block.

use windlass_core::redacted::Redacted;
use windlass_secrets::{Credentials, Fields, SecretError};
use windlass_source::{
    Branch, CommitId, Credential, FetchOptions, Fetched, HostKeys, Insecure, Limits, Mirror, PathPrefix,
    RemoteUrl, Scheme, Signers,
};
use windlass_store::{Repository, RunError};

use crate::server::Server;

/// A repository's configuration, checked, with its credential.
#[derive(Clone)]
pub(crate) struct FetchPlan {
    pub(crate) url: RemoteUrl,
    pub(crate) branch: Branch,
    pub(crate) prefix: PathPrefix,
    pub(crate) credential: Credential,
    pub(crate) host_keys: Option<HostKeys>,
    pub(crate) signers: Option<Signers>,
    pub(crate) ca_pem: Option<String>,
    /// The commit of the last good run.
    pub(crate) since: Option<CommitId>,
    pub(crate) limits: Limits,
}

pub(crate) fn run_error(code: &str, message: impl Into<String>, help: impl Into<String>) -> RunError {
    RunError { code: code.to_owned(), message: message.into(), help: help.into() }
}

impl FetchPlan {
    /// Checks the configuration and gets the credential. Everything that is wrong is told as the run's error.
    pub(crate) fn of(repository: &Repository, server: &Server) -> Result<FetchPlan, RunError> {
        let config = server.config();
        let mut plan = FetchPlan::without_credential(repository, config.insecure_git, config.fetch_limits)?;
        plan.credential =
            load_credential(&config.credentials, repository.credential_path.as_deref(), &plan.url)?;
        Ok(plan)
    }

    /// Checks the configuration alone.
    pub(crate) fn without_credential(
        repository: &Repository,
        insecure: Insecure,
        limits: Limits,
    ) -> Result<FetchPlan, RunError> {
        let url = RemoteUrl::parse(&repository.repo_url, insecure)
            .map_err(|error| run_error("repo-url", error.to_string(), error.help()))?;
        let branch = Branch::parse(&repository.branch)
            .map_err(|error| run_error("branch", error.to_string(), error.help()))?;
        let prefix = PathPrefix::parse(&repository.path_prefix)
            .map_err(|error| run_error("path-prefix", error.to_string(), error.help()))?;
        let host_keys =
            repository.host_keys.as_deref().map(HostKeys::parse).transpose().map_err(|error| {
                run_error("host-keys", error.to_string(), "forget the pinned keys to pin them anew")
            })?;
        let signers = repository.signers.as_deref().map(Signers::parse).transpose().map_err(|error| {
            run_error("allowed-signers", error.to_string(), "correct the repository's allowed_signers")
        })?;
        Ok(FetchPlan {
            url,
            branch,
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
        server: &Server,
    ) -> Result<Fetched, windlass_source::FetchError> {
        mirror.fetch(&self.options(server))
    }

    /// The same plan as the source wants it.
    pub(crate) fn options<'p>(&'p self, server: &'p Server) -> FetchOptions<'p> {
        FetchOptions {
            url: &self.url,
            branch: &self.branch,
            credential: &self.credential,
            host_keys: self.host_keys.as_ref(),
            extra_ca_pem: self.ca_pem.as_deref(),
            since: self.since.as_ref(),
            limits: self.limits,
            interrupt: server.interrupt(),
        }
    }
}

/// The credential a repository names. Without a path, none; with one, exactly that or an error.
pub(crate) fn load_credential(
    credentials: &Credentials,
    path: Option<&str>,
    url: &RemoteUrl,
) -> Result<Credential, RunError> {
    let Some(path) = path else { return Ok(Credential::None) };
    let fields = credentials
        .read(path)
        .map_err(|error: SecretError| run_error(error.code(), error.to_string(), error.help()))?;
    let wanted = required_keys(url.scheme());
    let missing: Vec<&str> = wanted.iter().copied().filter(|key| !fields.contains_key(*key)).collect();
    if !missing.is_empty() {
        let message = format!("the credential {path} has no {}", missing.join(" and no "));
        let help = format!("a repository at {}:// needs {}", url.scheme().as_str(), wanted.join(" and "));
        return Err(run_error("credential-shape", message, help));
    }
    Ok(credential_of(url.scheme(), &fields))
}

/// Which keys a credential must have.
pub(crate) fn required_keys(scheme: Scheme) -> &'static [&'static str] {
    match scheme {
        Scheme::Ssh => &["ssh_key"],
        Scheme::Https | Scheme::Http => &["username", "password"],
        Scheme::File => &[],
    }
}

fn credential_of(scheme: Scheme, fields: &Fields) -> Credential {
    let field = |key: &str| fields.get(key).cloned().unwrap_or_else(|| Redacted::new(String::new()));
    match scheme {
        Scheme::Ssh => {
            // An OpenSSH key without its last line end is refused by ssh.
            let key = Redacted::new(format!("{}\n", field("ssh_key").expose()));
            let known_hosts = fields.get("known_hosts").map(|known| known.expose().clone());
            Credential::SshKey { key, known_hosts }
        }
        Scheme::Https | Scheme::Http => {
            Credential::Basic { username: field("username").expose().clone(), password: field("password") }
        }
        Scheme::File => Credential::None,
    }
}

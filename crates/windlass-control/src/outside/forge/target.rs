//! How Windlass connects to a repository's forge: API, project and token, each checked before it is used.

use tokio::time::Instant;
use windlass_api::types::{CheckInfo, CheckOutcome};
use windlass_core::credential_hosts::CredentialDestination;
use windlass_core::redacted::Redacted;
use windlass_core::repository::{ForgeSettings, Repository};
use windlass_forge::api::{
    ApiAddress, Forge, ForgeError, HostRule, PlainHttp, Project, RepositoryAccess, repository_location,
};
use windlass_secrets::CredentialFields;
use windlass_source::InsecureUrls;

use crate::config::ControlConfig;
use crate::control::Control;
use crate::credential::{self, CredentialUse};
use crate::outside::forge::problem::ForgeProblem;

/// The API, project and credential of a repository's forge, from its settings.
#[derive(Clone, Debug)]
pub(crate) struct ForgeTarget {
    pub(crate) address: ApiAddress,
    pub(crate) project: Project,
    pub(crate) credential_path: String,
}

/// Whether a token may cross the network unencrypted.
pub(crate) fn plain_http_policy(config: &ControlConfig) -> PlainHttp {
    match config.insecure_git {
        InsecureUrls::Allowed => PlainHttp::Allowed,
        InsecureUrls::Refused => PlainHttp::Refused,
    }
}

impl ForgeTarget {
    /// Checks the settings. The host is checked at each use and not only when the settings change, because the operator may
    /// have changed the allowed hosts since.
    pub(crate) fn of(
        repository: &Repository,
        settings: &ForgeSettings,
        config: &ControlConfig,
    ) -> Result<ForgeTarget, ForgeProblem> {
        let kind = settings.kind;
        let place = repository_location(&repository.repo_url);
        let address = match (&settings.api_url, &place) {
            (Some(url), _) => ApiAddress::read(url, kind, plain_http_policy(config)),
            (None, Some(place)) => ApiAddress::default_for(kind, place, plain_http_policy(config)),
            (None, None) => {
                let help = "give the address of the forge's API";
                return Err(ForgeProblem::setting("forge.api_url", "cannot be derived from repo_url", help));
            }
        };
        let address = address.map_err(|error| ForgeProblem::address(&error))?;
        let rule = HostRule { repository: place.as_ref(), allowed: &config.forge_api_hosts };
        address.check(rule).map_err(|error| ForgeProblem::address(&error))?;
        let project = match (&settings.project, &place) {
            (Some(text), _) => Project::parse(text),
            (None, Some(place)) => Some(Project::at(kind, place)),
            (None, None) => None,
        };
        let project = project.ok_or_else(|| {
            let help = "write owner/name as the forge shows it";
            ForgeProblem::setting("forge.project", "not the name of a repository on a forge", help)
        })?;
        let path = settings.credential_path.as_ref().or(repository.credential_path.as_ref());
        let credential_path = path.cloned().ok_or_else(|| {
            let help = "give the path of the credential with the token; Windlass stores only the path";
            ForgeProblem::setting("forge.credential_path", "required for the token", help)
        })?;
        Ok(ForgeTarget { address, project, credential_path })
    }

    /// The credential, and the host to which it is sent.
    pub(crate) fn credential_use(&self) -> CredentialUse {
        let (host, port) = self.address.destination();
        CredentialUse { path: self.credential_path.clone(), to: CredentialDestination::new(host, port) }
    }

    /// Reads the token and creates the client.
    pub(crate) async fn connect(
        &self,
        repository: &Repository,
        account: &str,
        server: &Control,
    ) -> Result<Forge, ForgeProblem> {
        let fields = server.config().credentials.read(account, &self.credential_path).await?;
        credential::check(server, &repository.account_id, &self.credential_use(), &fields).await?;
        let token = token_of(&self.credential_path, &fields)?;
        Ok(Forge::new(&self.address, token, repository.ca_pem.as_deref(), server.forge_guard())?)
    }
}

/// The kinds of forges, as help text.
pub(crate) const FORGE_KINDS_HELP: &str =
    "write github, gitea (also for Forgejo), gitlab, or none to turn reporting off";

/// The token of a credential.
pub(crate) fn token_of(path: &str, fields: &CredentialFields) -> Result<Redacted<String>, ForgeProblem> {
    let token = fields.get("token").filter(|token| !token.expose().is_empty()).cloned();
    token.ok_or_else(|| ForgeProblem {
        code: "credential-shape",
        ..ForgeProblem::setting(
            "forge",
            &format!("the credential {path} has no token"),
            "store one under the key `token`",
        )
    })
}

/// The step of a connection test that queries the forge, without changing anything there.
pub(crate) async fn test_connection(
    repository: &Repository,
    settings: &ForgeSettings,
    account: &str,
    server: &Control,
) -> CheckInfo {
    let (outcome, message, help) = match test_token(repository, settings, account, server).await {
        Ok(found) => (CheckOutcome::Passed, found, String::new()),
        Err(problem) => (CheckOutcome::Failed, problem.message, problem.help),
    };
    CheckInfo { step: "forge".to_owned(), outcome, message, help }
}

async fn test_token(
    repository: &Repository,
    settings: &ForgeSettings,
    account: &str,
    server: &Control,
) -> Result<String, ForgeProblem> {
    let target = ForgeTarget::of(repository, settings, server.config())?;
    let forge = target.connect(repository, account, server).await?;
    let begun = Instant::now();
    let reach = forge.test(&target.project).await;
    if let Err(ForgeError::Unreachable { .. }) = &reach {
        tokio::time::sleep_until(begun + server.config().unreached_after).await;
    }
    let reach = reach?;
    match reach.access {
        RepositoryAccess::Write => {
            Ok(format!("{} may write to {} on {}", reach.login, target.project, forge.kind().label()))
        }
        RepositoryAccess::Read => {
            let message = format!("{} may read {} but not set statuses", reach.login, target.project);
            let help = "give the token's user write access to the repository";
            Err(ForgeProblem { code: "forge-forbidden", message, ..ForgeProblem::setting("forge", "", help) })
        }
    }
}

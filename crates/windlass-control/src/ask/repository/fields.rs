//! A repository as requests describe it: checked before anything is stored.

use std::time::Duration;

use windlass_api::types::{QuarantineInfo, QuarantinedWork, RepositoryFields, RepositoryInfo};
use windlass_core::id::AccountId;
use windlass_core::quarantine::{Quarantine, Quarantines};
use windlass_core::repository::Repository;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::secret::is_private_key;
use windlass_core::time::Timestamp;
use windlass_source::{Branch, HostKeys, InsecureUrls, PathPrefix, RemoteUrl, Signers};
use windlass_store::{looks_like_id, new_id};

use crate::ask::repository::forge_fields::{change_forge, check_forge, forge_info};
use crate::config::ControlConfig;
use crate::flow::sync::fetch::required_keys;
use crate::refusal::Refusal;

/// Room for a few certificates.
const MAX_CA_BYTES: usize = 64 * 1024;

const INTERVALS: std::ops::RangeInclusive<u64> = 10..=86_400;

/// A repository as it would be registered, with defaults for omitted fields.
pub(crate) fn new_repository(
    account_id: &AccountId,
    fields: RepositoryFields,
    config: &ControlConfig,
    now: Timestamp,
) -> Result<Repository, Refusal> {
    let Some(url) = fields.repo_url.clone() else {
        return Err(Refusal::unprocessable(
            "missing-key",
            "repo_url is missing",
            "give the repository's URL",
        ));
    };
    let name = fields.name.clone().unwrap_or_else(|| name_from(&url));
    let mut repository = Repository::new(new_id(), account_id, (&name, &url), now);
    change_repository(&mut repository, fields, config)?;
    Ok(repository)
}

/// The last part of a URL, as git names a clone.
fn name_from(url: &str) -> String {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    last.trim_end_matches(".git").to_owned()
}

/// Changes the given fields and checks the result. After a new URL, branch or prefix, the next sync reads the fleet again.
pub(crate) fn change_repository(
    repository: &mut Repository,
    fields: RepositoryFields,
    config: &ControlConfig,
) -> Result<(), Refusal> {
    let source = (repository.repo_url.clone(), repository.branch.clone(), repository.path_prefix.clone());
    if let Some(name) = fields.name {
        repository.name = name;
    }
    if let Some(url) = fields.repo_url {
        repository.repo_url = url;
    }
    if let Some(branch) = fields.branch {
        repository.branch = branch;
    }
    if let Some(prefix) = fields.path_prefix {
        repository.path_prefix = prefix;
    }
    let optional = |text: String| Some(text).filter(|text| !text.trim().is_empty());
    if let Some(path) = fields.vault_credential_path {
        repository.credential_path = optional(path);
    }
    if let Some(ca) = fields.ca_pem {
        repository.ca_pem = optional(ca);
    }
    if let Some(signers) = fields.allowed_signers {
        let signers = optional(signers);
        // With a different list, the last commit is unverified, so it must be read again.
        if signers != repository.signers {
            repository.signers = signers;
            repository.good_commit = None;
        }
    }
    repository.enabled = fields.enabled.unwrap_or(repository.enabled);
    repository.auto_apply = fields.auto_apply.unwrap_or(repository.auto_apply);
    if let Some(seconds) = fields.reconcile_interval_seconds {
        if !INTERVALS.contains(&seconds) {
            let message = "reconcile_interval_seconds must be 10 to 86400";
            return Err(Refusal::unprocessable(
                "bad-value",
                message,
                "300 is usual; use a webhook to sync sooner",
            ));
        }
        repository.interval = Duration::from_secs(seconds);
    }
    let url = check(repository, config.insecure_git)?;
    if let Some(forge) = fields.forge {
        change_forge(repository, forge)?;
    }
    check_forge(repository, config)?;
    let now_at = (repository.repo_url.clone(), repository.branch.clone(), repository.path_prefix.clone());
    if source != now_at {
        repository.good_commit = None;
        let old = RemoteUrl::parse(&source.0, InsecureUrls::Allowed).ok();
        // Another host has other keys; the same host must keep its keys.
        if old.is_none_or(|old| (old.host(), old.effective_port()) != (url.host(), url.effective_port())) {
            repository.host_keys = None;
        }
    }
    Ok(())
}

fn check(repository: &mut Repository, insecure: InsecureUrls) -> Result<RemoteUrl, Refusal> {
    let invalid = |field: &str, message: String, help: &str| {
        Refusal::unprocessable("bad-value", format!("{field}: {message}"), help)
    };
    // Check the URL first: a default name is derived from it, and the error must be about the URL, not about that name.
    let url = RemoteUrl::parse(&repository.repo_url, insecure)
        .map_err(|error| invalid("repo_url", error.to_string(), error.help()))?;
    // Otherwise `javascript:…` would be read as a host and a path.
    if url.user().is_none() && !url.as_str().contains("://") {
        let help = "write https://host/path, ssh://host/path or git@host:path";
        return Err(invalid("repo_url", "the URL has no scheme and no user".to_owned(), help));
    }
    ResourceKey::read(Kind::Template, &repository.name).map_err(|complaint| {
        invalid("name", complaint.message, complaint.help.as_deref().unwrap_or_default())
    })?;
    if looks_like_id(&repository.name) {
        let help = "choose a name that does not look like an id";
        return Err(invalid("name", "the name looks like an id".to_owned(), help));
    }
    let branch = Branch::parse(&repository.branch)
        .map_err(|error| invalid("branch", error.to_string(), error.help()))?;
    let prefix = PathPrefix::parse(&repository.path_prefix)
        .map_err(|error| invalid("path_prefix", error.to_string(), error.help()))?;
    if let Some(signers) = &repository.signers {
        let help = "give OpenSSH public keys, one per line, or an armoured OpenPGP public key";
        Signers::parse(signers).map_err(|error| invalid("allowed_signers", error.to_string(), help))?;
    }
    if let Some(pem) = &repository.ca_pem {
        let is_certificate = pem.contains("-----BEGIN CERTIFICATE-----") && pem.len() <= MAX_CA_BYTES;
        if !is_certificate || is_private_key(pem) {
            let help = "give the authority's certificate in PEM, without its private key";
            return Err(invalid("ca_pem", "not a PEM certificate".to_owned(), help));
        }
    }
    if let Some(path) = &repository.credential_path {
        let is_plain = path.len() <= 512 && !path.chars().any(char::is_control) && !path.contains("://");
        if !is_plain {
            let help = "write the credential's path, for example secret/data/gitops/deploy-key";
            return Err(invalid("vault_credential_path", "not a valid path".to_owned(), help));
        }
    }
    repository.repo_url = url.as_str().to_owned();
    repository.branch = branch.as_str().to_owned();
    repository.path_prefix = prefix.as_str().to_owned();
    Ok(url)
}

/// The work on a repository that is quarantined.
fn quarantines(repository: &Repository) -> Vec<QuarantineInfo> {
    let Quarantines { sync, pull_requests, requests } = &repository.quarantines;
    let info = |of: QuarantinedWork, it: &Option<Quarantine>| {
        it.as_ref().map(|it| QuarantineInfo {
            of,
            reason: it.reason.clone(),
            since: Timestamp::from_millis(it.since_ms).to_string(),
        })
    };
    let all = [
        info(QuarantinedWork::Sync, sync),
        info(QuarantinedWork::PullRequests, pull_requests),
        info(QuarantinedWork::Requests, requests),
    ];
    all.into_iter().flatten().collect()
}

/// A repository as responses show it.
pub fn info(repository: &Repository) -> RepositoryInfo {
    let url = RemoteUrl::parse(&repository.repo_url, InsecureUrls::Allowed).ok();
    let keys = url.as_ref().map_or(&[] as &[&str], |url| required_keys(url.scheme()));
    let fingerprints = repository.host_keys.as_deref().and_then(|keys| HostKeys::parse(keys).ok());
    RepositoryInfo {
        id: repository.id.to_string(),
        account_id: repository.account_id.to_string(),
        name: repository.name.clone(),
        repo_url: repository.repo_url.clone(),
        branch: repository.branch.clone(),
        path_prefix: repository.path_prefix.clone(),
        vault_credential_path: repository.credential_path.clone(),
        required_credential_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        has_ca: repository.ca_pem.is_some(),
        requires_signature: repository.signers.is_some(),
        host_key_fingerprints: fingerprints.map(|keys| vec![keys.fingerprint()]).unwrap_or_default(),
        enabled: repository.enabled,
        auto_apply: repository.auto_apply,
        reconcile_interval_seconds: repository.interval.as_secs(),
        status: repository.status(),
        last_status: repository.last_status,
        last_error: repository.last_error.clone(),
        last_run_id: repository.last_run_id.as_ref().map(ToString::to_string),
        last_synced_at: repository.last_run_at.map(|at| at.to_string()),
        last_synced_revision: repository.good_commit.clone(),
        forge: forge_info(repository),
        quarantines: quarantines(repository),
        next_sync_at: repository.enabled.then(|| repository.next_sync_at.to_string()),
        version: repository.version,
        created_at: repository.created_at.to_string(),
        updated_at: repository.updated_at.to_string(),
    }
}

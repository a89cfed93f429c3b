//! Repositories, for people.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use windlass_api::types::{
    CheckOutcome, CredentialBindingInfo, CredentialBindingList, CredentialList, ForgeInfo, QuarantinedWork,
    RepositoryInfo, RepositoryTest,
};
use windlass_core::value::Timeout;

use super::table::{Table, state_style, state_word};
use super::time::{relative, relative_or_never};
use super::{Terminal, facts, sanitize_for_terminal, short_commit};

/// Prints repositories.
pub(crate) fn list(repositories: &[RepositoryInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["NAME", "STATUS", "BRANCH", "COMMIT", "SYNCED", "URL", "PROBLEM"]);
    for repository in repositories {
        table.row([
            repository.name.clone(),
            state_word(repository.status.slug()).to_owned(),
            repository.branch.clone(),
            repository.last_synced_revision.as_deref().map(short_commit).unwrap_or_default(),
            relative_or_never(repository.last_synced_at.as_ref()),
            repository.repo_url.clone(),
            repository.last_error.clone().unwrap_or_default(),
        ]);
    }
    table.print(terminal, "no repositories; add one with `windlass repo add NAME URL`")
}

/// Prints where credentials are.
pub(crate) fn credentials(list: &CredentialList, terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["PATH", "BOUND TO"]);
    for credential in &list.vault_credentials {
        table.row([credential.path.clone(), credential.hosts.join(", ")]);
    }
    table.print(terminal, "no credentials under the server's --vault-prefix")?;
    if list.complete { Ok(()) } else { super::line("… more not shown") }
}

/// Prints which hosts credentials may be told to.
pub(crate) fn credential_bindings(list: &CredentialBindingList, terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["PATH", "HOST", "BOUND BY", "SINCE"]);
    for binding in &list.credential_bindings {
        let CredentialBindingInfo { credential_path, host, bound_by, bound_at } = binding.clone();
        table.row([credential_path, host, bound_by, bound_at]);
    }
    table.print(terminal, "no bindings")
}

/// Prints that a repository was registered.
pub(crate) fn registered(repository: &RepositoryInfo) -> io::Result<()> {
    super::line(&format!("registered {} at {}", repository.name, repository.repo_url))
}

/// Prints one repository.
pub(crate) fn one(repository: &RepositoryInfo) -> io::Result<()> {
    let mut out = anstream::stdout();
    let bold = Style::new().bold();
    let style = state_style(repository.status.slug());
    writeln!(
        out,
        "{bold}{}{bold:#}  {style}{}{style:#}",
        sanitize_for_terminal(&repository.name),
        repository.status
    )?;
    let not_told = repository.forge.as_ref().and_then(|forge| forge.last_error.as_ref());
    for error in repository.last_error.iter().chain(not_told) {
        let red = AnsiColor::Red.on_default();
        writeln!(out, "  {red}{}{red:#}", sanitize_for_terminal(error))?;
    }
    for held in &repository.quarantines {
        let what = match held.of {
            QuarantinedWork::Sync => "sync quarantined",
            QuarantinedWork::PullRequests => "pull request plans quarantined",
            QuarantinedWork::Requests => "previews and tests quarantined",
        };
        let red = AnsiColor::Red.on_default();
        writeln!(
            out,
            "  {red}{what} since {}: {}{red:#}",
            relative(&held.since),
            sanitize_for_terminal(&held.reason)
        )?;
    }
    let applies =
        if repository.auto_apply { "creates and updates automatically" } else { "approved changes" };
    let signed = if repository.requires_signature { "by one of the allowed signers" } else { "" };
    let interval =
        Timeout { seconds: u32::try_from(repository.reconcile_interval_seconds).unwrap_or(u32::MAX) };
    let syncs = match repository.enabled {
        true => format!("every {interval}"),
        false => "on request only".to_owned(),
    };
    facts(
        &mut out,
        &[
            ("id", repository.id.clone()),
            ("url", repository.repo_url.clone()),
            ("branch", repository.branch.clone()),
            ("directory", repository.path_prefix.clone()),
            ("credential", repository.vault_credential_path.clone().unwrap_or_default()),
            ("needs", repository.required_credential_keys.join(", ")),
            ("own CA", if repository.has_ca { "yes".to_owned() } else { String::new() }),
            ("signed", signed.to_owned()),
            ("host keys", repository.host_key_fingerprints.join(", ")),
            ("forge", repository.forge.as_ref().map(forge).unwrap_or_default()),
            ("applies", applies.to_owned()),
            ("syncs", syncs),
            ("last sync", relative_or_never(repository.last_synced_at.as_ref())),
            ("last run", repository.last_run_id.clone().unwrap_or_default()),
            ("commit", repository.last_synced_revision.clone().unwrap_or_default()),
            ("next sync", repository.next_sync_at.as_deref().map(relative).unwrap_or_default()),
        ],
    )
}

/// What a forge is told, on one line.
fn forge(forge: &ForgeInfo) -> String {
    let told = [
        (forge.commit_status, "statuses"),
        (forge.comment, "comments"),
        (forge.previews_of_forks, "plans for forks"),
    ];
    let told: Vec<&str> = told.into_iter().filter(|(is_told, _)| *is_told).map(|(_, what)| what).collect();
    match told.is_empty() {
        true => format!("{}, no reporting", forge.kind),
        false => format!("{}, reports {}", forge.kind, told.join(" and ")),
    }
}

/// Prints the steps of a connection test, each with its remedy.
pub(crate) fn checks(tested: &RepositoryTest) -> io::Result<()> {
    let mut out = anstream::stdout();
    let width = tested.checks.iter().map(|check| check.step.chars().count()).max().unwrap_or(0);
    for check in &tested.checks {
        let (sign, style) = match check.outcome {
            CheckOutcome::Passed => ("✓", AnsiColor::Green.on_default()),
            CheckOutcome::Failed => ("✗", AnsiColor::Red.on_default().bold()),
            CheckOutcome::NotReached => ("–", Style::new().dimmed()),
        };
        writeln!(
            out,
            "{style}{sign}{style:#} {:width$}  {}",
            sanitize_for_terminal(&check.step),
            sanitize_for_terminal(&check.message)
        )?;
        if check.outcome == CheckOutcome::Failed && !check.help.is_empty() {
            writeln!(out, "  {:width$}  help: {}", "", sanitize_for_terminal(&check.help))?;
        }
    }
    Ok(())
}

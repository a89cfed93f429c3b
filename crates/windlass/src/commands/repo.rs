//! `windlass repo`.

use std::path::PathBuf;

use windlass_api::endpoint::Operation;
use windlass_api::types::{
    ForgeFields, MoveBody, RepositoryBody, RepositoryEnvelope, RepositoryFields, RepositoryInfo,
    RepositoryList, RepositoryTest, WebhookShown,
};

use super::confirm::{ConfirmAnswer, Preconfirmed, confirm};
use super::input::read_text;
use super::preview;
use super::remote::ServerConnection;
use super::sync;
use crate::args::repository::{ForgeSettingsArgs, RepoCommand, RepositorySettingsArgs};
use crate::args::server::ServerOptions;
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

pub(super) fn run(
    command: RepoCommand,
    mut server: ServerOptions,
    terminal: Terminal,
) -> Result<Exit, CommandError> {
    if let RepoCommand::Move { .. } = &command {
        // There `--account` says where to move, not where one is.
        server.account = None;
    }
    let remote = &ServerConnection::open(server, terminal)?;
    match command {
        RepoCommand::Add { name, url, settings, disabled, no_wait } => {
            let enabled = disabled.then_some(false);
            let fields =
                RepositoryFields { name: Some(name), repo_url: Some(url), enabled, ..fields(&settings)? };
            let first_sync = if disabled || no_wait { FirstSync::Leave } else { FirstSync::Watch };
            add(fields, first_sync, remote)
        }
        RepoCommand::List => {
            let answer = remote.ask(remote.call(Operation::RepositoryList, &[]))?;
            remote.show::<RepositoryList>(&answer, |list, terminal| {
                view::repository::list(&list.gitops_repositories, terminal)
            })?;
            Ok(Exit::Fine)
        }
        RepoCommand::Show { repo } => {
            let answer = remote.ask(remote.call(Operation::RepositoryShow, &[&repo]))?;
            show(&answer, remote)
        }
        RepoCommand::Preview(options) => preview::of_revision(&options, remote),
        RepoCommand::Test { repo, url, settings } => test(repo, url, &settings, remote),
        RepoCommand::Set { repo, name, url, settings, enabled } => {
            let fields = RepositoryFields { name, repo_url: url, enabled, ..fields(&settings)? };
            set(&repo, fields, remote)
        }
        RepoCommand::Remove { repo, yes } => remove(&repo, yes.into(), remote),
        RepoCommand::Move { repo, account, yes } => {
            let question = format!(
                "Move {repo} to account {account}? The old account gets proposals to destroy its resources there; \
                    moving it back withdraws them."
            );
            if confirm(&question, yes.into())? == ConfirmAnswer::Refused {
                return Ok(Exit::Problems);
            }
            let call = remote.call(Operation::RepositoryMove, &[&repo]).body(&MoveBody { account });
            let answer = remote.ask(call)?;
            show(&answer, remote)
        }
        RepoCommand::Webhook { repo, rotate: true, yes } => rotate_webhook(&repo, yes.into(), remote),
        RepoCommand::Webhook { repo, rotate: false, .. } => {
            show_webhook(&remote.ask(remote.call(Operation::RepositoryWebhook, &[&repo]))?, remote)
        }
        RepoCommand::Release { repo, yes } => {
            let question = format!("Release {repo}? The server retries the work that made it crash.");
            if confirm(&question, yes.into())? == ConfirmAnswer::Refused {
                return Ok(Exit::Problems);
            }
            show(&remote.ask(remote.call(Operation::RepositoryRelease, &[&repo]))?, remote)
        }
        RepoCommand::ForgetHostKeys { repo, yes } => forget_host_keys(&repo, yes.into(), remote),
    }
}

/// What to do with the sync that registering starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstSync {
    Watch,
    Leave,
}

fn add(
    fields: RepositoryFields,
    first_sync: FirstSync,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let body = RepositoryBody { gitops_repository: fields };
    let answer = remote.ask(remote.call(Operation::RepositoryCreate, &[]).body(&body))?;
    let added: RepositoryEnvelope = remote.read(&answer)?;
    if first_sync == FirstSync::Leave || !remote.is_for_people() {
        return show(&answer, remote);
    }
    view::repository::registered(&added.gitops_repository)?;
    sync::first(&added.gitops_repository, remote)
}

fn show(answer: &serde_json::Value, remote: &ServerConnection) -> Result<Exit, CommandError> {
    remote.show::<RepositoryEnvelope>(answer, |shown, _| view::repository::one(&shown.gitops_repository))?;
    Ok(Exit::Fine)
}

fn test(
    repo: Option<String>,
    url: Option<String>,
    settings: &RepositorySettingsArgs,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let call = match repo {
        Some(repo) => remote.call(Operation::RepositoryTest, &[&repo]),
        None => {
            let fields = RepositoryFields { repo_url: url, ..fields(settings)? };
            let body = RepositoryBody { gitops_repository: fields };
            remote.call(Operation::RepositoryProbe, &[]).body(&body)
        }
    };
    let answer = remote.ask(call)?;
    let tested = remote.show::<RepositoryTest>(&answer, |tested, _| view::repository::checks(tested))?;
    Ok(if tested.ok { Exit::Fine } else { Exit::Problems })
}

fn set(repo: &str, fields: RepositoryFields, remote: &ServerConnection) -> Result<Exit, CommandError> {
    if fields == RepositoryFields::default() {
        let help = "give at least one option, for example --branch or --interval";
        return Err(CommandError::usage("no change was given", help));
    }
    let current = current(repo, remote)?;
    let body = RepositoryBody { gitops_repository: fields };
    let call = remote.call(Operation::RepositoryPatch, &[&current.id]).body(&body);
    let answer = remote.ask(call.header("if-match", &current.version.to_string()))?;
    show(&answer, remote)
}

fn current(repo: &str, remote: &ServerConnection) -> Result<RepositoryInfo, CommandError> {
    let envelope: RepositoryEnvelope = remote.get(remote.call(Operation::RepositoryShow, &[repo]))?;
    Ok(envelope.gitops_repository)
}

fn remove(repo: &str, asked: Preconfirmed, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let current = current(repo, remote)?;
    let question =
        format!("Remove {} ({})? Its resources stay, without an owner.", current.name, current.repo_url);
    if confirm(&question, asked)? == ConfirmAnswer::Refused {
        return Ok(Exit::Problems);
    }
    remote.text(remote.call(Operation::RepositoryRemove, &[&current.id]))?;
    remote.print_message(&format!("removed {}", current.name))?;
    Ok(Exit::Fine)
}

fn forget_host_keys(
    repo: &str,
    asked: Preconfirmed,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let current = current(repo, remote)?;
    let question = format!(
        "Forget {} of {}? The next sync trusts any key it receives.",
        view::pluralize(current.host_key_fingerprints.len(), "host key"),
        current.name
    );
    if confirm(&question, asked)? == ConfirmAnswer::Refused {
        return Ok(Exit::Problems);
    }
    let answer = remote.ask(remote.call(Operation::RepositoryForgetHostKeys, &[&current.id]))?;
    show(&answer, remote)
}

fn show_webhook(answer: &serde_json::Value, remote: &ServerConnection) -> Result<Exit, CommandError> {
    remote.show::<WebhookShown>(answer, |shown, _| view::webhook::one(shown))?;
    Ok(Exit::Fine)
}

fn rotate_webhook(repo: &str, asked: Preconfirmed, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let current = current(repo, remote)?;
    let question = format!(
        "Replace the webhook secret of {}? The server rejects deliveries until the forge has the new one.",
        current.name
    );
    if confirm(&question, asked)? == ConfirmAnswer::Refused {
        return Ok(Exit::Problems);
    }
    let answer = remote.ask(remote.call(Operation::RepositoryWebhookRotate, &[&current.id]))?;
    show_webhook(&answer, remote)
}

fn fields(settings: &RepositorySettingsArgs) -> Result<RepositoryFields, CommandError> {
    // An empty file name takes the setting away, as an empty text does for the others.
    let content = |path: &Option<PathBuf>| match path {
        Some(path) if path.as_os_str().is_empty() => Ok(Some(String::new())),
        Some(path) => read_text(path).map(Some),
        None => Ok(None),
    };
    Ok(RepositoryFields {
        branch: settings.branch.clone(),
        path_prefix: settings.path_prefix.clone(),
        vault_credential_path: settings.credential.clone(),
        ca_pem: content(&settings.ca_file)?,
        allowed_signers: content(&settings.signers_file)?,
        reconcile_interval_seconds: settings.interval,
        auto_apply: settings.auto_apply,
        forge: forge(&settings.forge),
        ..RepositoryFields::default()
    })
}

/// What is asked for about the forge; nothing if nothing is.
fn forge(settings: &ForgeSettingsArgs) -> Option<ForgeFields> {
    let fields = ForgeFields {
        kind: settings.forge.clone(),
        api_url: settings.forge_api_url.clone(),
        project: settings.forge_project.clone(),
        credential_path: settings.forge_credential.clone(),
        commit_status: settings.forge_status,
        comment: settings.forge_comment,
        previews_of_forks: settings.forge_previews_of_forks,
    };
    (fields != ForgeFields::default()).then_some(fields)
}

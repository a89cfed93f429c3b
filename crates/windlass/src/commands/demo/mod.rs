//! `windlass demo`: the whole loop on this machine, with nothing to set up.

mod agents;
mod follow;
mod hosts;
mod repository;
mod session;
mod text;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;
use windlass_api::client::{Client, ClientError};
use windlass_api::endpoint::Operation;
use windlass_api::types::{
    RepositoryBody, RepositoryEnvelope, RepositoryFields, RepositoryInfo, RepositoryList, RunEnvelope,
    RunInfo,
};
use windlass_core::address_guard::AllowedAddress;
use windlass_server::{Config, RunningServer};

use self::agents::DemoAgents;
use self::follow::{Follower, ServerAge};
use self::repository::make_repository;
use self::session::{ACCOUNT, DemoSession, EMAIL, failed};
use self::text::{DataLifetime, DemoFacts, print_guide, print_without_session};
use super::serve::{runtime, start_error, start_log, until_stopped};
use crate::args::operate::DemoOptions;
use crate::exit::{CommandError, Exit};

const REPOSITORY: &str = "fleet-config";

/// What agents do is shown by the status of their nodes, so their own log stays silent.
const LOG: &str = "warn,windlass_agent=off";

pub(crate) fn run(options: &DemoOptions) -> Result<Exit, CommandError> {
    start_log(&options.log, LOG, None)?;
    let directory = DemoDirectory::open(options.dir.as_deref())?;
    let fleet = make_repository(&directory.root)?;
    runtime()?.block_on(async {
        let running = windlass_server::start(config(options, &directory.root)).await.map_err(start_error)?;
        demonstrate(running, &directory, &fleet).await
    })
}

/// Where the demo keeps everything.
struct DemoDirectory {
    root: PathBuf,
    /// Deletes the directory at the end.
    temporary: Option<TempDir>,
}

impl DemoDirectory {
    fn open(chosen: Option<&Path>) -> Result<DemoDirectory, CommandError> {
        let (root, temporary) = match chosen {
            Some(chosen) => (chosen.to_path_buf(), None),
            None => {
                let temporary = tempfile::Builder::new().prefix("windlass-demo-").tempdir();
                let temporary = temporary.map_err(|error| {
                    CommandError::failed("cannot create a directory", "set TMPDIR").because(error)
                })?;
                (temporary.path().to_path_buf(), Some(temporary))
            }
        };
        std::fs::create_dir_all(&root).map_err(|error| {
            CommandError::failed(format!("cannot use {}", root.display()), "choose another --dir")
                .because(error)
        })?;
        Ok(DemoDirectory { root: root.canonicalize().unwrap_or(root), temporary })
    }

    fn lifetime(&self) -> DataLifetime {
        if self.temporary.is_some() { DataLifetime::DeletedAtExit } else { DataLifetime::Kept }
    }
}

fn config(options: &DemoOptions, root: &Path) -> Config {
    let mut config = Config::in_directory(root.join("data"));
    config.listen = options.listen;
    config.agent_listen = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    config.control.insecure_git = windlass_server::InsecureUrls::Allowed;
    // Whoever tries it out may have a git server on the same machine.
    config.control.allowed_addresses = AllowedAddress::loopback().to_vec();
    ACCOUNT.clone_into(&mut config.first_account);
    EMAIL.clone_into(&mut config.first_admin);
    config
}

/// Prepares the server, prints what to try, and lets the agents work until the demo is stopped.
async fn demonstrate(
    running: RunningServer,
    directory: &DemoDirectory,
    fleet: &Path,
) -> Result<Exit, CommandError> {
    let (server, root) = (running.origin(), directory.root.as_path());
    let facts = DemoFacts { server: &server, root, fleet, data: directory.lifetime() };
    let session = DemoSession::open(&server, running.first_login(), root).await?;
    match &session {
        Some(session) => {
            let run = newest_run(&session.client, fleet).await.map_err(failed)?;
            print_guide(&facts, session, &run)?;
        }
        None => print_without_session(&facts)?,
    }
    let age = if running.first_login().is_some() { ServerAge::New } else { ServerAge::Continued };
    let agent_server = running.agent_address().map(|address| format!("https://{address}"));
    let agents = DemoAgents::new(root, agent_server.unwrap_or_default());
    let (stop, stopping) = watch::channel(false);
    let follower = tokio::spawn(Follower::start(agents, age).run(session, stopping));
    until_stopped(running, async move {
        stop.send_replace(true);
        let _ = follower.await;
    })
    .await
}

/// The newest run of the demo's repository, which is registered and synced if it was not yet.
async fn newest_run(client: &Client, fleet: &Path) -> Result<RunInfo, ClientError> {
    let list: RepositoryList = client.call(Operation::RepositoryList, &[]).send().await?;
    let known = list.gitops_repositories.into_iter().find(|repository| repository.name == REPOSITORY);
    let repository = match known {
        Some(RepositoryInfo { last_run_id: Some(id), .. }) => {
            let run: RunEnvelope = client.call(Operation::RunShow, &[&id]).send().await?;
            return Ok(run.sync_run);
        }
        Some(repository) => repository,
        None => register(client, fleet).await?,
    };
    let call = client.call(Operation::RepositorySync, &[&repository.id]).query("wait", "30").body(&json!({}));
    let run: RunEnvelope = call.send().await?;
    Ok(run.sync_run)
}

async fn register(client: &Client, fleet: &Path) -> Result<RepositoryInfo, ClientError> {
    let fields = RepositoryFields {
        name: Some(REPOSITORY.to_owned()),
        repo_url: Some(format!("file://{}", fleet.display())),
        reconcile_interval_seconds: Some(30),
        ..RepositoryFields::default()
    };
    let body = RepositoryBody { gitops_repository: fields };
    let added: RepositoryEnvelope = client.call(Operation::RepositoryCreate, &[]).body(&body).send().await?;
    Ok(added.gitops_repository)
}

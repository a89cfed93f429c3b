//! `windlass demo`: the whole loop on this machine, with nothing to set up.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use windlass_api::client::{Client, ClientError};
use windlass_api::endpoint::Operation;
use windlass_api::types::{
    LoginBody, PasswordBody, RepositoryBody, RepositoryEnvelope, RepositoryFields, RunEnvelope, Session,
};
use windlass_core::address_guard::AllowedAddress;
use windlass_core::redacted::Redacted;
use windlass_server::{Config, RunningServer};

use super::serve::{runtime, start_error, start_log, until_stopped};
use crate::args::operate::DemoOptions;
use crate::exit::{Cause, CommandError, Exit};
use crate::view;

/// The tutorial's fleet.
const FLEET: &str = include_str!("demo.yaml");

const ACCOUNT: &str = "acme";
const EMAIL: &str = "admin@acme.test";

pub(crate) fn run(options: &DemoOptions) -> Result<Exit, CommandError> {
    start_log(&options.log, "warn", None)?;
    let temporary = tempfile::Builder::new()
        .prefix("windlass-demo-")
        .tempdir()
        .map_err(|error| CommandError::failed("cannot create a directory", "set TMPDIR").because(error))?;
    let root = options.dir.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    std::fs::create_dir_all(&root).map_err(|error| {
        CommandError::failed(format!("cannot use {}", root.display()), "choose another --dir").because(error)
    })?;
    let root = root.canonicalize().unwrap_or(root);
    let fleet = make_repository(&root.join("fleet-config"))?;
    let ended = runtime()?.block_on(async {
        let mut config = Config::in_directory(root.join("data"));
        config.listen = options.listen;
        config.control.insecure_git = windlass_server::InsecureUrls::Allowed;
        // Whoever tries it out may have a git server on the same machine.
        config.control.allowed_addresses = AllowedAddress::loopback().to_vec();
        config.first_account = ACCOUNT.to_owned();
        config.first_admin = EMAIL.to_owned();
        let running = windlass_server::start(config).await.map_err(start_error)?;
        prepare_demo(&running, &fleet).await?;
        until_stopped(running).await
    });
    drop(temporary);
    ended
}

/// A git repository with the tutorial's fleet in it.
fn make_repository(directory: &Path) -> Result<PathBuf, CommandError> {
    fn told(what: &str, why: impl Into<Cause>) -> CommandError {
        CommandError::failed(what, "the demo needs git").because(why)
    }
    if directory.join("fleet.yaml").exists() {
        return Ok(directory.to_path_buf());
    }
    std::fs::create_dir_all(directory).map_err(|error| told("cannot create a repository", error))?;
    std::fs::write(directory.join("fleet.yaml"), FLEET)
        .map_err(|error| told("cannot write fleet.yaml", error))?;
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@acme.test", "-c", "commit.gpgsign=false"])
            .args(["-c", "core.hooksPath=/dev/null"])
            .args(arguments)
            .current_dir(directory)
            .output()
            .map_err(|error| told("cannot run git", error))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(told("git failed", String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        }
    };
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "fleet.yaml"])?;
    git(&["commit", "--quiet", "--message=The edge fleet"])?;
    Ok(directory.to_path_buf())
}

/// Signs in, registers the repository, syncs it and says what to try.
async fn prepare_demo(running: &RunningServer, fleet: &Path) -> Result<(), CommandError> {
    let server = running.origin();
    let failed =
        |error: ClientError| CommandError::failed("the demo failed", "see the log above").because(error);
    let Some(login) = running.first_login() else {
        view::line(&format!("Windlass listens on {server} with the data of an earlier demo"))?;
        return Ok(());
    };
    let (session, password) = sign_in(&server, &login.password).await.map_err(failed)?;
    let client = Client::new(&server, Some(Redacted::new(session.token.clone()))).map_err(failed)?;
    let fields = RepositoryFields {
        name: Some("fleet-config".to_owned()),
        repo_url: Some(format!("file://{}", fleet.display())),
        reconcile_interval_seconds: Some(30),
        ..RepositoryFields::default()
    };
    let body = RepositoryBody { gitops_repository: fields };
    let added: RepositoryEnvelope =
        client.call(Operation::RepositoryCreate, &[]).body(&body).send().await.map_err(failed)?;
    let run: RunEnvelope = client
        .call(Operation::RepositorySync, &[&added.gitops_repository.id])
        .query("wait", "30")
        .body(&json!({}))
        .send()
        .await
        .map_err(failed)?;
    print_next_steps(&server, &session.token, &password, fleet, &run)?;
    Ok(())
}

/// Trades the one-time password for one of the demonstration's own.
async fn sign_in(server: &str, once: &Redacted<String>) -> Result<(Session, String), ClientError> {
    let login = |password: &str| LoginBody {
        email: EMAIL.to_owned(),
        password: password.to_owned(),
        account: Some(ACCOUNT.to_owned()),
    };
    let client = Client::new(server, None)?;
    let first: Session = client.call(Operation::Login, &[]).body(&login(once.expose())).send().await?;
    let password = format!("demo-{}", once.expose());
    let change = PasswordBody { current_password: once.expose().clone(), new_password: password.clone() };
    let signed_in = Client::new(server, Some(Redacted::new(first.token)))?;
    signed_in.call(Operation::Password, &[]).body(&change).send_text().await?;
    let session: Session = client.call(Operation::Login, &[]).body(&login(&password)).send().await?;
    Ok((session, password))
}

fn print_next_steps(
    server: &str,
    token: &str,
    password: &str,
    fleet: &Path,
    run: &RunEnvelope,
) -> std::io::Result<()> {
    let run = &run.sync_run;
    let binary = std::env::args().next().unwrap_or_else(|| "windlass".to_owned());
    let lines = [
        format!("Windlass listens on {server}. Press Ctrl-C to stop it and delete its data."),
        String::new(),
        format!("  web app   {server}/app"),
        format!("  account   {ACCOUNT}"),
        format!("  email     {EMAIL}"),
        format!("  password  {password}"),
        String::new(),
        format!("The repository {} is registered and synced:", fleet.display()),
        format!(
            "  run {} is {}: {} changes, {} proposed",
            run.id,
            run.status,
            run.diff_count,
            run.proposals.len()
        ),
        String::new(),
        "In another terminal:".to_owned(),
        format!("  export WINDLASS_SERVER={server} WINDLASS_TOKEN={token}"),
        format!("  {binary} status"),
        format!("  {binary} proposal list"),
        format!("  {binary} proposal approve --run {}", run.id),
        format!("  {binary} run show {}", run.id),
        format!("  {binary} get nodes"),
        format!("  {binary} set node edge-tokyo-01 region=ap-osaka-1      # a manual change"),
        format!("  {binary} drift fleet-config                            # shows it as drift"),
        format!("  {binary} export"),
    ];
    lines.iter().try_for_each(|line| view::line(line))
}

//! `windlass serve`.

use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use windlass_core::address_guard::PrivateAddresses;
use windlass_server::{
    CheckpointSettings, CheckpointWebhook, Config, CredentialStore, FirstLogin, FirstStartError, Gitea,
    Intervals, RunningServer, StartError, Timeouts, TlsFiles, TrustedProxies,
};
use windlass_store::StoreError;

use super::data::{address_of, source_of};
use super::input::read_text;
use super::traces::Traces;
use super::{oidc, vault};
use crate::args::forge::ForgeOptions;
use crate::args::operate::{LogFormat, LogOptions, ServeOptions};
use crate::exit::{CommandError, Exit};
use crate::view;

/// What others say too much of: the MCP SDK logs whole messages, with whatever people put into them.
const LOG_FILTERS: [&str; 1] = ["rmcp=off"];

/// Runs a server until it is told to stop.
pub(crate) fn run(options: &ServeOptions) -> Result<Exit, CommandError> {
    let runtime = runtime()?;
    let traces = Traces::of(options, &runtime)?;
    start_log(&options.log, "info", Some(&traces))?;
    let config = config_of(options)?;
    runtime.block_on(async {
        let running = windlass_server::start(config).await.map_err(start_error)?;
        announce(&running.origin(), running.first_login())?;
        let ended = until_stopped(running, std::future::ready(())).await;
        traces.stop().await;
        ended
    })
}

/// A runtime for a server.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        CommandError::failed("cannot start threads", "check the system's limits").because(error)
    })
}

/// Logs to standard error, so that standard output stays what was asked for.
pub(super) fn start_log(
    options: &LogOptions,
    default: &str,
    traces: Option<&Traces>,
) -> Result<(), CommandError> {
    let filter = options.log.as_deref().unwrap_or(default);
    let filter = tracing_subscriber::EnvFilter::try_new(filter).map_err(|error| {
        let help = "write a level, or a filter such as `info,access=warn`";
        CommandError::failed("--log is invalid", help).because(error)
    })?;
    let quiet = LOG_FILTERS.iter().filter_map(|directive| directive.parse().ok());
    let filter = quiet.fold(filter, tracing_subscriber::EnvFilter::add_directive);
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let log = match options.log_format {
        LogFormat::Text => log.with_ansi(anstream::stderr().is_terminal()).boxed(),
        LogFormat::Json => log.json().flatten_event(true).boxed(),
    };
    let traces = traces.and_then(Traces::layer);
    // A second start in one process, as in tests, logs where the first does.
    let _ = tracing_subscriber::registry().with(log.with_filter(filter)).with(traces).try_init();
    Ok(())
}

fn config_of(options: &ServeOptions) -> Result<Config, CommandError> {
    let mut config = Config::in_directory(&options.data.data_dir);
    config.database = address_of(&options.data)?;
    config.listen = options.listen;
    config.agent_listen = options.agents.agent_listen;
    config.control.agent_url.clone_from(&options.agents.agent_url);
    config.max_agent_connections = options.agents.max_agent_connections;
    config.control.public_url.clone_from(&options.public_url);
    config.tls = tls_of(options)?;
    config.trusted_proxies = TrustedProxies::new(options.connections.trusted_proxy.clone());
    config.max_connections = options.connections.max_connections;
    config.timeouts = Timeouts {
        header: options.connections.header_timeout,
        body: options.connections.body_timeout,
        idle: options.connections.idle_timeout,
    };
    config.mcp_hosts.clone_from(&options.mcp_allowed_host);
    if options.allow_insecure_git {
        config.control.insecure_git = windlass_server::InsecureUrls::Allowed;
    }
    if options.allow_insecure_notifications {
        config.control.insecure_notifications = windlass_server::PlaintextPolicy::OnThisMachine;
    }
    config.control.allowed_addresses.clone_from(&options.addresses.allow_address);
    if options.addresses.deny_private_addresses {
        config.control.private_addresses = PrivateAddresses::Refused;
    }
    config.control.unreached_after = options.addresses.unreached_after;
    config.secret_key = source_of(&options.key)?;
    config.control.credentials = credentials_of(options)?;
    config.control.forge_api_hosts.clone_from(&options.forge.forge_api_host);
    config.control.gitea = gitea_of(&options.forge)?;
    config.oidc = oidc::settings(&options.oidc)?;
    config.control.checkpoints = checkpoints_of(options)?;
    config.control.max_proposals = options.max_proposals_per_tick;
    config.control.intervals = Intervals {
        drift: options.drift_interval,
        proposal_lifetime: options.proposal_lifetime,
        ..Intervals::default()
    };
    config.first_account.clone_from(&options.first_account);
    config.first_admin.clone_from(&options.first_admin);
    Ok(config)
}

/// The certificate, if the server has one. Pages that it sends over TLS cannot be told to come back without.
fn tls_of(options: &ServeOptions) -> Result<Option<TlsFiles>, CommandError> {
    let files = options.tls.files();
    let is_plain = options.public_url.as_deref().is_some_and(|url| url.starts_with("http://"));
    match files {
        Some(_) if is_plain => Err(CommandError::usage(
            "the server uses TLS, but --public-url begins with http://",
            "write --public-url https://…, or leave --tls-cert and --tls-key out",
        )),
        files => Ok(files),
    }
}

/// Credentials come from one place, so that nobody has to wonder from which.
fn credentials_of(options: &ServeOptions) -> Result<CredentialStore, CommandError> {
    match (&options.credentials_dir, vault::credentials(&options.vault)?) {
        (Some(_), Some(_)) => Err(CommandError::usage(
            "two sources of credentials are given: files and Vault",
            "give --credentials-dir or --vault-addr (also WINDLASS_CREDENTIALS_DIR and VAULT_ADDR), not both",
        )),
        (Some(directory), None) => Ok(windlass_server::credentials_in(directory)),
        (None, Some(vault)) => Ok(vault),
        (None, None) => Ok(CredentialStore::Nowhere),
    }
}

/// How the audit log is signed, and where that is sent.
fn checkpoints_of(options: &ServeOptions) -> Result<CheckpointSettings, CommandError> {
    let webhook = options.audit_checkpoints_webhook.as_deref().map(CheckpointWebhook::parse).transpose();
    let webhook = webhook.map_err(|error| {
        CommandError::usage(error.to_string(), "correct --audit-checkpoints-webhook").because(error)
    })?;
    let file = options.audit_checkpoints_file.clone();
    Ok(CheckpointSettings { interval: options.audit_checkpoint_interval, file, webhook })
}

/// The Gitea in which repositories are made on request, if one was named.
fn gitea_of(options: &ForgeOptions) -> Result<Option<Gitea>, CommandError> {
    let (Some(url), Some(path)) = (&options.gitea_url, &options.gitea_credential) else { return Ok(None) };
    let ca_pem = options.gitea_ca_file.as_deref().map(read_text).transpose()?;
    Gitea::new(url, path, ca_pem).map(Some).map_err(|error| {
        let help = error.help();
        CommandError::usage(error.to_string(), help).because(error)
    })
}

pub(super) fn start_error(error: StartError) -> CommandError {
    let help = match &error {
        StartError::DataDirectory { .. } => "choose another with --data-dir, or fix its permissions",
        StartError::InUse { .. } => "stop the other server, or use another --data-dir",
        StartError::Listen { .. } => "choose another address with --listen",
        StartError::Store(StoreError::Migrate(error)) => error.help(),
        StartError::Store(_) => "check --database, and that the database server runs and accepts the login",
        StartError::Key(error) => error.help(),
        StartError::Notifications(_) => "check that the system's certificates can be read",
        StartError::Oidc(error) => oidc::help(error),
        StartError::Tls(_) => "check --tls-cert and --tls-key",
        StartError::AgentAuthority(_) | StartError::AgentTls(_) => {
            "leave --agent-listen out, and report this"
        }
        StartError::AgentUrl { .. } => {
            "write --agent-url https://HOST:PORT, the address that agents connect to"
        }
        StartError::FirstStart(FirstStartError::Store(_)) => {
            "check --database, and that the database server runs and accepts the login"
        }
        StartError::FirstStart(FirstStartError::Password) => "the system's random number generator failed",
    };
    CommandError::failed(error.to_string(), help).because(error)
}

fn announce(origin: &str, login: Option<&FirstLogin>) -> std::io::Result<()> {
    view::line(&format!("Windlass listens on {origin}"))?;
    if let Some(login) = login {
        view::line("")?;
        view::line("First start. Sign in with this one-time password, then choose your own:")?;
        view::line(&format!("  web app   {origin}/app"))?;
        view::line(&format!("  account   {}", login.account))?;
        view::line(&format!("  email     {}", login.email))?;
        // Printed here and never again: it works once and is stored nowhere.
        view::line(&format!("  password  {}", login.password.expose()))?;
        view::line("")?;
        view::line(&format!("  windlass login {origin} --email {}", login.email))?;
    }
    Ok(())
}

/// Waits for SIGTERM or Ctrl-C, then stops without losing anything: first what uses the server, then the server.
pub(super) async fn until_stopped(
    running: RunningServer,
    stop_users: impl Future<Output = ()>,
) -> Result<Exit, CommandError> {
    use tokio::signal::unix::{SignalKind, signal};
    let cannot = |error: std::io::Error| CommandError::failed("cannot listen for signals", "").because(error);
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping: waiting for running work to finish");
    let stopped = async {
        stop_users.await;
        running.stop().await;
    };
    tokio::select! {
        () = stopped => {}
        // A second signal does not wait. Nothing is lost by it: what was acknowledged is stored.
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(Exit::Fine)
}

//! Starts a server, and stops it without losing data.

use std::fs::{File, OpenOptions, TryLockError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use windlass_control::agents::authority::{AgentAuthority, AuthorityError};
use windlass_control::ask::first_start::{FirstLogin, FirstStartError, first_start};
use windlass_control::ask::{credential_binding, policy};
use windlass_control::clock::now;
use windlass_control::control::{Control, ControlParts};
use windlass_control::keys::admit::take_keys;
use windlass_control::keys::error::KeyError;
use windlass_control::keys::signed_heads::SignedHeads;
use windlass_control::{loops, metrics};
use windlass_oidc::settings::OidcSettingsError;
use windlass_oidc::{GroupGrant, Oidc};
use windlass_store::{Store, StoreError};

use crate::agent_listener;
use crate::agent_listener::limits::{AgentConnections, connections_of_process};
use crate::agent_listener::serve::AgentListener;
use crate::agent_listener::tls::AgentTlsError;
use crate::config::Config;
use crate::connections::listen::{ListenOptions, listen};
use crate::connections::tls::{TlsError, TlsKeys, reload_loop};
use crate::routes;
use crate::state::Server;

/// How long a server waits for a data directory that is in use.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be used.
    #[error("cannot use the data directory {path}: {source}")]
    DataDirectory {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Another server uses the same data.
    #[error("another Windlass server uses the data directory {path}")]
    InUse {
        /// Its path.
        path: PathBuf,
    },
    /// The address is in use, or the process may not use it.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// The database cannot be used.
    #[error("cannot use the database: {0}")]
    Store(#[from] StoreError),
    /// The secret key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The notification sender could not be created.
    #[error("cannot send notifications: {0}")]
    Notifications(#[from] windlass_notify::SendError),
    /// Single sign-on cannot be used as configured.
    #[error(transparent)]
    Oidc(#[from] OidcSettingsError),
    /// TLS cannot be used as configured.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The certificates of the agent listener cannot be made.
    #[error(transparent)]
    AgentAuthority(#[from] AuthorityError),
    /// TLS of the agent listener cannot be used.
    #[error(transparent)]
    AgentTls(#[from] AgentTlsError),
    /// Agents cannot know where to connect to.
    #[error("the server listens for agents on {address}, and --agent-url is missing")]
    AgentUrl {
        /// The address.
        address: SocketAddr,
    },
    /// The first administrator could not be created.
    #[error(transparent)]
    FirstStart(#[from] FirstStartError),
}

/// A running server.
pub struct RunningServer {
    server: Server,
    address: SocketAddr,
    first_login: Option<FirstLogin>,
    loops: JoinSet<()>,
    http: tokio::task::JoinHandle<()>,
    agents: Option<RunningAgentListener>,
    _lock: Option<File>,
}

/// The running listener for agents.
struct RunningAgentListener {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

/// Starts a server. The future is boxed, so that the code that serves requests is compiled and optimised with this crate,
/// not with each program that starts a server.
pub fn start(config: Config) -> BoxFuture<'static, Result<RunningServer, StartError>> {
    Box::pin(start_server(config))
}

async fn start_server(mut config: Config) -> Result<RunningServer, StartError> {
    let directory = config.control.data_dir.clone();
    let unusable = |source| StartError::DataDirectory { path: directory.clone(), source };
    make_private(&config.control.data_dir).map_err(unusable)?;
    let tls = config.tls.clone().map(TlsKeys::load).transpose()?.map(Arc::new);
    let is_embedded = matches!(config.database, windlass_store::Address::Sqlite(_));
    let lock = if is_embedded { Some(lock(&config.control.data_dir).await?) } else { None };
    let store = Store::open(&config.database).await?;
    if lock.is_some() {
        // This server holds the lock, so a lease in the database belongs to a server that no longer runs.
        store.leases_end_all().await?;
    }
    let keys = take_keys(&store, &config.secret_key, &config.control.data_dir, now()).await?;
    let signed_heads = SignedHeads::read(&config.control.data_dir).map_err(unusable)?;
    policy::bind_stored_policies(&store).await?;
    let first_login = first_start(&store, &config.first_account, &config.first_admin).await?;
    credential_binding::bind_existing(&store, &config.control).await?;
    let (listener, address) = bind(config.listen).await?;
    let for_agents = bind_for_agents(&mut config).await?;
    let oidc = single_sign_on(&store, &config, address).await?;
    metrics::start_metrics();
    let guard = windlass_outbound::AddressGuard::new(config.control.address_rules());
    let sender = windlass_notify::NotificationSender::new(config.control.insecure_notifications, &guard)?;
    let authority = AgentAuthority::new(&keys)?;
    let parts = ControlParts { store, keys, authority, signed_heads, sender };
    let control = Control::new(config.control.clone(), parts);
    let mut loops = loops::start(&control);
    let server = Server::new(config, control, oidc);
    if let Some(keys) = &tls {
        let every = server.config().certificates_every;
        loops.spawn(reload_loop(Arc::clone(keys), every, server.watch_stopping()));
    }
    let router = routes::router(&server);
    let options = ListenOptions {
        connections: Arc::clone(server.connections()),
        trusted_proxies: server.config().trusted_proxies.clone(),
        stopping: server.watch_stopping(),
    };
    let http = tokio::spawn(listen(listener, options, router, tls));
    let agents = for_agents.map(|bound| listen_for_agents(&server, bound)).transpose()?;
    Ok(RunningServer { server, address, first_login, loops, http, agents, _lock: lock })
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Binds the listener for agents, if there is one, and completes where agents reach it.
async fn bind_for_agents(config: &mut Config) -> Result<Option<(TcpListener, SocketAddr)>, StartError> {
    let Some(address) = config.agent_listen else { return Ok(None) };
    let (listener, address) = bind(address).await?;
    if config.control.agent_url.is_none() {
        if !address.ip().is_loopback() {
            return Err(StartError::AgentUrl { address });
        }
        config.control.agent_url = Some(format!("https://{address}"));
    }
    Ok(Some((listener, address)))
}

fn listen_for_agents(
    server: &Server,
    (listener, address): (TcpListener, SocketAddr),
) -> Result<RunningAgentListener, StartError> {
    let total = server.config().max_agent_connections.unwrap_or_else(connections_of_process);
    let shared = AgentListener {
        router: agent_listener::routes::router(server),
        acceptor: agent_listener::tls::acceptor(server.authority())?,
        connections: Arc::new(AgentConnections::new(total)),
        stopping: server.watch_stopping(),
        server: server.clone(),
    };
    let url = server.config().control.agent_url.as_deref();
    tracing::info!(%address, url, connections = total, "listening for agents");
    Ok(RunningAgentListener { address, task: tokio::spawn(agent_listener::listen::listen(listener, shared)) })
}

/// Creates the directory if it does not exist, and makes it accessible to its owner only.
pub fn make_private(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    use std::os::unix::fs::PermissionsExt as _;
    if !directory.exists() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mode = std::fs::metadata(directory)?.permissions().mode();
    if mode & 0o077 != 0 {
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Opens the file that a process locks while it uses the embedded database. Only the owner may open the file.
pub fn open_lock(directory: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).open(directory.join("windlass.lock"))
}

/// Prevents a second server from using the same embedded database. A server that is stopping, or a process that it
/// started, may still hold the lock for a moment, so this retries for [`LOCK_TIMEOUT`].
async fn lock(directory: &Path) -> Result<File, StartError> {
    let unusable = |source| StartError::DataDirectory { path: directory.to_path_buf(), source };
    let file = open_lock(directory).map_err(unusable)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_TIMEOUT => {
                tokio::time::sleep(LOCK_TIMEOUT / 20).await;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(StartError::InUse { path: directory.to_path_buf() });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
    }
}

/// The single sign-on provider, with the roles that its groups grant. Each account that a grant names must exist.
async fn single_sign_on(
    store: &Store,
    config: &Config,
    address: SocketAddr,
) -> Result<Option<Oidc>, StartError> {
    let Some(settings) = &config.oidc else { return Ok(None) };
    let origin = match &config.control.public_url {
        Some(origin) => origin.clone(),
        None if address.ip().is_loopback() => config.origin_at(address),
        None => return Err(OidcSettingsError::PublicUrl.into()),
    };
    let mut reading = store.read().await?;
    let mut grants = Vec::new();
    for grant in &settings.grants {
        let name = grant.account.as_ref().unwrap_or(&config.first_account);
        let (group, account) = (grant.group.clone(), name.clone());
        let found = reading.account(name).await?.ok_or(OidcSettingsError::Account { group, account })?;
        grants.push(GroupGrant { group: grant.group.clone(), role: grant.role, account_id: found.id });
    }
    Ok(Some(Oidc::new(settings.clone(), grants, &origin)?))
}

impl RunningServer {
    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address on which it listens for agents, if it does.
    pub fn agent_address(&self) -> Option<SocketAddr> {
        self.agents.as_ref().map(|agents| agents.address)
    }

    /// The origin of that address: `http://…` or `https://…`.
    pub fn origin(&self) -> String {
        format!("{}://{}", self.server.config().scheme().word(), self.address)
    }

    /// The login to print, at the first start.
    pub fn first_login(&self) -> Option<&FirstLogin> {
        self.first_login.as_ref()
    }

    /// Stops the server: it starts no new work, completes the work in progress, and closes everything.
    pub async fn stop(mut self) {
        self.server.stop();
        while self.loops.join_next().await.is_some() {}
        // Requests that wait, and event streams, end when the server stops. Any other request has 10 seconds.
        let _ = tokio::time::timeout(std::time::Duration::from_secs(10), &mut self.http).await;
        self.http.abort();
        if let Some(mut agents) = self.agents.take() {
            let _ = tokio::time::timeout(std::time::Duration::from_secs(10), &mut agents.task).await;
            agents.task.abort();
        }
        self.server.store().close().await;
    }
}

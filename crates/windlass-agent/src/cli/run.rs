//! `windlass-agent run`

use std::env;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use windlass_agent::{Agent, AgentEnd, AgentOptions, OnceResult, RunLength};

use super::arguments::RunOptions;
use super::command_error::CommandError;
use super::exit::Exit;

/// How long `--once` waits for the server.
const ONCE_WITHIN: Duration = Duration::from_secs(60);

pub(crate) fn run(options: RunOptions) -> Result<Exit, CommandError> {
    start_log();
    // Read now: once the binary is replaced, the system no longer knows its path.
    let executable = own_executable();
    let mut agent = AgentOptions::new(options.host.state_dir(), options.host.target());
    agent.interval = options.interval();
    agent.confirm_within = options.confirm_within();
    agent.cache_bytes = options.cache.saturating_mul(1024 * 1024);
    agent.server = options.server;
    agent.executable =
        matches!(agent.target, windlass_agent::AgentTarget::Machine(_)).then(|| executable.clone());
    if options.once {
        agent.length = RunLength::Once { within: ONCE_WITHIN };
    }
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        // One step at a time, and a moment for the next one.
        .max_blocking_threads(4)
        .thread_keep_alive(Duration::from_secs(2))
        .build()?;
    let end = runtime.block_on(async {
        let agent = Agent::open(agent)?;
        tracing::info!(version = env!("CARGO_PKG_VERSION"), node = agent.target(), "the agent starts");
        let shutdown = shutdown()?;
        Ok::<_, CommandError>(agent.run(shutdown).await?)
    })?;
    drop(runtime);
    tracing::info!(?end, "the agent ends");
    Ok(match end {
        AgentEnd::Stopped => Exit::Fine,
        AgentEnd::Revoked => Exit::Revoked,
        AgentEnd::Restart => start_again(&executable),
        AgentEnd::Once(OnceResult::InSync | OnceResult::NothingAssigned) => Exit::Fine,
        AgentEnd::Once(OnceResult::NotInSync) => Exit::Differences,
        AgentEnd::Once(OnceResult::ServerAway) => Exit::NoServer,
    })
}

/// The path of this binary.
pub(crate) fn own_executable() -> PathBuf {
    env::current_exe().unwrap_or_else(|_| PathBuf::from("/usr/bin/windlass-agent"))
}

/// Becomes the binary that is now at the path, with the same arguments. Returns only if that fails; then whoever started the
/// agent starts it again.
fn start_again(executable: &PathBuf) -> Exit {
    let error = Command::new(executable).args(env::args_os().skip(1)).exec();
    tracing::error!(%error, "cannot start the new binary");
    Exit::Restart
}

/// Ends at the first signal that asks the agent to stop.
fn shutdown() -> io::Result<impl Future<Output = ()> + Send> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping; a run that has begun is finished first");
    })
}

/// Writes the log to standard error.
pub(crate) fn start_log() {
    let filter = EnvFilter::try_from_env("WINDLASS_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    // The journal has times of its own.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_target(false).with_writer(io::stderr);
    let _ = match env::var_os("JOURNAL_STREAM").is_some() {
        true => log.without_time().with_ansi(false).try_init(),
        false => log.try_init(),
    };
}

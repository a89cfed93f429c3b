//! The agents of the demo: each makes its node true in a directory tree that stands for a host.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use windlass_agent::{Agent, AgentEnd, AgentError, AgentOptions, AgentTarget, Enrolment, enroll, status};

use super::hosts::hosts_directory;
use super::text::say;

/// How often an agent looks at its tree. It notices most changes at once; this is for file systems that do not report them.
const INTERVAL: Duration = Duration::from_secs(5);

/// The agents that run.
pub(super) struct DemoAgents {
    hosts: PathBuf,
    server: String,
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl DemoAgents {
    /// `server` is the origin of the server's listener for agents, which has another port after each start.
    pub(super) fn new(root: &Path, server: String) -> DemoAgents {
        DemoAgents {
            hosts: hosts_directory(root),
            server,
            stop: watch::Sender::new(false),
            running: JoinSet::new(),
        }
    }

    /// Whether the host of a node has the identity of an earlier demo.
    pub(super) fn is_enrolled(&self, node: &str) -> bool {
        !matches!(status(&self.options(node).state_dir), Err(AgentError::NotEnrolled))
    }

    /// Enrols the host of a node.
    pub(super) async fn enroll(&self, node: &str, key: &str) -> Result<(), AgentError> {
        let options = self.options(node);
        // A directory that outlived its server has the identity of another one.
        enroll(&options, key, Enrolment::Again).await.map(drop)
    }

    /// Runs the agent of an enrolled host. If it cannot start, the demo goes on without it.
    pub(super) fn start(&mut self, node: &'static str) {
        let (options, mut stop) = (self.options(node), self.stop.subscribe());
        self.running.spawn(async move {
            let stopping = async move {
                let _ = stop.wait_for(|stop| *stop).await;
            };
            match run(options, stopping).await {
                Ok(AgentEnd::Stopped) => {}
                Ok(AgentEnd::Revoked) => {
                    say(&format!("{node}: the server revoked its agent, which ended. Its files stay."));
                }
                Ok(AgentEnd::Restart | AgentEnd::Once(_)) => say(&format!("{node}: its agent ended")),
                Err(error) => say(&format!("{node}: its agent cannot run: {error}; {}", error.help())),
            }
        });
    }

    /// Stops all agents. A run that has begun is finished.
    pub(super) async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.running.join_next().await.is_some() {}
    }

    fn options(&self, node: &str) -> AgentOptions {
        let target = AgentTarget::Tree(self.hosts.join(node));
        let mut options = AgentOptions::new(target.default_state_dir(), target);
        options.interval = INTERVAL;
        options.server = Some(self.server.clone());
        options
    }
}

async fn run(
    options: AgentOptions,
    stopping: impl Future<Output = ()> + Send,
) -> Result<AgentEnd, AgentError> {
    let agent = tokio::task::spawn_blocking(move || Agent::open(options)).await;
    match agent {
        Ok(agent) => agent?.run(stopping).await,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

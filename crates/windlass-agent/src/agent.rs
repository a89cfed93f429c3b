//! An agent, and running it.

use std::future::Future;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::connection::{Link, LinkState, LinkWish, ServerAddress};
use crate::cycle::{Engine, EngineOptions};
use crate::end::AgentEnd;
use crate::error::AgentError;
use crate::options::AgentOptions;
use crate::surroundings::Surroundings;
use crate::upgrade::{self, StartDecision};
use crate::worker::{Stop, Worker};

/// An enrolled agent.
pub struct Agent {
    options: AgentOptions,
    surroundings: Surroundings,
    engine: Engine,
    address: ServerAddress,
    start: StartDecision,
}

impl Agent {
    /// Opens the state directory. No other agent can use it until this one is dropped.
    pub fn open(options: AgentOptions) -> Result<Agent, AgentError> {
        Agent::open_in(options, Surroundings::default())
    }

    pub(crate) fn open_in(options: AgentOptions, surroundings: Surroundings) -> Result<Agent, AgentError> {
        let engine_options = EngineOptions {
            state_dir: options.state_dir.clone(),
            target: options.target.clone(),
            cache_bytes: options.cache_bytes,
            executable: options.executable.clone(),
        };
        let mut engine = Engine::open(engine_options, surroundings.clone())?;
        let address = ServerAddress::parse(options.server.as_deref().unwrap_or(&engine.identity().server))?;
        let start = upgrade::on_start(engine.files(), engine.executable_on_disk().as_deref())?;
        if let StartDecision::TakeBack(generation) = start {
            if engine.held().current.as_ref().is_some_and(|current| current.generation == generation) {
                engine.withdraw("the new agent did not reach its server within three starts");
            }
            upgrade::finish(engine.files())?;
        }
        Ok(Agent { options, surroundings, engine, address, start })
    }

    /// The name of the node.
    pub fn target(&self) -> String {
        self.engine.identity().identity.target.to_string()
    }

    /// Runs until it is told to stop, or has a reason of its own. The future can be spawned; what waits for the disk and for
    /// commands runs on the runtime's blocking threads. A run that has begun is finished before the agent stops.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<AgentEnd, AgentError> {
        if self.start == StartDecision::Restart {
            return Ok(AgentEnd::Restart);
        }
        let identity = self.engine.identity();
        let config = identity.client_config()?;
        let (wishes, wished) = watch::channel(LinkWish { config, reconnects: 0 });
        let (state, link_state) = watch::channel(LinkState::default());
        let (stop, stopping) = Stop::channel();
        let link = Link { address: self.address, wishes: wished, state }
            .run(self.surroundings.dial.clone(), self.surroundings.random.clone());
        let engine = Arc::new(Mutex::new(self.engine));
        let worker =
            Worker::new(engine, self.options, self.surroundings, (link_state, wishes), stopping).run();
        tokio::pin!(shutdown, link, worker);
        loop {
            tokio::select! {
                end = &mut worker => return end,
                () = &mut link => unreachable!("the link runs until it is dropped"),
                () = &mut shutdown, if !stop.is_requested() => stop.request(),
            }
        }
    }
}

//! Tens of thousands of agents in this process: each with its own key, certificate, connection and stream.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use windlass_agent::RequestError;
use windlass_agent::simulated::{SimulatedAgent, SimulatedConnection, SimulationError};
use windlass_api::agent::StreamMessage;
use windlass_core::time::Timestamp;

use super::fleet::node_name;
use crate::Outcome;

/// How many agents enrol or connect at once: enough to keep the server busy, few enough for its limits.
const AT_ONCE: usize = 64;

/// Agents do not wait longer than this for anything.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The files that this process needs besides one for each agent.
const OTHER_FILES: u64 = 512;

/// How far an agent came with a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It verified and accepted the assignment.
    HoldsAssignment,
    /// It fetched and verified all content.
    HoldsContent,
    /// The server stored its report that the node is in sync.
    Reported,
}

/// When an agent reached a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) stage: Stage,
    pub(super) at: Instant,
}

/// The connected agents.
pub(super) struct Simulator {
    agents: JoinSet<Result<(), String>>,
    progress: mpsc::Receiver<Progress>,
    count: usize,
}

/// Raises the limit of open files, and fails if it is too low for so many connections.
pub(super) fn allow_connections(agents: usize) -> Outcome<()> {
    let wanted = agents as u64 + OTHER_FILES;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if hard < wanted {
        return Err(format!("this process may open {hard} files, and {agents} agents need {wanted}").into());
    }
    Ok(setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?)
}

/// Enrols so many agents with a key for all of them.
pub(super) async fn enroll_all(key: &str, count: usize) -> Outcome<Vec<SimulatedAgent>> {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    for number in 0..count {
        let (key, places) = (key.to_owned(), Arc::clone(&places));
        tasks.spawn(async move {
            let _place = places.acquire().await;
            SimulatedAgent::enroll(&key, &node_name(number), now()).await
        });
    }
    let mut agents = Vec::with_capacity(count);
    while let Some(enrolled) = tasks.join_next().await {
        agents.push(enrolled??);
    }
    Ok(agents)
}

impl Simulator {
    /// Connects the agents. From then on each follows its stream.
    pub(super) fn connect(agents: Vec<SimulatedAgent>) -> Simulator {
        let (count, places) = (agents.len(), Arc::new(Semaphore::new(AT_ONCE)));
        let (sender, progress) = mpsc::channel(count.max(1) * 3);
        let mut tasks = JoinSet::new();
        for agent in agents {
            let (places, sender) = (Arc::clone(&places), sender.clone());
            tasks.spawn(async move {
                let connection = {
                    let _place = places.acquire().await;
                    agent.connect().await.map_err(|error| error.to_string())?
                };
                follow(agent, connection, sender).await.map_err(|error| error.to_string())
            });
        }
        Simulator { agents: tasks, progress, count }
    }

    /// Waits until every agent has reported a new generation, and returns what they reached on the way.
    pub(super) async fn until_all_reported(&mut self) -> Outcome<Vec<Progress>> {
        let mut reached = Vec::with_capacity(self.count * 3);
        let mut reported = 0;
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        while reported < self.count {
            tokio::select! {
                progress = self.progress.recv() => {
                    let progress = progress.ok_or("every agent ended")?;
                    reported += usize::from(progress.stage == Stage::Reported);
                    reached.push(progress);
                }
                Some(ended) = self.agents.join_next() => {
                    let why = ended?.err().unwrap_or_else(|| "the server closed its stream".to_owned());
                    return Err(format!("an agent ended: {why}").into());
                }
                () = tokio::time::sleep_until(deadline) => {
                    return Err(format!("{reported} of {} agents have reported", self.count).into());
                }
            }
        }
        Ok(reached)
    }
}

/// Follows the stream of an agent to its end.
async fn follow(
    mut agent: SimulatedAgent,
    mut connection: SimulatedConnection,
    progress: mpsc::Sender<Progress>,
) -> Result<(), SimulationError> {
    while let Some(message) = connection.next().await? {
        match message {
            StreamMessage::Hello { generation, .. } | StreamMessage::Assignment { generation }
                if generation > agent.generation() =>
            {
                take_assignment(&mut agent, &connection, &progress).await?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// What an agent does when there is an assignment, in the order of the real agent: it fetches everything, says that it
/// changes the host, changes it (here, nothing), and says that it is in sync.
async fn take_assignment(
    agent: &mut SimulatedAgent,
    connection: &SimulatedConnection,
    progress: &mpsc::Sender<Progress>,
) -> Result<(), SimulationError> {
    let reached = async |stage| {
        // If nobody counts any more, nobody needs to know.
        let _ = progress.send(Progress { stage, at: Instant::now() }).await;
    };
    agent.accept_assignment(connection).await?;
    reached(Stage::HoldsAssignment).await;
    agent.fetch_content(connection).await?;
    reached(Stage::HoldsContent).await;
    agent.begin_changes(now());
    report(agent, connection).await?;
    agent.finish_changes(now());
    report(agent, connection).await?;
    reached(Stage::Reported).await;
    Ok(())
}

/// Reports until the server knows everything; again later if it has no room for more reports.
async fn report(agent: &mut SimulatedAgent, connection: &SimulatedConnection) -> Result<(), SimulationError> {
    loop {
        match agent.report(connection, now()).await {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(SimulationError::Request(RequestError::Refused { retry_after: Some(delay), .. })) => {
                tokio::time::sleep(delay).await;
            }
            Err(error) => return Err(error),
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

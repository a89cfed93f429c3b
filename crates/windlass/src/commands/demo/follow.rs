//! Follows the nodes of the demo: enrols the agent of each as soon as the node is accepted, and prints what changes.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use windlass_api::client::ClientError;
use windlass_api::endpoint::Operation;
use windlass_api::types::{EnrollmentBody, EnrollmentCreated, NodeStatusInfo, NodeStatusList};
use windlass_core::display::error_chain;

use super::agents::DemoAgents;
use super::hosts::HOSTS;
use super::session::{DemoSession, is_unauthorized};
use super::text::{node_line, say, status_line};

/// How often the demo asks its server.
const POLL: Duration = Duration::from_millis(500);
/// The largest page.
const PAGE: &str = "500";

/// Whether the agents' identities can be of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerAge {
    /// It was made just now: identities in the directory are of another server.
    New,
    /// It has the data of an earlier demo.
    Continued,
}

/// Follows the nodes.
pub(super) struct Follower {
    agents: DemoAgents,
    waiting: Vec<&'static str>,
    /// The last printed status of each node.
    printed: BTreeMap<String, String>,
    /// The last printed error.
    problem: Option<String>,
}

impl Follower {
    /// Starts the agents that are enrolled already.
    pub(super) fn start(mut agents: DemoAgents, age: ServerAge) -> Follower {
        let (enrolled, waiting) =
            HOSTS.into_iter().partition(|node| age == ServerAge::Continued && agents.is_enrolled(node));
        let enrolled: Vec<&'static str> = enrolled;
        for node in enrolled {
            agents.start(node);
        }
        Follower { agents, waiting, printed: BTreeMap::new(), problem: None }
    }

    /// Follows until it is told to stop, then stops the agents. Without a session, only lets the agents run.
    pub(super) async fn run(mut self, session: Option<DemoSession>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            () = self.follow(session) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        self.agents.stop().await;
    }

    /// Never ends: the agents run until they are stopped.
    async fn follow(&mut self, session: Option<DemoSession>) {
        let Some(mut session) = session else { return std::future::pending().await };
        loop {
            match self.poll(&session).await {
                Ok(()) => self.problem = None,
                Err(error) if is_unauthorized(&error) => {
                    if let Err(error) = session.renew().await {
                        say(&format!(
                            "The demo cannot sign in any more ({error}). Agents that are enrolled go on; it enrols and \
                             shows no more here."
                        ));
                        return std::future::pending().await;
                    }
                }
                Err(error) => self.say_once(error_chain(&error)),
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn poll(&mut self, session: &DemoSession) -> Result<(), ClientError> {
        let call = session.client.call(Operation::NodeStatusList, &[]).query("limit", PAGE);
        let list: NodeStatusList = call.send().await?;
        let is_shown = |node: &&NodeStatusInfo| {
            let name = node.name.as_str();
            HOSTS.contains(&name) && !self.waiting.contains(&name)
        };
        for node in list.nodes.iter().filter(is_shown) {
            let line = status_line(node);
            if self.printed.get(&node.name) != Some(&line) {
                say(&line);
                self.printed.insert(node.name.clone(), line);
            }
        }
        let (accepted, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|host| list.nodes.iter().any(|node| node.name == **host));
        self.waiting = waiting;
        for node in accepted {
            self.enroll(node, session).await;
        }
        Ok(())
    }

    /// Enrols the agent of an accepted node, as a person would, and starts it. If that fails, the demo goes on without it.
    async fn enroll(&mut self, node: &'static str, session: &DemoSession) {
        say(&node_line(node, "Accepted", "The demo enrols its agent."));
        let call = session.client.call(Operation::NodeEnroll, &[node]).body(&EnrollmentBody::default());
        let problem = match call.send::<EnrollmentCreated>().await {
            Ok(created) => match self.agents.enroll(node, &created.key).await {
                Ok(()) => return self.agents.start(node),
                Err(error) => error.to_string(),
            },
            Err(error) => error_chain(&error),
        };
        say(&format!("{node}: cannot enrol its agent: {problem}. The demo goes on without it."));
    }

    fn say_once(&mut self, problem: String) {
        if self.problem.as_ref() != Some(&problem) {
            say(&problem);
            self.problem = Some(problem);
        }
    }
}

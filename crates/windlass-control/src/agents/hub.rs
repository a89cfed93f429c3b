//! The connected agents of this replica: who has a stream, what it was told, and when each agent was last heard of.
//!
//! The hub is memory only. Whoever changes an assignment or revokes an agent writes rows and nudges `agents`; the loop in
//! `loops/agents` reads what changed, with one statement for all agents, and wakes exactly the streams that have news.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use windlass_core::agent::Agent;
use windlass_core::id::{AccountId, AgentId};
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;
use windlass_store::{AgentContact, AssignmentNews, RevokedAgent};

use crate::agents::mailbox::{Mailbox, StreamEnd};
use crate::metrics;

/// How old the stored contact of an agent with an open stream may be. An agent counts as offline after 90 seconds, and writing
/// all of them more often would be most of what a quiet server writes.
const STREAM_CONTACT_AGE: Duration = Duration::from_secs(25);

/// The connected agents of this replica.
#[derive(Debug, Default)]
pub struct Hub {
    state: Mutex<HubState>,
    /// Wakes the loop that reads what changed.
    wake: Notify,
}

#[derive(Debug, Default)]
struct HubState {
    streams: BTreeMap<AgentId, OpenStream>,
    by_target: BTreeMap<(AccountId, ResourceKey), AgentId>,
    /// Agents that were heard of since their contacts were last stored.
    heard: BTreeMap<AgentId, Timestamp>,
    opened: u64,
}

#[derive(Debug)]
struct OpenStream {
    /// Tells the stream from an earlier one of the same agent.
    number: u64,
    account_id: AccountId,
    target: ResourceKey,
    mailbox: Arc<Mailbox>,
    /// The generation that the agent knows of.
    told: u64,
    /// When a contact of the agent was last stored because of its stream.
    contact_stored: Option<Timestamp>,
}

/// A stream in the hub, until it is dropped.
#[derive(Debug)]
pub(crate) struct StreamPlace {
    hub: Arc<Hub>,
    agent_id: AgentId,
    number: u64,
    pub(crate) mailbox: Arc<Mailbox>,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.hub.close(&self.agent_id, self.number);
    }
}

impl StreamPlace {
    /// Records the generation that the agent was told at the beginning.
    pub(crate) fn told(&self, generation: u64) {
        let mut state = self.hub.state();
        if let Some(stream) = state.streams.get_mut(&self.agent_id)
            && stream.number == self.number
        {
            stream.told = stream.told.max(generation);
        }
    }
}

impl Hub {
    /// Every change is complete before anything can panic, so the state is valid even if a thread panicked meanwhile.
    fn state(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the loop that reads what changed.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// What wakes that loop.
    pub(crate) fn waker(&self) -> &Notify {
        &self.wake
    }

    /// Adds the stream of an agent. An earlier one of the same agent ends: its connection is probably dead.
    pub(crate) fn open(self: &Arc<Self>, agent: &Agent) -> StreamPlace {
        let mailbox = Arc::new(Mailbox::default());
        let mut state = self.state();
        state.opened += 1;
        let number = state.opened;
        let stream = OpenStream {
            number,
            account_id: agent.account_id.clone(),
            target: agent.target.clone(),
            mailbox: Arc::clone(&mailbox),
            told: 0,
            contact_stored: None,
        };
        state.by_target.insert((agent.account_id.clone(), agent.target.clone()), agent.id.clone());
        if let Some(before) = state.streams.insert(agent.id.clone(), stream) {
            before.mailbox.put_end(StreamEnd::Superseded);
        }
        metrics::agent_streams(state.streams.len());
        StreamPlace { hub: Arc::clone(self), agent_id: agent.id.clone(), number, mailbox }
    }

    fn close(&self, agent_id: &AgentId, number: u64) {
        let mut state = self.state();
        if state.streams.get(agent_id).is_none_or(|stream| stream.number != number) {
            return;
        }
        if let Some(stream) = state.streams.remove(agent_id) {
            let target = (stream.account_id, stream.target);
            // A machine that was enrolled again has another agent, which may be connected already.
            if state.by_target.get(&target) == Some(agent_id) {
                state.by_target.remove(&target);
            }
        }
        metrics::agent_streams(state.streams.len());
    }

    /// Whether no agent has a stream here.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().streams.is_empty()
    }

    /// Tells the streams whose targets have a newer assignment than they know.
    pub(crate) fn tell_assignments(&self, news: &[AssignmentNews]) {
        let mut state = self.state();
        let HubState { streams, by_target, .. } = &mut *state;
        for change in news {
            // A tuple of references is no key of the map, so the key is built; only targets that changed are looked up.
            let target = (change.account_id.clone(), change.target.clone());
            let stream = by_target.get(&target).and_then(|agent_id| streams.get_mut(agent_id));
            if let Some(stream) = stream
                && change.generation.0 > stream.told
            {
                stream.told = change.generation.0;
                stream.mailbox.put_generation(change.generation.0);
            }
        }
    }

    /// Ends the streams of agents that were revoked.
    pub(crate) fn end_revoked(&self, revoked: &[RevokedAgent]) {
        let state = self.state();
        for agent in revoked {
            if let Some(stream) = state.streams.get(&agent.id) {
                stream.mailbox.put_end(StreamEnd::Revoked);
            }
        }
    }

    /// Asks an agent to look at its target now and to report completely. False if it has no stream here.
    pub fn request_observe(&self, agent_id: &AgentId) -> bool {
        let state = self.state();
        let stream = state.streams.get(agent_id);
        stream.map(|stream| stream.mailbox.put_observe()).is_some()
    }

    /// An agent was heard of.
    pub fn record_contact(&self, agent_id: &AgentId, now: Timestamp) {
        self.state().heard.insert(agent_id.clone(), now);
    }

    /// The contacts to store now, in the order of the agents.
    pub(crate) fn due_contacts(&self, now: Timestamp) -> Vec<AgentContact> {
        let state = self.state();
        let is_due = |stream: &OpenStream| {
            stream.contact_stored.is_none_or(|stored| now.elapsed_since(stored) >= STREAM_CONTACT_AGE)
        };
        let mut due = state.heard.clone();
        // An open stream is a contact: hyper closes connections whose client does not answer its pings.
        let streams = state.streams.iter().filter(|(_, stream)| is_due(stream));
        due.extend(streams.map(|(id, _)| (id.clone(), now)));
        due.into_iter().map(|(id, at)| AgentContact { id, at }).collect()
    }

    /// These contacts were stored.
    pub(crate) fn contacts_stored(&self, stored: &[AgentContact]) {
        let mut state = self.state();
        for contact in stored {
            if state.heard.get(&contact.id).is_some_and(|at| *at <= contact.at) {
                state.heard.remove(&contact.id);
            }
            if let Some(stream) = state.streams.get_mut(&contact.id) {
                stream.contact_stored = Some(contact.at);
            }
        }
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;

//! How many connections agents may have: in total, in their handshakes, without a certificate, and one agent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use windlass_core::id::AgentId;
use windlass_core::inbound::address::AddressBlock;

/// How many handshakes may be in progress, and how many from one address block: someone who begins handshakes and does not go on
/// leaves half of them to others.
const HANDSHAKES: usize = 1024;
const HANDSHAKES_OF_BLOCK: usize = 512;

/// How many connections without a certificate may be open. They can only enrol, and end after a while.
const STRANGERS: usize = 256;

/// How many connections one agent may have. It needs one, and a second while it renews.
const CONNECTIONS_OF_AGENT: usize = 8;

/// The most connections, whatever the limit of open files is.
const MOST_CONNECTIONS: u64 = 100_000;

/// The fewest.
const FEWEST_CONNECTIONS: u64 = 64;

/// How many connections agents may have by default: half of the files that this process may open. Raises that limit to what the
/// system allows first, because each agent keeps one open.
pub(crate) fn connections_of_process() -> usize {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let files = match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, hard)) if soft < hard => {
            if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() {
                hard
            } else {
                soft
            }
        }
        Ok((soft, _)) => soft,
        Err(_) => 1024,
    };
    usize::try_from((files / 2).clamp(FEWEST_CONNECTIONS, MOST_CONNECTIONS)).unwrap_or(usize::MAX)
}

/// The open connections of agents.
#[derive(Debug)]
pub(crate) struct AgentConnections {
    total: Arc<Semaphore>,
    handshakes: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
    handshaking: Counts<AddressBlock>,
    of_agents: Counts<AgentId>,
}

/// How many of each are open.
type Counts<K> = Arc<Mutex<BTreeMap<K, usize>>>;

/// One of several that are counted, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted<K: Ord> {
    key: K,
    counts: Counts<K>,
}

fn counts_of<K>(counts: &Counts<K>) -> MutexGuard<'_, BTreeMap<K, usize>> {
    // Valid even if a thread panicked while it held the lock: each count is written in one assignment.
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Ord + Clone> Counted<K> {
    /// Counts one more, unless there are `most` already.
    fn take(counts: &Counts<K>, key: K, most: usize) -> Option<Counted<K>> {
        let mut open = counts_of(counts);
        let count = open.get(&key).copied().unwrap_or(0);
        if count >= most {
            return None;
        }
        open.insert(key.clone(), count + 1);
        Some(Counted { key, counts: Arc::clone(counts) })
    }
}

impl<K: Ord> Drop for Counted<K> {
    fn drop(&mut self) {
        let mut open = counts_of(&self.counts);
        match open.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(open.remove(&self.key)),
        }
    }
}

/// The place of a connection.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    _total: OwnedSemaphorePermit,
}

/// The place of a handshake.
#[derive(Debug)]
pub(crate) struct HandshakePlace {
    _permit: OwnedSemaphorePermit,
    _block: Counted<AddressBlock>,
}

impl AgentConnections {
    pub(crate) fn new(total: usize) -> AgentConnections {
        AgentConnections {
            total: Arc::new(Semaphore::new(total)),
            handshakes: Arc::new(Semaphore::new(HANDSHAKES)),
            strangers: Arc::new(Semaphore::new(STRANGERS)),
            handshaking: Counts::default(),
            of_agents: Counts::default(),
        }
    }

    /// Waits until another handshake may begin: until then, new connections stay in the system's queue.
    pub(crate) async fn handshake_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.handshakes).acquire_owned().await.ok()
    }

    /// The place of a new connection, unless there are too many.
    pub(crate) fn admit(
        &self,
        permit: OwnedSemaphorePermit,
        block: AddressBlock,
    ) -> Option<(ConnectionPlace, HandshakePlace)> {
        let total = Arc::clone(&self.total).try_acquire_owned().ok()?;
        let block = Counted::take(&self.handshaking, block, HANDSHAKES_OF_BLOCK)?;
        Some((ConnectionPlace { _total: total }, HandshakePlace { _permit: permit, _block: block }))
    }

    /// The place of a connection without a certificate, unless there are too many.
    pub(crate) fn admit_stranger(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.strangers).try_acquire_owned().ok()
    }

    /// The place of a connection of an agent, unless it has too many.
    pub(crate) fn admit_agent(&self, agent_id: &AgentId) -> Option<Counted<AgentId>> {
        Counted::take(&self.of_agents, agent_id.clone(), CONNECTIONS_OF_AGENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_a_few_connections_and_others_are_not_affected() {
        let connections = AgentConnections::new(100);
        let agent = AgentId::new("a");
        let mut places: Vec<_> = (0..CONNECTIONS_OF_AGENT).map(|_| connections.admit_agent(&agent)).collect();
        assert!(places.iter().all(Option::is_some));
        assert!(connections.admit_agent(&agent).is_none());
        assert!(connections.admit_agent(&AgentId::new("b")).is_some());
        places.pop();
        assert!(connections.admit_agent(&agent).is_some());
        drop(places);
        assert!(counts_of(&connections.of_agents).is_empty(), "nothing is kept of connections that ended");
    }

    #[tokio::test]
    async fn one_address_cannot_take_every_handshake_and_no_more_than_the_total_are_open() {
        let connections = AgentConnections::new(HANDSHAKES_OF_BLOCK + 1);
        let (one, other) = (AddressBlock::of_text("192.0.2.1"), AddressBlock::of_text("198.51.100.1"));
        let mut open = Vec::new();
        for _ in 0..HANDSHAKES_OF_BLOCK {
            let permit = connections.handshake_permit().await.expect("open");
            open.push(connections.admit(permit, one).expect("there is room"));
        }
        let permit = connections.handshake_permit().await.expect("open");
        assert!(connections.admit(permit, one).is_none());
        let permit = connections.handshake_permit().await.expect("open");
        open.push(connections.admit(permit, other).expect("another address"));
        let permit = connections.handshake_permit().await.expect("open");
        assert!(connections.admit(permit, other).is_none(), "the total");
    }
}

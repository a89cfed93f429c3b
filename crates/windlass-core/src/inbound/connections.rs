//! Decides which connections stay open when there are too many.
//!
//! Before a request arrives, an attacker's connection cannot be distinguished from a user's. So no new connection is
//! refused while an idle one can be closed: it replaces an idle connection of the address block with the most
//! connections, the oldest first. A connection that is being answered, or on which a signed-in user sends, is never
//! closed for a new one.

use std::collections::BTreeMap;
use std::time::Duration;

use super::address::AddressBlock;

/// Files reserved for everything else: database, mirrors, git processes, outgoing requests.
const FILES_KEPT: u64 = 256;

/// More connections would need more memory than a control plane should use.
const MOST_CONNECTIONS: u64 = 8192;

/// A server with fewer connections is not usable.
const FEWEST_CONNECTIONS: u64 = 16;

/// How many connections may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// In total.
    pub total: usize,
    /// From one address block. Trusted proxies are exempt.
    pub per_block: usize,
}

impl ConnectionLimits {
    /// The limits for a process that may open this many files: all but the reserved ones, at least half.
    pub fn for_open_files(files: u64) -> ConnectionLimits {
        let total = files.saturating_sub(FILES_KEPT.min(files / 2));
        let total = total.clamp(FEWEST_CONNECTIONS, MOST_CONNECTIONS);
        ConnectionLimits::of_total(usize::try_from(total).unwrap_or(usize::MAX))
    }

    /// This many in total, and a quarter of them from one address block.
    pub fn of_total(total: usize) -> ConnectionLimits {
        ConnectionLimits { total, per_block: (total / 4).max(4).min(total) }
    }
}

/// Identifies a connection.
pub type ConnectionId = u64;

/// A new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewConnection {
    /// From this address block.
    From(AddressBlock),
    /// From a trusted proxy, which serves many people.
    Proxy(AddressBlock),
}

/// The decision about a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionAdmission {
    /// It is served.
    Open(ConnectionId),
    /// It is served, and another connection is closed.
    Replace {
        /// The new connection.
        opened: ConnectionId,
        /// The connection to close.
        closed: ConnectionId,
    },
    /// Its address block has too many connections, none of which can be closed.
    AddressFull,
    /// The server has too many connections, none of which can be closed.
    ServerFull,
}

/// A step of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStep {
    /// Its head was received; its body may follow.
    Began,
    /// It was received completely.
    Received,
    /// The head of the response was sent; the client determines how long the rest takes.
    HeadSent,
    /// It was answered, or aborted before it was received.
    Ended(RequestProgress),
    /// A signed-in user sent it.
    SignedIn,
}

/// How far a request got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestProgress {
    /// Its body was being received.
    Receiving,
    /// Its response was being prepared.
    Answering,
    /// Its response was being sent.
    Sending,
}

/// How useful a connection is: the least useful is closed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ConnectionUse {
    /// No request is in progress, and no signed-in user ever sent one.
    Idle,
    /// A body is being received from a user who is not signed in.
    Receiving,
    /// A response is being sent to a user who is not signed in, and who may read slowly on purpose.
    Sending,
    /// No request is in progress; a signed-in user sent one before, and can open another connection.
    SignedInIdle,
    /// A response is being prepared, or a signed-in user sends a request or receives a response.
    Busy,
}

#[derive(Clone, Copy, Debug)]
struct OpenConnection {
    block: AddressBlock,
    counts_for_block: bool,
    receiving: u32,
    answering: u32,
    sending: u32,
    is_signed_in: bool,
    /// Since when the connection is idle, as time since the table was created.
    quiet_since: Duration,
}

impl OpenConnection {
    fn in_use(&self) -> ConnectionUse {
        match (self.answering, self.sending, self.receiving, self.is_signed_in) {
            (0, 0, 0, false) => ConnectionUse::Idle,
            (0, 0, 0, true) => ConnectionUse::SignedInIdle,
            (0, 0, _, false) => ConnectionUse::Receiving,
            (0, _, _, false) => ConnectionUse::Sending,
            _ => ConnectionUse::Busy,
        }
    }
}

/// Every open connection.
#[derive(Clone, Debug)]
pub struct ConnectionTable {
    limits: ConnectionLimits,
    next: ConnectionId,
    open: BTreeMap<ConnectionId, OpenConnection>,
    per_block: BTreeMap<AddressBlock, usize>,
}

impl ConnectionTable {
    /// An empty table.
    pub fn new(limits: ConnectionLimits) -> ConnectionTable {
        ConnectionTable { limits, next: 0, open: BTreeMap::new(), per_block: BTreeMap::new() }
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Decides about a new connection and records it. A connection to be closed is removed from the table.
    pub fn admit(&mut self, newcomer: NewConnection, now: Duration) -> ConnectionAdmission {
        let (block, counts_for_block) = match newcomer {
            NewConnection::From(block) => (block, true),
            NewConnection::Proxy(block) => (block, false),
        };
        let from_block = self.per_block.get(&block).copied().unwrap_or_default();
        let closed = if counts_for_block && from_block >= self.limits.per_block {
            match self.least_useful(Some(block)) {
                None => return ConnectionAdmission::AddressFull,
                found => found,
            }
        } else if self.open.len() >= self.limits.total {
            match self.least_useful(None) {
                None => return ConnectionAdmission::ServerFull,
                found => found,
            }
        } else {
            None
        };
        if let Some(closed) = closed {
            self.leave(closed);
        }
        let opened = self.next;
        self.next += 1;
        let connection = OpenConnection {
            block,
            counts_for_block,
            receiving: 0,
            answering: 0,
            sending: 0,
            is_signed_in: false,
            quiet_since: now,
        };
        self.open.insert(opened, connection);
        if counts_for_block {
            *self.per_block.entry(block).or_default() += 1;
        }
        match closed {
            Some(closed) => ConnectionAdmission::Replace { opened, closed },
            None => ConnectionAdmission::Open(opened),
        }
    }

    /// Removes the least useful connection from the table, if one may be closed: for when the system has no more files.
    pub fn make_room(&mut self) -> Option<ConnectionId> {
        let found = self.least_useful(None)?;
        self.leave(found);
        Some(found)
    }

    /// Records a step of a request. Steps of a connection that was closed are ignored.
    pub fn step(&mut self, id: ConnectionId, step: RequestStep, now: Duration) {
        let Some(connection) = self.open.get_mut(&id) else { return };
        match step {
            RequestStep::Began => connection.receiving += 1,
            RequestStep::Received => {
                connection.receiving = connection.receiving.saturating_sub(1);
                connection.answering += 1;
            }
            RequestStep::HeadSent => {
                connection.answering = connection.answering.saturating_sub(1);
                connection.sending += 1;
            }
            RequestStep::Ended(RequestProgress::Receiving) => {
                connection.receiving = connection.receiving.saturating_sub(1);
            }
            RequestStep::Ended(RequestProgress::Answering) => {
                connection.answering = connection.answering.saturating_sub(1);
            }
            RequestStep::Ended(RequestProgress::Sending) => {
                connection.sending = connection.sending.saturating_sub(1);
            }
            RequestStep::SignedIn => connection.is_signed_in = true,
        }
        connection.quiet_since = now;
    }

    /// Removes a closed connection.
    pub fn leave(&mut self, id: ConnectionId) {
        let Some(connection) = self.open.remove(&id) else { return };
        if !connection.counts_for_block {
            return;
        }
        if let Some(count) = self.per_block.get_mut(&connection.block) {
            *count -= 1;
            if *count == 0 {
                self.per_block.remove(&connection.block);
            }
        }
    }

    /// The connection to close first, of all or of one block; `None` if all are busy.
    fn least_useful(&self, of: Option<AddressBlock>) -> Option<ConnectionId> {
        let count = |block: &AddressBlock| self.per_block.get(block).copied().unwrap_or_default();
        self.open
            .iter()
            .filter(|(_, connection)| of.is_none_or(|block| connection.block == block))
            .filter(|(_, connection)| connection.in_use() != ConnectionUse::Busy)
            .min_by_key(|(_, connection)| {
                let held = std::cmp::Reverse(count(&connection.block));
                (connection.in_use(), held, connection.quiet_since)
            })
            .map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(text: &str) -> NewConnection {
        NewConnection::From(AddressBlock::of_text(text))
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn table(total: usize, per_block: usize) -> ConnectionTable {
        ConnectionTable::new(ConnectionLimits { total, per_block })
    }

    fn opened(admission: ConnectionAdmission) -> ConnectionId {
        match admission {
            ConnectionAdmission::Open(id) | ConnectionAdmission::Replace { opened: id, .. } => id,
            refused => panic!("{refused:?}"),
        }
    }

    #[test]
    fn limits_leave_files_for_everything_else() {
        let limits = |files| ConnectionLimits::for_open_files(files);
        assert_eq!(limits(1024), ConnectionLimits { total: 768, per_block: 192 });
        assert_eq!(limits(256).total, 128);
        assert_eq!(limits(0).total, 16);
        assert_eq!(limits(u64::MAX), ConnectionLimits { total: 8192, per_block: 2048 });
    }

    #[test]
    fn a_newcomer_takes_the_place_of_the_oldest_idle_one_of_whoever_holds_most() {
        let mut table = table(4, 4);
        let lone = opened(table.admit(from("192.0.2.1"), at(0)));
        let many: Vec<ConnectionId> =
            (1..4).map(|second| opened(table.admit(from("192.0.2.2"), at(second)))).collect();
        let ConnectionAdmission::Replace { opened, closed } = table.admit(from("192.0.2.3"), at(5)) else {
            panic!("there are idle ones")
        };
        assert_eq!(closed, many[0]);
        assert_eq!(table.open(), 4);
        assert!(table.open.contains_key(&lone) && table.open.contains_key(&opened));
    }

    #[test]
    fn what_is_answered_or_signed_in_and_sending_is_never_closed() {
        let mut table = table(3, 3);
        let ids: Vec<ConnectionId> =
            (0..3).map(|second| opened(table.admit(from("192.0.2.2"), at(second)))).collect();
        for id in &ids {
            table.step(*id, RequestStep::Began, at(4));
        }
        table.step(ids[0], RequestStep::Received, at(4));
        table.step(ids[1], RequestStep::SignedIn, at(4));
        let replaced = table.admit(from("192.0.2.3"), at(5));
        assert!(
            matches!(replaced, ConnectionAdmission::Replace { closed, .. } if closed == ids[2]),
            "{replaced:?}"
        );
        let newcomer = opened(replaced);
        table.step(newcomer, RequestStep::Began, at(6));
        table.step(newcomer, RequestStep::Received, at(6));
        assert_eq!(table.admit(from("192.0.2.4"), at(7)), ConnectionAdmission::ServerFull);
        table.step(ids[1], RequestStep::Ended(RequestProgress::Receiving), at(8));
        let replaced = table.admit(from("192.0.2.4"), at(9));
        assert!(
            matches!(replaced, ConnectionAdmission::Replace { closed, .. } if closed == ids[1]),
            "{replaced:?}"
        );
        assert_eq!(table.make_room(), Some(opened(replaced)));
        assert_eq!(table.make_room(), None);
    }

    #[test]
    fn who_takes_an_answer_slowly_gives_way_unless_signed_in() {
        let mut table = table(3, 3);
        let ids: Vec<ConnectionId> =
            (0..3).map(|second| opened(table.admit(from("192.0.2.2"), at(second)))).collect();
        for id in &ids {
            table.step(*id, RequestStep::Began, at(4));
            table.step(*id, RequestStep::Received, at(4));
            table.step(*id, RequestStep::HeadSent, at(4));
        }
        table.step(ids[0], RequestStep::SignedIn, at(4));
        table.step(ids[1], RequestStep::Began, at(5));
        table.step(ids[1], RequestStep::Received, at(5));
        let replaced = table.admit(from("192.0.2.3"), at(6));
        assert!(
            matches!(replaced, ConnectionAdmission::Replace { closed, .. } if closed == ids[2]),
            "{replaced:?}"
        );
        table.step(ids[1], RequestStep::Ended(RequestProgress::Answering), at(7));
        let newcomer = opened(replaced);
        table.step(newcomer, RequestStep::Began, at(7));
        table.step(newcomer, RequestStep::Received, at(7));
        assert_eq!(table.make_room(), Some(ids[1]), "its other answer is still being sent");
        assert_eq!(table.make_room(), None);
    }

    #[test]
    fn one_address_replaces_only_its_own_and_is_refused_when_all_of_them_are_busy() {
        let mut table = table(10, 2);
        let other = opened(table.admit(from("192.0.2.1"), at(0)));
        let first = opened(table.admit(from("2001:db8::1"), at(1)));
        let second = opened(table.admit(from("2001:db8::2"), at(2)));
        let replaced = table.admit(from("2001:db8::3"), at(3));
        assert!(
            matches!(replaced, ConnectionAdmission::Replace { closed, .. } if closed == first),
            "{replaced:?}"
        );
        for id in [second, opened(replaced)] {
            table.step(id, RequestStep::Began, at(4));
            table.step(id, RequestStep::Received, at(4));
        }
        assert_eq!(table.admit(from("2001:db8::4"), at(5)), ConnectionAdmission::AddressFull);
        assert!(table.open.contains_key(&other));
        let proxy = NewConnection::Proxy(AddressBlock::of_text("2001:db8::9"));
        assert!(
            matches!(table.admit(proxy, at(6)), ConnectionAdmission::Open(_)),
            "many people are behind a proxy"
        );
    }

    #[test]
    fn connections_that_leave_leave_nothing_behind() {
        let mut table = table(10, 2);
        let ids: Vec<ConnectionId> =
            ["192.0.2.1", "192.0.2.2"].map(|text| opened(table.admit(from(text), at(0)))).into();
        for id in ids {
            table.leave(id);
            table.leave(id);
            table.step(id, RequestStep::Began, at(1));
        }
        assert_eq!((table.open(), table.per_block.len()), (0, 0));
    }
}

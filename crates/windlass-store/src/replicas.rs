//! Replicas: several processes on one PostgreSQL database notify each other of writes immediately, and detect when one
//! of them crashed.
//!
//! A replica that misses a notification finds the writes by its periodic polling. An embedded database has one process,
//! and the functions here do nothing.

use std::time::Duration;

use windlass_core::id::ReplicaId;

use sqlx::postgres::PgListener;

use crate::connection::AnyConnection;
use crate::db::Store;
use crate::error::StoreError;
use crate::sql::values;

/// The channel on which replicas notify each other of writes.
const CHANNEL: &str = "windlass";

/// How long the row of a replica that stopped is kept.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);

/// The channel on which replicas notify each other that agents have news. It is a channel of its own: nothing but the
/// streams to agents has to look.
const AGENTS_CHANNEL: &str = "windlass_agents";

/// What another replica did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteNews {
    /// It wrote something, or may have done so while the connection was lost.
    Write,
    /// It changed assignments or revoked agents.
    Agents,
}

/// Receives the notifications of other replicas.
#[derive(Debug)]
pub struct Listener {
    inner: PgListener,
    own_id: ReplicaId,
}

impl Listener {
    /// Waits until another replica did something, or may have done so while the connection was lost.
    pub async fn wait_for_news(&mut self) -> Result<RemoteNews, StoreError> {
        loop {
            match self.inner.try_recv().await? {
                Some(notification) if notification.payload() == self.own_id.as_str() => {}
                Some(notification) if notification.channel() == AGENTS_CHANNEL => {
                    return Ok(RemoteNews::Agents);
                }
                // None: the connection was lost and is restored.
                Some(_) | None => return Ok(RemoteNews::Write),
            }
        }
    }
}

/// Notifies the other replicas of a transaction when it is committed.
pub(crate) async fn notify_replicas(
    connection: &mut AnyConnection,
    own_id: &ReplicaId,
) -> Result<(), StoreError> {
    if connection.is_shared() {
        let sql = "SELECT pg_notify('windlass', $1)";
        connection.rows(sql, values![own_id]).await?;
    }
    Ok(())
}

impl Store {
    /// Whether other processes may use the same database.
    pub fn is_shared(&self) -> bool {
        self.shared().is_some()
    }

    /// Starts to listen to the other replicas; none for an embedded database.
    pub async fn listen(&self) -> Result<Option<Listener>, StoreError> {
        let Some(pool) = self.shared() else { return Ok(None) };
        let mut inner = PgListener::connect_with(pool).await?;
        inner.listen_all([CHANNEL, AGENTS_CHANNEL]).await?;
        Ok(Some(Listener { inner, own_id: self.replica_id().clone() }))
    }

    /// Notifies the other replicas that agents have news.
    pub async fn notify_of_agents(&self) -> Result<(), StoreError> {
        if !self.is_shared() {
            return Ok(());
        }
        let mut writing = self.write().await?;
        let sql = "SELECT pg_notify('windlass_agents', $1)";
        writing.connection.rows(sql, values![self.replica_id()]).await?;
        writing.commit().await
    }

    /// Records a heartbeat of this replica, and releases the leases of replicas whose last heartbeat is older than
    /// `lost_after`. Returns how many leases it released.
    pub async fn heartbeat(&self, lost_after: Duration) -> Result<u64, StoreError> {
        if !self.is_shared() {
            return Ok(0);
        }
        let millis = |length: Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        let mut writing = self.write().await?;
        let connection = &mut writing.connection;
        // By the clock of the database: the clocks of the replicas may differ.
        let sql = "INSERT INTO replicas (id, beats_at) \
                   VALUES ($1, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) \
                   ON CONFLICT (id) DO UPDATE SET beats_at = excluded.beats_at";
        connection.execute(sql, values![self.replica_id()]).await?;
        let sql = "UPDATE leases SET expires_at = -expires_at WHERE expires_at > 0 AND replica_id IN \
                   (SELECT id FROM replicas WHERE id <> $2 AND beats_at < (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT - $1)";
        let freed = connection.execute(sql, values![millis(lost_after), self.replica_id()]).await?;
        let sql = "DELETE FROM replicas WHERE beats_at < (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT - $1";
        connection.execute(sql, values![millis(REMEMBERED)]).await?;
        writing.commit().await?;
        Ok(freed)
    }

    /// Records that this replica stops.
    pub async fn deregister_replica(&self) -> Result<(), StoreError> {
        if !self.is_shared() {
            return Ok(());
        }
        let mut writing = self.write().await?;
        writing.connection.execute("DELETE FROM replicas WHERE id = $1", values![self.replica_id()]).await?;
        writing.commit().await
    }
}

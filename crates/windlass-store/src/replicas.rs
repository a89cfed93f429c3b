//! Replicas: several processes on one PostgreSQL hear of each other's writes at once, and notice when one of them died.
//!
//! What one missed, or what is said while it does not listen, it finds by looking now and then, as it would without this. An
//! embedded database has one process, and nothing here does anything.

use std::time::Duration;

use windlass_core::id::ReplicaId;

use sqlx::postgres::PgListener;

use crate::connection::AnyConnection;
use crate::db::Store;
use crate::error::StoreError;
use crate::sql::values;

/// The channel on which replicas tell each other that they wrote something.
const CHANNEL: &str = "windlass";

/// How long a replica that is gone is remembered.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);

/// What other replicas say.
#[derive(Debug)]
pub struct Listener {
    inner: PgListener,
    own_id: ReplicaId,
}

impl Listener {
    /// Waits until another replica wrote something, or may have while nobody could hear it.
    pub async fn heard(&mut self) -> Result<(), StoreError> {
        loop {
            match self.inner.try_recv().await? {
                Some(said) if said.payload() == self.own_id.as_str() => {}
                // None: the connection was lost, and is there again.
                Some(_) | None => return Ok(()),
            }
        }
    }
}

/// Tells the other replicas of a transaction, once it is committed.
pub(crate) async fn tell_replicas(
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

    /// Begins to listen to the other replicas; none where there are no others.
    pub async fn listen(&self) -> Result<Option<Listener>, StoreError> {
        let Some(pool) = self.shared() else { return Ok(None) };
        let mut inner = PgListener::connect_with(pool).await?;
        inner.listen(CHANNEL).await?;
        Ok(Some(Listener { inner, own_id: self.replica_id().clone() }))
    }

    /// Says that this replica lives, and gives back what those held that have not said so for a while. Returns how many
    /// leases that is.
    pub async fn beat(&self, lost_after: Duration) -> Result<u64, StoreError> {
        if !self.is_shared() {
            return Ok(0);
        }
        let millis = |length: Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        let mut writing = self.write().await?;
        let connection = &mut writing.connection;
        // By the database's clock: those of the replicas may differ.
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

    /// Says that this replica ends.
    pub async fn leave(&self) -> Result<(), StoreError> {
        if !self.is_shared() {
            return Ok(());
        }
        let mut writing = self.write().await?;
        writing.connection.execute("DELETE FROM replicas WHERE id = $1", values![self.replica_id()]).await?;
        writing.commit().await
    }
}

//! Leases: which replica does a piece of work, so that several replicas do not do it twice.
//!
//! A lease itself only avoids duplicate work. Its epoch prevents wrong writes: a replica that takes over a lease gets a
//! higher epoch, and [`Writing::lease_check`] fails for an older one.

use std::time::Duration;

use windlass_core::id::HolderId;
use windlass_core::time::Timestamp;

use crate::db::Store;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::values;
use crate::write::Writing;

/// A held lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// What work it is for.
    pub name: String,
    /// Who holds it.
    pub holder: HolderId,
    /// How often it was taken.
    pub epoch: i64,
}

impl Store {
    /// Takes a lease that is free or has expired; none if someone holds it. A lease that would last longer than any is
    /// granted for was taken before the clock was set back, and counts as expired.
    pub async fn lease_take(
        &self,
        name: &str,
        holder: &HolderId,
        now: Timestamp,
        length: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        let mut writing = self.write().await?;
        let sql = "INSERT INTO leases (name, holder, epoch, expires_at, replica_id) VALUES ($1, $2, 1, $3, $6) \
                   ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at, \
                   replica_id = excluded.replica_id, epoch = leases.epoch + 1 \
                   WHERE leases.expires_at <= $4 OR leases.expires_at > $5 RETURNING epoch";
        let values = values![name, holder, now.plus(length), now, now.plus(length * 2), self.replica_id()];
        let rows = writing.connection.rows(sql, values).await?;
        let epoch = rows.first().map(|row| row.number("epoch")).transpose()?;
        writing.commit().await?;
        Ok(epoch.map(|epoch| Lease { name: name.to_owned(), holder: holder.clone(), epoch }))
    }

    /// Extends a lease. False if someone else took it over or it was released.
    pub async fn lease_renew(
        &self,
        lease: &Lease,
        now: Timestamp,
        length: Duration,
    ) -> Result<bool, StoreError> {
        let mut writing = self.write().await?;
        let sql = "UPDATE leases SET expires_at = $4 WHERE name = $1 AND holder = $2 AND epoch = $3 \
                   AND expires_at > 0";
        let values = values![&lease.name, &lease.holder, lease.epoch, now.plus(length)];
        let is_held = writing.connection.execute(sql, values).await? == 1;
        writing.commit().await?;
        Ok(is_held)
    }

    /// Ends every lease: for the only process of an embedded database, whose predecessor may have crashed while it held
    /// some.
    pub async fn leases_end_all(&self) -> Result<(), StoreError> {
        let mut writing = self.write().await?;
        let sql = "UPDATE leases SET expires_at = -expires_at WHERE expires_at > 0";
        writing.connection.execute(sql, Vec::new()).await?;
        writing.commit().await
    }

    /// Releases a lease.
    pub async fn lease_release(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut writing = self.write().await?;
        let sql = "UPDATE leases SET expires_at = -expires_at WHERE name = $1 AND holder = $2 AND epoch = $3 \
                   AND expires_at > 0";
        writing.connection.execute(sql, values![&lease.name, &lease.holder, lease.epoch]).await?;
        writing.commit().await
    }
}

impl Writing {
    /// Fails unless this holder still has the lease, so that nothing is saved after the lease was lost.
    pub async fn lease_check(&mut self, lease: &Lease) -> Result<(), StoreError> {
        let sql = "UPDATE leases SET epoch = epoch WHERE name = $1 AND holder = $2 AND epoch = $3";
        let values = values![&lease.name, &lease.holder, lease.epoch];
        match self.connection.execute(sql, values).await? {
            1 => Ok(()),
            _ => Err(StoreError::LeaseLost { name: lease.name.clone() }),
        }
    }

    /// Deletes leases that expired or were released before a time.
    pub async fn leases_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        // Released leases are kept as long as expired ones: their epoch still rejects a late writer.
        let old = OldRows::new("leases", "name", "ABS(expires_at) <= $1");
        self.delete_old(old, values![before], budget).await
    }
}

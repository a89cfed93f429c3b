//! Target assignments: the document that each target must apply, by digest, with its generation.

use windlass_core::digest::Digest;
use windlass_core::id::AccountId;
use windlass_core::observed::Generation;
use windlass_core::report::AcceptedTarget;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_target, resource_row};
use crate::observed::number_from;
use crate::sql::{Row, values};
use crate::write::Writing;

/// The new assignment of a target.
#[derive(Clone, Copy, Debug)]
pub struct NewAssignment<'a> {
    /// The node or cluster.
    pub target: &'a ResourceKey,
    /// Its document.
    pub document: &'a str,
    /// The digest of the document.
    pub digest: Digest,
}

fn read_assignment(row: &Row) -> Result<AcceptedTarget, StoreError> {
    Ok(AcceptedTarget {
        generation: Generation(number_from(row.number("generation")?)),
        digest: row.digest("digest")?,
    })
}

impl Reading {
    /// The assignment of a target; none if it never had one.
    pub async fn assignment(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
    ) -> Result<Option<AcceptedTarget>, StoreError> {
        let sql = "SELECT generation, digest FROM assignments \
                   WHERE account_id = $1 AND target_kind = $2 AND target_name = $3";
        let rows = self.connection.rows(sql, resource_row(account_id, target)).await?;
        rows.first().map(read_assignment).transpose()
    }

    /// The assignments of all targets of an account.
    pub async fn assignments(
        &mut self,
        account_id: &AccountId,
    ) -> Result<ResourceMap<AcceptedTarget>, StoreError> {
        let sql =
            "SELECT target_kind, target_name, generation, digest FROM assignments WHERE account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter().map(|row| Ok((read_target(row)?, read_assignment(row)?))).collect()
    }

    /// The document of an assignment.
    pub async fn assignment_document(&mut self, digest: Digest) -> Result<Option<String>, StoreError> {
        let sql = "SELECT body FROM contents WHERE digest = $1";
        self.connection.rows(sql, values![digest]).await?.first().map(|row| row.text("body")).transpose()
    }
}

impl Writing {
    /// Stores assignments of targets. A target whose document changed gets the next generation.
    pub async fn assignments_put(
        &mut self,
        account_id: &AccountId,
        assignments: &[NewAssignment<'_>],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let documents = assignments.iter().map(|new| (new.digest, new.document.to_owned())).collect();
        self.contents_put(documents).await?;
        let row = |new: &NewAssignment<'_>| {
            let mut row = resource_row(account_id, new.target);
            row.extend(values![1_i64, new.digest, now]);
            row
        };
        let rows = assignments.iter().map(row).collect();
        let prefix = "INSERT INTO assignments (account_id, target_kind, target_name, generation, digest, assigned_at) VALUES";
        let suffix = "ON CONFLICT (account_id, target_kind, target_name) DO UPDATE SET \
                      generation = assignments.generation + 1, digest = excluded.digest, \
                      assigned_at = excluded.assigned_at WHERE assignments.digest <> excluded.digest";
        self.connection.execute_many(prefix, rows, suffix).await
    }
}

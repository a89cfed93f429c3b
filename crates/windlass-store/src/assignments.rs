//! Target assignments: the document that each target must apply, by digest, with its generation.

use std::collections::{BTreeMap, BTreeSet};

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
use crate::sql::{Row, Value, values};
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
    /// The approvals of the target's own resources, as JSON.
    pub own_approvals: &'a str,
    /// The approvals of resources that it shares with other targets, as JSON. Each text is stored once.
    pub shared_approvals: &'a str,
}

/// An assignment with everything that is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAssignment {
    /// Its generation.
    pub generation: Generation,
    /// The digest of its document.
    pub digest: Digest,
    /// Its document.
    pub document: String,
    /// The approvals of the target's own resources, as JSON.
    pub own_approvals: String,
    /// The approvals of resources that it shares with other targets, as JSON.
    pub shared_approvals: String,
}

/// An assignment that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentNews {
    /// The account.
    pub account_id: AccountId,
    /// The node or cluster.
    pub target: ResourceKey,
    /// The generation of its assignment.
    pub generation: Generation,
    /// When it was assigned.
    pub assigned_at: Timestamp,
}

fn read_assignment(row: &Row) -> Result<AcceptedTarget, StoreError> {
    Ok(AcceptedTarget {
        generation: Generation(number_from(row.number("generation")?)),
        digest: row.digest("digest")?,
    })
}

/// Begins a statement about several targets.
const GIVEN_TARGETS: &str = "WITH given (given_account, given_kind, given_name) AS (VALUES";

fn target_rows(targets: &[(AccountId, ResourceKey)]) -> Vec<Vec<Value>> {
    targets.iter().map(|(account_id, target)| resource_row(account_id, target)).collect()
}

fn read_whole_assignment(row: &Row, target: &ResourceKey) -> Result<StoredAssignment, StoreError> {
    let AcceptedTarget { generation, digest } = read_assignment(row)?;
    let document = row.optional_text("document")?.ok_or_else(|| StoreError::Broken {
        column: format!("document of {target}"),
        value: format!("nothing is stored for {digest}"),
    })?;
    let own_approvals = row.text("own_approvals")?;
    let shared_approvals = row.optional_text("shared")?.unwrap_or_else(|| "[]".to_owned());
    Ok(StoredAssignment { generation, digest, document, own_approvals, shared_approvals })
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

    /// The assignment of a target with its document and its approvals; none if it never had one.
    pub async fn assignment_to_sign(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
    ) -> Result<Option<StoredAssignment>, StoreError> {
        let sql = "SELECT generation, digest, own_approvals, \
                   (SELECT body FROM contents WHERE contents.digest = assignments.digest) AS document, \
                   (SELECT body FROM contents WHERE contents.digest = shared_approvals) AS shared \
                   FROM assignments WHERE account_id = $1 AND target_kind = $2 AND target_name = $3";
        let rows = self.connection.rows(sql, resource_row(account_id, target)).await?;
        rows.first().map(|row| read_whole_assignment(row, target)).transpose()
    }

    /// The assignments of several targets; those that never had one are left out.
    pub async fn assignments_of(
        &mut self,
        targets: &[(AccountId, ResourceKey)],
    ) -> Result<BTreeMap<(AccountId, ResourceKey), AcceptedTarget>, StoreError> {
        if let [(account_id, target)] = targets {
            let found = self.assignment(account_id, target).await?;
            return Ok(found
                .map(|found| ((account_id.clone(), target.clone()), found))
                .into_iter()
                .collect());
        }
        let suffix = ") SELECT account_id, target_kind, target_name, generation, digest FROM given CROSS JOIN assignments \
                      WHERE account_id = given_account AND target_kind = given_kind AND target_name = given_name";
        let rows = self.connection.rows_many(GIVEN_TARGETS, target_rows(targets), suffix).await?;
        rows.iter()
            .map(|row| Ok(((row.id("account_id")?, read_target(row)?), read_assignment(row)?)))
            .collect()
    }

    /// The assignments of several targets with their documents and their approvals.
    pub async fn assignments_to_sign(
        &mut self,
        targets: &[(AccountId, ResourceKey)],
    ) -> Result<BTreeMap<(AccountId, ResourceKey), StoredAssignment>, StoreError> {
        if let [(account_id, target)] = targets {
            let found = self.assignment_to_sign(account_id, target).await?;
            return Ok(found
                .map(|found| ((account_id.clone(), target.clone()), found))
                .into_iter()
                .collect());
        }
        let suffix = ") SELECT account_id, target_kind, target_name, generation, assignments.digest AS digest, \
                      own_approvals, \
                      (SELECT body FROM contents WHERE contents.digest = assignments.digest) AS document, \
                      (SELECT body FROM contents WHERE contents.digest = shared_approvals) AS shared \
                      FROM given CROSS JOIN assignments \
                      WHERE account_id = given_account AND target_kind = given_kind AND target_name = given_name";
        let rows = self.connection.rows_many(GIVEN_TARGETS, target_rows(targets), suffix).await?;
        let read = |row: &Row| {
            let target = read_target(row)?;
            let whole = read_whole_assignment(row, &target)?;
            Ok(((row.id("account_id")?, target), whole))
        };
        rows.iter().map(read).collect()
    }

    /// Documents of assignments of all accounts, by account and target, after one: for finding what they refer to.
    pub async fn assignment_documents(
        &mut self,
        after: Option<&(AccountId, ResourceKey)>,
        limit: usize,
    ) -> Result<Vec<(AccountId, ResourceKey, String)>, StoreError> {
        let sql = format!(
            "SELECT account_id, target_kind, target_name, \
             (SELECT body FROM contents WHERE contents.digest = assignments.digest) AS document FROM assignments \
             WHERE (account_id, target_kind, target_name) > ($1, $2, $3) \
             ORDER BY account_id, target_kind, target_name LIMIT {limit}"
        );
        let values = match after {
            Some((account_id, target)) => resource_row(account_id, target),
            None => values!["", "", ""],
        };
        let rows = self.connection.rows_built(sql, values).await?;
        let read = |row: &Row| {
            let document = row.optional_text("document")?.unwrap_or_default();
            Ok((row.id("account_id")?, read_target(row)?, document))
        };
        rows.iter().map(read).collect()
    }

    /// The assignments of all accounts that changed at this time or later, in that order.
    pub async fn assignments_since(&mut self, since: Timestamp) -> Result<Vec<AssignmentNews>, StoreError> {
        let sql = "SELECT account_id, target_kind, target_name, generation, assigned_at FROM assignments \
                   WHERE assigned_at >= $1 ORDER BY assigned_at";
        let rows = self.connection.rows(sql, values![since]).await?;
        let read = |row: &Row| {
            Ok(AssignmentNews {
                account_id: row.id("account_id")?,
                target: read_target(row)?,
                generation: Generation(number_from(row.number("generation")?)),
                assigned_at: row.timestamp("assigned_at")?,
            })
        };
        rows.iter().map(read).collect()
    }

    /// The documents with these digests.
    pub async fn documents_of(
        &mut self,
        digests: &BTreeSet<Digest>,
    ) -> Result<BTreeMap<Digest, String>, StoreError> {
        let rows = digests.iter().map(|digest| values![*digest]).collect();
        let prefix = "WITH given (digest) AS (VALUES";
        let suffix = ") SELECT contents.digest AS digest, body FROM given CROSS JOIN contents \
                      WHERE contents.digest = given.digest";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(|row| Ok((row.digest("digest")?, row.text("body")?))).collect()
    }

    /// The approvals that cover the assignments of an account, as JSON: the own ones of each target, and each shared text.
    pub async fn assignment_approvals(&mut self, account_id: &AccountId) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT own_approvals AS approvals FROM assignments WHERE account_id = $1 UNION \
                   SELECT body AS approvals FROM contents WHERE digest IN \
                   (SELECT shared_approvals FROM assignments WHERE account_id = $1)";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter().map(|row| row.text("approvals")).collect()
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
        let mut shared: BTreeMap<&str, Digest> = BTreeMap::new();
        for new in assignments {
            shared.entry(new.shared_approvals).or_insert_with_key(|text| Digest::of(text.as_bytes()));
        }
        let documents = assignments.iter().map(|new| (new.digest, new.document.to_owned()));
        let approvals = shared.iter().map(|(text, digest)| (*digest, (*text).to_owned()));
        self.contents_put(documents.chain(approvals).collect()).await?;
        let row = |new: &NewAssignment<'_>| {
            let mut row = resource_row(account_id, new.target);
            row.extend(values![
                1_i64,
                new.digest,
                now,
                new.own_approvals,
                shared.get(new.shared_approvals).copied()
            ]);
            row
        };
        let rows = assignments.iter().map(row).collect();
        let prefix = "INSERT INTO assignments (account_id, target_kind, target_name, generation, digest, assigned_at, \
                      own_approvals, shared_approvals) VALUES";
        let suffix = "ON CONFLICT (account_id, target_kind, target_name) DO UPDATE SET \
                      generation = assignments.generation + 1, digest = excluded.digest, \
                      assigned_at = excluded.assigned_at, own_approvals = excluded.own_approvals, \
                      shared_approvals = excluded.shared_approvals WHERE assignments.digest <> excluded.digest";
        self.connection.execute_many(prefix, rows, suffix).await
    }

    /// Removes the assignments of targets that were destroyed.
    pub async fn assignments_remove(
        &mut self,
        account_id: &AccountId,
        targets: &[ResourceKey],
    ) -> Result<u64, StoreError> {
        let rows = targets.iter().map(|target| resource_row(account_id, target)).collect();
        let prefix = "DELETE FROM assignments WHERE (account_id, target_kind, target_name) IN (VALUES";
        self.connection.execute_many(prefix, rows, ")").await
    }
}

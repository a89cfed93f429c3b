//! Listing and counting proposals.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::conflict::HoldingProposal;
use windlass_core::diff::{Action, Cause};
use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, ProposalId, RepositoryId, RunId};
use windlass_core::proposal::{ApplyOrder, Approval, ExistingProposal, Proposal, RejectedChange, Status};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::run::ProposalOutcomes;
use windlass_core::time::Timestamp;

use crate::contents::read_spec;
use crate::db::Reading;
use crate::error::StoreError;
use crate::page::{like_pattern, search_pattern};
use crate::proposals::{COLUMNS, SharedBetweenProposals, read_proposal, read_proposals};
use crate::sql::{Row, Value, values};

/// Where proposals come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposalSource {
    /// Direct changes.
    Direct,
    /// This repository.
    Repository(RepositoryId),
}

/// Which proposals to list.
#[derive(Clone, Debug, Default)]
pub struct ProposalFilter {
    /// In one of these states; in any state if empty.
    pub statuses: Vec<Status>,
    /// Of one run.
    pub run_id: Option<RunId>,
    /// From one repository, or direct changes.
    pub source: Option<ProposalSource>,
    /// Direct changes of resources that this repository owned when they were proposed.
    pub owner_id: Option<RepositoryId>,
    /// Of one kind.
    pub kind: Option<Kind>,
    /// Only creates, updates or destroys.
    pub change: Option<Action>,
    /// Of one resource by name.
    pub name: Option<String>,
    /// Those that depend on this change, written as `kind name`.
    pub waits_for: Option<String>,
    /// Text in the name; the case of ASCII letters does not matter.
    pub search: Option<String>,
}

/// Approvals by the id of their proposal.
pub type Approvals = BTreeMap<ProposalId, Vec<Approval>>;

/// Where a list by run and position stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanCursor {
    /// The last proposal's run; none if it is a direct change.
    pub run_id: Option<RunId>,
    /// Its position in the plan.
    pub position: usize,
    /// Its id.
    pub id: ProposalId,
}

/// The number of open proposals of one repository, kind and change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalTally {
    /// The repository's name.
    pub repository_name: String,
    /// The kind of resource.
    pub kind: Kind,
    /// `create`, `update` or `destroy`.
    pub change: String,
    /// How many.
    pub count: usize,
}

impl Reading {
    /// A proposal of an account.
    pub async fn proposal(
        &mut self,
        account_id: &AccountId,
        id: &ProposalId,
    ) -> Result<Option<Proposal>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM proposals WHERE id = $1 AND account_id = $2");
        let rows = self.connection.rows_built(sql, values![id, account_id]).await?;
        Ok(read_proposals(rows)?.pop())
    }

    /// Proposals of an account, newest first, before an id.
    pub async fn proposals(
        &mut self,
        account_id: &AccountId,
        filter: &ProposalFilter,
        before: Option<&ProposalId>,
        limit: usize,
    ) -> Result<Vec<Proposal>, StoreError> {
        let (mut sql, mut values) = filtered_query(COLUMNS, account_id, filter);
        if let Some(before) = before {
            values.push(before.into());
            sql.push_str(&format!(" AND proposals.id < ${}", values.len()));
        }
        sql.push_str(&format!(" ORDER BY proposals.id DESC LIMIT {limit}"));
        let rows = self.connection.rows_built(sql, values).await?;
        read_proposals(rows)
    }

    /// Proposals of an account by run, the newest run first, and within a run in the order in which they are applied.
    pub async fn proposals_in_order(
        &mut self,
        account_id: &AccountId,
        filter: &ProposalFilter,
        after: Option<&PlanCursor>,
        limit: usize,
    ) -> Result<Vec<Proposal>, StoreError> {
        let (mut sql, mut values) = filtered_query(COLUMNS, account_id, filter);
        if let Some(after) = after {
            let (run, position, id) = (values.len() + 1, values.len() + 2, values.len() + 3);
            values.extend(values![
                after.run_id.as_ref().map_or("", RunId::as_str),
                after.position,
                &after.id
            ]);
            sql.push_str(&format!(
                " AND (proposals.run_id < ${run} OR (proposals.run_id = ${run} AND (proposals.position > ${position} \
                 OR (proposals.position = ${position} AND proposals.id > ${id}))))"
            ));
        }
        sql.push_str(&format!(
            " ORDER BY proposals.run_id DESC, proposals.position, proposals.id LIMIT {limit}"
        ));
        let rows = self.connection.rows_built(sql, values).await?;
        read_proposals(rows)
    }

    /// How many proposals of an account match a filter.
    pub async fn proposals_matching(
        &mut self,
        account_id: &AccountId,
        filter: &ProposalFilter,
    ) -> Result<usize, StoreError> {
        let (sql, values) = filtered_query("COUNT(*) AS count", account_id, filter);
        let rows = self.connection.rows_built(sql, values).await?;
        rows.first().map_or(Ok(0), |row| row.count("count"))
    }

    /// How many open proposals of an account there are of each repository, kind and change.
    pub async fn proposals_tally(
        &mut self,
        account_id: &AccountId,
    ) -> Result<Vec<ProposalTally>, StoreError> {
        let sql = "SELECT repository_name, kind, CASE WHEN base_digest IS NULL THEN 'create' \
                   WHEN desired_digest IS NULL THEN 'destroy' ELSE 'update' END AS change, COUNT(*) AS count FROM proposals \
                   WHERE account_id = $1 AND status IN ('pending_approval', 'approved') \
                   GROUP BY repository_name, kind, change";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter()
            .map(|row| {
                Ok(ProposalTally {
                    repository_name: row.text("repository_name")?,
                    kind: row.word("kind", Kind::from_word)?,
                    change: row.text("change")?,
                    count: row.count("count")?,
                })
            })
            .collect()
    }

    /// The proposals of a run in the order of its plan.
    pub async fn run_proposals(&mut self, run_id: &RunId) -> Result<Vec<Proposal>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM run_proposals JOIN proposals ON proposals.id = run_proposals.proposal_id \
             WHERE run_proposals.run_id = $1 ORDER BY run_proposals.position, proposals.id"
        );
        let rows = self.connection.rows_built(sql, values![run_id]).await?;
        read_proposals(rows)
    }

    /// A page of the proposals of a run, in the order in which they are applied: those in one of these states, after a
    /// position. Each with its position in the run.
    pub async fn run_proposals_page(
        &mut self,
        run_id: &RunId,
        statuses: &[Status],
        after: Option<(usize, &ProposalId)>,
        limit: usize,
    ) -> Result<Vec<(usize, Proposal)>, StoreError> {
        let mut sql = format!(
            "SELECT {COLUMNS}, run_proposals.position AS run_position FROM run_proposals JOIN proposals \
             ON proposals.id = run_proposals.proposal_id WHERE run_proposals.run_id = $1"
        );
        let mut values = values![run_id];
        if !statuses.is_empty() {
            let words: Vec<String> = statuses.iter().map(|status| format!("'{}'", status.slug())).collect();
            sql.push_str(&format!(" AND proposals.status IN ({})", words.join(", ")));
        }
        if let Some((position, id)) = after {
            values.extend(values![position, id]);
            sql.push_str(
                " AND (run_proposals.position > $2 OR (run_proposals.position = $2 AND proposals.id > $3))",
            );
        }
        sql.push_str(&format!(" ORDER BY run_proposals.position, proposals.id LIMIT {limit}"));
        let rows = self.connection.rows_built(sql, values).await?;
        let mut shared = SharedBetweenProposals::default();
        rows.iter()
            .map(|row| {
                let proposal = read_proposal(row, &mut shared)?;
                Ok((row.count("run_position")?, proposal))
            })
            .collect()
    }

    /// How many proposals of a run are in each state, and when the last of them was decided.
    pub async fn run_tally(
        &mut self,
        run_id: &RunId,
    ) -> Result<Vec<(Status, usize, Option<Timestamp>)>, StoreError> {
        let sql = "SELECT proposals.status, COUNT(*) AS count, MAX(proposals.decided_at) AS last_decided_at FROM run_proposals JOIN proposals \
                   ON proposals.id = run_proposals.proposal_id WHERE run_proposals.run_id = $1 \
                   GROUP BY proposals.status ORDER BY proposals.status";
        let rows = self.connection.rows(sql, values![run_id]).await?;
        rows.iter()
            .map(|row| {
                Ok((
                    row.word("status", Status::from_slug)?,
                    row.count("count")?,
                    row.optional_timestamp("last_decided_at")?,
                ))
            })
            .collect()
    }

    /// Proposals of an account by their ids, in the given order; those that do not exist are omitted.
    pub async fn proposals_by_id(
        &mut self,
        account_id: &AccountId,
        ids: &[&ProposalId],
    ) -> Result<Vec<Proposal>, StoreError> {
        let rows = ids.iter().enumerate().map(|(turn, id)| values![turn, *id, account_id]).collect();
        let prefix = "WITH given (turn, id, account_id) AS (VALUES";
        let suffix = format!(
            ") SELECT {COLUMNS} FROM given CROSS JOIN proposals WHERE proposals.id = given.id \
             AND proposals.account_id = given.account_id ORDER BY given.turn"
        );
        let rows = self.connection.rows_many(prefix, rows, &suffix).await?;
        read_proposals(rows)
    }

    /// Open proposals for these resources of an account: resource and id.
    pub async fn proposals_about(
        &mut self,
        account_id: &AccountId,
        keys: &[ResourceKey],
    ) -> Result<Vec<(ResourceKey, ProposalId)>, StoreError> {
        let rows = keys.iter().map(|key| values![account_id, key.kind.slug(), &key.name]).collect();
        let prefix = "WITH given (account_id, kind, name) AS (VALUES";
        let suffix = ") SELECT proposals.kind, proposals.name, proposals.id FROM given CROSS JOIN proposals \
                      WHERE proposals.account_id = given.account_id AND proposals.kind = given.kind \
                      AND proposals.name = given.name AND proposals.status IN ('pending_approval', 'approved')";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter()
            .map(|row| {
                let kind = row.word("kind", Kind::from_word)?;
                Ok((ResourceKey::new(kind, row.text("name")?), row.id("id")?))
            })
            .collect()
    }

    /// The outcomes of the proposals of a run, as far as they determine its status.
    pub async fn run_outcomes(
        &mut self,
        account_id: &AccountId,
        run_id: &RunId,
    ) -> Result<ProposalOutcomes, StoreError> {
        // Reads the open proposals first, which are few: a run may have any number of closed ones.
        let sql = "SELECT proposals.id FROM proposals CROSS JOIN run_proposals WHERE proposals.account_id = $1 \
                   AND proposals.status IN ('pending_approval', 'approved') AND run_proposals.run_id = $2 \
                   AND run_proposals.proposal_id = proposals.id LIMIT 1";
        if !self.connection.rows(sql, values![account_id, run_id]).await?.is_empty() {
            return Ok(ProposalOutcomes::Open);
        }
        let sql = "SELECT proposals.status, COUNT(*) AS count FROM run_proposals JOIN proposals \
                   ON proposals.id = run_proposals.proposal_id WHERE run_proposals.run_id = $1 \
                   GROUP BY proposals.status";
        let mut rows = self.connection.rows(sql, values![run_id]).await?;
        let counts: Vec<(Status, usize)> = rows
            .iter_mut()
            .map(|row| Ok((row.word("status", Status::from_slug)?, row.count("count")?)))
            .collect::<Result<_, StoreError>>()?;
        Ok(ProposalOutcomes::closed(&counts))
    }

    /// The runs that proposals belong to.
    pub async fn runs_of_proposals(&mut self, ids: &[&ProposalId]) -> Result<BTreeSet<RunId>, StoreError> {
        let rows = ids.iter().map(|id| values![*id]).collect();
        let prefix = "WITH given (id) AS (VALUES";
        let suffix = ") SELECT DISTINCT run_proposals.run_id FROM given CROSS JOIN run_proposals \
                      WHERE run_proposals.proposal_id = given.id";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(|row| row.id("run_id")).collect()
    }

    /// The open proposals of a repository that were opened for a commit.
    pub async fn proposals_of_commit(
        &mut self,
        repository_id: &RepositoryId,
        commit_sha: &str,
    ) -> Result<Vec<Proposal>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM proposals WHERE repository_id = $1 AND commit_sha = $2 \
             AND status IN ('pending_approval', 'approved') ORDER BY id"
        );
        let rows = self.connection.rows_built(sql, values![repository_id, commit_sha]).await?;
        read_proposals(rows)
    }

    /// The open proposals of a repository, in the form that the core compares with a new plan.
    pub async fn proposals_open_of(
        &mut self,
        repository_id: &RepositoryId,
    ) -> Result<Vec<ExistingProposal>, StoreError> {
        let sql = "SELECT id, kind, name, base_digest, desired_digest, status FROM proposals \
                   WHERE repository_id = $1 AND status IN ('pending_approval', 'approved') ORDER BY id";
        let rows = self.connection.rows(sql, values![repository_id]).await?;
        rows.iter()
            .map(|row| {
                let id = row.id("id")?;
                let (key, base, desired) = read_identity(row)?;
                Ok(ExistingProposal {
                    id,
                    key,
                    base,
                    desired,
                    status: row.word("status", Status::from_slug)?,
                })
            })
            .collect()
    }

    /// Open proposals of all repositories of an account except one, oldest first, with specs of the kinds that may
    /// claim addresses.
    pub async fn proposals_open_of_others(
        &mut self,
        account_id: &AccountId,
        repository_id: Option<&RepositoryId>,
    ) -> Result<Vec<HoldingProposal>, StoreError> {
        let sql = "SELECT id, repository_id, repository_name, kind, name, cause, \
                   CASE WHEN kind IN ('network', 'peer', 'virtual_ip') THEN (SELECT body FROM contents \
                   WHERE digest = COALESCE(edited_digest, desired_digest)) END AS spec \
                   FROM proposals WHERE account_id = $1 AND status IN ('pending_approval', 'approved') \
                   AND repository_id IN (SELECT repositories.id FROM repositories WHERE repositories.account_id = $1 \
                   AND repositories.id <> $2) ORDER BY id";
        let rows = self
            .connection
            .rows(sql, values![account_id, repository_id.map_or("", RepositoryId::as_str)])
            .await?;
        rows.iter()
            .map(|row| {
                let (id, repository_id, repository_name) =
                    (row.id("id")?, row.id("repository_id")?, row.text("repository_name")?);
                let key = ResourceKey::new(row.word("kind", Kind::from_word)?, row.text("name")?);
                let cause = row.word("cause", Cause::from_slug)?;
                let spec = row.optional_text("spec")?.map(|text| read_spec(key.kind, &text)).transpose()?;
                Ok(HoldingProposal { id, repository_id, repository_name, key, cause, spec })
            })
            .collect()
    }

    /// The last rejection of each resource of a repository, unless a later proposal for the resource exists.
    pub async fn proposals_rejected(
        &mut self,
        repository_id: &RepositoryId,
    ) -> Result<Vec<RejectedChange>, StoreError> {
        let sql = "SELECT kind, name, base_digest, desired_digest, until_change FROM proposals AS last \
                   WHERE repository_id = $1 AND status = 'rejected' AND NOT EXISTS (SELECT 1 FROM proposals AS later \
                   WHERE later.repository_id = last.repository_id AND later.kind = last.kind \
                   AND later.name = last.name AND later.id > last.id) ORDER BY id";
        let rows = self.connection.rows(sql, values![repository_id]).await?;
        rows.iter()
            .map(|row| {
                let (key, base, desired) = read_identity(row)?;
                Ok(RejectedChange { key, base, desired, until_change: row.boolean("until_change")? })
            })
            .collect()
    }

    /// Approved proposals of an account in the order in which they are applied, after a position in this order.
    pub async fn proposals_to_apply(
        &mut self,
        account_id: &AccountId,
        after: Option<&ApplyOrder>,
        limit: usize,
    ) -> Result<Vec<Proposal>, StoreError> {
        let mut values = values![account_id];
        let mut sql =
            format!("SELECT {COLUMNS} FROM proposals WHERE account_id = $1 AND status = 'approved'");
        if let Some(after) = after {
            values.extend(values![after.position, &after.id]);
            sql.push_str(" AND (position, id) > ($2, $3)");
        }
        sql.push_str(&format!(" ORDER BY position, id LIMIT {limit}"));
        let rows = self.connection.rows_built(sql, values).await?;
        read_proposals(rows)
    }

    /// Proposals of an account that need approval and are blocked by something else too.
    pub async fn proposals_blocked(&mut self, account_id: &AccountId) -> Result<Vec<Proposal>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM proposals WHERE account_id = $1 AND status = 'pending_approval' \
             AND blocked_by <> '[]' ORDER BY id"
        );
        let rows = self.connection.rows_built(sql, values![account_id]).await?;
        read_proposals(rows)
    }

    /// Accounts with proposals that are approved, or that need approval and are blocked by something else too, or with
    /// plans that have changes for which proposals are not opened yet.
    pub async fn accounts_to_apply(&mut self) -> Result<Vec<AccountId>, StoreError> {
        let sql = "SELECT id FROM accounts WHERE EXISTS (SELECT 1 FROM proposals \
                   WHERE proposals.account_id = accounts.id AND proposals.status = 'approved') \
                   OR EXISTS (SELECT 1 FROM proposals WHERE proposals.account_id = accounts.id \
                   AND proposals.status = 'pending_approval' AND proposals.blocked_by <> '[]') \
                   OR EXISTS (SELECT 1 FROM sync_runs JOIN repositories ON repositories.good_run_id = sync_runs.id \
                   WHERE sync_runs.account_id = accounts.id AND sync_runs.next_position IS NOT NULL) ORDER BY id";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        rows.iter().map(|row| row.id("id")).collect()
    }

    /// Open proposals of every account that have expired: account and id.
    pub async fn proposals_expired(
        &mut self,
        now: Timestamp,
    ) -> Result<Vec<(AccountId, ProposalId)>, StoreError> {
        let sql = "SELECT account_id, id FROM proposals WHERE status IN ('pending_approval', 'approved') \
                   AND expires_at <= $1";
        let rows = self.connection.rows(sql, values![now]).await?;
        let mut expired: Vec<(AccountId, ProposalId)> = rows
            .iter()
            .map(|row| Ok((row.id("account_id")?, row.id("id")?)))
            .collect::<Result<_, StoreError>>()?;
        // Sorted here: with ORDER BY, SQLite would read every proposal in that order.
        expired.sort();
        Ok(expired)
    }

    /// How many proposals of an account are in each open state.
    pub async fn proposals_count(
        &mut self,
        account_id: &AccountId,
    ) -> Result<Vec<(Status, usize)>, StoreError> {
        let sql = "SELECT status, COUNT(*) AS count FROM proposals WHERE account_id = $1 \
                   AND status IN ('pending_approval', 'approved') GROUP BY status";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter().map(|row| Ok((row.word("status", Status::from_slug)?, row.count("count")?))).collect()
    }

    /// The approvals given to a proposal, oldest first.
    pub async fn approvals(&mut self, proposal_id: &ProposalId) -> Result<Vec<Approval>, StoreError> {
        Ok(self.approvals_of(&[proposal_id]).await?.remove(proposal_id).unwrap_or_default())
    }

    /// The approvals given to proposals, by their ids, oldest first. Approvals through a set that lapsed do not count
    /// and are omitted.
    pub async fn approvals_of(&mut self, ids: &[&ProposalId]) -> Result<Approvals, StoreError> {
        let rows = ids.iter().map(|id| values![*id]).collect();
        let prefix = "WITH given (id) AS (VALUES";
        let suffix = ") SELECT proposal_id, approver, digest, reason, at, set_id, fallen_reason FROM given \
                      CROSS JOIN approvals \
                      WHERE approvals.proposal_id = given.id AND NOT EXISTS (SELECT 1 FROM approval_sets \
                      WHERE approval_sets.id = approvals.set_id AND approval_sets.fallen_at IS NOT NULL) \
                      ORDER BY at, approver";
        let mut given = Approvals::new();
        for row in &self.connection.rows_many(prefix, rows, suffix).await? {
            let proposal_id = row.id("proposal_id")?;
            given.entry(proposal_id).or_default().push(read_approval(row)?);
        }
        Ok(given)
    }
}

fn read_approval(row: &Row) -> Result<Approval, StoreError> {
    Ok(Approval {
        approver: row.text("approver")?,
        digest: row.digest("digest")?,
        reason: row.optional_text("reason")?,
        at: row.timestamp("at")?,
        set_id: row.optional_id("set_id")?,
        lapsed: row.optional_text("fallen_reason")?,
    })
}

/// A statement that selects the proposals that match a filter, without ORDER BY and LIMIT.
fn filtered_query(columns: &str, account_id: &AccountId, filter: &ProposalFilter) -> (String, Vec<Value>) {
    let mut values = values![account_id];
    let mut sql = format!("SELECT {columns} FROM proposals");
    if filter.run_id.is_some() {
        sql.push_str(" JOIN run_proposals ON run_proposals.proposal_id = proposals.id");
    }
    sql.push_str(" WHERE proposals.account_id = $1");
    let mut add = |clause: &str, value: Value| {
        values.push(value);
        sql.push_str(" AND ");
        sql.push_str(&clause.replace('?', &format!("${}", values.len())));
    };
    if let Some(run) = &filter.run_id {
        add("run_proposals.run_id = ?", run.into());
    }
    match &filter.source {
        Some(ProposalSource::Repository(id)) => add("proposals.repository_id = ?", id.into()),
        Some(ProposalSource::Direct) => add("proposals.repository_id = ?", "".into()),
        None => {}
    }
    if let Some(owner) = &filter.owner_id {
        add("proposals.owner_id = ?", owner.into());
    }
    if let Some(kind) = filter.kind {
        add("proposals.kind = ?", kind.slug().into());
    }
    if let Some(name) = &filter.name {
        add("proposals.name = ?", name.into());
    }
    if let Some(text) = &filter.search {
        add("LOWER(proposals.name) LIKE ? ESCAPE '\\'", search_pattern(text).into());
    }
    if let Some(first) = &filter.waits_for {
        // The column is a list of texts as JSON: each text is between quotes.
        let pattern = format!("%\"{}", like_pattern(first, "\"%"));
        add("proposals.waits_for LIKE ? ESCAPE '\\'", pattern.into());
    }
    sql.push_str(match filter.change {
        None => "",
        Some(Action::Create) => " AND proposals.base_digest IS NULL",
        Some(Action::Destroy) => " AND proposals.desired_digest IS NULL",
        Some(Action::Update) => {
            " AND proposals.base_digest IS NOT NULL AND proposals.desired_digest IS NOT NULL"
        }
    });
    if !filter.statuses.is_empty() {
        let words: Vec<String> = filter.statuses.iter().map(|status| format!("'{status}'")).collect();
        sql.push_str(&format!(" AND proposals.status IN ({})", words.join(", ")));
    }
    (sql, values)
}

fn read_identity(row: &Row) -> Result<(ResourceKey, Option<Digest>, Option<Digest>), StoreError> {
    let kind = row.word("kind", Kind::from_word)?;
    let key = ResourceKey::new(kind, row.text("name")?);
    Ok((key, row.optional_digest("base_digest")?, row.optional_digest("desired_digest")?))
}

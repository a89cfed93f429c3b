//! Proposals and the approvals given to them.

use std::collections::HashMap;

use windlass_core::diff::{Cause, Change};
use windlass_core::gate::{Contributor, ContributorRole, Contributors, ContributorsGap};
use windlass_core::id::{AccountId, ProposalId, RepositoryId, RunId};
use windlass_core::proposal::{Approval, BlockedBy, CloseReason, Edit, Proposal, Status};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::time::Timestamp;

use crate::contents::SpecReader;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, Value, values};
use crate::write::Writing;

/// The columns of a proposal.
pub(crate) const COLUMNS: &str = "proposals.id, proposals.account_id, proposals.repository_id, \
    proposals.repository_name, proposals.run_id, proposals.kind, proposals.name, proposals.cause, \
    proposals.base_digest, (SELECT body FROM contents WHERE digest = proposals.base_digest) AS before_spec, \
    proposals.desired_digest, (SELECT body FROM contents WHERE digest = proposals.desired_digest) AS after_spec, proposals.position, \
    proposals.edited_digest, (SELECT body FROM contents WHERE digest = proposals.edited_digest) AS edited_spec, proposals.edited_by, proposals.commit_sha, proposals.author, \
    proposals.file, proposals.line, proposals.status, proposals.blocked_by, proposals.waits_for, proposals.reason, \
    proposals.decided_by, proposals.until_change, proposals.opened_at, proposals.expires_at, proposals.decided_at, \
    proposals.closed_at, proposals.version, proposals.contributors, proposals.owner_id, proposals.direct_reason, \
    proposals.previous_file, proposals.contributors_gap";

/// Reads the proposals of one result.
pub(crate) fn read_proposals(rows: Vec<Row>) -> Result<Vec<Proposal>, StoreError> {
    let mut shared = SharedBetweenProposals::default();
    rows.iter().map(|row| read_proposal(row, &mut shared)).collect()
}

/// What rows read together have in common, parsed once: specs, and the reasons that block them.
#[derive(Default)]
pub(crate) struct SharedBetweenProposals {
    specs: SpecReader,
    blocked_by: HashMap<String, Vec<BlockedBy>>,
}

impl SharedBetweenProposals {
    fn blocked_by(&mut self, row: &Row) -> Result<Vec<BlockedBy>, StoreError> {
        let text = row.text("blocked_by")?;
        if let Some(reasons) = self.blocked_by.get(&text) {
            return Ok(reasons.clone());
        }
        let reasons: Vec<BlockedBy> = row.json("blocked_by")?;
        self.blocked_by.insert(text, reasons.clone());
        Ok(reasons)
    }
}

pub(crate) fn read_proposal(row: &Row, shared: &mut SharedBetweenProposals) -> Result<Proposal, StoreError> {
    let (id, account_id, repository_id) =
        (row.id("id")?, row.id("account_id")?, row.id_unless_empty("repository_id")?);
    let (repository_name, run_id) = (row.text("repository_name")?, row.id_unless_empty("run_id")?);
    let change = read_change(row, &mut shared.specs)?;
    let position = row.count("position")?;
    let edit = read_edit(row, change.key.kind, &mut shared.specs)?;
    let mut proposal = Proposal {
        id,
        account_id,
        repository_id,
        repository_name,
        run_id,
        change,
        position,
        edit,
        commit_sha: row.text("commit_sha")?,
        author: row.optional_text("author")?,
        declared_at: {
            let file = row.optional_text("file")?;
            let line = row.count("line")?;
            file.map(|file| (file, line))
        },
        status: row.word("status", Status::from_slug)?,
        blocked_by: shared.blocked_by(row)?,
        waits_for: row.json("waits_for")?,
        reason: row.optional_text("reason")?.map(|stored| CloseReason::from_stored(&stored)),
        decided_by: row.optional_text("decided_by")?,
        until_change: row.boolean("until_change")?,
        opened_at: row.timestamp("opened_at")?,
        expires_at: row.timestamp("expires_at")?,
        decided_at: row.optional_timestamp("decided_at")?,
        closed_at: row.optional_timestamp("closed_at")?,
        version: row.number("version")?,
        contributors: Contributors::kept(read_people(row)?, None),
        owner_id: row.optional_id("owner_id")?,
        direct_reason: row.optional_text("direct_reason")?,
        previous_file: row.optional_text("previous_file")?,
    };
    if let Some(gap) = read_gap(row)? {
        proposal.contributors.note_gap(gap);
    }
    // Proposals of versions that did not store contributors have only these.
    let author = proposal.author.as_deref().and_then(|who| Contributor::new(ContributorRole::Author, who));
    let editor = proposal.edit.as_ref().and_then(|edit| Contributor::new(ContributorRole::Editor, &edit.by));
    proposal.contributors.add(author.into_iter().chain(editor));
    Ok(proposal)
}

/// Contributors as they are stored: a list of role and person. An unknown role is an error: a contributor who is
/// omitted could approve their own change.
pub(crate) fn read_people(row: &Row) -> Result<Vec<Contributor>, StoreError> {
    let stored: Vec<(ContributorRole, String)> = row.json("contributors")?;
    Ok(stored.into_iter().map(|(role, person)| Contributor { role, person }).collect())
}

/// Why a contributor may be missing.
pub(crate) fn read_gap(row: &Row) -> Result<Option<ContributorsGap>, StoreError> {
    row.optional_word("contributors_gap", ContributorsGap::from_slug)
}

pub(crate) fn people_text(contributors: &Contributors) -> String {
    let pairs: Vec<[&str; 2]> =
        contributors.people().iter().map(|one| [one.role.slug(), one.person.as_str()]).collect();
    serde_json::to_value(pairs).unwrap_or_default().to_string()
}

pub(crate) fn gap_slug(contributors: &Contributors) -> Option<&'static str> {
    contributors.gap().map(ContributorsGap::slug)
}

fn read_change(row: &Row, specs: &mut SpecReader) -> Result<Change, StoreError> {
    let kind = row.word("kind", Kind::from_word)?;
    let key = ResourceKey::new(kind, row.text("name")?);
    let cause = row.word("cause", Cause::from_slug)?;
    let base = row.optional_digest("base_digest")?;
    let before = specs.optional_spec(kind, base, row, "before_spec")?;
    let desired = row.optional_digest("desired_digest")?;
    let after = specs.optional_spec(kind, desired, row, "after_spec")?;
    Ok(Change { key, cause, before, base, after, desired })
}

fn read_edit(row: &Row, kind: Kind, specs: &mut SpecReader) -> Result<Option<Edit>, StoreError> {
    let digest = row.optional_digest("edited_digest")?;
    let spec = specs.optional_spec(kind, digest, row, "edited_spec")?;
    let by = row.optional_text("edited_by")?;
    let (Some(digest), Some(spec), Some(by)) = (digest, spec, by) else { return Ok(None) };
    Ok(Some(Edit { spec, digest, by }))
}

fn json_list<T: serde::Serialize>(items: &[T]) -> String {
    serde_json::to_value(items).unwrap_or_default().to_string()
}

impl Writing {
    /// Opens proposals and adds each to the run that opens it.
    pub async fn proposals_add(&mut self, proposals: &[Proposal]) -> Result<(), StoreError> {
        let specs = proposals.iter().flat_map(|proposal| {
            let change = &proposal.change;
            let before = change.base.zip(change.before.as_deref());
            before.into_iter().chain(change.desired.zip(change.after.as_deref()))
        });
        self.specs_put(specs.collect()).await?;
        let rows: Vec<Vec<Value>> = proposals
            .iter()
            .map(|proposal| {
                let change = &proposal.change;
                let (file, line) = proposal.declared_at.clone().unzip();
                values![
                    &proposal.id,
                    &proposal.account_id,
                    proposal.repository_id.as_ref().map_or("", RepositoryId::as_str),
                    &proposal.repository_name,
                    proposal.run_id.as_ref().map_or("", RunId::as_str),
                    change.key.kind.slug(),
                    &change.key.name,
                    change.cause.slug(),
                    proposal.position,
                    change.base,
                    change.desired,
                    &proposal.commit_sha,
                    &proposal.author,
                    file,
                    line.unwrap_or(0),
                    proposal.status.slug(),
                    json_list(&proposal.blocked_by),
                    json_list(&proposal.waits_for),
                    &proposal.decided_by,
                    proposal.opened_at,
                    proposal.expires_at,
                    proposal.decided_at,
                    0_i64,
                    1_i64,
                    people_text(&proposal.contributors),
                    &proposal.owner_id,
                    &proposal.direct_reason,
                    &proposal.previous_file,
                    gap_slug(&proposal.contributors)
                ]
            })
            .collect();
        let prefix = "INSERT INTO proposals (id, account_id, repository_id, repository_name, run_id, kind, name, cause, \
                      position, base_digest, desired_digest, commit_sha, author, file, line, \
                      status, blocked_by, waits_for, decided_by, opened_at, expires_at, decided_at, until_change, \
                      version, contributors, owner_id, direct_reason, previous_file, contributors_gap) VALUES";
        self.connection.execute_many(prefix, rows, "").await?;
        let members: Vec<(&RunId, &ProposalId, usize)> = proposals
            .iter()
            .filter_map(|proposal| Some((proposal.run_id.as_ref()?, &proposal.id, proposal.position)))
            .collect();
        self.run_proposals_add(&members).await
    }

    /// Adds the open proposals of a run to a later run.
    pub async fn run_proposals_copy(
        &mut self,
        run_id: &RunId,
        earlier_id: &RunId,
    ) -> Result<u64, StoreError> {
        let sql = "INSERT INTO run_proposals (run_id, proposal_id, position) \
                   SELECT $1, run_proposals.proposal_id, run_proposals.position FROM run_proposals \
                   JOIN proposals ON proposals.id = run_proposals.proposal_id \
                   WHERE run_proposals.run_id = $2 AND proposals.status IN ('pending_approval', 'approved')";
        self.connection.execute(sql, values![run_id, earlier_id]).await
    }

    /// Adds proposals to runs: run, proposal, position.
    pub async fn run_proposals_add(
        &mut self,
        members: &[(&RunId, &ProposalId, usize)],
    ) -> Result<(), StoreError> {
        let rows =
            members.iter().map(|(run, proposal, position)| values![*run, *proposal, *position]).collect();
        let prefix = "INSERT INTO run_proposals (run_id, proposal_id, position) VALUES";
        self.connection.execute_many(prefix, rows, "ON CONFLICT (run_id, proposal_id) DO NOTHING").await?;
        Ok(())
    }

    /// Stores where open proposals are in the newest plan, and what they depend on and are blocked by.
    pub async fn proposals_set_positions(
        &mut self,
        placed: &[ProposalPosition<'_>],
    ) -> Result<(), StoreError> {
        let rows = placed
            .iter()
            .map(|placed| {
                values![
                    placed.id,
                    placed.position,
                    placed.cause.slug(),
                    json_list(&placed.waits_for),
                    json_list(&placed.blocked_by)
                ]
            })
            .collect();
        let prefix = "WITH given (id, position, cause, waits_for, blocked_by) AS (VALUES";
        let suffix = ") UPDATE proposals SET position = given.position, cause = given.cause, \
                      waits_for = given.waits_for, blocked_by = given.blocked_by \
                      FROM given WHERE proposals.id = given.id";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Stores what proposals are blocked by: id and reasons.
    pub async fn proposals_set_blockers(
        &mut self,
        blocked: &[(ProposalId, Vec<BlockedBy>)],
    ) -> Result<(), StoreError> {
        let rows = blocked.iter().map(|(id, reasons)| values![id, json_list(reasons)]).collect();
        let prefix = "WITH given (id, blocked_by) AS (VALUES";
        let suffix = ") UPDATE proposals SET blocked_by = given.blocked_by FROM given \
                      WHERE proposals.id = given.id AND proposals.blocked_by <> given.blocked_by";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Moves a proposal from one state to the next. False if it is no longer in the first.
    pub async fn proposal_move(
        &mut self,
        id: &ProposalId,
        moved: &ProposalMove<'_>,
    ) -> Result<bool, StoreError> {
        Ok(self.proposals_move(&[(id, *moved)]).await? == 1)
    }

    /// Moves proposals from one state to the next, and returns how many were in the first.
    pub async fn proposals_move(
        &mut self,
        moves: &[(&ProposalId, ProposalMove<'_>)],
    ) -> Result<u64, StoreError> {
        let rows = moves.iter().map(|(id, moved)| moved.row(id)).collect();
        let prefix = "WITH given (id, old, new, reason, decided_by, until_change, at, closes) AS (VALUES";
        let suffix = ") UPDATE proposals SET status = given.new, reason = given.reason, \
                      decided_by = COALESCE(given.decided_by, proposals.decided_by), \
                      until_change = given.until_change, \
                      decided_at = CASE WHEN given.decided_by IS NULL THEN proposals.decided_at ELSE given.at END, \
                      closed_at = CASE WHEN given.closes = 1 THEN given.at ELSE NULL END, \
                      blocked_by = CASE WHEN given.closes = 1 THEN '[]' ELSE proposals.blocked_by END, \
                      version = proposals.version + 1 \
                      FROM given WHERE proposals.id = given.id AND proposals.status = given.old";
        self.connection.execute_many(prefix, rows, suffix).await
    }

    /// Stores an edit of a pending proposal, or discards it without one, and all contributors so far. False if the
    /// proposal is no longer pending in this version.
    pub async fn proposal_edit(
        &mut self,
        id: &ProposalId,
        version: i64,
        edit: Option<&Edit>,
        contributors: &Contributors,
    ) -> Result<bool, StoreError> {
        self.specs_put(edit.map(|edit| (edit.digest, &*edit.spec)).into_iter().collect()).await?;
        let sql = "UPDATE proposals SET edited_digest = $3, edited_by = $4, contributors = $5, \
                   contributors_gap = $6, version = version + 1 WHERE id = $1 AND version = $2 AND status = 'pending_approval'";
        let values = values![
            id,
            version,
            edit.map(|edit| edit.digest),
            edit.map(|edit| edit.by.as_str()),
            people_text(contributors),
            gap_slug(contributors)
        ];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Replaces the contributors of open proposals: id and all contributors.
    pub async fn proposals_add_contributors(
        &mut self,
        contributors_of: &[(&ProposalId, &Contributors)],
    ) -> Result<(), StoreError> {
        let rows = contributors_of
            .iter()
            .map(|(id, people)| values![*id, people_text(people), gap_slug(people).unwrap_or_default()])
            .collect();
        let prefix = "WITH given (id, contributors, gap) AS (VALUES";
        let suffix = ") UPDATE proposals SET contributors = given.contributors, \
                      contributors_gap = CASE WHEN given.gap = '' THEN NULL ELSE given.gap END FROM given \
                      WHERE proposals.id = given.id AND proposals.status IN ('pending_approval', 'approved')";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Stores approvals of proposals. An approval that exists is not stored again, with two exceptions: an approval
    /// through a set can be given again, directly or through another set, and then no longer lapses with the first set;
    /// and an approval that lapsed can be given again.
    pub async fn approvals_add(&mut self, approvals: &[(&ProposalId, Approval)]) -> Result<(), StoreError> {
        let rows = approvals
            .iter()
            .map(|(id, approval)| {
                let Approval { approver, digest, reason, at, set_id, lapsed } = approval;
                values![*id, approver, *digest, reason, *at, set_id, lapsed]
            })
            .collect();
        let prefix =
            "INSERT INTO approvals (proposal_id, approver, digest, reason, at, set_id, fallen_reason) VALUES";
        let suffix = "ON CONFLICT (proposal_id, approver, digest) DO UPDATE SET set_id = excluded.set_id, \
                      reason = excluded.reason, at = excluded.at, fallen_reason = excluded.fallen_reason \
                      WHERE approvals.set_id IS NOT NULL OR approvals.fallen_reason IS NOT NULL";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Records that someone's approvals of open proposals of an account no longer count, even if they get the
    /// permission again.
    pub async fn approvals_lapse(
        &mut self,
        account_id: &AccountId,
        approver: &str,
        reason: &str,
    ) -> Result<u64, StoreError> {
        let sql = "UPDATE approvals SET fallen_reason = $3 WHERE approver = $2 AND fallen_reason IS NULL \
                   AND proposal_id IN (SELECT id FROM proposals WHERE account_id = $1 \
                   AND status IN ('pending_approval', 'approved'))";
        self.connection.execute(sql, values![account_id, approver, reason]).await
    }

    /// Changes when proposals expire: id and time.
    pub async fn proposals_set_expiry(
        &mut self,
        kept: &[(&ProposalId, Timestamp)],
    ) -> Result<(), StoreError> {
        let rows = kept.iter().map(|(id, until)| values![*id, *until]).collect();
        let prefix = "WITH given (id, expires_at) AS (VALUES";
        let suffix =
            ") UPDATE proposals SET expires_at = given.expires_at FROM given WHERE proposals.id = given.id";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Deletes proposals closed before `before`, failed ones before `failed_before`, that no run refers to.
    pub async fn proposals_delete_old(
        &mut self,
        before: Timestamp,
        failed_before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        const OLD: &str = "SELECT old.id FROM proposals AS old WHERE closed_at < $1 AND (closed_at < $2 OR status <> 'failed') \
                           AND NOT EXISTS (SELECT 1 FROM run_proposals WHERE run_proposals.proposal_id = old.id)";
        let values = || values![before, failed_before];
        let approvals = format!("proposal_id IN ({OLD} LIMIT $3)");
        let approvals = OldRows::new("approvals", "proposal_id, approver, digest", approvals);
        self.delete_old(approvals, values(), budget).await?;
        let alone = "NOT EXISTS (SELECT 1 FROM approvals WHERE approvals.proposal_id = old.id)";
        let proposals = OldRows::new("proposals", "id", format!("id IN ({OLD} AND {alone} LIMIT $3)"));
        self.delete_old(proposals, values(), budget).await
    }
}

/// A change of a proposal's state.
#[derive(Clone, Copy, Debug)]
pub struct ProposalMove<'m> {
    /// The state it must be in.
    pub from: Status,
    /// The new state.
    pub to: Status,
    /// Why.
    pub reason: Option<&'m CloseReason>,
    /// Who or what decided, if this is a decision.
    pub decided_by: Option<&'m str>,
    /// Whether a rejection holds until the change itself changes.
    pub until_change: bool,
    /// When.
    pub at: Timestamp,
}

impl ProposalMove<'_> {
    /// The values of a move, in the order of the columns in [`Writing::proposals_move`].
    fn row(&self, id: &ProposalId) -> Vec<Value> {
        debug_assert!(self.to.may_follow(self.from), "{} may not follow {}", self.to, self.from);
        values![
            id,
            self.from.slug(),
            self.to.slug(),
            self.reason.map(CloseReason::to_stored),
            self.decided_by,
            self.until_change,
            self.at,
            !self.to.is_open()
        ]
    }
}

/// The position of an open proposal in the newest plan.
#[derive(Clone, Debug)]
pub struct ProposalPosition<'p> {
    /// Which.
    pub id: &'p ProposalId,
    /// Its position.
    pub position: usize,
    /// The current cause: a contested resource may have no owner by now.
    pub cause: Cause,
    /// The changes of the same plan that it depends on.
    pub waits_for: Vec<String>,
    /// What blocks it besides a missing approval.
    pub blocked_by: Vec<BlockedBy>,
}

//! Proposals and the approvals given to them.

use std::sync::Arc;

use windlass_core::diff::{Cause, Change};
use windlass_core::gate::{Contributor, ContributorRole, Contributors, ContributorsGap};
use windlass_core::proposal::{Approval, Edit, Proposal, Status};
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::time::Timestamp;

use crate::error::StoreError;
use crate::resources::read_spec;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, Value, values};
use crate::write::Writing;

/// The columns of a proposal, in the order [`read_proposal`] takes them.
pub(crate) const COLUMNS: &str = "proposals.id, proposals.account_id, proposals.repository_id, \
    proposals.repository_name, proposals.run_id, proposals.kind, proposals.name, proposals.cause, \
    proposals.base_digest, proposals.desired_digest, proposals.before_spec, proposals.after_spec, proposals.position, \
    proposals.edited_digest, proposals.edited_spec, proposals.edited_by, proposals.commit_sha, proposals.author, \
    proposals.file, proposals.line, proposals.status, proposals.blocked_by, proposals.waits_for, proposals.reason, \
    proposals.decided_by, proposals.until_change, proposals.opened_at, proposals.expires_at, proposals.decided_at, \
    proposals.closed_at, proposals.version, proposals.contributors, proposals.owner_id, proposals.direct_reason, \
    proposals.previous_file, proposals.contributors_gap";

pub(crate) fn read_proposal(row: &mut Row) -> Result<Proposal, StoreError> {
    let (id, account_id, repository_id) = (row.text()?, row.text()?, row.text()?);
    let (repository_name, run_id) = (row.text()?, row.text()?);
    let change = read_change(row)?;
    let position = row.count()?;
    let edit = read_edit(row, change.key.kind)?;
    let mut proposal = Proposal {
        id,
        account_id,
        repository_id,
        repository_name,
        run_id,
        change,
        position,
        edit,
        commit_sha: row.text()?,
        author: row.optional_text()?,
        declared_at: {
            let file = row.optional_text()?;
            let line = row.count()?;
            file.map(|file| (file, line))
        },
        status: row.word(Status::from_slug)?,
        blocked_by: row.json()?,
        waits_for: row.json()?,
        reason: row.optional_text()?,
        decided_by: row.optional_text()?,
        until_change: row.yes()?,
        opened_at: row.moment()?,
        expires_at: row.moment()?,
        decided_at: row.optional_moment()?,
        closed_at: row.optional_moment()?,
        version: row.number()?,
        contributors: Contributors::kept(read_people(row)?, None),
        owner_id: row.optional_text()?,
        direct_reason: row.optional_text()?,
        previous_file: row.optional_text()?,
    };
    if let Some(gap) = read_gap(row)? {
        proposal.contributors.note_gap(gap);
    }
    // Proposals from before contributors were kept have these alone.
    let author = proposal.author.as_deref().and_then(|who| Contributor::new(ContributorRole::Author, who));
    let editor = proposal.edit.as_ref().and_then(|edit| Contributor::new(ContributorRole::Editor, &edit.by));
    proposal.contributors.add(author.into_iter().chain(editor));
    Ok(proposal)
}

/// Contributors as they are stored: a list of role and person.
pub(crate) fn read_people(row: &mut Row) -> Result<Vec<Contributor>, StoreError> {
    let stored: Vec<(String, String)> = row.json()?;
    let known = stored
        .into_iter()
        .filter_map(|(role, person)| Some(Contributor { role: ContributorRole::from_slug(&role)?, person }));
    Ok(known.collect())
}

/// Why someone may be missing among them. A reason that is not known here is one nevertheless.
pub(crate) fn read_gap(row: &mut Row) -> Result<Option<ContributorsGap>, StoreError> {
    let stored = row.optional_text()?;
    Ok(stored.map(|slug| ContributorsGap::from_slug(&slug).unwrap_or(ContributorsGap::HistoryNotFollowed)))
}

pub(crate) fn people_text(contributors: &Contributors) -> String {
    let pairs: Vec<[&str; 2]> =
        contributors.people().iter().map(|one| [one.role.slug(), one.person.as_str()]).collect();
    serde_json::to_value(pairs).unwrap_or_default().to_string()
}

pub(crate) fn gap_slug(contributors: &Contributors) -> Option<&'static str> {
    contributors.gap().map(ContributorsGap::slug)
}

fn read_change(row: &mut Row) -> Result<Change, StoreError> {
    let kind = row.word(Kind::from_word)?;
    let key = ResourceKey::new(kind, row.text()?);
    let cause = row.word(cause_of)?;
    let (base, desired) = (row.optional_digest()?, row.optional_digest()?);
    let spec = |text: Option<String>| text.map(|text| read_spec(kind, &text).map(Arc::new)).transpose();
    let (before, after) = (spec(row.optional_text()?)?, spec(row.optional_text()?)?);
    Ok(Change { key, cause, before, base, after, desired })
}

fn read_edit(row: &mut Row, kind: Kind) -> Result<Option<Edit>, StoreError> {
    let (digest, spec, by) = (row.optional_digest()?, row.optional_text()?, row.optional_text()?);
    let (Some(digest), Some(spec), Some(by)) = (digest, spec, by) else { return Ok(None) };
    Ok(Some(Edit { spec: Arc::new(read_spec(kind, &spec)?), digest, by }))
}

pub(crate) fn cause_of(slug: &str) -> Option<Cause> {
    [Cause::Declared, Cause::Edited, Cause::Adopted, Cause::Contested, Cause::Removed]
        .into_iter()
        .find(|cause| cause_slug(*cause) == slug)
}

fn cause_slug(cause: Cause) -> &'static str {
    match cause {
        Cause::Declared => "declared",
        Cause::Edited => "edited",
        Cause::Adopted => "adopted",
        Cause::Contested => "contested",
        Cause::Removed => "removed",
    }
}

fn json_list(texts: &[String]) -> String {
    serde_json::Value::from(texts).to_string()
}

impl Writing {
    /// Opens proposals, each also as part of the run that opens it.
    pub async fn proposals_add(&mut self, proposals: &[Proposal]) -> Result<(), StoreError> {
        let rows: Vec<Vec<Value>> = proposals
            .iter()
            .map(|proposal| {
                let change = &proposal.change;
                let (file, line) = proposal.declared_at.clone().unzip();
                values![
                    &proposal.id,
                    &proposal.account_id,
                    &proposal.repository_id,
                    &proposal.repository_name,
                    &proposal.run_id,
                    change.key.kind.slug(),
                    &change.key.name,
                    cause_slug(change.cause),
                    proposal.position,
                    change.base,
                    change.desired,
                    change.before.as_deref().map(Spec::to_stored),
                    change.after.as_deref().map(Spec::to_stored),
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
                      position, base_digest, desired_digest, before_spec, after_spec, commit_sha, author, file, line, \
                      status, blocked_by, waits_for, decided_by, opened_at, expires_at, decided_at, until_change, \
                      version, contributors, owner_id, direct_reason, previous_file, contributors_gap) VALUES";
        self.connection.execute_many(prefix, rows, "").await?;
        let members: Vec<(&str, &str, usize)> = proposals
            .iter()
            .filter(|proposal| !proposal.is_direct())
            .map(|proposal| (proposal.run_id.as_str(), proposal.id.as_str(), proposal.position))
            .collect();
        self.run_proposals_add(&members).await
    }

    /// Notes that what is still open of a run's proposals is also a later run's.
    pub async fn run_proposals_repeat(&mut self, run_id: &str, earlier_id: &str) -> Result<u64, StoreError> {
        let sql = "INSERT INTO run_proposals (run_id, proposal_id, position) \
                   SELECT $1, run_proposals.proposal_id, run_proposals.position FROM run_proposals \
                   JOIN proposals ON proposals.id = run_proposals.proposal_id \
                   WHERE run_proposals.run_id = $2 AND proposals.status IN ('pending_approval', 'approved')";
        self.connection.execute(sql, values![run_id, earlier_id]).await
    }

    /// Makes proposals part of runs: run, proposal, position.
    pub async fn run_proposals_add(&mut self, members: &[(&str, &str, usize)]) -> Result<(), StoreError> {
        let rows =
            members.iter().map(|(run, proposal, position)| values![*run, *proposal, *position]).collect();
        let prefix = "INSERT INTO run_proposals (run_id, proposal_id, position) VALUES";
        self.connection.execute_many(prefix, rows, "ON CONFLICT (run_id, proposal_id) DO NOTHING").await?;
        Ok(())
    }

    /// Notes where standing proposals are in the newest plan and what they wait for.
    pub async fn proposals_place(&mut self, placed: &[Placed<'_>]) -> Result<(), StoreError> {
        let rows = placed
            .iter()
            .map(|placed| {
                values![
                    placed.id,
                    placed.position,
                    cause_slug(placed.cause),
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

    /// Notes what proposals wait for: id and reasons.
    pub async fn proposals_block(&mut self, blocked: &[(String, Vec<String>)]) -> Result<(), StoreError> {
        let rows = blocked.iter().map(|(id, reasons)| values![id, json_list(reasons)]).collect();
        let prefix = "WITH given (id, blocked_by) AS (VALUES";
        let suffix = ") UPDATE proposals SET blocked_by = given.blocked_by FROM given \
                      WHERE proposals.id = given.id AND proposals.blocked_by <> given.blocked_by";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Moves a proposal from one state to the next. False if it is no longer in the first.
    pub async fn proposal_move(&mut self, id: &str, moved: &Moved<'_>) -> Result<bool, StoreError> {
        Ok(self.proposals_move(&[(id, *moved)]).await? == 1)
    }

    /// Moves proposals from one state to the next, and says how many were in the first.
    pub async fn proposals_move(&mut self, moves: &[(&str, Moved<'_>)]) -> Result<u64, StoreError> {
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

    /// Stores what someone made of a pending proposal, and everyone who had a hand in it by now. False if it is not pending in this version any more.
    pub async fn proposal_edit(
        &mut self,
        id: &str,
        version: i64,
        edit: Option<&Edit>,
        contributors: &Contributors,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE proposals SET edited_digest = $3, edited_spec = $4, edited_by = $5, contributors = $6, \
                   contributors_gap = $7, version = version + 1 WHERE id = $1 AND version = $2 AND status = 'pending_approval'";
        let values = values![
            id,
            version,
            edit.map(|edit| edit.digest),
            edit.map(|edit| edit.spec.to_stored()),
            edit.map(|edit| edit.by.as_str()),
            people_text(contributors),
            gap_slug(contributors)
        ];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Notes who had a hand in open proposals: id and everyone.
    pub async fn proposals_credit(&mut self, credited: &[(&str, &Contributors)]) -> Result<(), StoreError> {
        let rows = credited
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

    /// Stores someone's consent to proposals. Giving it twice is giving it once; what was given through a set can be
    /// given again, by itself or through another set, and does not fall with the first any more; so can what fell.
    pub async fn approvals_add(&mut self, approvals: &[(&str, Approval)]) -> Result<(), StoreError> {
        let rows = approvals
            .iter()
            .map(|(id, approval)| {
                let Approval { approver, digest, reason, at, set_id, fallen } = approval;
                values![*id, approver, *digest, reason, *at, set_id, fallen]
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

    /// Notes that what someone approved of an account's open proposals no longer counts, whatever they may do later.
    pub async fn approvals_fall(
        &mut self,
        account_id: &str,
        approver: &str,
        reason: &str,
    ) -> Result<u64, StoreError> {
        let sql = "UPDATE approvals SET fallen_reason = $3 WHERE approver = $2 AND fallen_reason IS NULL \
                   AND proposal_id IN (SELECT id FROM proposals WHERE account_id = $1 \
                   AND status IN ('pending_approval', 'approved'))";
        self.connection.execute(sql, values![account_id, approver, reason]).await
    }

    /// Lets proposals expire at other moments: id and moment.
    pub async fn proposals_keep_until(&mut self, kept: &[(&str, Timestamp)]) -> Result<(), StoreError> {
        let rows = kept.iter().map(|(id, until)| values![*id, *until]).collect();
        let prefix = "WITH given (id, expires_at) AS (VALUES";
        let suffix =
            ") UPDATE proposals SET expires_at = given.expires_at FROM given WHERE proposals.id = given.id";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Forgets closed proposals older than a moment, failed ones older than another, that no run names any more.
    pub async fn proposals_forget(
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

/// A step in the life of a proposal.
#[derive(Clone, Copy, Debug)]
pub struct Moved<'m> {
    /// The state it must be in.
    pub from: Status,
    /// The state it goes to.
    pub to: Status,
    /// Why.
    pub reason: Option<&'m str>,
    /// Who or what decided, if this is a decision.
    pub decided_by: Option<&'m str>,
    /// Whether a rejection holds until the change itself changes.
    pub until_change: bool,
    /// When.
    pub at: Timestamp,
}

impl Moved<'_> {
    /// The values of a move, in the order in which [`Writing::proposals_move`] gives them.
    fn row(&self, id: &str) -> Vec<Value> {
        debug_assert!(self.to.may_follow(self.from), "{} may not follow {}", self.to, self.from);
        values![
            id,
            self.from.slug(),
            self.to.slug(),
            self.reason,
            self.decided_by,
            self.until_change,
            self.at,
            !self.to.is_open()
        ]
    }
}

/// Where a standing proposal is in the newest plan.
#[derive(Clone, Debug)]
pub struct Placed<'p> {
    /// Which.
    pub id: &'p str,
    /// Its place in the order.
    pub position: usize,
    /// Why the resource changes by now: what was contested may be nobody's since.
    pub cause: Cause,
    /// Changes of the same plan that come first.
    pub waits_for: Vec<String>,
    /// What it waits for beside approval.
    pub blocked_by: Vec<String>,
}

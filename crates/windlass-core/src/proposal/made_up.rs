//! Made-up changes and proposals, for tests.

use std::sync::Arc;

use super::{Approval, Edit, Proposal, Status};
use crate::diff::{Cause, Change};
use crate::gate::{Contributor, ContributorRole, Contributors};
use crate::id::{AccountId, ProposalId, RepositoryId, RunId};
use crate::resource::{Kind, ResourceKey, Spec};
use crate::time::Timestamp;

/// Who wrote every commit.
pub(crate) const AUTHOR: &str = "ann@example.com";

/// Who edits what others wrote.
pub(crate) const EDITOR: &str = "eve@example.com";

/// What a resource should be, in YAML.
pub(crate) fn spec(kind: Kind, text: &str) -> Arc<Spec> {
    if let Some(stored) = Spec::read_stored(kind, text) {
        return Arc::new(stored);
    }
    let read = Spec::read(kind, text);
    Arc::new(read.spec.unwrap_or_else(|| panic!("{:?}", read.diagnostics)))
}

/// The change of a resource from one state to another.
fn change(kind: Kind, name: &str, cause: Cause, before: Option<&str>, after: Option<&str>) -> Change {
    let (before, after) = (before.map(|text| spec(kind, text)), after.map(|text| spec(kind, text)));
    let (base, desired) =
        (before.as_ref().map(|spec| spec.digest()), after.as_ref().map(|spec| spec.digest()));
    Change { key: ResourceKey::new(kind, name), cause, before, base, after, desired }
}

/// The change that brings a resource.
pub(crate) fn create(kind: Kind, name: &str, after: &str) -> Change {
    change(kind, name, Cause::Declared, None, Some(after))
}

/// The change of a resource of one's own.
pub(crate) fn update(kind: Kind, name: &str, before: &str, after: &str) -> Change {
    change(kind, name, Cause::Edited, Some(before), Some(after))
}

/// The change that ends a resource.
pub(crate) fn destroy(kind: Kind, name: &str, before: &str) -> Change {
    change(kind, name, Cause::Removed, Some(before), None)
}

/// An approved proposal of a repository, which is called by its id. Its own id is the resource's name.
pub(crate) fn wanted_by(repository: &str, change: Change) -> Proposal {
    let at = Timestamp::from_millis(0);
    Proposal {
        id: ProposalId::new(change.key.name.clone()),
        account_id: AccountId::new("acme"),
        repository_id: Some(RepositoryId::new(repository)),
        repository_name: repository.to_owned(),
        run_id: Some(RunId::new("run")),
        owner_id: None,
        direct_reason: None,
        change,
        position: 0,
        edit: None,
        commit_sha: "c0ffee".to_owned(),
        author: Some(AUTHOR.to_owned()),
        contributors: Contributor::new(ContributorRole::Author, AUTHOR).into_iter().collect(),
        declared_at: Some(("fleet.yaml".to_owned(), 1)),
        previous_file: None,
        status: Status::Approved,
        blocked_by: Vec::new(),
        waits_for: Vec::new(),
        reason: None,
        decided_by: None,
        until_change: false,
        opened_at: at,
        expires_at: at,
        decided_at: None,
        closed_at: None,
        version: 1,
    }
}

/// An approved change that someone makes directly, of a resource that this repository owns.
pub(crate) fn made_directly(owner: Option<&str>, change: Change) -> Proposal {
    let contributors: Contributors = Contributor::new(ContributorRole::Writer, AUTHOR).into_iter().collect();
    Proposal {
        repository_id: None,
        run_id: None,
        owner_id: owner.map(RepositoryId::new),
        direct_reason: Some("an incident".to_owned()),
        commit_sha: String::new(),
        author: None,
        declared_at: None,
        contributors,
        ..wanted_by("", change)
    }
}

/// The same proposal after someone edited what it would apply.
pub(crate) fn edited(mut proposal: Proposal, text: &str) -> Proposal {
    let spec = spec(proposal.change.key.kind, text);
    proposal.contributors.add(Contributor::new(ContributorRole::Editor, EDITOR));
    proposal.edit = Some(Edit { digest: spec.digest(), spec, by: EDITOR.to_owned() });
    proposal
}

/// Someone's approval of exactly what a proposal would apply.
pub(crate) fn approval(proposal: &Proposal, approver: &str) -> Approval {
    Approval {
        approver: approver.to_owned(),
        digest: proposal.content_digest(),
        reason: None,
        at: Timestamp::from_millis(0),
        set_id: None,
        lapsed: None,
    }
}

//! A proposal: one change offered for approval, and the approvals given to it.

use std::sync::Arc;

use super::Status;
use crate::conflict::{Candidate, Claimant};
use crate::diff::Change;
use crate::digest::Digest;
use crate::gate::{Contributors, binding};
use crate::resource::Spec;
use crate::time::Timestamp;

/// One change offered for approval.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Its id.
    pub id: String,
    /// Its account.
    pub account_id: String,
    /// The repository that wants the change; empty for a direct change.
    pub repository_id: String,
    /// That repository's name at the time.
    pub repository_name: String,
    /// The run that opened it; empty for a direct change.
    pub run_id: String,
    /// Of a direct change: the repository that owns the resource, which it stays with.
    pub owner_id: Option<String>,
    /// Of a direct change: why it is made.
    pub direct_reason: Option<String>,
    /// What git wants to change, and from what.
    pub change: Change,
    /// Its place in the order of the repository's last plan.
    pub position: usize,
    /// What someone made of it before approval.
    pub edit: Option<Edit>,
    /// The commit it is from.
    pub commit_sha: String,
    /// The e-mail address of who wrote that.
    pub author: Option<String>,
    /// Everyone who had a hand in it.
    pub contributors: Contributors,
    /// The file and line that declare the resource.
    pub declared_at: Option<(String, usize)>,
    /// The file that declared it at the last good run before, if there was one.
    pub previous_file: Option<String>,
    /// Where it is in its life.
    pub status: Status,
    /// What it waits for beside approval.
    pub blocked_by: Vec<String>,
    /// Changes of the same plan that come first.
    pub waits_for: Vec<String>,
    /// Why it is where it is: the reason of a rejection, the cause of a failure.
    pub reason: Option<String>,
    /// Who or what decided.
    pub decided_by: Option<String>,
    /// Whether a rejection holds until the change itself changes.
    pub until_change: bool,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it expires if nobody decides.
    pub expires_at: Timestamp,
    /// When someone decided.
    pub decided_at: Option<Timestamp>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// How often it changed.
    pub version: i64,
}

/// What someone made of a proposal before approval.
#[derive(Clone, Debug)]
pub struct Edit {
    /// What will be applied instead.
    pub spec: Arc<Spec>,
    /// The digest of that.
    pub digest: Digest,
    /// Who edited it.
    pub by: String,
}

/// Someone's consent to exactly one content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Who.
    pub approver: String,
    /// To what.
    pub digest: Digest,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
    /// The approval of a set through which it was given; none if it was given to the proposal itself.
    pub set_id: Option<String>,
    /// Why it no longer counts, if whoever gave it lost the permission to.
    pub fallen: Option<String>,
}

/// A place in the order in which approved proposals are applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its place in the plan.
    pub position: usize,
    /// The proposal, where places are the same.
    pub id: String,
}

impl Proposal {
    /// Whether someone changes the resource directly, without a repository.
    pub fn is_direct(&self) -> bool {
        self.repository_id.is_empty()
    }

    /// The repository whose rules are about it: the one that wants it, or the one that owns what is changed directly.
    pub fn governing_repository(&self) -> Option<&str> {
        if self.is_direct() { self.owner_id.as_deref() } else { Some(&self.repository_id) }
    }

    /// The files that declare the resource, now and before.
    pub fn declaring_files(&self) -> Vec<&str> {
        let now = self.declared_at.iter().map(|(file, _)| file.as_str());
        now.chain(self.previous_file.as_deref()).collect()
    }

    /// What will be applied: the edited spec, else what git wants. None for a destroy.
    pub fn effective(&self) -> Option<&Arc<Spec>> {
        self.edit.as_ref().map(|edit| &edit.spec).or(self.change.after.as_ref())
    }

    /// The digest of what will be applied.
    pub fn effective_digest(&self) -> Option<Digest> {
        self.edit.as_ref().map(|edit| edit.digest).or(self.change.desired)
    }

    /// The change as it would be made: with what someone edited, if they did.
    pub fn effective_change(&self) -> Change {
        let mut change = self.change.clone();
        change.after = self.effective().cloned();
        change.desired = self.effective_digest();
        change
    }

    /// What an approval binds to: the resource, the accepted state the change is made from and the content it is made to.
    pub fn content_digest(&self) -> Digest {
        binding(&self.change.key, self.change.base, self.effective_digest())
    }

    /// Its place in the order in which approved proposals are applied.
    pub fn turn(&self) -> Turn {
        Turn { position: self.position, id: self.id.clone() }
    }

    /// Its change, wanted by its repository, or by whoever makes it directly. `change` is [`Proposal::effective_change`].
    pub fn candidate<'c>(&'c self, change: &'c Change) -> Candidate<'c> {
        let (id, number) = (self.repository_id.as_str(), self.id.as_str());
        let claimant = match self.edit {
            _ if self.is_direct() => Claimant::Person,
            Some(_) => Claimant::Edited { id, proposal: number },
            None => Claimant::Repository { id, proposal: Some(number) },
        };
        Candidate { change, claimant }
    }
}

//! A proposal: one change offered for approval, and the approvals given to it.

use std::sync::Arc;

use super::{CloseReason, Status};
use crate::blocked_by::BlockedBy;
use crate::conflict::{Candidate, Claimant};
use crate::diff::Change;
use crate::digest::Digest;
use crate::gate::{Contributors, approval_digest};
use crate::id::{AccountId, ApprovalSetId, ProposalId, RepositoryId, RunId};
use crate::resource::Spec;
use crate::time::Timestamp;

/// One change offered for approval.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Its id.
    pub id: ProposalId,
    /// Its account.
    pub account_id: AccountId,
    /// The repository that wants the change; none for a direct change.
    pub repository_id: Option<RepositoryId>,
    /// That repository's name at the time.
    pub repository_name: String,
    /// The run that opened it; none for a direct change.
    pub run_id: Option<RunId>,
    /// Of a direct change: the repository that owns the resource, which it stays with.
    pub owner_id: Option<RepositoryId>,
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
    pub blocked_by: Vec<BlockedBy>,
    /// Changes of the same plan that come first.
    pub waits_for: Vec<String>,
    /// Why it is where it is: the reason of a rejection, the cause of a failure.
    pub reason: Option<CloseReason>,
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
    pub set_id: Option<ApprovalSetId>,
    /// Why it no longer counts, if whoever gave it lost the permission to.
    pub lapsed: Option<String>,
}

/// A place in the order in which approved proposals are applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyOrder {
    /// Its place in the plan.
    pub position: usize,
    /// The proposal, where places are the same.
    pub id: ProposalId,
}

impl Proposal {
    /// Whether someone changes the resource directly, without a repository.
    pub fn is_direct(&self) -> bool {
        self.repository_id.is_none()
    }

    /// The repository whose rules are about it: the one that wants it, or the one that owns what is changed directly.
    pub fn governing_repository(&self) -> Option<&RepositoryId> {
        self.repository_id.as_ref().or(self.owner_id.as_ref())
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
        approval_digest(&self.change.key, self.change.base, self.effective_digest())
    }

    /// Its place in the order in which approved proposals are applied.
    pub fn apply_order(&self) -> ApplyOrder {
        ApplyOrder { position: self.position, id: self.id.clone() }
    }

    /// Its change, wanted by its repository, or by whoever makes it directly. `change` is [`Proposal::effective_change`].
    pub fn candidate<'c>(&'c self, change: &'c Change) -> Candidate<'c> {
        let claimant = match (&self.repository_id, &self.edit) {
            (None, _) => Claimant::Person,
            (Some(id), Some(_)) => Claimant::Edited { id, proposal: &self.id },
            (Some(id), None) => Claimant::Repository { id, proposal: Some(&self.id) },
        };
        Candidate { change, claimant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::tests::lasting;
    use crate::proposal::made_up::{create, destroy, edited, made_directly, spec, update, wanted_by};
    use crate::resource::Kind;

    const SMALL: &str = "{labels: {size: small}}";
    const MEDIUM: &str = "{labels: {size: medium}}";
    const LARGE: &str = "{labels: {size: large}}";

    fn grows() -> Proposal {
        wanted_by("core", update(Kind::Cluster, "c", SMALL, LARGE))
    }

    #[test]
    fn what_git_wants_is_applied_unless_someone_edited_it() {
        let plain = grows();
        assert_eq!(plain.effective(), plain.change.after.as_ref());
        assert_eq!(plain.effective_digest(), plain.change.desired);
        assert_eq!(plain.effective_change(), plain.change);

        let (edited, medium) = (edited(grows(), MEDIUM), spec(Kind::Cluster, MEDIUM));
        assert_eq!(edited.effective(), Some(&medium));
        assert_eq!(edited.effective_digest(), Some(medium.digest()));
        let expected = Change { desired: Some(medium.digest()), after: Some(medium), ..grows().change };
        assert_eq!(edited.effective_change(), expected, "resource, cause and base stay");
        assert_eq!(edited.change, grows().change, "what git wants stays");
    }

    #[test]
    fn nothing_is_left_of_what_is_destroyed() {
        let destroy = wanted_by("core", destroy(Kind::Cluster, "c", SMALL));
        assert_eq!((destroy.effective(), destroy.effective_digest()), (None, None));
        assert_eq!(destroy.effective_change(), destroy.change);
    }

    #[test]
    fn the_approval_digest_covers_exactly_what_is_applied() {
        let plain = grows();
        let others = [
            edited(grows(), MEDIUM),
            wanted_by("core", update(Kind::Cluster, "c", MEDIUM, LARGE)),
            wanted_by("core", update(Kind::Cluster, "other", SMALL, LARGE)),
            wanted_by("core", create(Kind::Cluster, "c", LARGE)),
            wanted_by("core", destroy(Kind::Cluster, "c", SMALL)),
        ];
        let mut digests: Vec<Digest> = others.iter().map(Proposal::content_digest).collect();
        digests.push(plain.content_digest());
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), others.len() + 1);

        let same = [
            Proposal {
                id: ProposalId::new("another"),
                commit_sha: "decade".to_owned(),
                position: 7,
                ..grows()
            },
            Proposal { declared_at: None, status: Status::PendingApproval, ..grows() },
            edited(grows(), LARGE),
            edited(edited(grows(), MEDIUM), LARGE),
        ];
        for proposal in same {
            assert_eq!(proposal.content_digest(), plain.content_digest(), "{proposal:?}");
        }
        // Whoever would be asked about an edit says the same as about a commit that declares it.
        let declared = wanted_by("core", update(Kind::Cluster, "c", SMALL, MEDIUM));
        assert_eq!(edited(grows(), MEDIUM).content_digest(), declared.content_digest());
    }

    #[test]
    fn a_change_is_claimed_by_its_repository_by_an_edit_of_it_or_by_a_person() {
        let claims = |proposal: Proposal, expected: Claimant<'_>| {
            let change = proposal.effective_change();
            let candidate = proposal.candidate(&change);
            assert_eq!(candidate.claimant, expected);
            assert_eq!(candidate.change, &change);
        };
        claims(grows(), Claimant::Repository { id: lasting("core"), proposal: Some(lasting("c")) });
        claims(edited(grows(), MEDIUM), Claimant::Edited { id: lasting("core"), proposal: lasting("c") });
        let direct = || made_directly(Some("core"), update(Kind::Cluster, "c", SMALL, LARGE));
        claims(direct(), Claimant::Person);
        claims(edited(direct(), MEDIUM), Claimant::Person);
    }

    #[test]
    fn rules_on_files_are_about_where_it_is_declared_now_and_was_before() {
        let declared = |now: Option<&str>, before: Option<&str>| Proposal {
            declared_at: now.map(|file| (file.to_owned(), 3)),
            previous_file: before.map(str::to_owned),
            ..grows()
        };
        assert_eq!(
            declared(Some("lab/a.yaml"), Some("prod/a.yaml")).declaring_files(),
            ["lab/a.yaml", "prod/a.yaml"]
        );
        assert_eq!(declared(Some("a.yaml"), None).declaring_files(), ["a.yaml"]);
        assert_eq!(declared(None, Some("a.yaml")).declaring_files(), ["a.yaml"], "a destroy");
        assert_eq!(declared(None, None).declaring_files(), [""; 0], "a direct change");
    }

    #[test]
    fn the_rules_of_whoever_wants_it_or_owns_what_is_changed_directly_are_about_it() {
        let change = || update(Kind::Cluster, "c", SMALL, LARGE);
        let of_git = Proposal { owner_id: Some(RepositoryId::new("edge")), ..grows() };
        assert_eq!((of_git.is_direct(), of_git.governing_repository()), (false, Some(lasting("core"))));
        let owned = made_directly(Some("edge"), change());
        assert_eq!((owned.is_direct(), owned.governing_repository()), (true, Some(lasting("edge"))));
        let unowned = made_directly(None, change());
        assert_eq!((unowned.is_direct(), unowned.governing_repository()), (true, None));
    }

    #[test]
    fn its_turn_is_its_place_in_the_plan() {
        let proposal = Proposal { position: 4, ..grows() };
        assert_eq!(proposal.apply_order(), ApplyOrder { position: 4, id: ProposalId::new("c") });
    }
}

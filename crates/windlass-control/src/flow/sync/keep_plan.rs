//! Stores the plan of a run with its digest, once for consecutive runs with the same plan. Decides whether approvals of
//! sets of the previous plan still count, and whether a confirmed mass destroy is still confirmed.

use std::collections::BTreeSet;

use windlass_core::diff::Action;
use windlass_core::digest::Digest;
use windlass_core::id::PlanId;
use windlass_core::plan::{
    ChangeSet, MassDestroyConfirmation, Plan, StoredPlan, StoredStep, members_of, why_set_approval_lapses,
};
use windlass_core::repository::Repository;
use windlass_core::resource::ResourceKey;
use windlass_core::run::Run;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, ApprovalSet, PlanRecord, Reading, StoreError, new_id};

use crate::flow::gate::set_approvals::SetApprovalLapse;

/// Why the approval of a set ends when all its changes were applied.
const CARRIED_OUT: &str = "everything it covers was applied";

/// Whether someone confirmed a mass destroy for this run, or for an earlier one of the same commit.
pub(crate) async fn confirmation(
    reading: &mut Reading,
    run: &Run,
    repository: &Repository,
) -> Result<MassDestroyConfirmation, StoreError> {
    if run.is_confirmed() {
        return Ok(MassDestroyConfirmation::MassDestroy);
    }
    let newest = reading.plan_newest(&repository.id).await?;
    let confirmed = newest.filter(|plan| plan.confirmed_commit.is_some());
    match confirmed.filter(|plan| plan.confirmed_commit == run.commit_sha) {
        None => Ok(match &run.confirmed_commit {
            Some(commit) if run.confirm_mass_destroy => MassDestroyConfirmation::OtherCommit(commit.clone()),
            _ => MassDestroyConfirmation::Missing,
        }),
        Some(plan) => Ok(MassDestroyConfirmation::Earlier(destroyed(&reading.plan_steps(&plan.id).await?))),
    }
}

fn destroyed(steps: &[StoredStep]) -> BTreeSet<ResourceKey> {
    steps.iter().filter(|step| step.action() == Action::Destroy).map(StoredStep::key).collect()
}

/// A new plan, and the newest plan that is stored for the repository.
pub(crate) struct NextPlan<'n> {
    plan: &'n Plan,
    digest: Digest,
    newest: Option<PlanRecord>,
}

impl<'n> NextPlan<'n> {
    pub(crate) async fn load(
        reading: &mut Reading,
        repository: &Repository,
        plan: &'n Plan,
    ) -> Result<NextPlan<'n>, StoreError> {
        let newest = reading.plan_newest(&repository.id).await?;
        Ok(NextPlan { plan, digest: plan.digest(), newest })
    }

    /// Whether the new plan equals the stored one, so that there is nothing to store.
    pub(crate) fn is_stored(&self) -> bool {
        self.newest.as_ref().is_some_and(|newest| newest.digest == self.digest)
    }
}

/// Stores the plan of a run unless it is the repository's newest already. Approvals of sets that would be other sets in
/// the new plan lapse. Returns the plan's id; none for a plan without steps.
pub(crate) async fn keep_plan(
    writing: &mut AccountWriting,
    run: &Run,
    repository: &Repository,
    next: NextPlan<'_>,
    now: Timestamp,
) -> Result<Option<PlanId>, StoreError> {
    let is_stored = next.is_stored();
    let NextPlan { plan, digest, newest } = next;
    let sets = writing.approval_sets_in_force(&repository.id).await?;
    if plan.steps.is_empty() && sets.is_empty() {
        return Ok(None);
    }
    if let Some(newest) = newest.as_ref().filter(|_| is_stored) {
        if let (true, Some(commit)) = (run.is_confirmed(), &run.commit_sha) {
            writing.plan_confirm(&newest.id, commit).await?;
        }
        return Ok(Some(newest.id.clone()));
    }
    let stored = StoredPlan::of(plan);
    let before = match &newest {
        Some(newest) if !sets.is_empty() || newest.confirmed_commit.is_some() => {
            writing.plan_steps(&newest.id).await?
        }
        _ => Vec::new(),
    };
    let review = SetReview {
        run,
        repository,
        before: &before,
        old_sets: newest.as_ref().map_or(&[], |old| &old.sets),
    };
    if plan.steps.is_empty() {
        review.sets(writing, &sets, &stored, None, now).await?;
        return Ok(None);
    }
    let record = PlanRecord {
        id: new_id(),
        account_id: run.account_id.clone(),
        repository_id: repository.id.clone(),
        run_id: run.id.clone(),
        parent_id: newest.as_ref().map(|newest| newest.id.clone()),
        digest,
        steps: stored.steps.len(),
        sets: stored.sets.clone(),
        confirmed_commit: review.confirmed_commit(newest.as_ref(), &stored),
        created_at: now,
    };
    writing.plan_add(&record, &stored).await?;
    review.sets(writing, &sets, &stored, Some(&record.id), now).await?;
    Ok(Some(record.id))
}

/// The review of a new plan against the previous one.
struct SetReview<'r> {
    run: &'r Run,
    repository: &'r Repository,
    before: &'r [StoredStep],
    old_sets: &'r [ChangeSet],
}

impl SetReview<'_> {
    /// The commit for which the new plan's destroys are confirmed: by this run, or all of them by an earlier one.
    fn confirmed_commit(&self, newest: Option<&PlanRecord>, stored: &StoredPlan) -> Option<String> {
        let earlier = newest.and_then(|newest| newest.confirmed_commit.as_ref());
        let is_confirmed = self.run.is_confirmed()
            || (earlier.is_some()
                && earlier == self.run.commit_sha.as_ref()
                && destroyed(&stored.steps).is_subset(&destroyed(self.before)));
        self.run.commit_sha.clone().filter(|_| is_confirmed)
    }

    /// Makes approvals of sets lapse that would be other sets in the new plan, and carries the others over to it.
    async fn sets(
        &self,
        writing: &mut AccountWriting,
        sets: &[ApprovalSet],
        stored: &StoredPlan,
        plan_id: Option<&PlanId>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if sets.is_empty() {
            return Ok(());
        }
        let applied = self.applied(writing, stored).await?;
        for set in sets {
            let approved = members_of(set.scope, self.before, self.old_sets);
            let members = members_of(set.scope, &stored.steps, &stored.sets);
            match (why_set_approval_lapses(&approved, &applied, &members), plan_id) {
                (Some(why), _) => {
                    let (actor, run_id) = (&Actor::windlass(), Some(&self.run.id));
                    let lapse =
                        SetApprovalLapse { set, repository: self.repository, why: &why, actor, run_id };
                    lapse.save(writing, now).await?;
                }
                (None, Some(plan_id)) if !members.is_empty() => {
                    writing.approval_set_move_to_plan(&set.id, plan_id).await?;
                }
                (None, _) => {
                    writing.approval_set_lapse(&set.id, CARRIED_OUT, now).await?;
                }
            }
        }
        Ok(())
    }

    /// The steps of the previous plan that are not in the new one because they were applied as planned.
    async fn applied(
        &self,
        writing: &mut AccountWriting,
        stored: &StoredPlan,
    ) -> Result<BTreeSet<Digest>, StoreError> {
        let remaining: BTreeSet<Digest> = stored.steps.iter().map(StoredStep::binding).collect();
        let removed: Vec<StoredStep> =
            self.before.iter().filter(|step| !remaining.contains(&step.binding())).cloned().collect();
        writing.steps_applied(&self.run.repository_id, &removed).await
    }
}

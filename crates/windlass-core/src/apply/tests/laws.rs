//! What holds whatever is accepted, wanted, approved and in the way.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::accepted::{Accepted, AcceptedResource, Owner};
use crate::desired::Desired;
use crate::desired::tests::made_up as made_up_with_versions;
use crate::diff::{Action, Cause, compare};
use crate::gate::{Halt, approval_digest};
use crate::plan::{self, MassDestroyConfirmation};
use crate::proposal::Status;
use crate::proposal::made_up::{AUTHOR, EDITOR, create, destroy, edited, made_directly, update, wanted_by};
use crate::repository::LastStatus;
use crate::run::RunStatus;

const SIZES: [&str; 3] = [SMALL, MEDIUM, LARGE];
const PEOPLE: [&str; 4] = [BOB, CY, AUTHOR, EDITOR];

/// What a policy with one rule, or without, says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    None,
    Two,
    NotAuthor,
    Free,
    FreeDestroys,
    Closed,
    Block,
}

impl Rule {
    const ALL: [Rule; 7] =
        [Rule::None, Rule::Two, Rule::NotAuthor, Rule::Free, Rule::FreeDestroys, Rule::Closed, Rule::Block];

    fn text(self) -> &'static str {
        match self {
            Rule::None => "{}",
            Rule::Two => "{rules: [{name: two, action: require_approval, approvals: 2}]}",
            Rule::NotAuthor => "{rules: [{name: others, action: require_approval, not_author: true}]}",
            Rule::Free => "{rules: [{name: free, action: auto_approve}]}",
            Rule::FreeDestroys => {
                "{rules: [{name: free, match: {changes: [destroy]}, action: auto_approve}]}"
            }
            Rule::Closed => "{rules: [{name: closed, action: require_approval, windows: [{days: [sun]}]}]}",
            Rule::Block => "{rules: [{name: frozen, action: block}]}",
        }
    }
}

/// One cluster, what is accepted of it, and one proposal about it.
#[derive(Clone, Debug)]
struct Situation {
    stage: Stage,
    rule: Rule,
    proposal: Proposal,
    approvals: Vec<Approval>,
}

fn owner() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, Some("core"), Some("core"), Some("edge")])
}

/// A proposal about the cluster `c`, made from any state to any other, by a repository or directly.
fn proposal() -> impl Strategy<Value = Proposal> {
    let size = || select(SIZES.to_vec());
    let state = || prop::option::weighted(0.8, size());
    let cause = select(vec![Cause::Edited, Cause::Edited, Cause::Adopted, Cause::Contested]);
    let change = (state(), state(), cause).prop_map(|(base, desired, cause)| match (base, desired) {
        (None, desired) => create(Kind::Cluster, "c", desired.unwrap_or(SMALL)),
        (Some(base), None) => destroy(Kind::Cluster, "c", base),
        (Some(base), Some(desired)) => Change { cause, ..update(Kind::Cluster, "c", base, desired) },
    });
    let edit = prop::option::weighted(0.2, size());
    let wanted = (change, owner(), prop::bool::weighted(0.3), edit);
    wanted.prop_map(|(mut change, owner, is_direct, edit)| {
        let is_destroy = change.action() == Action::Destroy;
        if is_direct && change.action() == Action::Update {
            change.cause = Cause::Edited;
        }
        let proposal = match is_direct {
            true => made_directly(owner, change),
            false => wanted_by("core", change),
        };
        match edit.filter(|_| !is_destroy) {
            Some(text) => edited(proposal, text),
            None => proposal,
        }
    })
}

fn situation() -> impl Strategy<Value = Situation> {
    let moved = prop::option::weighted(0.3, prop::option::of(select(SIZES.to_vec())));
    let yes = (select(PEOPLE.to_vec()), prop::bool::weighted(0.9), prop::bool::weighted(0.1));
    let settings = (
        select(Rule::ALL.to_vec()),
        select(vec![vec![BOB, CY], vec![BOB, CY, AUTHOR, EDITOR], vec![CY]]),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
    );
    (proposal(), moved, prop::option::of(owner()), vec(yes, 0..4), settings).prop_map(
        |(proposal, moved, owner, approvals, (rule, approvers, is_halted, has_failed, auto_apply))| {
            let mut stage = Stage::new();
            let cluster = |text| spec(Kind::Cluster, text);
            let accepted = match moved {
                None => proposal.change.before.clone(),
                Some(other) => other.map(cluster),
            };
            // Half of the time it still belongs to whoever had it when it was proposed.
            let before = proposal.governing_repository().cloned();
            let owner = owner.map_or(before, |owner| owner.map(RepositoryId::new));
            if let Some(spec) = accepted {
                stage.accepted.insert(proposal.change.key.clone(), (spec, owner));
            }
            stage.account.policy = rule.text().to_owned();
            stage.approvers = approvers;
            stage.account.halt = is_halted.then(|| Halt {
                by: BOB.to_owned(),
                reason: String::new(),
                since: Timestamp::from_millis(0),
            });
            let core = stage.repository("core");
            core.auto_apply = auto_apply;
            if has_failed {
                core.last_status = LastStatus::Ended(RunStatus::Failed);
                core.last_error = Some("no such branch".to_owned());
            }
            let approvals = approvals.into_iter().map(|(who, is_right, has_lapsed)| {
                let given = approval(&proposal, who);
                let other = approval_digest(&proposal.change.key, proposal.change.base, proposal.change.base);
                let digest = if is_right { given.digest } else { other };
                Approval { digest, lapsed: has_lapsed.then(|| "they left".to_owned()), ..given }
            });
            Situation { stage, rule, approvals: approvals.collect(), proposal }
        },
    )
}

impl Situation {
    fn scene(&self) -> ApplyContext {
        self.stage.scene(std::slice::from_ref(&self.proposal), |_| self.approvals.clone())
    }

    fn accepted(&self) -> Option<&(Arc<Spec>, Option<RepositoryId>)> {
        self.stage.accepted.get(Kind::Cluster, "c")
    }

    /// Whether the repository's own commit may pass without people.
    fn is_trusted(&self) -> bool {
        let is_destroy = self.proposal.change.action() == Action::Destroy;
        let is_commit = !self.proposal.is_direct() && self.proposal.edit.is_none();
        let is_let_through = match self.rule {
            Rule::Free => !is_destroy,
            Rule::FreeDestroys => is_destroy,
            _ => false,
        };
        let auto_apply = self.stage.repositories[0].auto_apply && !is_destroy;
        is_commit && self.proposal.change.cause != Cause::Contested && (is_let_through || auto_apply)
    }

    /// Everyone who approved exactly this change of what is accepted now, and whose approval counts.
    fn approvers(&self) -> BTreeSet<&str> {
        let accepted = self.accepted().map(|(spec, _)| spec.digest());
        let exactly = approval_digest(&self.proposal.change.key, accepted, self.proposal.effective_digest());
        let had_a_hand = |who: &str| match who {
            EDITOR => self.proposal.edit.is_some(),
            who => who == AUTHOR,
        };
        let counting =
            self.approvals.iter().filter(|given| given.digest == exactly && given.lapsed.is_none());
        let people = counting.map(|given| given.approver.as_str());
        let may = people.filter(|who| self.stage.approvers.contains(who));
        may.filter(|who| self.rule != Rule::NotAuthor || !had_a_hand(who)).collect()
    }

    fn is_consented(&self) -> bool {
        let need = if self.rule == Rule::Two { 2 } else { 1 };
        self.rule != Rule::Block && (self.is_trusted() || self.approvers().len() >= need)
    }

    fn is_held(&self) -> bool {
        let has_failed = self.stage.repositories[0].last_error.is_some() && !self.proposal.is_direct();
        self.stage.account.halt.is_some() || has_failed || self.rule == Rule::Closed
    }
}

fn tape() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..160)
}

/// A random fleet that declares no module versions: those exist only once a module made them.
fn made_up(tape: &[u8]) -> Desired {
    let mut fleet = made_up_with_versions(tape);
    let versions: Vec<String> =
        fleet.resources.of_kind(Kind::ModuleVersion).map(|(name, _)| name.to_owned()).collect();
    versions.iter().for_each(|name| drop(fleet.resources.remove(Kind::ModuleVersion, name)));
    fleet
}

/// An account in which a fleet was accepted, each resource of one of these owners in turn.
fn accepted(fleet: &Desired, owners: &[Option<&str>]) -> Stage {
    let mut stage = Stage::new();
    for ((kind, name, declared), owner) in fleet.resources.iter().zip(owners.iter().cycle()) {
        let accepted = (Arc::clone(&declared.spec), owner.map(RepositoryId::new));
        stage.accepted.insert(ResourceKey::new(kind, name), accepted);
    }
    stage
}

impl Stage {
    /// Everything that a repository proposes to make its fleet of what is accepted, in the order of the plan.
    fn proposed(&self, repository: &str, fleet: &Desired) -> Vec<Proposal> {
        let resource = |(kind, name, (spec, owner)): (Kind, &str, &(Arc<Spec>, Option<RepositoryId>))| {
            let owner = owner.as_ref().map_or(Owner::Nobody, |id| Owner::Repository(id.to_string()));
            let resource = AcceptedResource { spec: Arc::clone(spec), digest: spec.digest(), owner };
            (ResourceKey::new(kind, name), resource)
        };
        let accepted = Accepted { resources: self.accepted.iter().map(resource).collect() };
        let comparison = compare(fleet, &accepted, &Owner::Repository(repository.to_owned()));
        let steps = plan::build(fleet, comparison, MassDestroyConfirmation::MassDestroy).steps;
        let numbered = steps.into_iter().enumerate().map(|(position, step)| Proposal {
            id: ProposalId::new(format!("{repository}-{position:06}")),
            position,
            ..wanted_by(repository, step.change)
        });
        numbered.collect()
    }

    /// Does what a verdict says.
    fn store(&mut self, verdict: &Verdict) {
        let Verdict::Apply { change, owner_id, .. } = verdict else { return };
        let existing = |key: &ResourceKey| match self.accepted.get(key.kind, &key.name)?.0.as_ref() {
            Spec::ModuleVersion(version) => Some(version.clone()),
            _ => None,
        };
        for (key, spec) in versions_made(change, existing) {
            self.accepted.insert(key, (spec, None));
        }
        match &change.after {
            Some(spec) => {
                self.accepted.insert(change.key.clone(), (Arc::clone(spec), owner_id.clone()));
            }
            None => {
                drop(self.accepted.remove(change.key.kind, &change.key.name));
                let versions = self.accepted.of_kind(Kind::ModuleVersion);
                let is_its = |name: &&str| name.split_once('@').is_some_and(|(it, _)| it == change.key.name);
                let gone: Vec<String> =
                    versions.map(|(name, _)| name).filter(is_its).map(str::to_owned).collect();
                if change.key.kind == Kind::Module {
                    gone.iter().for_each(|name| drop(self.accepted.remove(Kind::ModuleVersion, name)));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_is_applied_without_consent_or_while_it_is_held(situation in situation()) {
        if let Verdict::Apply { .. } = situation.scene().judge(&situation.proposal) {
            prop_assert!(situation.is_consented());
            prop_assert!(!situation.is_held());
        }
    }

    #[test]
    fn an_applied_change_was_approved_for_exactly_the_current_accepted_state(situation in situation()) {
        let core = RepositoryId::new("core");
        let mut scene = situation.scene();
        let proposal = &situation.proposal;
        if let Verdict::Apply { change, owner_id, .. } = scene.judge(proposal) {
            let (accepted, owner) = match situation.accepted() {
                Some((spec, owner)) => (Some(spec.digest()), owner.as_ref()),
                None => (None, None),
            };
            prop_assert_eq!(accepted, proposal.change.base);
            prop_assert_eq!(&change, &proposal.effective_change());
            prop_assert!(situation.is_trusted() || !situation.approvers().is_empty());
            // It was its own or nobody's, or stays whose it was when it was approved.
            match proposal.is_direct() {
                true => prop_assert!(owner == proposal.owner_id.as_ref() && owner == owner_id.as_ref()),
                false => prop_assert!(owner.is_none_or(|owner| *owner == core) && owner_id.as_ref() == Some(&core)),
            }
            let standing = scene.world.accepted(&change.key);
            prop_assert_eq!(standing.map(|standing| standing.digest), proposal.effective_digest());
        } else {
            let standing = scene.world.accepted(&proposal.change.key).map(|standing| standing.digest);
            prop_assert_eq!(standing, situation.accepted().map(|(spec, _)| spec.digest()));
        }
    }

    #[test]
    fn an_approved_change_with_an_accepted_base_and_unchanged_owner_is_applied(situation in situation()) {
        let proposal = &situation.proposal;
        let (accepted, owner) = match situation.accepted() {
            Some((spec, owner)) => (Some(spec.digest()), owner.as_ref()),
            None => (None, None),
        };
        let is_free = match proposal.is_direct() {
            true => owner == proposal.owner_id.as_ref(),
            false => owner == Some(&RepositoryId::new("core")) || (owner.is_none() && proposal.change.action() != Action::Destroy),
        };
        if situation.is_consented() && !situation.is_held() && accepted == proposal.change.base && is_free {
            let verdict = situation.scene().judge(proposal);
            prop_assert!(matches!(verdict, Verdict::Apply { .. }), "{:?}", verdict);
        }
    }

    #[test]
    fn an_applied_change_is_never_applied_again_with_another_result(situation in situation()) {
        let mut scene = situation.scene();
        if let Verdict::Apply { change, owner_id, .. } = scene.judge(&situation.proposal) {
            match scene.judge(&situation.proposal) {
                Verdict::End(Status::AppliedManually, _) => prop_assert_ne!(change.base, change.desired),
                // What was adopted as it is can be adopted again.
                Verdict::Apply { change: again, owner_id: still, .. } => {
                    prop_assert_eq!(change.base, change.desired);
                    prop_assert_eq!((again, still), (change, owner_id));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn all_approved_changes_are_applied_in_the_order_of_their_plan(before in tape(), after in tape()) {
        let after = made_up(&after);
        let stage = accepted(&made_up(&before), &[Some("core")]);
        let proposals = stage.proposed("core", &after);
        let mut scene = stage.scene(&proposals, |proposal| vec![approval(proposal, BOB)]);
        for proposal in &proposals {
            let verdict = scene.judge(proposal);
            prop_assert!(matches!(verdict, Verdict::Apply { .. }), "{}: {:?}", proposal.change.key, verdict);
        }
        for proposal in &proposals {
            let standing = scene.world.accepted(&proposal.change.key).map(|standing| standing.digest);
            prop_assert_eq!(standing, proposal.change.desired);
        }
    }

    #[test]
    fn approved_changes_of_one_plan_are_eventually_applied_in_any_order(
        (before, after) in (tape(), tape()),
        order in vec(any::<u16>(), 64),
    ) {
        let stage = accepted(&made_up(&before), &[Some("core")]);
        let mut left = stage.proposed("core", &made_up(&after));
        let mut scene = stage.scene(&left, |proposal| vec![approval(proposal, BOB)]);
        let mut place = order.iter().cycle();
        left.sort_by_cached_key(|_| place.next());
        while !left.is_empty() {
            let count = left.len();
            left.retain(|proposal| match scene.judge(proposal) {
                Verdict::Apply { .. } => false,
                Verdict::Wait(_) => true,
                other => panic!("{}: {other:?}", proposal.change.key),
            });
            prop_assert!(left.len() < count, "{:?}", left.first().map(|proposal| &proposal.change.key));
        }
    }

    #[test]
    fn evaluating_proposals_together_or_one_by_one_gives_the_same_result(
        (before, core, edge) in (tape(), tape(), tape()),
        owners in vec(owner(), 5),
        order in vec(any::<u16>(), 64),
    ) {
        let mut stage = accepted(&made_up(&before), &owners);
        let mut proposals = stage.proposed("core", &made_up(&core));
        proposals.extend(stage.proposed("edge", &made_up(&edge)));
        let mut place = order.iter().cycle();
        proposals.sort_by_cached_key(|_| place.next());
        let yes = |proposal: &Proposal| vec![approval(proposal, BOB)];
        let mut together = stage.scene(&proposals, yes);
        for proposal in &proposals {
            let verdict = together.judge(proposal);
            let alone = stage.scene(std::slice::from_ref(proposal), yes).judge(proposal);
            prop_assert_eq!(told(&verdict), told(&alone));
            stage.store(&verdict);
        }
    }
}

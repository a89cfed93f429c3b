//! A second, simple implementation of the gate's rules: which changes of accepted resources approvers have allowed.
//!
//! It uses only what the test itself did (what was pushed where; what approvers approved, trusted and wrote into the
//! policy) and never calls the gate.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::diff::Action;
use windlass_core::digest::Digest;
use windlass_core::id::RepositoryId;
use windlass_core::resource::{Kind, ResourceKey};

/// What happens to changes that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleAction {
    Approve,
    Ask { need: usize, not_author: bool },
    Block,
}

/// Which repositories a rule matches.
#[derive(Clone, Debug)]
pub(super) enum RuleMatch {
    All,
    /// The one with this id.
    One(RepositoryId),
    /// Those whose names have this prefix.
    Begin(&'static str),
}

/// A rule of the policy, as the test wrote it.
#[derive(Clone, Debug)]
pub(super) struct OracleRule {
    pub(super) action: RuleAction,
    pub(super) which: RuleMatch,
    pub(super) change: Option<Action>,
    pub(super) tier: Option<&'static str>,
}

/// The settings of a repository that matter for trust: its name, its source, its allowed signers and `auto_apply`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OracleSettings {
    pub(super) name: String,
    pub(super) source: String,
    pub(super) signers: Option<String>,
    pub(super) auto_apply: bool,
}

/// A push.
#[derive(Clone, Debug)]
pub(super) struct Push {
    pub(super) source: String,
    pub(super) is_signed: bool,
    pub(super) clusters: BTreeMap<String, Digest>,
}

/// An approval by a person with the permission.
#[derive(Clone, Debug)]
pub(super) struct GivenApproval {
    pub(super) approver: String,
    pub(super) change: AcceptedChange,
    /// What the commit declared, if the proposal was edited.
    pub(super) declared: Option<Digest>,
    /// The repository whose rules apply to it.
    pub(super) repository: Option<RepositoryId>,
    /// Everyone who edited or wrote it.
    pub(super) contributors: BTreeSet<String>,
}

/// A change of an accepted resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AcceptedChange {
    pub(super) key: ResourceKey,
    pub(super) before: Option<Digest>,
    pub(super) after: Option<Digest>,
}

impl AcceptedChange {
    fn action(&self) -> Action {
        match (self.before, self.after) {
            (None, _) => Action::Create,
            (_, None) => Action::Destroy,
            _ => Action::Update,
        }
    }
}

/// A direct change that an approver just made.
#[derive(Clone, Debug)]
pub(super) struct ApproverChange {
    pub(super) key: ResourceKey,
    pub(super) owner: Option<RepositoryId>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    pub(super) rules: Vec<OracleRule>,
    pub(super) is_halted: bool,
    /// The settings of each repository that approvers trust: those at the time an approver last set them or saved a policy.
    pub(super) trusted: BTreeMap<RepositoryId, OracleSettings>,
    pub(super) pushes: Vec<Push>,
    pub(super) approvals: Vec<GivenApproval>,
    /// The tier of every content that the test creates.
    pub(super) tiers: BTreeMap<Digest, &'static str>,
}

impl Oracle {
    /// Why a change to a resource that this repository owned was allowed; `None` if nobody allowed it.
    pub(super) fn why_allowed(
        &self,
        change: &AcceptedChange,
        owner: Option<&RepositoryId>,
        now: &BTreeMap<RepositoryId, OracleSettings>,
        direct: Option<&ApproverChange>,
    ) -> Option<&'static str> {
        if self.is_halted {
            return None;
        }
        if direct.is_some_and(|direct| direct.key == change.key && self.allows_direct(change, direct, now)) {
            return Some("an approver made it directly");
        }
        if self
            .approvals
            .iter()
            .any(|approval| approval.change == *change && self.has_enough_approvals(approval, now))
        {
            return Some("approvers approved it");
        }
        // A rule for one repository never approves changes to resources of another.
        let by_repository = self
            .trusted
            .iter()
            .filter(|(id, _)| owner.is_none_or(|owner| owner == *id))
            .any(|(id, trusted)| self.is_auto_approved(change, id, trusted, now));
        by_repository.then_some("a rule or auto_apply approved what a trusted repository declares")
    }

    fn allows_direct(
        &self,
        change: &AcceptedChange,
        direct: &ApproverChange,
        now: &BTreeMap<RepositoryId, OracleSettings>,
    ) -> bool {
        let rule = self.first_rule(change, direct.owner.as_ref(), now);
        !matches!(rule, Some(RuleAction::Block))
            && !matches!(rule, Some(RuleAction::Ask { need, not_author }) if need > 1 || not_author)
    }

    fn has_enough_approvals(
        &self,
        one: &GivenApproval,
        now: &BTreeMap<RepositoryId, OracleSettings>,
    ) -> bool {
        let repository = one.repository.as_ref();
        let mut actions = vec![self.first_rule(&one.change, repository, now)];
        if one.declared.is_some() {
            let declared = AcceptedChange { after: one.declared, ..one.change.clone() };
            actions.push(self.first_rule(&declared, repository, now));
        }
        if actions.contains(&Some(RuleAction::Block)) {
            return false;
        }
        let asked = |action: &Option<RuleAction>| match action {
            Some(RuleAction::Ask { need, not_author }) => (*need, *not_author),
            _ => (1, false),
        };
        let need = actions.iter().map(|action| asked(action).0).max().unwrap_or(1);
        let not_author = actions.iter().any(|action| asked(action).1);
        let approvers: BTreeSet<&str> = self
            .approvals
            .iter()
            .filter(|approval| approval.change == one.change && approval.repository == one.repository)
            .filter(|approval| !not_author || !one.contributors.contains(&approval.approver))
            .map(|approval| approval.approver.as_str())
            .collect();
        approvers.len() >= need
    }

    fn is_auto_approved(
        &self,
        change: &AcceptedChange,
        id: &RepositoryId,
        trusted: &OracleSettings,
        now: &BTreeMap<RepositoryId, OracleSettings>,
    ) -> bool {
        let Some(current) = now.get(id) else { return false };
        let is_trusted = (&current.name, &current.source, &current.signers)
            == (&trusted.name, &trusted.source, &trusted.signers);
        let declared = self.pushes.iter().any(|push| {
            push.source == trusted.source
                && (trusted.signers.is_none() || push.is_signed)
                && push.clusters.get(&change.key.name).copied() == change.after
        });
        if !is_trusted || !declared || change.key.kind != Kind::Cluster {
            return false;
        }
        let (action, rule) = (change.action(), self.rule_at(change, Some(id), now));
        let auto = trusted.auto_apply && current.auto_apply && action != Action::Destroy;
        match rule.map(|rule| rule.action) {
            Some(RuleAction::Block) => false,
            _ if auto => true,
            Some(RuleAction::Approve) => {
                action != Action::Destroy || rule.is_some_and(|rule| rule.change == Some(Action::Destroy))
            }
            _ => false,
        }
    }

    fn first_rule(
        &self,
        change: &AcceptedChange,
        repository: Option<&RepositoryId>,
        now: &BTreeMap<RepositoryId, OracleSettings>,
    ) -> Option<RuleAction> {
        self.rule_at(change, repository, now).map(|rule| rule.action)
    }

    fn rule_at(
        &self,
        change: &AcceptedChange,
        repository: Option<&RepositoryId>,
        now: &BTreeMap<RepositoryId, OracleSettings>,
    ) -> Option<&OracleRule> {
        self.rules.iter().find(|rule| {
            let about = match &rule.which {
                RuleMatch::All => true,
                RuleMatch::One(id) => repository == Some(id),
                RuleMatch::Begin(begin) => {
                    repository.and_then(|id| now.get(id)).is_some_and(|it| it.name.starts_with(begin))
                }
            };
            about && rule.change.is_none_or(|it| it == change.action()) && self.has_tier(rule, change)
        })
    }

    /// A rule that restricts matches if either state of a change has the tier; a rule that approves, only if both have it.
    fn has_tier(&self, rule: &OracleRule, change: &AcceptedChange) -> bool {
        let Some(tier) = rule.tier else { return true };
        let states: Vec<bool> = [change.before, change.after]
            .into_iter()
            .flatten()
            .map(|digest| self.tiers.get(&digest) == Some(&tier))
            .collect();
        match rule.action {
            RuleAction::Approve => !states.is_empty() && states.iter().all(|has| *has),
            _ => states.contains(&true),
        }
    }
}

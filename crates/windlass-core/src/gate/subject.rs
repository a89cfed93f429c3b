//! What is judged: one change, and the approvals given for it.

use super::approver::Approvers;
use super::contributor::Contributors;
use super::host::HostResource;
use super::identity::RepositoryIdentity;
use super::policy::{PolicyAction, PolicyMatch, PolicyRule};
use crate::diff::Action;
use crate::digest::Digest;
use crate::resource::{ResourceKey, Spec};
use crate::value::{Labels, Lifecycle};

/// Whether the repository's creates and updates are approved by its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoApply {
    /// They are.
    On,
    /// They are not.
    Off,
}

/// Where the content of a change is from. Rules that approve without people, and `auto_apply`, trust a repository; they
/// say nothing of what someone typed.
#[derive(Clone, Copy, Debug)]
pub enum ContentOrigin<'a> {
    /// It is what the repository's commit declares.
    Commit,
    /// Someone edited the proposal.
    Edited {
        /// What the commit declares.
        declared: Option<&'a Spec>,
    },
    /// Someone changes the resource directly.
    Direct,
}

/// A change about to be judged.
#[derive(Clone, Copy, Debug)]
pub struct GateSubject<'a> {
    /// What is done.
    pub change: Action,
    /// To which resource.
    pub key: &'a ResourceKey,
    /// The repository that asks for it; for a direct change the one that owns the resource, if any does.
    pub repository: Option<RepositoryIdentity<'a>>,
    /// Where its content is from.
    pub content: ContentOrigin<'a>,
    /// The files that declare the resource, now and before, as far as they are known.
    pub paths: &'a [&'a str],
    /// What the resource is now.
    pub before: Option<&'a Spec>,
    /// What it shall be.
    pub after: Option<&'a Spec>,
    /// Everyone who had a hand in it.
    pub contributors: &'a Contributors,
    /// Whether another repository owns the resource. Neither a rule nor a setting of this one says anything of that.
    pub is_contested: bool,
    /// What it attaches something to, where that is another repository's.
    pub hosts: &'a [HostResource<'a>],
    /// The repository's own setting.
    pub auto_apply: AutoApply,
    /// Exactly what would be applied: see [`approval_digest`].
    pub digest: Digest,
}

/// Someone's yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalFacts<'a> {
    /// The e-mail address of who gave it.
    pub approver: &'a str,
    /// What it was given for.
    pub digest: Digest,
    /// Why it no longer counts, whatever its approver may do by now.
    pub lapsed: Option<&'a str>,
}

/// What people said to a change, and who may say it now.
#[derive(Clone, Copy, Debug)]
pub struct GivenApprovals<'a> {
    /// Approvals, each for what it was given for.
    pub approvals: &'a [ApprovalFacts<'a>],
    /// Who may approve in the account now.
    pub approvers: &'a Approvers,
}

/// The digest an approval names: this resource, from exactly this state to exactly that one. When either moves, or the
/// proposal is edited, it is another digest and the approval no longer counts.
pub fn approval_digest(key: &ResourceKey, base: Option<Digest>, desired: Option<Digest>) -> Digest {
    let state =
        |digest: Option<Digest>| digest.map_or_else(|| "absent".to_owned(), |digest| digest.to_string());
    let (base, desired) = (state(base), state(desired));
    let parts = ["windlass-approval-1", key.kind.slug(), &key.name, &base, &desired];
    Digest::of_parts(parts.map(str::as_bytes))
}

impl<'a> HostResource<'a> {
    /// The same change, as if the host's repository asked for it.
    pub(super) fn asked_by_owner(self, subject: &GateSubject<'a>) -> GateSubject<'a> {
        GateSubject { repository: Some(self.owner), hosts: &[], ..*subject }
    }

    /// An update of the host, by the same people.
    pub(super) fn updated<'s>(self, subject: &GateSubject<'s>, files: &'s [&'s str]) -> GateSubject<'s>
    where
        'a: 's,
    {
        GateSubject {
            change: Action::Update,
            key: self.key,
            repository: Some(self.owner),
            paths: files,
            before: Some(self.spec),
            after: Some(self.spec),
            hosts: &[],
            ..*subject
        }
    }
}

impl PolicyRule {
    /// Whether the rule is about this change.
    pub(super) fn matches(&self, subject: &GateSubject<'_>) -> bool {
        if !self.applies_to_repository(subject.repository.as_ref()) {
            return false;
        }
        let Some(subjects) = &self.subjects else { return true };
        let PolicyMatch { kinds, changes, repositories: _, names, paths, labels, to_states } = subjects;
        let fits = |is_any: bool, is_meant: bool| is_any || is_meant;
        fits(kinds.is_empty(), kinds.contains(&subject.key.kind))
            && fits(changes.is_empty(), changes.contains(&subject.change))
            && fits(names.is_empty(), names.iter().any(|glob| glob.matches(&subject.key.name)))
            && fits(
                paths.is_empty(),
                self.matches_either_state(subject.paths, |path| paths.iter().any(|glob| glob.matches(path))),
            )
            && fits(
                labels.is_empty(),
                self.matches_either_state(&specs(subject), |spec| has_labels(spec, labels)),
            )
            && fits(
                to_states.is_empty(),
                state_reached(subject).is_some_and(|state| to_states.contains(&state)),
            )
    }

    /// Whether it keeps changes from being applied without people.
    pub(super) fn requires_people(&self) -> bool {
        matches!(self.action, PolicyAction::Block | PolicyAction::RequireApproval)
    }

    /// Whether something holds for the states of a change. A change must not escape a rule that restrains it by moving
    /// away from what the rule is about, nor win one that lets it through by moving there: the one kind of rule is met
    /// when any state fits, the other only when all do.
    fn matches_either_state<T: Copy>(&self, states: &[T], fits: impl Fn(T) -> bool) -> bool {
        let mut states = states.iter().copied();
        match self.action {
            PolicyAction::Block | PolicyAction::RequireApproval => states.any(fits),
            PolicyAction::AutoApprove | PolicyAction::NotifyAndProceed => {
                states.len() > 0 && states.all(fits)
            }
        }
    }
}

fn specs<'a>(subject: &GateSubject<'a>) -> Vec<&'a Spec> {
    subject.before.into_iter().chain(subject.after).collect()
}

/// The state that a change brings a module version into: that of a version whose state changes, or the first one of the
/// version that a module makes.
fn state_reached(subject: &GateSubject<'_>) -> Option<Lifecycle> {
    match (subject.before, subject.after) {
        (before, Some(Spec::ModuleVersion(after))) => {
            let before = before.and_then(|before| match before {
                Spec::ModuleVersion(before) => Some(before.state),
                _ => None,
            });
            (before != Some(after.state)).then_some(after.state)
        }
        (before, Some(Spec::Module(after))) => {
            let before = before.and_then(|before| match before {
                Spec::Module(before) => before.version.as_ref(),
                _ => None,
            });
            let is_new = after.version.is_some() && after.version.as_ref() != before;
            is_new.then(|| after.version_state.lifecycle())
        }
        _ => None,
    }
}

fn has_labels(spec: &Spec, wanted: &Labels) -> bool {
    let labels = match spec {
        Spec::Node(node) => &node.labels,
        Spec::Cluster(cluster) => &cluster.labels,
        Spec::Template(_)
        | Spec::Module(_)
        | Spec::ModuleVersion(_)
        | Spec::Assignment(_)
        | Spec::Network(_)
        | Spec::Peer(_)
        | Spec::VirtualIp(_)
        | Spec::FederationPeer(_)
        | Spec::ClusterGroup(_)
        | Spec::Bundle(_)
        | Spec::NotificationProvider(_)
        | Spec::Alert(_) => return false,
    };
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}

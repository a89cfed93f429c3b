//! Asking the gate about a proposal.

use windlass_core::diff::Change;
use windlass_core::digest::Digest;
use windlass_core::gate::{self, AutoApply, Judgement, Policy, Subject};
use windlass_core::time::Timestamp;
use windlass_store::{Account, Approval, Proposal, Repository};

/// What the gate needs to know of an account.
#[derive(Clone, Debug)]
pub(crate) struct Gatekeeper {
    policy: Policy,
    halt: Option<gate::Halt>,
}

/// A change that might be proposed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foreseeable<'a> {
    pub(crate) change: &'a Change,
    pub(crate) repository: &'a Repository,
    /// The file that declares the resource.
    pub(crate) path: Option<&'a str>,
    /// The e-mail address of the commit's author.
    pub(crate) author: Option<&'a str>,
}

impl Gatekeeper {
    pub(crate) fn of(account: &Account) -> Gatekeeper {
        // It was valid when it was stored. Should it not be any more, nothing passes by itself: the default asks.
        let policy = Policy::read("policy", &account.policy).0.unwrap_or_default();
        let halt = account.halt.as_ref().map(|halt| gate::Halt {
            by: halt.by.clone(),
            reason: halt.reason.clone(),
            since: halt.at,
        });
        Gatekeeper { policy, halt }
    }

    /// What the policy, the approvals and the kill switch say about a proposal now.
    pub(crate) fn judge(
        &self,
        proposal: &Proposal,
        repository: Option<&Repository>,
        approvals: &[Approval],
        now: Timestamp,
    ) -> Judgement {
        let paths: Vec<&str> = proposal.declared_at.iter().map(|(file, _)| file.as_str()).collect();
        let given = given(approvals);
        gate::judge(&self.policy, &subject(proposal, repository, &paths), &given, now)
            .unless_halted(self.halt.as_ref())
    }

    /// What the policy and the kill switch would say about a change that nobody proposed yet.
    pub(crate) fn foresee(&self, change: &Foreseeable<'_>, now: Timestamp) -> Judgement {
        let paths: Vec<&str> = change.path.into_iter().collect();
        let Foreseeable { change, repository, author, .. } = *change;
        let subject = Subject {
            change: change.action(),
            key: &change.key,
            repository: &repository.name,
            paths: &paths,
            before: change.before.as_deref(),
            after: change.after.as_deref(),
            author,
            editor: None,
            auto_apply: auto_apply(Some(repository)),
            digest: gate::binding(&change.key, change.base, change.desired),
        };
        gate::judge(&self.policy, &subject, &[], now).unless_halted(self.halt.as_ref())
    }

    /// Why this person cannot approve a proposal; nothing if they can.
    pub(crate) fn why_not(
        &self,
        proposal: &Proposal,
        repository: Option<&Repository>,
        approvals: &[Approval],
        person: &str,
    ) -> Option<String> {
        let paths: Vec<&str> = proposal.declared_at.iter().map(|(file, _)| file.as_str()).collect();
        gate::why_not(&self.policy, &subject(proposal, repository, &paths), &given(approvals), person)
    }
}

fn given(approvals: &[Approval]) -> Vec<gate::Approval<'_>> {
    approvals
        .iter()
        .filter_map(|approval| {
            let digest = Digest::parse(&approval.digest)?;
            Some(gate::Approval { approver: &approval.approver, digest })
        })
        .collect()
}

fn subject<'p>(proposal: &'p Proposal, repository: Option<&Repository>, paths: &'p [&'p str]) -> Subject<'p> {
    Subject {
        change: proposal.change.action(),
        key: &proposal.change.key,
        repository: &proposal.repository_name,
        paths,
        before: proposal.change.before.as_deref(),
        after: proposal.effective().map(|spec| spec.as_ref()),
        author: proposal.author.as_deref(),
        editor: proposal.edit.as_ref().map(|edit| edit.by.as_str()),
        auto_apply: auto_apply(repository),
        digest: proposal.content_digest(),
    }
}

fn auto_apply(repository: Option<&Repository>) -> AutoApply {
    let is_auto = repository.is_some_and(|repository| repository.auto_apply);
    if is_auto { AutoApply::On } else { AutoApply::Off }
}

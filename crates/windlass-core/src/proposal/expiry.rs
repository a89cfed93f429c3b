//! When a proposal expires, and why.

use super::{CloseReason, Proposal, ProposedAgain, Status};
use crate::gate::{Consent, Hold, Judgement};
use crate::time::Timestamp;

/// When a proposal expires that was to expire at a moment. What is approved and waits for nothing but its time window
/// keeps until the window closes, however long that is: nobody has anything left to decide about it.
pub fn expires_at(status: Status, planned: Timestamp, judgement: &Judgement) -> Timestamp {
    let is_granted = matches!(judgement.consent, Consent::Granted { .. });
    match judgement.hold.as_slice() {
        [Hold::OutsideWindows { next: Some(next) }] if status == Status::Approved && is_granted => {
            planned.max(next.until)
        }
        _ => planned,
    }
}

/// Why time ran out: because nobody decided, or because something stayed in the way of what was approved.
pub fn expiry_reason(proposal: &Proposal) -> CloseReason {
    let again = match proposal.is_direct() {
        true => ProposedAgain::ByAuthor,
        false => ProposedAgain::BySync,
    };
    match proposal.status {
        Status::Approved => CloseReason::NotApplied { blocked_by: proposal.blocked_by.clone(), again },
        _ => CloseReason::NotDecided { again },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::Action;
    use crate::digest::Digest;
    use crate::gate::{
        ApprovalFacts, Approvers, AutoApply, ContentOrigin, Contributors, GateSubject, GivenApprovals, Halt,
        Policy, RepositoryIdentity, judge,
    };
    use crate::id::tests::lasting;
    use crate::resource::{Kind, ResourceKey};

    const POLICY: &str = "rules:\n  - name: weekend\n    action: require_approval\n    windows: [{days: [sat], from: \"22:00\", to: \"02:00\"}]\n";

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("a moment")
    }

    fn judged(approvals: &[ApprovalFacts<'_>], now: Timestamp) -> Judgement {
        let policy = Policy::read("policy", POLICY).0.expect("a policy");
        let key = ResourceKey::new(Kind::Node, "a");
        let subject = GateSubject {
            change: Action::Create,
            key: &key,
            repository: Some(RepositoryIdentity { id: lasting("r1"), name: "fleet" }),
            content: ContentOrigin::Commit,
            paths: &[],
            before: None,
            after: None,
            contributors: &Contributors::default(),
            is_contested: false,
            hosts: &[],
            auto_apply: AutoApply::Off,
            digest: Digest::of(b"what"),
        };
        let approvers: Approvers = ["ada@example.com"].into_iter().collect();
        judge(&policy, &subject, GivenApprovals { approvals, approvers: &approvers }, now)
    }

    #[test]
    fn what_waits_only_for_its_window_keeps_until_the_window_closes() {
        let (monday, soon) = (at("2026-11-16T12:00:00Z"), at("2026-11-16T13:00:00Z"));
        let yes = [ApprovalFacts { approver: "ada@example.com", digest: Digest::of(b"what"), lapsed: None }];
        let judgement = judged(&yes, monday);
        let end = at("2026-11-22T02:00:00Z");
        assert_eq!(expires_at(Status::Approved, soon, &judgement), end);
        let later = at("2026-12-01T00:00:00Z");
        assert_eq!(expires_at(Status::Approved, later, &judgement), later, "never earlier than planned");
        assert_eq!(expires_at(Status::PendingApproval, soon, &judgement), soon);
        assert_eq!(expires_at(Status::Approved, soon, &judged(&[], monday)), soon, "nobody approved it");
        let halt = Halt { by: "ada".to_owned(), reason: "a storm".to_owned(), since: monday };
        let halted = judgement.unless_halted(Some(&halt));
        assert_eq!(expires_at(Status::Approved, soon, &halted), soon, "the window is not all it waits for");
        let open = judged(&yes, at("2026-11-21T23:00:00Z"));
        assert_eq!(expires_at(Status::Approved, soon, &open), soon, "the window is open");
    }
}

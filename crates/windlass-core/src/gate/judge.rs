//! The judgement: who consents, and what still holds the change back.

use std::fmt;

use super::approver::Approvers;
use super::contributor::{ContributorRole, is_same_person};
use super::halt::{FailedSync, Halt};
use super::policy::{Policy, PolicyAction, PolicyRule};
use super::reason::{ApprovalCount, BlockingRule, GateReason, IgnoredApproval};
use super::subject::{ApprovalFacts, AutoApply, ContentOrigin, GateSubject, GivenApprovals};
use super::window::WindowOpening;
use crate::diff::Action;
use crate::states::states;
use crate::time::Timestamp;

/// What the policy and the approvals say about a change at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The rule that decided; none if none matched.
    pub rule: Option<String>,
    /// Whether it was agreed to.
    pub consent: Consent,
    /// Why it may not be applied right now, even if agreed to.
    pub hold: Vec<Hold>,
}

/// Whether a change was agreed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Yes.
    Granted {
        /// By whom or what.
        by: GrantedBy,
    },
    /// People have to approve first.
    Needed {
        /// Approvals that count.
        have: usize,
        /// Approvals that are needed.
        need: usize,
        /// What people should know: why approvals are needed, and why some do not count.
        reasons: Vec<GateReason>,
    },
    /// Nobody can agree to it.
    Refused {
        /// Why.
        reason: BlockingRule,
    },
}

states! {
    /// Whether a change was agreed to.
    ConsentState as Consent {
        /// People or a rule approved it.
        Granted "granted",
        /// People have to approve first.
        Needed "needed",
        /// Nobody can agree to it.
        Refused "refused",
    }
}

impl Consent {
    /// The same in a word.
    pub const fn state(&self) -> ConsentState {
        match self {
            Consent::Granted { .. } => ConsentState::Granted,
            Consent::Needed { .. } => ConsentState::Needed,
            Consent::Refused { .. } => ConsentState::Refused,
        }
    }
}

/// By whom or what a change was agreed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantedBy {
    /// A rule of the policy.
    Policy {
        /// Whether people are told.
        notify: Notify,
    },
    /// The repository's `auto_apply`.
    AutoApply,
    /// These people, by e-mail address.
    People(Vec<String>),
}

/// Whether people are told about a change that went through by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// They are.
    Yes,
    /// They are not.
    No,
}

/// Why a change may not be applied right now.
#[derive(Clone, Debug, PartialEq)]
pub enum Hold {
    /// No window of the rule is open.
    OutsideWindows {
        /// When the next one opens.
        next: Option<WindowOpening>,
    },
    /// The account is halted.
    Halted(Halt),
    /// The newest sync of the change's repository failed, so that nobody knows whether git still wants it.
    SyncFailed(FailedSync),
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hold::OutsideWindows { next: Some(next) } => {
                write!(f, "outside the rule's windows; the next one opens {next}")
            }
            Hold::OutsideWindows { next: None } => {
                f.write_str("outside the rule's windows, and none opens soon")
            }
            Hold::Halted(halt) => halt.fmt(f),
            Hold::SyncFailed(failed) => failed.fmt(f),
        }
    }
}

impl Judgement {
    /// Whether the change may be applied now.
    pub fn may_apply(&self) -> bool {
        self.hold.is_empty() && matches!(self.consent, Consent::Granted { .. })
    }

    /// The same judgement in an account that may be halted.
    pub fn unless_halted(mut self, halt: Option<&Halt>) -> Judgement {
        self.hold.extend(halt.cloned().map(Hold::Halted));
        self
    }

    /// The same judgement of a change whose repository could perhaps not be read when it was last tried.
    pub fn unless_sync_failed(mut self, failed: Option<FailedSync>) -> Judgement {
        self.hold.extend(failed.map(Hold::SyncFailed));
        self
    }
}

/// Whether a change may be applied. The first rule that matches decides; without one, one approval is needed. Of an edited
/// proposal, both what the commit declares and what it was edited to are judged, and the stricter judgement holds.
pub fn judge(
    policy: &Policy,
    subject: &GateSubject<'_>,
    given: GivenApprovals<'_>,
    now: Timestamp,
) -> Judgement {
    let rules = DecidingRules::of(policy, subject);
    let consent = match verdict(&rules, subject) {
        RuleDecision::Refuse(reason) => Consent::Refused { reason },
        RuleDecision::Grant(by) => Consent::Granted { by },
        RuleDecision::Ask => rules.consent(subject, given),
    };
    let hold = rules.given().find_map(|rule| outside_windows(rule, now)).into_iter().collect();
    Judgement { rule: rules.strictest().map(|rule| rule.name.to_string()), consent, hold }
}

/// Why this person cannot approve the change; nothing if they can.
pub fn why_cannot_approve(
    policy: &Policy,
    subject: &GateSubject<'_>,
    given: GivenApprovals<'_>,
    person: &str,
) -> Option<String> {
    let rules = DecidingRules::of(policy, subject);
    match verdict(&rules, subject) {
        RuleDecision::Refuse(reason) => return Some(reason.to_string()),
        RuleDecision::Grant(_) => return Some("no approval is needed".to_owned()),
        RuleDecision::Ask => {}
    }
    if let Some((role, rule)) = rules.excluded_as(subject, person) {
        return Some(format!(
            "you are {}, who cannot approve this by the rule `{}`",
            role.phrase(),
            rule.name
        ));
    }
    if !given.approvers.include(person) {
        return Some("you may not approve in this account".to_owned());
    }
    let counted = rules.count(subject, given);
    if counted.people.iter().any(|approver| is_same_person(approver, person)) {
        return Some("you have approved this already".to_owned());
    }
    let need = rules.need(subject);
    (counted.people.len() >= need).then(|| format!("it has the {} it needs", ApprovalCount(need)))
}

/// Why an approval of a change does not count; nothing if it does.
pub fn why_approval_does_not_count(
    policy: &Policy,
    subject: &GateSubject<'_>,
    approval: &ApprovalFacts<'_>,
    approvers: &Approvers,
) -> Option<IgnoredApproval> {
    DecidingRules::of(policy, subject).why_not_counted(subject, approval, approvers)
}

/// What is decided before anyone is asked.
enum RuleDecision {
    Refuse(BlockingRule),
    Grant(GrantedBy),
    Ask,
}

fn verdict(rules: &DecidingRules<'_>, subject: &GateSubject<'_>) -> RuleDecision {
    if let Some(rule) = rules.given().find(|rule| rule.action == PolicyAction::Block) {
        return RuleDecision::Refuse(BlockingRule {
            rule: rule.name.to_string(),
            reason: rule.reason.clone(),
        });
    }
    // What someone typed is approved by people alone: otherwise they could type what a rule approves. And what another
    // repository owns is restrained by rules about that one, which a rule about this one must not get round.
    let (ContentOrigin::Commit, false, [rule]) = (subject.content, subject.is_contested, rules.0.as_slice())
    else {
        return RuleDecision::Ask;
    };
    if subject.auto_apply == AutoApply::On && subject.change != Action::Destroy {
        return RuleDecision::Grant(GrantedBy::AutoApply);
    }
    // What is gone stays gone, so a rule lets a destroy through only where it says that it means destroys.
    let is_meant = subject.change != Action::Destroy || rule.is_some_and(names_destroys);
    match rule.map(|rule| rule.action) {
        Some(PolicyAction::AutoApprove) if is_meant => {
            RuleDecision::Grant(GrantedBy::Policy { notify: Notify::No })
        }
        Some(PolicyAction::NotifyAndProceed) if is_meant => {
            RuleDecision::Grant(GrantedBy::Policy { notify: Notify::Yes })
        }
        _ => RuleDecision::Ask,
    }
}

fn names_destroys(rule: &PolicyRule) -> bool {
    rule.subjects.as_ref().is_some_and(|subjects| subjects.changes.contains(&Action::Destroy))
}

/// The rules that decide about a change, none standing for the default: one, another for an edited proposal, and those that
/// restrain changes of what it is attached to.
struct DecidingRules<'p>(Vec<Option<&'p PolicyRule>>);

/// Approvals that count, and why the others do not.
struct CountedApprovals {
    people: Vec<String>,
    ignored: Vec<GateReason>,
}

impl<'p> DecidingRules<'p> {
    fn of(policy: &'p Policy, subject: &GateSubject<'_>) -> DecidingRules<'p> {
        let first = |subject: &GateSubject<'_>| policy.rules.iter().find(|rule| rule.matches(subject));
        let mut rules = vec![first(subject)];
        if let ContentOrigin::Edited { declared } = subject.content {
            rules.push(first(&GateSubject { after: declared, ..*subject }));
        }
        for host in subject.hosts {
            let files: Vec<&str> = host.file.into_iter().collect();
            let as_host = [first(&host.asked_by_owner(subject)), first(&host.updated(subject, &files))];
            // Whoever lets changes of the host through did not mean what others attach to it.
            rules.extend(as_host.into_iter().filter(|rule| rule.is_some_and(PolicyRule::requires_people)));
        }
        DecidingRules(rules)
    }

    fn given(&self) -> impl Iterator<Item = &'p PolicyRule> {
        self.0.iter().copied().flatten()
    }

    /// The rule that asks for most: one that blocks, else the one with most approvals, the first of equals.
    fn strictest(&self) -> Option<&'p PolicyRule> {
        let strictness = |rule: &&PolicyRule| (rule.action == PolicyAction::Block, approvals_of(rule));
        self.given().reduce(|first, next| if strictness(&next) > strictness(&first) { next } else { first })
    }

    /// How many approvals are needed. Where someone may be missing among those who cannot approve, one of the approvals
    /// may be theirs, so that one more is needed.
    fn need(&self, subject: &GateSubject<'_>) -> usize {
        let needed = |rule| approvals_of(rule) + usize::from(guards_against_unknown(rule, subject));
        self.given().map(needed).max().unwrap_or(1)
    }

    /// Whether this person may not approve because they had a hand in the change: in which role, and by which rule.
    fn excluded_as(
        &self,
        subject: &GateSubject<'_>,
        person: &str,
    ) -> Option<(ContributorRole, &'p PolicyRule)> {
        let rule = self.given().find(|rule| rule.not_author)?;
        let people = subject.contributors.people();
        let contributor = people.iter().find(|contributor| is_same_person(&contributor.person, person))?;
        Some((contributor.role, rule))
    }

    fn count(&self, subject: &GateSubject<'_>, given: GivenApprovals<'_>) -> CountedApprovals {
        let mut people: Vec<String> = Vec::new();
        let mut ignored: Vec<(&str, IgnoredApproval)> = Vec::new();
        let has = |people: &[String], person: &str| people.iter().any(|other| is_same_person(other, person));
        for approval in given.approvals {
            let approver = approval.approver;
            if approver.trim().is_empty() || has(&people, approver) {
                continue;
            }
            match self.why_not_counted(subject, approval, given.approvers) {
                Some(why) => ignored.push((approver, why)),
                None => people.push(approver.to_owned()),
            }
        }
        ignored.retain(|(approver, _)| !has(&people, approver));
        let ignored = ignored
            .into_iter()
            .map(|(approver, why)| GateReason::ApprovalIgnored { approver: approver.to_owned(), why })
            .collect();
        CountedApprovals { people, ignored }
    }

    fn why_not_counted(
        &self,
        subject: &GateSubject<'_>,
        approval: &ApprovalFacts<'_>,
        approvers: &Approvers,
    ) -> Option<IgnoredApproval> {
        if approval.digest != subject.digest {
            return Some(IgnoredApproval::OtherContent);
        }
        if let Some(why) = approval.lapsed {
            return Some(IgnoredApproval::Lapsed(why.to_owned()));
        }
        if !approvers.include(approval.approver) {
            return Some(IgnoredApproval::NoApprover);
        }
        let (role, _) = self.excluded_as(subject, approval.approver)?;
        Some(IgnoredApproval::Contributor(role))
    }

    fn consent(&self, subject: &GateSubject<'_>, given: GivenApprovals<'_>) -> Consent {
        let counted = self.count(subject, given);
        let (have, need) = (counted.people.len(), self.need(subject));
        if have >= need {
            return Consent::Granted { by: GrantedBy::People(counted.people) };
        }
        let mut reasons = vec![self.asks(subject)];
        reasons.extend(self.asks_one_more(subject));
        reasons.extend(counted.ignored);
        Consent::Needed { have, need, reasons }
    }

    /// Why one approval more is needed than the rules say.
    fn asks_one_more(&self, subject: &GateSubject<'_>) -> Option<GateReason> {
        let gap = subject.contributors.gap()?;
        let rule = self.given().find(|rule| rule.not_author)?;
        Some(GateReason::ContributorsUnknown { rule: rule.name.to_string(), gap })
    }

    /// Why approvals are needed.
    fn asks(&self, subject: &GateSubject<'_>) -> GateReason {
        let asking = self.strictest().filter(|rule| match (subject.content, subject.is_contested) {
            (ContentOrigin::Commit, false) => true,
            _ => rule.action == PolicyAction::RequireApproval,
        });
        let approvals = self.given().map(approvals_of).max().unwrap_or(1);
        match (asking, subject.content) {
            (Some(rule), _) => {
                GateReason::RuleAsks { rule: rule.name.to_string(), approvals, reason: rule.reason.clone() }
            }
            (None, ContentOrigin::Commit) if subject.is_contested => GateReason::OwnedElsewhere { approvals },
            (None, ContentOrigin::Commit) => GateReason::NoRule { approvals },
            (None, ContentOrigin::Edited { .. }) => GateReason::Edited { approvals },
            (None, ContentOrigin::Direct) => GateReason::Direct { approvals },
        }
    }
}

fn approvals_of(rule: &PolicyRule) -> usize {
    let need = rule.approvals.as_ref().map_or(1, |approvals| approvals.0);
    usize::try_from(need).expect("between 1 and 10")
}

/// Whether a rule keeps contributors from approving while not all of them are known.
fn guards_against_unknown(rule: &PolicyRule, subject: &GateSubject<'_>) -> bool {
    rule.not_author && subject.contributors.gap().is_some()
}

fn outside_windows(rule: &PolicyRule, now: Timestamp) -> Option<Hold> {
    if rule.windows.is_empty() || rule.windows.iter().any(|window| window.is_open(now)) {
        return None;
    }
    let openings = rule.windows.iter().filter_map(|window| window.next_opening(now));
    Some(Hold::OutsideWindows { next: openings.min_by_key(|opening| opening.at) })
}

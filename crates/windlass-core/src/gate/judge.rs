//! The judgement: who consents, and what still holds the change back.

use std::fmt;

use super::halt::Halt;
use super::policy::{Policy, PolicyAction, PolicyRule};
use super::subject::{Approval, AutoApply, Subject, is_same_person};
use super::window::Opening;
use crate::diff::Action;
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
        reasons: Vec<String>,
    },
    /// Nobody can agree to it.
    Refused {
        /// Why.
        reason: String,
    },
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
        next: Option<Opening>,
    },
    /// The account is halted.
    Halted(Halt),
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
}

/// Whether a change may be applied. The first rule that matches decides; without one, one approval is needed.
pub fn judge(
    policy: &Policy,
    subject: &Subject<'_>,
    approvals: &[Approval<'_>],
    now: Timestamp,
) -> Judgement {
    let rule = deciding_rule(policy, subject);
    let consent = match verdict(rule, subject) {
        Verdict::Refuse(reason) => Consent::Refused { reason },
        Verdict::Grant(by) => Consent::Granted { by },
        Verdict::Ask(terms) => terms.consent(subject, approvals),
    };
    let hold = rule.and_then(|rule| outside_windows(rule, now)).into_iter().collect();
    Judgement { rule: rule.map(|rule| rule.name.to_string()), consent, hold }
}

/// Why this person cannot approve the change; nothing if they can.
pub fn why_not(
    policy: &Policy,
    subject: &Subject<'_>,
    approvals: &[Approval<'_>],
    person: &str,
) -> Option<String> {
    let terms = match verdict(deciding_rule(policy, subject), subject) {
        Verdict::Refuse(reason) => return Some(reason),
        Verdict::Grant(_) => return Some("no approval is needed".to_owned()),
        Verdict::Ask(terms) => terms,
    };
    if let Some(role) = terms.excluded_as(subject, person) {
        return Some(format!("you are {role}, who cannot approve this{}", terms.by_rule()));
    }
    let counted = terms.count(subject, approvals);
    if counted.people.iter().any(|approver| is_same_person(approver, person)) {
        return Some("you have approved this already".to_owned());
    }
    let need = terms.need();
    (counted.people.len() >= need).then(|| format!("it has the {} it needs", count_text(need)))
}

fn deciding_rule<'p>(policy: &'p Policy, subject: &Subject<'_>) -> Option<&'p PolicyRule> {
    policy.rules.iter().find(|rule| rule.matches(subject))
}

/// What is decided before anyone is asked.
enum Verdict<'p> {
    Refuse(String),
    Grant(GrantedBy),
    Ask(Terms<'p>),
}

fn verdict<'p>(rule: Option<&'p PolicyRule>, subject: &Subject<'_>) -> Verdict<'p> {
    let action = rule.map_or(PolicyAction::RequireApproval, |rule| rule.action);
    if let (PolicyAction::Block, Some(rule)) = (action, rule) {
        return Verdict::Refuse(with_reason(format!("the rule `{}` blocks it", rule.name), &rule.reason));
    }
    if subject.auto_apply == AutoApply::On && subject.change != Action::Destroy {
        return Verdict::Grant(GrantedBy::AutoApply);
    }
    // What is gone stays gone, so a rule lets a destroy through only where it says that it means destroys.
    let is_meant = subject.change != Action::Destroy || rule.is_some_and(names_destroys);
    match action {
        PolicyAction::AutoApprove if is_meant => Verdict::Grant(GrantedBy::Policy { notify: Notify::No }),
        PolicyAction::NotifyAndProceed if is_meant => {
            Verdict::Grant(GrantedBy::Policy { notify: Notify::Yes })
        }
        _ => Verdict::Ask(Terms { rule }),
    }
}

fn names_destroys(rule: &PolicyRule) -> bool {
    rule.subjects.as_ref().is_some_and(|subjects| subjects.changes.contains(&Action::Destroy))
}

/// Under which terms people are asked.
struct Terms<'p> {
    rule: Option<&'p PolicyRule>,
}

/// Approvals that count, and why the others do not.
struct Counted {
    people: Vec<String>,
    ignored: Vec<String>,
}

impl Terms<'_> {
    fn need(&self) -> usize {
        let need = self.rule.and_then(|rule| rule.approvals).map_or(1, |approvals| approvals.0);
        usize::try_from(need).expect("between 1 and 10")
    }

    fn by_rule(&self) -> String {
        self.rule.map(|rule| format!(" by the rule `{}`", rule.name)).unwrap_or_default()
    }

    /// Whether this person may not approve because the change is theirs, and in which role.
    fn excluded_as(&self, subject: &Subject<'_>, person: &str) -> Option<&'static str> {
        if !self.rule.is_some_and(|rule| rule.not_author) {
            return None;
        }
        let is = |whose: Option<&str>| whose.is_some_and(|whose| is_same_person(whose, person));
        match (is(subject.author), is(subject.editor)) {
            (true, _) => Some("the commit's author"),
            (false, true) => Some("the proposal's editor"),
            (false, false) => None,
        }
    }

    fn count(&self, subject: &Subject<'_>, approvals: &[Approval<'_>]) -> Counted {
        let mut people: Vec<String> = Vec::new();
        let mut ignored: Vec<(&str, &'static str)> = Vec::new();
        let has = |people: &[String], person: &str| people.iter().any(|other| is_same_person(other, person));
        for Approval { approver, digest } in approvals {
            if approver.trim().is_empty() || has(&people, approver) {
                continue;
            }
            let why_not = match self.excluded_as(subject, approver) {
                _ if *digest != subject.digest => Some("was for another state of this change"),
                excluded => excluded.map(|_| "does not count, because the change is theirs"),
            };
            match why_not {
                Some(why_not) => ignored.push((approver, why_not)),
                None => people.push((*approver).to_owned()),
            }
        }
        ignored.retain(|(approver, _)| !has(&people, approver));
        let ignored =
            ignored.iter().map(|(approver, why)| format!("the approval of {approver} {why}")).collect();
        Counted { people, ignored }
    }

    fn consent(&self, subject: &Subject<'_>, approvals: &[Approval<'_>]) -> Consent {
        let counted = self.count(subject, approvals);
        let (have, need) = (counted.people.len(), self.need());
        if have >= need {
            return Consent::Granted { by: GrantedBy::People(counted.people) };
        }
        let asks = match self.rule {
            Some(rule) => {
                with_reason(format!("the rule `{}` asks for {}", rule.name, count_text(need)), &rule.reason)
            }
            None => format!("no rule matches, so {} is needed", count_text(need)),
        };
        let mut reasons = vec![asks];
        reasons.extend(counted.ignored);
        Consent::Needed { have, need, reasons }
    }
}

fn outside_windows(rule: &PolicyRule, now: Timestamp) -> Option<Hold> {
    if rule.windows.is_empty() || rule.windows.iter().any(|window| window.is_open(now)) {
        return None;
    }
    let openings = rule.windows.iter().filter_map(|window| window.next_opening(now));
    Some(Hold::OutsideWindows { next: openings.min_by_key(|opening| opening.at) })
}

fn with_reason(said: String, reason: &str) -> String {
    match reason.trim() {
        "" => said,
        reason => format!("{said}: {reason}"),
    }
}

fn count_text(count: usize) -> String {
    match count {
        1 => "one approval".to_owned(),
        many => format!("{many} approvals"),
    }
}

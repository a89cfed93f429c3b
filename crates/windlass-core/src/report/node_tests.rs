//! One sentence for every situation of a node.

use proptest::prelude::*;

use super::*;
use crate::digest::Digest;
use crate::observed::{
    ApplyFailure, Enrolment, Observation, ReportOrder, Sighting, StoredObservation, UnknownCause,
};
use crate::report::TargetStatus;

const OFFLINE_AFTER: Duration = Duration::from_secs(90);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn assigned(generation: u64) -> AcceptedTarget {
    AcceptedTarget { generation: Generation(generation), digest: Digest::of(b"assigned") }
}

fn observed(generation: u64, observed: Observed, failure: Option<&str>) -> ObservedTarget {
    let order = ReportOrder { enrolment: Enrolment(1), generation: Generation(generation), sequence: 1 };
    let failure = failure.map(|message| ApplyFailure {
        generation: Generation(generation),
        since: at(40),
        message: AgentMessage::new(message),
    });
    let whole = StoredObservation { order, observation: Observation { observed, failure } };
    ObservedTarget { whole: Some(whole), ..ObservedTarget::default() }
}

fn known(text: &str, generation: u64) -> Observed {
    let seen = Sighting { generation: Generation(generation), since: at(50), at: at(60) };
    Observed::Known { digest: Digest::of(text.as_bytes()), seen }
}

fn first() -> FirstDrift {
    FirstDrift {
        item: ItemKey::reported("path", "/etc/nginx/nginx.conf").expect("a path"),
        module: "nginx".to_owned(),
        since: at(55),
    }
}

fn enrolled(contact: i64) -> NodeAgent {
    NodeAgent::Enrolled { at: at(1), last_contact: LastContact::At(at(contact)) }
}

/// A node in contact that is in sync.
struct Case {
    agent: NodeAgent,
    assignment: Option<AcceptedTarget>,
    problem: Option<AssignmentProblem>,
    observed: ObservedTarget,
    drift: DriftSummary,
    failed: Option<FailedModule>,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            agent: enrolled(100),
            assignment: Some(assigned(4)),
            problem: None,
            observed: observed(4, known("assigned", 4), None),
            drift: DriftSummary::default(),
            failed: None,
        }
    }
}

impl Case {
    fn status(&self) -> NodeStatus {
        node_status(&NodeFacts {
            name: "edge-01",
            agent: self.agent,
            assignment: self.assignment,
            problem: self.problem.as_ref(),
            observed: &self.observed,
            drift: &self.drift,
            failed: self.failed.as_ref(),
            offline_after: OFFLINE_AFTER,
            now: at(110),
        })
    }
}

#[test]
fn the_reason_is_one_sentence_that_names_what_to_look_at() {
    let drifted = || observed(4, known("other", 4), None);
    let failed =
        |message: &str| FailedModule { name: "nginx".to_owned(), message: AgentMessage::new(message) };
    let summary =
        |open, accepted, left_out| DriftSummary { open, accepted, left_out, first: (open > 0).then(first) };
    let unreadable = Observed::Unknown {
        since: at(50),
        cause: UnknownCause::Unreadable(AgentMessage::new("dpkg is locked.\nsecond line")),
    };
    let cases = [
        (Case::default(), TargetStatus::InSync, "In sync as of 1970-01-01T00:01:00Z."),
        (
            Case { agent: NodeAgent::NotEnrolled, ..Case::default() },
            TargetStatus::Unknown,
            "No agent is enrolled; run `windlass node enroll edge-01`.",
        ),
        (
            Case {
                agent: NodeAgent::Enrolled { at: at(1), last_contact: LastContact::Never },
                ..Case::default()
            },
            TargetStatus::Unknown,
            "Its agent was enrolled at 1970-01-01T00:00:01Z and has not connected yet.",
        ),
        (
            Case { agent: enrolled(10), ..Case::default() },
            TargetStatus::Offline,
            "Offline since 1970-01-01T00:00:10Z; last known: in sync as of 1970-01-01T00:01:00Z.",
        ),
        (
            Case { agent: enrolled(10), observed: ObservedTarget::default(), ..Case::default() },
            TargetStatus::Offline,
            "Offline since 1970-01-01T00:00:10Z.",
        ),
        (
            Case { observed: ObservedTarget::default(), ..Case::default() },
            TargetStatus::Unknown,
            "Its agent has not reported yet.",
        ),
        (
            Case { assignment: None, ..Case::default() },
            TargetStatus::Unknown,
            "Nothing is assigned to it yet.",
        ),
        (
            Case {
                problem: Some(AssignmentProblem {
                    message: "module nginx needs version 2".to_owned(),
                    since: at(90),
                }),
                ..Case::default()
            },
            TargetStatus::Failed,
            "Its accepted state cannot be resolved: module nginx needs version 2.",
        ),
        (
            Case { observed: observed(3, known("old", 3), None), ..Case::default() },
            TargetStatus::Applying,
            "Applying generation 4, reached 3.",
        ),
        (
            Case { observed: observed(9, known("new", 9), None), ..Case::default() },
            TargetStatus::Unknown,
            "Its agent reports generation 9, and only generation 4 was assigned: enrol the node again.",
        ),
        (
            Case { observed: observed(4, unreadable, None), ..Case::default() },
            TargetStatus::Unknown,
            "Its agent cannot read the state since 1970-01-01T00:00:50Z: dpkg is locked.",
        ),
        (
            Case {
                observed: observed(4, known("old", 4), Some("some items failed")),
                failed: Some(failed("apt-get exited with 100.\nE: no space")),
                ..Case::default()
            },
            TargetStatus::Failed,
            "Module nginx failed since 1970-01-01T00:00:40Z: apt-get exited with 100.",
        ),
        (
            Case { observed: observed(4, known("old", 4), Some("no space left")), ..Case::default() },
            TargetStatus::Failed,
            "Applying failed since 1970-01-01T00:00:40Z: no space left.",
        ),
        (
            Case { observed: drifted(), drift: summary(1, 0, 0), ..Case::default() },
            TargetStatus::Drifted,
            "Drifted: path /etc/nginx/nginx.conf of module nginx changed since 1970-01-01T00:00:55Z.",
        ),
        (
            Case { observed: drifted(), drift: summary(2, 1, 3), ..Case::default() },
            TargetStatus::Drifted,
            "Drifted: path /etc/nginx/nginx.conf of module nginx changed since 1970-01-01T00:00:55Z, and 4 more items.",
        ),
        (
            Case { observed: drifted(), ..Case::default() },
            TargetStatus::Drifted,
            "Drifted since 1970-01-01T00:00:50Z, and its agent listed no item.",
        ),
        (
            Case { observed: drifted(), drift: summary(0, 2, 0), ..Case::default() },
            TargetStatus::InSync,
            "In sync as of 1970-01-01T00:01:00Z, with 2 accepted differences.",
        ),
        (
            Case { observed: drifted(), drift: summary(0, 2, 1), ..Case::default() },
            TargetStatus::Drifted,
            "Drifted since 1970-01-01T00:00:50Z, and its agent listed no item.",
        ),
    ];
    for (case, status, reason) in cases {
        let found = case.status();
        assert_eq!((found.report.status(), found.reason.as_str()), (status, reason));
    }
}

proptest! {
    /// Whatever an agent writes, the reason is one line of bounded length that ends like a sentence.
    #[test]
    fn a_reason_is_one_bounded_line(message in "(?s).{0,3000}", generation in 0..9_u64, contact in 0..200_i64) {
        let case = Case {
            agent: enrolled(contact),
            observed: observed(generation, known("other", generation), Some(&message)),
            failed: Some(FailedModule { name: "nginx".to_owned(), message: AgentMessage::new(&message) }),
            ..Case::default()
        };
        let reason = case.status().reason;
        prop_assert!(!reason.contains('\n') && reason.ends_with('.'), "{}", reason);
        prop_assert!(reason.chars().count() < 500);
    }

    /// Accepting differences never makes a node worse, and nothing but drift becomes in sync by it.
    #[test]
    fn accepted_differences_change_only_drift(text in "assigned|other", generation in 3..6_u64, accepted in 0..3_u64) {
        let plain = Case { observed: observed(generation, known(&text, generation), None), ..Case::default() };
        let without = plain.status().report.status();
        let with = Case { drift: DriftSummary { accepted, ..DriftSummary::default() }, ..plain }.status().report.status();
        prop_assert!(with == without || (without == TargetStatus::Drifted && with == TargetStatus::InSync));
    }
}

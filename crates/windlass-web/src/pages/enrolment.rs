//! Enrolment of agents: hosts that want to join, tokens that can still be used, and a form for a token of several nodes.

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::{EnrollmentCreated, EnrollmentTokenInfo, ErrorBody, NodeJoinInfo};
use windlass_core::enrolment::{JoinPolicy, JoinState};
use windlass_core::redacted::Redacted;

use super::Allowed;
use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// The address of the page.
pub const ENROLMENT_URL: &str = "/app/enrolment";

/// How long a token for several nodes is valid: seconds, and the label.
const LIFETIMES: [(u64, &str); 4] =
    [(3600, "1 hour"), (24 * 3600, "24 hours"), (7 * 24 * 3600, "7 days"), (30 * 24 * 3600, "30 days")];

/// The command that enrols a host. It contains a secret and is shown only once.
#[derive(Clone, Debug)]
pub struct EnrolmentCommand {
    /// The command to run on the host.
    pub command: Redacted<String>,
    /// What it is valid for, in words.
    pub valid: String,
    /// When it expires.
    pub expires_at: String,
    /// What happens when an agent runs it.
    pub join: JoinPolicy,
}

impl EnrolmentCommand {
    /// Whether the agent then waits for a person.
    pub(crate) fn waits_for_approval(&self) -> bool {
        self.join == JoinPolicy::Approve
    }

    /// The command of a new token.
    pub fn of(created: EnrollmentCreated) -> EnrolmentCommand {
        let EnrollmentCreated { enrollment_token: token, command, .. } = created;
        let uses = if token.max_uses == 1 { "once".to_owned() } else { format!("{} times", token.max_uses) };
        let valid = format!("{uses}, for {}", token_scope(&token));
        EnrolmentCommand {
            command: Redacted::new(command),
            valid,
            expires_at: token.expires_at,
            join: token.join,
        }
    }
}

/// What a token is for, in words.
pub(crate) fn token_scope(token: &EnrollmentTokenInfo) -> String {
    let target = token.target.as_ref().map(|target| target.replacen('/', " ", 1));
    let selected = token.selector.as_ref().map(|selector| format!("nodes with {selector}"));
    target.or(selected).unwrap_or_default()
}

/// What the user may do about enrolment.
#[derive(Clone, Debug)]
pub(crate) struct EnrolmentActions {
    pub(crate) enrol: Allowed,
    pub(crate) decide: Allowed,
}

impl EnrolmentActions {
    pub(crate) fn of(frame: &Frame) -> EnrolmentActions {
        let allowed = |permission| Allowed::unless(frame.why_not(permission));
        EnrolmentActions {
            enrol: allowed(Permission::FleetWrite),
            decide: allowed(Permission::GitopsApprove),
        }
    }
}

/// The values of the form for a token of several nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchTokenForm {
    /// Labels that the nodes have: `env=prod, tier=web`.
    pub labels: String,
    /// A pattern that their names match.
    pub name: String,
    /// How many agents may enrol.
    pub uses: String,
    /// What happens when a host wants to join.
    pub join: JoinPolicy,
    /// How long the token is valid.
    pub lifetime: u64,
}

impl Default for BatchTokenForm {
    fn default() -> BatchTokenForm {
        let (labels, name, uses) = (String::new(), String::new(), "10".to_owned());
        BatchTokenForm { labels, name, uses, join: JoinPolicy::Approve, lifetime: LIFETIMES[0].0 }
    }
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "enrolment.html")]
pub struct EnrolmentPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The joins that are not finished.
    pub joins: Vec<NodeJoinInfo>,
    /// The tokens with which agents can still enrol, newest first.
    pub tokens: Vec<EnrollmentTokenInfo>,
    /// The values in the form.
    pub form: BatchTokenForm,
    /// Why the server rejected a request.
    pub error: Option<ErrorBody>,
    /// The command of a new token.
    pub created: Option<EnrolmentCommand>,
}

impl EnrolmentPage {
    pub(crate) fn may(&self) -> EnrolmentActions {
        EnrolmentActions::of(&self.frame)
    }

    pub(crate) fn lifetimes(&self) -> Vec<(u64, &'static str, bool)> {
        LIFETIMES
            .into_iter()
            .map(|(seconds, label)| (seconds, label, seconds == self.form.lifetime))
            .collect()
    }

    /// What happens when a host wants to join: the word, the label, and whether it is selected.
    pub(crate) fn policies(&self) -> Vec<(&'static str, &'static str, bool)> {
        let label = |policy: JoinPolicy| match policy {
            JoinPolicy::Auto => "Automatically",
            JoinPolicy::Approve => "After approval",
        };
        let option = |policy: &JoinPolicy| (policy.slug(), label(*policy), *policy == self.form.join);
        JoinPolicy::ALL.iter().map(option).collect()
    }
}

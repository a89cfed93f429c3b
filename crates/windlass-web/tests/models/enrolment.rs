//! Models of what pages show about the enrolment of agents.

use windlass_api::types::{EnrollmentTokenInfo, NodeJoinInfo};
use windlass_core::enrolment::{JoinPolicy, JoinState};
use windlass_core::redacted::Redacted;
use windlass_web::Html;
use windlass_web::pages::enrolment::{BatchTokenForm, EnrolmentCommand, EnrolmentPage};

use super::{error, frame, some, text};

pub(super) fn token(t: &str) -> EnrollmentTokenInfo {
    EnrollmentTokenInfo {
        id: text(t),
        target: None,
        selector: some(t),
        join: JoinPolicy::Approve,
        uses: 1,
        max_uses: 3,
        created_by: text(t),
        created_at: text(t),
        expires_at: text(t),
    }
}

pub(super) fn joins(t: &str) -> Vec<NodeJoinInfo> {
    let join = |state: &JoinState| NodeJoinInfo {
        id: text(t),
        node: text(t),
        state: *state,
        address: text(t),
        public_key: text(t),
        created_at: text(t),
        decided_by: some(t),
    };
    JoinState::ALL.iter().map(join).collect()
}

pub(super) fn command(t: &str) -> EnrolmentCommand {
    EnrolmentCommand {
        command: Redacted::new(text(t)),
        valid: text(t),
        expires_at: text(t),
        join: JoinPolicy::Approve,
    }
}

pub(super) fn every_page(t: &str) -> Vec<(&'static str, String)> {
    let form = BatchTokenForm { labels: text(t), name: text(t), uses: text(t), ..BatchTokenForm::default() };
    let page = EnrolmentPage {
        frame: frame(t),
        joins: joins(t),
        tokens: vec![token(t), EnrollmentTokenInfo { target: some(t), join: JoinPolicy::Auto, ..token(t) }],
        form,
        error: Some(error(t)),
        created: Some(command(t)),
    };
    let empty = EnrolmentPage { joins: vec![], tokens: vec![], created: None, ..page.clone() };
    vec![("enrolment", page.html()), ("no enrolment", empty.html())]
}

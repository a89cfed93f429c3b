//! One node as its agent sees it: its status and its reason, modules, drift, events and host; what it shall be; and the
//! enrolment of its agent.

use std::fmt::Display;

use askama::Template;
use windlass_api::permission::Permission;
use windlass_api::types::{
    EnrollmentTokenInfo, ErrorBody, EventInfo, NodeAdopted, NodeDetail, NodeDrift, NodeDriftItem,
    NodeJoinInfo, NodeRender,
};
use windlass_core::enrolment::JoinState;

use super::Allowed;
use super::enrolment::{EnrolmentActions, EnrolmentCommand};
use super::rendered_state::{self, ModuleOnPage};
use crate::frame::{Frame, NavEntry};
use crate::{content, link, words};

/// The address of a node's page.
pub fn node_url(name: &str) -> String {
    link::node(name)
}

/// The id of an item on a page: of the target at a place, the item at a place.
pub(crate) fn item_id(target: impl Display, item: impl Display) -> String {
    format!("item-{target}-{item}")
}

/// What a form of the page gave, shown only in its response.
#[derive(Clone, Debug)]
pub enum NodeFormOutcome {
    /// A patch that adopts a file.
    Patch(NodeAdopted),
    /// The command that enrols the host.
    Enrolment(EnrolmentCommand),
    /// The reason for neither.
    Failed(ErrorBody),
}

/// What the user may do about the drift of a node.
#[derive(Clone, Debug)]
pub(crate) struct NodeActions {
    pub(crate) revert: Allowed,
    pub(crate) adopt: Allowed,
    pub(crate) accept: Allowed,
}

impl NodeActions {
    pub(crate) fn of(frame: &Frame) -> NodeActions {
        let allowed = |permission| Allowed::unless(frame.why_not(permission));
        NodeActions {
            revert: allowed(Permission::GitopsSync),
            adopt: allowed(Permission::GitopsWrite),
            accept: allowed(Permission::GitopsApprove),
        }
    }

    /// Why some buttons are disabled.
    pub(crate) fn disabled_reasons(&self) -> Vec<(&'static str, String)> {
        let each = [("Revert", &self.revert), ("Adopt", &self.adopt), ("Accept", &self.accept)];
        each.into_iter().filter_map(|(what, may)| Some((what, may.reason()?.to_owned()))).collect()
    }
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "node.html")]
pub struct NodePage {
    /// The frame of the page.
    pub frame: Frame,
    /// The node.
    pub node: NodeDetail,
    /// Its drift.
    pub drift: NodeDrift,
    /// What its agent reported last, newest first; none if the user may not see events.
    pub events: Vec<EventInfo>,
    /// What it shall be, with the origin of every item.
    pub rendered: NodeRender,
    /// The tokens with which its agent can still enrol.
    pub tokens: Vec<EnrollmentTokenInfo>,
    /// The hosts that want to join as this node.
    pub joins: Vec<NodeJoinInfo>,
    /// What a form gave.
    pub outcome: Option<NodeFormOutcome>,
    /// The URL of this page, to return to.
    pub here: String,
}

impl NodePage {
    pub(crate) fn url(&self) -> String {
        link::node(&self.node.node.name)
    }

    pub(crate) fn events_url(&self) -> String {
        link::with_query("/app/events", &[("resource", &format!("node/{}", self.node.node.name))])
    }

    pub(crate) fn rollouts_url(&self) -> String {
        link::with_query("/app/rollouts", &[("node", &self.node.node.name)])
    }

    pub(crate) fn actions(&self) -> NodeActions {
        NodeActions::of(&self.frame)
    }

    pub(crate) fn may_observe(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsSync))
    }

    pub(crate) fn enrolment(&self) -> EnrolmentActions {
        EnrolmentActions::of(&self.frame)
    }

    /// The modules of the rendered state, and how many items are not shown.
    pub(crate) fn rendered_modules(&self) -> (Vec<ModuleOnPage>, usize) {
        rendered_state::modules(&self.rendered)
    }

    /// Whether the rendered state is assigned to the node.
    pub(crate) fn rendered_assignment(&self) -> String {
        match &self.rendered.assigned {
            None => "not assigned yet".to_owned(),
            Some(assigned) if self.rendered.digest.as_ref() == Some(&assigned.digest) => {
                format!("assigned as generation {}", assigned.generation)
            }
            Some(assigned) => format!("newer than the assigned generation {}", assigned.generation),
        }
    }

    /// The items that nobody accepted.
    pub(crate) fn open_items(&self) -> Vec<&NodeDriftItem> {
        self.drift.items.iter().filter(|item| item.acceptance.is_none()).collect()
    }

    pub(crate) fn generation(number: &Option<u64>) -> String {
        number.map_or_else(|| "none".to_owned(), |number| format!("generation {number}"))
    }

    pub(crate) fn labels(&self) -> Vec<String> {
        self.node.node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }
}

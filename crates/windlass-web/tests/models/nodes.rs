//! Models of the pages about nodes as their agents see them.

use std::collections::BTreeMap;

use windlass_api::types::{
    Acceptance, EventInfo, NodeAdopted, NodeAgentInfo, NodeDetail, NodeDrift, NodeDriftItem,
    NodeFieldDifference, NodeHostInfo, NodeModuleInfo, NodeRender, NodeStatusGroup, NodeStatusInfo,
    NodeStatusSummary, RenderedAssignment, RenderedItem, RenderedModule, RenderedSetting,
};
use windlass_core::event::Severity;
use windlass_core::report::TargetStatus;
use windlass_web::Html;
use windlass_web::pages::node::{NodeFormOutcome, NodePage};
use windlass_web::pages::nodes::{NodeSearch, NodesPage};

use super::enrolment::{command, joins, token};
use super::{error, frame, some, text, value};

fn status(t: &str, state: TargetStatus) -> NodeStatusInfo {
    NodeStatusInfo {
        id: text(t),
        name: text(t),
        state,
        summary: text(t),
        reason: text(t),
        as_of: some(t),
        template: text(t),
        region: some(t),
        labels: BTreeMap::from([(text(t), text(t))]),
        assigned_generation: Some(4),
        reached_generation: None,
        drifted_items: 2,
        accepted_items: 1,
        agent: Some(NodeAgentInfo { id: text(t), enrolled_at: text(t), last_contact_at: some(t) }),
    }
}

pub(super) fn item(t: &str, acceptance: Option<Acceptance>) -> NodeDriftItem {
    let value =
        NodeFieldDifference { field: text(t), observed: some(t), desired: None, diff: None, note: some(t) };
    let diff = format!("@@ -1 +1 @@\n-{t}\n+{t}\n {t}\n\\ {t}\n");
    let content = NodeFieldDifference { diff: Some(diff), ..value.clone() };
    NodeDriftItem {
        kind: text(t),
        name: text(t),
        module: text(t),
        mode: text("correct"),
        since: text(t),
        fields: vec![value, content],
        problem: some(t),
        acceptance,
    }
}

fn rendered(t: &str) -> NodeRender {
    let setting = RenderedSetting { name: text(t), value: value(t), origin: text(t) };
    let item = RenderedItem {
        kind: text(t),
        name: text(t),
        drift: text("correct"),
        fields: value(t),
        settings: vec![setting],
    };
    let module = RenderedModule {
        name: text(t),
        version: some(t),
        package: text(t),
        priority: 10,
        because: text(t),
        items: vec![item; 300],
    };
    NodeRender {
        digest: some(t),
        modules: vec![module],
        assigned: Some(RenderedAssignment { generation: 4, digest: text(t) }),
        ..NodeRender::unresolved(t, t)
    }
}

fn node(t: &str, outcome: Option<NodeFormOutcome>) -> NodePage {
    let acceptance = |until| Acceptance { by: text(t), reason: text(t), until };
    let module = NodeModuleInfo {
        name: text(t),
        version: some(t),
        state: TargetStatus::Failed,
        summary: text(t),
        reason: some(t),
        drifted_items: 1,
    };
    let host = NodeHostInfo {
        agent_version: text(t),
        hostname: some(t),
        os: some(t),
        kernel: some(t),
        architecture: some(t),
        booted_at: some(t),
    };
    let event = EventInfo {
        seq: 1,
        kind: text(t),
        severity: Severity::High,
        resource_kind: some(t),
        resource_name: some(t),
        repository_id: None,
        correlation_id: None,
        source: text(t),
        message: text(t),
        payload: serde_json::json!({t: t}),
        at: text(t),
    };
    NodePage {
        frame: frame(t),
        node: NodeDetail {
            node: status(t, TargetStatus::Drifted),
            modules: vec![module],
            host: Some(host),
            events_dropped: 3,
        },
        drift: NodeDrift {
            node: text(t),
            state: TargetStatus::Drifted,
            reason: text(t),
            as_of: some(t),
            items: vec![item(t, None), item(t, Some(acceptance(some(t)))), item(t, Some(acceptance(None)))],
            left_out: 2,
        },
        events: vec![event],
        rendered: rendered(t),
        tokens: vec![token(t)],
        joins: joins(t),
        outcome,
        here: text(t),
    }
}

fn nodes(t: &str, by: &str) -> NodesPage {
    let group = NodeStatusGroup {
        name: text(t),
        nodes: 6,
        states: BTreeMap::from([(text("drifted"), 2), (text(t), 1)]),
        worst: Some(TargetStatus::Failed),
        headline: text(t),
    };
    let search = NodeSearch {
        q: text(t),
        state: text(t),
        template: text(t),
        region: text(t),
        label: text(t),
        by: text(t),
    };
    NodesPage {
        frame: frame(t),
        search,
        summary: NodeStatusSummary { by: text(by), all: group.clone(), groups: vec![group] },
        templates: vec![text(t)],
        regions: vec![text(t)],
        label_keys: vec![text(t)],
        waiting: 2,
        nodes: TargetStatus::ALL.iter().map(|state| status(t, *state)).collect(),
        next: some(t),
    }
}

pub(super) fn every_page(t: &str) -> Vec<(&'static str, String)> {
    let adopted = NodeAdopted { repository: text(t), path: text(t), patch: format!("-{t}\n+{t}\n") };
    let mut without_agent = node(t, None);
    without_agent.node.node.agent = None;
    vec![
        ("statuses of nodes", nodes(t, "template").html()),
        ("statuses of nodes by label", nodes(t, &format!("label:{t}")).html()),
        ("node", node(t, None).html()),
        ("node without an agent", without_agent.html()),
        ("node to enrol", node(t, Some(NodeFormOutcome::Enrolment(command(t)))).html()),
        ("adopted file", node(t, Some(NodeFormOutcome::Patch(adopted))).html()),
        ("file that cannot be adopted", node(t, Some(NodeFormOutcome::Failed(error(t)))).html()),
    ]
}

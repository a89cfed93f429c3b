//! Models of the pages about the accepted state: resources, drift, networks.

use serde_json::json;
use windlass_api::types::{
    Acceptance, AuditInfo, DriftItem, EventInfo, FieldChange, ModuleVersionInfo, OwnerInfo, ResourceInfo,
    VersionOrigin, VersionUse,
};
use windlass_core::diff::Action;
use windlass_core::event::Severity;
use windlass_core::proposal::Status;
use windlass_core::report::TargetStatus;
use windlass_core::resource::Kind;
use windlass_core::value::Lifecycle;
use windlass_web::Html;
use windlass_web::pages::adopt::{AdoptOutcome, AdoptPage};
use windlass_web::pages::drift::{DriftCard, DriftPage, DriftTab, DriftedTarget};
use windlass_web::pages::networks::{NetworkSummary, NetworksPage};
use windlass_web::pages::proposal::BlastRadius;
use windlass_web::pages::resource::{DeclaredAt, ResourcePage};
use windlass_web::pages::resources::{ResourceRow, ResourceSearch, ResourcesPage};
use windlass_web::pages::topology::{NetworkFacts, TopologyPage, VirtualIp};
use windlass_web::topology::{HeldVirtualIp, HolderRank, Peer, Role, TopologyStatus};

use super::{error, frame, proposal, reach, some, text, value};

fn resource(t: &str, kind: &str) -> ResourceInfo {
    ResourceInfo {
        id: text(t),
        kind: text(kind),
        name: text(t),
        spec: json!({"region": t, "template": t, "description": t, "routing_mode": t, "cidr": t, t: value(t)}),
        allocated: json!({"cidr": t, t: t}),
        digest: text(t),
        owner: Some(OwnerInfo { repository_id: text(t), repository_name: text(t) }),
        differs_because: some(t),
        generation: 3,
        created_at: text(t),
        updated_at: text(t),
        updated_by: text(t),
    }
}

fn version(t: &str, number: Option<String>) -> ModuleVersionInfo {
    ModuleVersionInfo {
        name: text(t),
        version: number,
        state: Lifecycle::Staging,
        content_digest: text(t),
        is_current: true,
        origin: VersionOrigin::Made,
        used_by: VersionUse { templates: 2, modules: 1, assignments: 0, versions: 0 },
        updated_at: some(t),
        updated_by: some(t),
    }
}

fn resources(t: &str, kind: Option<Kind>) -> ResourcesPage {
    let listed = |kind: &str, is_drifted| ResourceRow {
        resource: resource(t, kind),
        is_drifted,
        proposal_id: some(t),
    };
    ResourcesPage {
        frame: frame(t),
        kind,
        search: ResourceSearch { q: text(t), repository: text(t) },
        counts: vec![(Kind::Node, 3), (Kind::VirtualIp, 1)],
        repositories: vec![text(t)],
        resources: vec![listed("node", true), listed(t, false)],
        next: some(t),
    }
}

fn fields(t: &str) -> Vec<FieldChange> {
    vec![FieldChange { path: text(t), before: value(t), after: json!(t) }]
}

fn drift_item(t: &str, change: Action, acceptance: Option<Acceptance>) -> DriftItem {
    DriftItem {
        kind: text(t),
        name: text(t),
        change,
        fields: fields(t),
        changed_by: some(t),
        changed_at: some(t),
        proposal_id: some(t),
        acceptance,
    }
}

fn acceptance(t: &str) -> Acceptance {
    Acceptance { by: text(t), reason: text(t), until: some(t) }
}

fn resource_page(t: &str, kind: &str, reach: BlastRadius) -> ResourcePage {
    let entry = |action: &str, detail| AuditInfo {
        seq: 1,
        at: text(t),
        actor: text(t),
        token_id: some(t),
        address: some(t),
        request_id: some(t),
        action: text(action),
        target_kind: text(t),
        target: text(t),
        outcome: text(t),
        before_digest: some(t),
        after_digest: some(t),
        detail,
        hash: text(t),
    };
    let changed = json!({"change": "update", "fields": fields(t), "proposal_id": t});
    ResourcePage {
        frame: frame(t),
        resource: resource(t, kind),
        declared: Some(DeclaredAt { file: text(t), line: Some((3, text(t))) }),
        blast_radius: reach,
        drift: Some(drift_item(t, Action::Update, Some(acceptance(t)))),
        proposals: vec![proposal(t, Action::Update, Status::PendingApproval)],
        versions: vec![version(t, some(t)), version(t, None)],
        version_proposals: vec![(text(t), text(t))],
        audit: vec![entry("proposal.apply", changed), entry(t, json!({t: t}))],
        events: vec![EventInfo {
            seq: 1,
            kind: text(t),
            severity: Severity::Low,
            resource_kind: some(t),
            resource_name: some(t),
            repository_id: some(t),
            correlation_id: some(t),
            source: text(t),
            message: text(t),
            payload: json!({"proposal_id": t}),
            at: text(t),
        }],
    }
}

fn drift(t: &str, sort: DriftTab) -> DriftPage {
    let difference = |change| DriftCard {
        repository_id: text(t),
        repository_name: text(t),
        item: drift_item(t, change, (sort == DriftTab::AcceptedDrift).then(|| acceptance(t))),
    };
    DriftPage {
        frame: frame(t),
        sort,
        counts: [1, 3, 2, 1],
        repositories: vec![(text(t), text(t)), (text("other"), text(t))],
        repository: text(t),
        targets: vec![
            DriftedTarget {
                kind: text(t),
                name: text(t),
                seen: text(t),
                since: some(t),
                state: TargetStatus::Drifted,
                summary: text(t),
                items: Vec::new(),
                more_items: 0,
            },
            DriftedTarget {
                kind: text("node"),
                name: text(t),
                seen: text(t),
                since: None,
                state: TargetStatus::InSync,
                summary: text(t),
                items: vec![super::nodes::item(t, None)],
                more_items: 2,
            },
        ],
        differences: vec![
            difference(Action::Create),
            difference(Action::Update),
            difference(Action::Destroy),
        ],
        next: some(t),
        here: text(t),
    }
}

fn adopt(t: &str, made: AdoptOutcome) -> AdoptPage {
    AdoptPage {
        frame: frame(t),
        repository_id: text(t),
        repository_name: text(t),
        kind: text(t),
        name: text(t),
        branch: text(t),
        outcome: made,
    }
}

fn topology(t: &str, count: usize) -> TopologyPage {
    let proposed = || TopologyStatus::Proposed { change: text(t), proposal_id: text(t) };
    let peer = |index: usize| Peer {
        host: text(t),
        address: some(t),
        region: some(t),
        role: if index == 0 { Role::Hub } else { Role::Spoke },
        status: [TopologyStatus::InSync, TopologyStatus::Drifted, proposed()][index % 3].clone(),
        endpoint: some(t),
        subnets: vec![text(t)],
        held: vec![
            HeldVirtualIp { name: text(t), rank: HolderRank::Primary, status: proposed() },
            HeldVirtualIp { name: text(t), rank: HolderRank::Failover(1), status: TopologyStatus::InSync },
        ],
    };
    let network = NetworkFacts {
        name: text(t),
        description: text(t),
        routing_mode: text(t),
        cidr: some(t),
        status: if count > 5 { TopologyStatus::InSync } else { proposed() },
    };
    let ip = VirtualIp {
        name: text(t),
        address: some(t),
        holder: text(t),
        failover: vec![text(t)],
        status: TopologyStatus::Drifted,
    };
    TopologyPage::new(frame(t), network, (0..count).map(peer).collect(), vec![ip])
}

/// All of these pages.
pub(crate) fn every_page(t: &str) -> Vec<(&'static str, String)> {
    let counted = NetworkSummary { network: resource(t, "network"), peers: 2, virtual_ips: 1 };
    let networks = NetworksPage {
        frame: frame(t),
        networks: vec![counted],
        proposed: vec![(text(t), text(t))],
        next: some(t),
    };
    vec![
        ("resources", resources(t, None).html()),
        ("nodes", resources(t, Some(Kind::Node)).html()),
        ("resource", resource_page(t, t, reach(t)).html()),
        ("a peer", resource_page(t, "network", reach(t)).html()),
        ("drifted machines", drift(t, DriftTab::Drifted).html()),
        ("drift", drift(t, DriftTab::ManualChange).html()),
        ("pending drift", drift(t, DriftTab::Pending).html()),
        ("accepted drift", drift(t, DriftTab::AcceptedDrift).html()),
        ("adopt", adopt(t, AdoptOutcome::Patch(format!("--- a\n+++ b\n@@ {t}\n-{t}\n+{t}\n {t}"))).html()),
        ("no patch", adopt(t, AdoptOutcome::Failed(error(t))).html()),
        ("networks", networks.html()),
        ("topology", topology(t, 4).html()),
        ("large topology", topology(t, 90).html()),
    ]
}

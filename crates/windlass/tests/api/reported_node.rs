//! A node as its agent reported it, stored as the server stores reports.

use windlass_core::content::FileSide;
use windlass_core::digest::Digest;
use windlass_core::drift::{DriftedItem, ItemKey};
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::host::{BlobDigest, FieldDifference, NodeDocument, NodeModule};
use windlass_core::observed::{
    AgentReport, Coverage, Observation, Observed, ObservedTarget, ReportOrder, Sighting,
};
use windlass_core::resource::{DriftMode, Kind, ResourceKey};
use windlass_store::{DriftItemsChange, NewAssignment, NewNodeReport};

use crate::harness::{Installation, now};

/// A file of the module `base` that differs.
pub(crate) fn file(path: &str, observed: &str, assigned: &str) -> DriftedItem {
    let side = |text: &str| FileSide::Bytes(text.as_bytes().to_vec());
    DriftedItem {
        key: ItemKey::reported("path", path).unwrap(),
        module: "base".to_owned(),
        mode: DriftMode::Report,
        since: now(),
        fields: FieldDifference::content(path, &side(observed), &side(assigned)).into_iter().collect(),
        problem: None,
    }
}

/// A document with the module `base`.
fn document() -> NodeDocument {
    let base = NodeModule {
        name: "base".to_owned(),
        version: Some("1.2.0".to_owned()),
        package: BlobDigest::of(b"base"),
        priority: 0,
        depends_on: Vec::new(),
        config: serde_json::Map::new(),
    };
    NodeDocument { node: serde_json::Map::new(), config: serde_json::Map::new(), modules: vec![base] }
}

/// Enrols a node and stores what its agent reports: the items that differ.
pub(crate) async fn report(installation: &Installation, name: &str, items: Vec<DriftedItem>) {
    let (account, target) = (&installation.account, ResourceKey::new(Kind::Node, name));
    let mut writing = installation.store.write_account(account).await.unwrap();
    let agent = writing.agent_enrol(&target, now()).await.unwrap();
    writing.agent_contact(&agent.id, now()).await.unwrap();
    let assigned = document();
    let text = String::from_utf8(assigned.to_bytes()).unwrap();
    let assignment = NewAssignment {
        target: &target,
        document: &text,
        digest: assigned.digest(),
        own_approvals: "[]",
        shared_approvals: "[]",
    };
    writing.assignments_put(account, &[assignment], now()).await.unwrap();
    let generation = writing.assignment(account, &target).await.unwrap().unwrap().generation;
    let known = |digest: Digest| {
        let digest = if items.is_empty() { digest } else { Digest::of(b"other") };
        let seen = Sighting { generation, since: now(), at: now() };
        Observation { observed: Observed::Known { digest, seen }, failure: None }
    };
    let base = (ResourceKey::new(Kind::Module, "base"), known(assigned.modules[0].digest()));
    let mut after = ObservedTarget::default();
    after.merge(&AgentReport {
        order: ReportOrder { enrolment: agent.enrolment, generation, sequence: 1 },
        coverage: Coverage::Complete,
        target: known(assigned.digest()),
        resources: [base].into_iter().collect(),
    });
    writing.observed_save(account, &target, &ObservedTarget::default(), &after).await.unwrap();
    let facts = serde_json::json!({"agent_version": "0.1.0", "hostname": name, "os": "Debian GNU/Linux 13",
        "kernel": "6.12.48", "architecture": "x86_64"});
    let arrived = NewNodeReport {
        account_id: account,
        target: &target,
        at: now(),
        complete_at: Some(now()),
        drift_left_out: Some(0),
        events_dropped: 0,
        facts: Some(&facts),
    };
    writing.node_reports_put(&[arrived]).await.unwrap();
    for item in &items {
        writing.event(NewEvent {
            kind: EventKind::AgentDrifted,
            severity: Severity::Medium,
            resource: Some(target.clone()),
            repository_id: None,
            correlation_id: None,
            source: format!("agent of {target}"),
            message: format!("someone changed {}", item.key),
            payload: serde_json::json!({}),
            at: now(),
        });
    }
    let changed = items.into_iter().enumerate().collect();
    let change = DriftItemsChange { account_id: account, target: &target, gone: Vec::new(), changed };
    writing.node_drift_save(&[change]).await.unwrap();
    writing.commit().await.unwrap();
}

//! A node as its agent reported it, stored as the server stores reports.

use std::time::{Duration, Instant};

use windlass_api::permission::Role;
use windlass_core::content::FileSide;
use windlass_core::digest::Digest;
use windlass_core::drift::{DriftedItem, ItemKey};
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::host::{FieldDifference, NodeDocument};
use windlass_core::observed::{
    AgentReport, Coverage, Generation, Observation, Observed, ObservedTarget, ReportOrder, Sighting,
};
use windlass_core::resource::{DriftMode, Kind, ResourceKey};
use windlass_store::{DriftItemsChange, NewNodeReport};

use crate::harness::{Installation, TIMEOUT, now};

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

/// What the server assigned to a node, once that is what the accepted state makes of it.
async fn assigned(installation: &Installation, name: &str) -> (Generation, NodeDocument) {
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let path = format!("/api/v1/system/nodes/{name}/render");
    let begun = Instant::now();
    let mut rendered = installation.get(&viewer, &path).await;
    while rendered["assigned"]["digest"].is_null() || rendered["assigned"]["digest"] != rendered["digest"] {
        assert!(begun.elapsed() < TIMEOUT, "{rendered}");
        tokio::time::sleep(Duration::from_millis(20)).await;
        rendered = installation.get(&viewer, &path).await;
    }
    let mut reading = installation.store.read().await.unwrap();
    let key = ResourceKey::new(Kind::Node, name);
    let assigned = reading.assignment(&installation.account, &key).await.unwrap().unwrap();
    let text = reading.assignment_document(assigned.digest).await.unwrap().unwrap();
    (assigned.generation, NodeDocument::from_bytes(text.as_bytes()).unwrap())
}

/// Enrols a node and stores what its agent reports: the items that differ. Without a module `base`, they are of the first
/// module of the node.
pub(crate) async fn report(installation: &Installation, name: &str, mut items: Vec<DriftedItem>) {
    let (generation, document) = assigned(installation, name).await;
    let modules: Vec<&str> = document.modules.iter().map(|module| module.name.as_str()).collect();
    for item in items.iter_mut().filter(|item| !modules.contains(&item.module.as_str())) {
        item.module = modules.first().copied().unwrap_or("base").to_owned();
    }
    let (account, target) = (&installation.account, ResourceKey::new(Kind::Node, name));
    let mut writing = installation.store.write_account(account).await.unwrap();
    let agent = writing.agent_enrol(&target, now()).await.unwrap();
    writing.agent_contact(&agent.id, now()).await.unwrap();
    let known = |digest: Digest, is_drifted: bool| {
        let digest = if is_drifted { Digest::of(b"other") } else { digest };
        let seen = Sighting { generation, since: now(), at: now() };
        Observation { observed: Observed::Known { digest, seen }, failure: None }
    };
    let resources = document.modules.iter().map(|module| {
        let is_drifted = items.iter().any(|item| item.module == module.name);
        (ResourceKey::new(Kind::Module, module.name.as_str()), known(module.digest(), is_drifted))
    });
    let mut after = ObservedTarget::default();
    after.merge(&AgentReport {
        order: ReportOrder { enrolment: agent.enrolment, generation, sequence: 1 },
        coverage: Coverage::Complete,
        target: known(document.digest(), !items.is_empty()),
        resources: resources.collect(),
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

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::accepted::{AcceptedResource, Owner};
use crate::host::BlobDigest;

fn accepted(resources: &[(Kind, &str, serde_json::Value)]) -> Accepted {
    let mut accepted = Accepted::default();
    for (kind, name, spec) in resources {
        let spec = Spec::read_stored(*kind, &spec.to_string()).expect("a spec");
        let digest = spec.digest();
        let resource = AcceptedResource { spec: Arc::new(spec), digest, owner: Owner::Nobody };
        accepted.resources.insert(ResourceKey::new(*kind, *name), resource);
    }
    accepted
}

fn document(modules: &[(&str, i64, &[u8])]) -> NodeDocument {
    let modules = modules
        .iter()
        .map(|(name, priority, content)| NodeModule {
            name: (*name).to_owned(),
            version: None,
            package: BlobDigest::of(content),
            priority: *priority,
            depends_on: Vec::new(),
            config: serde_json::Map::new(),
        })
        .collect();
    NodeDocument { node: serde_json::Map::new(), config: serde_json::Map::new(), modules }
}

fn governed_by(accepted: &Accepted, before: &NodeDocument, after: &NodeDocument) -> Option<String> {
    let mut rollouts = GoverningRollouts::new(accepted);
    assert_eq!(rollouts.of_template("edge"), rollouts.of_template("edge"), "the second time from memory");
    let governing = rollouts.of_template("edge").or_else(|| rollouts.of_modules(before, after));
    governing.map(|governing| governing.resource.to_string())
}

#[test]
fn the_nearest_template_wins_then_the_changed_module_with_the_highest_priority() {
    let rollout = json!({"max_unavailable": 1});
    let modules = [
        (Kind::Module, "nginx", json!({"rollout": rollout})),
        (Kind::Module, "base", json!({"rollout": rollout})),
        (Kind::Module, "motd", json!({})),
    ];
    let templates = |edge: serde_json::Value, base: serde_json::Value| {
        let mut all = vec![(Kind::Template, "edge", edge), (Kind::Template, "parent", base)];
        all.extend(modules.clone());
        accepted(&all)
    };
    let before = document(&[("nginx", 10, b"1"), ("base", 50, b"1"), ("motd", 90, b"1")]);
    let after = document(&[("nginx", 10, b"2"), ("base", 50, b"2"), ("motd", 90, b"2")]);
    let plain = json!({"node_platform": "debian-12-amd64"});
    let own = json!({"node_platform": "debian-12-amd64", "rollout": rollout});
    let child = json!({"extends": "parent"});
    assert_eq!(
        governed_by(&templates(own.clone(), plain.clone()), &before, &after).as_deref(),
        Some("template edge")
    );
    assert_eq!(
        governed_by(&templates(child.clone(), own), &before, &after).as_deref(),
        Some("template parent")
    );
    let without = templates(child, plain);
    assert_eq!(governed_by(&without, &before, &after).as_deref(), Some("module base"));
    let only_motd = document(&[("nginx", 10, b"1"), ("base", 50, b"1"), ("motd", 90, b"2")]);
    assert_eq!(governed_by(&without, &before, &only_motd), None, "motd has no rollout");
    let without_nginx = document(&[("base", 50, b"1"), ("motd", 90, b"1")]);
    assert_eq!(governed_by(&without, &before, &without_nginx).as_deref(), Some("module nginx"), "it goes");
}

#[test]
fn settings_of_the_node_change_every_module() {
    let accepted = accepted(&[
        (Kind::Template, "edge", json!({"node_platform": "debian-12-amd64"})),
        (Kind::Module, "nginx", json!({"rollout": {"max_unavailable": 1}})),
    ]);
    let before = document(&[("nginx", 10, b"1")]);
    let mut after = before.clone();
    after.config.insert("workers".to_owned(), json!(8));
    assert_eq!(governed_by(&accepted, &before, &after).as_deref(), Some("module nginx"));
    assert_eq!(governed_by(&accepted, &before, &before.clone()), None);
}

use serde_json::{Value, json};

use super::*;
use crate::accepted::{AcceptedResource, Owner};
use crate::assign::RecordedApproval;
use crate::host::{ModulePackage, ModuleVersion};
use crate::resource::{ResourceKey, Spec};
use crate::target_assignment::CoveringApproval;
use crate::time::Timestamp;
use crate::value::Lifecycle;

fn approval() -> CoveringApproval {
    CoveringApproval::DirectChange { person: "ada@example.com".to_owned(), at: Timestamp::from_millis(0) }
}

#[derive(Default)]
struct Scene {
    fleet: ApprovedFleet,
    before: AssignedBefore,
}

impl Scene {
    /// Nodes of the template `edge`, which has the module `motd`.
    fn of(nodes: &[&str]) -> Scene {
        let mut scene = Scene::default();
        scene.put(
            Kind::Template,
            "edge",
            json!({"node_platform": "debian-12-amd64", "modules": ["motd@live"]}),
        );
        scene.module("motd", json!({"host": {"files": {"/etc/motd": {"content": "hello\n"}}}}));
        for node in nodes {
            scene.put(Kind::Node, node, json!({"template": "edge"}));
        }
        scene
    }

    fn put(&mut self, kind: Kind, name: &str, spec: Value) -> Digest {
        let spec = Arc::new(Spec::read_stored(kind, &spec.to_string()).unwrap());
        let key = ResourceKey::new(kind, name);
        let digest = spec.digest();
        self.fleet.approvals.insert(key.clone(), RecordedApproval { digest, approval: approval() });
        self.fleet.accepted.resources.insert(key, AcceptedResource { spec, digest, owner: Owner::Nobody });
        digest
    }

    fn module(&mut self, name: &str, spec: Value) {
        let digest = self.put(Kind::Module, name, spec.clone());
        let Some(Spec::Module(spec)) = Spec::read_stored(Kind::Module, &spec.to_string()) else { panic!() };
        let package = ModulePackage { name: name.to_owned(), spec: spec.clone(), files: BTreeMap::new() };
        let content = package.digest();
        let version =
            ModuleVersion { version: None, state: Lifecycle::Live, spec: Arc::new(spec), package: content };
        self.fleet.versions.add(name, version);
        self.fleet.packages.insert(content, package);
        let resource = ResourceKey::new(Kind::Module, name);
        let covered = CoveredResource { resource, digest, package: Some(content), approval: approval() };
        self.fleet.modules.insert(content, covered);
    }

    /// Decides, and goes on as if it were stored.
    fn turn(&mut self) -> AssignDecision {
        let decision = assign_nodes(&self.fleet, &self.before);
        for changed in &decision.changed {
            self.before.documents.insert(changed.node.clone(), changed.digest);
        }
        self.before.documents.retain(|node, _| !decision.ended.contains(node));
        decision
    }

    fn changed(&mut self) -> Vec<String> {
        self.turn().changed.into_iter().map(|changed| changed.node).collect()
    }
}

#[test]
fn only_nodes_whose_document_changed_get_a_new_one() {
    let mut scene = Scene::of(&["a", "b"]);
    assert_eq!(scene.changed(), ["a", "b"]);
    assert_eq!(scene.turn(), AssignDecision::default(), "nothing changed");
    scene.put(Kind::Node, "a", json!({"template": "edge", "protect": true}));
    assert_eq!(scene.turn(), AssignDecision::default(), "no machine is affected");
    scene.put(Kind::Node, "a", json!({"template": "edge", "region": "eu"}));
    assert_eq!(scene.changed(), ["a"]);
    scene.module("chrony", json!({"host": {"packages": ["chrony"]}}));
    scene.put(Kind::Assignment, "b:chrony", json!({}));
    assert_eq!(scene.changed(), ["b"]);
}

#[test]
fn a_new_document_names_the_approval_of_everything_it_is_made_of() {
    let mut scene = Scene::of(&["a", "b"]);
    scene.put(Kind::Assignment, "a:motd", json!({"priority": 7}));
    let changed = scene.turn().changed;
    let names = |text: &str| -> Vec<String> {
        let covered: Vec<CoveredResource> = serde_json::from_str(text).unwrap();
        covered.iter().map(|one| one.resource.to_string()).collect()
    };
    assert_eq!(names(&changed[0].own), ["node a", "assignment a:motd"]);
    assert_eq!(names(&changed[0].shared), ["template edge", "module motd"]);
    assert_eq!(names(&changed[1].own), ["node b"]);
    assert!(Arc::ptr_eq(&changed[0].shared, &changed[1].shared), "stored once");
}

#[test]
fn what_no_approval_covers_is_not_assigned_and_the_node_keeps_what_it_has() {
    let mut scene = Scene::of(&["a"]);
    scene.changed();
    let key = ResourceKey::new(Kind::Template, "edge");
    let recorded = scene.fleet.approvals.remove(key.kind, &key.name).unwrap();
    let expected = |what: &str| BTreeMap::from([("a".to_owned(), format!("no approval covers {what}"))]);
    assert_eq!(scene.turn().problems, expected("template edge"), "it is gone");
    let other = RecordedApproval { digest: Digest::of(b"another"), approval: approval() };
    scene.fleet.approvals.insert(key.clone(), other);
    assert_eq!(scene.turn().problems, expected("template edge"), "it is for other content");
    scene.fleet.approvals.insert(key, recorded);
    assert_eq!(scene.turn(), AssignDecision::default());
    scene.fleet.modules.clear();
    let decision = scene.turn();
    assert_eq!(decision.problems, expected("module motd"));
    assert!(decision.changed.is_empty());
}

#[test]
fn a_node_that_cannot_be_resolved_or_composed_says_why() {
    let mut scene = Scene::of(&["a"]);
    scene.changed();
    scene.put(Kind::Node, "lost", json!({"template": "nowhere"}));
    scene.module("other", json!({"host": {"files": {"/etc/motd": {"content": "other\n"}}}}));
    scene.put(Kind::Assignment, "a:other", json!({}));
    let AssignDecision { changed, problems, .. } = scene.turn();
    assert!(changed.is_empty());
    assert_eq!(problems["lost"], "the template nowhere does not exist yet");
    assert!(problems["a"].starts_with("the modules motd and other both set path /etc/motd"), "{problems:?}");
    scene.put(Kind::Assignment, "a:other", json!({"priority": 99}));
    assert_eq!(scene.changed(), ["a"]);
    scene.fleet.packages.clear();
    scene.fleet.unavailable.insert("motd".to_owned(), "cannot read motd of module motd: gone".to_owned());
    assert_eq!(scene.turn().problems["a"], "cannot read motd of module motd: gone");
}

#[test]
fn a_destroyed_node_gets_an_empty_document_once_while_it_has_an_agent() {
    let mut scene = Scene::of(&["a", "b"]);
    scene.changed();
    scene.before.enrolled.insert("a".to_owned());
    for node in ["a", "b"] {
        scene.fleet.accepted.resources.remove(Kind::Node, node);
    }
    let decision = scene.turn();
    assert_eq!(decision.ended, ["b"]);
    let [last] = decision.changed.as_slice() else { panic!("{decision:?}") };
    assert_eq!(
        (last.node.as_str(), last.document.as_str()),
        ("a", r#"{"node":{"hostname":"a"},"modules":[]}"#)
    );
    assert_eq!(scene.turn(), AssignDecision::default());
    scene.before.enrolled.clear();
    assert_eq!(scene.turn().ended, ["a"]);
}

#[test]
fn ten_thousand_nodes_of_one_template_are_composed_once_and_share_their_approvals() {
    let names: Vec<String> = (0..10_000).map(|number| format!("n{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut scene = Scene::of(&names);
    let mut deciding = Deciding::new(&scene.fleet);
    for node in &names {
        assert!(deciding.node(node, None).unwrap().is_some());
    }
    assert_eq!((deciding.composed.len(), deciding.shared.len()), (1, 1));
    assert_eq!(scene.changed().len(), 10_000);
    assert_eq!(scene.turn(), AssignDecision::default());
}

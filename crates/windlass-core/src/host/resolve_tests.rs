use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::accepted::{AcceptedResource, Owner};
use crate::host::{BlobDigest, HostState, ModulePackage};
use crate::resource::ResourceKey;
use crate::value::{Lifecycle, Version};

#[derive(Default)]
struct Fleet {
    accepted: Accepted,
    versions: ModuleVersions,
    packages: BTreeMap<BlobDigest, ModulePackage>,
}

impl Fleet {
    fn with(mut self, kind: Kind, name: &str, spec: Value) -> Fleet {
        let spec = Arc::new(Spec::read_stored(kind, &spec.to_string()).unwrap());
        let resource = AcceptedResource { digest: spec.digest(), spec, owner: Owner::Nobody };
        self.accepted.resources.insert(ResourceKey::new(kind, name), resource);
        self
    }

    fn module(mut self, name: &str, version: &str, state: Lifecycle, spec: Value) -> Fleet {
        let Some(Spec::Module(spec)) = Spec::read_stored(Kind::Module, &spec.to_string()) else {
            panic!("not a module: {spec}")
        };
        let package = ModulePackage { name: name.to_owned(), spec: spec.clone(), files: BTreeMap::new() };
        let version = (!version.is_empty()).then(|| crate::shape::TextValue::read(version).unwrap());
        let stored = ModuleVersion { version, state, spec: Arc::new(spec), package: package.digest() };
        self.packages.insert(package.digest(), package);
        self.versions.add(name, stored);
        self
    }

    /// A fleet with a node `n` of the template `edge`, which lists these modules.
    fn edge(modules: &[&str]) -> Fleet {
        Fleet::default()
            .with(Kind::Template, "edge", json!({"node_platform": "debian-12-amd64", "modules": modules}))
            .with(Kind::Node, "n", json!({"template": "edge"}))
    }

    fn content(&self) -> crate::host::FleetContent<'_> {
        let Fleet { accepted, versions, packages } = self;
        crate::host::FleetContent { accepted, versions, packages }
    }

    fn resolve(&self) -> Result<ResolvedNode, String> {
        NodeResolver::new(&self.accepted, &self.versions).resolve("n").map_err(|problem| problem.to_string())
    }

    fn modules(&self) -> Vec<String> {
        let node = self.resolve().unwrap();
        let shown = |module: &NodeModule| match &module.version {
            Some(version) => format!("{}@{version}", module.name),
            None => module.name.clone(),
        };
        node.document.modules.iter().map(shown).collect()
    }
}

#[test]
fn modules_come_from_the_template_chain_and_a_child_changes_the_pin() {
    let fleet = Fleet::default()
        .with(Kind::Template, "base", json!({"node_platform": "debian-12-amd64", "architecture": "amd64", "modules": ["a@live", "b@1.0"]}))
        .with(Kind::Template, "edge", json!({"extends": "base", "modules": ["c@1.0", "b@2.0"]}))
        .with(Kind::Node, "n", json!({"template": "edge", "region": "eu", "labels": {"tier": "edge"}}))
        .module("a", "1.0", Lifecycle::Live, json!({}))
        .module("b", "1.0", Lifecycle::Live, json!({"description": "1"}))
        .module("b", "2.0", Lifecycle::Blessed, json!({"description": "2"}))
        .module("c", "1.0", Lifecycle::Live, json!({"description": "c"}));
    assert_eq!(fleet.modules(), ["a@1.0", "b@2.0", "c@1.0"]);
    let node = fleet.resolve().unwrap();
    let origins: Vec<String> = node.origins.iter().map(ToString::to_string).collect();
    assert_eq!(origins, ["template base (a@live)", "template edge (b@2.0)", "template edge (c@1.0)"]);
    let facts = json!({"hostname": "n", "template": "edge", "region": "eu", "platform": "debian-12-amd64",
        "architecture": "amd64", "labels": {"tier": "edge"}});
    assert_eq!(Value::Object(node.document.node), facts);
}

#[test]
fn pins_select_the_newest_version_in_their_state() {
    let fleet = |pin: &str| {
        Fleet::edge(&[pin])
            .module("a", "1.9", Lifecycle::Live, json!({"description": "1.9"}))
            .module("a", "1.10", Lifecycle::Live, json!({"description": "1.10"}))
            .module("a", "2.0", Lifecycle::Staging, json!({"description": "2.0"}))
            .module("a", "0.9", Lifecycle::Retired, json!({"description": "0.9"}))
    };
    for (pin, version) in [("a", "a@1.10"), ("a@live", "a@1.10"), ("a@staging", "a@2.0"), ("a@0.9", "a@0.9")]
    {
        assert_eq!(fleet(pin).modules(), [version], "{pin}");
    }
    assert_eq!(
        fleet("a@blessed").resolve().unwrap_err(),
        "template edge needs a@blessed, and there are only 1.9 (live), 1.10 (live), 2.0 (staging), 0.9 (retired)"
    );
    assert_eq!(fleet("b").resolve().unwrap_err(), "template edge needs b, and the module has no version");
}

#[test]
fn assignments_add_adjust_and_switch_off_modules() {
    let fleet = Fleet::edge(&["a@live", "b@live"])
        .module("a", "1.0", Lifecycle::Live, json!({"priority": 10}))
        .module("b", "1.0", Lifecycle::Live, json!({"priority": 20}))
        .module("c", "1.0", Lifecycle::Live, json!({"priority": 30}))
        .with(Kind::Assignment, "n:a", json!({"priority": 99, "config": {"x": 1}}))
        .with(Kind::Assignment, "n:b", json!({"enabled": false}))
        .with(Kind::Assignment, "n:c", json!({}))
        .with(Kind::Assignment, "other:b", json!({}));
    assert_eq!(fleet.modules(), ["a@1.0", "c@1.0"]);
    let node = fleet.resolve().unwrap();
    assert_eq!((node.document.modules[0].priority, node.document.modules[1].priority), (99, 30));
    assert_eq!(Value::Object(node.document.modules[0].config.clone()), json!({"x": 1}));
    assert_eq!(node.origins[1], ModuleOrigin::Assignment);
}

#[test]
fn an_accepted_version_holds_until_another_one_is_accepted() {
    let two = |fleet: Fleet| {
        fleet.module("a", "1.0", Lifecycle::Retired, json!({"description": "1"})).module(
            "a",
            "2.0",
            Lifecycle::Live,
            json!({"description": "2"}),
        )
    };
    let pinned =
        json!({"$versions": {"a@live": "1.0"}, "node_platform": "debian-12-amd64", "modules": ["a@live"]});
    let fleet = two(Fleet::edge(&["a@live"]).with(Kind::Template, "edge", pinned));
    assert_eq!(fleet.modules(), ["a@1.0"], "the version that was approved, although it is retired by now");
    let fleet = two(Fleet::edge(&[])).with(Kind::Assignment, "n:a", json!({"$versions": {"live": "1.0"}}));
    assert_eq!(fleet.modules(), ["a@1.0"]);
    let fleet = two(Fleet::edge(&["a@1.0"])).with(Kind::Assignment, "n:a", json!({"version": "2.0"}));
    assert_eq!(fleet.modules(), ["a@2.0"], "the version of an assignment wins on its node");
    let fleet = two(Fleet::edge(&["a@1.0"])).with(Kind::Assignment, "n:a", json!({}));
    assert_eq!(fleet.modules(), ["a@1.0"], "without one it only adjusts the module");
}

#[test]
fn versions_of_an_account_come_from_what_was_made_and_from_the_catalogue() {
    let read = |kind, text: &str| Spec::read_stored(kind, text).unwrap();
    let made = read(Kind::ModuleVersion, r#"{"$module":{"version":"1.0","priority":7},"state":"retired"}"#);
    let module = read(Kind::Module, r#"{"version":"2.0","version_state":"staging"}"#);
    let plain = read(Kind::Module, "{}");
    let accepted = [("web@1.0", &made), ("web", &module), ("plain", &plain)];
    let known = crate::catalogue::KnownModules::of_accepted(accepted);
    let versions = ModuleVersions::of(&known, |name, spec| {
        let package = ModulePackage { name: name.to_owned(), spec: (**spec).clone(), files: BTreeMap::new() };
        (name != "chrony").then(|| package.digest())
    });
    let shown = |name: &str| versions.versions_of(name).iter().map(version_and_state).collect::<Vec<_>>();
    assert_eq!(shown("web"), ["1.0 (retired)", "2.0 (staging)"]);
    assert_eq!(shown("plain"), ["without a version (live)"]);
    assert_eq!(shown("nginx"), ["1.26.0 (live)"], "of the catalogue");
    assert_eq!(shown("chrony"), [""; 0], "its content is not packed yet");
}

#[test]
fn dependencies_are_added_and_come_first() {
    let fleet = Fleet::edge(&["c@live"])
        .module("c", "1.0", Lifecycle::Live, json!({"depends_on": ["b@live"]}))
        .module("b", "1.0", Lifecycle::Live, json!({"depends_on": ["a@1.0"]}))
        .module("a", "1.0", Lifecycle::Live, json!({"description": "a"}));
    assert_eq!(fleet.modules(), ["a@1.0", "b@1.0", "c@1.0"]);
    let origins: Vec<String> = fleet.resolve().unwrap().origins.iter().map(ToString::to_string).collect();
    assert_eq!(origins[0], "dependency of module b (a@1.0)");
}

#[test]
fn what_cannot_be_resolved_says_why() {
    let circle = Fleet::edge(&["a@live"])
        .module("a", "1.0", Lifecycle::Live, json!({"depends_on": ["b@live"]}))
        .module("b", "1.0", Lifecycle::Live, json!({"depends_on": ["a@live"]}));
    assert!(circle.resolve().unwrap_err().starts_with("modules depend on each other in a circle: "));
    let versions = Fleet::edge(&["a@1.0", "b@live"])
        .module("a", "1.0", Lifecycle::Live, json!({}))
        .module("a", "2.0", Lifecycle::Live, json!({}))
        .module("b", "1.0", Lifecycle::Live, json!({"depends_on": ["a@2.0"]}));
    assert_eq!(versions.resolve().unwrap_err(), "the node has a 1.0, and module b needs a@2.0");
    let chain =
        Fleet::edge(&[]).with(Kind::Template, "edge", json!({"extends": "edge", "node_platform": "x"}));
    assert_eq!(chain.resolve().unwrap_err(), "the template edge extends itself, or more than 64 templates");
    let missing = Fleet::default().with(Kind::Node, "n", json!({"template": "edge"}));
    assert_eq!(missing.resolve().unwrap_err(), "the template edge does not exist yet");
    assert_eq!(Fleet::default().resolve().unwrap_err(), "there is no node n");
}

#[test]
fn nodes_of_one_template_share_every_package() {
    let mut fleet = Fleet::edge(&["a@live"]).module(
        "a",
        "1.0",
        Lifecycle::Live,
        json!({"host": {"packages": ["nginx"]}}),
    );
    for index in 0..50 {
        fleet =
            fleet.with(Kind::Node, &format!("n{index}"), json!({"template": "edge", "config": {"i": index}}));
    }
    let mut resolver = NodeResolver::new(&fleet.accepted, &fleet.versions);
    let documents: Vec<NodeDocument> =
        (0..50).map(|index| resolver.resolve(&format!("n{index}")).unwrap().document).collect();
    let packages: BTreeSet<BlobDigest> =
        documents.iter().flat_map(|document| &document.modules).map(|module| module.package).collect();
    assert_eq!(packages.len(), 1);
    assert!(documents.iter().all(|document| document.to_bytes().len() < 300));
    assert!(HostState::compose(&documents[0], &fleet.packages).is_ok());
}

#[test]
fn every_item_says_where_it_and_its_settings_come_from() {
    let spec = json!({"version": "1.0", "config": {"a": 1, "b": 1, "c": 1}, "host": {"packages": ["nginx"], "files": {
        "/etc/a": {"content": "{{ config.a }} {{ config.b }} {{ config.c }} {{ node.hostname }}"}}}});
    let fleet = Fleet::edge(&["m@live"])
        .module("m", "1.0", Lifecycle::Live, spec)
        .with(Kind::Node, "n", json!({"template": "edge", "config": {"b": 2, "c": 2}}))
        .with(Kind::Assignment, "n:m", json!({"config": {"c": 3}}));
    let items = crate::host::describe(&fleet.resolve().unwrap(), &fleet.packages).unwrap();
    assert_eq!((items[0].module.as_str(), items[0].because.as_str()), ("m 1.0", "template edge (m@live)"));
    let settings: Vec<String> =
        items[1].settings.iter().map(|one| format!("{}={} ({})", one.name, one.value, one.origin)).collect();
    assert_eq!(
        settings,
        [
            "config.a=1 (module)",
            "config.b=2 (node config)",
            "config.c=3 (assignment)",
            "node.hostname=\"n\" (node)"
        ]
    );
}

#[test]
fn nodes_that_a_change_affects_alike_are_shown_once() {
    let fleet = |text: &str, blocked: bool| {
        let motd = json!({"config": {"db_password": "vault:x"}, "host": {"files": {"/etc/motd": {"content": text}}}});
        let mut fleet = Fleet::edge(&["motd@live"])
            .module("motd", "1.0", Lifecycle::Live, motd)
            .module("chrony", "1.0", Lifecycle::Live, json!({"host": {"packages": ["chrony"]}}))
            .with(
                Kind::Template,
                "core",
                json!({"node_platform": "debian-12-amd64", "modules": ["chrony@live"]}),
            )
            .with(Kind::Node, "untouched", json!({"template": "core"}));
        for node in ["a", "b"] {
            let spec = json!({"template": "edge"});
            fleet = fleet.with(Kind::Node, node, spec);
        }
        if blocked {
            fleet = fleet.with(Kind::Node, "blocked", json!({"template": "nowhere"}));
        }
        fleet
    };
    let (before, after) = (fleet("one\n", false), fleet("two\n", true));
    let changed = crate::host::changed_nodes(before.content(), after.content()).groups;
    assert_eq!(changed[0].nodes, ["a", "b", "n"]);
    let crate::host::NodeEffect::Items(items) = &changed[0].effect else { panic!("{changed:?}") };
    assert_eq!((items.len(), items[0].item.to_string()), (1, "path /etc/motd".to_owned()));
    let lines = items[0].content.as_ref().and_then(|content| content.lines.as_deref());
    assert_eq!((lines, items[0].fields.len()), (Some("@@ -1 +1 @@\n-one\n+two\n"), 0));
    assert_eq!(changed[1].nodes, ["blocked"]);
    assert!(
        matches!(&changed[1].effect, crate::host::NodeEffect::Unresolvable(reasons) if reasons[0].contains("nowhere"))
    );
    assert!(
        crate::host::changed_nodes(after.content(), after.content()) == Default::default(),
        "nothing changed"
    );
}

/// The modules of the catalogue resolve and compose, with the settings that they come with.
#[test]
fn the_catalogue_composes_on_a_node() {
    let mut fleet =
        Fleet::edge(&["system-base@1.0.0", "security-hardening@1.0.0", "chrony@4.3.0", "nginx@live"]);
    for declared in &crate::catalogue::MODULES.declarations {
        let Spec::Module(spec) = declared.spec.as_ref() else { continue };
        let version = spec.version.as_ref().map(Version::as_str).unwrap_or_default().to_owned();
        let stored = declared.spec.to_json(crate::shape::Defaults::Omit);
        fleet = fleet.module(&declared.key.name, &version, Lifecycle::Live, stored);
    }
    let node = fleet.resolve().unwrap();
    let state = HostState::compose(&node.document, &fleet.packages).unwrap();
    let ids: Vec<String> = state.items.iter().map(|one| one.item.id().to_string()).collect();
    assert!(
        ids.contains(&"service nginx".to_owned()) && ids.contains(&"path /etc/timezone".to_owned()),
        "{ids:?}"
    );
}

#[test]
fn a_changed_secret_is_an_effect_that_does_not_show_it() {
    let fleet = |secret: &str, mode: &str| {
        let file = json!({"content": "key {{ config.api_token }}\n", "mode": mode});
        let spec = json!({"config": {"api_token": secret}, "host": {"files": {"/etc/key": file}}});
        Fleet::edge(&["m@live"]).module("m", "1.0", Lifecycle::Live, spec)
    };
    let (before, after) = (fleet("hunter2", "0600"), fleet("hunter3", "0640"));
    let changed = crate::host::changed_nodes(before.content(), after.content());
    assert!(!format!("{changed:?}").contains("hunter"), "{changed:?}");
    let crate::host::NodeEffect::Items(items) = &changed.groups[0].effect else { panic!("{changed:?}") };
    let fields: Vec<&str> = items[0].fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(fields, ["mode"]);
    let (only_secret, after) = (fleet("hunter2", "0640"), fleet("hunter3", "0640"));
    assert_eq!(crate::host::changed_nodes(only_secret.content(), after.content()).groups.len(), 1);
}

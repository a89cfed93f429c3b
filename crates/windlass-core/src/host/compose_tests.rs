use serde_json::{Map, json};

use super::*;
use crate::resource::{Kind, Spec};

fn package(name: &str, spec: serde_json::Value) -> ModulePackage {
    let Some(Spec::Module(spec)) = Spec::read_stored(Kind::Module, &spec.to_string()) else {
        panic!("not a module: {spec}")
    };
    let sources =
        spec.host.iter().flat_map(|host| host.files.values()).filter_map(|file| file.source.as_ref());
    let blob = |path: &str| crate::host::BlobRef {
        digest: BlobDigest::of(path.as_bytes()),
        size: path.len() as u64,
    };
    let files = sources.map(|path| (path.to_string(), blob(path.as_str()))).collect();
    ModulePackage { name: name.to_owned(), spec, files }
}

struct Node {
    document: NodeDocument,
    packages: BTreeMap<BlobDigest, ModulePackage>,
}

impl Node {
    fn new() -> Node {
        let node: Map<String, Value> = json!({"hostname": "n1"}).as_object().unwrap().clone();
        let document = NodeDocument { node, config: Map::new(), modules: Vec::new() };
        Node { document, packages: BTreeMap::new() }
    }

    fn with(mut self, name: &str, priority: i64, depends_on: &[&str], spec: serde_json::Value) -> Node {
        let package = package(name, spec);
        self.document.modules.push(NodeModule {
            name: name.to_owned(),
            version: None,
            package: package.digest(),
            priority,
            depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
            config: Map::new(),
        });
        self.packages.insert(package.digest(), package);
        self
    }

    fn compose(&self) -> Result<HostState, Vec<String>> {
        let problems = |problems: Vec<HostProblem>| problems.iter().map(ToString::to_string).collect();
        HostState::compose(&self.document, &self.packages).map_err(problems)
    }

    fn text(&self, path: &str) -> String {
        let state = self.compose().unwrap();
        let file = state.items.iter().find_map(|one| match &one.item {
            HostItem::File(at, file) if at.as_str() == path => Some(file.clone()),
            _ => None,
        });
        match file.map(|file| file.content) {
            Some(FileContent::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }
}

fn motd(text: &str) -> serde_json::Value {
    json!({"host": {"files": {"/etc/motd": {"content": text}}}})
}

#[test]
fn a_module_gives_its_items_in_the_order_in_which_they_are_needed() {
    let spec = json!({"config": {"workers": 4}, "host": {
        "packages": ["nginx=1.26.*"], "hold": ["nginx"], "groups": {"web": {}}, "users": {"web": {"group": "web"}},
        "directories": {"/srv/www": {"owner": "web"}},
        "files": {"/etc/nginx/a.conf": {"content": "w {{ config.workers }} {{ node.hostname }};"},
                  "/srv/www/index.html": {"source": "www/index.html"}},
        "links": {"/srv/current": {"to": "/srv/www"}},
        "services": {"nginx": {"reload_on": ["/etc/nginx/a.conf"]}},
        "sysctl": {"net.ipv4.ip_forward": true},
        "timers": {"rotate": {"schedule": "@daily", "command": "rotate {{ node.hostname }}"}},
    }});
    let node = Node::new().with("nginx", 50, &[], spec);
    let state = node.compose().unwrap();
    let ids: Vec<String> = state.items.iter().map(|one| one.item.id().to_string()).collect();
    assert_eq!(
        ids,
        [
            "package nginx",
            "hold nginx",
            "group web",
            "user web",
            "path /srv/www",
            "path /etc/nginx/a.conf",
            "path /srv/www/index.html",
            "path /srv/current",
            "sysctl net.ipv4.ip_forward",
            "service nginx",
            "timer rotate"
        ]
    );
    assert_eq!(node.text("/etc/nginx/a.conf"), "w 4 n1;");
}

#[test]
fn settings_of_the_module_on_the_node_win_over_the_node_and_the_node_over_the_module() {
    let spec = json!({"config": {"a": "module", "b": "module", "c": "module"},
        "host": {"files": {"/etc/motd": {"content": "{{ config.a }} {{ config.b }} {{ config.c }}"}}}});
    let mut node = Node::new().with("m", 50, &[], spec);
    node.document.config = json!({"b": "node", "c": "node"}).as_object().unwrap().clone();
    node.document.modules[0].config = json!({"c": "assignment"}).as_object().unwrap().clone();
    assert_eq!(node.text("/etc/motd"), "module node assignment");
}

#[test]
fn the_higher_priority_wins_and_then_the_module_that_depends_on_the_other() {
    let one = |priority| Node::new().with("a", priority, &[], motd("a"));
    assert_eq!(one(50).with("b", 40, &[], motd("b")).text("/etc/motd"), "a");
    assert_eq!(one(50).with("b", 60, &[], motd("b")).text("/etc/motd"), "b");
    let through = one(50).with("mid", 50, &["a"], json!({})).with("b", 50, &["mid"], motd("b"));
    assert_eq!(through.text("/etc/motd"), "b");
    assert_eq!(
        one(50).with("b", 50, &[], motd("a")).text("/etc/motd"),
        "a",
        "the same content is no conflict"
    );
    let clash = one(50).with("b", 50, &[], motd("b")).compose().unwrap_err();
    assert!(
        clash[0].starts_with("the modules a and b both set path /etc/motd, with the same priority 50"),
        "{clash:?}"
    );
    let link = json!({"host": {"links": {"/etc/motd": {"to": "/run/motd"}}}});
    assert_eq!(one(50).with("b", 50, &[], link).compose().unwrap_err().len(), 1, "a path is one thing");
}

#[test]
fn every_problem_is_found_at_once() {
    let mut node = Node::new().with("a", 50, &[], motd("{{ config.missing }}")).with(
        "b",
        50,
        &[],
        json!({"host": {"sysctl": {"net.core.somaxconn": "{{ config.x"}}}),
    );
    node.document.modules.push(NodeModule {
        name: "c".to_owned(),
        package: BlobDigest::of(b"c"),
        ..node.document.modules[0].clone()
    });
    let problems = node.compose().unwrap_err();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert_eq!(problems[0], "module a, path /etc/motd: line 1: there is no `config.missing`");
    assert!(problems[2].starts_with("the content of module c (blake3:"), "{problems:?}");
}

#[test]
fn packages_and_documents_read_back_as_they_were_written() {
    let node = Node::new().with(
        "a",
        50,
        &[],
        json!({"host": {"files": {"/a": {"source": "files/a", "template": true}}}}),
    );
    let package = node.packages.values().next().unwrap();
    assert_eq!(ModulePackage::from_bytes(&package.to_bytes()).as_ref(), Ok(package));
    assert_eq!(NodeDocument::from_bytes(&node.document.to_bytes()).unwrap(), node.document);
    let mut without = package.clone();
    without.files.clear();
    let read = ModulePackage::from_bytes(&without.to_bytes());
    assert_eq!(read, Err(crate::host::PackageProblem::FileMissing));
    assert_eq!(ModulePackage::from_bytes(b"{}"), Err(crate::host::PackageProblem::Malformed));
}

//! Which documents compose alike: thousands of nodes of one template differ in facts that no text of their modules uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::document::NodeDocument;
use super::package::{BlobDigest, ModulePackage};
use super::template::{self, TemplateValues};

/// Makes keys of documents: two documents with the same key compose to the same items, or to the same problems.
#[derive(Debug)]
pub struct ComposeKeys<'p> {
    packages: &'p BTreeMap<BlobDigest, ModulePackage>,
    facts: BTreeMap<BlobDigest, UsedFacts>,
}

/// The facts about a node that the texts of a package use.
#[derive(Clone, Debug)]
enum UsedFacts {
    /// Those with these names: `node.region`.
    Named(BTreeSet<String>),
    /// Any: a file of the repository is filled on the machine, and its text is not at hand.
    All,
}

impl<'p> ComposeKeys<'p> {
    /// Keys of documents whose modules have these packages.
    pub fn new(packages: &'p BTreeMap<BlobDigest, ModulePackage>) -> ComposeKeys<'p> {
        ComposeKeys { packages, facts: BTreeMap::new() }
    }

    /// The key of a document.
    pub fn of(&mut self, document: &NodeDocument) -> String {
        let mut names = BTreeSet::new();
        let mut needs_all = false;
        for module in &document.modules {
            match self.used_by(module.package) {
                UsedFacts::Named(used) => names.extend(used.iter().cloned()),
                UsedFacts::All => needs_all = true,
            }
        }
        let json = |value| serde_json::to_string(value).expect("a document is JSON");
        let mut key =
            serde_json::to_string(&(&document.modules, &document.config)).expect("a document is JSON");
        if needs_all {
            key.push_str(&serde_json::to_string(&document.node).expect("a document is JSON"));
            return key;
        }
        if names.is_empty() {
            return key;
        }
        let values = TemplateValues { node: document.node.clone(), ..TemplateValues::default() };
        for name in names {
            let value = values.get(&name).map(json);
            let _ = write!(key, "\n{name}={}", value.as_deref().unwrap_or("none"));
        }
        key
    }

    fn used_by(&mut self, package: BlobDigest) -> &UsedFacts {
        let packages = self.packages;
        self.facts.entry(package).or_insert_with(|| packages.get(&package).map_or(UsedFacts::All, used_facts))
    }
}

fn used_facts(package: &ModulePackage) -> UsedFacts {
    let Some(host) = &package.spec.host else { return UsedFacts::Named(BTreeSet::new()) };
    if host.files.values().any(|file| file.source.is_some() && file.template) {
        return UsedFacts::All;
    }
    let contents = host.files.values().filter_map(|file| file.content.as_deref());
    let settings = host.sysctl.values().filter_map(|value| value.as_str());
    let commands = host.timers.values().map(|timer| timer.command.as_str());
    let texts = contents.chain(settings).chain(commands);
    let names = texts.flat_map(template::names).filter(|name| name.starts_with("node."));
    UsedFacts::Named(names.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::host::{BlobRef, HostState, NodeModule};
    use crate::resource::{Kind, Spec};

    fn package(spec: Value) -> ModulePackage {
        let Some(Spec::Module(spec)) = Spec::read_stored(Kind::Module, &spec.to_string()) else {
            panic!("not a module: {spec}")
        };
        let blob = BlobRef { digest: BlobDigest::of(b"x"), size: 1 };
        ModulePackage { name: "m".to_owned(), spec, files: [("x".to_owned(), blob)].into() }
    }

    fn document(package: &ModulePackage, facts: Value) -> NodeDocument {
        let module = NodeModule {
            name: "m".to_owned(),
            version: None,
            package: package.digest(),
            priority: 50,
            depends_on: Vec::new(),
            config: Map::new(),
        };
        NodeDocument { node: facts.as_object().unwrap().clone(), config: Map::new(), modules: vec![module] }
    }

    #[test]
    fn documents_with_the_same_key_compose_alike_and_only_used_facts_matter() {
        let facts = [
            json!({"hostname": "a", "region": "eu"}),
            json!({"hostname": "b", "region": "eu"}),
            json!({"hostname": "a", "region": "us"}),
            json!({"hostname": "a"}),
        ];
        for (spec, distinct) in [
            (json!({"host": {"packages": ["nginx"], "files": {"/a": {"content": "plain"}}}}), 1),
            (json!({"host": {"files": {"/a": {"content": "{{ node.region }}"}}}}), 3),
            (json!({"host": {"sysctl": {"kernel.hostname": "{{ node.hostname }}"}}}), 2),
            (json!({"host": {"files": {"/a": {"source": "x", "template": true}}}}), 4),
            (json!({"host": {"files": {"/a": {"source": "x"}}}}), 1),
            (json!({}), 1),
        ] {
            let package = package(spec);
            let packages: BTreeMap<_, _> = [(package.digest(), package.clone())].into();
            let mut keys = ComposeKeys::new(&packages);
            let mut composed = BTreeMap::new();
            for facts in &facts {
                let document = document(&package, facts.clone());
                let items = HostState::compose(&document, &packages);
                let before = composed.insert(keys.of(&document), items.clone());
                assert!(before.is_none_or(|before| before == items), "{facts}");
            }
            assert_eq!(composed.len(), distinct, "{:?}", package.spec.host);
        }
    }
}

//! Generates small random fleets with all kinds of resources and valid references.
//!
//! A fleet is derived from a tape of bytes: each choice reads one byte. Two tapes give two fleets with names in common,
//! so that a plan from one to the other creates, updates and destroys. Shorter tapes and smaller bytes give simpler
//! fleets, so that property tests shrink towards them.

use serde_json::{Map, Value, json};
use windlass_core::manifest::SourceFile;

use crate::flow::flow;

/// A fleet as sections of named values, before it is written in a form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Section path (`["sdwan", "networks"]`), name key, and the entries in order.
    sections: Vec<SectionModel>,
}

#[derive(Clone, Debug, PartialEq)]
struct SectionModel {
    path: &'static [&'static str],
    name_key: &'static str,
    entries: Vec<(String, Value)>,
}

/// The form of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelForm {
    /// A map keyed by name.
    Map,
    /// A list whose items contain the name.
    List,
}

/// Reads choices from a tape; at its end every choice is the first one.
struct TapeReader<'t> {
    tape: &'t [u8],
}

/// Texts that a wrong quoting would change or make unreadable.
const HOSTILE: [&str; 10] = [
    "<<",
    "~",
    " # not: [a, comment ",
    "one\r\ntwo\n",
    "\u{7f}\u{9b}31m",
    "\u{85}\u{2028}\u{2029}",
    "\u{feff}\u{fffe}\u{ffff}",
    "\0\u{1b}[2J",
    "\u{202e}\u{1fffe}\u{10ffff}",
    "",
];

impl TapeReader<'_> {
    fn below(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.tape.split_first() else { return 0 };
        self.tape = rest;
        usize::from(*first) % count.max(1)
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 1
    }

    fn word<const N: usize>(&mut self, words: [&'static str; N]) -> &'static str {
        words[self.below(N)]
    }

    /// A hostile text; as a key it may be longer than YAML allows without a question mark.
    fn hostile(&mut self) -> String {
        let text = HOSTILE[self.below(HOSTILE.len())];
        text.repeat([1, 1, 1, 400][self.below(4)])
    }

    fn one<'v>(&mut self, values: &'v [String]) -> Option<&'v str> {
        (!values.is_empty()).then(|| values[self.below(values.len())].as_str())
    }

    /// Names with a common prefix; the tape decides which of them exist.
    fn names(&mut self, stem: &str, count: usize) -> Vec<String> {
        (0..count).filter(|_| self.below(4) > 0).map(|number| format!("{stem}-{number}")).collect()
    }
}

impl Model {
    /// The fleet that a tape describes.
    pub fn from_tape(tape: &[u8]) -> Model {
        let mut choices = TapeReader { tape };
        let mut model = Model::default();
        let modules = choices.names("module", 4);
        let templates = choices.names("template", 4);
        let nodes = choices.names("node", 6);
        let pins = model.modules(&modules, &mut choices);
        model.templates(&templates, &pins, &mut choices);
        let nodes = if templates.is_empty() { Vec::new() } else { nodes };
        model.nodes(&nodes, &templates, &mut choices);
        model.assignments(&nodes, &modules, &mut choices);
        model.networks(&nodes, &mut choices);
        model.federation(&mut choices);
        model.kubernetes(&mut choices);
        model.notifications(&mut choices);
        model.module_versions(&pins, &mut choices);
        model
    }

    /// The same fleet with hostile texts in the free settings of its modules, as keys and as values.
    pub fn with_hostile_texts(mut self, tape: &[u8]) -> Model {
        let mut choices = TapeReader { tape };
        let modules = self.sections.iter_mut().filter(|section| section.path == ["modules"]);
        for (_, spec) in modules.flat_map(|section| &mut section.entries) {
            for _ in 0..choices.below(4) {
                let fraction = choices.below(256) as f64 / 10.0;
                spec["config"][choices.hostile()] = json!([choices.hostile(), fraction]);
            }
        }
        self
    }

    fn add(&mut self, path: &'static [&'static str], name_key: &'static str, entries: Vec<(String, Value)>) {
        self.sections.push(SectionModel { path, name_key, entries });
    }

    /// Adds modules and returns the exact pin of each. The version follows from the content, which never changes for a
    /// version.
    fn modules(&mut self, names: &[String], choices: &mut TapeReader<'_>) -> Vec<String> {
        let mut entries = Vec::new();
        let mut pins: Vec<String> = Vec::new();
        for name in names {
            let mut spec = json!({ "priority": choices.below(3) * 10 });
            if choices.flip() {
                spec["config"] = json!({ "workers": choices.below(4), "nested": { "on": choices.flip() } });
            }
            if let Some(needed) = choices.one(&pins)
                && choices.flip()
            {
                spec["depends_on"] = json!([needed]);
            }
            if choices.flip() {
                spec["host"] = json!({
                    "packages": ["nginx"],
                    "files": { "/etc/motd": { "content": format!("hello {}\n", choices.below(3)) } },
                });
            }
            let version = format!("1.0.{}", checksum(&spec.to_string()));
            pins.push(format!("{name}@{version}"));
            spec["version"] = json!(version);
            entries.push((name.clone(), spec));
        }
        self.add(&["modules"], "name", entries);
        pins
    }

    fn module_versions(&mut self, names: &[String], choices: &mut TapeReader<'_>) {
        // Every version, because what pins it refers to it.
        let mut state = || json!({ "state": choices.word(["live", "blessed", "retired"]) });
        let entries = names.iter().map(|name| (name.clone(), state())).collect();
        self.add(&["module_versions"], "name", entries);
    }

    fn templates(&mut self, names: &[String], pins: &[String], choices: &mut TapeReader<'_>) {
        let mut entries = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let mut spec = Map::new();
            match (choices.one(&names[..index]), choices.flip()) {
                (Some(parent), true) => spec.insert("extends".to_owned(), json!(parent)),
                _ => spec.insert("node_platform".to_owned(), json!("debian-12-amd64")),
            };
            let used: Vec<String> = pins.iter().filter(|_| choices.flip()).cloned().collect();
            spec.insert("modules".to_owned(), json!(used));
            if choices.flip() {
                spec.insert("description".to_owned(), json!(format!("\u{fc}ber \"{}\"", choices.below(3))));
            }
            entries.push((name.clone(), Value::Object(spec)));
        }
        self.add(&["templates"], "name", entries);
    }

    fn nodes(&mut self, names: &[String], templates: &[String], choices: &mut TapeReader<'_>) {
        let mut entries = Vec::new();
        for name in names {
            let Some(template) = choices.one(templates) else { continue };
            let mut spec = json!({ "template": template, "region": choices.word(["eu", "us"]) });
            if choices.flip() {
                spec["labels"] = json!({ "tier": choices.word(["edge", "core"]) });
            }
            if choices.below(8) == 7 {
                spec["protect"] = json!(true);
            }
            entries.push((name.clone(), spec));
        }
        self.add(&["nodes"], "hostname", entries);
    }

    fn assignments(&mut self, nodes: &[String], modules: &[String], choices: &mut TapeReader<'_>) {
        let mut entries = Vec::new();
        for node in nodes {
            for module in modules {
                if choices.below(4) == 3 {
                    entries.push((format!("{node}:{module}"), json!({ "enabled": choices.flip() })));
                }
            }
        }
        self.add(&["assignments"], "name", entries);
    }

    fn networks(&mut self, nodes: &[String], choices: &mut TapeReader<'_>) {
        let mut entries = Vec::new();
        for (number, name) in choices.names("network", 2).into_iter().enumerate() {
            let peers: Vec<&String> = nodes.iter().filter(|_| choices.flip()).collect();
            let listed: Vec<Value> = peers
                .iter()
                .map(|host| json!({ "host": host, "publicly_reachable": choices.flip() }))
                .collect();
            let mut spec = json!({ "routing_mode": choices.word(["static", "ibgp"]), "peers": listed });
            if choices.flip() {
                spec["cidr"] = json!(format!("fd00:{}::/64", number + 1));
            }
            if let Some((first, rest)) = peers.split_first() {
                spec["virtual_ips"] =
                    json!([{ "name": "front", "primary_holder": first, "failover_holders": rest }]);
            }
            entries.push((name, spec));
        }
        self.add(&["sdwan", "networks"], "name", entries);
    }

    fn federation(&mut self, choices: &mut TapeReader<'_>) {
        let trust = format!("sha256:{}", choices.word(["ab", "cd"]).repeat(32));
        let peers = choices.names("control", 1);
        let entries = peers
            .into_iter()
            .map(|name| (name, json!({ "url": "https://control.example.com", "trust": trust })))
            .collect();
        self.add(&["federation", "peers"], "name", entries);
    }

    fn kubernetes(&mut self, choices: &mut TapeReader<'_>) {
        let clusters = choices.names("cluster", 3);
        let groups = choices.names("group", 2);
        let bundles = choices.names("bundle", 3);
        let with_labels = |name: &String| (name.clone(), json!({ "labels": { "env": "prod" } }));
        self.add(&["clusters"], "name", clusters.iter().map(with_labels).collect());
        let selecting =
            |name: &String| (name.clone(), json!({ "selector": { "matchLabels": { "env": "prod" } } }));
        self.add(&["cluster_groups"], "name", groups.iter().map(selecting).collect());
        let mut entries = Vec::new();
        for (index, name) in bundles.iter().enumerate() {
            let mut targets = Vec::new();
            targets.extend(choices.one(&groups).map(|group| json!({ "cluster_group": group })));
            targets.extend(choices.one(&clusters).map(|cluster| json!({ "cluster": cluster })));
            let mut spec = json!({ "path": format!("apps/{}", choices.below(2)), "targets": targets });
            if let Some(needed) = choices.one(&bundles[..index])
                && choices.flip()
            {
                spec["depends_on"] = json!([needed]);
            }
            spec["timeout"] = json!(choices.word(["5m", "300s", "90s"]));
            entries.push((name.clone(), spec));
        }
        self.add(&["bundles"], "name", entries);
    }

    fn notifications(&mut self, choices: &mut TapeReader<'_>) {
        let providers = choices.names("provider", 2);
        let with_type = |name: &String| {
            let spec = match name.ends_with('0') {
                true => json!({ "type": "slack", "credential_path": "chat", "channel": "#ops" }),
                false => json!({ "type": "webhook", "address": "https://hooks.example.com/x" }),
            };
            (name.clone(), spec)
        };
        self.add(&["notification_providers"], "name", providers.iter().map(with_type).collect());
        let mut entries = Vec::new();
        for name in choices.names("alert", 2) {
            let Some(provider) = choices.one(&providers) else { continue };
            let mut spec = json!({ "providers": [provider], "events": ["gitops.*"] });
            if choices.flip() {
                spec["resources"] = json!([{ "kind": choices.word(["node", "peer"]), "name": "edge-*" }]);
            }
            entries.push((name, spec));
        }
        self.add(&["alerts"], "name", entries);
    }

    /// The fleet as files: `spread` decides for each section its file (of four), its form, and the order of its
    /// entries.
    pub fn files(&self, spread: &[u8]) -> Vec<SourceFile> {
        let mut choices = TapeReader { tape: spread };
        let mut texts: Vec<String> = vec![String::new(); 4];
        for section in &self.sections {
            let file = choices.below(texts.len());
            let form = if choices.flip() { ModelForm::Map } else { ModelForm::List };
            let mut entries = section.entries.clone();
            if choices.flip() {
                entries.reverse();
            }
            texts[file].push_str(&write_section(section, &entries, form));
        }
        let head = "version: 1\naccount: acme\ninclude: [\"fleet.d/*.yaml\"]\n";
        let mut files = vec![SourceFile::new("fleet.yaml", format!("{head}{}", texts[0]).into())];
        let rest = texts.into_iter().enumerate().skip(1);
        files.extend(
            rest.map(|(number, text)| SourceFile::new(format!("fleet.d/{number}.yaml"), text.into_bytes())),
        );
        files
    }
}

/// A number that follows from a text.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum: u32, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn write_section(section: &SectionModel, entries: &[(String, Value)], form: ModelForm) -> String {
    let mut text = String::new();
    for (depth, key) in section.path.iter().enumerate() {
        text.push_str(&format!("{:indent$}{key}:\n", "", indent = depth * 2));
    }
    let indent = section.path.len() * 2;
    for (name, value) in entries {
        match form {
            ModelForm::Map => text.push_str(&format!("{:indent$}{name}: {}\n", "", flow(value))),
            ModelForm::List => {
                let mut item = value.clone();
                item[section.name_key] = json!(name);
                text.push_str(&format!("{:indent$}- {}\n", "", flow(&item)));
            }
        }
    }
    text
}

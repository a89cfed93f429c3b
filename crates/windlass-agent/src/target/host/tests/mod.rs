//! Tests of the host target in directory trees.

mod accounts;
mod apply;
mod crash;
mod drift;
mod faults;
mod hostile;
mod property;
mod removal;
mod services;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use windlass_core::host::{BlobDigest, BlobRef, HostState, ModulePackage, NodeDocument, NodeModule};
use windlass_core::resource::{Kind, Spec};

use super::{BlobSource, HostTarget, ItemOutcome, RecordedService, RunReport, Scope, StepHook};

/// Blobs in memory.
#[derive(Default)]
struct Blobs(BTreeMap<BlobDigest, Vec<u8>>);

impl BlobSource for Blobs {
    fn open(&self, blob: &BlobRef) -> io::Result<Box<dyn Read + '_>> {
        let bytes = self.0.get(&blob.digest).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(bytes)))
    }
}

/// A module: its name, the modules that it depends on, and its spec.
type Module<'m> = (&'m str, &'m [&'m str], Value);

/// A state and the document that it comes from.
struct Desired {
    document: NodeDocument,
    state: HostState,
}

/// A directory tree that stands for a machine.
struct Host {
    _directory: TempDir,
    root: PathBuf,
    state_dir: PathBuf,
    /// Files of the repository: path → content.
    sources: BTreeMap<String, Vec<u8>>,
    blobs: Blobs,
}

impl Host {
    fn new() -> Host {
        // In memory, because the agent waits for the disk after each write.
        let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        let (root, state_dir) = (directory.path().join("root"), directory.path().join("state"));
        fs::create_dir(&root).unwrap();
        Host { _directory: directory, root, state_dir, sources: BTreeMap::new(), blobs: Blobs::default() }
    }

    fn with_source(mut self, path: &str, content: &[u8]) -> Host {
        self.sources.insert(path.to_owned(), content.to_vec());
        self.blobs.0.insert(BlobDigest::of(content), content.to_vec());
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn write(&self, path: &str, content: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn desired(&self, modules: &[Module<'_>]) -> Desired {
        self.desired_with_config(modules, Map::new())
    }

    fn desired_with_config(&self, modules: &[Module<'_>], config: Map<String, Value>) -> Desired {
        let mut document = NodeDocument { node: Map::new(), config, modules: Vec::new() };
        document.node.insert("hostname".to_owned(), json!("n1"));
        let mut packages = BTreeMap::new();
        for (name, depends_on, spec) in modules {
            let Some(Spec::Module(spec)) = Spec::read_stored(Kind::Module, &spec.to_string()) else {
                panic!("not a module: {spec}")
            };
            let blob =
                |content: &Vec<u8>| BlobRef { digest: BlobDigest::of(content), size: content.len() as u64 };
            let files = self.sources.iter().map(|(path, content)| (path.clone(), blob(content))).collect();
            let package = ModulePackage { name: (*name).to_owned(), spec, files };
            document.modules.push(NodeModule {
                name: (*name).to_owned(),
                version: None,
                package: package.digest(),
                priority: 50,
                depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
                config: Map::new(),
            });
            packages.insert(package.digest(), package);
        }
        let state = HostState::compose(&document, &packages).unwrap();
        Desired { document, state }
    }

    /// The state with one module.
    fn one(&self, host: Value) -> Desired {
        self.desired(&[("m", &[], json!({"host": host}))])
    }

    fn target(&self) -> HostTarget<'_> {
        HostTarget::tree(&self.root, &self.state_dir, &self.blobs).unwrap()
    }

    fn target_with_steps(&self, steps: StepHook) -> HostTarget<'_> {
        HostTarget::tree_with_steps(&self.root, &self.state_dir, &self.blobs, steps).unwrap()
    }

    /// Applies a state without failures. The dry run before it says the same.
    fn apply(&self, desired: &Desired) -> RunReport {
        let expected = self.target().dry_run(&desired.document, &desired.state, Scope::WholeState).unwrap();
        let report = self.target().apply(&desired.document, &desired.state, Scope::WholeState).unwrap();
        assert_eq!(expected, report, "the dry run says what apply does");
        assert!(report.is_converged(), "{report:#?}");
        assert_eq!(self.target().observe(&desired.document, &desired.state), []);
        report
    }

    fn apply_with_failures(&self, desired: &Desired) -> RunReport {
        self.target().apply(&desired.document, &desired.state, Scope::WholeState).unwrap()
    }

    fn service(&self, name: &str) -> RecordedService {
        let path = self.path("/var/lib/windlass/recorded-services.json");
        let text = fs::read_to_string(path).unwrap_or_else(|_| "{}".to_owned());
        let mut services: BTreeMap<String, RecordedService> = serde_json::from_str(&text).unwrap();
        services.remove(name).unwrap_or_default()
    }

    /// Everything in the tree: path → type, mode, owner and content. Of simulated services only the states count.
    fn snapshot(&self) -> BTreeMap<String, String> {
        let mut paths = BTreeMap::new();
        add_paths(&self.root, "", &mut paths);
        paths.retain(|path, _| !path.starts_with("/var"));
        let text =
            fs::read_to_string(self.path("/var/lib/windlass/recorded-services.json")).unwrap_or_default();
        let services: BTreeMap<String, RecordedService> = serde_json::from_str(&text).unwrap_or_default();
        for (name, service) in services.into_iter().filter(|(_, service)| service.running || service.enabled)
        {
            paths.insert(format!("service {name}"), format!("{} {}", service.running, service.enabled));
        }
        let text =
            fs::read_to_string(self.path("/var/lib/windlass/recorded-packages.json")).unwrap_or_default();
        let packages: Value = serde_json::from_str(&text).unwrap_or_default();
        for (name, version) in packages["installed"].as_object().into_iter().flatten() {
            paths.insert(format!("package {name}"), version.to_string());
        }
        for name in packages["held"].as_array().into_iter().flatten() {
            paths.insert(format!("hold {name}"), String::new());
        }
        paths
    }
}

fn add_paths(directory: &Path, prefix: &str, paths: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}/{}", entry.file_name().to_str().unwrap());
        let metadata = fs::symlink_metadata(entry.path()).unwrap();
        let attributes =
            format!("{:04o} {} {}", metadata.permissions().mode() & 0o7777, metadata.uid(), metadata.gid());
        if metadata.is_symlink() {
            paths.insert(path, format!("link to {}", fs::read_link(entry.path()).unwrap().display()));
        } else if metadata.is_dir() {
            paths.insert(path.clone(), format!("directory {attributes}"));
            add_paths(&entry.path(), &path, paths);
        } else {
            let content = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned();
            paths.insert(path, format!("file {attributes} {content}"));
        }
    }
}

/// The outcome of an item, by the written form of its id.
fn outcome<'r>(report: &'r RunReport, item: &str) -> &'r ItemOutcome {
    let found = report.items.iter().find(|one| one.item.to_string() == item);
    &found.unwrap_or_else(|| panic!("{item} is not in {report:#?}")).outcome
}

fn failure<'r>(report: &'r RunReport, item: &str) -> &'r str {
    match outcome(report, item) {
        ItemOutcome::Failed(reason) => reason,
        other => panic!("{item} did not fail: {other:?}"),
    }
}

/// The changed items and the kinds of their changes.
fn changed(report: &RunReport) -> Vec<String> {
    report.changes().map(|(one, kind, _)| format!("{kind:?} {}", one.item)).collect()
}

/// A module with something of every type that works in a directory tree without root.
fn web(text: &str) -> Value {
    json!({
        "packages": ["nginx=1.26.*"], "hold": ["nginx"],
        "directories": {"/srv/www": {"mode": "0750"}},
        "files": {
            "/etc/nginx/nginx.conf": {"content": text, "validate": "test -s {}"},
            "/srv/www/index.html": {"source": "www/index.html", "mode": "0600"},
            "/srv/www/about.html": {"source": "www/about.html", "template": true},
        },
        "links": {"/srv/current": {"to": "/srv/www"}},
        "sysctl": {"net.ipv4.ip_forward": 1},
        "services": {"nginx": {"reload_on": ["/etc/nginx/nginx.conf"]}},
        "timers": {"rotate": {"schedule": "30 3 * * *", "command": "echo 100%"}},
    })
}

fn web_host() -> Host {
    Host::new()
        .with_source("www/index.html", b"<h1>index</h1>\n")
        .with_source("www/about.html", b"{{ node.hostname }}\n")
}

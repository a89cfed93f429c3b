//! A host that is a directory tree, its agent, and what the server assigns to it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass_core::digest::Digest;
use windlass_core::host::{BlobDigest, BlobRef, ModulePackage, NodeDocument, NodeModule};
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::target_assignment::{CoveredResource, CoveringApproval, TargetAssignment};
use windlass_core::time::Timestamp;

use super::server::{FakeServer, identity};
use crate::enroll::{Enrolment, enroll_in};
use crate::error::AgentError;
use crate::surroundings::{DiskHooks, Surroundings};
use crate::{Agent, AgentEnd, AgentOptions, AgentTarget};

pub(super) struct World {
    _directory: TempDir,
    pub(super) root: PathBuf,
    pub(super) state_dir: PathBuf,
    pub(super) server: FakeServer,
    pub(super) clock: Arc<AtomicI64>,
}

/// What the server assigns: the assignment and the document that it names.
#[derive(Clone)]
pub(super) struct Assigned {
    pub(super) assignment: TargetAssignment,
    pub(super) document: NodeDocument,
}

impl Assigned {
    pub(super) fn digest(&self) -> Digest {
        self.document.digest()
    }
}

/// A running agent.
pub(super) struct Running {
    task: JoinHandle<Result<AgentEnd, AgentError>>,
    stop: oneshot::Sender<()>,
}

impl Running {
    pub(super) async fn stop(self) -> AgentEnd {
        let _ = self.stop.send(());
        self.task.await.unwrap().unwrap()
    }

    /// Waits for the agent to end by itself. `None` if it crashed.
    pub(super) async fn end(self) -> Option<AgentEnd> {
        let Running { task, stop } = self;
        let end = task.await;
        drop(stop);
        match end {
            Ok(end) => Some(end.unwrap()),
            Err(error) if error.is_panic() => match error.into_panic().downcast::<&str>() {
                Ok(text) if *text == "crash" => None,
                Ok(text) => panic!("{text}"),
                Err(other) => std::panic::resume_unwind(other),
            },
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl World {
    pub(super) fn new() -> World {
        // In memory, because the agent waits for the disk after each write.
        let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        let (root, state_dir) = (directory.path().join("root"), directory.path().join("state"));
        fs::create_dir(&root).unwrap();
        let clock = Arc::new(AtomicI64::new(1_800_000_000_000));
        World { _directory: directory, root, state_dir, server: FakeServer::new(), clock }
    }

    /// A world with an enrolled agent.
    pub(super) async fn enrolled() -> World {
        let world = World::new();
        world.enroll("token", Enrolment::First).await.unwrap();
        world
    }

    pub(super) async fn enroll(&self, token: &str, enrolment: Enrolment) -> Result<(), AgentError> {
        let key = self.server.enrolment_key(token);
        let surroundings = self.surroundings(DiskHooks::default());
        enroll_in(&self.options(), &key, enrolment, &surroundings).await.map(|_| ())
    }

    pub(super) fn options(&self) -> AgentOptions {
        AgentOptions::new(&self.state_dir, AgentTarget::Tree(self.root.clone()))
    }

    pub(super) fn surroundings(&self, disk: DiskHooks) -> Surroundings {
        let clock = self.clock.clone();
        Surroundings {
            clock: Arc::new(move || Timestamp::from_millis(clock.load(Ordering::SeqCst))),
            random: Arc::new(|| 0.5),
            dial: self.server.dial(),
            disk,
        }
    }

    pub(super) fn start(&self) -> Running {
        self.start_with(self.options(), DiskHooks::default())
    }

    pub(super) fn start_with(&self, options: AgentOptions, disk: DiskHooks) -> Running {
        let agent = Agent::open_in(options, self.surroundings(disk)).unwrap();
        run(agent)
    }

    /// Makes an assignment and puts its blobs on the server. Nobody is told.
    pub(super) fn make(
        &self,
        generation: u64,
        modules: &[(&str, Value)],
        sources: &[(&str, &str)],
    ) -> Assigned {
        let mut document = NodeDocument { node: Map::new(), config: Map::new(), modules: Vec::new() };
        document.node.insert("hostname".to_owned(), json!("web-1"));
        let mut covered = Vec::new();
        let mut files = BTreeMap::new();
        for (path, content) in sources {
            let blob = self.put_blob(content.as_bytes());
            files.insert((*path).to_owned(), blob);
        }
        for (name, spec) in modules {
            let Some(Spec::Module(spec)) = Spec::read_stored(Kind::Module, &spec.to_string()) else {
                panic!("not a module: {spec}")
            };
            let package = ModulePackage { name: (*name).to_owned(), spec, files: files.clone() };
            self.put_blob(&package.to_bytes());
            let module = NodeModule {
                name: (*name).to_owned(),
                version: None,
                package: package.digest(),
                priority: 50,
                depends_on: Vec::new(),
                config: Map::new(),
            };
            covered.push(CoveredResource {
                resource: ResourceKey::new(Kind::Module, *name),
                digest: Digest::of(name.as_bytes()),
                package: Some(package.digest()),
                approval: CoveringApproval::Catalogue,
            });
            document.modules.push(module);
        }
        let identity = identity(self.server.lock().enrolments);
        let assignment = TargetAssignment {
            account: identity.account_id.to_string(),
            target: identity.target,
            enrolment: identity.enrolment,
            generation,
            document: BlobDigest::of(&document.to_bytes()),
            covered,
            issued_at: Timestamp::from_millis(0),
        };
        Assigned { assignment, document }
    }

    pub(super) fn put_blob(&self, bytes: &[u8]) -> BlobRef {
        let digest = BlobDigest::of(bytes);
        self.server.lock().blobs.insert(digest, zstd::encode_all(bytes, 3).unwrap());
        BlobRef { digest, size: bytes.len() as u64 }
    }

    pub(super) fn assign(&self, assigned: &Assigned) {
        self.server.assign(&assigned.assignment, &assigned.document.to_bytes());
    }

    /// Waits until the server knows that the node is what was assigned.
    pub(super) async fn until_in_sync(&self, assigned: &Assigned) {
        let (generation, digest) = (assigned.assignment.generation, assigned.digest());
        let what = format!("generation {generation} is in sync");
        self.server.until(&what, |state| state.merged.is_in_sync(generation, digest)).await;
    }

    /// Runs an agent until an assignment is in sync, and stops it.
    pub(super) async fn apply(&self, assigned: &Assigned) {
        self.assign(assigned);
        let agent = self.start();
        self.until_in_sync(assigned).await;
        assert_eq!(agent.stop().await, AgentEnd::Stopped);
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(super) fn write(&self, path: &str, content: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    /// Everything in the tree but simulated services: path → mode and content.
    pub(super) fn snapshot(&self) -> BTreeMap<String, String> {
        let mut paths = BTreeMap::new();
        add_paths(&self.root, "", &mut paths);
        paths.retain(|path, _| !path.starts_with("/var"));
        paths
    }
}

pub(super) fn run(agent: Agent) -> Running {
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(agent.run(async move {
        if stopped.await.is_err() {
            std::future::pending::<()>().await;
        }
    }));
    Running { task, stop }
}

fn add_paths(directory: &Path, prefix: &str, paths: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}/{}", entry.file_name().to_str().unwrap());
        let metadata = fs::symlink_metadata(entry.path()).unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_dir() {
            paths.insert(path.clone(), format!("directory {mode:o}"));
            add_paths(&entry.path(), &path, paths);
        } else {
            let content = fs::read(entry.path()).unwrap_or_default();
            paths.insert(path, format!("{mode:o} {}", String::from_utf8_lossy(&content)));
        }
    }
}

/// A module with one file.
pub(super) fn file(path: &str, content: &str) -> Value {
    json!({"host": {"files": {path: {"content": content}}}})
}

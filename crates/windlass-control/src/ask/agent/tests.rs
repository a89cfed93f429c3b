use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use windlass_core::agent::Agent;
use windlass_core::digest::Digest;
use windlass_core::event::{Event, EventKind};
use windlass_core::gate::Halt;
use windlass_core::host::{BlobDigest, HostState, ModulePackage, NodeDocument};
use windlass_core::id::AccountId;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::target_assignment::{AgentPosition, TargetAssignment, VerifySignature};
use windlass_store::{Address, EventFilter, EventOrder, NewAssignment, ResourceToDestroy, Store, new_id};

use super::assignment::assignment;
use super::blob::blob;
use crate::agents::authority::AgentAuthority;
use crate::caller::AgentCaller;
use crate::clock::now;
use crate::config::ControlConfig;
use crate::control::{Control, ControlParts};
use crate::flow::assign::{AssignResult, assign_account};
use crate::keys::KeySource;
use crate::keys::admit::take_keys;
use crate::keys::signed_heads::SignedHeads;
use crate::keys::signing::is_signed_by;
use crate::loops::blobs::sweep;

struct Server {
    control: Control,
    account_id: AccountId,
}

/// The keys that an agent got when it enrolled.
struct TrustedKeys(Vec<String>);

impl VerifySignature for TrustedKeys {
    fn is_valid(&self, bytes: &[u8], signature: &str) -> bool {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        self.0.iter().any(|key| is_signed_by(key, text, signature))
    }
}

impl Server {
    /// An account with the nodes `a` and `b`, each with a template and a module of its own.
    async fn new(directory: &Path) -> Server {
        let config = ControlConfig::in_directory(directory);
        let store = Store::open(&Address::Sqlite(directory.join("windlass.db"))).await.expect("a database");
        let keys = take_keys(&store, &KeySource::DataDirectory, directory, now()).await.expect("a new key");
        let authority = AgentAuthority::new(&keys).expect("any key makes an authority");
        let signed_heads = SignedHeads::read(directory).expect("a directory that can be read");
        let guard = windlass_outbound::AddressGuard::new(config.address_rules());
        let sender = windlass_notify::NotificationSender::new(config.insecure_notifications, &guard)
            .expect("a sender");
        let account_id: AccountId = new_id();
        let mut writing = store.write().await.expect("a transaction");
        writing.account_add(&account_id, "acme", now()).await.expect("a new account");
        writing.commit().await.expect("a commit");
        let control = Control::new(config, ControlParts { store, keys, authority, signed_heads, sender });
        let server = Server { control, account_id };
        for (node, template, module) in [("a", "edge", "motd"), ("b", "core", "chrony")] {
            let listed = json!({"node_platform": "debian-12-amd64", "modules": [format!("{module}@live")]});
            server.put(Kind::Template, template, listed).await;
            server.put(Kind::Node, node, json!({"template": template})).await;
        }
        server.put(Kind::Module, "motd", motd("hello\n")).await;
        server
    }

    async fn put(&self, kind: Kind, name: &str, spec: Value) {
        let spec = Spec::read_stored(kind, &spec.to_string()).expect("a spec");
        let key = ResourceKey::new(kind, name);
        let mut writing = self.control.store().write_account(&self.account_id).await.expect("a transaction");
        writing.resource_put(&key, &spec, None, "ada@example.com", now()).await.expect("a resource");
        self.control.commit(writing).await.expect("a commit");
    }

    async fn destroy(&self, kind: Kind, name: &str) {
        let key = ResourceKey::new(kind, name);
        let mut writing = self.control.store().write_account(&self.account_id).await.expect("a transaction");
        let ended = ResourceToDestroy { key: &key, by: "ada@example.com" };
        assert!(writing.resource_remove(ended, now()).await.expect("a resource"));
        self.control.commit(writing).await.expect("a commit");
    }

    async fn halt(&self, halt: Option<&Halt>) {
        let mut writing = self.control.store().write_account(&self.account_id).await.expect("a transaction");
        writing.account_halt(halt).await.expect("a halt");
        self.control.commit(writing).await.expect("a commit");
    }

    async fn enrol(&self, node: &str) -> AgentCaller {
        let target = ResourceKey::new(Kind::Node, node);
        let mut writing = self.control.store().write_account(&self.account_id).await.expect("a transaction");
        let agent: Agent = writing.agent_enrol(&target, now()).await.expect("an agent");
        self.control.commit(writing).await.expect("a commit");
        AgentCaller { agent, address: String::new(), request_id: String::new() }
    }

    async fn assign(&self) -> AssignResult {
        assign_account(&self.control, &self.account_id).await.expect("a turn")
    }

    /// The generation of each node's assignment.
    async fn generations(&self) -> BTreeMap<String, u64> {
        let mut reading = self.control.store().read().await.expect("a connection");
        let found = reading.assignments(&self.account_id).await.expect("assignments");
        found.of_kind(Kind::Node).map(|(node, it)| (node.to_owned(), it.generation.0)).collect()
    }

    async fn problem(&self, node: &str) -> Option<String> {
        let target = ResourceKey::new(Kind::Node, node);
        let mut reading = self.control.store().read().await.expect("a connection");
        let found = reading.assignment_problem(&self.account_id, &target).await.expect("a problem");
        found.map(|problem| problem.reason)
    }

    async fn events(&self, kind: EventKind) -> Vec<Event> {
        let mut reading = self.control.store().read().await.expect("a connection");
        let filter = EventFilter::default();
        let found = reading.events(&self.account_id, &filter, EventOrder::OldestAfter(0), 100).await;
        found.expect("events").into_iter().filter(|event| event.kind == kind.slug()).collect()
    }

    /// What an agent makes of its assignment.
    async fn opened(&self, caller: &AgentCaller) -> (TargetAssignment, NodeDocument) {
        let response = assignment(&self.control, caller).await.expect("an assignment");
        let position = AgentPosition {
            account: caller.agent.account_id.to_string(),
            target: caller.agent.target.clone(),
            enrolment: caller.agent.enrolment.0,
            accepted: None,
        };
        let trusted = TrustedKeys(self.control.keys().assignment_keys(now()));
        let opened = response.assignment.open(&position, &trusted).expect("it is for this agent");
        let document = opened.open_document(response.document.as_bytes()).expect("it is covered");
        (opened, document)
    }

    async fn blob(&self, caller: &AgentCaller, digest: &str) -> Result<Vec<u8>, String> {
        let found = blob(&self.control, caller, digest).await.map_err(|refusal| refusal.code().to_owned())?;
        Ok(zstd::bulk::decompress(&found.stored, 1 << 20).expect("zstd"))
    }
}

fn motd(text: &str) -> Value {
    json!({"version": "1.0.0", "host": {"files": {"/etc/motd": {"content": text}}}})
}

fn both(a: u64, b: u64) -> BTreeMap<String, u64> {
    BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)])
}

#[tokio::test]
async fn an_agent_opens_its_signed_assignment_and_fetches_exactly_its_blobs() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let server = Server::new(directory.path()).await;
    let (a, b) = (server.enrol("a").await, server.enrol("b").await);
    assert!(assignment(&server.control, &a).await.is_err_and(|refusal| refusal.code() == "not-found"));
    assert_eq!(server.assign().await, AssignResult::Done);
    let (signed, document) = server.opened(&a).await;
    assert_eq!((signed.generation, signed.enrolment), (1, 1));
    let covered: Vec<String> = signed.covered.iter().map(|one| one.resource.to_string()).collect();
    assert_eq!(covered, ["node a", "template edge", "module motd"]);
    let package = document.modules[0].package;
    let bytes = server.blob(&a, &package.to_string()).await.expect("its own package");
    assert_eq!(BlobDigest::of(&bytes), package);
    let content = ModulePackage::from_bytes(&bytes).expect("a package");
    assert!(HostState::compose(&document, &[(package, content)].into()).is_ok());
    let (_, other) = server.opened(&b).await;
    assert_eq!(other.modules[0].name, "chrony", "of the catalogue");
    let theirs = other.modules[0].package.to_string();
    assert!(server.blob(&b, &theirs).await.is_ok());
    for refused in [theirs.as_str(), "blake3:00", "../secret", &BlobDigest::of(b"unknown").to_string()] {
        assert_eq!(server.blob(&a, refused).await, Err("not-found".to_owned()), "{refused}");
    }
    let again = assignment(&server.control, &a).await.expect("an assignment");
    assert_eq!(again, assignment(&server.control, &a).await.expect("the same"), "signed once");
}

#[tokio::test]
async fn only_nodes_that_change_get_a_generation_and_a_turn_without_a_change_writes_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let server = Server::new(directory.path()).await;
    server.assign().await;
    assert_eq!(server.generations().await, both(1, 1));
    let notified = server.control.nudges().agents.notified();
    notified.await;
    server.assign().await;
    server.put(Kind::Module, "unused", motd("nobody\n")).await;
    server.assign().await;
    assert_eq!(server.generations().await, both(1, 1), "an unrelated change");
    server.put(Kind::Module, "motd", motd("changed\n")).await;
    server.assign().await;
    assert_eq!(server.generations().await, both(2, 1));
    server.put(Kind::Module, "chrony", motd("ours\n")).await;
    server.assign().await;
    assert_eq!(server.generations().await, both(2, 2), "an own module takes the place of the catalogue's");
}

#[tokio::test]
async fn a_node_that_cannot_be_assigned_keeps_what_it_has_and_says_why() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let server = Server::new(directory.path()).await;
    let a = server.enrol("a").await;
    server.assign().await;
    let before = server.opened(&a).await;
    let unreadable = json!({"host": {"files": {"/etc/motd": {"source": "files/motd"}}}});
    server.put(Kind::Module, "motd", unreadable).await;
    assert_eq!(server.assign().await, AssignResult::Again, "it is retried");
    assert_eq!(server.generations().await, both(1, 1));
    let problem = server.problem("a").await.expect("a reason");
    assert!(problem.starts_with("cannot read files/motd of module motd: "), "{problem}");
    assert_eq!(server.opened(&a).await, before, "and its agent still gets it");
    server.put(Kind::Module, "motd", motd("again\n")).await;
    assert_eq!(server.assign().await, AssignResult::Done);
    assert_eq!((server.problem("a").await, server.generations().await), (None, both(2, 1)));
}

#[tokio::test]
async fn a_halted_account_gets_no_new_assignments() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let server = Server::new(directory.path()).await;
    let halt = Halt { by: "ada".to_owned(), reason: String::new(), since: now() };
    server.halt(Some(&halt)).await;
    server.assign().await;
    assert!(server.generations().await.is_empty());
    server.halt(None).await;
    server.assign().await;
    assert_eq!(server.generations().await, both(1, 1));
}

#[tokio::test]
async fn a_destroyed_node_gets_an_assignment_without_modules_until_its_agent_is_revoked() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let server = Server::new(directory.path()).await;
    let a = server.enrol("a").await;
    server.assign().await;
    for node in ["a", "b"] {
        server.destroy(Kind::Node, node).await;
    }
    server.assign().await;
    assert_eq!(server.generations().await, BTreeMap::from([("a".to_owned(), 2)]), "b has no agent");
    let (signed, document) = server.opened(&a).await;
    assert_eq!((signed.generation, document.modules.len()), (2, 0));
    let mut writing = server.control.store().write_account(&server.account_id).await.expect("a transaction");
    writing.agent_revoke(&a.agent.target, now()).await.expect("it was enrolled");
    server.control.commit(writing).await.expect("a commit");
    server.assign().await;
    assert!(server.generations().await.is_empty());
}

#[tokio::test]
async fn a_document_that_no_approval_covers_is_not_signed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let server = Server::new(directory.path()).await;
    let (a, b) = (server.enrol("a").await, server.enrol("b").await);
    server.assign().await;
    let (_, other) = server.opened(&b).await;
    let document = String::from_utf8(other.to_bytes()).expect("JSON is text");
    for (digest, reason) in [
        (Digest::of(document.as_bytes()), "no approval covers the content of module chrony"),
        (Digest::of(b"another"), "the document is not the one that the assignment names"),
    ] {
        let forged = NewAssignment {
            target: &a.agent.target,
            document: &document,
            digest,
            own_approvals: "[]",
            shared_approvals: "[]",
        };
        let mut writing = server.control.store().write().await.expect("a transaction");
        writing.assignments_put(&server.account_id, &[forged], now()).await.expect("a row");
        writing.commit().await.expect("a commit");
        let refused = assignment(&server.control, &a).await.expect_err("it is not covered");
        assert_eq!(refused.code(), "assignment-not-covered");
        assert_eq!(server.problem("a").await.as_deref(), Some(reason));
    }
    let blocked = server.events(EventKind::AgentAssignmentBlocked).await;
    let [event] = blocked.as_slice() else { panic!("one event in a while: {blocked:?}") };
    assert_eq!(
        event.message,
        "node a gets no new assignment: no approval covers the content of module chrony"
    );
    server.assign().await;
    assert_eq!(server.opened(&a).await.1.modules[0].name, "motd", "the next turn restores it");
    assert_eq!(server.problem("a").await, None);
}

#[tokio::test]
async fn blobs_of_content_that_is_accepted_or_assigned_are_kept() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let server = Server::new(directory.path()).await;
    let a = server.enrol("a").await;
    server.assign().await;
    let package = server.opened(&a).await.1.modules[0].package.to_string();
    // The node keeps its document, although the module has other content that cannot be read.
    let unreadable = json!({"host": {"files": {"/etc/motd": {"source": "files/motd"}}}});
    server.put(Kind::Module, "motd", unreadable).await;
    server.assign().await;
    sweep(&server.control).await.expect("a sweep");
    assert!(server.blob(&a, &package).await.is_ok());
    let marks = server.control.store().read().await.expect("a connection").blob_marks().await.expect("marks");
    assert!(marks.iter().all(|mark| mark.unused_since.is_none()), "{marks:?}");
}

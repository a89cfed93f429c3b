use serde_json::{Map, json};

use super::*;
use crate::host::NodeModule;

/// Signs by writing the digest of the bytes behind a key.
struct Key(&'static str);

impl Key {
    fn sign(&self, bytes: &[u8]) -> String {
        format!("{}:{}", self.0, Digest::of(bytes))
    }
}

impl VerifySignature for Key {
    fn is_valid(&self, bytes: &[u8], signature: &str) -> bool {
        self.sign(bytes) == signature
    }
}

const SERVER: Key = Key("server");

fn document() -> NodeDocument {
    let module = NodeModule {
        name: "nginx".to_owned(),
        version: None,
        package: BlobDigest::of(b"package"),
        priority: 50,
        depends_on: Vec::new(),
        config: Map::new(),
    };
    let node = json!({"hostname": "n1"}).as_object().unwrap().clone();
    NodeDocument { node, config: Map::new(), modules: vec![module] }
}

fn people() -> CoveringApproval {
    CoveringApproval::People { proposal: "p1".to_owned(), people: vec!["ada@example.com".to_owned()] }
}

fn assignment() -> TargetAssignment {
    TargetAssignment {
        account: "acme".to_owned(),
        target: ResourceKey::new(Kind::Node, "n1"),
        enrolment: 2,
        generation: 7,
        document: BlobDigest::of(&document().to_bytes()),
        covered: vec![CoveredResource {
            resource: ResourceKey::new(Kind::Module, "nginx"),
            digest: Digest::of(b"spec"),
            package: Some(BlobDigest::of(b"package")),
            approval: people(),
        }],
        issued_at: Timestamp::from_millis(0),
    }
}

fn agent(accepted: Option<(u64, BlobDigest)>) -> AgentPosition {
    let target = ResourceKey::new(Kind::Node, "n1");
    AgentPosition { account: "acme".to_owned(), target, enrolment: 2, accepted }
}

fn signed(assignment: &TargetAssignment, key: &Key) -> SignedAssignment {
    let bytes = assignment.to_bytes();
    let signature = key.sign(&bytes);
    SignedAssignment { assignment: String::from_utf8(bytes).unwrap(), signature }
}

fn refusal(change: impl FnOnce(&mut TargetAssignment), accepted: Option<(u64, BlobDigest)>) -> String {
    let mut changed = assignment();
    change(&mut changed);
    signed(&changed, &SERVER).open(&agent(accepted), &SERVER).unwrap_err().to_string()
}

#[test]
fn an_agent_opens_what_the_server_signed_for_it() {
    let opened = signed(&assignment(), &SERVER).open(&agent(None), &SERVER).unwrap();
    assert_eq!(opened, assignment());
    assert_eq!(opened.open_document(&document().to_bytes()).unwrap(), document());
    let again = agent(Some((7, assignment().document)));
    assert!(
        signed(&assignment(), &SERVER).open(&again, &SERVER).is_ok(),
        "the same generation again is no harm"
    );
    assert!(signed(&assignment(), &SERVER).open(&agent(Some((6, BlobDigest::of(b"x")))), &SERVER).is_ok());
}

#[test]
fn a_forged_or_changed_assignment_is_refused() {
    let forged = signed(&assignment(), &Key("thief"));
    assert_eq!(forged.open(&agent(None), &SERVER), Err(AssignmentRefusal::BadSignature));
    let mut changed = signed(&assignment(), &SERVER);
    changed.assignment = changed.assignment.replace("\"generation\":7", "\"generation\":8");
    assert_eq!(changed.open(&agent(None), &SERVER), Err(AssignmentRefusal::BadSignature));
    let text = "{}".to_owned();
    let signature = SERVER.sign(text.as_bytes());
    let nonsense = SignedAssignment { assignment: text, signature };
    assert_eq!(nonsense.open(&agent(None), &SERVER), Err(AssignmentRefusal::Malformed));
}

#[test]
fn another_nodes_assignment_and_an_older_one_are_refused() {
    let other = refusal(|it| it.target.name = "n2".to_owned(), None);
    assert_eq!(other, "the assignment is for node n2 of account acme, enrolment 2");
    assert!(refusal(|it| it.account = "umbrella".to_owned(), None).contains("of account umbrella"));
    assert!(refusal(|it| it.enrolment = 1, None).contains("enrolment 1"), "signed for the machine before");
    let document = assignment().document;
    let older = refusal(|_| (), Some((8, document)));
    assert_eq!(older, "the assignment has generation 7, and this agent has generation 8");
    let other = refusal(|it| it.document = BlobDigest::of(b"other"), Some((7, document)));
    assert_eq!(other, "the assignment of generation 7 names another document than before");
}

#[test]
fn content_without_a_covering_approval_is_refused() {
    let refused = |change: &dyn Fn(&mut TargetAssignment)| {
        let mut changed = assignment();
        change(&mut changed);
        changed.open_document(&document().to_bytes()).unwrap_err()
    };
    let not_covered = AssignmentRefusal::NotCovered { module: "nginx".to_owned() };
    assert_eq!(refused(&|it| it.covered.clear()), not_covered);
    assert_eq!(refused(&|it| it.covered[0].package = Some(BlobDigest::of(b"other"))), not_covered);
    assert_eq!(refused(&|it| it.covered[0].package = None), not_covered);
    assert_eq!(refused(&|it| it.covered[0].resource.kind = Kind::Template), not_covered);
    let nobody = CoveringApproval::People { proposal: "p1".to_owned(), people: Vec::new() };
    assert_eq!(refused(&|it| it.covered[0].approval = nobody.clone()), not_covered);
    assert_eq!(refused(&|it| it.document = BlobDigest::of(b"other")), AssignmentRefusal::WrongDocument);
}

#[test]
fn a_direct_change_by_a_person_covers_and_one_by_nobody_does_not() {
    let at = Timestamp::from_millis(0);
    for (person, is_covered) in [("ada@example.com", true), ("", false)] {
        let mut assignment = assignment();
        assignment.covered[0].approval = CoveringApproval::DirectChange { person: person.to_owned(), at };
        assert_eq!(assignment.open_document(&document().to_bytes()).is_ok(), is_covered, "{person}");
    }
    let written = serde_json::to_string(&CoveringApproval::DirectChange { person: "ada".to_owned(), at });
    assert_eq!(written.unwrap(), r#"{"by":"direct_change","person":"ada","at":"1970-01-01T00:00:00.000Z"}"#);
}

//! A server that crashes at any point: everything it acknowledged is stored, and nothing is done twice.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use windlass_api::client::ClientError;
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;
use windlass_api::types::{AuditVerdict, BatchDecision, RepositoryFields};
use windlass_testkit::servers::{Postgres, WorkTree};

use crate::api::{Api, Result};
use crate::fleet::{TUTORIAL, fields, nodes, register, repository_with};
use crate::installation::{Installation, Server};

/// The second commit: one node changed, another removed with its peer.
fn second_fleet() -> String {
    let (before, after) = TUTORIAL.split_once("  - hostname: edge-tokyo-02").unwrap();
    let (_, after) = after.split_once("  - hostname: edge-london-01").unwrap();
    format!("{before}  - hostname: edge-london-01{after}")
        .replace("        - host: edge-tokyo-02\n", "")
        .replace("[edge-tokyo-02, edge-london-01]", "[edge-london-01]")
        .replace("eu-west-2", "eu-west-3")
}

/// What a server acknowledged, and must therefore never lose.
#[derive(Default)]
pub(crate) struct Acknowledged {
    repository: Option<String>,
    runs: BTreeSet<String>,
    approved: BTreeSet<String>,
}

/// A person who works with a server and repeats every request without a response.
struct Operator {
    work: WorkTree,
    acknowledged: Acknowledged,
    commits: Vec<String>,
}

impl Operator {
    fn new() -> Operator {
        let commits = vec![second_fleet()];
        Operator { work: repository_with(TUTORIAL), acknowledged: Acknowledged::default(), commits }
    }

    /// Registers, and applies commit after commit, until nothing is left to do.
    fn work_on(&mut self, api: &Api) -> Result<()> {
        self.register(api)?;
        loop {
            self.sync_and_approve_all(api)?;
            let Some(next) = self.commits.pop() else { return Ok(()) };
            self.work.commit("fleet.yaml", &next);
        }
    }

    fn register(&mut self, api: &Api) -> Result<()> {
        let id = match api.repository("fleet-config") {
            Ok(known) => known.id,
            Err(ClientError::Refused { status: 404, .. }) => {
                api.register(fields("fleet-config", &self.work))?.id
            }
            Err(error) => return Err(error),
        };
        let known = self.acknowledged.repository.get_or_insert_with(|| id.clone());
        assert_eq!(*known, id, "a repository that was acknowledged is gone");
        // Due at once, so that the schedule queues a run too.
        let enabled = RepositoryFields { enabled: Some(true), ..RepositoryFields::default() };
        api.configure(&id, enabled)?;
        Ok(())
    }

    /// Syncs and approves until git and the accepted state agree.
    fn sync_and_approve_all(&mut self, api: &Api) -> Result<()> {
        let id = self.acknowledged.repository.clone().unwrap_or_default();
        loop {
            let run = api.sync(&id)?;
            assert_eq!(run.error, None);
            self.acknowledged.runs.insert(run.id.clone());
            if run.status.slug() == "success" {
                return Ok(());
            }
            let decided = api.decide(&run, BatchDecision::Approve)?;
            let approved = decided.results.into_iter().filter(|item| item.error.is_none());
            self.acknowledged.approved.extend(approved.map(|item| item.id));
            api.wait_until_applied(&run.id)?;
        }
    }
}

/// The final state, without what differs between runs anyway.
#[derive(Debug, PartialEq)]
pub(crate) struct FinalState {
    pub(crate) resources: Vec<(String, String, String, Option<String>)>,
    proposals: Vec<(String, String, String, String)>,
    changes: Vec<String>,
    applies: Vec<String>,
}

pub(crate) fn end_of(api: &Api) -> FinalState {
    let resources = api.resources().unwrap().into_iter();
    let proposals = api.proposals().unwrap().into_iter();
    let events = api.events(0).unwrap().into_iter();
    let applies = api.audit().unwrap().into_iter().filter(|entry| entry.action == "proposal.apply");
    let owner = |owner: windlass_api::types::OwnerInfo| owner.repository_name;
    FinalState {
        resources: resources.map(|it| (it.kind, it.name, it.digest, it.owner.map(owner))).collect(),
        proposals: sorted(
            proposals.map(|it| (it.kind, it.name, it.change.to_string(), it.status.to_string())),
        ),
        changes: sorted(
            events
                .filter(|it| it.kind == "resource.changed")
                .map(|it| format!("{:?} {:?} {}", it.resource_kind, it.resource_name, it.payload["change"])),
        ),
        applies: sorted(applies.map(|it| {
            format!("{} {} {:?} {:?}", it.target_kind, it.target, it.before_digest, it.after_digest)
        })),
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort();
    items
}

/// Checks that nothing acknowledged is lost, no event is duplicated, and the audit log is complete.
pub(crate) fn check_history(api: &Api, acknowledged: &Acknowledged) {
    let mut told: BTreeMap<_, usize> = BTreeMap::new();
    for event in api.events(0).unwrap() {
        if event.correlation_id.is_some() {
            let about = (event.kind, event.resource_kind, event.resource_name, event.correlation_id);
            *told.entry(about).or_default() += 1;
        }
    }
    let twice: Vec<_> = told.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "told more than once: {twice:?}");
    for run in &acknowledged.runs {
        assert_ne!(api.run(run).unwrap().status.slug(), "in_progress");
    }
    let audit = api.audit().unwrap();
    for proposal in &acknowledged.approved {
        assert_eq!(api.proposal(proposal).unwrap().status.slug(), "applied");
        let approvals = audit.iter().filter(|it| it.action == "proposal.approve" && &it.target == proposal);
        assert_eq!(approvals.count(), 1, "{proposal}");
    }
    let verdict: AuditVerdict = api.send(api.call(Operation::AuditVerify, &[])).unwrap();
    assert!(verdict.intact, "{verdict:?}");
}

/// Works until the server crashes or everything is done; then, with servers that do not crash, until everything is
/// done.
fn final_state_after(installation: &Installation, point: Option<&str>) -> FinalState {
    let mut operator = Operator::new();
    let mut server = installation.serve_with_crash_point(point, &[]);
    let mut deaths = 0;
    while let Err(error) = operator.work_on(&server.api) {
        assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
        server.wait_for_end();
        deaths += 1;
        assert_eq!(deaths, 1, "only the first server is told to die");
        server = installation.serve(&[]);
    }
    let expected = usize::from(point.is_some());
    assert_eq!(deaths, expected, "{point:?} was never reached");
    let end = finish(&server, &operator);
    server.stop();
    end
}

fn finish(server: &Server, operator: &Operator) -> FinalState {
    check_history(&server.api, &operator.acknowledged);
    end_of(&server.api)
}

#[test]
fn a_server_killed_at_any_crash_point_reaches_the_same_result() {
    let undisturbed = final_state_after(&Installation::new(), None);
    assert_eq!(undisturbed.resources.len(), 8);
    for point in windlass_server::CRASH_POINTS {
        let end = final_state_after(&Installation::new(), Some(point));
        assert_eq!(end, undisturbed, "{point}");
    }
}

#[test]
fn killed_anywhere_the_end_is_the_same_on_postgresql() {
    let Some(postgres) = Postgres::shared() else { return };
    let fresh = || Installation::with_database(postgres.fresh_database());
    let undisturbed = &final_state_after(&fresh(), None);
    let points =
        ["sync.before_commit", "decide.committed", "apply.decided", "apply.written", "apply.committed"];
    // In parallel, because each waits until the crashed server's leases expire.
    std::thread::scope(|scope| {
        for (point, installation) in points.map(|point| (point, fresh())) {
            scope.spawn(move || {
                assert_eq!(final_state_after(&installation, Some(point)), *undisturbed, "{point}");
            });
        }
    });
}

#[test]
fn killed_at_any_moment_the_end_is_the_same() {
    let undisturbed = final_state_after(&Installation::new(), None);
    // Each time the server is killed after this many more events.
    for moment in [1, 3, 8, 15, 24, 31] {
        let installation = Installation::new();
        let mut operator = Operator::new();
        let server = installation.serve(&[]);
        std::thread::scope(|scope| {
            let watcher = Api::new(&server.address, installation.token().as_deref());
            let killer = server.killer();
            scope.spawn(move || {
                let _ = watcher
                    .try_wait_for("the moment", |api| Ok((api.events(0)?.len() >= moment).then_some(())));
                killer.kill();
            });
            let _ = operator.work_on(&server.api);
        });
        drop(server);
        let server = installation.serve(&[]);
        operator.work_on(&server.api).unwrap();
        assert_eq!(finish(&server, &operator), undisturbed, "killed after {moment} events");
        server.stop();
    }
}

#[test]
fn a_rewritten_history_is_told_of_even_if_the_server_dies_right_after_fetching_it() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let work = repository_with(&nodes("web", "web", 0..1));
    let id = register(&server.api, "fleet-config", &work).id;
    server.api.apply_all(&id).unwrap();
    server.stop();
    work.git(&["commit", "--quiet", "--amend", "--message", "said otherwise"]);

    let mut server = installation.serve_with_crash_point(Some("sync.fetched"), &[]);
    assert!(matches!(server.api.sync(&id), Err(ClientError::Unreachable { .. })));
    server.wait_for_end();

    let server = installation.serve(&[]);
    let run = server.api.sync(&id).unwrap();
    assert_eq!((run.error, run.commit_sha), (None, Some(work.head())));
    let events = server.api.events(0).unwrap();
    let told = events.iter().filter(|event| event.kind == "gitops.history_rewritten");
    assert_eq!(told.count(), 1, "{events:?}");
    server.stop();
}

/// Creates a template with an idempotency key.
fn make_template(api: &Api) -> Result<String> {
    let operation = Operation::Resource(Noun::NodeTemplate, ResourceVerb::Create);
    let body = json!({"name": "web", "node_platform": "ubuntu-24.04-amd64"});
    api.text(api.call(operation, &[]).header("idempotency-key", "key").body(&body))
}

#[test]
fn a_request_with_a_key_is_carried_out_once_despite_a_crash_at_any_point() {
    for point in windlass_server::REQUEST_CRASH_POINTS {
        let installation = Installation::new();
        let mut server = installation.serve_with_crash_point(Some(point), &[]);
        assert!(matches!(make_template(&server.api), Err(ClientError::Unreachable { .. })), "{point}");
        server.wait_for_end();
        let server = installation.serve(&[]);
        match (*point, make_template(&server.api)) {
            // Nothing had been stored, so it is done now, and answered again.
            ("request.before_commit", answer) => {
                assert_eq!(make_template(&server.api).unwrap(), answer.unwrap());
            }
            ("request.done", Err(ClientError::Refused { status: 409, body })) => {
                assert_eq!(body.code, "request-in-doubt");
                assert!(body.help.contains("new key"), "{body:?}");
            }
            (_, answer) => panic!("{point}: {answer:?}"),
        }
        let audit = server.api.audit().unwrap();
        let made = audit.iter().filter(|entry| entry.target_kind == "template" && entry.outcome == "done");
        assert_eq!(made.count(), 1, "{point}");
        server.stop();
    }
}

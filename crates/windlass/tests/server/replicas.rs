//! Several servers on one database: they share the work, and do everything once.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_api::client::ClientError;
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;
use windlass_api::types::{ProposalInfo, RepositoryFields};
use windlass_testkit::servers::{Postgres, WorkTree};

use crate::api::{Api, Result};
use crate::crashes::{Acknowledged, FinalState, check_history, end_of};
use crate::fleet::{fields, nodes, repository_with};
use crate::installation::{Installation, Server};

/// More than one run may propose, so that there are several.
const NODES: usize = 40;

/// A commit after which some nodes changed and others are gone.
fn second_fleet() -> String {
    nodes("web", "web", 0..NODES - 5).replace("eu-1", "eu-2")
}

/// Registers a repository with automatic syncs.
fn register(api: &Api, work: &WorkTree) -> String {
    let soon = RepositoryFields { enabled: Some(true), ..fields("fleet-config", work) };
    api.register(soon).unwrap().id
}

/// Syncs and approves until git and the accepted state agree. Others do the same concurrently.
fn sync_and_approve_all(api: &Api, repository: &str) -> Result<()> {
    loop {
        let run = api.sync(repository)?;
        assert_eq!(run.error, None);
        if run.status.slug() == "success" {
            return Ok(());
        }
        for proposal in run.proposals.iter().filter(|proposal| proposal.status.slug() == "pending_approval") {
            match api.approve(&proposal.id) {
                Ok(_) => {}
                // Someone else approved it, or it is no longer open.
                Err(ClientError::Refused { status: 403 | 409, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        api.wait_until_applied(&run.id)?;
    }
}

/// The same work by several operators concurrently, each with a server of their own.
fn sync_and_approve_on_all_servers(installation: &Installation, servers: &[Server], repository: &str) {
    let token = installation.token();
    std::thread::scope(|scope| {
        for server in servers {
            let api = Api::new(&server.address, token.as_deref());
            scope.spawn(move || sync_and_approve_all(&api, repository).unwrap());
        }
    });
}

fn end_with(installation: &Installation, servers: &[Server]) -> FinalState {
    let work = repository_with(&nodes("web", "web", 0..NODES));
    let repository = register(&servers[0].api, &work);
    sync_and_approve_on_all_servers(installation, servers, &repository);
    work.commit("fleet.yaml", &second_fleet());
    sync_and_approve_on_all_servers(installation, servers, &repository);
    check_history(&servers[0].api, &Acknowledged::default());
    check_proposals(servers[0].api.proposals().unwrap());
    end_of(&servers[0].api)
}

/// Checks that no change was proposed or applied twice.
fn check_proposals(proposals: Vec<ProposalInfo>) {
    let mut seen: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for proposal in proposals {
        let change = (proposal.kind, proposal.name, proposal.base_digest, proposal.desired_digest);
        seen.entry(change).or_default().push(proposal.status.to_string());
    }
    let twice: Vec<_> = seen.iter().filter(|(_, statuses)| statuses.len() > 1).collect();
    assert!(twice.is_empty(), "proposed more than once: {twice:?}");
}

#[test]
fn several_servers_on_one_database_do_everything_once() {
    let Some(postgres) = Postgres::shared() else { return };
    let alone = Installation::with_database(postgres.fresh_database());
    let expected = end_with(&alone, &[alone.serve(&[])]);
    assert_eq!(expected.resources.len(), NODES - 5 + 1);

    let first = Installation::with_database(postgres.fresh_database());
    let mut servers = vec![first.serve(&[])];
    let replicas = [first.replica(), first.replica()];
    servers.extend(replicas.iter().map(|replica| replica.serve(&[])));
    assert_eq!(end_with(&first, &servers), expected);
    servers.into_iter().for_each(Server::stop);
}

#[test]
fn a_request_with_a_key_is_carried_out_by_one_of_several_servers() {
    let Some(postgres) = Postgres::shared() else { return };
    let first = Installation::with_database(postgres.fresh_database());
    let server = first.serve(&[]);
    let replica = first.replica();
    let servers = [server, replica.serve(&[])];
    let token = first.token();
    for number in 0..10 {
        let name = format!("web-{number}");
        std::thread::scope(|scope| {
            for server in &servers {
                let (api, name) = (Api::new(&server.address, token.as_deref()), name.clone());
                scope.spawn(move || make_template(&api, &name));
            }
        });
        let audit = servers[0].api.audit().unwrap();
        let made = audit.iter().filter(|entry| entry.target == name && entry.outcome == "done");
        assert_eq!(made.count(), 1);
    }
    servers.into_iter().for_each(Server::stop);
}

fn make_template(api: &Api, name: &str) {
    let operation = Operation::Resource(Noun::NodeTemplate, ResourceVerb::Create);
    let body = json!({"name": name, "node_platform": "ubuntu-24.04-amd64"});
    match api.text(api.call(operation, &[]).header("idempotency-key", name).body(&body)) {
        Ok(_) => {}
        Err(ClientError::Refused { status: 409, body }) => {
            let codes = ["idempotency-under-way", "request-in-doubt", "taken"];
            assert!(codes.contains(&body.code.as_str()), "{body:?}");
        }
        Err(error) => panic!("{error:?}"),
    }
}

//! Repositories of one account that declare the same name or the same addresses.

use serde_json::json;
use windlass_api::endpoint::Operation;
use windlass_api::noun::Noun;
use windlass_api::types::{BatchDecision, PreviewEnvelope, ProposalInfo, RunInfo};

use crate::api::{Api, refused};
use crate::fleet::{fleet, nodes, register, repository_with};
use crate::installation::Installation;

fn proposal<'r>(run: &'r RunInfo, name: &str) -> &'r windlass_api::types::RunProposal {
    run.proposals.iter().find(|proposal| proposal.name == name).unwrap()
}

fn waits_for(api: &Api, id: &str, reason: &str) -> ProposalInfo {
    api.wait_for(reason, |api| {
        let found = api.proposal(id).unwrap();
        found.blocked_by.iter().any(|why| why == reason).then_some(found)
    })
}

fn accepted_names(api: &Api) -> Vec<String> {
    api.resources().unwrap().into_iter().map(|resource| resource.name).collect()
}

#[test]
fn a_name_that_another_repository_owns_blocks_that_resource_and_what_depends_on_it_and_not_the_run() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let edge = repository_with(&nodes("edge", "edge", 0..1));
    let edge_id = register(api, "fleet-edge", &edge).id;
    assert_eq!(api.apply_all(&edge_id).unwrap().status.slug(), "applied");

    let text = nodes("edge", "core", 0..1)
        .replace("templates:\n", "templates:\n  own: {node_platform: debian-12-amd64}\n")
        .replace("edge: {node_platform: ubuntu-24.04-amd64}", "edge: {node_platform: debian-13-amd64}");
    let core = repository_with(&text);
    let core_id = register(api, "fleet-core", &core).id;
    let run = api.sync(&core_id).unwrap();
    assert_eq!((run.status.slug(), run.diff_count), ("diff_ready", 3), "{:?}", run.error);
    let owned = "template edge is owned by the repository `fleet-edge`";
    assert_eq!(proposal(&run, "edge").blocked_by, [owned]);
    let depends = "template edge is declared here too, but owned by the repository `fleet-edge`";
    assert_eq!(proposal(&run, "core-000").blocked_by, [depends]);
    assert!(proposal(&run, "own").blocked_by.is_empty());
    let problem = &run.problems[0];
    assert_eq!((problem.code.as_str(), problem.file.as_str()), ("owned-elsewhere", "fleet.yaml"));

    // Approving a blocked change does not apply it.
    api.decide(&run, BatchDecision::Approve).unwrap();
    api.wait_for_status(&proposal(&run, "own").id, "applied");
    assert_eq!(waits_for(api, &proposal(&run, "edge").id, owned).status.slug(), "approved");
    assert_eq!(waits_for(api, &proposal(&run, "core-000").id, depends).status.slug(), "approved");
    let kept = api.resource(Noun::NodeTemplate, "edge").unwrap();
    assert_eq!(kept.spec["node_platform"], "ubuntu-24.04-amd64");

    // The problem is reported while it lasts, also by runs without a new commit.
    let again = api.sync(&core_id).unwrap();
    assert_eq!(again.problems[0].code, "owned-elsewhere");
    api.text(api.call(Operation::RepositoryRemove, &[&edge_id])).unwrap();
    api.wait_for_status(&proposal(&run, "edge").id, "applied");
    api.wait_for_status(&proposal(&run, "core-000").id, "applied");
    let taken = api.resource(Noun::NodeTemplate, "edge").unwrap();
    assert_eq!(taken.owner.unwrap().repository_name, "fleet-core");
    let last = api.sync(&core_id).unwrap();
    assert_eq!((last.status.slug(), last.problems.len()), ("success", 0), "{:?}", last.problems);
    server.stop();
}

#[test]
fn overlapping_networks_are_blocked_before_approval_and_never_both_applied() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let network =
        |name: &str, cidr: &str| fleet(&format!("sdwan: {{networks: [{{name: {name}, cidr: {cidr}}}]}}\n"));
    let edge = repository_with(&network("edge", "10.1.0.0/16"));
    let edge_id = register(api, "fleet-edge", &edge).id;
    let core = repository_with(&network("core", "10.1.2.0/24"));
    let core_id = register(api, "fleet-core", &core).id;
    let first = api.sync(&edge_id).unwrap();
    let second = api.sync(&core_id).unwrap();
    let overlap = "10.1.2.0/24 overlaps 10.1.0.0/16 of network edge, ";
    let proposed = format!("{overlap}already proposed by the repository `fleet-edge`");
    assert_eq!(second.proposals[0].blocked_by, [proposed]);
    let ids = vec![second.proposals[0].id.clone(), first.proposals[0].id.clone()];
    api.batch(&windlass_api::types::BatchBody { ids, ..crate::api::batch(BatchDecision::Approve) }).unwrap();
    api.wait_for_status(&first.proposals[0].id, "applied");
    let owned = format!("{overlap}owned by the repository `fleet-edge`");
    assert_eq!(waits_for(api, &second.proposals[0].id, &owned).status.slug(), "approved");
    assert_eq!(accepted_names(api), ["edge"]);

    // A preview reports the same, and a direct change is refused.
    let preview: PreviewEnvelope =
        api.send(api.call(Operation::PreviewCreate, &[&core_id]).body(&json!({"ref": "main"}))).unwrap();
    assert_eq!(preview.preview.plan["steps"][0]["foreseen"]["blocked_by"][0], owned);
    let by_hand = json!({"name": "hand", "cidr": "10.1.0.0/16"});
    let (status, message) = refused(api.create(Noun::Network, &by_hand));
    assert_eq!(status, 409, "{message}");
    assert!(message.contains("is taken by network edge"), "{message}");

    edge.commit("fleet.yaml", &network("edge", "10.9.0.0/16"));
    assert_eq!(api.apply_all(&edge_id).unwrap().status.slug(), "applied");
    api.wait_for_status(&second.proposals[0].id, "applied");
    assert_eq!(accepted_names(api), ["core", "edge"]);
    server.stop();
}

#[test]
fn nobody_declares_the_address_that_was_allocated_for_another_repositorys_network() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let edge = repository_with(&fleet("sdwan: {networks: [{name: edge}]}\n"));
    let edge_id = register(api, "fleet-edge", &edge).id;
    api.apply_all(&edge_id).unwrap();
    let allocated = api.resource(Noun::Network, "edge").unwrap().allocated["cidr"].clone();
    let cidr = allocated.as_str().unwrap();
    let core = repository_with(&fleet(&format!("sdwan: {{networks: [{{name: core, cidr: \"{cidr}\"}}]}}\n")));
    let core_id = register(api, "fleet-core", &core).id;
    let run = api.sync(&core_id).unwrap();
    let reason = format!("{cidr} is taken by network edge, owned by the repository `fleet-edge`");
    assert_eq!(run.proposals[0].blocked_by, [reason.as_str()]);
    api.approve(&run.proposals[0].id).unwrap();
    waits_for(api, &run.proposals[0].id, &reason);
    assert_eq!(api.resource(Noun::Network, "edge").unwrap().allocated["cidr"], allocated);
    server.stop();
}

#[test]
fn an_edit_that_clashes_is_blocked_before_anyone_approves_it() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    api.create(Noun::Network, &json!({"name": "hand", "cidr": "10.1.0.0/16"})).unwrap();
    let core = repository_with(&fleet("sdwan: {networks: [{name: core, cidr: 10.2.0.0/16}]}\n"));
    let id = register(api, "fleet-core", &core).id;
    let proposed = api.sync(&id).unwrap().proposals.remove(0);
    assert!(proposed.blocked_by.is_empty());
    let edit = json!({"payload": {"cidr": "10.1.0.0/24"}});
    let _: serde_json::Value =
        api.send(api.call(Operation::ProposalEdit, &[&proposed.id]).body(&edit)).unwrap();
    let reason = "10.1.0.0/24 overlaps 10.1.0.0/16 of network hand, owned by no repository";
    assert_eq!(api.proposal(&proposed.id).unwrap().blocked_by, [reason]);
    api.delete(Noun::Network, "hand").unwrap();
    api.wait_for("the end of the block", |api| {
        api.proposal(&proposed.id).unwrap().blocked_by.is_empty().then_some(())
    });
    server.stop();
}

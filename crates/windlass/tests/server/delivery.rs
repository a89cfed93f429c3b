//! From an approved proposal to a node's assignment: which nodes get a new one, why not, and what a proposal would do.

use windlass_api::endpoint::Operation;
use windlass_api::types::{NodeRender, ProposalEffects};
use windlass_core::content::FileChange;
use windlass_testkit::servers::{Postgres, WorkTree};

use crate::api::Api;
use crate::fleet::{fields, fleet};
use crate::installation::Installation;

/// Two nodes with a file of the repository, and one with a module of the catalogue.
fn sections(motd: &str) -> String {
    format!(
        "modules:
  - name: motd
    config: {{greeting: hello, api_token: vault:motd}}
    host:
      files:
        /etc/motd: {{content: \"{{{{ config.greeting }}}} {motd}\\n\"}}
        /etc/motd.d/logo: {{source: files/logo}}
  - name: unused
    host: {{files: {{/etc/other: {{content: \"{motd}\\n\"}}}}}}
templates:
  edge: {{node_platform: debian-12-amd64, modules: [motd@live]}}
  core: {{node_platform: debian-12-amd64, modules: [chrony@4.3.0]}}
nodes:
  - {{hostname: edge-1, template: edge, config: {{greeting: welcome}}}}
  - {{hostname: edge-2, template: edge, config: {{greeting: welcome}}}}
  - {{hostname: core-1, template: core}}
"
    )
}

fn render(api: &Api, node: &str) -> NodeRender {
    api.send(api.call(Operation::NodeRender, &[node])).unwrap()
}

fn generation(api: &Api, node: &str) -> u64 {
    render(api, node).assigned.map_or(0, |assigned| assigned.generation)
}

/// Waits until these nodes have assignments of these generations, which are what they shall be.
fn wait_for_generations(api: &Api, expected: &[(&str, u64)]) {
    for (node, generation) in expected {
        api.wait_for(&format!("generation {generation} of {node}"), |api| {
            let rendered = render(api, node);
            let assigned = rendered.assigned.clone()?;
            (assigned.generation == *generation && rendered.digest == Some(assigned.digest)).then_some(())
        });
    }
}

fn work_tree(motd: &str) -> WorkTree {
    let work = WorkTree::new();
    work.commit("files/logo", "a logo\n");
    work.commit("fleet.yaml", &fleet(&sections(motd)));
    work
}

#[test]
fn approved_changes_reach_exactly_the_nodes_that_they_change() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let (api, work) = (&server.api, work_tree("one"));
    let repository = api.register(fields("fleet-config", &work)).unwrap().id;
    assert_eq!(api.apply_all(&repository).unwrap().status.slug(), "applied");
    wait_for_generations(api, &[("edge-1", 1), ("edge-2", 1), ("core-1", 1)]);

    let rendered = render(api, "edge-1");
    assert_eq!(rendered.problems, [""; 0]);
    let [module] = rendered.modules.as_slice() else { panic!("{rendered:?}") };
    assert_eq!((module.name.as_str(), module.because.as_str()), ("motd", "template edge (motd@live)"));
    let [motd, logo] = module.items.as_slice() else { panic!("{module:?}") };
    assert_eq!((motd.name.as_str(), &motd.fields["content"]["text"]), ("/etc/motd", &"welcome one\n".into()));
    assert_eq!(
        (motd.settings[0].name.as_str(), motd.settings[0].origin.as_str()),
        ("config.greeting", "node config")
    );
    assert!(logo.fields["content"]["blob"].as_str().unwrap().starts_with("blake3:"), "{logo:?}");

    work.commit("fleet.yaml", &fleet(&sections("two")));
    let run = api.sync(&repository).unwrap();
    let effects = |name: &str| -> ProposalEffects {
        let proposal = run.proposals.iter().find(|proposal| proposal.name == name).unwrap();
        api.proposal(&proposal.id).unwrap().effects.unwrap()
    };
    assert_eq!(effects("unused").nodes, 0);
    let motd = effects("motd");
    assert_eq!((motd.nodes, motd.groups.len(), motd.groups[0].count), (2, 1, 2), "{motd:?}");
    assert_eq!(motd.groups[0].nodes, ["edge-1", "edge-2"]);
    let [item] = motd.groups[0].items.as_slice() else { panic!("{motd:?}") };
    assert_eq!((item.name.as_str(), item.change), ("/etc/motd", FileChange::Changed));
    let lines = item.content.as_ref().unwrap().lines.as_deref().unwrap();
    assert!(lines.contains("-welcome one\n+welcome two\n"), "{lines}");

    for name in ["unused", "motd"] {
        let proposal = run.proposals.iter().find(|proposal| proposal.name == name).unwrap();
        api.approve(&proposal.id).unwrap();
        api.wait_for_status(&proposal.id, "applied");
        let changed = if name == "motd" { 2 } else { 1 };
        wait_for_generations(api, &[("edge-1", changed), ("edge-2", changed), ("core-1", 1)]);
    }
    assert_eq!(api.proposal(&run.proposals[0].id).unwrap().effects, None, "it is applied");

    // A file changes, and nothing else: the module's content is another one.
    work.commit("files/logo", "another logo\n");
    api.apply_all(&repository).unwrap();
    wait_for_generations(api, &[("edge-1", 3), ("edge-2", 3), ("core-1", 1)]);
    server.stop();

    // After a restart everything is as it was: nothing gets another generation.
    let server = installation.serve(&[]);
    wait_for_generations(&server.api, &[("edge-1", 3), ("edge-2", 3), ("core-1", 1)]);
    server.stop();
}

#[test]
fn content_that_was_changed_in_the_database_reaches_no_node() {
    let Some(postgres) = Postgres::shared() else { return };
    let url = postgres.fresh_database();
    let installation = Installation::with_database(url.clone());
    let server = installation.serve(&[]);
    let (api, work) = (&server.api, work_tree("one"));
    let repository = api.register(fields("fleet-config", &work)).unwrap().id;
    api.apply_all(&repository).unwrap();
    wait_for_generations(api, &[("edge-1", 1), ("edge-2", 1), ("core-1", 1)]);
    postgres.execute(
        &url,
        "UPDATE resources SET digest = (SELECT digest FROM resources WHERE name = 'unused') WHERE name = 'motd'",
    );
    // An unrelated change makes the server look at the account again.
    work.commit("fleet.yaml", &fleet(&format!("{}clusters: [{{name: c}}]\n", sections("one"))));
    let run = api.sync(&repository).unwrap();
    let cluster = run.proposals.iter().find(|proposal| proposal.name == "c").unwrap();
    api.approve(&cluster.id).unwrap();
    api.wait_for("the reason of edge-1", |api| {
        let problems = render(api, "edge-1").problems;
        problems.iter().any(|problem| problem == "no approval covers module motd").then_some(())
    });
    assert_eq!(generation(api, "edge-1"), 1, "it keeps what it has");
    let events = api.events(0).unwrap();
    let blocked: Vec<&str> = events
        .iter()
        .filter(|event| event.kind == "agent.assignment_blocked")
        .map(|event| event.message.as_str())
        .collect();
    assert_eq!(blocked, ["2 nodes get no new assignment: no approval covers module motd"]);
    assert!(installation.log().contains("assignments are blocked"));
    assert_eq!(render(api, "core-1").problems, [""; 0]);
    server.stop();
}

//! A server that listens for agents on an address that hosts reach, and what people ask it.

use std::net::{Ipv4Addr, SocketAddr};

use windlass_api::endpoint::Operation;
use windlass_api::types::{EventInfo, NodeDetail, NodeDrift};
use windlass_testkit::servers::WorkTree;

use crate::api::Api;
use crate::fleet::{fields, fleet};
use crate::installation::{Installation, Server};

/// On an address that only this test uses. A server that starts again must be found where the one before was.
const AGENT_PORT: u16 = 3443;

/// Everything but requests.
const LOG: &str = "info,access=warn";

/// A server with a repository.
pub(crate) struct ControlPlane {
    // Dropped before the directory with its log.
    server: Option<Server>,
    installation: Installation,
    listen: SocketAddr,
    pub(crate) work: WorkTree,
    repository: String,
}

impl ControlPlane {
    /// Starts a server that listens for agents on this address, with an empty repository.
    pub(crate) fn start(address: Ipv4Addr) -> ControlPlane {
        ControlPlane::of(Installation::new(), SocketAddr::from((address, AGENT_PORT)))
    }

    /// Starts a server with this database, for agents on this machine.
    pub(crate) fn with_database(url: String) -> ControlPlane {
        ControlPlane::of(Installation::with_database(url), SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    fn of(installation: Installation, listen: SocketAddr) -> ControlPlane {
        let server = serve(&installation, listen);
        let work = WorkTree::new();
        let repository = server.api.register(fields("fleet-config", &work)).unwrap().id;
        ControlPlane { installation, listen, server: Some(server), work, repository }
    }

    pub(crate) fn agent_address(&self) -> Ipv4Addr {
        match self.listen.ip() {
            std::net::IpAddr::V4(address) => address,
            std::net::IpAddr::V6(address) => panic!("{address}"),
        }
    }

    pub(crate) fn api(&self) -> &Api {
        &self.server.as_ref().expect("the server runs").api
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        let mut server = self.server.take().expect("the server runs");
        server.killer().kill();
        server.wait_for_end();
    }

    /// Starts the server again.
    pub(crate) fn start_again(&mut self) {
        self.server = Some(serve(&self.installation, self.listen));
    }

    /// Stops the server.
    pub(crate) fn stop(mut self) {
        self.server.take().expect("the server runs").stop();
    }

    pub(crate) fn log(&self) -> String {
        self.installation.log()
    }

    /// Runs the command-line program as the first administrator, and returns what it printed.
    pub(crate) fn windlass(&self, arguments: &[&str]) -> String {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(arguments).env("WINDLASS_TOKEN", self.installation.token().unwrap());
        command.env("WINDLASS_SERVER", &self.server.as_ref().expect("the server runs").address);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Commits a fleet with these sections, syncs, and approves every change.
    pub(crate) fn approve_fleet(&self, sections: &str) {
        self.work.commit("fleet.yaml", &fleet(sections));
        let run = self.api().apply_all(&self.repository).unwrap();
        assert_eq!(run.status.slug(), "applied", "{run:?}");
    }

    pub(crate) fn node(&self, node: &str) -> NodeDetail {
        self.api().send(self.api().call(Operation::NodeStatusShow, &[node])).unwrap()
    }

    pub(crate) fn drift(&self, node: &str) -> NodeDrift {
        self.api().send(self.api().call(Operation::NodeDriftShow, &[node])).unwrap()
    }

    /// Waits until a node has a status.
    pub(crate) fn wait_for_node(&self, node: &str, status: &str) -> NodeDetail {
        let mut last = None;
        let found = self.api().try_wait_for(&format!("{node} {status}"), |api| {
            let detail: NodeDetail = api.send(api.call(Operation::NodeStatusShow, &[node]))?;
            let is_reached = detail.node.state.slug() == status;
            last = Some(detail.clone());
            Ok(is_reached.then_some(detail))
        });
        found.unwrap_or_else(|error| panic!("{error}: {last:#?}"))
    }

    /// Waits until a generation is assigned to a node.
    pub(crate) fn wait_for_generation(&self, node: &str, generation: u64) {
        self.api().wait_for(&format!("generation {generation} of {node}"), |_| {
            (self.node(node).node.assigned_generation == Some(generation)).then_some(())
        });
    }

    /// Waits until nodes are in sync, each with its generation.
    pub(crate) fn wait_until_in_sync<'n>(&self, nodes: impl IntoIterator<Item = (&'n str, u64)>) {
        for (node, generation) in nodes {
            self.api().wait_for(&format!("{node} in sync with generation {generation}"), |_| {
                let found = self.node(node).node;
                (found.state.slug() == "converged" && found.reached_generation == Some(generation))
                    .then_some(())
            });
        }
    }

    /// Waits for an event of a kind about a node.
    pub(crate) fn wait_for_event(
        &self,
        node: &str,
        kind: &str,
        is_it: impl Fn(&EventInfo) -> bool,
    ) -> EventInfo {
        self.api().wait_for(&format!("{kind} of {node}"), |api| {
            let events = api.events(0).unwrap().into_iter();
            let mut of_node = events.filter(|event| event.resource_name.as_deref() == Some(node));
            of_node.find(|event| event.kind == kind && is_it(event))
        })
    }
}

fn serve(installation: &Installation, listen: SocketAddr) -> Server {
    let (address, url) = (listen.to_string(), format!("https://{listen}"));
    // Without a port there is no URL yet: the server makes it from the port that it gets.
    match listen.port() {
        0 => installation.serve(&["--log", LOG, "--agent-listen", &address]),
        _ => installation.serve(&["--log", LOG, "--agent-listen", &address, "--agent-url", &url]),
    }
}

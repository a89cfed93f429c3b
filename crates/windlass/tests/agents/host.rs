//! A host with systemd that becomes a node of the fleet, as the guide says: enrol, write the unit, start it.

use std::ops::Deref;

use windlass_testkit::servers::{HostKind, TestHost};

use crate::agent_binary::agent_binary;
use crate::control_plane::ControlPlane;

/// Where the agent's binary is on a host.
const AGENT: &str = "/usr/local/bin/windlass-agent";

/// A host that is a node.
pub(crate) struct NodeHost {
    pub(crate) node: String,
    host: TestHost,
}

impl Deref for NodeHost {
    type Target = TestHost;

    fn deref(&self) -> &TestHost {
        &self.host
    }
}

/// Starts hosts at the same time, with the binary of the agent. `None` where hosts cannot run.
pub(crate) fn start_hosts(count: usize) -> Option<Vec<TestHost>> {
    let binary = agent_binary();
    std::thread::scope(|scope| {
        let start = || TestHost::start(HostKind::Systemd, &[(binary, AGENT)]);
        let starting: Vec<_> = (0..count).map(|_| scope.spawn(start)).collect();
        starting.into_iter().map(|host| host.join().unwrap()).collect()
    })
}

impl NodeHost {
    /// Makes a host the node of this name: runs the line that `windlass node enroll` prints, and has systemd run the agent.
    pub(crate) fn enrol(host: TestHost, node: &str, plane: &ControlPlane) -> NodeHost {
        host.route_to(plane.agent_address());
        let line = plane.windlass(&["node", "enroll", node]);
        let said = host.run(&line);
        assert!(said.contains(&format!("This host is node {node} of account")), "{said}");
        host.run("windlass-agent unit > /etc/systemd/system/windlass-agent.service");
        host.run("systemctl enable --now windlass-agent");
        NodeHost { node: node.to_owned(), host }
    }

    /// What the agent logged.
    pub(crate) fn agent_log(&self) -> String {
        self.run("journalctl --unit windlass-agent --output cat --no-pager")
    }
}

impl Drop for NodeHost {
    #[expect(clippy::print_stderr, reason = "what the agent said explains why the test failed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.output("journalctl --unit windlass-agent --output cat --no-pager --lines 60");
            eprintln!("--- the agent's log on {}\n{}", self.node, String::from_utf8_lossy(&log.stdout));
        }
    }
}

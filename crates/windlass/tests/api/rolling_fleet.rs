//! A fleet whose template has a rollout, with agents that report what a test tells them to.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_core::digest::Digest;
use windlass_core::observed::{
    AgentMessage, AgentReport, ApplyFailure, Coverage, Enrolment, Observation, Observed, ReportOrder,
    Sighting,
};
use windlass_core::report::AcceptedTarget;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_testkit::servers::WorkTree;

use crate::harness::{Installation, Person, Reply, TIMEOUT, fleet, now};

pub(crate) const ROLLOUTS: &str = "/api/v1/system/rollouts";

/// The fleet.
pub(crate) struct Fleet {
    pub(crate) installation: Installation,
    pub(crate) admin: Person,
    work: WorkTree,
    repository: String,
    nodes: Vec<String>,
}

/// What an agent reports about its assignment.
pub(crate) enum Report {
    InSync,
    Failed(&'static str),
}

fn text_of(rollout: &str, version: u32, nodes: &[String]) -> String {
    let hosts: Vec<String> = nodes
        .iter()
        .map(|name| format!("  - {{hostname: {name}, template: edge, config: {{own: 0}}}}\n"))
        .collect();
    format!(
        "version: 1\naccount: acme\nmodules:\n  - name: motd\n    host: {{files: {{/etc/motd: \
         {{content: \"v{version}\\n\"}}}}}}\ntemplates:\n  edge: {{node_platform: debian-12-amd64, modules: [motd], \
         rollout: {rollout}}}\nnodes:\n{}",
        hosts.concat()
    )
}

impl Fleet {
    /// All nodes are in sync with the first version.
    pub(crate) async fn start(rollout: &str, count: usize) -> Fleet {
        let installation = Installation::start().await;
        let admin = installation.admin().await;
        let nodes: Vec<String> = (1..=count).map(|number| format!("edge-{number}")).collect();
        let work = fleet(&text_of(rollout, 1, &nodes));
        let repository = installation.register(&admin, "fleet", &work).await;
        let fleet = Fleet { installation, admin, work, repository, nodes };
        fleet.apply().await;
        fleet.wait("the first documents", async || fleet.generations().await.len() == count).await;
        for node in &fleet.nodes {
            let mut writing = fleet.installation.store.write_account(&fleet.admin.account).await.unwrap();
            let agent = writing.agent_enrol(&key(node), now()).await.unwrap();
            writing.agent_contact(&agent.id, now()).await.unwrap();
            writing.commit().await.unwrap();
            fleet.report(node, Report::InSync).await;
        }
        fleet
    }

    async fn apply(&self) {
        let run = self.installation.sync(&self.admin, &self.repository).await;
        self.installation.apply_all(&self.admin, &run).await;
    }

    pub(crate) async fn change(&self, rollout: &str, version: u32) {
        self.work.commit("fleet.yaml", &text_of(rollout, version, &self.nodes));
        self.apply().await;
    }

    async fn assigned(&self) -> BTreeMap<String, AcceptedTarget> {
        let mut reading = self.installation.store.read().await.unwrap();
        let assignments = reading.assignments(&self.admin.account).await.unwrap();
        assignments.of_kind(Kind::Node).map(|(name, assigned)| (name.to_owned(), *assigned)).collect()
    }

    pub(crate) async fn generations(&self) -> Vec<u64> {
        self.assigned().await.values().map(|assigned| assigned.generation.0).collect()
    }

    /// Stores what a node's agent reports about the assignment that it has.
    pub(crate) async fn report(&self, node: &str, report: Report) {
        let (account, target) = (&self.admin.account, key(node));
        let AcceptedTarget { generation, digest } = self.assigned().await[node];
        let failure =
            |message: &str| ApplyFailure { generation, since: now(), message: AgentMessage::new(message) };
        let (digest, failure) = match report {
            Report::InSync => (digest, None),
            Report::Failed(message) => (Digest::of(b"half"), Some(failure(message))),
        };
        let seen = Sighting { generation, since: now(), at: now() };
        let mut writing = self.installation.store.write().await.unwrap();
        let before = writing.observed(account, &target).await.unwrap();
        let sequence = before.whole.as_ref().map_or(0, |whole| whole.order.sequence) + 1;
        let mut after = before.clone();
        after.merge(&AgentReport {
            order: ReportOrder { enrolment: Enrolment(1), generation, sequence },
            coverage: Coverage::Complete,
            target: Observation { observed: Observed::Known { digest, seen }, failure },
            resources: [].into_iter().collect(),
        });
        writing.observed_save(account, &target, &before, &after).await.unwrap();
        writing.commit().await.unwrap();
    }

    pub(crate) async fn rollouts(&self) -> Vec<Value> {
        let list = self.installation.get(&self.admin, ROLLOUTS).await;
        list["rollouts"].as_array().unwrap().clone()
    }

    pub(crate) async fn newest(&self) -> Value {
        self.rollouts().await.into_iter().next().unwrap_or(Value::Null)
    }

    pub(crate) async fn wait(&self, what: &str, is_there: impl AsyncFn() -> bool) {
        let begun = Instant::now();
        while !is_there().await {
            let rollouts = self.rollouts().await;
            assert!(begun.elapsed() < TIMEOUT, "{what}: {:?} {rollouts:?}", self.generations().await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn wait_for_generations(&self, expected: &[u64]) {
        self.wait(&format!("{expected:?}"), async || self.generations().await == expected).await;
    }

    pub(crate) async fn wait_for_status(&self, status: &str) -> Value {
        self.wait(status, async || self.newest().await["status"] == status).await;
        self.newest().await
    }

    pub(crate) async fn decide(&self, action: &str, body: Value) -> Reply {
        let id = self.newest().await["id"].as_str().unwrap().to_owned();
        self.installation.tell(&self.admin.token, "POST", &format!("{ROLLOUTS}/{id}/{action}"), &body).await
    }
}

pub(crate) fn key(node: &str) -> ResourceKey {
    ResourceKey::new(Kind::Node, node)
}

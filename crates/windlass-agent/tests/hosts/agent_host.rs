//! A real host with an agent.

use std::io::{BufRead, BufReader, Read};
use std::ops::Deref;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Map, Value, json};
use windlass_core::catalogue::MODULES;
use windlass_core::resource::Spec;
use windlass_core::shape::{Defaults, canonical_json};
use windlass_testkit::servers::{HostKind, TestHost};

use crate::runner::{ANSWER, Operation, REQUEST, Request, TestModule};

/// A host whose agent is this program.
pub(crate) struct AgentHost(TestHost);

impl Deref for AgentHost {
    type Target = TestHost;

    fn deref(&self) -> &TestHost {
        &self.0
    }
}

/// What the agent did.
#[derive(Debug)]
pub(crate) struct Report(pub(crate) Value);

impl Report {
    /// The items with an outcome of this kind, in order.
    fn items(&self, outcome: &str) -> Vec<String> {
        let items = self.0["items"].as_array().unwrap_or_else(|| panic!("{}", self.0));
        let has = |item: &&Value| item["outcome"] == outcome || item["outcome"].get(outcome).is_some();
        items.iter().filter(has).map(|item| item["item"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn changed(&self) -> Vec<String> {
        self.items("changed")
    }

    /// The reason of an item that failed.
    pub(crate) fn failure(&self, name: &str) -> &str {
        let items = self.0["items"].as_array().unwrap_or_else(|| panic!("{}", self.0));
        let item = items.iter().find(|item| item["item"] == name).unwrap_or_else(|| panic!("{}", self.0));
        item["outcome"]["failed"].as_str().unwrap_or_else(|| panic!("{item}"))
    }

    /// That every item is as it should be.
    #[track_caller]
    pub(crate) fn converged(self) -> Report {
        assert_eq!(self.items("failed").len() + self.items("skipped").len(), 0, "{:#}", self.0);
        self
    }
}

impl AgentHost {
    pub(crate) fn start(kind: HostKind) -> Option<AgentHost> {
        let program = std::env::current_exe().unwrap();
        TestHost::start(kind, &[(program.as_path(), "/usr/local/bin/windlass-test-agent")]).map(AgentHost)
    }

    fn agent(&self, operation: Operation, modules: &[TestModule]) -> Command {
        let request = Request { operation, modules: modules.to_vec() };
        let mut command = self.command("/usr/local/bin/windlass-test-agent");
        command.args(["--exact", "runner::the_agent_answers_a_request", "--nocapture"]);
        command.env(REQUEST, serde_json::to_string(&request).unwrap()).env("RUST_BACKTRACE", "0");
        command
    }

    /// Lets the agent do something with these modules.
    pub(crate) fn ask(&self, operation: Operation, modules: &[TestModule]) -> Value {
        let output = self.agent(operation, modules).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let answer = said.lines().find_map(|line| line.strip_prefix(ANSWER));
        let answer = answer.unwrap_or_else(|| panic!("{said}\n{}", String::from_utf8_lossy(&output.stderr)));
        serde_json::from_str(answer).unwrap()
    }

    pub(crate) fn apply(&self, modules: &[TestModule]) -> Report {
        Report(self.ask(Operation::Apply, modules))
    }

    /// An agent that applies and then stays.
    pub(crate) fn stay(&self, modules: &[TestModule]) -> (Report, StayingAgent) {
        let mut command = self.agent(Operation::ApplyAndStay, modules);
        let mut agent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(agent.stdout.take().unwrap());
        let mut lines = said.by_ref().lines().map_while(Result::ok);
        let answer = lines.find_map(|line| line.strip_prefix(ANSWER).map(str::to_owned)).unwrap();
        (Report(serde_json::from_str(&answer).unwrap()), StayingAgent { agent, _said: said })
    }

    pub(crate) fn dry_run(&self, modules: &[TestModule]) -> Report {
        Report(self.ask(Operation::DryRun, modules))
    }

    /// The items that differ, as text.
    pub(crate) fn drift(&self, modules: &[TestModule]) -> Vec<String> {
        serde_json::from_value(self.ask(Operation::Observe, modules)).unwrap()
    }
}

/// An agent that stays until this is dropped.
pub(crate) struct StayingAgent {
    agent: Child,
    /// Open for as long as the agent may say something.
    _said: BufReader<ChildStdout>,
}

impl Drop for StayingAgent {
    fn drop(&mut self) {
        drop(self.agent.stdin.take());
        let _ = self.agent.wait();
    }
}

/// A module with this `host`.
pub(crate) fn module(name: &str, host: Value) -> TestModule {
    TestModule { name: name.to_owned(), spec: json!({"host": host}), config: Map::new() }
}

/// A module of the catalogue.
pub(crate) fn from_catalogue(name: &str, config: Value) -> TestModule {
    let found = MODULES.declarations.iter().find(|declared| declared.key.name == name).unwrap();
    let Spec::Module(spec) = found.spec.as_ref() else { panic!("{name} is no module") };
    let config = config.as_object().unwrap().clone();
    TestModule { name: name.to_owned(), spec: canonical_json(spec, Defaults::Omit), config }
}

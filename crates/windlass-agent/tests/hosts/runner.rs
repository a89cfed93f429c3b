//! The agent on a test host: one operation of the host target, given and answered as JSON.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use windlass_agent::target::host::{
    BlobSource, HostTarget, ItemDrift, MachineServices, Scope, ServiceManagerKind,
};
use windlass_core::host::{BlobRef, HostState, ModulePackage, NodeDocument, NodeModule};
use windlass_core::resource::{Kind, Spec};

/// The variable with the request. Elsewhere than on a test host it is not set.
pub(crate) const REQUEST: &str = "WINDLASS_TEST_REQUEST";

/// The answer begins with this.
pub(crate) const ANSWER: &str = "answer of the agent: ";

/// Where the agent keeps its state on a test host.
const STATE: &str = "/var/lib/windlass-agent";

/// What the agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Operation {
    Apply,
    DryRun,
    Observe,
    /// Apply, and then stay, until standard input ends.
    ApplyAndStay,
}

/// A module of the node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TestModule {
    pub(crate) name: String,
    pub(crate) spec: Value,
    pub(crate) config: Map<String, Value>,
}

/// What the agent does, with which modules.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) modules: Vec<TestModule>,
}

struct NoBlobs;

impl BlobSource for NoBlobs {
    fn open(&self, _: &BlobRef) -> io::Result<Box<dyn Read + '_>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// On a test host this is the agent; elsewhere it checks nothing.
#[test]
fn the_agent_answers_a_request() {
    let Ok(request) = std::env::var(REQUEST) else { return };
    let request: Request = serde_json::from_str(&request).unwrap();
    let services = MachineServices::open(ServiceManagerKind::detect(), Path::new(STATE)).unwrap();
    let target = HostTarget::machine(Path::new(STATE), &NoBlobs, services).unwrap();
    println!("\n{ANSWER}{}", answer(&target, &request));
    if request.operation == Operation::ApplyAndStay {
        io::stdin().read_to_end(&mut Vec::new()).unwrap();
    }
}

fn answer(target: &HostTarget<'_>, request: &Request) -> Value {
    let (document, state) = desired(&request.modules);
    let report = match request.operation {
        Operation::Apply | Operation::ApplyAndStay => target.apply(&document, &state, Scope::WholeState),
        Operation::DryRun => target.dry_run(&document, &state, Scope::WholeState),
        Operation::Observe => {
            let text = |drift: ItemDrift| format!("{}: {:?}", drift.item, drift.found);
            return json!(target.observe(&document, &state).into_iter().map(text).collect::<Vec<_>>());
        }
    };
    match report {
        Ok(report) => serde_json::to_value(report).unwrap(),
        Err(error) => json!({"error": error.with_causes()}),
    }
}

fn desired(modules: &[TestModule]) -> (NodeDocument, HostState) {
    let mut document = NodeDocument { node: Map::new(), config: Map::new(), modules: Vec::new() };
    let mut packages = BTreeMap::new();
    for module in modules {
        let Some(Spec::Module(spec)) = Spec::read_stored(Kind::Module, &module.spec.to_string()) else {
            panic!("not a module: {}", module.spec)
        };
        let package = ModulePackage { name: module.name.clone(), spec, files: BTreeMap::new() };
        document.modules.push(NodeModule {
            name: module.name.clone(),
            version: None,
            package: package.digest(),
            priority: 50,
            depends_on: Vec::new(),
            config: module.config.clone(),
        });
        packages.insert(package.digest(), package);
    }
    let state = HostState::compose(&document, &packages).unwrap();
    (document, state)
}

//! `windlass demo` as a process of its own: its agents converge, report drift and survive restarts.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use windlass_api::endpoint::Operation;
use windlass_api::types::{BatchDecision, NodeDrift, NodeReverted, NodeStatusInfo, NodeStatusList};
use windlass_core::report::TargetStatus;
use windlass_testkit::process::ProcessExit;

use crate::api::Api;
use crate::installation::{TIMEOUT, remove_settings, signal, wait_for_end};

const NODES: [&str; 3] = ["edge-london-01", "edge-tokyo-01", "edge-tokyo-02"];
const NODE: &str = "edge-tokyo-01";

/// The last line of the demo's text.
const LAST_LINE: &str = "The nodes, as they change:";

/// A running demo.
struct Demo {
    child: Child,
    /// The text that it printed at the start.
    text: String,
    /// What it prints later.
    lines: Receiver<String>,
    api: Api,
}

impl Demo {
    fn start(directory: &Path) -> Demo {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(["demo", "--listen", "127.0.0.1:0", "--dir"]).arg(directory);
        remove_settings(&mut command);
        let errors = fs::File::create(log_of(directory)).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in printed.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut text = Vec::new();
        while text.last().is_none_or(|line| line != LAST_LINE) {
            match lines.recv_timeout(TIMEOUT) {
                Ok(line) => text.push(line),
                Err(_) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    panic!(
                        "the demo did not start: {text:?} {}",
                        fs::read_to_string(log_of(directory)).unwrap()
                    );
                }
            }
        }
        let text = text.join("\n");
        let word = |beginning| word_after(&text, beginning);
        let api = Api::new(word("WINDLASS_SERVER="), Some(word("WINDLASS_TOKEN=")));
        Demo { child, lines, api, text }
    }

    /// Approves everything, as the text says.
    fn approve_all(&self) {
        let run = self.api.run(word_after(&self.text, "windlass proposal approve --run ")).unwrap();
        let decided = self.api.decide(&run, BatchDecision::Approve).unwrap();
        assert_eq!((decided.done, decided.refused), (10, 0));
    }

    fn nodes(&self) -> Vec<NodeStatusInfo> {
        let list: NodeStatusList = self.api.send(self.api.call(Operation::NodeStatusList, &[])).unwrap();
        list.nodes
    }

    fn wait_until_in_sync(&self, names: &[&str]) -> Vec<NodeStatusInfo> {
        self.api.wait_for("nodes in sync", |_| {
            let nodes = self.nodes();
            let is_in_sync = |name: &&str| {
                nodes.iter().any(|node| node.name == **name && node.state == TargetStatus::InSync)
            };
            names.iter().all(is_in_sync).then_some(nodes)
        })
    }

    fn drift(&self) -> NodeDrift {
        self.api.send(self.api.call(Operation::NodeDriftShow, &[NODE])).unwrap()
    }

    /// Waits until the demo prints a line that has all of these words.
    fn wait_for_line(&self, words: &[&str]) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|_| panic!("the demo did not print {words:?}"));
            if words.iter().all(|word| line.contains(word)) {
                return line;
            }
        }
    }

    /// Runs the command of the text that edits a file. Returns the path of the file.
    fn edit_file(&self) -> &Path {
        let command = "echo '# edited by hand' >> ";
        let path = word_after(&self.text, command);
        let status = Command::new("sh").args(["-c", &format!("{command}{path}")]).status().unwrap();
        assert!(status.success());
        Path::new(path)
    }

    fn stop(mut self) {
        signal(self.child.id(), "INT");
        let ended = wait_for_end(&mut self.child);
        assert!(ended.success(), "{ended}");
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            signal(self.child.id(), "TERM");
            if !ProcessExit::watch(&self.child).wait_at_most(Duration::from_secs(20)) {
                let _ = self.child.kill();
            }
            let _ = self.child.wait();
        }
    }
}

/// Beside the demo's directory.
fn log_of(directory: &Path) -> std::path::PathBuf {
    directory.with_extension("log")
}

fn word_after<'t>(text: &'t str, beginning: &str) -> &'t str {
    let (_, rest) = text.split_once(beginning).unwrap_or_else(|| panic!("no {beginning:?} in {text}"));
    rest.split_whitespace().next().unwrap()
}

fn agents_of(nodes: &[NodeStatusInfo]) -> Vec<(String, String)> {
    nodes.iter().map(|node| (node.name.clone(), node.agent.as_ref().unwrap().id.clone())).collect()
}

#[test]
fn the_nodes_of_the_demo_converge_and_an_edited_file_is_reported_and_restored() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("demo");
    let demo = Demo::start(&directory);
    assert!(demo.nodes().is_empty(), "nothing is accepted before someone approves it");
    assert!(!directory.join("hosts").join(NODE).join("etc").exists());
    demo.approve_all();
    let nodes = demo.wait_until_in_sync(&NODES);
    assert_eq!(nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), NODES);
    for node in NODES {
        let host = directory.join("hosts").join(node);
        assert_eq!(fs::read_to_string(host.join("etc/timezone")).unwrap(), "Etc/UTC\n");
        assert!(host.join("etc/nginx/nginx.conf").exists() && host.join("etc/chrony").exists());
    }
    demo.wait_for_line(&[NODE, "In sync"]);

    let managed = directory.join("hosts").join(NODE).join("etc/nginx/nginx.conf").canonicalize().unwrap();
    let before = fs::read_to_string(&managed).unwrap();
    let edited = demo.edit_file();
    assert_eq!(edited, managed);
    let drift = demo.api.wait_for("drift", |_| Some(demo.drift()).filter(|drift| !drift.items.is_empty()));
    assert_eq!(
        (drift.items[0].kind.as_str(), drift.items[0].name.as_str()),
        ("path", "/etc/nginx/nginx.conf")
    );
    assert_eq!(drift.state.slug(), "drifted");
    demo.wait_for_line(&[NODE, "Drifted"]);
    let _: NodeReverted = demo.api.send(demo.api.call(Operation::NodeDriftRevert, &[NODE])).unwrap();
    demo.api.wait_for("the restored file", |_| (fs::read_to_string(&managed).ok()? == before).then_some(()));
    demo.wait_until_in_sync(&[NODE]);
    demo.stop();
    assert_eq!(fs::read_to_string(log_of(&directory)).unwrap(), "", "agents do not disturb the reader");
}

#[test]
fn a_demo_that_is_killed_and_started_again_continues_with_the_same_agents() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("demo");
    let demo = Demo::start(&directory);
    let password = word_after(&demo.text, "password ").to_owned();
    demo.kill();

    let demo = Demo::start(&directory);
    assert_eq!(word_after(&demo.text, "password "), password);
    demo.approve_all();
    let agents = agents_of(&demo.wait_until_in_sync(&NODES));
    demo.edit_file();
    demo.kill();

    let demo = Demo::start(&directory);
    let drift =
        demo.api.wait_for("drift", |_| Some(demo.drift()).filter(|drift| drift.state.slug() == "drifted"));
    assert_eq!(drift.items.len(), 1, "{drift:?}");
    assert_eq!(agents_of(&demo.nodes()), agents);
    demo.stop();
}

#[test]
fn the_demo_goes_on_without_an_agent_that_cannot_start() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("demo");
    fs::create_dir_all(directory.join("hosts")).unwrap();
    fs::write(directory.join("hosts/edge-london-01"), "not a directory").unwrap();
    let demo = Demo::start(&directory);
    demo.approve_all();
    demo.wait_for_line(&["edge-london-01", "cannot enrol its agent"]);
    let nodes = demo.wait_until_in_sync(&["edge-tokyo-01", "edge-tokyo-02"]);
    let without = nodes.iter().find(|node| node.name == "edge-london-01").unwrap();
    assert_eq!((without.state.slug(), &without.agent), ("unknown", &None));
    demo.stop();
}

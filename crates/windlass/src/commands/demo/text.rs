//! Everything that the demo prints.

use std::path::{Path, PathBuf};

use windlass_api::types::{NodeStatusInfo, RunInfo};
use windlass_core::report::TargetStatus;

use super::hosts::{HOSTS, hosts_directory};
use super::session::{ACCOUNT, DemoSession, EMAIL};
use crate::view;

/// The file that the reader is invited to edit: a comment at its end changes nothing else.
const EDITED_FILE: &str = "etc/nginx/nginx.conf";

/// What the text is about.
pub(super) struct DemoFacts<'d> {
    pub(super) server: &'d str,
    pub(super) root: &'d Path,
    pub(super) fleet: &'d Path,
    pub(super) data: DataLifetime,
}

/// What happens to the data when the demo ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataLifetime {
    /// It is in a temporary directory.
    DeletedAtExit,
    /// The reader chose the directory.
    Kept,
}

/// Prints a line beside the work. A closed standard output is no reason to stop.
pub(super) fn say(line: &str) {
    let _ = view::line(line);
}

/// A node as the demo shows it. The reason of a node that is in sync has only the time of its newest report.
pub(super) fn status_line(node: &NodeStatusInfo) -> String {
    let (name, label) = (node.name.as_str(), node.summary.as_str());
    if node.state == TargetStatus::InSync {
        return node_line(name, label, "");
    }
    // Most reasons begin with the label, because they are also shown alone.
    let reason = node.reason.strip_prefix(label).unwrap_or(&node.reason);
    node_line(name, label, reason.trim_start_matches([':', ' ']))
}

/// A line about a node.
pub(super) fn node_line(name: &str, label: &str, text: &str) -> String {
    format!("{name:<15} {label:<9} {text}").trim_end().to_owned()
}

/// Prints where the server is and what to try.
pub(super) fn print_guide(
    facts: &DemoFacts<'_>,
    session: &DemoSession,
    run: &RunInfo,
) -> std::io::Result<()> {
    let mut lines = opening(facts, session);
    lines.extend(synced(facts, run));
    lines.extend(review_step(facts, session, run));
    lines.extend(drift_step(facts));
    lines.extend(manual_change_step());
    lines.push(String::new());
    lines.push("The nodes, as they change:".to_owned());
    lines.iter().try_for_each(|line| view::line(line))
}

/// Prints that the demo cannot sign in to the data of an earlier demo.
pub(super) fn print_without_session(facts: &DemoFacts<'_>) -> std::io::Result<()> {
    view::line(&format!("Windlass listens on {} with the data of an earlier demo.", facts.server))?;
    view::line(
        "Its password was changed, or is not in the directory: sign in with yours. Agents that are enrolled run again.",
    )
}

fn opening(facts: &DemoFacts<'_>, session: &DemoSession) -> Vec<String> {
    let server = facts.server;
    let end = match facts.data {
        DataLifetime::DeletedAtExit => "Press Ctrl-C to stop it and delete its data.".to_owned(),
        DataLifetime::Kept => format!("Press Ctrl-C to stop it. Its data stays in {}.", facts.root.display()),
    };
    vec![
        format!("Windlass listens on {server}. {end}"),
        String::new(),
        format!("  web app   {server}/app"),
        format!("  account   {ACCOUNT}"),
        format!("  email     {EMAIL}"),
        format!("  password  {}", session.password.expose()),
        String::new(),
    ]
}

fn synced(facts: &DemoFacts<'_>, run: &RunInfo) -> Vec<String> {
    vec![
        format!("The repository {} is registered and synced:", facts.fleet.display()),
        format!(
            "  run {} is {}: {} changes, {} proposed",
            run.id,
            run.status,
            run.diff_count,
            run.proposals.len()
        ),
        String::new(),
        format!("It declares the nodes {}. In this demo, each node has an agent", HOSTS.join(", ")),
        "that works on a directory as if it were a machine: it writes files there, and only notes which packages and".to_owned(),
        format!("services a machine would have. The directories are in {}.", hosts_directory(facts.root).display()),
    ]
}

fn review_step(facts: &DemoFacts<'_>, session: &DemoSession, run: &RunInfo) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        "1. Review. Nothing is applied before you approve it. Use the web app, or another terminal:"
            .to_owned(),
        format!("  export WINDLASS_SERVER={} WINDLASS_TOKEN={}", facts.server, session.token.expose()),
    ];
    lines.extend(alias().map(|alias| format!("  {alias}")));
    lines.extend([
        "  windlass proposal list".to_owned(),
        format!("  windlass proposal approve --run {}", run.id),
        format!("  windlass run show {}", run.id),
        "As soon as a node is accepted, the demo enrols its agent with a single-use token, as `windlass node enroll`".to_owned(),
        "would, and the agent applies what is assigned to it:".to_owned(),
        "  windlass node list".to_owned(),
        format!("  windlass node describe {}", HOSTS[0]),
    ]);
    lines
}

fn drift_step(facts: &DemoFacts<'_>) -> Vec<String> {
    let node = HOSTS[0];
    let file = hosts_directory(facts.root).join(node).join(EDITED_FILE);
    vec![
        String::new(),
        "2. Edit a managed file of a host. The agent reports the drift within seconds:".to_owned(),
        format!("  echo '# edited by hand' >> {}", shell_word(&file)),
        format!("  windlass node drift {node}"),
        format!("or see {}/app/nodes/{node}. Then have the agent restore the file:", facts.server),
        format!("  windlass drift node revert {node}"),
        "or accept the difference (`windlass drift node accept`). A file of a module that fleet.yaml declares can also be".to_owned(),
        "adopted into git (`windlass drift node adopt`); the modules here come from the built-in catalogue.".to_owned(),
    ]
}

fn manual_change_step() -> Vec<String> {
    let node = HOSTS[0];
    vec![
        String::new(),
        "3. Change the accepted state without git. Windlass shows it as drift from the repository:"
            .to_owned(),
        format!("  windlass set node {node} region=ap-osaka-1"),
        "  windlass drift fleet-config".to_owned(),
        format!("  windlass drift revert fleet-config node {node}"),
        "  windlass export".to_owned(),
    ]
}

/// Makes the commands work in a terminal that does not find this binary under the name `windlass`.
fn alias() -> Option<String> {
    let called = std::env::args_os().next().map(PathBuf::from)?;
    if called.components().count() == 1 {
        return None;
    }
    Some(format!("alias windlass={}", shell_word(&std::env::current_exe().ok()?)))
}

/// A path as one word of a shell command.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+".contains(character);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell_command() {
        assert_eq!(shell_word(Path::new("/tmp/windlass-demo-x/hosts")), "/tmp/windlass-demo-x/hosts");
        assert_eq!(shell_word(Path::new("/tmp/it's here")), "'/tmp/it'\\''s here'");
    }
}

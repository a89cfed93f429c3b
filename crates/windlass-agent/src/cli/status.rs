//! `windlass-agent status`

use std::io::Write;

use windlass_agent::{AgentStatus, status as read_status};

use super::arguments::StatusOptions;
use super::command_error::CommandError;
use super::exit::Exit;

pub(crate) fn status(options: &StatusOptions, output: &mut impl Write) -> Result<Exit, CommandError> {
    let status = read_status(&options.host.state_dir())?;
    match options.json {
        true => {
            serde_json::to_writer_pretty(&mut *output, &status).map_err(std::io::Error::from)?;
            writeln!(output)?;
        }
        false => write_for_people(&status, output)?,
    }
    let is_fine = status.drift.is_empty() && status.failure.is_none() && status.problems.is_empty();
    Ok(if is_fine { Exit::Fine } else { Exit::Differences })
}

fn write_for_people(status: &AgentStatus, output: &mut impl Write) -> Result<(), CommandError> {
    let identity = &status.identity;
    writeln!(output, "Node         {} of account {}", identity.target, identity.account)?;
    writeln!(output, "Agent        {}, enrolment {}", identity.agent_id, identity.enrolment)?;
    writeln!(output, "Server       {}", status.server)?;
    match status.in_force {
        None => writeln!(output, "Assignment   none yet")?,
        Some(generation) => writeln!(output, "Assignment   generation {generation}, {}", status.step)?,
    }
    if status.in_force.is_some_and(|in_force| in_force != status.accepted) {
        writeln!(output, "             generation {} was taken back", status.accepted)?;
    }
    match status.last_report {
        None => writeln!(output, "Last report  never")?,
        Some(at) => writeln!(output, "Last report  {at}")?,
    }
    if let Some(failure) = &status.failure {
        writeln!(output, "Failure      {failure}")?;
    }
    for problem in &status.problems {
        writeln!(output, "Problem      {problem}")?;
    }
    match status.drift.len() {
        0 => writeln!(output, "Drift        none")?,
        count => writeln!(output, "Drift        {count} items")?,
    }
    for item in &status.drift {
        let problem = item.problem.as_deref().map_or(String::new(), |problem| format!(": {problem}"));
        writeln!(
            output,
            "  {} {} (module {}) since {}{problem}",
            item.kind, item.name, item.module, item.since
        )?;
    }
    Ok(())
}

//! `windlass reference`: the generated pages of docs/reference. Hidden: for those who work on Windlass.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};
use windlass_core::reference::{codes_page, fleet_page, policy_page, states_page};

use crate::args::{Arguments, ReferenceOptions};
use crate::exit::{CommandError, Exit};

pub(crate) fn run(options: &ReferenceOptions) -> Result<Exit, CommandError> {
    let fail = |error: std::io::Error| {
        let message = format!("could not write the reference to {}", options.dir.display());
        CommandError::failed(message, "choose a directory with write permission").because(error)
    };
    std::fs::create_dir_all(&options.dir).map_err(fail)?;
    for (name, page) in [
        ("fleet-yaml.md", fleet_page()),
        ("approval-policy.md", policy_page()),
        ("problem-codes.md", codes_page()),
        ("states.md", states_page()),
        ("command-line.md", command_page()),
        ("mcp.md", windlass_mcp::tools_page()),
        ("metrics.md", windlass_server::metrics_page()),
    ] {
        std::fs::write(options.dir.join(name), page).map_err(fail)?;
    }
    Ok(Exit::Fine)
}

fn command_page() -> String {
    let mut command = Arguments::command().term_width(100);
    command.build();
    let mut page = String::from(
        "# Command line\n\nGenerated from the program's own help. Commands that call a server also take `--server`, \
            `--token`,\n`--account`, `--output` and `--color`, which are listed once, under `windlass`.\n",
    );
    write_command(&mut page, &mut command);
    page
}

/// Commands that ask a server share their options; told once, they do not bury what is a command's own.
fn without_shared(command: &Command) -> Command {
    let asks_a_server = command.get_arguments().any(|argument| argument.get_id() == "output");
    command.clone().mut_args(|argument| match asks_a_server && argument.is_global_set() {
        true => argument.hide(true),
        false => argument,
    })
}

fn write_command(page: &mut String, command: &mut Command) {
    let name = command.get_bin_name().unwrap_or("windlass").to_owned();
    let help = without_shared(command).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim());
    let shown =
        command.get_subcommands_mut().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
    shown.for_each(|inner| write_command(page, inner));
}

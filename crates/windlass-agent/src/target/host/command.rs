//! Runs commands of the host without a shell, with a time limit and bounded output.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal};
use windlass_core::secret;

use super::error::HostError;

/// The longest output that is read: the list of all packages of a large machine is below it.
const MAX_OUTPUT: u64 = 32 * 1024 * 1024;

/// The end of the output that a message shows.
const MAX_SHOWN: usize = 2_000;

/// How long a command may take that only reads something, or changes an account.
pub(crate) const SHORT_LIMIT: Duration = Duration::from_secs(2 * 60);

/// How long a command may run: downloads of packages are slow.
pub(crate) const COMMAND_LIMIT: Duration = Duration::from_secs(30 * 60);

/// How long the validation of a file may take.
pub(crate) const VALIDATION_LIMIT: Duration = Duration::from_secs(60);

/// The environment of every command, besides the agent's own: no translations, and nothing that asks.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("APT_LISTCHANGES_FRONTEND", "none"),
    // Services are restarted because their files changed, not because a library did.
    ("NEEDRESTART_MODE", "l"),
    ("UCF_FORCE_CONFFOLD", "1"),
];

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandEnd {
    Exited(ExitStatus),
    /// It was killed because it took too long.
    TookTooLong,
    /// It was killed because it printed too much.
    PrintedTooMuch,
}

/// What a command printed, and how it ended.
pub(crate) struct CommandOutput {
    pub(crate) succeeded: bool,
    pub(crate) stdout: String,
    /// The end of everything that it printed, with secrets masked.
    pub(crate) shown: String,
}

/// Runs a command and returns what it printed, whether it succeeded or not.
pub(crate) fn run(arguments: &[&str], limit: Duration) -> Result<CommandOutput, HostError> {
    let command = arguments.join(" ");
    let not_started = |source: io::Error| HostError::CommandNotStarted { command: command.clone(), source };
    let (program, rest) =
        arguments.split_first().ok_or_else(|| not_started(io::ErrorKind::NotFound.into()))?;
    // Files instead of pipes: a daemon that the command starts may keep them open for ever.
    let (mut stdout, mut stderr) = (memory_file().map_err(not_started)?, memory_file().map_err(not_started)?);
    let mut child = Command::new(program)
        .args(rest)
        .envs(ENVIRONMENT.iter().copied())
        .stdin(Stdio::null())
        .stdout(stdout.try_clone().map_err(not_started)?)
        .stderr(stderr.try_clone().map_err(not_started)?)
        .process_group(0)
        .spawn()
        .map_err(not_started)?;
    let printed = |file: &File| file.metadata().map_or(0, |found| found.len());
    let too_much = || printed(&stdout) > MAX_OUTPUT || printed(&stderr) > MAX_OUTPUT;
    let end = wait_unless(&mut child, limit, &too_much).map_err(not_started)?;
    let (stdout, stderr) =
        (text_of(&mut stdout).map_err(not_started)?, text_of(&mut stderr).map_err(not_started)?);
    let shown = shown_output(&stdout, &stderr, end, limit);
    let succeeded = matches!(end, CommandEnd::Exited(status) if status.success());
    Ok(CommandOutput { succeeded, stdout, shown })
}

/// Runs a command that must succeed. Returns what it printed.
pub(crate) fn run_checked(arguments: &[&str], limit: Duration) -> Result<String, HostError> {
    let output = run(arguments, limit)?;
    match output.succeeded {
        true => Ok(output.stdout),
        false => Err(HostError::CommandFailed { command: arguments.join(" "), output: output.shown }),
    }
}

fn memory_file() -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create("output", MemfdFlags::CLOEXEC)?))
}

/// Waits for the end of a command; `None` if it took too long and was killed.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    match wait_unless(child, limit, &|| false)? {
        CommandEnd::Exited(status) => Ok(Some(status)),
        CommandEnd::TookTooLong | CommandEnd::PrintedTooMuch => Ok(None),
    }
}

/// Waits for the end of a command. Kills it with everything that it started, if it takes too long or prints too much.
fn wait_unless(child: &mut Child, limit: Duration, too_much: &dyn Fn() -> bool) -> io::Result<CommandEnd> {
    let end = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(CommandEnd::Exited(status));
        }
        let is_too_much = too_much();
        if is_too_much || Instant::now() >= end {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                // It fails if the command has just ended by itself.
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            return Ok(if is_too_much { CommandEnd::PrintedTooMuch } else { CommandEnd::TookTooLong });
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn text_of(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn shown_output(stdout: &str, stderr: &str, end: CommandEnd, limit: Duration) -> String {
    let status = match end {
        CommandEnd::Exited(status) => status,
        CommandEnd::TookTooLong => return format!("it did not end within {} s", limit.as_secs()),
        CommandEnd::PrintedTooMuch => {
            return format!("it printed more than {} MiB", MAX_OUTPUT / (1024 * 1024));
        }
    };
    let both = format!("{}\n{}", stdout.trim(), stderr.trim());
    let both = both.trim();
    if both.is_empty() {
        return status.to_string();
    }
    let start = both.char_indices().rev().nth(MAX_SHOWN).map_or(0, |(at, _)| at);
    secret::without_secrets(&both[start..]).into_owned()
}

/// Splits a command into words: quotes and backslashes as in a shell, and nothing else of a shell.
pub(crate) fn split_words(command: &str) -> Result<Vec<String>, HostError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), _) if c == open => quote = None,
            (None, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some('"'), '\\') if characters.peek().is_some_and(|next| matches!(next, '"' | '\\')) => {
                word.get_or_insert_default().extend(characters.next());
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.take());
    match quote {
        Some(_) => {
            Err(HostError::Unsupported(format!("the command `{command}` has a quote that is not closed")))
        }
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_like_in_a_shell() {
        for (command, words) in [
            ("nginx -t -c {}", vec!["nginx", "-t", "-c", "{}"]),
            ("a  'b c' \"d \\\" e\"f", vec!["a", "b c", "d \" ef"]),
            ("a\\ b '' $HOME", vec!["a b", "", "$HOME"]),
        ] {
            assert_eq!(split_words(command).unwrap(), words);
        }
        assert!(split_words("a 'b").is_err());
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed() {
        let output = run(&["sleep", "60"], Duration::from_millis(20)).unwrap();
        assert!(!output.succeeded && output.shown.contains("did not end"), "{}", output.shown);
    }

    #[test]
    fn a_command_that_prints_too_much_is_killed() {
        let output = run(&["yes"], Duration::from_secs(60)).unwrap();
        assert!(!output.succeeded && output.shown.contains("printed more than"), "{}", output.shown);
    }

    #[test]
    fn a_failed_command_shows_what_it_printed() {
        let script = "echo see http://me:pw@x.y >&2; exit 3";
        let error = run_checked(&["sh", "-c", script], SHORT_LIMIT).unwrap_err();
        assert!(error.to_string().contains("see http://(hidden)@x.y"), "{error}");
    }
}

//! Starts, reloads and stops one service as its unit file says.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use windlass_core::secret;

use super::command_line::{CommandLine, OnFailure, RunAs};
use super::process::{ProcessId, RunningProcess};
use super::record::{RecordDirectory, Running, last_bytes};
use super::unit_file::{AfterExit, KillMode, ServiceDefinition, StartType, read_variables};
use crate::target::host::accounts::{self, UserAccount};
use crate::target::host::command;
use crate::target::host::error::HostError;
use crate::target::host::tree::{Attributes, HostTree};

/// A service that ends within this time did not start.
const SETTLING: Duration = Duration::from_millis(300);

/// How long a killed process may take to disappear.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// The end of the log that an error shows.
const SHOWN_BYTES: u64 = 2_000;

/// The path in which commands are found.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// One service with everything that it takes to run it.
pub(super) struct Launch<'a> {
    pub(super) tree: &'a HostTree,
    pub(super) records: &'a RecordDirectory,
    pub(super) name: &'a str,
    pub(super) definition: &'a ServiceDefinition,
}

impl Launch<'_> {
    fn failed(&self, action: &'static str, problem: String) -> HostError {
        HostError::ServiceFailed { action, unit: self.name.to_owned(), problem }
    }

    /// Starts the service. Its output goes to its log.
    pub(super) fn start(&self) -> Result<Running, HostError> {
        let log = self.records.log_path(self.name);
        let before = fs::metadata(&log).map_or(0, |found| found.len());
        self.start_commands().map_err(|error| match error {
            HostError::ServiceFailed { action, unit, problem } => {
                let size = fs::metadata(&log).map_or(0, |found| found.len());
                let lines = last_lines(&log, size.saturating_sub(before).min(SHOWN_BYTES));
                let problem =
                    lines.map_or(problem.clone(), |lines| format!("{problem}; its last lines: {lines}"));
                HostError::ServiceFailed { action, unit, problem }
            }
            other => other,
        })
    }

    fn start_commands(&self) -> Result<Running, HostError> {
        self.create_directories()?;
        for line in &self.definition.before {
            self.run_to_end("start", line, None)?;
        }
        let running = match &self.definition.start_type {
            StartType::Simple => Running::Process(self.start_simple()?),
            StartType::Forking { pid_file } => {
                self.run_all("start", &self.definition.start, None)?;
                Running::Process(self.process_in(pid_file)?)
            }
            StartType::Oneshot(after) => {
                self.run_all("start", &self.definition.start, None)?;
                match after {
                    AfterExit::Remains => Running::Done,
                    AfterExit::Stopped => Running::Nothing,
                }
            }
        };
        let main = if let Running::Process(id) = running { Some(id) } else { None };
        match self.run_all("start", &self.definition.after, main) {
            Ok(()) => Ok(running),
            Err(error) => {
                if let Some(process) = main.and_then(ProcessId::running) {
                    self.end(&process);
                }
                Err(error)
            }
        }
    }

    fn start_simple(&self) -> Result<ProcessId, HostError> {
        let line = self
            .definition
            .start
            .first()
            .ok_or_else(|| self.failed("start", "it has no command".to_owned()))?;
        let mut child = self.spawn("start", line, None)?;
        let id = i32::try_from(child.id()).ok().and_then(ProcessId::of);
        let running = id.and_then(ProcessId::running).filter(|running| !running.wait(SETTLING));
        match running {
            // The child is not waited for here: the thread that watches services does that.
            Some(running) => Ok(running.id()),
            None => {
                let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                Err(self.failed("start", format!("it ended at once: {status}")))
            }
        }
    }

    /// The process that a service has written into a file.
    fn process_in(&self, pid_file: &str) -> Result<ProcessId, HostError> {
        let end = Instant::now() + self.definition.start_limit;
        loop {
            if let Some(id) = written_process(self.tree, pid_file)? {
                return Ok(id);
            }
            if Instant::now() >= end {
                return Err(self.failed("start", format!("{pid_file} does not name a process")));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Lets the service read its configuration again. `None` if only a restart does that.
    pub(super) fn reload(&self, process: &RunningProcess) -> Result<Option<()>, HostError> {
        if !self.definition.reload.is_empty() {
            return self.run_all("reload", &self.definition.reload, Some(process.id())).map(Some);
        }
        // The signal would end a program that does not know it.
        if !process.catches(Signal::HUP) {
            return Ok(None);
        }
        process.signal(Signal::HUP);
        Ok(Some(()))
    }

    /// Stops the service.
    pub(super) fn stop(&self, process: &RunningProcess) -> Result<(), HostError> {
        let asked = self.run_all("stop", &self.definition.stop, Some(process.id()));
        self.end(process);
        match process.wait(Duration::ZERO) {
            true => Ok(()),
            false => Err(asked.err().unwrap_or_else(|| self.failed("stop", "it does not end".to_owned()))),
        }
    }

    /// Ends the process: first it is asked, then it is killed.
    fn end(&self, process: &RunningProcess) {
        let group = process.group().filter(|_| self.definition.kill_mode != KillMode::Process);
        if !process.wait(Duration::ZERO) {
            match group.filter(|_| self.definition.kill_mode == KillMode::Group) {
                Some(group) => group.signal(self.definition.kill_signal),
                None => process.signal(self.definition.kill_signal),
            }
        }
        if !process.wait(self.definition.stop_limit) {
            process.signal(Signal::KILL);
        }
        if let Some(group) = group {
            group.signal(Signal::KILL);
        }
        process.wait(KILL_LIMIT);
        process.id().reap();
    }

    fn run_all(
        &self,
        action: &'static str,
        lines: &[CommandLine],
        main: Option<ProcessId>,
    ) -> Result<(), HostError> {
        lines.iter().try_for_each(|line| self.run_to_end(action, line, main))
    }

    /// Runs a command that ends by itself.
    fn run_to_end(
        &self,
        action: &'static str,
        line: &CommandLine,
        main: Option<ProcessId>,
    ) -> Result<(), HostError> {
        let limit = match action {
            "stop" => self.definition.stop_limit,
            _ => self.definition.start_limit,
        };
        let mut child = self.spawn(action, line, main)?;
        let status =
            command::wait(&mut child, limit).map_err(|error| self.failed(action, error.to_string()))?;
        if status.is_some_and(|status| status.success()) || line.on_failure == OnFailure::Ignore {
            return Ok(());
        }
        let ended = |status: ExitStatus| status.to_string();
        let how = status.map_or_else(|| format!("it did not end within {} s", limit.as_secs()), ended);
        let program = line.filled(&BTreeMap::new()).into_iter().next().unwrap_or_default();
        Err(self.failed(action, format!("`{program}` failed: {how}")))
    }

    fn spawn(
        &self,
        action: &'static str,
        line: &CommandLine,
        main: Option<ProcessId>,
    ) -> Result<Child, HostError> {
        let account = match (&self.definition.user, line.run_as) {
            (Some(user), RunAs::ServiceUser) => {
                let unknown = || HostError::UnknownAccount { what: "user", name: user.clone() };
                Some(accounts::user(self.tree, user)?.ok_or_else(unknown)?)
            }
            _ => None,
        };
        let variables = self.variables(account.as_ref(), main)?;
        let words = line.filled(&variables);
        let mut command = self.command_as(account.as_ref(), &words)?;
        if let Some(name) = line.shown_name.as_ref().filter(|_| command.get_program() == words[0].as_str()) {
            command.arg0(name);
        }
        let log = self.records.open_log(self.name)?;
        let log_too = log.try_clone().map_err(|error| self.failed(action, error.to_string()))?;
        command.env_clear().envs(&variables).current_dir(self.directory(account.as_ref()));
        // A group of its own: signals for the agent do not reach it, and it ends as a whole.
        command.stdin(Stdio::null()).stdout(log).stderr(log_too).process_group(0);
        command.spawn().map_err(|error| self.failed(action, format!("cannot run `{}`: {error}", words[0])))
    }

    /// The command as a user. Only `setpriv` gives a process the further groups of its user.
    fn command_as(&self, account: Option<&UserAccount>, words: &[String]) -> Result<Command, HostError> {
        let Some(account) = account.filter(|account| account.uid != rustix::process::geteuid().as_raw())
        else {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            return Ok(command);
        };
        let gid = match &self.definition.group {
            None => account.gid,
            Some(group) => accounts::gid(self.tree, group)?
                .ok_or_else(|| HostError::UnknownAccount { what: "group", name: group.clone() })?,
        };
        let mut groups = accounts::groups(self.tree)?.into_iter();
        if groups.any(|group| group.members.contains(&account.name)) {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", &account.name, "--regid", &gid.to_string(), "--init-groups", "--"]);
            command.args(words);
            return Ok(command);
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).uid(account.uid).gid(gid);
        Ok(command)
    }

    fn directory(&self, account: Option<&UserAccount>) -> String {
        let wanted = self.definition.working_directory.as_deref().unwrap_or("/");
        match wanted.strip_prefix('-').unwrap_or(wanted) {
            "~" => account.map_or("/root", |account| account.home.as_str()).to_owned(),
            path if wanted.starts_with('-') && !fs::exists(path).unwrap_or(false) => "/".to_owned(),
            path => path.to_owned(),
        }
    }

    /// The environment: little, and what the unit file says.
    fn variables(
        &self,
        account: Option<&UserAccount>,
        main: Option<ProcessId>,
    ) -> Result<BTreeMap<String, String>, HostError> {
        let mut variables = BTreeMap::from([("PATH".to_owned(), PATH.to_owned())]);
        if let Some(account) = account {
            let known = [
                ("HOME", &account.home),
                ("USER", &account.name),
                ("LOGNAME", &account.name),
                ("SHELL", &account.shell),
            ];
            variables.extend(known.map(|(name, value)| (name.to_owned(), value.clone())));
        }
        variables.extend(self.definition.environment.iter().cloned());
        for file in &self.definition.environment_files {
            match self.tree.read_text(&file.path)? {
                Some(text) => variables.extend(read_variables(&text)),
                None if file.must_exist => {
                    return Err(
                        self.failed("start", format!("its environment file {} is missing", file.path))
                    );
                }
                None => {}
            }
        }
        variables.extend(main.map(|main| ("MAINPID".to_owned(), main.pid.to_string())));
        Ok(variables)
    }

    fn create_directories(&self) -> Result<(), HostError> {
        let user = self.definition.user.as_deref().unwrap_or("root");
        let account = accounts::user(self.tree, user)?;
        let (uid, gid) = account.map_or((0, 0), |account| (account.uid, account.gid));
        for (path, mode) in &self.definition.directories {
            self.tree.create_directories(path)?;
            self.tree.set_attributes(path, &Attributes { mode: *mode, uid, gid, label: None })?;
        }
        Ok(())
    }
}

/// The process that a file names, if it runs. A file that someone else than root wrote can name only processes of that user.
pub(super) fn written_process(tree: &HostTree, pid_file: &str) -> Result<Option<ProcessId>, HostError> {
    let Some(written) = tree.metadata(pid_file)? else { return Ok(None) };
    let text = tree.read_text(pid_file)?.unwrap_or_default();
    let pid = text.trim().parse::<i32>().ok().filter(|pid| *pid > 1);
    let Some(id) = pid.and_then(ProcessId::of) else { return Ok(None) };
    let is_self = i32::try_from(std::process::id()).is_ok_and(|own| own == id.pid);
    let owner = fs::metadata(format!("/proc/{}", id.pid)).map(|found| found.uid());
    let may_name = written.uid == 0 || owner.is_ok_and(|owner| owner == written.uid);
    Ok((may_name && !is_self).then_some(id))
}

/// The last lines of a log, with secrets masked.
fn last_lines(path: &std::path::Path, count: u64) -> Option<String> {
    let bytes = last_bytes(path, count).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| secret::without_secrets(&lines.join(" | ")).into_owned())
}

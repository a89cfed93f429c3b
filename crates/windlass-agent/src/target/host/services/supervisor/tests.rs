use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::process::ProcessId;
use super::record::ServiceRecord;
use super::services::run_script;
use super::*;
use crate::target::host::step_hook::StepHook;

/// A tree with unit files. The services themselves run on this machine.
struct Host {
    directory: TempDir,
}

impl Host {
    fn new() -> Host {
        let directory = TempDir::new().unwrap();
        fs::create_dir_all(directory.path().join("root/etc/systemd/system")).unwrap();
        Host { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn unit(&self, name: &str, text: &str) {
        fs::write(self.path("root/etc/systemd/system").join(name), text).unwrap();
    }

    fn supervisor(&self) -> Supervisor {
        let tree = HostTree::open(&self.path("root"), StepHook::default()).unwrap();
        Supervisor::open(Arc::new(tree), &self.path("services")).unwrap()
    }

    fn process(&self, name: &str) -> Option<ProcessId> {
        match RecordDirectory::open(&self.path("services")).unwrap().read(name).unwrap().running {
            Running::Process(id) if id.running().is_some() => Some(id),
            _ => None,
        }
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("services/{name}.log"))).unwrap_or_default()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let supervisor = self.supervisor();
        for name in supervisor.services.records.names() {
            let _ = supervisor.perform(&name, ServiceAction::Stop);
        }
    }
}

#[track_caller]
fn wait_until(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !what() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// That the system has forgotten a process: someone waited for its end.
fn is_forgotten(process: ProcessId) -> bool {
    !fs::exists(format!("/proc/{}", process.pid)).unwrap()
}

fn run_state(supervisor: &Supervisor, name: &str) -> RunState {
    supervisor.status(name).unwrap().run
}

const SLEEPER: &str = "[Service]\nEnvironment=\"GREETING=hello you\"\nExecStart=/bin/sh -c 'echo \"$$GREETING\"; exec sleep 600'\n";

#[test]
fn a_service_is_started_and_stopped_and_its_output_is_kept() {
    let host = Host::new();
    host.unit("sleeper.service", SLEEPER);
    let supervisor = host.supervisor();
    assert_eq!(run_state(&supervisor, "sleeper"), RunState::Stopped);
    supervisor.perform("sleeper", ServiceAction::Start).unwrap();
    assert_eq!(run_state(&supervisor, "sleeper"), RunState::Running);
    assert_eq!(host.log("sleeper"), "hello you\n");
    let process = host.process("sleeper").unwrap();
    supervisor.perform("sleeper", ServiceAction::Start).unwrap();
    assert_eq!(host.process("sleeper"), Some(process), "a service that runs is not started again");
    supervisor.perform("sleeper", ServiceAction::Restart).unwrap();
    let second = host.process("sleeper").unwrap();
    assert!(second != process && is_forgotten(process));
    supervisor.perform("sleeper", ServiceAction::Stop).unwrap();
    assert_eq!(run_state(&supervisor, "sleeper"), RunState::Stopped);
    assert!(host.process("sleeper").is_none() && is_forgotten(second));
}

#[test]
fn a_service_that_ends_is_started_again_but_not_after_a_stop() {
    let host = Host::new();
    host.unit("sleeper.service", SLEEPER);
    let supervisor = host.supervisor();
    supervisor.perform("sleeper", ServiceAction::Start).unwrap();
    let first = host.process("sleeper").unwrap();
    first.running().unwrap().signal(rustix::process::Signal::KILL);
    wait_until(|| host.process("sleeper").is_some_and(|process| process != first));
    wait_until(|| is_forgotten(first));
    supervisor.perform("sleeper", ServiceAction::Stop).unwrap();
    supervisor.watcher.wake();
    assert_eq!(run_state(&supervisor, "sleeper"), RunState::Stopped);
}

#[test]
fn an_agent_that_starts_again_goes_on_with_the_same_process() {
    let host = Host::new();
    host.unit("sleeper.service", SLEEPER);
    let supervisor = host.supervisor();
    supervisor.perform("sleeper", ServiceAction::Start).unwrap();
    let first = host.process("sleeper").unwrap();
    drop(supervisor);
    assert!(first.running().is_some(), "the service goes on without the agent");
    let supervisor = host.supervisor();
    assert_eq!(
        (run_state(&supervisor, "sleeper"), host.process("sleeper")),
        (RunState::Running, Some(first))
    );
    first.running().unwrap().signal(rustix::process::Signal::KILL);
    wait_until(|| host.process("sleeper").is_some_and(|process| process != first));
    wait_until(|| is_forgotten(first));
}

#[test]
fn services_that_start_with_the_host_run_after_a_boot_and_others_do_not() {
    let host = Host::new();
    for name in ["enabled", "other"] {
        host.unit(&format!("{name}.service"), SLEEPER);
    }
    let supervisor = host.supervisor();
    for name in ["enabled", "other"] {
        supervisor.perform(name, ServiceAction::Start).unwrap();
    }
    supervisor.perform("enabled", ServiceAction::Enable).unwrap();
    assert_eq!(supervisor.status("enabled").unwrap().startup, StartupState::Enabled);
    drop(supervisor);
    let records = RecordDirectory::open(&host.path("services")).unwrap();
    let before: Vec<ProcessId> = ["enabled", "other"].map(|name| host.process(name).unwrap()).to_vec();
    for (name, process) in ["enabled", "other"].into_iter().zip(&before) {
        process.running().unwrap().signal(rustix::process::Signal::KILL);
        wait_until(|| process.running().is_none());
        let record = records.read(name).unwrap();
        records.write(name, &ServiceRecord { boot: "the boot before".to_owned(), ..record }).unwrap();
    }
    let supervisor = host.supervisor();
    wait_until(|| host.process("enabled").is_some());
    assert_eq!(run_state(&supervisor, "other"), RunState::Stopped);
}

#[test]
fn a_service_that_ends_at_once_says_why() {
    let host = Host::new();
    host.unit(
        "bad.service",
        "[Service]\nExecStart=/bin/sh -c 'echo no port in https://me:secret@x.y; exit 7'\n",
    );
    let supervisor = host.supervisor();
    let error = supervisor.perform("bad", ServiceAction::Start).unwrap_err().to_string();
    assert!(error.starts_with("cannot start bad: it ended at once: exit status: 7"), "{error}");
    assert!(error.ends_with("its last lines: no port in https://(hidden)@x.y"), "{error}");
    host.unit("wrong.service", "[Service]\nExecStart=/no/such/program\n");
    let error = supervisor.perform("wrong", ServiceAction::Start).unwrap_err().to_string();
    assert!(error.contains("cannot run `/no/such/program`"), "{error}");
    let error = supervisor.perform("missing", ServiceAction::Start).unwrap_err().to_string();
    assert!(error.contains("no unit file and no script"), "{error}");
    std::os::unix::fs::symlink("/dev/null", host.path("root/etc/systemd/system/masked.service")).unwrap();
    assert_eq!(supervisor.status("masked").unwrap().startup, StartupState::Masked);
    assert!(supervisor.perform("masked", ServiceAction::Start).is_err());
}

#[test]
fn a_reload_runs_its_command_or_sends_a_signal_or_restarts() {
    let host = Host::new();
    let trap = "[Service]\nExecStart=/bin/sh -c 'trap \"echo reloaded by signal\" HUP; echo up; while :; do sleep 0.05; done'\n";
    host.unit("signal.service", trap);
    host.unit("command.service", &format!("{SLEEPER}ExecReload=/bin/sh -c 'echo reloaded $MAINPID'\n"));
    host.unit("neither.service", SLEEPER);
    let supervisor = host.supervisor();
    for name in ["signal", "command", "neither"] {
        supervisor.perform(name, ServiceAction::Start).unwrap();
    }
    let before = ["signal", "command", "neither"].map(|name| host.process(name).unwrap());
    wait_until(|| host.log("signal") == "up\n");
    for name in ["signal", "command", "neither"] {
        supervisor.perform(name, ServiceAction::Reload).unwrap();
    }
    wait_until(|| host.log("signal").ends_with("reloaded by signal\n"));
    assert!(host.log("command").ends_with(&format!("reloaded {}\n", before[1].pid)));
    let after = ["signal", "command", "neither"].map(|name| host.process(name).unwrap());
    assert_eq!((after[0], after[1]), (before[0], before[1]));
    assert_ne!(after[2], before[2], "a program that does not know the signal is restarted");
}

#[test]
fn a_service_that_goes_to_the_background_is_known_by_its_file() {
    let host = Host::new();
    let pid_file = host.path("root/run/daemon.pid");
    fs::create_dir_all(pid_file.parent().unwrap()).unwrap();
    let unit = format!(
        "[Service]\nType=forking\nPIDFile=/run/daemon.pid\nExecStart=/bin/sh -c 'sleep 600 & echo $! > {}'\nTimeoutStopSec=5\n",
        pid_file.display()
    );
    host.unit("daemon.service", &unit);
    let supervisor = host.supervisor();
    supervisor.perform("daemon", ServiceAction::Start).unwrap();
    let pid: i32 = fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    assert_eq!(host.process("daemon").unwrap().pid, pid);
    supervisor.perform("daemon", ServiceAction::Stop).unwrap();
    assert_eq!(run_state(&supervisor, "daemon"), RunState::Stopped);
    for wrong in ["1", "0", "-1", "x", "99999999999"] {
        fs::write(&pid_file, wrong).unwrap();
        assert_eq!(run_state(&supervisor, "daemon"), RunState::Stopped, "{wrong}");
    }
}

#[test]
fn a_service_that_ignores_the_signal_is_killed_with_its_children() {
    let host = Host::new();
    let unit = "[Service]\nTimeoutStopSec=1\nExecStart=/bin/sh -c 'trap \"\" TERM; sleep 600 & echo child $!; wait'\n";
    host.unit("stubborn.service", unit);
    let supervisor = host.supervisor();
    supervisor.perform("stubborn", ServiceAction::Start).unwrap();
    wait_until(|| host.log("stubborn").ends_with('\n'));
    let child: i32 = host.log("stubborn").trim().rsplit_once(' ').unwrap().1.parse().unwrap();
    let child = ProcessId::of(child).unwrap();
    supervisor.perform("stubborn", ServiceAction::Stop).unwrap();
    wait_until(|| child.running().is_none());
}

#[test]
fn a_script_of_the_host_is_used_where_there_is_no_unit_file() {
    use std::os::unix::fs::PermissionsExt;
    let host = Host::new();
    let flag = host.path("flag");
    // Scripts are run by their path on the machine, so this one is found there only if the tree is the machine.
    let source = definition::find(&host.supervisor().services.tree, "scripted").unwrap();
    assert!(matches!(source, ServiceSource::Missing));
    let path = host.path("root/etc/init.d/scripted");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let script = format!(
        "#!/bin/sh\ncase $1 in start) touch {0};; stop) rm {0};; status) test -e {0};; esac\n",
        flag.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let path = path.display().to_string();
    assert!(!script_runs(&path).unwrap());
    run_script(&path, "start", "scripted").unwrap();
    assert!(script_runs(&path).unwrap());
    let source = definition::find(&host.supervisor().services.tree, "scripted").unwrap();
    assert!(matches!(source, ServiceSource::Script(path) if path == "/etc/init.d/scripted"));
}

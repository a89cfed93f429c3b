//! Unit files of systemd, as far as a supervisor needs them: how a service is started, reloaded and stopped, as which user
//! and in which environment. Settings that restrict a service (its view of the file system, its capabilities) are not applied.

use std::time::Duration;

use rustix::process::Signal;

use super::command_line::{CommandLine, Specifiers, split};

/// How long a service may take to start or to stop, unless it says otherwise. The same as in systemd.
const DEFAULT_LIMIT: Duration = Duration::from_secs(90);

/// No service needs longer, and the agent waits for it.
const MAX_LIMIT: Duration = Duration::from_secs(5 * 60);

/// How a service starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StartType {
    /// The command is the service.
    Simple,
    /// The command ends, and the service is the process in this file.
    Forking { pid_file: String },
    /// The command does its work and ends.
    Oneshot(AfterExit),
}

/// What a service is whose command has ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterExit {
    /// Stopped.
    Stopped,
    /// Still running, as far as anyone asks.
    Remains,
}

/// Which processes end when a service is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KillMode {
    /// All of its group.
    Group,
    /// The main process is asked; what is left of its group afterwards is killed.
    Mixed,
    /// The main process alone.
    Process,
}

/// A file with variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EnvironmentFile {
    pub(super) path: String,
    pub(super) must_exist: bool,
}

/// How a service is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServiceDefinition {
    pub(super) start_type: StartType,
    pub(super) before: Vec<CommandLine>,
    pub(super) start: Vec<CommandLine>,
    pub(super) after: Vec<CommandLine>,
    pub(super) reload: Vec<CommandLine>,
    pub(super) stop: Vec<CommandLine>,
    pub(super) user: Option<String>,
    pub(super) group: Option<String>,
    pub(super) working_directory: Option<String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) environment_files: Vec<EnvironmentFile>,
    /// Directories that exist while it runs, with their modes.
    pub(super) directories: Vec<(String, u32)>,
    pub(super) kill_signal: Signal,
    pub(super) kill_mode: KillMode,
    pub(super) start_limit: Duration,
    pub(super) stop_limit: Duration,
}

/// The settings of the section `[Service]`, in order.
struct Settings(Vec<(String, String)>);

impl Settings {
    /// Reads the texts of a unit file and of its drop-ins, in order.
    fn read(texts: &[String]) -> Settings {
        let mut settings = Vec::new();
        for text in texts {
            let mut is_service = false;
            for line in joined_lines(text) {
                if line.starts_with('[') {
                    is_service = line == "[Service]";
                } else if is_service && let Some((key, value)) = line.split_once('=') {
                    settings.push((key.trim().to_owned(), value.trim().to_owned()));
                }
            }
        }
        Settings(settings)
    }

    /// The last value; an empty one takes earlier ones back.
    fn one(&self, key: &str) -> Option<&str> {
        let last = self.0.iter().rev().find(|(name, _)| name == key);
        last.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// All values since the last empty one.
    fn all(&self, key: &str) -> Vec<&str> {
        let values: Vec<&str> =
            self.0.iter().filter(|(name, _)| name == key).map(|(_, value)| value.as_str()).collect();
        let start = values.iter().rposition(|value| value.is_empty()).map_or(0, |at| at + 1);
        values[start..].to_vec()
    }

    fn commands(&self, key: &str, specifiers: &Specifiers) -> Result<Vec<CommandLine>, String> {
        let commands = self.all(key).into_iter().map(|value| CommandLine::read(value, specifiers));
        commands.collect::<Result<_, _>>().map_err(|problem| format!("{key}: {problem}"))
    }

    fn limit(&self, key: &str) -> Duration {
        let value = self.one(key).or_else(|| self.one("TimeoutSec"));
        value.and_then(duration).unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT)
    }
}

impl ServiceDefinition {
    /// Reads a unit file and its drop-ins. The error says what a supervisor cannot do.
    pub(super) fn read(unit: &str, texts: &[String]) -> Result<ServiceDefinition, String> {
        let settings = Settings::read(texts);
        let specifiers = Specifiers { unit: unit.to_owned() };
        if settings.one("DynamicUser").is_some_and(is_yes) {
            return Err("DynamicUser needs systemd: set a user in a drop-in".to_owned());
        }
        let filled = |key: &str| settings.one(key).map(|value| specifiers.fill(value)).transpose();
        let start = settings.commands("ExecStart", &specifiers)?;
        let start_type = start_type(&settings, &specifiers)?;
        let oneshot = matches!(start_type, StartType::Oneshot(_));
        if start.is_empty() || (start.len() > 1 && !oneshot) {
            return Err(format!("it has {} commands in ExecStart, and needs one", start.len()));
        }
        Ok(ServiceDefinition {
            start_type,
            before: settings.commands("ExecStartPre", &specifiers)?,
            start,
            after: settings.commands("ExecStartPost", &specifiers)?,
            reload: settings.commands("ExecReload", &specifiers)?,
            stop: settings.commands("ExecStop", &specifiers)?,
            user: filled("User")?,
            group: filled("Group")?,
            working_directory: filled("WorkingDirectory")?,
            environment: environment(&settings, &specifiers)?,
            environment_files: environment_files(&settings, &specifiers)?,
            directories: directories(&settings, &specifiers)?,
            kill_signal: settings.one("KillSignal").map_or(Ok(Signal::TERM), signal)?,
            kill_mode: match settings.one("KillMode") {
                Some("process" | "none") => KillMode::Process,
                Some("mixed") => KillMode::Mixed,
                _ => KillMode::Group,
            },
            start_limit: settings.limit("TimeoutStartSec"),
            stop_limit: settings.limit("TimeoutStopSec"),
        })
    }
}

/// Lines without comments; a backslash at the end joins a line with the next one.
fn joined_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut continues = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with(['#', ';']) || (line.is_empty() && !continues) {
            continue;
        }
        let (part, more) = line.strip_suffix('\\').map_or((line, false), |part| (part.trim_end(), true));
        match lines.last_mut().filter(|_| continues) {
            Some(last) => {
                last.push(' ');
                last.push_str(part);
            }
            None => lines.push(part.to_owned()),
        }
        continues = more;
    }
    lines
}

fn start_type(settings: &Settings, specifiers: &Specifiers) -> Result<StartType, String> {
    match settings.one("Type").unwrap_or("simple") {
        // Without a socket in its environment, a service notifies nobody and goes on.
        "simple" | "exec" | "notify" | "notify-reload" | "dbus" | "idle" => Ok(StartType::Simple),
        "oneshot" => Ok(StartType::Oneshot(match settings.one("RemainAfterExit").is_some_and(is_yes) {
            true => AfterExit::Remains,
            false => AfterExit::Stopped,
        })),
        "forking" => match settings.one("PIDFile") {
            Some(path) => {
                let path = specifiers.fill(path)?;
                let pid_file = if path.starts_with('/') { path } else { format!("/run/{path}") };
                Ok(StartType::Forking { pid_file })
            }
            None => Err("Type=forking without PIDFile does not say which process the service is".to_owned()),
        },
        other => Err(format!("Type={other} is not supported")),
    }
}

fn environment(settings: &Settings, specifiers: &Specifiers) -> Result<Vec<(String, String)>, String> {
    let mut variables = Vec::new();
    for value in settings.all("Environment") {
        for word in split(value).map_err(|problem| format!("Environment: {problem}"))? {
            let text = specifiers.fill(&word.into_text())?;
            if let Some((name, value)) = text.split_once('=') {
                variables.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    Ok(variables)
}

fn environment_files(settings: &Settings, specifiers: &Specifiers) -> Result<Vec<EnvironmentFile>, String> {
    let files = settings.all("EnvironmentFile").into_iter().map(|value| {
        let path = specifiers.fill(value.strip_prefix('-').unwrap_or(value))?;
        Ok(EnvironmentFile { path, must_exist: !value.starts_with('-') })
    });
    files.collect()
}

fn directories(settings: &Settings, specifiers: &Specifiers) -> Result<Vec<(String, u32)>, String> {
    let mut directories = Vec::new();
    for (key, base) in [
        ("RuntimeDirectory", "/run"),
        ("StateDirectory", "/var/lib"),
        ("CacheDirectory", "/var/cache"),
        ("LogsDirectory", "/var/log"),
    ] {
        let mode = settings.one(&format!("{key}Mode")).and_then(|mode| u32::from_str_radix(mode, 8).ok());
        for name in settings.all(key).into_iter().flat_map(str::split_whitespace) {
            let name = specifiers.fill(name)?;
            if name.split('/').any(|part| part.is_empty() || part == ".." || part == ".") {
                return Err(format!("{key}: {name} is not a relative path"));
            }
            directories.push((format!("{base}/{name}"), mode.unwrap_or(0o755) & 0o7777));
        }
    }
    Ok(directories)
}

/// The variables of a file: `NAME=value` lines, with quotes or without.
pub(super) fn read_variables(text: &str) -> Vec<(String, String)> {
    let lines = joined_lines(text).into_iter();
    let variables = lines.filter_map(|line| {
        let (name, value) = line.strip_prefix("export ").unwrap_or(&line).split_once('=')?;
        let value = value.trim();
        let quoted = ['"', '\''].iter().find_map(|q| value.strip_prefix(*q)?.strip_suffix(*q));
        Some((name.trim().to_owned(), quoted.unwrap_or(value).to_owned()))
    });
    variables.collect()
}

fn is_yes(value: &str) -> bool {
    matches!(value, "yes" | "true" | "on" | "1")
}

fn signal(name: &str) -> Result<Signal, String> {
    match name.strip_prefix("SIG").unwrap_or(name) {
        "TERM" => Ok(Signal::TERM),
        "INT" => Ok(Signal::INT),
        "QUIT" => Ok(Signal::QUIT),
        "HUP" => Ok(Signal::HUP),
        "KILL" => Ok(Signal::KILL),
        "USR1" => Ok(Signal::USR1),
        "USR2" => Ok(Signal::USR2),
        "WINCH" => Ok(Signal::WINCH),
        other => Err(format!("KillSignal={other} is not supported")),
    }
}

/// Times such as `5`, `5s`, `1min 30s` and `infinity`.
fn duration(value: &str) -> Option<Duration> {
    if value == "infinity" || value == "0" {
        return Some(MAX_LIMIT);
    }
    let parts = value.split_whitespace().map(|part| {
        let (number, unit) = part.split_at(part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len()));
        let number: u64 = number.parse().ok()?;
        match unit {
            "" | "s" | "sec" => Some(Duration::from_secs(number)),
            "ms" => Some(Duration::from_millis(number)),
            "m" | "min" => Some(Duration::from_secs(number.checked_mul(60)?)),
            "h" => Some(Duration::from_secs(number.checked_mul(3600)?)),
            _ => None,
        }
    });
    parts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ServiceDefinition, String> {
        ServiceDefinition::read("web.service", &[text.to_owned()])
    }

    #[test]
    fn the_unit_of_nginx_is_read() {
        let text = "[Unit]\nDescription=x\n[Service]\nType=forking\nPIDFile=/run/nginx.pid\n# a comment\n\
            ExecStartPre=/usr/sbin/nginx -t -q -g 'daemon on;'\nExecStart=/usr/sbin/nginx -g 'daemon on;'\n\
            ExecReload=/usr/sbin/nginx \\\n  -s reload\nExecStop=-/sbin/start-stop-daemon --quiet\n\
            TimeoutStopSec=5\nKillMode=mixed\n[Install]\nWantedBy=multi-user.target\n";
        let found = read(text).unwrap();
        assert_eq!(found.start_type, StartType::Forking { pid_file: "/run/nginx.pid".to_owned() });
        assert_eq!(found.reload[0].filled(&Default::default()), ["/usr/sbin/nginx", "-s", "reload"]);
        assert_eq!((found.before.len(), found.stop.len()), (1, 1));
        assert_eq!((found.stop_limit, found.start_limit), (Duration::from_secs(5), DEFAULT_LIMIT));
    }

    #[test]
    fn drop_ins_add_and_take_back() {
        let unit = "[Service]\nExecStart=/bin/a\nEnvironment=A=1 \"B=x y\"\nUser=web\nRuntimeDirectory=web web/sub\n";
        let drop_in =
            "[Service]\nExecStart=\nExecStart=/bin/b\nEnvironment=C=3\nEnvironmentFile=-/etc/default/%p\n";
        let found = ServiceDefinition::read("web.service", &[unit.to_owned(), drop_in.to_owned()]).unwrap();
        assert_eq!(found.start[0].filled(&Default::default()), ["/bin/b"]);
        let environment: Vec<String> = found.environment.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(environment, ["A=1", "B=x y", "C=3"]);
        let file = EnvironmentFile { path: "/etc/default/web".to_owned(), must_exist: false };
        assert_eq!((found.user.as_deref(), &found.environment_files[..]), (Some("web"), &[file][..]));
        assert_eq!(found.directories, [("/run/web".to_owned(), 0o755), ("/run/web/sub".to_owned(), 0o755)]);
    }

    #[test]
    fn what_a_supervisor_cannot_do_is_said() {
        for (text, problem) in [
            ("[Service]\n", "0 commands"),
            ("[Service]\nExecStart=/a\nExecStart=/b\n", "2 commands"),
            ("[Service]\nExecStart=/a\nType=forking\n", "without PIDFile"),
            ("[Service]\nExecStart=/a\nDynamicUser=yes\n", "DynamicUser"),
            ("[Service]\nExecStart=/a %x\n", "%x"),
            ("[Service]\nExecStart=/a\nRuntimeDirectory=../etc\n", "relative"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn files_with_variables_are_read() {
        let text = "# x\nA=1\nexport B=\"two words\"\nC='3'\nD=\n";
        let variables: Vec<String> = read_variables(text).iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(variables, ["A=1", "B=two words", "C=3", "D="]);
    }
}

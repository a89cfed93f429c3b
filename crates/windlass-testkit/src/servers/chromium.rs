//! A real browser: Debian's headless Chromium, controlled through its WebDriver program.
//!
//! One driver serves all tests of a process, and each session has a profile of its own in the driver's directory.
//! Everything ends with the process that started it, even if that is killed: a shell between the two holds a pipe, and
//! when the other end closes it kills the driver's process group with all browsers, and removes the directory.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Map, Value, json};

use super::{are_installed, find};

/// The driver's message when it listens; the port follows.
const READY: &str = "started successfully on port ";

/// The command line of the browser: headless, and without background requests.
const FLAGS: &[&str] = &[
    "--headless=new",
    // Chromium does not run its sandbox as root; it opens only our own pages.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--lang=en-US",
];

/// Runs the driver in a process group of its own until standard input ends, then kills the group and removes the
/// directory.
const SUPERVISOR_SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
directory=$1
shift
exec 3<&0
setsid "$@" 3<&- </dev/null &
driver=$!
{ read -r _ <&3; kill -s KILL -- "-$driver"; } >/dev/null 2>&1 &
watch=$!
exec 3<&- >/dev/null 2>&1
wait "$driver"
kill -KILL "$watch"
rm -rf "$directory" || rm -rf "$directory"
"#;

/// A running driver. It ends with the process.
#[derive(Debug)]
pub struct Chromium {
    url: String,
    directory: PathBuf,
    profiles: AtomicU32,
    /// The driver runs as long as this process's standard input is open.
    _supervisor: Child,
}

impl Chromium {
    /// The driver that all tests of this process share; `None`, with a message, if the browser is not installed.
    pub fn shared() -> Option<&'static Chromium> {
        static SHARED: OnceLock<Option<Chromium>> = OnceLock::new();
        SHARED
            .get_or_init(|| {
                are_installed(&["chromium", "chromedriver", "setsid"]).then(|| {
                    let driver = find("chromedriver").expect("it was found just now");
                    Chromium::start(&driver)
                })
            })
            .as_ref()
    }

    /// A driver sometimes exits at once without output. The second attempt, with a new directory, succeeds.
    fn start(driver: &Path) -> Chromium {
        let started = Chromium::try_start(driver).or_else(|| Chromium::try_start(driver));
        started.expect("the driver tells its port")
    }

    /// Starts a driver; `None` if it exits before it prints its port.
    fn try_start(driver: &Path) -> Option<Chromium> {
        let directory = tempfile::Builder::new().prefix("windlass-chromium-").tempdir();
        // The supervisor shell removes the directory; it outlives this process.
        let directory = directory.expect("a temporary directory").keep();
        let mut supervisor = Command::new("sh");
        supervisor.args(["-c", SUPERVISOR_SCRIPT, "sh"]).arg(&directory).arg(driver).arg("--port=0");
        // The user's own files are neither read nor written.
        for name in ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            supervisor.env(name, &directory);
        }
        supervisor.env_remove("DISPLAY").env_remove("DBUS_SESSION_BUS_ADDRESS");
        supervisor.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut supervisor = supervisor.spawn().expect("every system has a shell");
        let output = BufReader::new(supervisor.stdout.take().expect("it was asked for"));
        let port = output.lines().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once(READY)?;
            rest.trim_end_matches('.').parse::<u16>().ok()
        });
        let Some(port) = port else {
            // The supervisor shell exits with the driver, and removes the directory.
            let _ = supervisor.wait();
            return None;
        };
        let url = format!("http://127.0.0.1:{port}");
        Some(Chromium { url, directory, profiles: AtomicU32::new(0), _supervisor: supervisor })
    }

    /// The address of the driver.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The capabilities for an isolated session that records console messages.
    pub fn capabilities(&self) -> Map<String, Value> {
        let number = self.profiles.fetch_add(1, Ordering::Relaxed);
        let profile =
            format!("--user-data-dir={}", self.directory.join(format!("profile-{number}")).display());
        let arguments: Vec<&str> = FLAGS.iter().copied().chain([profile.as_str()]).collect();
        let browser = find("chromium").expect("it was found before");
        let capabilities = json!({
            "goog:chromeOptions": {"binary": browser, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        });
        capabilities.as_object().cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A script in place of the driver.
    fn driver(directory: &Path, script: &str) -> PathBuf {
        let path = directory.join("driver");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    #[test]
    fn a_driver_that_exits_without_output_is_started_again() {
        if !are_installed(&["setsid"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        // Only the first instance can create the directory.
        let script =
            r#"mkdir "$0.began" && exit 1; echo "ChromeDriver was started successfully on port 4444.""#;
        let chromium = Chromium::start(&driver(directory.path(), script));
        assert_eq!(chromium.url(), "http://127.0.0.1:4444");
    }

    #[test]
    fn a_driver_without_output_leaves_no_files_behind() {
        if !are_installed(&["setsid"]) {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let home_file = directory.path().join("home");
        let script = format!("echo \"$HOME\" > {}", home_file.display());
        assert!(Chromium::try_start(&driver(directory.path(), &script)).is_none());
        let home = fs::read_to_string(home_file).unwrap();
        assert!(!Path::new(home.trim()).exists(), "{home}");
    }
}

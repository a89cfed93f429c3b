//! Real servers with data directories of their own: started, stopped and killed.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use windlass_api::endpoint::Operation;
use windlass_api::types::{AccountBody, LoginBody, PasswordBody, Session};
use windlass_testkit::process::ProcessExit;

use crate::api::Api;

/// Anything that takes longer, on the slowest machine that runs tests, is a failure.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(90);

/// The account of the documents' fleets.
pub(crate) const ACCOUNT: &str = "acme";

/// The password the first administrator chooses.
const PASSWORD: &str = "a password for tests alone";

/// The data of a server, which outlives it.
pub(crate) struct Installation {
    directory: TempDir,
    data: PathBuf,
    database: Option<String>,
    open_files: Option<u32>,
    token: RefCell<Option<String>>,
    guard: AddressGuard,
}

/// Whether accounts may use addresses of this machine, where the tests' git servers and forges are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressGuard {
    AllowsLoopback,
    AsByDefault,
}

/// The login that the first start prints.
#[derive(Clone, Debug)]
pub(crate) struct FirstLogin {
    pub(crate) account: String,
    pub(crate) email: String,
    pub(crate) password: String,
}

impl Installation {
    pub(crate) fn new() -> Installation {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let guard = AddressGuard::AllowsLoopback;
        Installation { directory, data, database: None, open_files: None, token: RefCell::default(), guard }
    }

    /// An installation whose servers refuse this machine's addresses, as by default.
    pub(crate) fn with_address_guard() -> Installation {
        Installation { guard: AddressGuard::AsByDefault, ..Installation::new() }
    }

    /// An installation in an existing directory.
    pub(crate) fn at(data: &Path) -> Installation {
        Installation { data: data.to_path_buf(), ..Installation::new() }
    }

    /// An installation with another database than the embedded one.
    pub(crate) fn with_database(url: String) -> Installation {
        Installation { database: Some(url), ..Installation::new() }
    }

    /// The same, with a limit on its servers' open files.
    pub(crate) fn with_open_files(self, files: u32) -> Installation {
        Installation { open_files: Some(files), ..self }
    }

    /// A replica of this installation, which was started before: a data directory of its own, the same database and the
    /// same secret key.
    pub(crate) fn replica(&self) -> Installation {
        let replica = self.without_secret_key();
        windlass_server::make_private(&replica.data).unwrap();
        fs::copy(self.data.join("secret.key"), replica.data.join("secret.key")).unwrap();
        replica
    }

    /// The same without the secret key.
    pub(crate) fn without_secret_key(&self) -> Installation {
        let (database, token) = (self.database.clone(), self.token.clone());
        Installation { database, token, ..Installation::new() }
    }

    /// The session of the first administrator.
    pub(crate) fn token(&self) -> Option<String> {
        self.token.borrow().clone()
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// The log of all its servers.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("server.log")).unwrap()
    }

    /// Starts a server, and signs in as the first administrator.
    pub(crate) fn serve(&self, options: &[&str]) -> Server {
        self.serve_with_crash_point(None, options)
    }

    /// The same, for a server that crashes at a crash point.
    pub(crate) fn serve_with_crash_point(&self, point: Option<&str>, options: &[&str]) -> Server {
        let mut server = self.launch(point, options);
        let token = self.token.borrow().clone();
        let token = token.unwrap_or_else(|| choose_password(&server));
        server.api = Api::new(&server.address, Some(&token));
        self.token.replace(Some(token));
        server
    }

    /// Starts a server that crashes at a crash point, perhaps before it prints its address, and waits for that.
    pub(crate) fn serve_until_crash(&self, point: &str, options: &[&str]) {
        let mut command = self.serve_command(Some(point), options);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for_end(&mut child);
    }

    fn serve_command(&self, point: Option<&str>, options: &[&str]) -> Command {
        let mut command = self.command("serve");
        command.args(["--listen", "127.0.0.1:0", "--allow-insecure-git", "--first-account", ACCOUNT]);
        command.args(["--unreached-after", "0s"]);
        if self.guard == AddressGuard::AllowsLoopback {
            command.args(["--allow-address", "127.0.0.0/8"]);
        }
        command.args(options);
        if let Some(point) = point {
            command.env("WINDLASS_CRASH_AT", point);
        }
        command
    }

    /// Starts a server without signing in.
    pub(crate) fn launch(&self, point: Option<&str>, options: &[&str]) -> Server {
        let mut command = self.serve_command(point, options);
        let log = self.directory.path().join("server.log");
        let errors = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        let Some(address) = read_after(&mut printed, "Windlass listens on ") else {
            panic!("the server did not start: {}", fs::read_to_string(&log).unwrap_or_default());
        };
        let is_first = self.token.borrow().is_none();
        let first_login = is_first.then(|| read_login(&mut printed));
        let api = Api::new(&address, None);
        Server { child, address, first_login, api, log, _printed: printed }
    }

    /// A command of the program about this installation's data.
    pub(crate) fn command(&self, name: &str) -> Command {
        let program = env!("CARGO_BIN_EXE_windlass");
        let mut command = match self.open_files {
            None => Command::new(program),
            Some(files) => {
                let mut limited = Command::new("sh");
                limited.args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\""), program]);
                limited
            }
        };
        command.arg(name).arg("--data-dir").arg(&self.data);
        remove_settings(&mut command);
        if let Some(database) = &self.database {
            command.args(["--database", database]);
        }
        command
    }
}

/// Removes the settings that the environment has for Windlass.
pub(crate) fn remove_settings(command: &mut Command) {
    for (key, _) in std::env::vars_os() {
        let text = key.to_string_lossy();
        if ["WINDLASS_", "POWERNODE_", "VAULT_"].iter().any(|ours| text.starts_with(ours)) {
            command.env_remove(key);
        }
    }
}

/// The rest of the line that begins with a text; `None` if the output ended before.
fn read_after(printed: &mut BufReader<ChildStdout>, beginning: &str) -> Option<String> {
    let mut line = String::new();
    while printed.read_line(&mut line).unwrap() > 0 {
        if let Some(rest) = line.trim_start().strip_prefix(beginning) {
            return Some(rest.trim().to_owned());
        }
        line.clear();
    }
    None
}

fn read_login(printed: &mut BufReader<ChildStdout>) -> FirstLogin {
    let mut read = |beginning| read_after(printed, beginning).unwrap();
    FirstLogin { account: read("account "), email: read("email "), password: read("password ") }
}

/// Exchanges the password of the first start for a session.
fn choose_password(server: &Server) -> String {
    let login = server.first_login.clone().unwrap();
    choose_own_password(server, &login.email, &login.password)
}

/// Exchanges a one-time password for a session.
pub(crate) fn choose_own_password(server: &Server, email: &str, password: &str) -> String {
    let once = sign_in(&server.api, email, password);
    let api = Api::new(&server.address, Some(&once.token));
    let body = PasswordBody { current_password: password.to_owned(), new_password: PASSWORD.to_owned() };
    api.text(api.call(Operation::Password, &[]).body(&body)).unwrap();
    sign_in(&server.api, email, PASSWORD).token
}

pub(crate) fn sign_in(api: &Api, email: &str, password: &str) -> Session {
    let body = LoginBody { email: email.to_owned(), password: password.to_owned(), account: None };
    api.send(api.call(Operation::Login, &[]).body(&body)).unwrap()
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) first_login: Option<FirstLogin>,
    pub(crate) api: Api,
    log: PathBuf,
    // Kept open, so that the server can print later.
    _printed: BufReader<ChildStdout>,
}

impl Server {
    /// Creates another account, and signs the first administrator in to it.
    pub(crate) fn add_account(&self, name: &str) -> Api {
        let body = AccountBody { name: name.to_owned() };
        self.api.text(self.api.call(Operation::AccountCreate, &[]).body(&body)).unwrap();
        let email = self.first_login.clone().unwrap().email;
        let login = LoginBody { email, password: PASSWORD.to_owned(), account: Some(name.to_owned()) };
        let session: Session = self.api.send(self.api.call(Operation::Login, &[]).body(&login)).unwrap();
        Api::new(&self.address, Some(&session.token))
    }

    /// Asks the server to stop, and expects success.
    pub(crate) fn stop(mut self) {
        signal(self.child.id(), "TERM");
        let ended = self.wait_for_end();
        assert!(ended.success(), "{ended}");
    }

    /// A handle that can kill the server at any time.
    pub(crate) fn killer(&self) -> Killer {
        Killer(self.child.id())
    }

    /// The id of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the server exits on its own.
    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        wait_for_end(&mut self.child)
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

pub(crate) fn wait_for_end(child: &mut Child) -> ExitStatus {
    assert!(ProcessExit::watch(child).wait_at_most(TIMEOUT), "the server does not end");
    child.wait().unwrap()
}

/// A process that was not reaped yet, so that its id is not reused.
pub(crate) struct Killer(u32);

impl Killer {
    pub(crate) fn kill(self) {
        signal(self.0, "KILL");
    }
}

pub(crate) fn signal(process: u32, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {process}")]).status().unwrap();
    assert!(sent.success());
}

impl Drop for Server {
    #[expect(clippy::print_stderr, reason = "what the server said explains why the test failed")]
    fn drop(&mut self) {
        if self.is_running() {
            signal(self.child.id(), "TERM");
            if !ProcessExit::watch(&self.child).wait_at_most(Duration::from_secs(20)) {
                let _ = self.child.kill();
            }
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- the server's log\n{}", fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

/// A file of zeros that takes up space.
pub(crate) fn fill(path: &Path) {
    use std::io::Write as _;
    let mut file = File::create(path).unwrap();
    let block = vec![0_u8; 4096];
    while file.write_all(&block).is_ok() {}
}

//! A PostgreSQL server for tests: a new cluster in a temporary directory, on a free port of 127.0.0.1.
//!
//! The server ends with the process that started it, even if that is killed: a shell between the two holds a pipe, and
//! when the other end closes it stops the server and removes the directory. (A parent-death signal would not work: it
//! is sent when the *thread* that started the server ends, and every test is a thread.)

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Where Debian installs the server's programs, one directory for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The oldest version Windlass supports.
const OLDEST: u32 = 15;

/// The user that Debian's package creates; PostgreSQL does not run as root.
const USER: &str = "postgres";

/// Another program may take the free port before the server does.
const ATTEMPTS: u32 = 5;

/// Far longer than a start takes, even on a busy machine.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// A role that needs its password, unlike `postgres`.
const ROLE: &str = "windlass";
const PASSWORD: &str = "only-for-tests";

/// Runs the server until it exits or standard input ends, then removes its directory.
const SUPERVISOR_SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
directory=$1
shift
exec 3<&0
"$@" 3<&- </dev/null &
server=$!
{ read -r _ <&3; kill -QUIT "$server"; } &
watch=$!
exec 3<&-
wait "$server"
kill -KILL "$watch"
rm -rf "$directory"
"#;

/// A running server. It ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    port: u16,
    supervisor: Child,
    databases: AtomicU32,
}

impl Postgres {
    /// A new server, or `None` where PostgreSQL is not installed.
    ///
    /// # Panics
    ///
    /// When the server does not start, and in CI, where nothing may be skipped, when it is not installed.
    #[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was not tested")]
    pub fn start() -> Option<Postgres> {
        let Some(programs) = newest_programs() else {
            let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
            assert!(!in_ci, "PostgreSQL is not installed, and nothing may be skipped in CI");
            eprintln!("skipped: PostgreSQL is not installed");
            return None;
        };
        let mut failure = String::new();
        for _ in 0..ATTEMPTS {
            match start_once(&programs) {
                Ok(server) => return Some(server),
                Err(why) => failure = why,
            }
        }
        panic!("PostgreSQL does not start: {failure}");
    }

    /// One server for all tests of a process; each takes a [`fresh_database`](Postgres::fresh_database).
    pub fn shared() -> Option<&'static Postgres> {
        static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
        SHARED.get_or_init(Postgres::start).as_ref()
    }

    /// The default database, as a superuser without a password.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The default database, as a superuser with a password.
    pub fn url_with_password(&self) -> String {
        format!("postgres://{ROLE}:{PASSWORD}@127.0.0.1:{}/postgres", self.port)
    }

    /// Creates an empty database and returns its URL.
    pub fn fresh_database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.execute(&self.url(), &format!("CREATE DATABASE {name}"));
        self.url_of(&name)
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Executes a statement in a database.
    pub fn execute(&self, url: &str, statement: &str) {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--command", statement, url]);
        run(&mut psql).unwrap_or_else(|why| panic!("{statement}: {why}"));
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

fn newest_programs() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.flatten();
    let numbered = versions.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((number, entry.path().join("bin")))
    });
    let usable = numbered.filter(|(number, bin)| *number >= OLDEST && bin.join("initdb").is_file());
    usable.max().map(|(_, bin)| bin)
}

fn start_once(programs: &Path) -> Result<Postgres, String> {
    let temporary = tempfile::Builder::new().prefix("windlass-postgres-").tempdir().map_err(error_text)?;
    let directory = temporary.path();
    let account = ServerUser::of(directory)?;
    let data = directory.join("data");
    let mut initdb = account.command(&programs.join("initdb"));
    initdb.args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--username=postgres", "-D"]);
    run(initdb.arg(&data))?;
    let access = "host all windlass 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
    fs::write(data.join("pg_hba.conf"), access).map_err(error_text)?;

    let port = free_port().map_err(error_text)?;
    let mut log = tempfile::tempfile().map_err(error_text)?;
    let mut supervisor = account.command(Path::new("sh"));
    supervisor
        .args(["-c", SUPERVISOR_SCRIPT, "sh"])
        .arg(directory)
        .arg(programs.join("postgres"))
        .arg("-D")
        .arg(&data);
    supervisor.arg("-k").arg(directory).args(["-h", "127.0.0.1", "-p", &port.to_string(), "-N", "200"]);
    supervisor.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log.try_clone().map_err(error_text)?);
    let supervisor = supervisor.spawn().map_err(error_text)?;
    // From here on the supervisor script removes it; the script outlives this process.
    let _ = temporary.keep();
    let mut server =
        Postgres { programs: programs.to_owned(), port, supervisor, databases: AtomicU32::new(0) };
    server.wait_until_ready().map_err(|why| format!("{why}\n{}", text_of(&mut log)))?;
    server.execute(&server.url(), &format!("CREATE ROLE {ROLE} SUPERUSER LOGIN PASSWORD '{PASSWORD}'"));
    Ok(server)
}

impl Postgres {
    /// Each check starts a process, so that polling does not spin.
    fn wait_until_ready(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + READY_TIMEOUT;
        while Instant::now() < deadline {
            if let Some(status) = self.supervisor.try_wait().map_err(error_text)? {
                return Err(format!("the server ended: {status}"));
            }
            let mut pg_isready = Command::new(self.programs.join("pg_isready"));
            pg_isready.args(["--quiet", "--host=127.0.0.1", "--port", &self.port.to_string()]);
            if pg_isready.status().map_err(error_text)?.success() {
                return Ok(());
            }
        }
        Err(format!("the server was not ready after {} seconds", READY_TIMEOUT.as_secs()))
    }
}

/// The user that the server runs as.
enum ServerUser {
    /// The user who runs the tests.
    Ourselves,
    /// Another user, because PostgreSQL does not run as root.
    Unprivileged,
}

impl ServerUser {
    /// The user that runs the server in this new directory; that user owns the directory afterwards.
    fn of(directory: &Path) -> Result<ServerUser, String> {
        if fs::metadata(directory).map_err(error_text)?.uid() != 0 {
            return Ok(ServerUser::Ourselves);
        }
        let id = |which: &str| {
            let output = run(Command::new("id").args([which, USER]))?;
            output.trim().parse().map_err(|_| format!("`id {which} {USER}` says {output:?}"))
        };
        chown(directory, Some(id("-u")?), Some(id("-g")?)).map_err(error_text)?;
        Ok(ServerUser::Unprivileged)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = match self {
            ServerUser::Ourselves => Command::new(program),
            ServerUser::Unprivileged => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", USER, "--regid", USER, "--init-groups", "--"]).arg(program);
                command
            }
        };
        // A directory that the other user may enter.
        command.current_dir("/");
        command
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(error_text)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn text_of(log: &mut File) -> String {
    let mut bytes = Vec::new();
    let _ = log.rewind().and_then(|()| log.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn error_text(error: io::Error) -> String {
    error.to_string()
}

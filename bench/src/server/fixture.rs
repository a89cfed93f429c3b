//! A server for the bench, and repositories for it.

use std::io::{BufRead as _, BufReader, Lines};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_api::client::Client;
use windlass_api::endpoint::Operation;
use windlass_core::redacted::Redacted;
use windlass_testkit::fleet::{ACCOUNT, FleetText};

use crate::Outcome;

/// Anything that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(150);

/// How often to poll besides events: not every change is an event.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The server's stream of events. Events between two polls are not lost, so no poll is too early.
pub(super) struct Happenings {
    stream: reqwest::Response,
    deadline: Instant,
}

impl Happenings {
    /// Waits until an event whose text contains this is delivered.
    pub(super) async fn until_delivered(&mut self, text: &str) -> Outcome<()> {
        let mut received = Vec::new();
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            match tokio::time::timeout(left, self.stream.chunk()).await?? {
                Some(chunk) => received.extend_from_slice(&chunk),
                None => return Err("the server ended the stream".into()),
            }
            if String::from_utf8_lossy(&received).contains(text) {
                return Ok(());
            }
        }
    }

    /// Waits until something happened, or a moment.
    pub(super) async fn next(&mut self, awaited: &str) -> Outcome<()> {
        if Instant::now() >= self.deadline {
            return Err(format!("it never came to be that {awaited}").into());
        }
        match tokio::time::timeout(LOOK_AGAIN, self.stream.chunk()).await {
            Ok(Ok(None)) => Err("the server ended the stream".into()),
            Ok(Err(error)) => Err(error.into()),
            Ok(Ok(Some(_))) | Err(_) => Ok(()),
        }
    }
}

/// A running server.
pub(super) struct Fixture {
    pub(super) client: Client,
    address: String,
    session: String,
    pages: reqwest::Client,
    root: TempDir,
    child: Child,
    // Kept open: a server that cannot print ends.
    _printed: Lines<BufReader<ChildStdout>>,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // The process may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a server is started.
pub(super) struct ServerOptions {
    /// Proposals that it opens at once.
    pub(super) cap: usize,
    /// Another database than the embedded one.
    pub(super) database: Option<String>,
    /// A directory whose programs it finds before those of the machine.
    pub(super) programs: Option<PathBuf>,
    /// How many connections of agents it accepts; none if it does not listen for agents.
    pub(super) agents: Option<usize>,
}

/// A server process, and the password that it printed if it is the first of its database.
struct Launched {
    child: Child,
    address: String,
    password: Option<String>,
    printed: Lines<BufReader<ChildStdout>>,
}

impl ServerOptions {
    fn launch(&self, data: &Path, is_first: bool) -> Outcome<Launched> {
        let mut command = Command::new(crate::binary::windlass()?);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--allow-insecure-git", "--log", "error"])
            .args([
                "--first-account",
                ACCOUNT,
                "--max-proposals-per-tick",
                &self.cap.to_string(),
                "--data-dir",
            ])
            .arg(data)
            .stdout(Stdio::piped());
        if let Some(database) = &self.database {
            command.args(["--database", database]);
        }
        if let Some(connections) = self.agents {
            command.args(["--agent-listen", "127.0.0.1:0", "--max-agent-connections"]);
            command.arg(connections.to_string());
        }
        if let Some(programs) = &self.programs {
            let path = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{path}", programs.display()));
        }
        let mut child = command.spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let (mut server, mut password) = (None, None);
        while server.is_none() || (is_first && password.is_none()) {
            let line = lines.next().ok_or("the server ended")??;
            if let Some(address) = line.strip_prefix("Windlass listens on ") {
                server = Some(address.to_owned());
            }
            if let Some(secret) = line.trim().strip_prefix("password  ") {
                password = Some(secret.to_owned());
            }
        }
        Ok(Launched { child, address: server.unwrap_or_default(), password, printed: lines })
    }
}

impl Fixture {
    /// Starts one on the embedded database that opens so many proposals at once.
    pub(super) async fn start(cap: usize) -> Outcome<Fixture> {
        Fixture::start_with(&ServerOptions { cap, database: None, programs: None, agents: None }).await
    }

    /// Starts the first server of a database.
    pub(super) async fn start_with(options: &ServerOptions) -> Outcome<Fixture> {
        let root = tempfile::tempdir()?;
        let launched = options.launch(&root.path().join("data"), true)?;
        let password = launched.password.as_deref().unwrap_or_default();
        let session = sign_in(&launched.address, password).await?;
        Fixture::signed_in(launched, session, root)
    }

    /// A server that someone has signed in to.
    fn signed_in(launched: Launched, session: String, root: TempDir) -> Outcome<Fixture> {
        let Launched { child, address, printed, .. } = launched;
        let client = Client::new(&address, Some(Redacted::new(session.clone())))?;
        let pages = reqwest::Client::new();
        Ok(Fixture { client, address, session, pages, root, child, _printed: printed })
    }

    /// Starts another server on the same database, with the same secret key.
    pub(super) fn replica(&self, options: &ServerOptions) -> Outcome<Fixture> {
        let root = tempfile::tempdir()?;
        let data = root.path().join("data");
        std::fs::DirBuilder::new().mode(0o700).create(&data)?;
        std::fs::copy(self.root.path().join("data/secret.key"), data.join("secret.key"))?;
        Fixture::signed_in(options.launch(&data, false)?, self.session.clone(), root)
    }

    /// The number of the server's process.
    pub(super) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Registers a repository, which is synced at once, and waits for that first run.
    pub(super) async fn register(&self, repo: &Repo, auto_apply: bool) -> Outcome<Value> {
        self.add_repository(repo, auto_apply).await?;
        self.until("the first run has compared", |run| run["completed_at"].is_string()).await
    }

    /// Registers a repository and waits for nothing.
    pub(super) async fn add_repository(&self, repo: &Repo, auto_apply: bool) -> Outcome<()> {
        let body = json!({"gitops_repository": {
            "name": repo.name, "repo_url": format!("file://{}", repo.directory.display()),
            "auto_apply": auto_apply, "reconcile_interval_seconds": 86400,
        }});
        let _: Value = self.client.call(Operation::RepositoryCreate, &[]).body(&body).send().await?;
        Ok(())
    }

    /// Registers a repository in another directory, and waits for its first run.
    pub(super) async fn register_at(&self, name: &str, directory: &Path) -> Outcome<Value> {
        let body = json!({"gitops_repository": {"name": name, "repo_url": format!("file://{}", directory.display()),
            "reconcile_interval_seconds": 86400}});
        let _: Value = self.client.call(Operation::RepositoryCreate, &[]).body(&body).send().await?;
        self.until("the first run has ended", |run| run["completed_at"].is_string()).await
    }

    /// The durations of a repository's first sync, each on a new server, in addition to this server's first run.
    pub(super) async fn cold_syncs(&self, repo: &Repo, first: Duration) -> Outcome<Vec<Duration>> {
        let mut all = vec![first];
        for _ in 0..4 {
            let other = Fixture::start(25).await?;
            all.push(super::took(&other.register_at(&repo.name, &repo.directory).await?)?);
        }
        Ok(all)
    }

    /// Syncs a repository and waits.
    pub(super) async fn sync(&self, repo: &Repo) -> Outcome<Value> {
        let call = self.client.call(Operation::RepositorySync, &[&repo.name]).query("wait", "60");
        let answer: Value = call.body(&json!({})).send().await?;
        Ok(answer["sync_run"].clone())
    }

    /// Waits until the newest run satisfies a condition, and returns it.
    pub(super) async fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Outcome<Value> {
        let mut happenings = self.happenings().await?;
        loop {
            let runs: Value = self.client.call(Operation::RunList, &[]).query("limit", "1").send().await?;
            if let Some(run) = runs["sync_runs"].get(0).filter(|run| is_so(run)) {
                return Ok(run.clone());
            }
            happenings.next(what).await?;
        }
    }

    /// The stream of the server's events from now on.
    pub(super) async fn happenings(&self) -> Outcome<Happenings> {
        let call = self.client.call(Operation::EventStream, &[]).timeout(TIMEOUT);
        Ok(Happenings { stream: call.send_response().await?, deadline: Instant::now() + TIMEOUT })
    }

    /// Requests a page of the web app several times: the durations, and the size of the last response.
    pub(super) async fn page(&self, path: &str, times: usize) -> Outcome<(Vec<Duration>, usize)> {
        let (mut took, mut bytes) = (Vec::with_capacity(times), 0);
        for _ in 0..times {
            let begun = Instant::now();
            let request = self.pages.get(format!("{}{path}", self.address));
            let cookie = format!("windlass_session={}", self.session);
            let page = request.header("cookie", cookie).send().await?.error_for_status()?.text().await?;
            took.push(begun.elapsed());
            if !page.contains("<main") {
                return Err(format!("{path} is not a page").into());
            }
            bytes = page.len();
        }
        Ok((took, bytes))
    }

    /// Resident memory of the server, as the kernel counts it.
    pub(super) fn resident_kib(&self) -> Outcome<u64> {
        self.memory_kib("VmRSS:")
    }

    /// Resident memory of the server now; resets the kernel's peak counter.
    pub(super) fn memory_before(&self) -> Outcome<u64> {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")?;
        self.resident_kib()
    }

    /// How much the peak since then exceeds it.
    pub(super) fn growth_since(&self, before: u64) -> Outcome<u64> {
        Ok(self.memory_kib("VmHWM:")?.saturating_sub(before))
    }

    fn memory_kib(&self, name: &str) -> Outcome<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with(name)).ok_or("the kernel does not tell")?;
        Ok(line.split_whitespace().nth(1).ok_or("the kernel does not tell")?.parse()?)
    }

    pub(super) async fn stop(self) -> Outcome<()> {
        drop(self);
        Ok(())
    }
}

/// Chooses a password and signs in with it. Returns the session's token.
async fn sign_in(server: &str, once: &str) -> Outcome<String> {
    let password = format!("bench-{once}");
    let body = |password: &str| json!({"email": "admin@localhost", "password": password});
    let nobody = Client::new(server, None)?;
    let first: Value = nobody.call(Operation::Login, &[]).body(&body(once)).send().await?;
    let token = |session: &Value| session["token"].as_str().unwrap_or_default().to_owned();
    let change = json!({"current_password": once, "new_password": password});
    let first = Client::new(server, Some(Redacted::new(token(&first))))?;
    first.call(Operation::Password, &[]).body(&change).send_text().await?;
    let session: Value = nobody.call(Operation::Login, &[]).body(&body(&password)).send().await?;
    Ok(token(&session))
}

/// A git repository.
pub(super) struct Repo {
    pub(super) name: String,
    directory: PathBuf,
}

impl Repo {
    /// An empty one that goes with its server.
    pub(super) fn new(fixture: &Fixture, name: &str) -> Outcome<Repo> {
        Repo::new_in(fixture.root.path(), name)
    }

    /// An empty one in a directory that outlives its server.
    pub(super) fn new_in(parent: &Path, name: &str) -> Outcome<Repo> {
        let directory = parent.join(name);
        std::fs::create_dir_all(&directory)?;
        git(&directory, &["init", "--quiet", "--initial-branch=main"])?;
        Ok(Repo { name: name.to_owned(), directory })
    }

    /// Commits files.
    pub(super) fn commit(&self, files: &[FleetText]) -> Outcome<()> {
        for file in files {
            let path = self.directory.join(&file.path);
            std::fs::create_dir_all(path.parent().unwrap_or(&self.directory))?;
            std::fs::write(path, &file.text)?;
        }
        git(&self.directory, &["add", "--all"])?;
        git(&self.directory, &["commit", "--quiet", "--message=next"])
    }
}

impl Repo {
    /// Commits one file.
    pub(super) fn commit_text(&self, path: &str, text: &str) -> Outcome<()> {
        std::fs::write(self.directory.join(path), text)?;
        git(&self.directory, &["add", "--all"])?;
        git(&self.directory, &["commit", "--quiet", "--message=next"])
    }

    /// A bare repository with the commits, to push to.
    pub(super) fn publish(&self) -> Outcome<PathBuf> {
        let bare = self.directory.with_extension("git");
        let text = bare.to_str().ok_or("the directory's name is not UTF-8")?;
        git(&self.directory, &["clone", "--quiet", "--bare", ".", text])?;
        Ok(bare)
    }

    /// Pushes the commits.
    pub(super) fn push(&self, bare: &Path) -> Outcome<()> {
        let bare = bare.to_str().ok_or("the directory's name is not UTF-8")?;
        git(&self.directory, &["push", "--quiet", bare, "HEAD:refs/heads/main"])
    }

    /// The time that git alone needs: the best of five shallow clones, and of five fetches without changes.
    pub(super) fn by_git_alone(&self) -> Outcome<(Duration, Duration)> {
        let url = format!("file://{}", self.directory.display());
        let (mut cloned, mut fetched) = (Duration::MAX, Duration::MAX);
        for _ in 0..5 {
            let scratch = tempfile::tempdir()?;
            let begun = Instant::now();
            git(scratch.path(), &["clone", "--quiet", "--bare", "--depth=1", &url, "clone"])?;
            cloned = cloned.min(begun.elapsed());
            let begun = Instant::now();
            git(&scratch.path().join("clone"), &["fetch", "--quiet", "--depth=1", &url, "main"])?;
            fetched = fetched.min(begun.elapsed());
        }
        Ok((cloned, fetched))
    }
}

fn git(directory: &Path, arguments: &[&str]) -> Outcome<()> {
    let status = Command::new("git")
        .args(["-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(directory)
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("git {arguments:?} failed").into()) }
}

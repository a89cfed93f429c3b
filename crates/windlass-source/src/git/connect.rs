//! Opens a transport for gix to a remote.

use std::io;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::Arc;

use gix::protocol::transport::Protocol;
use gix::protocol::transport::client::TransportWithoutIO as _;
use gix::protocol::transport::client::blocking_io::{Transport, http};
use gix::protocol::transport::client::git::ConnectMode;
use gix::protocol::transport::client::git::blocking_io::Connection;

use super::error::{RemoteProblem, classify_io_error, quote_remote_text};
use super::fetch_options::FetchOptions;
use super::http::HttpTransport;
use super::limits::FetchGuard;
use super::process::{CountingReader, GitProcess, ProcessResult, git};
use super::ssh::{SshLogin, start_problem};
use crate::remote::{Credential, HostKeys, RemoteScheme, RemoteUrl};

/// The process or connection of a transport, kept to find out why it failed.
pub(super) enum OpenTransport {
    /// HTTP. Errors were reported to the guard when they occurred.
    Web,
    /// The `ssh` program. Its errors are in its standard error.
    Ssh { process: GitProcess, login: Box<SshLogin> },
    /// The local `git` program. Its errors are in its standard error.
    File { process: GitProcess },
}

impl OpenTransport {
    /// Opens a transport. Errors during its use are reported to the guard.
    pub(super) fn open(
        options: &FetchOptions<'_>,
        fetch_guard: &Arc<FetchGuard>,
    ) -> Result<(OpenTransport, Box<dyn Transport>), RemoteProblem> {
        let url = options.url;
        match url.scheme() {
            RemoteScheme::Https | RemoteScheme::Http => {
                Ok((OpenTransport::Web, open_web(options, fetch_guard)?))
            }
            RemoteScheme::Ssh => {
                let login = SshLogin::prepare(options, fetch_guard)?;
                let command = login.upload_pack(url);
                let (process, transport) =
                    open_program(command, url, fetch_guard).map_err(|error| start_problem(&error))?;
                Ok((OpenTransport::Ssh { process, login: Box::new(login) }, transport))
            }
            RemoteScheme::File => {
                // For a missing path, git would report a dubious owner.
                let path = Path::new(url.path());
                if !path.join("HEAD").exists() && !path.join(".git/HEAD").exists() {
                    return Err(RemoteProblem::RepositoryMissing);
                }
                let mut command = git();
                command.args(["upload-pack", "--"]).arg(path);
                command.env("GIT_PROTOCOL", "version=2");
                let (process, transport) = open_program(command, url, fetch_guard)
                    .map_err(|error| classify_io_error("starting the git program", &error))?;
                Ok((OpenTransport::File { process }, transport))
            }
        }
    }

    /// Host keys that were learned while connecting.
    pub(super) fn new_host_keys(&self) -> Option<&HostKeys> {
        match self {
            OpenTransport::Ssh { login, .. } => login.learned_host_keys(),
            OpenTransport::Web | OpenTransport::File { .. } => None,
        }
    }

    /// Closes the transport.
    pub(super) fn close(self) {
        match self {
            OpenTransport::Web => {}
            OpenTransport::Ssh { process, .. } | OpenTransport::File { process } => drop(process.end()),
        }
    }

    /// Closes a transport that failed and returns the cause, if the other side gave a better one than gix.
    pub(super) fn explain(self, url: &RemoteUrl, fetch_guard: &Arc<FetchGuard>) -> Option<RemoteProblem> {
        match self {
            OpenTransport::Web => None,
            OpenTransport::Ssh { process, login } => {
                let ProcessResult { stderr, .. } = process.end();
                (!stderr.trim().is_empty()).then(|| login.explain(&stderr, url, fetch_guard))
            }
            OpenTransport::File { process } => {
                let ProcessResult { stderr, .. } = process.end();
                if stderr.contains("not appear to be a git repository")
                    || stderr.contains("not a git repository")
                {
                    return Some(RemoteProblem::RepositoryMissing);
                }
                (!stderr.trim().is_empty())
                    .then(|| RemoteProblem::Protocol { reason: quote_remote_text(&stderr) })
            }
        }
    }
}

fn open_web(
    options: &FetchOptions<'_>,
    fetch_guard: &Arc<FetchGuard>,
) -> Result<Box<dyn Transport>, RemoteProblem> {
    let url = options.url;
    let web = HttpTransport::new(options, fetch_guard)?;
    let parsed = gix::url::parse(url.to_string().as_str())
        .map_err(|error| RemoteProblem::Local { reason: error.to_string() })?;
    let mut transport = http::Transport::new_http(web, parsed, Protocol::V2, false);
    match options.credential {
        Credential::None => {}
        Credential::Basic { .. } if url.scheme() == RemoteScheme::Http => {
            let reason = "a password cannot be sent over plain http".to_owned();
            return Err(RemoteProblem::Auth { reason });
        }
        Credential::Basic { username, password } => transport
            .set_identity(gix::sec::identity::Account {
                username: username.clone(),
                password: password.expose().clone(),
                oauth_refresh_token: None,
            })
            .map_err(|error| RemoteProblem::Local { reason: error.to_string() })?,
        Credential::SshKey { .. } => {
            let reason =
                format!("the credential is an ssh key, but {} needs a password", url.scheme().as_str());
            return Err(RemoteProblem::Auth { reason });
        }
    }
    Ok(Box::new(transport))
}

fn open_program(
    command: Command,
    url: &RemoteUrl,
    fetch_guard: &Arc<FetchGuard>,
) -> io::Result<(GitProcess, Box<dyn Transport>)> {
    let (process, input, output): (GitProcess, ChildStdin, CountingReader<ChildStdout>) =
        GitProcess::start(command, fetch_guard)?;
    let nowhere: Option<(String, Option<u16>)> = None;
    let connection =
        Connection::new(output, input, Protocol::V2, url.path(), nowhere, ConnectMode::Process, false);
    Ok((process, Box::new(connection)))
}

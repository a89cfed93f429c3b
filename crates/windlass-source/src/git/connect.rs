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
pub(super) enum TransportLine {
    /// HTTP. Errors were reported to the guard when they occurred.
    Web,
    /// The `ssh` program. Its errors are in its standard error.
    Ssh { talk: GitProcess, login: Box<SshLogin> },
    /// The local `git` program. Its errors are in its standard error.
    File { talk: GitProcess },
}

impl TransportLine {
    /// Opens a transport. Errors during its use are reported to the guard.
    pub(super) fn open(
        options: &FetchOptions<'_>,
        bounds: &Arc<FetchGuard>,
    ) -> Result<(TransportLine, Box<dyn Transport>), RemoteProblem> {
        let url = options.url;
        match url.scheme() {
            RemoteScheme::Https | RemoteScheme::Http => Ok((TransportLine::Web, open_web(options, bounds)?)),
            RemoteScheme::Ssh => {
                let login = SshLogin::prepare(options, bounds)?;
                let command = login.upload_pack(url);
                let (talk, transport) =
                    open_program(command, url, bounds).map_err(|error| start_problem(&error))?;
                Ok((TransportLine::Ssh { talk, login: Box::new(login) }, transport))
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
                let (talk, transport) = open_program(command, url, bounds)
                    .map_err(|error| classify_io_error("starting the git program", &error))?;
                Ok((TransportLine::File { talk }, transport))
            }
        }
    }

    /// Host keys that were learned while connecting.
    pub(super) fn new_host_keys(&self) -> Option<&HostKeys> {
        match self {
            TransportLine::Ssh { login, .. } => login.learned(),
            TransportLine::Web | TransportLine::File { .. } => None,
        }
    }

    /// Closes the transport.
    pub(super) fn close(self) {
        match self {
            TransportLine::Web => {}
            TransportLine::Ssh { talk, .. } | TransportLine::File { talk } => drop(talk.end()),
        }
    }

    /// Closes a transport that failed and returns the cause, if the other side gave a better one than gix.
    pub(super) fn explain(self, url: &RemoteUrl, bounds: &Arc<FetchGuard>) -> Option<RemoteProblem> {
        match self {
            TransportLine::Web => None,
            TransportLine::Ssh { talk, login } => {
                let ProcessResult { said, .. } = talk.end();
                (!said.trim().is_empty()).then(|| login.explain(&said, url, bounds))
            }
            TransportLine::File { talk } => {
                let ProcessResult { said, .. } = talk.end();
                if said.contains("not appear to be a git repository") || said.contains("not a git repository")
                {
                    return Some(RemoteProblem::RepositoryMissing);
                }
                (!said.trim().is_empty())
                    .then(|| RemoteProblem::Protocol { reason: quote_remote_text(&said) })
            }
        }
    }
}

fn open_web(
    options: &FetchOptions<'_>,
    bounds: &Arc<FetchGuard>,
) -> Result<Box<dyn Transport>, RemoteProblem> {
    let url = options.url;
    let web = HttpTransport::new(options, bounds)?;
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
    bounds: &Arc<FetchGuard>,
) -> io::Result<(GitProcess, Box<dyn Transport>)> {
    let (talk, input, output): (GitProcess, ChildStdin, CountingReader<ChildStdout>) =
        GitProcess::start(command, bounds)?;
    let nowhere: Option<(String, Option<u16>)> = None;
    let connection =
        Connection::new(output, input, Protocol::V2, url.path(), nowhere, ConnectMode::Process, false);
    Ok((talk, Box::new(connection)))
}

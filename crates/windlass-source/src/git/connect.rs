//! From an address to a transport that gix can speak through.

use std::io;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::Arc;

use gix::protocol::transport::Protocol;
use gix::protocol::transport::client::TransportWithoutIO as _;
use gix::protocol::transport::client::blocking_io::{Transport, http};
use gix::protocol::transport::client::git::ConnectMode;
use gix::protocol::transport::client::git::blocking_io::Connection;

use super::error::{Problem, of_io, quoted};
use super::fetch_options::FetchOptions;
use super::http::Web;
use super::limits::Bounds;
use super::process::{Counted, Ended, Talk, git};
use super::ssh::{Login, start_problem};
use crate::remote::{Credential, HostKeys, RemoteUrl, Scheme};

/// The other end of a conversation, kept to ask afterwards what went wrong.
pub(super) enum Line {
    /// Problems were told to the bounds when they happened.
    Web,
    /// Problems are in what the program said.
    Ssh { talk: Talk, login: Box<Login> },
    /// Likewise.
    File { talk: Talk },
}

impl Line {
    /// Opens a line. The bounds are told what fails while it is in use.
    pub(super) fn open(
        options: &FetchOptions<'_>,
        bounds: &Arc<Bounds>,
    ) -> Result<(Line, Box<dyn Transport>), Problem> {
        let url = options.url;
        match url.scheme() {
            Scheme::Https | Scheme::Http => Ok((Line::Web, open_web(options, bounds)?)),
            Scheme::Ssh => {
                let login = Login::prepare(options, bounds)?;
                let command = login.upload_pack(url);
                let (talk, transport) =
                    open_program(command, url, bounds).map_err(|error| start_problem(&error))?;
                Ok((Line::Ssh { talk, login: Box::new(login) }, transport))
            }
            Scheme::File => {
                // git would say that the owner of what is not there is dubious.
                let path = Path::new(url.path());
                if !path.join("HEAD").exists() && !path.join(".git/HEAD").exists() {
                    return Err(Problem::RepositoryMissing);
                }
                let mut command = git();
                command.args(["upload-pack", "--"]).arg(path);
                command.env("GIT_PROTOCOL", "version=2");
                let (talk, transport) = open_program(command, url, bounds)
                    .map_err(|error| of_io("starting the git program", &error))?;
                Ok((Line::File { talk }, transport))
            }
        }
    }

    /// Host keys that were learned on the way.
    pub(super) fn learned(&self) -> Option<&HostKeys> {
        match self {
            Line::Ssh { login, .. } => login.learned(),
            Line::Web | Line::File { .. } => None,
        }
    }

    /// Ends the conversation.
    pub(super) fn close(self) {
        match self {
            Line::Web => {}
            Line::Ssh { talk, .. } | Line::File { talk } => drop(talk.end()),
        }
    }

    /// Ends a conversation that failed and tells why, if the other end knows better than gix.
    pub(super) fn explain(self, url: &RemoteUrl, bounds: &Arc<Bounds>) -> Option<Problem> {
        match self {
            Line::Web => None,
            Line::Ssh { talk, login } => {
                let Ended { said, .. } = talk.end();
                (!said.trim().is_empty()).then(|| login.explain(&said, url, bounds))
            }
            Line::File { talk } => {
                let Ended { said, .. } = talk.end();
                if said.contains("not appear to be a git repository") || said.contains("not a git repository")
                {
                    return Some(Problem::RepositoryMissing);
                }
                (!said.trim().is_empty()).then(|| Problem::Protocol { reason: quoted(&said) })
            }
        }
    }
}

fn open_web(options: &FetchOptions<'_>, bounds: &Arc<Bounds>) -> Result<Box<dyn Transport>, Problem> {
    let url = options.url;
    let web = Web::new(options, bounds)?;
    let parsed = gix::url::parse(url.to_string().as_str())
        .map_err(|error| Problem::Local { reason: error.to_string() })?;
    let mut transport = http::Transport::new_http(web, parsed, Protocol::V2, false);
    match options.credential {
        Credential::None => {}
        Credential::Basic { .. } if url.scheme() == Scheme::Http => {
            let reason = "a password is not sent over plain http".to_owned();
            return Err(Problem::Auth { reason });
        }
        Credential::Basic { username, password } => transport
            .set_identity(gix::sec::identity::Account {
                username: username.clone(),
                password: password.expose().clone(),
                oauth_refresh_token: None,
            })
            .map_err(|error| Problem::Local { reason: error.to_string() })?,
        Credential::SshKey { .. } => {
            let reason =
                format!("the credential is an ssh key, and {} needs a password", url.scheme().as_str());
            return Err(Problem::Auth { reason });
        }
    }
    Ok(Box::new(transport))
}

fn open_program(
    command: Command,
    url: &RemoteUrl,
    bounds: &Arc<Bounds>,
) -> io::Result<(Talk, Box<dyn Transport>)> {
    let (talk, input, output): (Talk, ChildStdin, Counted<ChildStdout>) = Talk::start(command, bounds)?;
    let nowhere: Option<(String, Option<u16>)> = None;
    let connection =
        Connection::new(output, input, Protocol::V2, url.path(), nowhere, ConnectMode::Process, false);
    Ok((talk, Box::new(connection)))
}

//! The environment of the `git` program for a push, with the secrets that only it may see.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use windlass_core::redacted::Redacted;

use super::super::error::{RemoteProblem, classify_io_error};
use super::super::fetch_options::FetchOptions;
use super::super::limits::FetchGuard;
use super::super::private_files::{private_directory, write_private};
use super::super::process::git;
use super::super::ssh::SshLogin;
use crate::remote::{Credential, RemoteScheme};

/// Files and variables for one push, readable only by the git program.
pub(super) struct PushEnvironment {
    settings: Vec<(String, Redacted<String>)>,
    pub(super) login: Option<SshLogin>,
    _directory: tempfile::TempDir,
}

impl PushEnvironment {
    pub(super) fn prepare(
        options: &FetchOptions<'_>,
        fetch_guard: &Arc<FetchGuard>,
    ) -> Result<PushEnvironment, RemoteProblem> {
        let url = options.url;
        let local = |error: std::io::Error| classify_io_error("preparing a push", &error);
        let directory = private_directory().map_err(local)?;
        let mut settings = vec![
            ("core.hooksPath".to_owned(), Redacted::new("/dev/null".to_owned())),
            ("http.followRedirects".to_owned(), Redacted::new("false".to_owned())),
            ("credential.helper".to_owned(), Redacted::new(String::new())),
            ("protocol.allow".to_owned(), Redacted::new("never".to_owned())),
            (format!("protocol.{}.allow", url.scheme().as_str()), Redacted::new("always".to_owned())),
        ];
        if let Some(pem) = options.extra_ca_pem {
            let path = directory.path().join("ca.pem");
            write_private(&path, pem).map_err(local)?;
            settings.push(("http.sslCAInfo".to_owned(), Redacted::new(path.display().to_string())));
        }
        if let (Credential::Basic { username, password }, RemoteScheme::Https) =
            (options.credential, url.scheme())
        {
            let header = Redacted::new(basic_header(username, password));
            settings.push(("http.extraHeader".to_owned(), header));
        }
        let login = match url.scheme() {
            RemoteScheme::Ssh => Some(SshLogin::prepare(options, fetch_guard)?),
            RemoteScheme::Https | RemoteScheme::Http => {
                let pin = curl_resolve_option(options)?;
                settings.extend(pin.map(|pin| ("http.curloptResolve".to_owned(), Redacted::new(pin))));
                None
            }
            RemoteScheme::File => None,
        };
        Ok(PushEnvironment { settings, login, _directory: directory })
    }

    pub(super) fn command(&self, mirror: &Path) -> Command {
        let mut command = git();
        command.arg("--git-dir").arg(mirror);
        // As environment variables and not as arguments: every user of the machine can read arguments.
        command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (index, (key, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{index}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{index}"), value.expose());
        }
        if let Some(login) = &self.login {
            command.env("GIT_SSH_COMMAND", login.command_line()).env("GIT_SSH_VARIANT", "ssh");
        }
        command
    }
}

/// The curl option with the checked addresses, so that git does not resolve the name again: `host:port:address,…`. An
/// IP address in the URL is checked and needs no such option.
fn curl_resolve_option(options: &FetchOptions<'_>) -> Result<Option<String>, RemoteProblem> {
    let (host, port) = (options.url.host(), options.url.effective_port());
    let written = |address: SocketAddr| match address.ip() {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    };
    let addresses: Vec<String> = options.guard.resolve(host, port)?.into_iter().map(written).collect();
    let is_name = host.parse::<IpAddr>().is_err();
    Ok(is_name.then(|| format!("{host}:{port}:{}", addresses.join(","))))
}

fn basic_header(username: &str, password: &Redacted<String>) -> String {
    use base64::Engine as _;
    let login = format!("{username}:{}", password.expose());
    format!("Authorization: Basic {}", base64::engine::general_purpose::STANDARD.encode(login))
}

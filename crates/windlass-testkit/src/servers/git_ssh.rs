//! Git over ssh: OpenSSH's server with a host key and a client key of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{ChildProcess, are_installed, find, free_port, run};

/// A running `sshd` that accepts one key.
pub struct GitSsh {
    directory: TempDir,
    port: u16,
    user: String,
    server: ChildProcess,
}

impl GitSsh {
    /// Starts a server. `None`, with a message, if a program for it is missing.
    pub fn start() -> Option<GitSsh> {
        if !are_installed(&["git", "sshd", "ssh", "ssh-keygen", "ssh-keyscan"]) {
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        make_key(&directory.path().join("host"));
        make_key(&directory.path().join("client"));
        fs::create_dir(directory.path().join("repositories")).expect("a directory");
        let user = run(Command::new("id").arg("-un")).trim().to_owned();
        if user == "root" {
            // The directory for sshd's privilege separation; distributions create it when the service starts.
            fs::create_dir_all("/run/sshd").expect("root can make directories");
        }
        let port = free_port();
        let server = listen(directory.path(), port);
        Some(GitSsh { directory, port, user, server })
    }

    /// The directory for bare repositories.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("repositories")
    }

    /// The address of a repository.
    pub fn url(&self, name: &str) -> String {
        format!("ssh://{}@127.0.0.1:{}{}/{name}", self.user, self.port, self.root().display())
    }

    /// The private key with access.
    pub fn key(&self) -> String {
        fs::read_to_string(self.directory.path().join("client")).expect("the key was made")
    }

    /// The host's public key.
    pub fn host_key(&self) -> String {
        fs::read_to_string(self.directory.path().join("host.pub")).expect("the key was made")
    }

    /// Gives the server a new host key, as after a reinstallation or in a man-in-the-middle attack.
    pub fn replace_host_key(&mut self) {
        let host = self.directory.path().join("host");
        fs::remove_file(&host).expect("the key was made");
        fs::remove_file(host.with_extension("pub")).expect("the key was made");
        make_key(&host);
        self.server.stop();
        self.server = listen(self.directory.path(), self.port);
    }
}

/// Makes a key without a passphrase.
fn make_key(path: &Path) {
    run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(path));
}

fn listen(directory: &Path, port: u16) -> ChildProcess {
    let at = directory.display();
    let configuration = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nPidFile none\n\
         AuthorizedKeysFile {at}/client.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nAcceptEnv GIT_PROTOCOL\n\
         MaxStartups 100\nUseDNS no\n"
    );
    let file = directory.join("sshd_config");
    fs::write(&file, configuration).expect("a file");
    let program = find("sshd").expect("it was found before");
    let server = ChildProcess::start(Command::new(program).args(["-D", "-f"]).arg(&file));
    server.wait_for_port(port);
    server
}

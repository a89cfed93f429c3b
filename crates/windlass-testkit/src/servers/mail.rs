//! aiosmtpd: a mail server that stores what it receives.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::{ChildProcess, are_installed, find, free_port};

/// A running mail server.
pub struct MailServer {
    directory: TempDir,
    port: u16,
    server: ChildProcess,
}

impl MailServer {
    /// Starts a server without TLS and without passwords. `None`, with a message, if the program is missing.
    pub fn start() -> Option<MailServer> {
        if !are_installed(&["aiosmtpd"]) {
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let port = free_port();
        let mut command = Command::new(find("aiosmtpd").expect("it was found before"));
        command.args(["-n", "-l", &format!("127.0.0.1:{port}"), "-c", "aiosmtpd.handlers.Mailbox"]);
        command.arg(directory.path().join("mail"));
        let server = ChildProcess::start(&mut command);
        server.wait_for_port(port);
        Some(MailServer { directory, port, server })
    }

    /// Its port on the loopback interface.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the first mail and returns it, with folded lines unfolded.
    pub fn next(&self, timeout: Duration) -> String {
        let file = self.server.poll("no mail came", timeout, || self.first());
        let text = fs::read_to_string(file).expect("a mail is text");
        text.replace("\r\n", "\n").replace("=\n", "").replace("\n ", " ")
    }

    fn first(&self) -> Option<PathBuf> {
        let mut mails = fs::read_dir(self.directory.path().join("mail/new")).ok()?;
        mails.next()?.ok().map(|entry| entry.path())
    }
}

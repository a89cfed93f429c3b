//! aiosmtpd: a mail server that keeps what it is given.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Running, are_installed, find, free_port};

/// A running mail server.
pub struct MailServer {
    directory: TempDir,
    port: u16,
    _server: Running,
}

impl MailServer {
    /// Starts one without TLS and without passwords. `None` if the program is missing, which is told.
    pub fn start() -> Option<MailServer> {
        if !are_installed(&["aiosmtpd"]) {
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let port = free_port();
        let mut command = Command::new(find("aiosmtpd").expect("it was found before"));
        command.args(["-n", "-l", &format!("127.0.0.1:{port}"), "-c", "aiosmtpd.handlers.Mailbox"]);
        command.arg(directory.path().join("mail"));
        let mut server = Running::start(&mut command);
        server.wait_for_port(port);
        Some(MailServer { directory, port, _server: server })
    }

    /// Where it listens on the loopback interface.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The first mail, once there is one, with folded lines unfolded.
    pub fn next(&self, patience: Duration) -> String {
        let started = Instant::now();
        loop {
            if let Some(file) = self.first() {
                let text = fs::read_to_string(file).expect("a mail is text");
                return text.replace("\r\n", "\n").replace("=\n", "").replace("\n ", " ");
            }
            assert!(started.elapsed() < patience, "no mail came");
            thread::yield_now();
        }
    }

    fn first(&self) -> Option<PathBuf> {
        let mut mails = fs::read_dir(self.directory.path().join("mail/new")).ok()?;
        mails.next()?.ok().map(|entry| entry.path())
    }
}

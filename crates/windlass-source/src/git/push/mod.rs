//! Pushes a new branch with changed files from a mirror to its remote.
//!
//! Objects are written into the mirror without a work tree; the `git` program sends them, because gix cannot. A branch
//! that somebody else created or moved is never overwritten: the push names the expected commit, and git refuses any
//! other.

mod environment;
mod tree;

use std::collections::BTreeMap;
use std::sync::Arc;

use gix::objs::Commit;
use windlass_core::time::Timestamp;

use self::environment::PushEnvironment;
use self::tree::{Cause, TreeError, write_tree};
use super::budget::ObjectBudget;
use super::commit_id::CommitId;
use super::error::{RemoteProblem, classify_io_error, quote_remote_text};
use super::fetch_options::FetchOptions;
use super::limits::{FetchGuard, run_with_watchdog};
use super::mirror::{Mirror, PUSHED_REFERENCES};
use super::process::{GitProcess, ProcessOutcome, ProcessResult};
use super::ssh::SshLogin;
use crate::remote::{Branch, PathPrefix, RemoteUrl};

/// The author of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitAuthor {
    /// The author's name.
    pub name: String,
    /// The author's e-mail address.
    pub email: String,
    /// The time of the commit.
    pub at: Timestamp,
}

/// A file of the new branch, with its path from the repository's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its path.
    pub path: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// What to push.
#[derive(Clone, Copy)]
pub struct Push<'a> {
    /// The parent commit. It must be in the mirror.
    pub base: &'a CommitId,
    /// The branch to create.
    pub branch: &'a Branch,
    /// The files that differ from `base`.
    pub files: &'a [NewFile],
    /// The commit's message.
    pub message: &'a str,
    /// The author.
    pub author: &'a CommitAuthor,
}

/// Why a branch was not pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// A path leads outside the repository or through a file.
    #[error("`{path}` cannot be a file of the repository")]
    Path {
        /// The path.
        path: String,
    },
    /// The commit could not be written.
    #[error("could not write the commit for branch {branch}")]
    Write {
        /// The branch.
        branch: Branch,
        /// The cause.
        #[source]
        source: Cause,
    },
    /// The remote has a branch of this name that Windlass did not push, or that changed since.
    #[error("branch {branch} already exists at {remote}, and Windlass did not create it")]
    Taken {
        /// The branch.
        branch: Branch,
        /// The address, without its user.
        remote: String,
    },
    /// The remote rejects the push.
    #[error("{remote} refuses branch {branch}: {reason}")]
    Refused {
        /// The branch.
        branch: Branch,
        /// The address, without its user.
        remote: String,
        /// The remote's message.
        reason: String,
    },
    /// Communication with the remote failed.
    #[error("Failed to push to {remote}: {problem}")]
    Remote {
        /// The address, without its user.
        remote: String,
        /// The cause.
        problem: RemoteProblem,
    },
}

impl Mirror {
    /// Commits changed files and pushes the commit as a new branch, or as the next commit of a branch that was pushed
    /// from this mirror before.
    pub fn push_branch(&self, options: &FetchOptions<'_>, push: &Push<'_>) -> Result<CommitId, PushError> {
        let commit = self.write_commit(push)?;
        let expected = self.last_pushed(push.branch);
        let mut sent = self.send(options, push.branch, &commit, expected.as_ref());
        if expected.is_some() && matches!(sent, Err(PushError::Taken { .. })) {
            // Our branch was merged and deleted in the meantime: there is nothing to overwrite.
            sent = self.send(options, push.branch, &commit, None);
        }
        sent?;
        self.remember_pushed(push.branch, &commit)
            .map_err(|source| PushError::Write { branch: push.branch.clone(), source })?;
        Ok(commit)
    }

    fn write_commit(&self, push: &Push<'_>) -> Result<CommitId, PushError> {
        let mut files = BTreeMap::new();
        for file in push.files {
            let is_inside = PathPrefix::parse(&file.path)
                .is_ok_and(|path| path.as_str() == file.path && !file.path.is_empty());
            if !is_inside {
                return Err(PushError::Path { path: quote_remote_text(&file.path) });
            }
            files.insert(file.path.as_str(), file.content.as_slice());
        }
        let fail = |source: Cause| PushError::Write { branch: push.branch.clone(), source };
        let repository = self.open().map_err(|error| fail(error.into()))?;
        let base = self.find_commit(&repository, push.base).map_err(|error| fail(error.into()))?;
        let root = base.tree_id().map_err(|error| fail(error.into()))?.detach();
        let budget = ObjectBudget::start();
        let tree = write_tree(&repository, Some(root), &files, &budget).map_err(|error| match error {
            TreeError::ThroughFile(path) => PushError::Path { path },
            TreeError::Other(source) => fail(source),
        })?;
        let actor = gix::actor::Signature {
            name: sanitize_name(&push.author.name).into(),
            email: sanitize_name(&push.author.email).into(),
            time: gix::date::Time::new(push.author.at.as_millis().div_euclid(1000), 0),
        };
        let commit = Commit {
            tree,
            parents: [base.id].into_iter().collect(),
            author: actor.clone(),
            committer: actor,
            encoding: None,
            message: format!("{}\n", push.message.trim_end()).into(),
            extra_headers: Vec::new(),
        };
        let id = repository.write_object(&commit).map_err(|error| fail(error.into()))?;
        Ok(CommitId::of(&id))
    }

    /// The commit of a branch that was last pushed from this mirror.
    fn last_pushed(&self, branch: &Branch) -> Option<CommitId> {
        let repository = self.open().ok()?;
        let id = repository.find_reference(pushed_reference(branch).as_str()).ok()?.try_id()?.detach();
        Some(CommitId::of(&id))
    }

    fn remember_pushed(&self, branch: &Branch, commit: &CommitId) -> Result<(), Cause> {
        let repository = self.open()?;
        let id = commit.object().ok_or("not an id")?;
        let any = gix::refs::transaction::PreviousValue::Any;
        repository.reference(pushed_reference(branch), id, any, "pushed")?;
        Ok(())
    }

    fn send(
        &self,
        options: &FetchOptions<'_>,
        branch: &Branch,
        commit: &CommitId,
        expected: Option<&CommitId>,
    ) -> Result<(), PushError> {
        let remote = options.url.to_string();
        let fetch_guard = FetchGuard::start(options.limits);
        let ended = run_with_watchdog(&fetch_guard, options.interrupt, || {
            if let Some(problem) = fetch_guard.stop_reason() {
                return Err(problem);
            }
            let room = PushEnvironment::prepare(options, &fetch_guard)?;
            let mut command = room.command(self.directory());
            let expected = expected.map_or("", CommitId::as_str);
            let reference = branch.reference();
            command.args(["push", "--porcelain", "--no-verify", "--no-signed"]);
            // No `+` before the commit: it would override the lease.
            command.arg(format!("--force-with-lease={reference}:{expected}"));
            command.arg("--").arg(options.url.as_str()).arg(format!("{commit}:{reference}"));
            let (printed, ended) = GitProcess::run(command, &fetch_guard)
                .map_err(|error| classify_io_error("starting the git program", &error))?;
            if let Some(problem) = fetch_guard.stop_reason() {
                return Err(problem);
            }
            match ended.outcome {
                ProcessOutcome::Success => Ok(None),
                ProcessOutcome::Failed => Ok(Some((printed, ended, room.login.map(Box::new)))),
            }
        });
        let Some((printed, ended, login)) =
            ended.map_err(|problem| PushError::Remote { remote: remote.clone(), problem })?
        else {
            return Ok(());
        };
        let refusal = printed.lines().find(|line| line.starts_with('!')).map(quote_remote_text);
        Err(match refusal {
            Some(line)
                if line.contains("stale info")
                    || line.contains("fetch first")
                    || line.contains("already exists") =>
            {
                PushError::Taken { branch: branch.clone(), remote }
            }
            Some(reason) => {
                PushError::Refused { branch: branch.clone(), remote, reason: hide_user(&reason, options.url) }
            }
            None => PushError::Remote {
                remote,
                problem: explain(&ended, login.as_deref(), options.url, &fetch_guard),
            },
        })
    }
}

fn explain(
    ended: &ProcessResult,
    login: Option<&SshLogin>,
    url: &RemoteUrl,
    fetch_guard: &Arc<FetchGuard>,
) -> RemoteProblem {
    match login {
        Some(login) => login.explain(&ended.stderr, url, fetch_guard),
        None => classify_git_output(&ended.stderr, url),
    }
}

/// Messages of git and its TLS libraries about a rejected certificate.
const CERTIFICATE_REFUSED: [&str; 4] = [
    "certificate verification failed",
    "certificate verify failed",
    "certificate problem",
    "certificate subject name",
];

/// Classifies an error of the git program over https. Its message contains the URL, whose words are chosen by whoever
/// registers it: so only phrases with spaces are searched for, which no URL contains. All connection errors are
/// reported alike.
fn classify_git_output(stderr: &str, url: &RemoteUrl) -> RemoteProblem {
    let says = |words: &[&str]| words.iter().any(|word| stderr.contains(word));
    let reason = hide_user(&quote_remote_text(stderr), url);
    if says(&["Authentication failed", "could not read Username", "The requested URL returned error: 403"]) {
        RemoteProblem::Auth { reason }
    } else if says(&["Could not resolve host"]) {
        RemoteProblem::Dns { host: url.host().to_owned() }
    } else if says(&CERTIFICATE_REFUSED) {
        RemoteProblem::Tls { reason }
    } else if says(&["unable to access '"]) && !says(&["The requested URL returned error"]) {
        RemoteProblem::Connect { host: url.host().to_owned(), detail: reason }
    } else if says(&["' not found", "not appear to be a git repository"]) {
        RemoteProblem::RepositoryMissing
    } else {
        RemoteProblem::Protocol { reason }
    }
}

/// Removes the user from the URL in git's messages.
fn hide_user(text: &str, url: &RemoteUrl) -> String {
    text.replace(url.as_str(), &url.to_string())
}

fn pushed_reference(branch: &Branch) -> String {
    format!("{PUSHED_REFERENCES}{branch}")
}

/// Removes `<`, `>` and line ends, which delimit the author line of a commit.
fn sanitize_name(text: &str) -> String {
    text.chars().filter(|char| !char.is_control() && !"<>".contains(*char)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;
    use crate::remote::InsecureUrls;

    #[test]
    fn no_word_of_an_address_affects_the_error_class() {
        for address in [
            "https://10.0.0.5:6379/certificate.git",
            "https://certificate.example:6379/not%20found/SSL",
            "https://e/e",
        ] {
            let url = RemoteUrl::parse(address, InsecureUrls::Refused).unwrap();
            let failing = |why: &str| {
                classify_git_output(&format!("fatal: unable to access '{address}/': {why}"), &url).code()
            };
            for unreached in [
                "Failed to connect to certificate.example port 6379 after 1 ms: Couldn't connect to server",
                "Failed to connect to 10.0.0.5 port 6379: Connection timed out",
                "error:0A00010B:SSL routines::wrong version number",
                "gnutls_handshake() failed: An unexpected TLS packet was received.",
                "Empty reply from server",
                "Recv failure: Connection reset by peer",
            ] {
                assert_eq!(failing(unreached), "connect", "{address}: {unreached}");
            }
            for refused in [
                "server certificate verification failed. CAfile: none CRLfile: none",
                "SSL certificate problem: unable to get local issuer certificate",
                "SSL: no alternative certificate subject name matches target host name 'e'",
            ] {
                assert_eq!(failing(refused), "tls", "{address}: {refused}");
            }
            assert_eq!(failing("The requested URL returned error: 500"), "protocol");
            assert_eq!(
                classify_git_output(&format!("fatal: repository '{address}/' not found"), &url).code(),
                "repository-missing"
            );
        }
    }
}

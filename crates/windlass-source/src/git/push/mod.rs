//! Mirror → remote: a new branch with changed files.
//!
//! Objects are written into the mirror without a work tree; the `git` program sends them, because gix cannot. A branch
//! that somebody else made or moved is never overwritten: git is told what we expect there, and refuses otherwise.

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
use super::mirror::{Mirror, PUSHED};
use super::process::{GitProcess, ProcessOutcome, ProcessResult};
use super::ssh::SshLogin;
use crate::remote::{Branch, PathPrefix, RemoteUrl};

/// Who a commit is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitAuthor {
    /// Their name.
    pub name: String,
    /// Their address.
    pub email: String,
    /// When they made it.
    pub at: Timestamp,
}

/// A file of the new branch, with its path from the repository's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Where it lies.
    pub path: String,
    /// What it contains.
    pub content: Vec<u8>,
}

/// What to push.
#[derive(Clone, Copy)]
pub struct Push<'a> {
    /// The commit to build upon. It must be in the mirror.
    pub base: &'a CommitId,
    /// The branch to make.
    pub branch: &'a Branch,
    /// The files that differ from `base`.
    pub files: &'a [NewFile],
    /// The commit's message.
    pub message: &'a str,
    /// Who it is from.
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
        /// What went wrong.
        #[source]
        source: Cause,
    },
    /// The remote has a branch of this name that is not ours, or was changed since.
    #[error("branch {branch} already exists at {remote}, and Windlass did not create it")]
    Taken {
        /// The branch.
        branch: Branch,
        /// The address, without its user.
        remote: String,
    },
    /// The remote does not let us.
    #[error("{remote} refuses branch {branch}: {reason}")]
    Refused {
        /// The branch.
        branch: Branch,
        /// The address, without its user.
        remote: String,
        /// What it said.
        reason: String,
    },
    /// The remote could not be talked to.
    #[error("Failed to push to {remote}: {problem}")]
    Remote {
        /// The address, without its user.
        remote: String,
        /// What was in the way.
        problem: RemoteProblem,
    },
}

impl Mirror {
    /// Makes a commit of changed files and pushes it as a new branch, or as the next state of a branch that was pushed
    /// from this mirror before.
    pub fn push_branch(&self, options: &FetchOptions<'_>, push: &Push<'_>) -> Result<CommitId, PushError> {
        let commit = self.write_commit(push)?;
        let expected = self.pushed(push.branch);
        let mut sent = self.send(options, push.branch, &commit, expected.as_ref());
        if expected.is_some() && matches!(sent, Err(PushError::Taken { .. })) {
            // Ours was merged and deleted meanwhile: then there is nothing to overwrite.
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

    /// The state of a branch as it was last pushed from here.
    fn pushed(&self, branch: &Branch) -> Option<CommitId> {
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
        let bounds = FetchGuard::start(options.limits);
        let ended = run_with_watchdog(&bounds, options.interrupt, || {
            if let Some(problem) = bounds.stop_reason() {
                return Err(problem);
            }
            let room = PushEnvironment::prepare(options, &bounds)?;
            let mut command = room.command(self.directory());
            let expected = expected.map_or("", CommitId::as_str);
            let reference = branch.reference();
            command.args(["push", "--porcelain", "--no-verify", "--no-signed"]);
            // No `+` before the commit: it would override the lease.
            command.arg(format!("--force-with-lease={reference}:{expected}"));
            command.arg("--").arg(options.url.as_str()).arg(format!("{commit}:{reference}"));
            let (printed, ended) = GitProcess::run(command, &bounds)
                .map_err(|error| classify_io_error("starting the git program", &error))?;
            if let Some(problem) = bounds.stop_reason() {
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
            None => {
                PushError::Remote { remote, problem: explain(&ended, login.as_deref(), options.url, &bounds) }
            }
        })
    }
}

fn explain(
    ended: &ProcessResult,
    login: Option<&SshLogin>,
    url: &RemoteUrl,
    bounds: &Arc<FetchGuard>,
) -> RemoteProblem {
    match login {
        Some(login) => login.explain(&ended.said, url, bounds),
        None => classify_git_output(&ended.said, url),
    }
}

/// How git and the libraries it is built with say that a certificate was shown and is not accepted.
const CERTIFICATE_REFUSED: [&str; 4] = [
    "certificate verification failed",
    "certificate verify failed",
    "certificate problem",
    "certificate subject name",
];

/// What the git program means that speaks https. It names the address, which whoever registers it chooses: so only words
/// with spaces between are looked for, which no address holds. That nobody who speaks https was reached is told in one
/// way, whatever the reason.
fn classify_git_output(said: &str, url: &RemoteUrl) -> RemoteProblem {
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let reason = hide_user(&quote_remote_text(said), url);
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

/// git names the address it was given, user and all.
fn hide_user(text: &str, url: &RemoteUrl) -> String {
    text.replace(url.as_str(), &url.to_string())
}

fn pushed_reference(branch: &Branch) -> String {
    format!("{PUSHED}{branch}")
}

/// Names go into a line of the commit that `<`, `>` and line ends structure.
fn sanitize_name(text: &str) -> String {
    text.chars().filter(|char| !char.is_control() && !"<>".contains(*char)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;
    use crate::remote::InsecureUrls;

    #[test]
    fn no_word_of_an_address_is_taken_for_what_went_wrong() {
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

//! The metadata of one commit.

use gix::bstr::ByteSlice as _;
use windlass_core::time::Timestamp;

use super::budget::MAX_COMMIT_BYTES;
use super::commit_id::CommitId;
use super::mirror::{Mirror, MirrorError};

/// Longer messages are cut.
const MAX_MESSAGE_CHARS: usize = 4096;
/// One line of a list.
const MAX_SUBJECT_CHARS: usize = 200;
/// Longer than names and addresses of people.
const MAX_NAME_CHARS: usize = 200;

/// The metadata of a commit. It is untrusted text: shortened, and converted to UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// Its id.
    pub id: CommitId,
    /// The author's name.
    pub author_name: String,
    /// The author's e-mail address.
    pub author_email: String,
    /// The committer's timestamp.
    pub committed_at: Timestamp,
    /// The first line of the message.
    pub subject: String,
    /// The whole message.
    pub message: String,
}

impl Mirror {
    /// Reads the metadata of a commit in the mirror.
    pub fn commit(&self, id: &CommitId) -> Result<CommitInfo, MirrorError> {
        let repository = self.open()?;
        let commit = self.find_commit(&repository, id)?;
        let unreadable = |source: gix::Error| MirrorError::unreadable(id, source);
        let author = commit.author().map_err(unreadable)?;
        let seconds = commit.committer().map_err(unreadable)?.seconds();
        let message = commit.message_raw_sloppy();
        let subject =
            message.lines().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default();
        Ok(CommitInfo {
            id: id.clone(),
            author_name: cut(author.name, MAX_NAME_CHARS),
            author_email: cut(author.email, MAX_NAME_CHARS),
            committed_at: Timestamp::from_millis(seconds.saturating_mul(1000)),
            subject: cut(subject, MAX_SUBJECT_CHARS),
            message: cut(message, MAX_MESSAGE_CHARS).trim_end().to_owned(),
        })
    }

    pub(super) fn find_commit<'repo>(
        &self,
        repository: &'repo gix::Repository,
        id: &CommitId,
    ) -> Result<gix::Commit<'repo>, MirrorError> {
        let object = id.object().ok_or_else(|| MirrorError::NoCommit { id: id.clone() })?;
        let header = repository
            .try_find_header(object)
            .map_err(|source| MirrorError::unreadable(id, source))?
            .ok_or_else(|| MirrorError::NoCommit { id: id.clone() })?;
        if header.size() > MAX_COMMIT_BYTES {
            return Err(MirrorError::unreadable(id, "the commit has more than 1 MiB"));
        }
        repository.find_commit(object).map_err(|source| MirrorError::unreadable(id, source))
    }
}

fn cut(text: &[u8], chars: usize) -> String {
    let end = text.len().min(chars.saturating_mul(4));
    String::from_utf8_lossy(&text[..end]).chars().take(chars).collect()
}

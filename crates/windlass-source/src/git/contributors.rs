//! Lists everyone who contributed to the commits between the last synced commit and the tip.
//!
//! After the first fetch a mirror has only the tip; after later ones also the commits in between, unless they exceed
//! the limits. If commits are missing, only the contributors of the tip are listed, and the list is marked as
//! incomplete.

use gix::bstr::ByteSlice as _;
use windlass_core::gate::{Contributor, ContributorRole, Contributors, ContributorsGap};

use super::commit_id::CommitId;
use super::mirror::{Mirror, MirrorError};

/// Longer than names and addresses of people.
const MAX_PERSON_BYTES: usize = 800;

impl Mirror {
    /// Authors, committers and co-authors of a commit and of its ancestors that are not reachable from `since`. Without
    /// `since`, only those of the commit itself.
    pub fn contributors(
        &self,
        tip: &CommitId,
        since: Option<&CommitId>,
    ) -> Result<Contributors, MirrorError> {
        let repository = self.open()?;
        let mut people = Contributors::default();
        self.add_contributors(&repository, tip, &mut people)?;
        let Some(since) = since else { return Ok(people) };
        let between = self.commits_between(&repository, since, tip)?;
        if !between.is_whole {
            people.note_gap(ContributorsGap::HistoryNotFollowed);
        }
        for id in &between.commits {
            self.add_contributors(&repository, id, &mut people)?;
        }
        Ok(people)
    }

    /// Adds the contributors of one commit.
    fn add_contributors(
        &self,
        repository: &gix::Repository,
        id: &CommitId,
        people: &mut Contributors,
    ) -> Result<(), MirrorError> {
        let commit = self.find_commit(repository, id)?;
        let unreadable = |source: gix::Error| MirrorError::unreadable(id, source);
        let (author, committer) =
            (commit.author().map_err(unreadable)?, commit.committer().map_err(unreadable)?);
        people.add(contributor(ContributorRole::Author, author.email));
        people.add(contributor(ContributorRole::Committer, committer.email));
        let message = commit.message_raw_sloppy();
        let named = message.lines().filter_map(co_author);
        people.add(named.filter_map(|email| contributor(ContributorRole::CoAuthor, email)));
        Ok(())
    }
}

fn contributor(role: ContributorRole, email: &[u8]) -> Option<Contributor> {
    let email = &email[..email.len().min(MAX_PERSON_BYTES)];
    Contributor::new(role, &String::from_utf8_lossy(email))
}

/// The address in `Co-authored-by: Name <address>`.
fn co_author(line: &[u8]) -> Option<&[u8]> {
    const TRAILER: &[u8] = b"co-authored-by:";
    let (key, rest) = line.split_at_checked(TRAILER.len())?;
    if !key.eq_ignore_ascii_case(TRAILER) {
        return None;
    }
    let begin = rest.find_byte(b'<')? + 1;
    let end = begin + rest[begin..].find_byte(b'>')?;
    Some(&rest[begin..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn co_authors_are_found_by_their_trailer() {
        let found =
            |line: &str| co_author(line.as_bytes()).map(|email| String::from_utf8_lossy(email).into_owned());
        assert_eq!(found("Co-authored-by: Ann B <ann@example.com>").as_deref(), Some("ann@example.com"));
        assert_eq!(found("CO-AUTHORED-BY:<x@y>").as_deref(), Some("x@y"));
        for line in ["", "Co-authored-by: Ann", "Co-authored-by: <", "Reviewed-by: A <a@b>", "é"] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}

//! Everyone who had a hand in the commits between one that was made use of and the tip.
//!
//! A mirror holds the tip alone after its first fetch and what lies between afterwards; commits that it does not hold
//! are passed over, so the tip's own people are always told and those of earlier commits as far as they are there.

use std::collections::BTreeSet;

use gix::bstr::ByteSlice as _;
use windlass_core::gate::{Contributor, ContributorRole, add_contributors};

use super::commit::CommitId;
use super::mirror::{Mirror, MirrorError};

/// Commits that are looked at: as many as a push that people review has, and no more than a moment's work.
const MAX_COMMITS: usize = 500;
/// Names and addresses of people are shorter.
const MAX_PERSON_BYTES: usize = 800;

impl Mirror {
    /// Authors, committers and co-authors of a commit and of its ancestors up to another one, which is not looked at.
    /// Without another one, those of the commit alone.
    pub fn contributors(
        &self,
        tip: &CommitId,
        since: Option<&CommitId>,
    ) -> Result<Vec<Contributor>, MirrorError> {
        let repository = self.open()?;
        let mut people = Vec::new();
        let mut seen = BTreeSet::from([tip.clone()]);
        let mut waiting = std::collections::VecDeque::from([tip.clone()]);
        while let Some(id) = waiting.pop_front() {
            if since == Some(&id) {
                continue;
            }
            let commit = match self.find_commit(&repository, &id) {
                Err(MirrorError::NoCommit { .. }) if id != *tip => continue,
                found => found?,
            };
            let unreadable = |source: gix::Error| MirrorError::unreadable(&id, source);
            let (author, committer) =
                (commit.author().map_err(unreadable)?, commit.committer().map_err(unreadable)?);
            add_contributors(&mut people, contributor(ContributorRole::Author, author.email));
            add_contributors(&mut people, contributor(ContributorRole::Committer, committer.email));
            let message = commit.message_raw_sloppy();
            let named = message.lines().filter_map(co_author);
            add_contributors(
                &mut people,
                named.filter_map(|email| contributor(ContributorRole::CoAuthor, email)),
            );
            if since.is_none() {
                break;
            }
            for parent in commit.parent_ids() {
                let parent = CommitId::of(&parent);
                if seen.len() < MAX_COMMITS && seen.insert(parent.clone()) {
                    waiting.push_back(parent);
                }
            }
        }
        Ok(people)
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

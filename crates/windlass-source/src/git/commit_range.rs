//! Lists the commits that are reachable from a tip and not from an older commit, like `git rev-list since..tip`.
//!
//! The walk goes from newest to oldest through both histories until no commit is left that only the tip reaches. Commit
//! dates decide only the order: forged dates can make the walk longer and the list larger, never smaller.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::commit_id::CommitId;
use super::mirror::{Mirror, MirrorError};

/// How many commits are listed: as many as a push that people review has.
const MAX_COMMITS: usize = 500;
/// How many commits are visited: the walk takes a fraction of a second.
const MAX_WALKED: usize = 5_000;

/// The commits between two commits.
#[derive(Debug)]
pub(super) struct CommitRange {
    /// The commits that were found, including the tip.
    pub(super) commits: Vec<CommitId>,
    /// Whether the list is complete: the older commit was reached, the mirror has every commit in between, and no limit
    /// was exceeded.
    pub(super) is_whole: bool,
}

/// Which end of the range a commit is reachable from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HistorySide {
    /// From the tip only, as far as is known.
    New,
    /// From the older commit.
    Old,
}

/// A commit that was visited.
struct VisitedCommit {
    side: HistorySide,
    time: i64,
    /// `None` if the mirror does not have the commit.
    parents: Option<Vec<CommitId>>,
}

struct HistoryWalk<'w> {
    mirror: &'w Mirror,
    repository: &'w gix::Repository,
    met: BTreeMap<CommitId, VisitedCommit>,
    /// The commits to visit next, ordered by time.
    waiting: BinaryHeap<(i64, CommitId)>,
    new_waiting: BTreeSet<CommitId>,
    new_count: usize,
}

impl Mirror {
    /// The commits from a tip back to an older commit, which is not included.
    pub(super) fn commits_between(
        &self,
        repository: &gix::Repository,
        since: &CommitId,
        tip: &CommitId,
    ) -> Result<CommitRange, MirrorError> {
        if since == tip {
            return Ok(CommitRange { commits: Vec::new(), is_whole: true });
        }
        let mut walk = HistoryWalk {
            mirror: self,
            repository,
            met: BTreeMap::new(),
            waiting: BinaryHeap::new(),
            new_waiting: BTreeSet::new(),
            new_count: 0,
        };
        walk.visit(since, HistorySide::Old)?;
        walk.visit(tip, HistorySide::New)?;
        let mut is_reached = false;
        while let Some((side, parents)) = walk.next() {
            for parent in &parents {
                is_reached |= side == HistorySide::New && parent == since;
                walk.visit(parent, side)?;
            }
            if walk.is_too_much() {
                break;
            }
        }
        let is_whole = is_reached && !walk.is_too_much() && !walk.lacks_a_new_commit();
        Ok(CommitRange { commits: walk.into_new(), is_whole })
    }
}

impl HistoryWalk<'_> {
    /// Marks a commit, and queues it if its side is new.
    fn visit(&mut self, id: &CommitId, side: HistorySide) -> Result<(), MirrorError> {
        match self.met.get_mut(id) {
            Some(met) if met.side == HistorySide::Old || side == HistorySide::New => return Ok(()),
            Some(met) => {
                // The commit is also in the history of the older commit, and so are all its ancestors.
                met.side = HistorySide::Old;
                self.new_count -= 1;
                self.new_waiting.remove(id);
                self.waiting.push((met.time, id.clone()));
            }
            None => {
                let met = self.load(id, side)?;
                self.waiting.push((met.time, id.clone()));
                self.met.insert(id.clone(), met);
                if side == HistorySide::New {
                    self.new_count += 1;
                    self.new_waiting.insert(id.clone());
                }
            }
        }
        Ok(())
    }

    fn load(&self, id: &CommitId, side: HistorySide) -> Result<VisitedCommit, MirrorError> {
        match self.mirror.find_commit(self.repository, id) {
            Err(MirrorError::NoCommit { .. }) => Ok(VisitedCommit { side, time: i64::MIN, parents: None }),
            Err(error) => Err(error),
            Ok(commit) => {
                let time = commit.time().map_or(0, |time| time.seconds);
                let parents = commit.parent_ids().map(|parent| CommitId::of(&parent)).collect();
                Ok(VisitedCommit { side, time, parents: Some(parents) })
            }
        }
    }

    /// The side and the parents of the next commit; `None` when no queued commit is reachable from the tip only.
    fn next(&mut self) -> Option<(HistorySide, Vec<CommitId>)> {
        if self.new_waiting.is_empty() {
            return None;
        }
        let (_, id) = self.waiting.pop()?;
        self.new_waiting.remove(&id);
        let met = self.met.get(&id)?;
        Some((met.side, met.parents.clone().unwrap_or_default()))
    }

    fn is_too_much(&self) -> bool {
        self.new_count > MAX_COMMITS || self.met.len() > MAX_WALKED
    }

    fn lacks_a_new_commit(&self) -> bool {
        self.met.values().any(|met| met.side == HistorySide::New && met.parents.is_none())
    }

    fn into_new(self) -> Vec<CommitId> {
        let is_listed = |met: &VisitedCommit| met.side == HistorySide::New && met.parents.is_some();
        self.met.into_iter().filter(|(_, met)| is_listed(met)).map(|(id, _)| id).collect()
    }
}

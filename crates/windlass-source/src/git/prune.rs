//! Keeps a mirror small: removes the remains of interrupted fetches, and history that is not needed.
//!
//! Every fetch adds a pack. When there are many or large packs, the objects of one commit (and of pushed branches) are
//! written again as loose objects and the packs are deleted. In between every object exists twice, so a crash loses
//! nothing. The commit is the last synced one, so that the next fetch gets the commits between it and the tip.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gix::objs::{FindExt as _, Write as _};
use gix::refs::transaction::PreviousValue;

use super::budget::{ObjectBudget, sized_tree};
use super::commit_id::CommitId;
use super::error::{RemoteProblem, classify_io_error};
use super::fetch_options::FetchOptions;
use super::mirror::{HeldTip, Mirror, PUSHED_REFERENCES, TIP_REFERENCE, ignore_not_found};
use crate::walk::WalkLimitExceeded;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// A lookup of an object searches every pack.
const MAX_PACKS: usize = 32;
/// Several times what a remote may send at once.
const MAX_REACHABLE: usize = 1_000_000;
/// A killed process leaves its lock files, on which the next one would wait forever.
const LOCKS: [&str; 5] =
    ["refs/heads/tip.lock", "shallow.lock", "HEAD.lock", "config.lock", "packed-refs.lock"];

impl Mirror {
    /// Removes what a killed fetch left behind, and alternates that point out of the mirror.
    pub(super) fn remove_leftovers(&self) -> io::Result<()> {
        let objects = self.directory().join("objects");
        fs::remove_file(objects.join("info/alternates")).or_else(ignore_not_found)?;
        for lock in LOCKS {
            fs::remove_file(self.directory().join(lock)).or_else(ignore_not_found)?;
        }
        for path in files_in(&objects.join("pack"))? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let extension = path.extension().and_then(|extension| extension.to_str());
            let is_ours = name.starts_with("pack-") && matches!(extension, Some("pack" | "idx"));
            let is_whole =
                is_ours && path.with_extension("idx").exists() && path.with_extension("pack").exists();
            if !is_whole {
                fs::remove_file(&path).or_else(ignore_not_found)?;
            }
        }
        Ok(())
    }

    /// Whether the mirror has a tip.
    pub(super) fn has_tip(&self) -> bool {
        self.directory().join(TIP_REFERENCE).exists()
    }

    /// Whether an object of the tip is missing or damaged.
    pub(super) fn is_damaged(&self) -> bool {
        let walk = || -> Option<()> {
            let repository = self.open().ok()?;
            let tip = self.held_tip()?.commit.object()?;
            let budget = ObjectBudget::start();
            for id in reachable(&repository, tip, &budget).ok()? {
                budget.check().ok()?;
                repository.find_object(id).ok()?;
            }
            Some(())
        };
        walk().is_none()
    }

    /// Reduces the mirror to one commit if it has grown too large. Returns its tip; `None` if the commit exceeds the
    /// limits, so that the mirror must be fetched again.
    pub(super) fn prune(
        &self,
        held_tip: HeldTip,
        options: &FetchOptions<'_>,
    ) -> Result<Option<HeldTip>, RemoteProblem> {
        let local = |error: io::Error| classify_io_error("pruning the mirror", &error);
        let packs = files_in(&self.directory().join("objects/pack")).map_err(local)?;
        let bytes: u64 = packs.iter().filter_map(|path| fs::metadata(path).ok()).map(|data| data.len()).sum();
        if packs.len() <= MAX_PACKS * 2 && bytes <= options.limits.bytes.saturating_mul(2) {
            return Ok(Some(held_tip));
        }
        let used = options.since.filter(|since| self.commit(since).is_ok());
        let kept = HeldTip { commit: used.unwrap_or(&held_tip.commit).clone(), ..held_tip };
        match self.keep_only(&kept.commit) {
            Ok(()) => Ok(Some(kept)),
            Err(error) if error.is::<WalkLimitExceeded>() => {
                self.recreate().map_err(|error| RemoteProblem::Local { reason: error.to_string() })?;
                Ok(None)
            }
            Err(error) => Err(RemoteProblem::Local { reason: format!("pruning the mirror: {error}") }),
        }
    }

    /// Deletes everything except one commit, the pushed commits, their files, and the content to keep.
    fn keep_only(&self, tip: &CommitId) -> Result<(), BoxedError> {
        let repository = self.open()?;
        let tip = tip.object().ok_or("not an id")?;
        repository.reference(TIP_REFERENCE, tip, PreviousValue::Any, "pruned")?;
        let mut commits = pushed_commits(&repository)?;
        commits.insert(tip);
        let objects = self.directory().join("objects");
        let loose = gix::odb::loose::Store::at(objects.clone(), repository.object_hash());
        let mut kept = BTreeSet::new();
        let budget = ObjectBudget::start();
        for commit in &commits {
            kept.extend(reachable(&repository, *commit, &budget)?);
        }
        let (files, directories) = self.kept_objects(&repository);
        kept.extend(files);
        for directory in directories {
            kept.extend(reachable_from_tree(&repository, directory, &budget)?);
        }
        let mut buffer = Vec::new();
        for id in &kept {
            budget.check()?;
            let object = repository.objects.find(id, &mut buffer)?;
            loose.write_buf(object.kind, object.data)?;
        }
        let boundary: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        fs::write(repository.shallow_file()?, boundary)?;
        for path in files_in(&objects.join("pack"))? {
            fs::remove_file(&path).or_else(ignore_not_found)?;
        }
        remove_other_loose(&objects, &kept)?;
        Ok(())
    }
}

/// The commits of branches that were pushed from this mirror.
fn pushed_commits(repository: &gix::Repository) -> Result<BTreeSet<gix::ObjectId>, BoxedError> {
    let mut commits = BTreeSet::new();
    for reference in repository.references()?.prefixed(PUSHED_REFERENCES)? {
        commits.extend(reference?.try_id().map(gix::Id::detach));
    }
    Ok(commits)
}

/// A commit with its trees and files, without history and submodules.
fn reachable(
    repository: &gix::Repository,
    commit: gix::ObjectId,
    budget: &ObjectBudget,
) -> Result<BTreeSet<gix::ObjectId>, BoxedError> {
    let root = repository.find_commit(commit)?.tree_id()?.detach();
    let mut found = reachable_from_tree(repository, root, budget)?;
    found.insert(commit);
    Ok(found)
}

/// A directory with everything below it, without submodules.
fn reachable_from_tree(
    repository: &gix::Repository,
    root: gix::ObjectId,
    budget: &ObjectBudget,
) -> Result<BTreeSet<gix::ObjectId>, BoxedError> {
    let mut found = BTreeSet::from([root]);
    let mut trees = vec![root];
    while let Some(tree) = trees.pop() {
        if found.len() > MAX_REACHABLE {
            return Err(WalkLimitExceeded(format!("a commit has more than {MAX_REACHABLE} objects")).into());
        }
        for entry in sized_tree(repository, tree, budget)?.iter() {
            let entry = entry?;
            let id = entry.oid().to_owned();
            let is_new = !entry.mode().is_commit() && found.insert(id);
            if is_new && entry.mode().is_tree() {
                trees.push(id);
            }
        }
    }
    Ok(found)
}

fn remove_other_loose(objects: &Path, kept: &BTreeSet<gix::ObjectId>) -> io::Result<()> {
    for directory in fs::read_dir(objects)? {
        let directory = directory?.path();
        let Some(first) = directory.file_name().and_then(|name| name.to_str()).filter(|name| name.len() == 2)
        else {
            continue;
        };
        for path in files_in(&directory)? {
            let rest = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let id = gix::ObjectId::from_hex(format!("{first}{rest}").as_bytes());
            if !id.is_ok_and(|id| kept.contains(&id)) {
                fs::remove_file(&path).or_else(ignore_not_found)?;
            }
        }
    }
    Ok(())
}

fn files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
    }
}

//! Blobs on the disk: module packages and files, by digest.
//!
//! A blob is fetched into `partial/`, so that a broken download goes on where it stopped, and put in place only when its
//! digest matches. What the current or the last good assignment uses is never evicted; the rest is, the longest unused
//! first, when the cache is over its bound.

mod partial;

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use windlass_core::host::{BlobDigest, BlobRef, MAX_PACKAGE_BYTES};

pub(crate) use partial::{FinishedDownload, PartialBlob};

use crate::state::StateError;
use crate::surroundings::DiskHooks;
use crate::target::host::BlobSource;

/// The blobs of an agent.
#[derive(Clone, Debug)]
pub(crate) struct BlobCache {
    directory: PathBuf,
    /// How many bytes may stay that no assignment uses.
    bound: u64,
    hooks: DiskHooks,
}

impl BlobCache {
    /// Creates the directory if it does not exist.
    pub(crate) fn open(directory: &Path, bound: u64, hooks: DiskHooks) -> Result<BlobCache, StateError> {
        let partial = directory.join("partial");
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&partial);
        made.map_err(|error| StateError::io("create", &partial, error))?;
        Ok(BlobCache { directory: directory.to_owned(), bound, hooks })
    }

    fn path(&self, digest: &BlobDigest) -> PathBuf {
        self.directory.join(hex(digest))
    }

    /// Whether a blob is there and whole. One that is damaged is deleted.
    pub(crate) fn has(&self, digest: &BlobDigest) -> Result<bool, StateError> {
        let path = self.path(digest);
        let failed = |error: io::Error| StateError::io("read", &path, error);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed(error)),
        };
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut file, &mut hasher).map_err(failed)?;
        if BlobDigest::from_hasher(&hasher) == *digest {
            return Ok(true);
        }
        tracing::warn!(%digest, "a cached blob is damaged; the agent fetches it again");
        fs::remove_file(&path).map_err(failed)?;
        Ok(false)
    }

    /// The bytes of a module package. `None` if it is not there or damaged.
    pub(crate) fn package(&self, digest: &BlobDigest) -> Result<Option<Vec<u8>>, StateError> {
        let path = self.path(digest);
        let mut bytes = Vec::new();
        let read = File::open(&path)
            .and_then(|file| file.take(MAX_PACKAGE_BYTES as u64 + 1).read_to_end(&mut bytes));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StateError::io("read", &path, error)),
            Ok(_) => {}
        }
        Ok((BlobDigest::of(&bytes) == *digest).then_some(bytes))
    }

    /// A download of a blob of at most `limit` bytes, begun or to be begun.
    pub(crate) fn partial(&self, digest: BlobDigest, limit: u64) -> PartialBlob {
        let partial = self.directory.join("partial").join(hex(&digest));
        PartialBlob { digest, limit, partial, path: self.path(&digest), hooks: self.hooks.clone() }
    }

    /// Deletes what is over the bound, but nothing that is needed. A blob that cannot be deleted stays.
    pub(crate) fn evict(&self, needed: &BTreeSet<BlobDigest>) {
        let needed: BTreeSet<String> = needed.iter().map(hex).collect();
        let mut unused = self.unused(&self.directory, &needed);
        unused.extend(self.unused(&self.directory.join("partial"), &BTreeSet::new()));
        unused.sort_by_key(|blob| std::cmp::Reverse(blob.used));
        let mut kept = 0_u64;
        for blob in unused {
            kept = kept.saturating_add(blob.size);
            if kept > self.bound
                && let Err(error) = fs::remove_file(&blob.path)
            {
                tracing::warn!(path = %blob.path.display(), %error, "cannot delete from the cache");
            }
        }
    }

    fn unused(&self, directory: &Path, needed: &BTreeSet<String>) -> Vec<UnusedBlob> {
        let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
        let files = entries.filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let is_needed = needed.contains(entry.file_name().to_str()?);
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            (!is_needed).then(|| UnusedBlob { path: entry.path(), size: metadata.len(), used })
        });
        files.collect()
    }

    /// Notes that blobs are in use, so that they are evicted last once they are not.
    pub(crate) fn touch(&self, used: &BTreeSet<BlobDigest>) {
        for digest in used {
            // A cache without times evicts in another order, and works.
            let _ = File::open(self.path(digest)).and_then(|file| file.set_modified(SystemTime::now()));
        }
    }
}

struct UnusedBlob {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

impl BlobSource for BlobCache {
    fn open(&self, blob: &BlobRef) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(File::open(self.path(&blob.digest))?))
    }
}

fn hex(digest: &BlobDigest) -> String {
    let text = digest.to_string();
    text.strip_prefix("blake3:").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests;

//! A download that can break and go on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use windlass_core::host::BlobDigest;

use crate::state::StateError;
use crate::surroundings::DiskHooks;

/// The largest window of a compressed blob, as a power of two: what zstd uses up to level 19.
const MAX_WINDOW: u32 = 23;

/// A blob that is being fetched.
#[derive(Clone, Debug)]
pub(crate) struct PartialBlob {
    pub(super) digest: BlobDigest,
    /// The most bytes that it may have, decompressed.
    pub(super) limit: u64,
    pub(super) partial: PathBuf,
    pub(super) path: PathBuf,
    pub(super) hooks: DiskHooks,
}

/// How a download ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishedDownload {
    /// The blob is whole and in the cache.
    Stored,
    /// The end is missing.
    Incomplete,
    /// It is not the blob that was asked for. What was fetched is deleted.
    Tampered,
}

impl PartialBlob {
    pub(crate) fn digest(&self) -> BlobDigest {
        self.digest
    }

    /// How many compressed bytes are there.
    pub(crate) fn length(&self) -> u64 {
        fs::metadata(&self.partial).map_or(0, |metadata| metadata.len())
    }

    /// The most compressed bytes: incompressible data grows a little.
    pub(crate) fn compressed_limit(&self) -> u64 {
        self.limit + self.limit / 128 + 1024
    }

    /// Deletes what is there.
    pub(crate) fn discard(&self) -> Result<(), StateError> {
        match fs::remove_file(&self.partial) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StateError::io("delete", &self.partial, error))
            }
            _ => Ok(()),
        }
    }

    /// Writes compressed bytes at this offset, which is where the download stands, or zero to begin anew.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), StateError> {
        let failed = |error: io::Error| StateError::io("write", &self.partial, error);
        self.hooks.before_write("a blob").map_err(failed)?;
        self.hooks.reached("before writing a part of a blob");
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.partial);
        let mut file = file.map_err(failed)?;
        if offset == 0 {
            file.set_len(0).map_err(failed)?;
        }
        file.write_all(bytes).map_err(failed)?;
        self.hooks.reached("after writing a part of a blob");
        Ok(())
    }

    /// Decompresses and verifies, and puts the blob in place if it is the right one.
    pub(crate) fn finish(&self) -> Result<FinishedDownload, StateError> {
        let new = self.partial.with_extension("new");
        let finished = self.decompress(&new)?;
        self.hooks.reached("before putting a blob in place");
        match finished {
            FinishedDownload::Stored => {
                fs::rename(&new, &self.path).map_err(|error| StateError::io("write", &self.path, error))?;
                self.discard()?;
            }
            FinishedDownload::Incomplete | FinishedDownload::Tampered => {
                let _ = fs::remove_file(&new);
                if finished == FinishedDownload::Tampered {
                    self.discard()?;
                }
            }
        }
        self.hooks.reached("after putting a blob in place");
        Ok(finished)
    }

    fn decompress(&self, new: &Path) -> Result<FinishedDownload, StateError> {
        let unreadable = |error: io::Error| StateError::io("read", &self.partial, error);
        let unwritable = |error: io::Error| StateError::io("write", new, error);
        let compressed = match File::open(&self.partial) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FinishedDownload::Incomplete),
            Err(error) => return Err(unreadable(error)),
        };
        let mut decoder = zstd::stream::read::Decoder::new(BufReader::new(compressed)).map_err(unreadable)?;
        decoder.window_log_max(MAX_WINDOW).map_err(unreadable)?;
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(new);
        let mut file = file.map_err(unwritable)?;
        let (mut hasher, mut size) = (blake3::Hasher::new(), 0_u64);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = match decoder.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(FinishedDownload::Incomplete);
                }
                Err(_) => return Ok(FinishedDownload::Tampered),
            };
            size += count as u64;
            if size > self.limit {
                return Ok(FinishedDownload::Tampered);
            }
            hasher.update(&buffer[..count]);
            file.write_all(&buffer[..count]).map_err(unwritable)?;
        }
        file.sync_all().map_err(unwritable)?;
        match BlobDigest::from_hasher(&hasher) == self.digest {
            true => Ok(FinishedDownload::Stored),
            // An empty file is no frame at all, so nothing was decompressed: the download has yet to begin.
            false if size == 0 && self.length() == 0 => Ok(FinishedDownload::Incomplete),
            false => Ok(FinishedDownload::Tampered),
        }
    }
}

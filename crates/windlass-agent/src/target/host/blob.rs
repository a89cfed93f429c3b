//! Blobs: the content of files that come from the repository.

use std::io::{self, Read};

use windlass_core::host::{BlobDigest, BlobRef};

use super::error::HostError;

/// Where the agent reads blobs from. The target verifies the size and the digest itself.
pub trait BlobSource {
    /// Opens a blob for reading.
    fn open(&self, blob: &BlobRef) -> io::Result<Box<dyn Read + '_>>;
}

/// The bytes of a blob that fits into memory.
pub(crate) fn read_blob(source: &dyn BlobSource, blob: &BlobRef) -> Result<Vec<u8>, HostError> {
    let mut bytes = Vec::new();
    copy_blob(source, blob, &mut |part| {
        bytes.extend_from_slice(part);
        Ok(())
    })?;
    Ok(bytes)
}

/// Passes a blob on, part by part. An error at the end means that the parts must not be used.
pub(crate) fn copy_blob(
    source: &dyn BlobSource,
    blob: &BlobRef,
    write: &mut dyn FnMut(&[u8]) -> Result<(), HostError>,
) -> Result<(), HostError> {
    let failed = |error: io::Error| HostError::io("read", blob.digest.to_string(), error);
    let mut reader = source.open(blob).map_err(failed)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut size = 0;
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        size += count as u64;
        if size > blob.size {
            break;
        }
        hasher.update(&buffer[..count]);
        write(&buffer[..count])?;
    }
    match size == blob.size && BlobDigest::from_hasher(&hasher) == blob.digest {
        true => Ok(()),
        false => Err(HostError::BlobMismatch { digest: blob.digest }),
    }
}

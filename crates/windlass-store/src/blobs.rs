//! Blobs: what agents fetch, by BLAKE3 digest, each once and compressed.
//!
//! A blob that no package refers to is marked, and deleted a day later, like contents. Storing it again removes the mark.

use std::time::Duration;

use windlass_core::host::BlobDigest;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::values;
use crate::write::Writing;

/// How long a blob that nothing refers to is kept: longer than any transaction, and than building a package takes.
const KEPT_UNUSED: Duration = Duration::from_secs(24 * 3600);

/// A blob to store.
#[derive(Clone, Debug)]
pub struct NewBlob {
    /// The digest of its content.
    pub digest: BlobDigest,
    /// The size of its content.
    pub size: u64,
    /// Its content, compressed with zstd.
    pub stored: Vec<u8>,
}

/// A stored blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// The size of its content.
    pub size: u64,
    /// Its content, compressed with zstd.
    pub stored: Vec<u8>,
}

/// A blob that nothing refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreferencedBlob {
    /// Its digest.
    pub digest: BlobDigest,
    /// When it was marked; none if it is not marked yet.
    pub unused_since: Option<Timestamp>,
}

impl Reading {
    /// A blob; none if it is not stored.
    pub async fn blob(&mut self, digest: BlobDigest) -> Result<Option<StoredBlob>, StoreError> {
        let sql = "SELECT size, stored FROM blobs WHERE digest = $1";
        let rows = self.connection.rows(sql, values![digest]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let size = u64::try_from(row.number("size")?).unwrap_or(0);
        Ok(Some(StoredBlob { size, stored: row.bytes("stored")? }))
    }

    /// The digests of all blobs, each with its mark.
    pub async fn blob_marks(&mut self) -> Result<Vec<UnreferencedBlob>, StoreError> {
        let rows = self.connection.rows("SELECT digest, unused_since FROM blobs", Vec::new()).await?;
        rows.iter()
            .map(|row| {
                let unused_since = row.optional_timestamp("unused_since")?;
                Ok(UnreferencedBlob { digest: row.blob_digest("digest")?, unused_since })
            })
            .collect()
    }
}

impl Writing {
    /// Stores a blob. One that is stored already is not written again.
    pub async fn blob_put(&mut self, blob: NewBlob) -> Result<(), StoreError> {
        let size = i64::try_from(blob.size).unwrap_or(i64::MAX);
        let sql = "INSERT INTO blobs (digest, size, stored) VALUES ($1, $2, $3) \
                   ON CONFLICT (digest) DO UPDATE SET unused_since = NULL WHERE blobs.unused_since IS NOT NULL";
        self.connection.execute(sql, values![blob.digest, size, blob.stored]).await?;
        Ok(())
    }

    /// Marks new unreferenced blobs and deletes those that were marked a day ago, unless they were stored again
    /// meanwhile. Returns how many it deleted.
    pub async fn blobs_sweep(
        &mut self,
        unreferenced: &[UnreferencedBlob],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let new = unreferenced.iter().filter(|found| found.unused_since.is_none());
        let rows = new.map(|found| values![found.digest, now]).collect();
        let prefix = "WITH given (digest, unused_since) AS (VALUES";
        let suffix = ") UPDATE blobs SET unused_since = given.unused_since FROM given \
                      WHERE blobs.digest = given.digest AND blobs.unused_since IS NULL";
        self.connection.execute_many(prefix, rows, suffix).await?;
        let before = now.minus(KEPT_UNUSED);
        let old = unreferenced.iter().filter(|found| found.unused_since.is_some_and(|since| since < before));
        let rows = old.map(|found| values![found.digest, found.unused_since]).collect();
        let prefix = "DELETE FROM blobs WHERE (digest, unused_since) IN (VALUES";
        self.connection.execute_many(prefix, rows, ")").await
    }
}

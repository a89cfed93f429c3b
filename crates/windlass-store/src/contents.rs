//! Contents by digest: each spec, and each document of a target assignment, is stored once, however many rows refer to
//! it.
//!
//! A function that writes a digest into a row stores the content first, in the same transaction. Content that no row
//! refers to is marked, and deleted a day later ([`Writing::contents_sweep`]). Storing content removes the mark, so
//! that content is never deleted while a transaction is about to refer to it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::digest::Digest;
use windlass_core::resource::{Kind, Spec};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, values};
use crate::write::Writing;

/// How long content that no row refers to is kept: longer than any transaction.
const KEPT_UNUSED: Duration = Duration::from_secs(24 * 3600);

/// Every digest that a row refers to.
const NAMED: &str = "SELECT resources.digest FROM resources UNION ALL SELECT desired.digest FROM desired \
    UNION ALL SELECT base_digest FROM proposals WHERE base_digest IS NOT NULL \
    UNION ALL SELECT desired_digest FROM proposals WHERE desired_digest IS NOT NULL \
    UNION ALL SELECT edited_digest FROM proposals WHERE edited_digest IS NOT NULL \
    UNION ALL SELECT tombstones.digest FROM tombstones UNION ALL SELECT assignments.digest FROM assignments \
    UNION ALL SELECT shared_approvals FROM assignments WHERE shared_approvals IS NOT NULL";

/// Reads the specs of the rows of one result. Rows with the same spec share it.
#[derive(Default)]
pub(crate) struct SpecReader {
    read: BTreeMap<(Kind, Digest), Arc<Spec>>,
}

impl SpecReader {
    /// The spec with a digest. The column contains its text.
    pub(crate) fn spec(
        &mut self,
        kind: Kind,
        digest: Digest,
        row: &Row,
        column: &str,
    ) -> Result<Arc<Spec>, StoreError> {
        if let Some(spec) = self.read.get(&(kind, digest)) {
            return Ok(Arc::clone(spec));
        }
        let text = row.optional_text(column)?.ok_or_else(|| StoreError::Broken {
            column: format!("spec of a {kind}"),
            value: format!("nothing is stored for {digest}"),
        })?;
        let spec = Arc::new(read_spec(kind, &text)?);
        self.read.insert((kind, digest), Arc::clone(&spec));
        Ok(spec)
    }

    /// [`SpecReader::spec`], if there is a digest.
    pub(crate) fn optional_spec(
        &mut self,
        kind: Kind,
        digest: Option<Digest>,
        row: &Row,
        column: &str,
    ) -> Result<Option<Arc<Spec>>, StoreError> {
        digest.map(|digest| self.spec(kind, digest, row, column)).transpose()
    }
}

/// Reads a stored spec. It was valid when it was stored.
pub(crate) fn read_spec(kind: Kind, text: &str) -> Result<Spec, StoreError> {
    Spec::read_stored(kind, text).ok_or_else(|| StoreError::Broken {
        column: format!("spec of a {kind}"),
        value: text.chars().take(80).collect(),
    })
}

/// Content that no row refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreferencedContent {
    /// Its digest.
    pub digest: Digest,
    /// When it was marked; none if it is not marked yet.
    pub unused_since: Option<Timestamp>,
}

impl Reading {
    /// Contents that no row refers to: those to mark, and those marked long enough ago to be deleted. Reads every row
    /// that refers to a content, so call it only a few times a day.
    pub async fn contents_unreferenced(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<UnreferencedContent>, StoreError> {
        let sql = format!(
            "SELECT contents.digest, unused_since FROM contents WHERE (unused_since IS NULL OR unused_since < $1) \
             AND contents.digest NOT IN ({NAMED}) LIMIT {limit}"
        );
        let rows = self.connection.rows_built(sql, values![now.minus(KEPT_UNUSED)]).await?;
        rows.iter()
            .map(|row| {
                Ok(UnreferencedContent {
                    digest: row.digest("digest")?,
                    unused_since: row.optional_timestamp("unused_since")?,
                })
            })
            .collect()
    }
}

impl Writing {
    /// Stores specs by their digests. A spec that is stored already is not written again.
    pub(crate) async fn specs_put(&mut self, specs: BTreeMap<Digest, &Spec>) -> Result<(), StoreError> {
        let text = |(digest, spec): (Digest, &Spec)| {
            debug_assert_eq!(digest, spec.digest(), "a spec is stored under its own digest");
            (digest, spec.to_stored())
        };
        self.contents_put(specs.into_iter().map(text).collect()).await
    }

    /// Stores texts by their digests.
    pub(crate) async fn contents_put(&mut self, texts: BTreeMap<Digest, String>) -> Result<(), StoreError> {
        let rows = texts.into_iter().map(|(digest, text)| values![digest, text]).collect();
        let prefix = "INSERT INTO contents (digest, body) VALUES";
        let suffix =
            "ON CONFLICT (digest) DO UPDATE SET unused_since = NULL WHERE contents.unused_since IS NOT NULL";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Marks new unreferenced contents and deletes marked ones, unless they were stored again meanwhile. Returns how many it
    /// deleted.
    pub async fn contents_sweep(
        &mut self,
        unreferenced: &[UnreferencedContent],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let (old, new): (Vec<UnreferencedContent>, Vec<UnreferencedContent>) =
            unreferenced.iter().copied().partition(|found| found.unused_since.is_some());
        let rows = new.iter().map(|found| values![found.digest, now]).collect();
        let prefix = "WITH given (digest, unused_since) AS (VALUES";
        let suffix = ") UPDATE contents SET unused_since = given.unused_since FROM given \
                      WHERE contents.digest = given.digest AND contents.unused_since IS NULL";
        self.connection.execute_many(prefix, rows, suffix).await?;
        let rows = old.iter().map(|found| values![found.digest, found.unused_since]).collect();
        let prefix = "DELETE FROM contents WHERE (digest, unused_since) IN (VALUES";
        self.connection.execute_many(prefix, rows, ")").await
    }
}

//! Previews: the plan of a commit or of files. Only the last preview of each reference is kept, under the same id.

use windlass_core::id::{AccountId, PreviewId, RepositoryId};
pub use windlass_core::preview::{PreviewOutcome, PreviewSource};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, values};
use crate::write::Writing;

/// How many previews of one repository are kept, so that many references cannot fill the disk.
const KEPT_EACH: usize = 200;

/// The preview of a reference of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Its id, which stays the same when the reference moves.
    pub id: PreviewId,
    /// Its account.
    pub account_id: AccountId,
    /// Its repository.
    pub repository_id: RepositoryId,
    /// The branch, reference or commit; for files, the name given to them.
    pub reference: String,
    /// The source of the files.
    pub source: PreviewSource,
    /// The commit that was read.
    pub commit_sha: Option<String>,
    /// The commit of the last good sync at that time.
    pub base_commit: Option<String>,
    /// Who requested it.
    pub requested_by: Option<String>,
    /// The outcome.
    pub outcome: PreviewOutcome,
    /// How many changes there would be.
    pub changes: usize,
    /// The plan as a document, with secrets redacted. Empty in lists.
    pub document: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// The columns of a preview, as a literal for `concat!`.
macro_rules! columns {
    () => {
        "id, account_id, repository_id, reference, source, commit_sha, base_commit, requested_by, outcome, changes, \
         created_at"
    };
}

fn read(row: &Row) -> Result<Preview, StoreError> {
    Ok(Preview {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        repository_id: row.id("repository_id")?,
        reference: row.text("reference")?,
        source: row.word("source", PreviewSource::from_slug)?,
        commit_sha: row.optional_text("commit_sha")?,
        base_commit: row.optional_text("base_commit")?,
        requested_by: row.optional_text("requested_by")?,
        outcome: row.word("outcome", PreviewOutcome::from_slug)?,
        changes: row.count("changes")?,
        created_at: row.timestamp("created_at")?,
        document: String::new(),
    })
}

impl Reading {
    /// A preview of an account.
    pub async fn preview(
        &mut self,
        account_id: &AccountId,
        id: &PreviewId,
    ) -> Result<Option<Preview>, StoreError> {
        let sql =
            concat!("SELECT ", columns!(), ", document FROM previews WHERE id = $1 AND account_id = $2");
        let rows = self.connection.rows(sql, values![id, account_id]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let preview = read(row)?;
        Ok(Some(Preview { document: row.text("document")?, ..preview }))
    }

    /// The previews of a repository, newest first, without their documents.
    pub async fn previews(
        &mut self,
        account_id: &AccountId,
        repository_id: &RepositoryId,
        limit: usize,
    ) -> Result<Vec<Preview>, StoreError> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM previews WHERE repository_id = $1 AND account_id = $2 \
             ORDER BY created_at DESC, id DESC LIMIT $3"
        );
        let rows = self.connection.rows(sql, values![repository_id, account_id, limit]).await?;
        rows.iter().map(read).collect()
    }
}

impl Writing {
    /// Stores a preview. It replaces the last one of the same reference and keeps its id. Deletes the oldest previews
    /// of a repository that has too many. Returns the id.
    pub async fn preview_put(&mut self, preview: &Preview) -> Result<PreviewId, StoreError> {
        let sql = "INSERT INTO previews (id, account_id, repository_id, reference, source, commit_sha, base_commit, \
                   requested_by, outcome, changes, document, created_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
                   ON CONFLICT (repository_id, source, reference) DO UPDATE SET account_id = excluded.account_id, \
                   commit_sha = excluded.commit_sha, base_commit = excluded.base_commit, \
                   requested_by = excluded.requested_by, outcome = excluded.outcome, changes = excluded.changes, \
                   document = excluded.document, created_at = excluded.created_at RETURNING id";
        let values = values![
            &preview.id,
            &preview.account_id,
            &preview.repository_id,
            &preview.reference,
            preview.source.slug(),
            &preview.commit_sha,
            &preview.base_commit,
            &preview.requested_by,
            preview.outcome.slug(),
            preview.changes,
            &preview.document,
            preview.created_at,
        ];
        let rows = self.connection.rows(sql, values).await?;
        let id = rows.first().map_or_else(|| Ok(preview.id.clone()), |row| row.id("id"))?;
        let sql = "DELETE FROM previews WHERE repository_id = $1 AND id IN (SELECT id FROM previews \
                   WHERE repository_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET $2)";
        self.connection.execute(sql, values![&preview.repository_id, KEPT_EACH]).await?;
        Ok(id)
    }

    /// Deletes previews created before a time. Returns how many.
    pub async fn previews_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("previews", "id", "created_at < $1");
        self.delete_old(old, values![before], budget).await
    }
}

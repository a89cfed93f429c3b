//! Who pushed which commit, as reported by the webhooks of forges.

use windlass_core::gate::{Contributor, ContributorRole, MAX_PUSHERS};
use windlass_core::id::RepositoryId;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::values;
use crate::write::Writing;

impl Reading {
    /// Who pushed a commit to a repository, or anything since a time. Those who pushed the commit come first. Returns
    /// up to one more person than a list of contributors keeps, so that the list can show that someone may be missing.
    pub async fn pushers(
        &mut self,
        repository_id: &RepositoryId,
        commit_sha: &str,
        since: Timestamp,
    ) -> Result<Vec<Contributor>, StoreError> {
        let sql = format!(
            "SELECT person, MAX(CASE WHEN commit_sha = $2 THEN 1 ELSE 0 END) AS is_of_commit, MAX(at) AS last \
             FROM pushes WHERE repository_id = $1 AND (commit_sha = $2 OR at >= $3) \
             GROUP BY person ORDER BY is_of_commit DESC, last DESC, person LIMIT {}",
            MAX_PUSHERS + 1
        );
        let rows = self.connection.rows_built(sql, values![repository_id, commit_sha, since]).await?;
        let people: Vec<String> = rows.iter().map(|row| row.text("person")).collect::<Result<_, _>>()?;
        Ok(people.iter().filter_map(|person| Contributor::new(ContributorRole::Pusher, person)).collect())
    }
}

impl Writing {
    /// Records who pushed a commit.
    pub async fn push_record(
        &mut self,
        repository_id: &RepositoryId,
        commit_sha: &str,
        person: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO pushes (repository_id, commit_sha, person, at) VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (repository_id, commit_sha, person) DO NOTHING";
        self.connection.execute(sql, values![repository_id, commit_sha, person, now]).await?;
        Ok(())
    }

    /// Deletes pushes older than a time.
    pub async fn pushes_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("pushes", "repository_id, commit_sha, person", "at < $1");
        self.delete_old(old, values![before], budget).await
    }
}

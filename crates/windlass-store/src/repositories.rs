//! Registered git repositories.

use std::time::Duration;

use windlass_core::id::{AccountId, RepositoryId, RunId};
use windlass_core::repository::{LastStatus, Repository};
use windlass_core::run::RunStatus;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, values};
use crate::write::Writing;

const COLUMNS: &str = "id, account_id, name, repo_url, branch, path_prefix, credential_path, ca_pem, signers, \
                       host_keys, enabled, auto_apply, interval_ms, next_sync_at, last_run_id, last_run_at, \
                       last_status, last_error, good_run_id, good_commit, good_at, version, created_at, updated_at, \
                       forge, forge_error, left_by, quarantines, confirmed_failure";

fn read_repository(row: &Row) -> Result<Repository, StoreError> {
    Ok(Repository {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        name: row.text("name")?,
        repo_url: row.text("repo_url")?,
        branch: row.text("branch")?,
        path_prefix: row.text("path_prefix")?,
        credential_path: row.optional_text("credential_path")?,
        ca_pem: row.optional_text("ca_pem")?,
        signers: row.optional_text("signers")?,
        host_keys: row.optional_text("host_keys")?,
        enabled: row.boolean("enabled")?,
        auto_apply: row.boolean("auto_apply")?,
        interval: Duration::from_millis(u64::try_from(row.number("interval_ms")?).unwrap_or(0)),
        next_sync_at: row.timestamp("next_sync_at")?,
        last_run_id: row.optional_id("last_run_id")?,
        last_run_at: row.optional_timestamp("last_run_at")?,
        last_status: row.word("last_status", LastStatus::from_slug)?,
        last_error: row.optional_text("last_error")?,
        good_run_id: row.optional_id("good_run_id")?,
        good_commit: row.optional_text("good_commit")?,
        good_at: row.optional_timestamp("good_at")?,
        version: row.number("version")?,
        created_at: row.timestamp("created_at")?,
        updated_at: row.timestamp("updated_at")?,
        forge: row.optional_json("forge")?,
        forge_error: row.optional_text("forge_error")?,
        left_by: row.optional_id("left_by")?,
        quarantines: row.optional_json("quarantines")?.unwrap_or_default(),
        confirmed_failure: row.optional_id("confirmed_failure")?,
    })
}

fn forge_text(repository: &Repository) -> Option<String> {
    let forge = repository.forge.as_ref()?;
    Some(serde_json::to_string(forge).expect("texts and booleans are JSON"))
}

fn interval_ms(repository: &Repository) -> i64 {
    i64::try_from(repository.interval.as_millis()).unwrap_or(i64::MAX)
}

impl Reading {
    /// A repository of an account, by id or name.
    pub async fn repository(
        &mut self,
        account_id: &AccountId,
        id_or_name: &str,
    ) -> Result<Option<Repository>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM repositories WHERE account_id = $1 AND (id = $2 OR name = $2) ORDER BY id = $2 DESC"
        );
        let rows = self.connection.rows_built(sql, values![account_id, id_or_name]).await?;
        rows.first().map(read_repository).transpose()
    }

    /// The repository that a webhook's address names: by its id, or as `account:name`. This is the only lookup that is
    /// not limited to an account, because senders of webhooks have no account. The statement is the same whether the
    /// repository exists or not.
    pub async fn repository_of_webhook(&mut self, address: &str) -> Result<Option<Repository>, StoreError> {
        let (account, name) = address.split_once(':').unwrap_or_default();
        let sql = format!(
            "SELECT {COLUMNS} FROM repositories WHERE id = $1 \
             OR (name = $3 AND account_id = (SELECT accounts.id FROM accounts WHERE accounts.name = $2))"
        );
        let rows = self.connection.rows_built(sql, values![address, account, name]).await?;
        rows.first().map(read_repository).transpose()
    }

    /// The repositories of an account, by name.
    pub async fn repositories(&mut self, account_id: &AccountId) -> Result<Vec<Repository>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM repositories WHERE account_id = $1 ORDER BY name");
        let rows = self.connection.rows_built(sql, values![account_id]).await?;
        rows.iter().map(read_repository).collect()
    }

    /// Enabled repositories of every account that are due and whose syncs are not quarantined, the longest due first.
    /// Includes those whose next sync is later than any interval allows, because the clock was set back.
    pub async fn repositories_due(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Repository>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM repositories WHERE enabled = 1 \
             AND (quarantines IS NULL OR quarantines NOT LIKE '{{\"sync\":%') \
             AND (next_sync_at <= $1 OR next_sync_at > $1 + 2 * interval_ms) ORDER BY next_sync_at LIMIT {limit}"
        );
        let rows = self.connection.rows_built(sql, values![now]).await?;
        rows.iter().map(read_repository).collect()
    }

    /// The repository that another one left behind in an account when it moved to another account.
    pub async fn repository_left_behind(
        &mut self,
        account_id: &AccountId,
        repository_id: &RepositoryId,
    ) -> Result<Option<Repository>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM repositories WHERE left_by = $2 AND account_id = $1 ORDER BY id");
        let rows = self.connection.rows_built(sql, values![account_id, repository_id]).await?;
        rows.first().map(read_repository).transpose()
    }

    /// Repositories with an unfinished run whose last finished run failed, or that have no finished run.
    pub async fn repositories_last_failed(&mut self) -> Result<Vec<RepositoryId>, StoreError> {
        let sql = "SELECT DISTINCT repositories.id FROM sync_runs JOIN repositories \
                   ON repositories.id = sync_runs.repository_id WHERE sync_runs.status = 'in_progress' \
                   AND repositories.last_status IN ('failed', 'pending')";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        rows.iter().map(|row| row.id("id")).collect()
    }

    /// Repositories of every account with status reporting to a forge.
    pub async fn repositories_with_forge(&mut self) -> Result<Vec<Repository>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM repositories WHERE forge IS NOT NULL ORDER BY account_id, id");
        let rows = self.connection.rows_built(sql, Vec::new()).await?;
        rows.iter().map(read_repository).collect()
    }

    /// Account and id of every repository with a good run.
    pub async fn repositories_with_good_run(&mut self) -> Result<Vec<(AccountId, RepositoryId)>, StoreError> {
        let sql =
            "SELECT account_id, id FROM repositories WHERE good_run_id IS NOT NULL ORDER BY account_id, id";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        rows.iter().map(|row| Ok((row.id("account_id")?, row.id("id")?))).collect()
    }
}

impl Writing {
    /// Registers a repository.
    pub async fn repository_add(&mut self, repository: &Repository) -> Result<(), StoreError> {
        let sql = "INSERT INTO repositories (id, account_id, name, repo_url, branch, path_prefix, credential_path, \
                   ca_pem, signers, host_keys, enabled, auto_apply, interval_ms, next_sync_at, last_status, version, \
                   created_at, updated_at, forge, left_by) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 1, $16, $16, $17, $18)";
        let values = values![
            &repository.id,
            &repository.account_id,
            &repository.name,
            &repository.repo_url,
            &repository.branch,
            &repository.path_prefix,
            &repository.credential_path,
            &repository.ca_pem,
            &repository.signers,
            &repository.host_keys,
            repository.enabled,
            repository.auto_apply,
            interval_ms(repository),
            repository.next_sync_at,
            repository.last_status.slug(),
            repository.created_at,
            forge_text(repository),
            &repository.left_by
        ];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Changes the configuration of a repository. False if someone changed it after the version of the caller.
    pub async fn repository_configure(&mut self, repository: &Repository) -> Result<bool, StoreError> {
        let sql = "UPDATE repositories SET name = $3, repo_url = $4, branch = $5, path_prefix = $6, \
                   credential_path = $7, ca_pem = $8, signers = $9, host_keys = $10, enabled = $11, auto_apply = $12, \
                   interval_ms = $13, next_sync_at = $14, updated_at = $15, forge = $16, forge_error = $17, \
                   version = version + 1 \
                   WHERE id = $1 AND version = $2";
        let values = values![
            &repository.id,
            repository.version,
            &repository.name,
            &repository.repo_url,
            &repository.branch,
            &repository.path_prefix,
            &repository.credential_path,
            &repository.ca_pem,
            &repository.signers,
            &repository.host_keys,
            repository.enabled,
            repository.auto_apply,
            interval_ms(repository),
            repository.next_sync_at,
            repository.updated_at,
            forge_text(repository),
            &repository.forge_error
        ];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Sets when a repository is synced next.
    pub async fn repository_schedule(
        &mut self,
        id: &RepositoryId,
        next_sync_at: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE repositories SET next_sync_at = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, next_sync_at]).await?;
        Ok(())
    }

    /// Records whether reporting to the forge of a repository succeeded.
    pub async fn repository_forge_result(
        &mut self,
        id: &RepositoryId,
        error: Option<&str>,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE repositories SET forge_error = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, error]).await?;
        Ok(())
    }

    /// Stores the SSH host keys of the first connection.
    pub async fn repository_pin(&mut self, id: &RepositoryId, host_keys: &str) -> Result<(), StoreError> {
        let sql = "UPDATE repositories SET host_keys = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, host_keys]).await?;
        Ok(())
    }

    /// Records how a run ended. Does not change what is stored about the last good run.
    pub async fn repository_record_run(
        &mut self,
        id: &RepositoryId,
        run_id: &RunId,
        status: RunStatus,
        error: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE repositories SET last_run_id = $2, last_status = $3, last_error = $4, last_run_at = $5 \
                   WHERE id = $1";
        self.connection.execute(sql, values![id, run_id, status.slug(), error, now]).await?;
        Ok(())
    }

    /// Records that someone confirmed a failed run, so that it no longer blocks the repository's proposals. False if it
    /// is not the repository's newest run, or did not fail with an error.
    pub async fn repository_confirm_failure(
        &mut self,
        id: &RepositoryId,
        run_id: &RunId,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE repositories SET confirmed_failure = $2 WHERE id = $1 AND last_run_id = $2 \
                   AND last_status = 'failed' AND last_error IS NOT NULL";
        Ok(self.connection.execute(sql, values![id, run_id]).await? == 1)
    }

    /// Records the last good run: the last one that read git and compared.
    pub async fn repository_set_last_good(
        &mut self,
        id: &RepositoryId,
        run_id: &RunId,
        commit: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE repositories SET good_run_id = $2, good_commit = $3, good_at = $4 WHERE id = $1";
        self.connection.execute(sql, values![id, run_id, commit, now]).await?;
        Ok(())
    }

    /// Records the newest run that compared the stored desired state without reading git: the rest of its plan is
    /// opened next. The time and the commit of the last read of git stay the same.
    pub async fn repository_record_comparison(
        &mut self,
        id: &RepositoryId,
        run_id: &RunId,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE repositories SET good_run_id = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, run_id]).await?;
        Ok(())
    }

    /// Deletes a repository with its desired state, drift, webhook, previews, plans and queued work. Other runs,
    /// proposals and approvals are kept. The resources it owned stay exactly as they are, without an owner.
    pub async fn repository_remove(&mut self, id: &RepositoryId) -> Result<(), StoreError> {
        for sql in [
            "DELETE FROM desired WHERE repository_id = $1",
            "DELETE FROM acceptances WHERE repository_id = $1",
            "DELETE FROM drifts WHERE repository_id = $1",
            "DELETE FROM webhooks WHERE repository_id = $1",
            "DELETE FROM webhook_deliveries WHERE repository_id = $1",
            "DELETE FROM pushes WHERE repository_id = $1",
            "DELETE FROM previews WHERE repository_id = $1",
            "DELETE FROM plan_steps WHERE plan_id IN (SELECT id FROM plans WHERE repository_id = $1)",
            "DELETE FROM plans WHERE repository_id = $1",
            "UPDATE sync_runs SET next_position = NULL WHERE repository_id = $1 AND next_position IS NOT NULL",
            "DELETE FROM forge_reports WHERE repository_id = $1",
            "DELETE FROM pull_requests WHERE repository_id = $1",
            "DELETE FROM suspicions WHERE subject IN ('sync:' || $1, 'requests:' || $1) \
             OR subject LIKE 'pull-request:' || $1 || ':%'",
            "UPDATE resources SET owner_id = NULL WHERE owner_id = $1",
            "DELETE FROM sync_runs WHERE repository_id = $1 AND stage = 'queued'",
            "DELETE FROM repositories WHERE id = $1",
        ] {
            self.connection.execute(sql, values![id]).await?;
        }
        Ok(())
    }
}

impl Writing {
    /// Deletes the last good commit of a repository whose address or directory changed: a sync would read something
    /// else now.
    pub async fn repository_clear_last_good(&mut self, id: &RepositoryId) -> Result<(), StoreError> {
        let sql = "UPDATE repositories SET good_commit = NULL WHERE id = $1";
        self.connection.execute(sql, values![id]).await?;
        Ok(())
    }

    /// Moves a repository to another account. This rotates the secret of its webhook: people of the old account may
    /// have seen it.
    pub async fn repository_move(
        &mut self,
        repository: &Repository,
        account_id: &AccountId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for sql in [
            "DELETE FROM desired WHERE repository_id = $1",
            "DELETE FROM acceptances WHERE repository_id = $1",
            "DELETE FROM drifts WHERE repository_id = $1",
            "DELETE FROM previews WHERE repository_id = $1",
            "DELETE FROM plan_steps WHERE plan_id IN (SELECT id FROM plans WHERE repository_id = $1)",
            "DELETE FROM plans WHERE repository_id = $1",
            "UPDATE sync_runs SET next_position = NULL WHERE repository_id = $1 AND next_position IS NOT NULL",
            "DELETE FROM forge_reports WHERE repository_id = $1",
            "DELETE FROM pull_requests WHERE repository_id = $1",
            "DELETE FROM suspicions WHERE subject IN ('sync:' || $1, 'requests:' || $1) \
             OR subject LIKE 'pull-request:' || $1 || ':%'",
            "DELETE FROM sync_runs WHERE repository_id = $1 AND stage = 'queued'",
        ] {
            self.connection.execute(sql, values![&repository.id]).await?;
        }
        let sql = "UPDATE approval_sets SET fallen_at = $2, fallen_reason = 'the repository moved to another account' \
                   WHERE repository_id = $1 AND fallen_at IS NULL";
        self.connection.execute(sql, values![&repository.id, now]).await?;
        self.webhook_rotate(&repository.id).await?;
        let sql = "UPDATE repositories SET account_id = $2, next_sync_at = $3, updated_at = $3, version = version + 1, \
                   last_run_id = NULL, good_run_id = NULL, good_commit = NULL, good_at = NULL, \
                   last_status = 'pending', last_error = NULL WHERE id = $1";
        self.connection.execute(sql, values![&repository.id, account_id, now]).await?;
        Ok(())
    }

    /// Makes another repository the owner of everything that one repository owns in an account.
    pub async fn resources_change_owner(
        &mut self,
        account_id: &AccountId,
        from: &RepositoryId,
        to: &RepositoryId,
    ) -> Result<u64, StoreError> {
        let sql = "UPDATE resources SET owner_id = $3 WHERE owner_id = $2 AND account_id = $1";
        self.connection.execute(sql, values![account_id, from, to]).await
    }
}

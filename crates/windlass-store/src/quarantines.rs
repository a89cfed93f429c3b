//! Counting beginnings before the work, and what is not done any more because servers died of it.

use windlass_core::quarantine::Quarantines;

use crate::db::Reading;
use crate::error::StoreError;
use crate::pull_requests::PullRequestWish;
use crate::sql::values;
use crate::write::Writing;

impl Reading {
    /// How often servers died while they worked on a run, if none works on it now.
    pub async fn run_deaths(&mut self, id: &str) -> Result<i64, StoreError> {
        let sql = "SELECT begun FROM sync_runs WHERE id = $1";
        let mut rows = self.connection.rows(sql, values![id]).await?;
        rows.first_mut().map_or(Ok(0), |row| row.number())
    }

    /// How often servers died while they looked at a pull request, if none looks at it now.
    pub async fn pull_request_deaths(&mut self, wish: &PullRequestWish) -> Result<i64, StoreError> {
        let sql = "SELECT begun FROM pull_requests WHERE repository_id = $1 AND number = $2";
        let mut rows = self.connection.rows(sql, values![&wish.repository_id, wish.number]).await?;
        rows.first_mut().map_or(Ok(0), |row| row.number())
    }
}

impl Writing {
    /// Notes that a run is worked on, beside so many deaths.
    pub async fn run_beginning(&mut self, id: &str, deaths: i64) -> Result<(), StoreError> {
        let sql = "UPDATE sync_runs SET begun = $2 + 1 WHERE id = $1";
        self.connection.execute(sql, values![id, deaths]).await?;
        Ok(())
    }

    /// Notes that nobody died of a run that did not come to its end.
    pub async fn run_survived(&mut self, id: &str, deaths: i64) -> Result<(), StoreError> {
        let sql = "UPDATE sync_runs SET begun = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, deaths]).await?;
        Ok(())
    }

    /// Notes that a pull request is looked at, beside so many deaths. They stay when it gets other commits: whoever
    /// pushes those is who made the ones before.
    pub async fn pull_request_beginning(
        &mut self,
        wish: &PullRequestWish,
        deaths: i64,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE pull_requests SET begun = $3 + 1 WHERE repository_id = $1 AND number = $2";
        self.connection.execute(sql, values![&wish.repository_id, wish.number, deaths]).await?;
        Ok(())
    }

    /// Notes that nobody died of a pull request that is to be looked at again.
    pub async fn pull_request_survived(
        &mut self,
        wish: &PullRequestWish,
        deaths: i64,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE pull_requests SET begun = $3 WHERE repository_id = $1 AND number = $2";
        self.connection.execute(sql, values![&wish.repository_id, wish.number, deaths]).await?;
        Ok(())
    }

    /// Sets what of a repository is not done any more.
    pub async fn repository_quarantine(
        &mut self,
        id: &str,
        quarantines: &Quarantines,
    ) -> Result<(), StoreError> {
        let text = (!quarantines.is_empty())
            .then(|| serde_json::to_string(quarantines).expect("texts and numbers are JSON"));
        let sql = "UPDATE repositories SET quarantines = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, text]).await?;
        Ok(())
    }
}

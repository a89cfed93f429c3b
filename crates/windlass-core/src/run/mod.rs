//! Sync runs: one pass over a repository, from its trigger to the outcome of its proposals.

mod decide;
mod status;

use serde_json::Value as Json;

pub use decide::{RunDecision, decide, refusal_of, skipped_changes};
pub use status::{ProposalOutcomes, RunFacts, run_status};

pub use crate::run_status::RunStatus;

use crate::gate::Contributors;
use crate::id::{AccountId, PlanId, RepositoryId, RunId};
use crate::repository::Repository;
use crate::states::states;
use crate::time::Timestamp;

states! {
    /// What triggered a run.
    Trigger {
        /// The sync interval elapsed.
        Schedule "schedule",
        /// Someone requested it.
        Request "request",
        /// The forge reported a push.
        Webhook "webhook",
        /// Someone reverts drift to the last synced commit; git is not fetched.
        Revert "revert",
        /// A module version that pins of the repository follow was made, or its state changed; git is not fetched.
        Promotion "promotion",
    }
}

impl Trigger {
    /// Whether the run fetches from git. Only a run that fetched knows the current desired state.
    pub const fn fetches(self) -> bool {
        match self {
            Trigger::Schedule | Trigger::Request | Trigger::Webhook => true,
            Trigger::Revert | Trigger::Promotion => false,
        }
    }
}

states! {
    /// The stage of an unfinished run.
    Stage {
        /// Waiting for a worker, or for the previous run of the same repository.
        Queued "queued",
        /// Fetching from the git server.
        Fetching "fetching",
        /// Reading and comparing.
        Comparing "comparing",
        /// Compared, or failed.
        Finished "finished",
    }
}

states! {
    /// How a branch moved since it was last read.
    Movement {
        /// It was never read before.
        First "first" "first sync",
        /// It did not move.
        Unchanged "unchanged" "unchanged",
        /// The new commit continues the old one.
        FastForward "fast_forward" "fast-forward",
        /// The new commit does not continue the old one.
        Rewritten "rewritten" "history rewritten",
    }
}

/// One pass over a repository.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Its account.
    pub account_id: AccountId,
    /// Its repository.
    pub repository_id: RepositoryId,
    /// The repository's name at the time of the run.
    pub repository_name: String,
    /// The trigger.
    pub trigger: Trigger,
    /// The person who requested it.
    pub requested_by: Option<String>,
    /// Whether they confirmed a mass destroy.
    pub confirm_mass_destroy: bool,
    /// The commit of the confirmation; `None` if it applies to any commit.
    pub confirmed_commit: Option<String>,
    /// The status.
    pub status: RunStatus,
    /// The stage while it is in progress.
    pub stage: Stage,
    /// How often it was started: more than once if a server crashed during it.
    pub attempt: i64,
    /// The commit that it read.
    pub commit_sha: Option<String>,
    /// The author of the commit.
    pub commit_author: Option<String>,
    /// The author's e-mail address.
    pub commit_email: Option<String>,
    /// The first line of the commit message.
    pub commit_subject: Option<String>,
    /// The full commit message; lists leave it out.
    pub commit_message: Option<String>,
    /// The contributors to everything since the last successful run; lists leave them out.
    pub contributors: Contributors,
    /// The movement of the branch.
    pub movement: Option<Movement>,
    /// The differences, by kind and change.
    pub diff: Json,
    /// The number of differences.
    pub diff_count: usize,
    /// The number of changes that are not proposed yet.
    pub remaining: usize,
    /// Its plan; `None` if there are no changes.
    pub plan_id: Option<PlanId>,
    /// The position in its plan of the next change to propose; `None` if none is left.
    pub next_position: Option<usize>,
    /// Differences that are not proposed, with reasons.
    pub skipped: Json,
    /// The problems in the files.
    pub problems: Json,
    /// Why it failed: code, message, help.
    pub error: Option<RunError>,
    /// The differences that were left after applying; `None` before.
    pub drift_after_apply: Option<Json>,
    /// The time of the request.
    pub created_at: Timestamp,
    /// The time of the start.
    pub started_at: Option<Timestamp>,
    /// The time when the comparison was complete, or the run failed.
    pub completed_at: Option<Timestamp>,
    /// The time when the last of its proposals was closed.
    pub applied_at: Option<Timestamp>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// A stable code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// How to fix it.
    pub help: String,
}

impl RunError {
    /// An error with code, message and help.
    pub fn new(code: &str, message: impl Into<String>, help: impl Into<String>) -> RunError {
        RunError { code: code.to_owned(), message: message.into(), help: help.into() }
    }
}

impl Run {
    /// A queued run.
    pub fn queued(id: RunId, repository: &Repository, now: Timestamp) -> Run {
        Run {
            id,
            account_id: repository.account_id.clone(),
            repository_id: repository.id.clone(),
            repository_name: repository.name.clone(),
            trigger: Trigger::Schedule,
            requested_by: None,
            confirm_mass_destroy: false,
            confirmed_commit: None,
            status: RunStatus::InProgress,
            stage: Stage::Queued,
            attempt: 0,
            commit_sha: None,
            commit_author: None,
            commit_email: None,
            commit_subject: None,
            commit_message: None,
            contributors: Contributors::default(),
            movement: None,
            diff: Json::Object(serde_json::Map::new()),
            diff_count: 0,
            remaining: 0,
            skipped: Json::Array(Vec::new()),
            problems: Json::Array(Vec::new()),
            error: None,
            drift_after_apply: None,
            created_at: now,
            started_at: None,
            completed_at: None,
            applied_at: None,
            plan_id: None,
            next_position: None,
        }
    }

    /// Whether someone confirmed a mass destroy for the commit that it found.
    pub fn is_confirmed(&self) -> bool {
        let counts = |commit: &String| self.commit_sha.as_ref() == Some(commit);
        self.confirm_mass_destroy && self.confirmed_commit.as_ref().is_none_or(counts)
    }

    /// Whether the run knows the current desired state. A run that compared only stored state does not: it must not
    /// release proposals that a failed sync holds, and the contributors since the last fetch are still to be read.
    pub fn knows_desired_state(&self, repository: &Repository) -> bool {
        // The rest of a repository that moved away wants nothing, so no fetch is needed.
        self.trigger.fetches() || repository.left_by.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::tests::repository;

    #[test]
    fn only_a_run_that_asked_git_tells_what_it_wants() {
        let ours = repository("core");
        let run = |trigger| Run { trigger, ..Run::queued(RunId::new("1"), &ours, Timestamp::from_millis(0)) };
        for trigger in Trigger::ALL {
            assert_eq!(run(*trigger).knows_desired_state(&ours), trigger.fetches(), "{trigger}");
        }
        let left_behind = Repository { left_by: Some(RepositoryId::new("moved")), ..ours.clone() };
        assert!(run(Trigger::Revert).knows_desired_state(&left_behind));
    }

    #[test]
    fn destroying_most_is_confirmed_for_the_commit_that_was_looked_at_alone() {
        let mut run = Run::queued(RunId::new("1"), &repository("core"), Timestamp::from_millis(0));
        run.commit_sha = Some("a".to_owned());
        assert!(!run.is_confirmed());
        run.confirm_mass_destroy = true;
        assert!(run.is_confirmed());
        run.confirmed_commit = Some("b".to_owned());
        assert!(!run.is_confirmed());
        run.confirmed_commit = Some("a".to_owned());
        assert!(run.is_confirmed());
    }
}

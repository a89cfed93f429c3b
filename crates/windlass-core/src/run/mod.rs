//! Sync runs: one pass over a repository, from what made it happen to what became of its proposals.

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
    }
}

impl Trigger {
    /// Whether git is asked. Only a run that asked it can tell what it wants by now.
    pub const fn fetches(self) -> bool {
        match self {
            Trigger::Schedule | Trigger::Request | Trigger::Webhook => true,
            Trigger::Revert => false,
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
    /// The repository's name at the time.
    pub repository_name: String,
    /// What made it happen.
    pub trigger: Trigger,
    /// Who asked for it.
    pub requested_by: Option<String>,
    /// Whether they said that destroying most of the repository's resources is meant.
    pub confirm_mass_destroy: bool,
    /// The commit for which they said so; none if it counts for whatever commit the run finds.
    pub confirmed_commit: Option<String>,
    /// Where it is.
    pub status: RunStatus,
    /// Where it is while it is in progress.
    pub stage: Stage,
    /// How often it was begun: more than once if a server died in the middle.
    pub attempt: i64,
    /// The commit it read.
    pub commit_sha: Option<String>,
    /// Who wrote that.
    pub commit_author: Option<String>,
    /// Their e-mail address.
    pub commit_email: Option<String>,
    /// The first line of its message.
    pub commit_subject: Option<String>,
    /// The whole message; lists leave it out.
    pub commit_message: Option<String>,
    /// Everyone who had a hand in what it read since the last good run; lists leave them out.
    pub contributors: Contributors,
    /// How the branch moved.
    pub movement: Option<Movement>,
    /// What differs, by kind and change.
    pub diff: Json,
    /// How many differ.
    pub diff_count: usize,
    /// How many are not proposed yet.
    pub remaining: usize,
    /// Its plan; none while it found nothing to do.
    pub plan_id: Option<PlanId>,
    /// The position of its plan from which on changes are opened when others are done; none if none is left for that.
    pub next_position: Option<usize>,
    /// Differences that are not offered, and why.
    pub skipped: Json,
    /// Problems in the files.
    pub problems: Json,
    /// Why it failed: a code, a message, what to do.
    pub error: Option<RunError>,
    /// What still differed after applying; none before.
    pub drift_after_apply: Option<Json>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it was begun.
    pub started_at: Option<Timestamp>,
    /// When it had compared, or failed.
    pub completed_at: Option<Timestamp>,
    /// When the last of its proposals was closed.
    pub applied_at: Option<Timestamp>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// A stable word.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl RunError {
    /// An error with a stable word, what happened, and what to do about it.
    pub fn new(code: &str, message: impl Into<String>, help: impl Into<String>) -> RunError {
        RunError { code: code.to_owned(), message: message.into(), help: help.into() }
    }
}

impl Run {
    /// A run that waits to be begun.
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

    /// Whether someone said that destroying most of what the repository owns is meant, for the commit that it found.
    pub fn is_confirmed(&self) -> bool {
        let counts = |commit: &String| self.commit_sha.as_ref() == Some(commit);
        self.confirm_mass_destroy && self.confirmed_commit.as_ref().is_none_or(counts)
    }

    /// Whether it tells what git wants by now. One that compared only what was stored does not: what a failed sync holds,
    /// it must not release, and who pushed since git was last read is still to be told.
    pub fn knows_desired_state(&self, repository: &Repository) -> bool {
        // What a repository that moved left behind wants nothing, and nobody has to be asked for that.
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
            assert_eq!(run(*trigger).knows_desired_state(&ours), *trigger != Trigger::Revert, "{trigger}");
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

//! Gives nodes the documents that the accepted state makes of them, and moves the rollouts that say when.
//!
//! An account is due when its state changed. While it has rollouts that are not over, its nodes' reports and time matter too:
//! then only the rollouts are read, and documents are made only if a node may get its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use windlass_core::id::AccountId;
use windlass_store::StoreError;

use crate::control::Control;
use crate::flow::assign::{AssignResult, advance_rollouts, assign_account};
use crate::pace::{LoopPace, WaitResult};

/// How often Windlass looks for accounts that are due without a nudge.
const INTERVAL: Duration = Duration::from_secs(15);

/// How often it retries an account in which something could not be read.
const RETRY: Duration = Duration::from_secs(30);

/// How often it checks an account whose state did not change: a safety net, and it notices rows that were changed behind
/// the server's back.
const RECHECK: Duration = Duration::from_secs(300);

/// The longest pause after a turn. A turn that worked is followed by a pause of the same length, so that a large account
/// whose changes arrive one by one takes at most half of a core.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// How often it looks at rollouts without a nudge: pauses end and agents fall silent without anybody saying so.
const ROLLOUT_INTERVAL: Duration = Duration::from_secs(2);

/// Looking at the rollouts of an account is followed by a pause of this many times its length, so that ten thousand nodes
/// that report while a rollout waits for somebody take a tenth of a core.
const ROLLOUT_PAUSE_FACTOR: u32 = 9;

/// What was done for an account last.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// The version of the account's state before it was read.
    version: i64,
    at: Instant,
    result: AssignResult,
}

impl Progress {
    fn is_due(&self, version: i64) -> bool {
        let after = match self.result {
            AssignResult::Done => RECHECK,
            AssignResult::Again => RETRY,
        };
        self.version != version || self.at.elapsed() >= after
    }
}

/// What the loop knows about accounts.
#[derive(Debug, Default)]
struct AssignLoop {
    progress: BTreeMap<AccountId, Progress>,
    /// When the rollouts of an account may be looked at again, for accounts with rollouts that are not over.
    rollouts: BTreeMap<AccountId, Instant>,
    /// When the rollouts of an account are looked at that was passed over in this turn.
    passed_over: Option<Instant>,
}

/// Runs until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let mut state = AssignLoop::default();
    while !server.is_stopping() {
        let begun = Instant::now();
        let turned = state.turn(&server).await;
        let pace = LoopPace { part: "assign", nudge: &server.nudges().assign, interval: state.interval() };
        if pace.wait_for_next_turn(&server, begun, turned).await == WaitResult::Stopping {
            break;
        }
    }
}

impl AssignLoop {
    async fn turn(&mut self, server: &Control) -> Result<(), StoreError> {
        let begun = Instant::now();
        let versions = server.store().read().await?.state_versions().await?;
        let due = self.due(&versions);
        let is_at_work = !due.is_empty();
        for (account_id, version) in due {
            if server.is_stopping() {
                return Ok(());
            }
            let result = assign_account(server, &account_id).await?;
            self.progress.insert(account_id, Progress { version, at: Instant::now(), result });
        }
        self.advance(server).await?;
        if is_at_work {
            let mut stopping = server.watch_stopping();
            tokio::select! {
                () = tokio::time::sleep(begun.elapsed().min(MAX_PAUSE)) => {}
                _ = stopping.wait_for(|is_stopping| *is_stopping) => {}
            }
        }
        Ok(())
    }

    /// The accounts to serve. The account that was served longest ago is the first, so that none starves.
    fn due(&mut self, versions: &[(AccountId, i64)]) -> Vec<(AccountId, i64)> {
        let known: BTreeSet<&AccountId> = versions.iter().map(|(id, _)| id).collect();
        self.progress.retain(|id, _| known.contains(id));
        let mut due = versions.to_vec();
        due.retain(|(id, version)| self.progress.get(id).is_none_or(|last| last.is_due(*version)));
        due.sort_by_key(|(id, _)| self.progress.get(id).map(|last| last.at));
        due
    }

    /// Moves the rollouts of every account, unless that was done just now.
    async fn advance(&mut self, server: &Control) -> Result<(), StoreError> {
        let accounts = server.store().read().await?.accounts_with_rollouts().await?;
        server.note_accounts_with_rollouts(accounts.len());
        self.rollouts.retain(|id, _| accounts.contains(id));
        self.passed_over = None;
        for account_id in accounts {
            let begun = Instant::now();
            if let Some(next) = self.rollouts.get(&account_id).filter(|next| **next > begun) {
                self.passed_over = Some(self.passed_over.map_or(*next, |other| other.min(*next)));
                continue;
            }
            if server.is_stopping() {
                return Ok(());
            }
            advance_rollouts(server, &account_id).await?;
            let pause = (begun.elapsed() * ROLLOUT_PAUSE_FACTOR).min(MAX_PAUSE);
            self.rollouts.insert(account_id, Instant::now() + pause);
        }
        Ok(())
    }

    /// How long to wait without a nudge.
    fn interval(&self) -> Duration {
        match self.passed_over {
            Some(next) => next.saturating_duration_since(Instant::now()),
            None if self.rollouts.is_empty() => INTERVAL,
            None => ROLLOUT_INTERVAL,
        }
    }
}

//! Applying the current document, and taking it back.
//!
//! [`Engine::start_apply`] says on the disk what is about to happen; the agent reports it; [`Engine::finish_apply`] does it.
//! A crash in between leads to the same two steps again.

use std::path::Path;
use std::sync::Arc;

use windlass_api::agent::AgentEventKind;
use windlass_core::host::HostState;

use super::changes;
use super::compose::{ComposeProblem, missing_blobs, used_blobs};
use super::engine::{Engine, HeldCertainty};
use super::held::{ApplyStep, HeldDocument};
use crate::confirm::could_cut_off;
use crate::report::ApplyFailures;
use crate::target::host::{HostError, RunReport};
use crate::upgrade::{self, AfterUpgrade};

/// Whether applying can begin.
#[derive(Debug)]
pub(crate) enum ApplyStart {
    /// Yes. The next report says that the node is being changed.
    Ready,
    /// Something prevents it: blobs are missing, or the host cannot be read. The agent tries again later.
    Prevented,
}

impl Engine {
    /// Whether the current document has yet to be applied, or some of it failed.
    pub(crate) fn has_to_apply(&self) -> bool {
        let is_certain = self.certainty == HeldCertainty::Certain;
        is_certain && self.held.current.is_some() && self.held.step != ApplyStep::Done
    }

    /// Whether the agent must reach its server to keep what it applied.
    pub(crate) fn awaits_confirmation(&self) -> bool {
        self.held.unconfirmed.is_some()
    }

    /// Finds out what applying will change, and notes on the disk that it begins.
    pub(crate) fn start_apply(&mut self) -> ApplyStart {
        let Some(current) = self.held.current.clone() else { return ApplyStart::Prevented };
        self.reached("before starting to apply");
        match missing_blobs(&self.cache, &current.document) {
            Ok(missing) if missing.is_empty() => {}
            Ok(missing) => {
                self.cannot_look(&ComposeProblem::Missing(missing));
                return ApplyStart::Prevented;
            }
            Err(problem) => {
                self.cannot_look(&problem);
                return ApplyStart::Prevented;
            }
        }
        let state = match self.composed() {
            Ok(Some(state)) => state,
            Ok(None) => return ApplyStart::Prevented,
            Err(problem) => {
                self.cannot_look(&problem);
                return ApplyStart::Prevented;
            }
        };
        match self.prepare(&current, &state) {
            Ok(()) => ApplyStart::Ready,
            Err(problem) => {
                self.apply_failed(&problem);
                ApplyStart::Prevented
            }
        }
    }

    /// Checks the agent's new binary. One that does not run is replaced by the old one, and the assignment taken back.
    pub(crate) fn after_upgrade(&mut self, state_dir: &Path) -> AfterUpgrade {
        let Some(executable) = self.executable_on_disk() else { return AfterUpgrade::Restart };
        match upgrade::check_replacement(&self.files, &executable, state_dir) {
            Ok(()) => AfterUpgrade::Restart,
            Err(problem) => {
                self.withdraw(&problem);
                AfterUpgrade::TakenBack
            }
        }
    }

    fn prepare(&mut self, current: &HeldDocument, state: &Arc<HostState>) -> Result<(), String> {
        let expected =
            self.host().and_then(|host| host.dry_run(&current.document, state, self.held.extent.scope()));
        let expected = expected.map_err(|error| error.with_causes())?;
        self.note_risk(&expected).map_err(|error| error.with_cause())?;
        if self.replaces_executable(&expected)
            && let Some(executable) = self.executable_on_disk()
        {
            upgrade::prepare(&self.files, &executable, current.generation)
                .map_err(|error| error.with_cause())?;
        }
        let changing = changes::changing_modules(&expected);
        let modules = current.document.modules.iter().filter(|module| changing.contains(&module.name));
        let view = self.outbox.view().while_changing(modules, self.now());
        self.outbox.show(view, self.held.accepted_generation());
        self.save_outbox().map_err(|error| error.with_cause())
    }

    /// Notes on the disk that a change could cut the agent off.
    fn note_risk(&mut self, run: &RunReport) -> Result<(), crate::state::StateError> {
        let own = self.own_paths();
        let risky = run.changes().find(|(report, _, _)| could_cut_off(&report.item, &own));
        let Some((report, _, _)) = risky else { return Ok(()) };
        if self.held.unconfirmed.is_some() || self.held.withdrawn.is_some() {
            return Ok(());
        }
        tracing::info!(item = %report.item, "this change could cut the agent off; it must reach its server afterwards");
        self.held.await_confirmation();
        let saved = self.save_held();
        if saved.is_err() {
            self.held.unconfirmed = None;
        }
        saved
    }

    fn replaces_executable(&self, run: &RunReport) -> bool {
        let Some(executable) = self.options.executable.as_deref().and_then(std::path::Path::to_str) else {
            return false;
        };
        run.changes().any(|(report, _, _)| report.item.kind == "path" && report.item.name == executable)
    }

    /// Applies the current document. Returns whether the agent's own binary was replaced.
    pub(crate) fn finish_apply(&mut self) -> bool {
        let (Some(current), Ok(Some(state))) = (self.held.current.clone(), self.composed()) else {
            return false;
        };
        self.reached("before applying");
        let applied = self.host().and_then(|host| {
            let run = host.apply(&current.document, &state, self.held.extent.scope())?;
            let drift = host.observe(&current.document, &state);
            Ok::<_, HostError>((run, drift))
        });
        let (run, drift) = match applied {
            Ok(applied) => applied,
            Err(error) => {
                self.apply_failed(&error.with_causes());
                return false;
            }
        };
        self.reached("after applying");
        if let Err(error) = self.note_risk(&run) {
            self.trouble(&error.with_cause());
        }
        self.note_run(&current, &run);
        self.outbox.request_complete();
        self.show(drift, Vec::new());
        self.try_save_outbox();
        self.held.step = if run.is_converged() { ApplyStep::Done } else { ApplyStep::Failing };
        if let Err(error) = self.save_held() {
            self.trouble(&error.with_cause());
        }
        let used = self.held.documents().flat_map(|document| used_blobs(&self.cache, document)).collect();
        self.cache.touch(&used);
        self.cache.evict(&used);
        self.replaces_executable(&run)
    }

    /// Events and failures of a run.
    fn note_run(&mut self, current: &HeldDocument, run: &RunReport) {
        let generation = current.generation;
        let failures = changes::failures(run, generation);
        let now = self.now();
        if run.is_converged() {
            let changed = run.changes().count() as u64;
            tracing::info!(generation, changed, "applied");
            if self.held.withdrawn.is_none() {
                let what = AgentEventKind::Applied { generation, changed };
                self.outbox.push(
                    now,
                    what,
                    &format!("applied generation {generation}, {changed} items changed"),
                );
            }
        } else if self.failures != failures {
            let problem = failures.summary().unwrap_or_default();
            tracing::error!(generation, problem, "some items failed");
            let what = AgentEventKind::ApplyFailed { generation, items: changes::failed_items(run) };
            self.outbox.push(now, what, &problem);
        }
        self.failures = failures;
    }

    /// Nothing could be applied.
    fn apply_failed(&mut self, problem: &str) {
        let generation = self.held.current.as_ref().map_or(0, |current| current.generation);
        self.failures = ApplyFailures { generation, target: Some(problem.to_owned()), ..Default::default() };
        if self.held.withdrawn.is_none() {
            let view = self.outbox.view().with_failure(generation, problem, self.now());
            self.outbox.show(view, self.held.accepted_generation());
        }
        self.note_trouble(problem);
    }

    /// The server was reached after a change that could have cut the agent off.
    pub(crate) fn confirm(&mut self) {
        if self.held.unconfirmed.take().is_none() {
            return;
        }
        match self.save_held() {
            Ok(()) => tracing::info!("the server was reached after the change; it stays"),
            Err(error) => self.trouble(&error.with_cause()),
        }
    }

    /// Goes back to what was applied before. The agent applies it next.
    pub(crate) fn withdraw(&mut self, reason: &str) {
        let mut held = self.held.clone();
        let withdrawn = held.withdraw(reason);
        // The event is on the disk first: after a crash in between there may be two of them, but never none.
        match withdrawn {
            Some(generation) => {
                tracing::error!(generation, reason, "taken back");
                self.outbox.push(self.now(), AgentEventKind::Reverted { generation }, reason);
                self.try_save_outbox();
            }
            None => {
                self.note_trouble("the change may have cut the agent off, and what to go back to is lost");
            }
        }
        let before = std::mem::replace(&mut self.held, held);
        match self.save_held() {
            Ok(()) => {
                self.state = None;
                self.failures = ApplyFailures::default();
            }
            Err(error) => {
                self.held = before;
                self.trouble(&error.with_cause());
            }
        }
    }

    /// Counts a start. An agent that its own change stops each time goes back.
    pub(super) fn count_start(&mut self) {
        if self.held.unconfirmed.is_none() {
            return;
        }
        self.held.count_start();
        if self.held.has_too_many_starts() {
            self.withdraw("the agent started several times without reaching its server after this change");
        } else if let Err(error) = self.save_held() {
            self.trouble(&error.with_cause());
        }
    }
}

//! Looking at the host: what differs, and correcting what shall be corrected.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_api::agent::AgentEventKind;
use windlass_core::host::{HostState, NodeDocument};
use windlass_core::resource::DriftMode;

use super::changes::{self, NewEvent};
use super::compose::{ComposeProblem, missing_blobs};
use super::engine::{Engine, HeldCertainty};
use super::held::ApplyStep;
use crate::report::{ApplyFailures, LookResult};
use crate::target::host::{HostError, ItemDrift, ItemOutcome};

impl Engine {
    /// Looks at the host, corrects what shall be corrected, and notes the rest for the next report. Returns whether it
    /// corrected anything.
    pub(crate) fn look(&mut self) -> bool {
        self.reached("before looking at the host");
        let Some(current) = self.held.current.clone() else { return false };
        let state = match self.composed() {
            Ok(Some(state)) => state,
            Ok(None) => return false,
            Err(problem) => {
                self.cannot_look(&problem);
                return false;
            }
        };
        let (drift, events) = match self.observe_and_correct(&current.document, &state) {
            Ok(seen) => seen,
            Err(error) => {
                self.note_trouble(&error.with_causes());
                return false;
            }
        };
        let has_corrected = !events.is_empty();
        if drift.iter().any(|item| item.found.is_err()) {
            // An item may not be comparable because its blob is damaged.
            self.missing = missing_blobs(&self.cache, &current.document).unwrap_or_default();
        }
        self.show(drift, events);
        self.reached("after looking at the host");
        has_corrected
    }

    fn observe_and_correct(
        &mut self,
        document: &NodeDocument,
        state: &Arc<HostState>,
    ) -> Result<(Vec<ItemDrift>, Vec<NewEvent>), HostError> {
        let drift = self.host()?.observe(document, state);
        let is_correctable = |item: &ItemDrift| item.mode == DriftMode::Correct && item.found.is_ok();
        let may_correct = self.certainty == HeldCertainty::Certain && self.held.step != ApplyStep::Due;
        self.correction_failures.clear();
        if !may_correct || !drift.iter().any(is_correctable) {
            return Ok((drift, Vec::new()));
        }
        self.reached("before correcting drift");
        let run = self.host()?.correct(document, state)?;
        for item in &run.items {
            if let ItemOutcome::Failed(reason) = &item.outcome {
                let message = format!("cannot correct {}: {reason}", item.item);
                self.correction_failures.entry(item.module.clone()).or_insert(message);
            }
        }
        Ok((self.host()?.observe(document, state), changes::corrections(&run)))
    }

    /// Notes what the agent sees, with the events of it.
    pub(super) fn show(&mut self, drift: Vec<ItemDrift>, mut events: Vec<NewEvent>) {
        let Some(current) = &self.held.current else { return };
        let now = self.now();
        let failures = self.reported_failures();
        let (document, generation) = (&current.document, current.generation);
        let before = self.outbox.view();
        let view = before.after_look(LookResult { document, generation, drift, failures, at: now });
        let corrected: BTreeSet<String> = events
            .iter()
            .filter_map(|(event, _)| match event {
                AgentEventKind::Corrected { item, .. } => Some(item.clone()),
                _ => None,
            })
            .collect();
        events.extend(changes::drift_events(&before.drift, &view.drift, document, &corrected));
        let mut is_new = !events.is_empty();
        for (event, message) in events {
            tracing::info!(message);
            self.outbox.push(now, event, &message);
        }
        is_new |= self.outbox.show(view, self.held.accepted_generation());
        if is_new {
            self.try_save_outbox();
        }
    }

    /// Why the node is not what its server wants: a refused assignment, one that was taken back, or what failed.
    pub(super) fn reported_failures(&self) -> ApplyFailures {
        if let Some((generation, problem)) = &self.refused {
            return ApplyFailures {
                generation: *generation,
                target: Some(problem.clone()),
                modules: self.failures.modules.clone(),
            };
        }
        if let Some(withdrawn) = &self.held.withdrawn {
            return ApplyFailures {
                generation: withdrawn.generation,
                target: Some(withdrawn.reason.clone()),
                modules: self.failures.modules.clone(),
            };
        }
        let mut failures = self.failures.clone();
        if !self.correction_failures.is_empty() {
            failures.generation = self.held.accepted_generation();
            for (module, problem) in &self.correction_failures {
                failures.modules.entry(module.clone()).or_insert_with(|| problem.clone());
            }
        }
        failures
    }

    /// The agent does not know what the node shall be in detail. It leaves everything as it is.
    pub(super) fn cannot_look(&mut self, problem: &ComposeProblem) {
        if let ComposeProblem::Missing(missing) = problem {
            self.missing = missing.clone();
        }
        let now = self.now();
        let view = self.outbox.view().unreadable(&problem.to_string(), &self.reported_failures(), now);
        self.outbox.show(view, self.held.accepted_generation());
        self.note_trouble(&problem.to_string());
    }
}

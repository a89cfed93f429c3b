//! Reloads and restarts: once per run, and only for services one of whose files changed.
//!
//! The inventory notes them before a file changes. If the agent crashes between the change and the reload, the next run
//! reloads the service.

use std::collections::BTreeSet;

use windlass_core::host::{HostItem, HostItemId};
use windlass_core::resource::{HostService, ServiceState};
use windlass_core::value::AbsolutePath;

use super::error::HostError;
use super::inventory::NotificationKind;
use super::report::ItemOutcome;
use super::run::{Effects, Run, outcome_of};
use super::services::{RunState, ServiceAction};
use windlass_core::host::FieldDifference;

/// Where systemd reads unit files.
const UNIT_DIRECTORIES: &[&str] = &[
    "/etc/systemd/system/",
    "/usr/lib/systemd/system/",
    "/lib/systemd/system/",
    "/usr/local/lib/systemd/system/",
];

impl Run<'_> {
    /// Notes the services that a change of this item reloads or restarts.
    pub(super) fn notify_services(&mut self, item: &HostItem) {
        if let HostItem::File(path, _) | HostItem::Link(path, _) = item {
            self.notify_services_of_path(path.as_str());
        }
    }

    /// Notes the services that a change of this path reloads or restarts.
    pub(super) fn notify_services_of_path(&mut self, path: &str) {
        let state = self.state;
        for one in &state.items {
            let HostItem::Service(name, service) = &one.item else { continue };
            let names_path = |paths: &BTreeSet<AbsolutePath>| paths.iter().any(|one| one.as_str() == path);
            if names_path(&service.restart_on) {
                self.inventory.notify(name.as_str(), NotificationKind::Restart, path);
            } else if names_path(&service.reload_on) {
                self.inventory.notify(name.as_str(), NotificationKind::Reload, path);
            }
        }
        if UNIT_DIRECTORIES.iter().any(|directory| path.starts_with(directory)) {
            self.inventory.definitions_changed = true;
        }
    }

    /// Lets the service manager read changed unit files.
    pub(super) fn reload_changed_definitions(&mut self) -> Result<(), HostError> {
        if !self.inventory.definitions_changed {
            return Ok(());
        }
        if self.effects == Effects::Perform {
            self.machine.effect("reloading unit files", || self.machine.services.reload_definitions())?;
        }
        self.inventory.definitions_changed = false;
        self.save()
    }

    /// Reloads or restarts a service, if one of its files changed and it runs.
    pub(super) fn deliver_notification(
        &mut self,
        name: &str,
        service: &HostService,
    ) -> Result<Option<FieldDifference>, HostError> {
        let Some(notification) = self.inventory.notifications.get(name).cloned() else { return Ok(None) };
        // A dry run has not started the service, an apply has.
        let runs = service.state == ServiceState::Running
            && (self.effects == Effects::Pretend
                || self.machine.services.status(name)?.run == RunState::Running);
        let (field, action) = match notification.kind {
            NotificationKind::Reload => ("reload", ServiceAction::Reload),
            NotificationKind::Restart => ("restart", ServiceAction::Restart),
        };
        if runs && self.effects == Effects::Perform {
            self.machine.perform(name, action)?;
        }
        self.inventory.notifications.remove(name);
        self.save()?;
        let paths: Vec<&str> = notification.paths.iter().map(String::as_str).collect();
        let reason = format!("because of {}", paths.join(", "));
        Ok(runs.then(|| FieldDifference::value(field, Some("not done"), Some(&reason))))
    }

    /// Reloads services whose files changed after their own turn: by a later module, or by a removal.
    pub(super) fn deliver_remaining_notifications(&mut self) {
        if let Err(error) = self.reload_changed_definitions() {
            tracing::warn!(error = error.with_causes(), "cannot reload unit files; the next run tries again");
        }
        let state = self.state;
        for one in &state.items {
            let HostItem::Service(name, service) = &one.item else { continue };
            let module = self.failures.name(one.module);
            if self.failures.cause(module).is_some() {
                continue;
            }
            match self.deliver_notification(name.as_str(), service) {
                Ok(None) => {}
                Ok(Some(difference)) => self.amend(&one.item.id(), difference),
                Err(error) => {
                    let outcome = self.failed(module, &error);
                    self.set_outcome(&one.item.id(), outcome);
                }
            }
        }
    }

    /// Adds a difference to the report of a service.
    fn amend(&mut self, id: &HostItemId, difference: FieldDifference) {
        let report = self.report.items.iter().find(|report| report.item == *id);
        let mut differences = match report.map(|report| &report.outcome) {
            Some(ItemOutcome::Changed(_, differences)) => differences.clone(),
            _ => Vec::new(),
        };
        differences.push(difference);
        self.set_outcome(id, outcome_of(differences));
    }

    fn set_outcome(&mut self, id: &HostItemId, outcome: ItemOutcome) {
        if let Some(report) = self.report.items.iter_mut().find(|report| report.item == *id) {
            report.outcome = outcome;
        }
    }
}

//! One run: walks through the plan, and makes or removes one item after the other.
//!
//! A dry run takes the same walk and leaves the host and the state directory as they are.

use windlass_core::host::{HostItem, HostItemId, HostState, ItemFromModule, NodeDocument};
use windlass_core::resource::DriftMode;

use super::error::HostError;
use super::inventory::{EntryStatus, Inventory, InventoryEntry};
use super::item_type::AnyItemType;
use super::machine::Machine;
use super::module_failures::ModuleFailures;
use super::package_batch::PackageBatch;
use super::plan::{PlanStep, plan_steps};
use super::report::{ChangeKind, ItemOutcome, ItemReport, RunReport};
use super::types;
use windlass_core::host::FieldDifference;

/// Whether a run changes the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effects {
    Perform,
    /// Only find out what would change.
    Pretend,
}

/// Which items a run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All items, and those that left the state.
    WholeState,
    /// Items that shall be something else than before, that failed, or whose module corrects drift; and those that left the
    /// state. What someone changed by hand stays as it is, until a person decides.
    Changes,
    /// Items whose module corrects drift. Nothing is removed.
    CorrectedItems,
}

/// A run over a state.
pub(crate) struct Run<'r> {
    pub(super) machine: &'r Machine<'r>,
    pub(super) state: &'r HostState,
    pub(super) inventory: Inventory,
    pub(super) effects: Effects,
    pub(super) failures: ModuleFailures<'r>,
    pub(super) report: RunReport,
    pub(super) packages: PackageBatch,
    scope: Scope,
    /// Whether the inventory has yet to be saved because an item is as it shall be.
    pub(super) has_settled: bool,
}

impl<'r> Run<'r> {
    pub(crate) fn new(
        machine: &'r Machine<'r>,
        (document, state): (&'r NodeDocument, &'r HostState),
        scope: Scope,
        effects: Effects,
    ) -> Result<Run<'r>, HostError> {
        machine.packages.forget_observations();
        let inventory = Inventory::read(&machine.state)?;
        let (failures, report) = (ModuleFailures::new(document), RunReport::default());
        Ok(Run {
            machine,
            state,
            inventory,
            effects,
            failures,
            report,
            packages: PackageBatch::default(),
            scope,
            has_settled: false,
        })
    }

    /// Walks through the plan. Failures of items are in the report.
    pub(crate) fn execute(mut self) -> Result<RunReport, HostError> {
        if self.effects == Effects::Perform {
            self.clean_interrupted();
        }
        for step in plan_steps(&self.inventory, self.state) {
            match step {
                PlanStep::Make(index) => self.make(index),
                PlanStep::Remove(_) if self.scope == Scope::CorrectedItems => {}
                PlanStep::Remove(id) => self.remove(&id),
            }
        }
        self.deliver_remaining_notifications();
        if self.effects == Effects::Perform {
            self.clean_up();
        }
        Ok(self.report)
    }

    /// Whether an item belongs to this run.
    pub(super) fn includes(&self, one: &ItemFromModule) -> bool {
        match self.scope {
            Scope::WholeState => true,
            Scope::Changes => one.drift == DriftMode::Correct || !self.inventory.is_settled(&one.item),
            Scope::CorrectedItems => one.drift == DriftMode::Correct,
        }
    }

    fn make(&mut self, index: usize) {
        let state = self.state;
        let one = &state.items[index];
        if !self.includes(one) {
            return;
        }
        let module = self.failures.name(one.module);
        let outcome = match self.failures.cause(module) {
            Some(cause) => ItemOutcome::Skipped { module: cause.to_owned() },
            None => match self.make_item(index, one, module) {
                Ok(outcome) => {
                    self.has_settled |= self.inventory.settle(&one.item);
                    outcome
                }
                Err(error) => self.failed(module, &error),
            },
        };
        self.push(one.item.id(), module, outcome);
    }

    fn make_item(
        &mut self,
        index: usize,
        one: &ItemFromModule,
        module: &str,
    ) -> Result<ItemOutcome, HostError> {
        let id = one.item.id();
        let item_type = types::type_of(&one.item);
        if matches!(one.item, HostItem::Service(..)) {
            self.reload_changed_definitions()?;
        }
        if let HostItem::Package(_) = &one.item {
            return self.make_package(index, module);
        }
        let mut differences = item_type.differences(self.machine, &one.item)?;
        let other_type =
            self.inventory.entry(&id).filter(|entry| entry.item_type().name() != item_type.name());
        if let Some(entry) = other_type.cloned() {
            self.replace_type(&entry, one, module)?;
        } else if !differences.is_empty() {
            self.change(one, module, &differences)?;
        } else {
            self.enter_created_directory(&one.item, module)?;
            self.finish_interrupted(one)?;
            self.mark_done(&id, module)?;
        }
        if let HostItem::Service(name, service) = &one.item {
            differences.extend(self.deliver_notification(name.as_str(), service)?);
        }
        Ok(outcome_of(differences))
    }

    /// Removes an item of another type from a path, and then makes the new one.
    fn replace_type(
        &mut self,
        entry: &InventoryEntry,
        one: &ItemFromModule,
        module: &str,
    ) -> Result<(), HostError> {
        if self.effects == Effects::Pretend {
            self.notify_services(&one.item);
            return Ok(());
        }
        entry.item_type().remove(self.machine, &entry.name, &entry.previous)?;
        self.inventory.remove(&entry.id());
        self.remove_empty_directories();
        self.save()?;
        let differences = types::type_of(&one.item).differences(self.machine, &one.item)?;
        if differences.is_empty() { Ok(()) } else { self.change(one, module, &differences) }
    }

    /// Makes an item true that differs. The inventory on the disk knows about it before and after.
    fn change(
        &mut self,
        one: &ItemFromModule,
        module: &str,
        differences: &[FieldDifference],
    ) -> Result<(), HostError> {
        let before = self.inventory.clone();
        let item_type = types::type_of(&one.item);
        if let HostItem::Service(name, _) = &one.item
            && differences.iter().any(|difference| difference.is_field("state"))
        {
            // A service that starts now reads its files anyway. A crash before the start leads to another start.
            self.inventory.notifications.remove(name.as_str());
        }
        self.notify_services(&one.item);
        if self.effects == Effects::Pretend {
            return Ok(());
        }
        let begun = self.begin(&one.item, module, item_type).and_then(|()| self.save());
        let applied = begun.and_then(|()| item_type.apply(self.machine, &one.item));
        if applied.is_err() {
            self.undo_begin(before, &one.item, differences);
        }
        applied?;
        self.mark_done(&one.item.id(), module)
    }

    /// Enters an item into the inventory before its change.
    pub(super) fn begin(
        &mut self,
        item: &HostItem,
        module: &str,
        item_type: &dyn AnyItemType,
    ) -> Result<(), HostError> {
        let id = item.id();
        for directory in item_type.directories(self.machine, item) {
            let missing = self.machine.tree.missing_directories(&directory)?;
            self.inventory.created_directories.extend(missing);
        }
        if self.inventory.entry(&id).is_none() {
            let previous = item_type.remember(self.machine, item)?;
            let entry = InventoryEntry::new(item_type, id.name.clone(), module.to_owned(), previous);
            self.inventory.entries.push(entry);
        }
        let paths = item_type.paths(self.machine, item);
        self.inventory.unsettle(&id);
        if let Some(entry) = self.inventory.entry_mut(&id) {
            entry.status = EntryStatus::Pending;
            entry.module = module.to_owned();
            entry.paths = paths;
        }
        Ok(())
    }

    /// After a crash, an item may look right although its last step is missing.
    fn finish_interrupted(&self, one: &ItemFromModule) -> Result<(), HostError> {
        let entry = self.inventory.entry(&one.item.id());
        match entry.is_some_and(|entry| entry.status == EntryStatus::Pending)
            && self.effects == Effects::Perform
        {
            true => types::type_of(&one.item).finish_interrupted(self.machine, &one.item),
            false => Ok(()),
        }
    }

    /// Enters a directory that the agent created for another item, and that is now an item itself.
    fn enter_created_directory(&mut self, item: &HostItem, module: &str) -> Result<(), HostError> {
        let HostItem::Directory(path, _) = item else { return Ok(()) };
        let is_created = self.inventory.created_directories.contains(path.as_str());
        match is_created && self.effects == Effects::Perform && self.inventory.entry(&item.id()).is_none() {
            true => self.begin(item, module, types::type_of(item)),
            false => Ok(()),
        }
    }

    /// After a failure that changed nothing, the inventory is again what it was: services are not reloaded for nothing.
    fn undo_begin(&mut self, before: Inventory, item: &HostItem, differences: &[FieldDifference]) {
        let now = types::type_of(item).differences(self.machine, item);
        if now.is_ok_and(|now| now == differences) {
            let created = std::mem::take(&mut self.inventory.created_directories);
            self.inventory = before;
            self.inventory.created_directories.extend(created);
            if let Err(error) = self.save() {
                // The next run finds an entry of a change that did not happen, and finishes it.
                tracing::warn!(error = error.with_causes(), "cannot save the inventory");
            }
        }
    }

    pub(super) fn mark_done(&mut self, id: &HostItemId, module: &str) -> Result<(), HostError> {
        let Some(entry) = self.inventory.entry_mut(id) else { return Ok(()) };
        if entry.status == EntryStatus::Done && entry.module == module {
            return Ok(());
        }
        entry.status = EntryStatus::Done;
        entry.module = module.to_owned();
        self.save()
    }

    fn remove(&mut self, id: &HostItemId) {
        let Some(entry) = self.inventory.entry(id).cloned() else { return };
        let outcome = match self.failures.cause(&entry.module) {
            Some(cause) => ItemOutcome::Skipped { module: cause.to_owned() },
            None => {
                let removed = self.remove_entry(id, &entry);
                removed.unwrap_or_else(|error| self.failed(&entry.module, &error))
            }
        };
        self.push(id.clone(), &entry.module, outcome);
    }

    fn remove_entry(&mut self, id: &HostItemId, entry: &InventoryEntry) -> Result<ItemOutcome, HostError> {
        let is_package = entry.item_type().name() == "package";
        let differences = match is_package {
            true => self.remove_package(id, entry)?,
            false => entry.item_type().removal_differences(self.machine, &entry.name, &entry.previous)?,
        };
        if !differences.is_empty() && id.kind == "path" {
            self.notify_services_of_path(&id.name);
        }
        if self.effects == Effects::Perform && !is_package {
            self.save()?;
            entry.item_type().remove(self.machine, &entry.name, &entry.previous)?;
        }
        self.inventory.remove(id);
        self.inventory.notifications.retain(|service, _| id.kind != "service" || *service != id.name);
        if self.effects == Effects::Perform {
            self.remove_empty_directories();
            self.save()?;
        }
        match differences.is_empty() {
            true => Ok(ItemOutcome::Unchanged),
            false => Ok(ItemOutcome::Changed(ChangeKind::Remove, differences)),
        }
    }

    pub(super) fn failed(&mut self, module: &str, error: &HostError) -> ItemOutcome {
        self.failures.add(module);
        ItemOutcome::Failed(error.with_causes())
    }

    fn push(&mut self, item: HostItemId, module: &str, outcome: ItemOutcome) {
        self.report.items.push(ItemReport { item, module: module.to_owned(), outcome });
    }

    /// Writes the inventory; a dry run writes nothing.
    pub(super) fn save(&self) -> Result<(), HostError> {
        match self.effects {
            Effects::Perform => self.inventory.save(&self.machine.state),
            Effects::Pretend => Ok(()),
        }
    }
}

/// The outcome of an item with these differences, once it is made true.
pub(super) fn outcome_of(differences: Vec<FieldDifference>) -> ItemOutcome {
    if differences.is_empty() {
        return ItemOutcome::Unchanged;
    }
    let is_new = differences.iter().all(FieldDifference::is_new);
    ItemOutcome::Changed(if is_new { ChangeKind::Create } else { ChangeKind::Update }, differences)
}

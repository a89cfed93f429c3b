//! Installs the packages of a run: all of them in one transaction, or those of each module if that fails.

use windlass_core::host::{HostItem, HostItemId, ItemFromModule};
use windlass_core::value::PackagePin;

use super::error::HostError;
use super::inventory::InventoryEntry;
use super::packages::satisfies;
use super::report::ItemOutcome;
use super::run::{Effects, Run, outcome_of};
use super::types;
use windlass_core::host::FieldDifference;

/// A package to install.
struct MissingPackage<'r> {
    index: usize,
    pin: &'r PackagePin,
    from: &'r ItemFromModule,
    differences: Vec<FieldDifference>,
}

impl<'r> Run<'r> {
    /// Installs a package, together with others of this run.
    pub(super) fn make_package(&mut self, index: usize, module: &str) -> Result<ItemOutcome, HostError> {
        let item = &self.state.items[index].item;
        if let Some(differences) = self.packages.installed.remove(&index) {
            return Ok(outcome_of(differences));
        }
        let differences = types::type_of(item).differences(self.machine, item)?;
        if differences.is_empty() {
            self.mark_done(&item.id(), module)?;
            return Ok(ItemOutcome::Unchanged);
        }
        if self.effects == Effects::Perform {
            self.install_with_others(index)?;
            self.packages.installed.remove(&index);
        }
        Ok(outcome_of(differences))
    }

    fn install_with_others(&mut self, index: usize) -> Result<(), HostError> {
        let module = self.state.items[index].module;
        if !self.packages.tried_all {
            self.packages.tried_all = true;
            let all = self.missing_packages(index)?;
            let has_other_modules = all.iter().any(|one| one.from.module != module);
            match self.install(all) {
                // A package of another module may be the reason, or a module that makes a package available comes later.
                Err(_) if has_other_modules => {}
                result => return result,
            }
        }
        let mut of_module = self.missing_packages(index)?;
        of_module.retain(|one| one.from.module == module);
        self.install(of_module)
    }

    /// The packages that differ, from this index on, of modules that have not failed.
    fn missing_packages(&self, first: usize) -> Result<Vec<MissingPackage<'r>>, HostError> {
        let state = self.state;
        let mut missing = Vec::new();
        for (index, from) in state.items.iter().enumerate().skip(first) {
            let HostItem::Package(pin) = &from.item else { continue };
            if !self.includes(from) || self.failures.cause(self.failures.name(from.module)).is_some() {
                continue;
            }
            let differences = types::type_of(&from.item).differences(self.machine, &from.item)?;
            if !differences.is_empty() {
                missing.push(MissingPackage { index, pin, from, differences });
            }
        }
        Ok(missing)
    }

    /// Installs packages in one transaction. The inventory on the disk knows about them before and after.
    fn install(&mut self, missing: Vec<MissingPackage<'r>>) -> Result<(), HostError> {
        let before = self.inventory.clone();
        for one in &missing {
            let module = self.failures.name(one.from.module);
            self.begin(&one.from.item, module, types::type_of(&one.from.item))?;
        }
        self.save()?;
        let pins: Vec<&PackagePin> = missing.iter().map(|one| one.pin).collect();
        let installed = self.machine.effect("installing packages", || self.machine.packages.install(&pins));
        if installed.is_err() {
            // What the package manager installed in spite of the failure stays in the inventory.
            let is_missing = |one: &MissingPackage<'_>| {
                let now = types::type_of(&one.from.item).differences(self.machine, &one.from.item);
                now.is_ok_and(|now| now == one.differences)
            };
            for one in missing.iter().filter(|one| is_missing(one)) {
                if before.entry(&one.from.item.id()).is_none() {
                    self.inventory.remove(&one.from.item.id());
                }
            }
            self.save()?;
        }
        installed?;
        for one in &missing {
            let satisfied = self.machine.packages.installed(one.pin.name.as_str())?;
            if satisfied.as_ref().is_none_or(|version| !satisfies(version, one.pin)) {
                let name = one.pin.name.to_string();
                return Err(HostError::PackageDiffers { name, found: satisfied });
            }
        }
        for one in missing {
            self.mark_done(&one.from.item.id(), self.failures.name(one.from.module))?;
            self.packages.installed.insert(one.index, one.differences);
        }
        Ok(())
    }

    /// Removes a package, together with others of its module that leave. Returns what differed before.
    pub(super) fn remove_package(
        &mut self,
        id: &HostItemId,
        entry: &InventoryEntry,
    ) -> Result<Vec<FieldDifference>, HostError> {
        if let Some(differences) = self.packages.removed.remove(id) {
            return Ok(differences);
        }
        let differences = self.removal_differences(entry)?;
        if differences.is_empty() || self.effects == Effects::Pretend {
            return Ok(differences);
        }
        let mut together = Vec::new();
        for other in self.inventory.entries.iter().filter(|other| other.module == entry.module) {
            let leaves = !self.state.items.iter().any(|one| one.item.id() == other.id());
            if leaves && other.id().kind == id.kind && other.name != entry.name {
                together.push((other.id(), self.removal_differences(other)?));
            }
        }
        together.retain(|(_, differences)| !differences.is_empty());
        let mut names = vec![entry.name.as_str()];
        names.extend(together.iter().map(|(id, _)| id.name.as_str()));
        self.machine.effect("removing packages", || self.machine.packages.remove(&names))?;
        self.packages.removed.extend(together);
        Ok(differences)
    }

    fn removal_differences(&self, entry: &InventoryEntry) -> Result<Vec<FieldDifference>, HostError> {
        entry.item_type().removal_differences(self.machine, &entry.name, &entry.previous)
    }
}

//! Which modules a run must not continue, because they or modules that they depend on failed.

use std::collections::BTreeMap;

use windlass_core::host::NodeDocument;

/// The modules of a node, and those that failed in this run.
pub(crate) struct ModuleFailures<'d> {
    document: &'d NodeDocument,
    /// Module → the module that is the cause: itself, or one that it depends on.
    blocked: BTreeMap<String, String>,
}

impl<'d> ModuleFailures<'d> {
    pub(crate) fn new(document: &'d NodeDocument) -> ModuleFailures<'d> {
        ModuleFailures { document, blocked: BTreeMap::new() }
    }

    /// The name of the module with this index.
    pub(crate) fn name(&self, index: usize) -> &'d str {
        self.document.modules.get(index).map_or("", |module| module.name.as_str())
    }

    /// Notes that an item of a module failed. It blocks the module and every module that depends on it.
    pub(crate) fn add(&mut self, failed: &str) {
        self.blocked.entry(failed.to_owned()).or_insert_with(|| failed.to_owned());
        // Each module stands after those that it depends on.
        for module in &self.document.modules {
            let cause = module.depends_on.iter().find_map(|dependency| self.blocked.get(dependency)).cloned();
            if let Some(cause) = cause {
                self.blocked.entry(module.name.clone()).or_insert(cause);
            }
        }
    }

    /// The module whose failure blocks a module.
    pub(crate) fn cause(&self, module: &str) -> Option<&str> {
        self.blocked.get(module).map(String::as_str)
    }
}

//! Versions of modules: immutable content with a lifecycle.

use std::sync::Arc;

use super::kind::Kind;
use super::module::ModuleSpec;
use super::module_version_name::version_name;
use super::needs::{Reference, ResourceSpec, SpecPath};
use crate::shape::record;
use crate::value::Lifecycle;

record! {
    /// A version of a module, named `module@version`: immutable content with a state. Windlass makes it when a module
    /// with that `version` is applied. Files and requests can change only its state and its protection.
    pub struct ModuleVersionSpec {
        /// Its state. Pins such as `nginx@live` select the newest version in a state.
        state: Lifecycle = Lifecycle::Built => "blessed",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
    /// What the version makes of a machine: the module as it was applied. Set by Windlass, never by a file or a request.
    carries content: Option<Arc<ModuleSpec>>,
}

impl ModuleVersionSpec {
    /// The version that applying a module makes, with the state that it had before if it existed.
    pub fn made_by(module: &ModuleSpec, existing: Option<&ModuleVersionSpec>) -> ModuleVersionSpec {
        ModuleVersionSpec {
            state: existing.map_or_else(|| module.version_state.lifecycle(), |existing| existing.state),
            protect: existing.is_some_and(|existing| existing.protect),
            content: Some(Arc::new(module.version_content())),
        }
    }
}

impl ResourceSpec for ModuleVersionSpec {
    fn references<'s>(&'s self, _name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
        for (index, pin) in self.content.iter().flat_map(|content| &content.depends_on).enumerate() {
            if let Some(version) = pin.version() {
                let name = version_name(pin.name.as_str(), version);
                visit(Reference::new(Kind::ModuleVersion, name, SpecPath::Item("depends_on", index)));
            }
        }
    }

    fn is_protected(&self) -> bool {
        self.protect
    }
}

//! The names of module versions.

use std::fmt;

use crate::quote::quoted;
use crate::shape::{InvalidText, TextValue};
use crate::value::{Name, Version};

/// The name of a version of a module.
pub fn version_name(module: &str, version: &Version) -> String {
    format!("{module}@{version}")
}

/// The name of a module version: a module's name, `@` and the version's number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleVersionName {
    /// The module.
    pub module: Name,
    /// The number.
    pub version: Version,
}

impl fmt::Display for ModuleVersionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.module, self.version)
    }
}

impl TextValue for ModuleVersionName {
    const WHAT: &'static str = "module@version";
    const PATTERN: Option<&'static str> =
        Some("^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?@[0-9][A-Za-z0-9.+_-]{0,62}$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        let complaint = || {
            InvalidText::name(format!("{} is not module@version", quoted(text)))
                .help("write the module's name, an at sign and the version: `nginx@1.26.0`")
        };
        let (module, version) = text.split_once('@').ok_or_else(complaint)?;
        let module = Name::read(module).map_err(|_| complaint())?;
        let version = Version::read(version).map_err(|_| complaint())?;
        Ok(ModuleVersionName { module, version })
    }
}

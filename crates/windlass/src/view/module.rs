//! Versions of modules, for people.

use std::io;

use windlass_api::types::{ModuleVersionList, VersionUse};

use super::table::Table;
use super::time::relative;
use super::{Terminal, pluralize};

/// Prints the versions of a module.
pub(crate) fn versions(list: &ModuleVersionList, terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["VERSION", "STATE", "CURRENT", "USED BY", "CONTENT", "CHANGED", "BY"]);
    for version in &list.versions {
        table.row([
            version.version.clone().unwrap_or_else(|| "without a number".to_owned()),
            version.state.word().to_owned(),
            if version.is_current { "yes".to_owned() } else { String::new() },
            used_by(&version.used_by),
            version.content_digest.chars().take(19).collect(),
            version.updated_at.as_deref().map(relative).unwrap_or_default(),
            version.updated_by.clone().unwrap_or_default(),
        ]);
    }
    table.print(terminal, "no versions")
}

fn used_by(uses: &VersionUse) -> String {
    let counts = [
        (uses.templates, "template"),
        (uses.modules, "module"),
        (uses.assignments, "assignment"),
        (uses.versions, "version"),
    ];
    let told = counts.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, word)| pluralize(count, word)).collect::<Vec<_>>().join(", ")
}

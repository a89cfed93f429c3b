//! Finds how a service is run: its unit file, or its script in `/etc/init.d`.

use super::unit_file::ServiceDefinition;
use crate::target::host::error::HostError;
use crate::target::host::tree::{HostTree, PathType};

/// Where unit files are, the most important first.
const UNIT_DIRECTORIES: &[&str] = &[
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

/// More links than any unit has.
const MAX_LINKS: usize = 8;

/// How a service is run.
#[derive(Clone, Debug)]
pub(super) enum ServiceSource {
    /// By the commands of a unit file.
    Unit(Box<ServiceDefinition>),
    /// By a script that takes `start`, `stop` and so on.
    Script(String),
    /// Someone on the host has made sure that nothing starts it.
    Masked,
    /// The host does not know it.
    Missing,
}

/// The name with its type: `nginx` is `nginx.service`.
pub(super) fn unit_name(name: &str) -> String {
    if name.ends_with(".service") { name.to_owned() } else { format!("{name}.service") }
}

/// The script of a service, if it has one.
pub(super) fn script_of(tree: &HostTree, name: &str) -> Result<Option<String>, HostError> {
    let path = format!("/etc/init.d/{}", name.strip_suffix(".service").unwrap_or(name));
    let is_file = tree.metadata(&path)?.is_some_and(|found| found.path_type == PathType::File);
    Ok(is_file.then_some(path))
}

/// Finds how a service is run.
pub(super) fn find(tree: &HostTree, name: &str) -> Result<ServiceSource, HostError> {
    let unit = unit_name(name);
    // `getty@tty1.service` is written in `getty@.service`.
    let template = unit.split_once('@').map(|(prefix, _)| format!("{prefix}@.service"));
    for file in [Some(&unit), template.as_ref()].into_iter().flatten() {
        for directory in UNIT_DIRECTORIES {
            match read_unit(tree, format!("{directory}/{file}"))? {
                UnitText::None => {}
                UnitText::Masked => return Ok(ServiceSource::Masked),
                UnitText::Text(text) => {
                    let mut texts = vec![text];
                    texts.extend(drop_ins(tree, file)?);
                    return ServiceDefinition::read(&unit, &texts)
                        .map(|definition| ServiceSource::Unit(Box::new(definition)))
                        .map_err(|problem| HostError::ServiceUnknown { unit: unit.clone(), problem });
                }
            }
        }
    }
    Ok(script_of(tree, name)?.map_or(ServiceSource::Missing, ServiceSource::Script))
}

enum UnitText {
    None,
    Masked,
    Text(String),
}

/// Reads a unit file; links lead to other units, or to nothing.
fn read_unit(tree: &HostTree, mut path: String) -> Result<UnitText, HostError> {
    for _ in 0..MAX_LINKS {
        match tree.metadata(&path)?.map(|found| found.path_type) {
            Some(PathType::File) => return Ok(tree.read_text(&path)?.map_or(UnitText::None, UnitText::Text)),
            Some(PathType::Link) => {
                let target = String::from_utf8_lossy(&tree.link_target(&path)?).into_owned();
                if target == "/dev/null" {
                    return Ok(UnitText::Masked);
                }
                let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                path = if target.starts_with('/') { target } else { format!("{directory}/{target}") };
            }
            _ => return Ok(UnitText::None),
        }
    }
    Ok(UnitText::None)
}

/// The drop-ins of a unit, in the order of their names.
fn drop_ins(tree: &HostTree, file: &str) -> Result<Vec<String>, HostError> {
    let mut named = std::collections::BTreeMap::new();
    for directory in UNIT_DIRECTORIES {
        let directory = format!("{directory}/{file}.d");
        for name in tree.file_names(&directory)?.into_iter().filter(|name| name.ends_with(".conf")) {
            if let UnitText::Text(text) = read_unit(tree, format!("{directory}/{name}"))? {
                named.entry(name).or_insert(text);
            }
        }
    }
    Ok(named.into_values().collect())
}

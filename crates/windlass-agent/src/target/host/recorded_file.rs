//! The files in which simulated packages and services are recorded.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::HostError;
use super::tree::{Attributes, HostTree};

/// Reads a record; a record that does not exist is empty.
pub(crate) fn read<T: DeserializeOwned + Default>(tree: &HostTree, path: &str) -> Result<T, HostError> {
    let Some(text) = tree.read_text(path)? else { return Ok(T::default()) };
    let unreadable = |error: serde_json::Error| HostError::StateUnreadable {
        path: path.to_owned(),
        problem: error.to_string(),
    };
    serde_json::from_str(&text).map_err(unreadable)
}

/// Replaces a record.
pub(crate) fn write<T: Serialize>(tree: &HostTree, path: &str, record: &T) -> Result<(), HostError> {
    let text = serde_json::to_string_pretty(record).expect("a record is JSON");
    tree.create_parents(path)?;
    tree.replace_text(path, &(text + "\n"), &Attributes { mode: 0o644, uid: 0, gid: 0, label: None })
}

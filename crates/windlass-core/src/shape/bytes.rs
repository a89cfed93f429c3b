//! The canonical bytes of values, and their JSON.

use serde_json::Value;

use super::Shape;
use super::canonical::{Canonical, Defaults};

impl Canonical {
    /// The bytes of a value.
    pub fn bytes_of<T: Shape>(value: &T, defaults: Defaults) -> Vec<u8> {
        let mut out = Canonical { bytes: Vec::with_capacity(128), defaults };
        value.write(&mut out);
        out.bytes
    }
}

/// A value as JSON, for display and for the wire.
pub fn canonical_json<T: Shape>(value: &T, defaults: Defaults) -> Value {
    serde_json::from_slice(&Canonical::bytes_of(value, defaults)).expect("canonical bytes are JSON")
}

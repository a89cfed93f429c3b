//! Canonical bytes: JSON with sorted keys, no white space, and no field that equals its default.
//!
//! Omitting defaults keeps digests stable when a later version adds a field: a resource that does not use the new field
//! keeps its bytes, its digest and its approvals.

/// Whether fields that equal their default are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defaults {
    /// Omitted: the canonical form, for digests.
    Omit,
    /// Written: the complete form, for display.
    Fill,
}

/// Writes canonical JSON.
pub struct Canonical {
    pub(super) bytes: Vec<u8>,
    pub(super) defaults: Defaults,
}

impl Canonical {
    /// Whether fields that equal their default are omitted.
    pub fn omits_defaults(&self) -> bool {
        self.defaults == Defaults::Omit
    }

    /// Writes `{…}`; `write` calls [`Canonical::key`] and then writes the value, keys in ascending order.
    pub fn object(&mut self, write: impl FnOnce(&mut Canonical)) {
        self.bytes.push(b'{');
        write(self);
        self.end(b'}');
    }

    /// Writes `[…]`; `write` ends each item with [`Canonical::next`].
    pub fn array(&mut self, write: impl FnOnce(&mut Canonical)) {
        self.bytes.push(b'[');
        write(self);
        self.end(b']');
    }

    fn end(&mut self, bracket: u8) {
        if self.bytes.last() == Some(&b',') {
            self.bytes.pop();
        }
        self.bytes.push(bracket);
    }

    /// Ends an item of an array.
    pub fn next(&mut self) {
        self.bytes.push(b',');
    }

    /// Writes a key of an object.
    pub fn key(&mut self, key: &str) {
        if !matches!(self.bytes.last(), Some(b'{' | b',')) {
            self.bytes.push(b',');
        }
        self.text(key);
        self.bytes.push(b':');
    }

    /// Writes a text.
    pub fn text(&mut self, text: &str) {
        let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
        if text.bytes().all(plain) {
            self.bytes.push(b'"');
            self.bytes.extend_from_slice(text.as_bytes());
            self.bytes.push(b'"');
        } else {
            self.json(text);
        }
    }

    /// Writes anything serde can: numbers, booleans and free values, whose maps are sorted already.
    pub fn json<T: serde::Serialize + ?Sized>(&mut self, value: &T) {
        serde_json::to_writer(&mut self.bytes, value).expect("plain values always serialize into memory");
    }
}

/// The positions of these keys in ascending order of the keys.
pub(crate) fn sorted_order<'k>(keys: impl Iterator<Item = &'k str>) -> Vec<usize> {
    let mut order: Vec<(usize, &str)> = keys.enumerate().collect();
    order.sort_by_key(|(_, key)| *key);
    order.into_iter().map(|(index, _)| index).collect()
}

//! Keys that are given with nothing in them.

use crate::code::Code;
use crate::diagnostic::Finding;
use crate::shape::{Decoder, Segment};
use crate::yaml::{NodeRef, YamlContent};

/// Refuses keys with an empty list: it would fit everything, where whoever emptied it most likely meant nothing.
pub(super) fn refuse_empty<'t>(keys: &[&'static str], node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
    let mut is_sound = true;
    for key in keys {
        let Some(value) = node.get(key) else { continue };
        let is_empty = match value.content() {
            YamlContent::Sequence(items) => items.len() == 0,
            YamlContent::Mapping(entries) => entries.len() == 0,
            YamlContent::Scalar(_) => false,
        };
        if is_empty {
            let finding = Finding::new(Code::BadValue, value.span(), format!("`{key}` is empty"))
                .help(format!("omit `{key}` to match all, or list at least one"));
            decoder.report_within(Segment::Key(key), finding);
            is_sound = false;
        }
    }
    is_sound
}

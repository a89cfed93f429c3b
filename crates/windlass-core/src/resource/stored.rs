//! The stored form of a spec: its fields, and everything that Windlass added to them, as one document, so that no row can
//! have the one without the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::kind::Kind;
use super::spec::Spec;
use crate::content::ContentId;
use crate::shape::TextValue as _;
use crate::value::Version;

/// The key of the content ids of paths. No field of a spec has such a name; the same holds for the other keys.
const CONTENT: &str = "\"$content\":";

/// The key of the versions that pins select.
const VERSIONS: &str = "\"$versions\":";

/// The key of the content of a module version: the stored form of the module.
const MODULE: &str = "\"$module\":";

/// What Windlass added to a stored spec.
#[derive(Debug, Default)]
pub(super) struct Additions {
    contents: BTreeMap<String, ContentId>,
    versions: BTreeMap<String, Version>,
    module: Option<Spec>,
}

impl Additions {
    /// The spec with what was added to it. None if the spec has no place for it.
    pub(super) fn add_to(self, spec: Spec) -> Option<Spec> {
        let mut spec = match self.contents.is_empty() {
            true => spec,
            false => spec.with_contents(|path| self.contents.get(path).copied()),
        };
        if !self.versions.is_empty() {
            spec = spec.with_found_versions(&self.versions);
        }
        match (self.module, &mut spec) {
            (None, _) => {}
            (Some(Spec::Module(content)), Spec::ModuleVersion(version)) => {
                version.content = Some(Arc::new(content));
            }
            (Some(_), _) => return None,
        }
        Some(spec)
    }
}

/// The stored form of a spec: what was added to it first, then its fields.
pub(super) fn store(spec: &Spec) -> String {
    let fields = String::from_utf8(spec.canonical_bytes()).expect("canonical bytes are JSON");
    let mut additions = String::new();
    let contents = spec.contents();
    if !contents.is_empty() {
        add(&mut additions, CONTENT, &json(&contents));
    }
    let versions: BTreeMap<String, &str> = spec
        .resolved_versions()
        .into_iter()
        .map(|((_, pin), version)| (pin.into_owned(), version.as_str()))
        .collect();
    if !versions.is_empty() {
        add(&mut additions, VERSIONS, &json(&versions));
    }
    if let Some(content) = spec.version_content() {
        add(&mut additions, MODULE, &store(&Spec::Module(content.clone())));
    }
    match (additions.as_str(), fields.as_str()) {
        ("", _) => fields,
        (additions, "{}") => format!("{{{additions}}}"),
        (additions, fields) => format!("{{{additions},{}", &fields[1..]),
    }
}

fn add(additions: &mut String, key: &str, value: &str) {
    if !additions.is_empty() {
        additions.push(',');
    }
    additions.push_str(key);
    additions.push_str(value);
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain values always serialize into memory")
}

/// What was added to a stored spec, and the spec without it. None if the additions are not what [`store`] writes.
pub(super) fn split(stored: &str) -> Option<(Additions, String)> {
    let mut additions = Additions::default();
    let Some(mut rest) = stored.strip_prefix('{') else { return Some((additions, stored.to_owned())) };
    let mut has_any = false;
    if let Some(after) = rest.strip_prefix(CONTENT) {
        (additions.contents, rest) = take(after)?;
        has_any = true;
    }
    if let Some(after) = rest.strip_prefix(VERSIONS) {
        let versions: BTreeMap<String, String>;
        (versions, rest) = take(after)?;
        let read = |(pin, version): (String, String)| Some((pin, Version::read(&version).ok()?));
        additions.versions = versions.into_iter().map(read).collect::<Option<_>>()?;
        has_any = true;
    }
    if let Some(after) = rest.strip_prefix(MODULE) {
        let (IgnoredAny, left) = take(after)?;
        let text = after[..after.len() - left.len()].trim_end_matches(',');
        additions.module = Some(Spec::read_stored(Kind::Module, text)?);
        rest = left;
        has_any = true;
    }
    let spec = if has_any { format!("{{{rest}") } else { stored.to_owned() };
    Some((additions, spec))
}

/// The value at the beginning of a text, and the text after it and after a comma.
fn take<T: DeserializeOwned>(text: &str) -> Option<(T, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let value = values.next()?.ok()?;
    let rest = &text[values.byte_offset()..];
    Some((value, rest.strip_prefix(',').unwrap_or(rest)))
}

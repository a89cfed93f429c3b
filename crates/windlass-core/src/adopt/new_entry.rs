//! The entry that declares a spec: the name first, then the fields in the order of the reference.

use serde_json::Value;

use crate::resource::{Kind, KindSection, ResourceKey, Spec, member_name};
use crate::shape::Defaults;
use crate::yaml::{self, NewValue};

pub(super) type Fields = Vec<(String, NewValue)>;

/// The fields that differ from their default.
pub(super) fn fields(spec: &Spec) -> Fields {
    let Value::Object(mut values) = spec.to_json(Defaults::Omit) else { return Vec::new() };
    let documented = spec.kind().description().fields;
    let known =
        documented.iter().filter_map(|field| Some((field.name.to_owned(), values.remove(field.name)?)));
    known.map(|(key, value)| (key, NewValue::from(value))).collect()
}

/// An item of the list form.
pub(super) fn item(kind: Kind, name: &str, fields: Fields) -> NewValue {
    let name = (KindSection::of(kind).name_key.to_owned(), NewValue::Single(Value::from(name)));
    NewValue::Map([name].into_iter().chain(fields).collect())
}

/// The resource as a fleet.yaml of its own would declare it.
pub(super) fn suggestion(key: &ResourceKey, spec: &Spec) -> String {
    let home = KindSection::of(key.kind);
    let list = |item| NewValue::List(vec![item]);
    let section = match home.member {
        None => list(item(key.kind, &key.name, fields(spec))),
        Some(member) => {
            let (network, name) = member_name(&key.name);
            let members = list(item(key.kind, name, fields(spec)));
            list(item(Kind::Network, network, vec![(member.to_owned(), members)]))
        }
    };
    let nest = |inner, key: &&str| NewValue::Map(vec![((*key).to_owned(), inner)]);
    let document = home.section.iter().rev().fold(section, nest);
    format!("{}\n", yaml::block(&document, 0))
}

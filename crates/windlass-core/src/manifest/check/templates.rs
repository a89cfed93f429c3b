//! Every template ends up with a platform.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalogue::Known;
use crate::code::Code;
use crate::manifest::assemble::Assembly;
use crate::remark::Remark;
use crate::resource::{At, Kind, ResourceKey, Spec};
use crate::shape::nearest;
use crate::value::quoted;

/// Reports templates without a platform and platforms nobody knows.
pub(in crate::manifest) fn templates(assembly: &mut Assembly, known: &Known) {
    let mut remarks = Vec::new();
    let mut judged = BTreeMap::new();
    for (name, declared) in assembly.desired.resources.of_kind(Kind::Template) {
        let Spec::Template(template) = declared.spec.as_ref() else { continue };
        let key = ResourceKey::new(Kind::Template, name);
        if lacks_platform(assembly, name, &mut judged) {
            remarks.push(Remark {
                code: Code::PlatformMissing,
                key: key.clone(),
                at: At::Name,
                text: String::new(),
                message: format!("the template {} has no platform", quoted(name)),
                help: "add `node_platform`, or `extends` a template that has one".to_owned(),
            });
        }
        if let Some(platform) = &template.node_platform
            && !known.platforms.contains(platform.as_str())
        {
            let names = || known.platforms.iter().map(String::as_str);
            let near = nearest(platform.as_str(), names())
                .or_else(|| names().find(|name| name.starts_with(platform.as_str())));
            remarks.push(Remark {
                code: Code::PlatformUnresolved,
                key,
                at: At::Field("node_platform"),
                text: platform.to_string(),
                message: format!("the platform {} is not in the catalogue", quoted(platform.as_str())),
                help: match near {
                    Some(near) => {
                        format!("did you mean {}? Otherwise it must exist in Windlass", quoted(near))
                    }
                    None => {
                        let all: Vec<&str> = names().collect();
                        format!("it must exist in Windlass; the catalogue has {}", all.join(", "))
                    }
                },
            });
        }
    }
    for remark in remarks {
        assembly.remark(remark);
    }
}

/// Follows `extends`. A parent that is not in these files, is unsound, or is part of a circle gets the benefit of the
/// doubt: that is reported elsewhere. What is found holds for every template on the way and is kept for them.
fn lacks_platform<'a>(assembly: &'a Assembly, name: &'a str, judged: &mut BTreeMap<&'a str, bool>) -> bool {
    let mut way = BTreeSet::new();
    let mut at = name;
    let lacks = loop {
        if let Some(lacks) = judged.get(at) {
            break *lacks;
        }
        let declared = assembly.desired.resources.get(Kind::Template, at);
        let Some(Spec::Template(template)) = declared.map(|declared| declared.spec.as_ref()) else {
            break false;
        };
        if !way.insert(at) || template.node_platform.is_some() || template.node_platform_id.is_some() {
            break false;
        }
        match &template.extends {
            Some(parent) => at = parent.as_str(),
            None => break true,
        }
    };
    judged.extend(way.into_iter().map(|name| (name, lacks)));
    lacks
}

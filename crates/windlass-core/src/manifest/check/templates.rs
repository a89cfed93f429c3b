//! Checks that every template has a platform.

use crate::code::Code;
use crate::known::KnownResources;
use crate::manifest::assembly::Assembly;
use crate::quote::quoted;
use crate::resource::{Kind, ResourceKey, Spec, SpecPath};
use crate::resource_finding::ResourceFinding;
use crate::shape::nearest;

/// Reports templates without a platform and unknown platforms.
pub(in crate::manifest) fn templates(assembly: &mut Assembly, known: &KnownResources) {
    let mut remarks = Vec::new();
    for (name, declared) in assembly.desired.resources.of_kind(Kind::Template) {
        let Spec::Template(template) = declared.spec.as_ref() else { continue };
        let key = ResourceKey::new(Kind::Template, name);
        // Reported at the base template only: all templates that extend it inherit the problem.
        let has_platform = template.node_platform.is_some() || template.node_platform_id.is_some();
        if !has_platform && template.extends.is_none() {
            let message = format!("the template {} has no platform", quoted(name));
            let help = "add `node_platform`, or `extends` a template that has one";
            remarks.push(ResourceFinding::for_resource(key.clone(), Code::PlatformMissing, message, help));
        }
        if let Some(platform) = &template.node_platform
            && !known.platforms.contains(platform.as_str())
        {
            let names = || known.platforms.iter().map(String::as_str);
            let near = nearest(platform.as_str(), names())
                .or_else(|| names().find(|name| name.starts_with(platform.as_str())));
            remarks.push(ResourceFinding {
                code: Code::PlatformUnresolved,
                key,
                path: SpecPath::Field("node_platform"),
                text: platform.to_string(),
                message: format!("the platform {} is not in the catalogue", quoted(platform.as_str())),
                help: match near {
                    Some(near) => {
                        format!(
                            "did you mean {}? Otherwise it must exist in Windlass, where the change is blocked until \
                                it does",
                            quoted(near)
                        )
                    }
                    None => {
                        let all: Vec<&str> = names().collect();
                        format!(
                            "it must exist in Windlass, where the change is blocked until it does. The catalogue has \
                                {}",
                            all.join(", ")
                        )
                    }
                },
            });
        }
    }
    for remark in remarks {
        assembly.add_finding(remark);
    }
}

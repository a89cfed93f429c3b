//! Checks that cluster groups match a cluster.

use crate::code::Code;
use crate::manifest::assembly::Assembly;
use crate::quote::quoted;
use crate::resource::{Kind, ResourceKey, Spec, SpecPath};
use crate::resource_finding::ResourceFinding;

/// Reports groups that match none of the clusters in these files, if there are clusters.
pub(in crate::manifest) fn cluster_groups(assembly: &mut Assembly) {
    let labels: Vec<_> = assembly
        .desired
        .resources
        .of_kind(Kind::Cluster)
        .filter_map(|(_, declared)| match declared.spec.as_ref() {
            Spec::Cluster(cluster) => Some(&cluster.labels),
            _ => None,
        })
        .collect();
    if labels.is_empty() {
        return;
    }
    let mut remarks = Vec::new();
    for (name, declared) in assembly.desired.resources.of_kind(Kind::ClusterGroup) {
        if let Spec::ClusterGroup(group) = declared.spec.as_ref()
            && !labels.iter().any(|labels| group.selector.matches(labels))
        {
            remarks.push(ResourceFinding {
                code: Code::SelectorEmpty,
                key: ResourceKey::new(Kind::ClusterGroup, name),
                path: SpecPath::Field("selector"),
                text: String::new(),
                message: format!("the group {} matches none of these clusters", quoted(name)),
                help: "compare the selector with the clusters' labels".to_owned(),
            });
        }
    }
    for remark in remarks {
        assembly.add_finding(remark);
    }
}

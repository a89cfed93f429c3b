//! Checks that every reference has a target, and that there are no cycles.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::code::Code;
use crate::graph::Graph;
use crate::known::KnownResources;
use crate::manifest::assembly::Assembly;
use crate::quote::quoted;
use crate::resource::{Kind, Reference, ResourceKey, SpecPath, member_name};
use crate::resource_finding::ResourceFinding;
use crate::shape::nearest;

/// For how many missing names a similar one is searched: each search looks at all names of the kind.
const MAX_HINTS: usize = 20;

/// A missing target of references.
struct Missing<'a> {
    /// The first resource that refers to it.
    by: ResourceKey,
    reference: Reference<'a>,
    /// How many others do.
    others: usize,
}

/// Reports references without a target, once for each missing name, and cycles of references.
pub(in crate::manifest) fn references(assembly: &mut Assembly, known: &KnownResources) {
    let missing = find_missing(assembly, known);
    let mut remarks: Vec<ResourceFinding> = missing
        .into_iter()
        .enumerate()
        .map(|(index, missing)| {
            let near = (index < MAX_HINTS).then(|| nearest_to(assembly, &missing.reference)).flatten();
            unresolved(assembly, missing, near)
        })
        .collect();
    remarks.extend(cycles(assembly));
    for remark in remarks {
        assembly.add_finding(remark);
    }
}

fn find_missing<'a>(assembly: &'a Assembly, known: &KnownResources) -> Vec<Missing<'a>> {
    let mut missing: BTreeMap<(Kind, Cow<'a, str>, Option<&str>), Missing<'a>> = BTreeMap::new();
    for (kind, name, declared) in assembly.desired.resources.iter() {
        declared.spec.references(name, &mut |reference| {
            let is_there = assembly.desired.resources.contains(reference.kind, &reference.name)
                || assembly.invalid.contains(reference.kind, &reference.name)
                || known.has(reference.kind, &reference.name);
            // Versions that pins select are checked with the pins.
            if !is_there && reference.kind != Kind::ModuleVersion {
                // A holder that is not a peer is reported for each virtual IP.
                let each = (reference.kind == Kind::Peer).then_some(name);
                let target = (reference.kind, reference.name.clone(), each);
                let by = || Missing { by: ResourceKey::new(kind, name), reference, others: 0 };
                missing.entry(target).and_modify(|missing| missing.others += 1).or_insert_with(by);
            }
        });
    }
    missing.into_values().collect()
}

/// A similar declared name.
fn nearest_to<'a>(assembly: &'a Assembly, reference: &Reference<'_>) -> Option<&'a str> {
    let names = assembly.desired.resources.of_kind(reference.kind).map(|(name, _)| name);
    nearest(&reference.name, names)
}

fn unresolved(assembly: &Assembly, missing: Missing<'_>, near: Option<&str>) -> ResourceFinding {
    let Missing { by: key, reference, others } = missing;
    if key.kind == Kind::VirtualIp && reference.kind == Kind::Peer {
        let (network, host) = member_name(&reference.name);
        if assembly.desired.resources.contains(Kind::Network, network) {
            return ResourceFinding {
                code: Code::HolderNotPeer,
                key,
                path: reference.at,
                text: host.to_owned(),
                message: format!("{} is not a peer of the network {}", quoted(host), quoted(network)),
                help: format!("add `{{host: {host}}}` to the network's peers, or choose one of its peers"),
            };
        }
    }
    let help = match near {
        Some(near) => format!("did you mean {}? Otherwise it must exist in Windlass", quoted(near)),
        None => "it must exist in Windlass, where the change is blocked until it does".to_owned(),
    };
    let more = match others {
        0 => String::new(),
        1 => ", and one more place refers to it".to_owned(),
        many => format!(", and {many} more places refer to it"),
    };
    let (_, text) = member_name(&reference.name);
    ResourceFinding {
        code: Code::ReferenceUnresolved,
        key,
        path: reference.at,
        text: text.to_owned(),
        message: format!(
            "the {} {} is not declared in these files{more}",
            reference.kind,
            quoted(&reference.name)
        ),
        help,
    }
}

fn cycles(assembly: &Assembly) -> Vec<ResourceFinding> {
    let kinds = Kind::ALL.iter().copied().filter(|kind| may_refer_to_own_kind(*kind));
    kinds.flat_map(|kind| cycles_of_kind(assembly, kind)).collect()
}

/// Whether resources of a kind can refer to others of the same kind. Only they can form cycles: no two kinds refer to each
/// other.
const fn may_refer_to_own_kind(kind: Kind) -> bool {
    match kind {
        Kind::Template | Kind::Module | Kind::ModuleVersion | Kind::Bundle => true,
        Kind::Node
        | Kind::Assignment
        | Kind::Network
        | Kind::Peer
        | Kind::VirtualIp
        | Kind::FederationPeer
        | Kind::Cluster
        | Kind::ClusterGroup
        | Kind::NotificationProvider
        | Kind::Alert => false,
    }
}

fn cycles_of_kind(assembly: &Assembly, kind: Kind) -> Vec<ResourceFinding> {
    let names: Vec<&str> = assembly.desired.resources.of_kind(kind).map(|(name, _)| name).collect();
    let numbers: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(number, name)| (*name, number)).collect();
    let mut graph = Graph::new(names.len());
    for (name, declared) in assembly.desired.resources.of_kind(kind) {
        declared.spec.references(name, &mut |reference| {
            if reference.kind == kind
                && let Some(target) = numbers.get(reference.name.as_ref())
            {
                graph.add_edge(numbers[name], *target);
            }
        });
    }
    let Err(cycles) = graph.sort() else { return Vec::new() };
    cycles
        .into_iter()
        .map(|circle| {
            let mut spelled: Vec<&str> = circle.iter().map(|number| names[*number]).collect();
            let first = spelled[0];
            spelled.push(first);
            let next = spelled[1];
            ResourceFinding {
                code: Code::ReferenceCycle,
                key: ResourceKey::new(kind, first),
                path: reference_path(assembly, kind, first, next),
                text: next.to_owned(),
                message: format!(
                    "{} refer to one another in a circle: {}",
                    kind.plural(),
                    spelled.join(" → ")
                ),
                help: "remove one of these references".to_owned(),
            }
        })
        .collect()
}

/// The field of a resource that refers to another of its kind.
fn reference_path(assembly: &Assembly, kind: Kind, name: &str, other: &str) -> SpecPath {
    let mut at = SpecPath::Name;
    if let Some(declared) = assembly.desired.resources.get(kind, name) {
        declared.spec.references(name, &mut |reference| {
            if reference.kind == kind && reference.name == other {
                at = reference.at;
            }
        });
    }
    at
}

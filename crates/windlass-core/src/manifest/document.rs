//! The sections of fleet.yaml, and the fields of each.

use super::include::Includes;
use super::section::{Section, SectionItem, decode_named};
use crate::code::Code;
use crate::diagnostic::Finding;
use crate::quote::quoted;
use crate::resource::{
    AlertSpec, AssignmentName, AssignmentSpec, BundleSpec, ClusterGroupSpec, ClusterSpec, FederationPeerSpec,
    Kind, KindSection, ModuleSpec, ModuleVersionName, ModuleVersionSpec, NetworkSpec, NodeSpec,
    NotificationProviderSpec, PeerSpec, TemplateSpec, VirtualIpSpec,
};
use crate::shape::{
    Canonical, Decoder, Description, FreeSettings, Record, Shape, SiblingKeys, UnknownKeys, record,
};
use crate::value::{Hostname, Name};
use crate::yaml::NodeRef;

record! {
    /// fleet.yaml declares what a fleet should be. Every section is a map keyed by name, or a list whose items carry
    /// the name.
    pub struct FleetFile {
        /// The version of the file format. Always 1. Required in fleet.yaml, optional in included files.
        version: TolerantField<FormatVersion> = TolerantField::default() => "1",
        /// The account the fleet belongs to, by id or name. It must be the repository's account. Required in
        /// fleet.yaml, optional in included files.
        account: TolerantField<String> = TolerantField::default() => "acme",
        /// Further files to read, as globs relative to fleet.yaml. Only fleet.yaml itself may include.
        include: TolerantField<Includes> = TolerantField::default() => "[\"fleet.d/*.yaml\"]",
        /// Templates: what machines are made of.
        templates: Section<TemplateSpec> = Section::default() => "{edge-base: {node_platform: ubuntu-24.04-amd64}}",
        /// Modules: units of configuration.
        modules: Section<ModuleSpec> = Section::default() => "{nginx-public: {priority: 50}}",
        /// Versions of modules: the state of each. Windlass makes a version when a module with that `version` is applied.
        module_versions: Section<ModuleVersionSpec> = Section::default() => "{nginx-public@1.26.0: {state: live}}",
        /// Nodes: machines.
        nodes: Section<NodeSpec> = Section::default() => "[{hostname: edge-tokyo-01, template: edge-base}]",
        /// Assignments: modules on single nodes.
        assignments: Section<AssignmentSpec> = Section::default() => "{\"edge-tokyo-01:nginx-public\": {enabled: true}}",
        /// Provider configurations: shown, never applied. Secrets are refused.
        provider_configs: Section<FreeSettings> = Section::default() => "{aws: {region: eu-west-1}}",
        /// The overlay networks between nodes.
        sdwan: TolerantField<SdwanSection> = TolerantField::default() => "{networks: [{name: edge-fabric}]}",
        /// Other control planes.
        federation: TolerantField<FederationSection> = TolerantField::default() => "{peers: []}",
        /// Kubernetes clusters.
        clusters: Section<ClusterSpec> = Section::default() => "[{name: prod-eu, labels: {env: prod}}]",
        /// Groups of clusters.
        cluster_groups: Section<ClusterGroupSpec> = Section::default() =>
            "[{name: prod, selector: {matchLabels: {env: prod}}}]",
        /// Kubernetes content and where it goes.
        bundles: Section<BundleSpec> = Section::default() =>
            "[{name: cert-manager, path: applications/cert-manager, targets: [{cluster_group: prod}]}]",
        /// Where notifications can be sent.
        notification_providers: Section<NotificationProviderSpec> = Section::default() =>
            "[{name: team-chat, type: slack, credential_path: notifications/team-chat}]",
        /// Which events are told through which providers.
        alerts: Section<AlertSpec> = Section::default() =>
            "[{name: approvals, providers: [team-chat], events: [gitops.approval_requested]}]",
    }
}

record! {
    /// The overlay networks between nodes.
    pub struct SdwanSection {
        /// Networks with their peers and virtual IPs.
        networks: Section<NetworkEntry> = Section::default() => "[{name: edge-fabric, peers: [{host: edge-tokyo-01}]}]",
    }
}

record! {
    /// Other control planes.
    pub struct FederationSection {
        /// Control planes this one trusts.
        peers: Section<FederationPeerSpec> = Section::default() => "[]",
    }
}

record! {
    /// What stands inside a network but is a resource of its own.
    pub(super) struct NetworkMembers {
        /// The nodes of the network.
        peers: Section<PeerSpec> = Section::default() => "[{host: edge-tokyo-01, publicly_reachable: true}]",
        /// Addresses that move between peers.
        virtual_ips: Section<VirtualIpSpec> = Section::default() =>
            "[{name: cdn-frontend, primary_holder: edge-tokyo-01}]",
    }
}

/// A network with its members.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkEntry {
    /// The network itself, unless its fields are invalid; its members are declared in any case.
    pub(super) spec: Option<NetworkSpec>,
    pub(super) members: NetworkMembers,
}

/// A field whose mistakes must not hide those of other fields: decoding it always succeeds.
#[derive(Clone, Debug, PartialEq)]
pub struct TolerantField<T>(pub(super) Option<T>);

impl<T> Default for TolerantField<T> {
    fn default() -> Self {
        TolerantField(None)
    }
}

impl<T: Shape> Shape for TolerantField<T> {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        Some(TolerantField(T::decode(node, decoder)))
    }

    fn write(&self, out: &mut Canonical) {
        self.0.write(out);
    }

    fn describe() -> Description {
        T::describe()
    }
}

/// The version of the file format. There is only one so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatVersion;

impl Shape for FormatVersion {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        match node.scalar_text() {
            Some("1") => Some(FormatVersion),
            found => {
                let found = quoted(found.unwrap_or("this"));
                let finding = Finding::new(
                    Code::VersionUnsupported,
                    node.span(),
                    format!("{found} is not a version of the format"),
                );
                decoder.report(finding.help("write `version: 1`"));
                None
            }
        }
    }

    fn write(&self, out: &mut Canonical) {
        out.json(&1);
    }

    fn describe() -> Description {
        Description::Integer { min: 1, max: 1 }
    }
}

macro_rules! section_items {
    ($($spec:ident: $name:ident of $kind:ident,)*) => {
        $(impl SectionItem for $spec {
            type Name = $name;
            const NAME_KEY: &'static str = KindSection::of(Kind::$kind).name_key;

            fn decode_item<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
                decode_named(Self::NAME_KEY, node, decoder)
            }

            fn describe_item() -> Description {
                <$spec as Shape>::describe()
            }
        })*
    };
}

section_items! {
    TemplateSpec: Name of Template,
    ModuleSpec: Name of Module,
    ModuleVersionSpec: ModuleVersionName of ModuleVersion,
    NodeSpec: Hostname of Node,
    AssignmentSpec: AssignmentName of Assignment,
    PeerSpec: Hostname of Peer,
    VirtualIpSpec: Name of VirtualIp,
    FederationPeerSpec: Name of FederationPeer,
    ClusterSpec: Name of Cluster,
    ClusterGroupSpec: Name of ClusterGroup,
    BundleSpec: Name of Bundle,
    NotificationProviderSpec: Name of NotificationProvider,
    AlertSpec: Name of Alert,
}

impl SectionItem for NetworkEntry {
    type Name = Name;
    const NAME_KEY: &'static str = KindSection::of(Kind::Network).name_key;

    fn decode_item<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        let beside = SiblingKeys { keys: &["peers", "virtual_ips"], ..SiblingKeys::name(Self::NAME_KEY) };
        let spec = NetworkSpec::decode_fields(node, beside, decoder);
        let members = NetworkMembers::decode_fields(
            node,
            SiblingKeys { unknown: UnknownKeys::Ignore, ..SiblingKeys::NOTHING },
            decoder,
        );
        Some(NetworkEntry { spec, members: members? })
    }

    fn describe_item() -> Description {
        let mut description = NetworkSpec::description();
        description.fields.extend(NetworkMembers::description().fields);
        Description::Record(description)
    }
}

impl SectionItem for FreeSettings {
    type Name = Name;
    const NAME_KEY: &'static str = "name";

    fn decode_item<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        decoder.refusing_secrets(|decoder| FreeSettings::decode(node, decoder)).map(|mut settings| {
            settings.0.remove(Self::NAME_KEY);
            settings
        })
    }

    fn describe_item() -> Description {
        FreeSettings::describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_section_in_fleet_yaml() {
        for kind in Kind::ALL {
            let place = KindSection::of(*kind);
            let mut record = FleetFile::description();
            for key in place.section.iter().copied().chain(place.member) {
                let field = record.fields.iter().find(|field| field.name == key);
                let inner = field.and_then(|field| (field.shape)().record().cloned());
                record = inner.unwrap_or_else(|| {
                    panic!(
                        "nothing reads `{key}`, where fleet.yaml declares a {kind}: add a `Section` to `FleetFile` here and a \
                         `take_section` in manifest/file.rs (ARCHITECTURE.md, How to add a kind)"
                    )
                });
            }
            assert_eq!(
                record.name,
                kind.description().name,
                "the section of {kind} holds another kind's spec"
            );
        }
    }
}

//! Reads one file and returns its declarations.

use std::sync::Arc;

use super::document::{FleetFile, NetworkEntry};
use super::include::IncludePattern;
use super::section::{Entry, Section};
use crate::code::Code;
use crate::desired::ProviderConfig;
use crate::diagnostic::{Diagnostic, Finding, LineIndex};
use crate::digest::Digest;
use crate::origin::DeclarationOrigin;
use crate::resource::{Kind, KindSection, ResourceKey, Spec};
use crate::secret::{HIDDEN, is_mask, mask_finding};
use crate::shape::{Decoder, Segment, Shape as _, path_text};
use crate::yaml::{self, NodeRef, YamlContent};

/// A file of a fleet.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Its path, relative to the fleet's root, with `/` between parts.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The digest of the content.
    digest: Digest,
}

impl SourceFile {
    /// A file with this path and content.
    pub fn new(path: impl Into<String>, bytes: Vec<u8>) -> SourceFile {
        let digest = Digest::of(&bytes);
        SourceFile { path: path.into(), bytes, digest }
    }

    /// The digest of the content.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// The role of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileRole {
    /// fleet.yaml itself, which names version and account and may include others.
    Root,
    /// A file that fleet.yaml includes.
    Included,
}

/// The declarations of one file.
#[derive(Clone, Debug)]
pub struct FileManifest {
    /// Its path, relative to the fleet's root.
    pub path: String,
    /// Its text, for excerpts and for finding positions.
    pub text: Arc<str>,
    /// The account it names.
    pub account: Option<String>,
    /// Its include patterns.
    pub include: Vec<IncludePattern>,
    /// The resources it declares, in the order of the file.
    pub declarations: Vec<Declaration>,
    /// Resources with invalid fields. They count as declared, so that references to them are not reported too.
    pub invalid: Vec<(ResourceKey, DeclarationOrigin)>,
    /// Provider configurations, which are shown and never applied.
    pub provider_configs: Vec<ProviderConfig>,
    /// The problems of the file by itself.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the file could be read completely. Otherwise its declarations are not known.
    pub is_read: bool,
    /// The number of values, keys included.
    pub values: usize,
}

/// A resource as a file declares it.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The resource.
    pub key: ResourceKey,
    /// Its spec with defaults.
    pub spec: Arc<Spec>,
    /// The digest of the spec.
    pub digest: Digest,
    /// Its position in the file.
    pub origin: DeclarationOrigin,
}

/// Reads one file. Depends only on its path, its bytes and its role.
pub fn read_file(path: &str, bytes: &[u8], role: FileRole) -> FileManifest {
    let mut manifest = FileManifest {
        path: path.to_owned(),
        text: Arc::from(""),
        account: None,
        include: Vec::new(),
        declarations: Vec::new(),
        invalid: Vec::new(),
        provider_configs: Vec::new(),
        diagnostics: Vec::new(),
        is_read: false,
        values: 0,
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            // The readable part is kept, so that the problem can be shown with an excerpt.
            let readable = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            manifest.diagnostics.push(encoding_problem(path, readable, bytes[error.valid_up_to()]));
            manifest.text = Arc::from(readable);
            return manifest;
        }
    };
    let findings = read_text(text, role, &mut manifest);
    if !findings.is_empty() {
        let lines = LineIndex::new(text);
        manifest.diagnostics.extend(findings.into_iter().map(|finding| lines.place(path, finding)));
    }
    manifest.text = Arc::from(text);
    manifest
}

fn encoding_problem(path: &str, readable: &str, byte: u8) -> Diagnostic {
    let end = readable.len();
    let message = format!("byte 0x{byte:02X} is not valid UTF-8");
    let finding = Finding::new(Code::YamlEncoding, end..end, message).help("save the file as UTF-8");
    LineIndex::new(readable).place(path, finding)
}

/// More masked values than this are reported once.
const MAX_MASKS: usize = 100;

/// Reports masked values: a masked export must not be applied.
fn find_masks<'t>(root: NodeRef<'t>, findings: &mut Vec<Finding>) {
    // The steps to each value: the step itself, and the index of the previous one. Paths are written out only for
    // problems, because a long key above many values would be repeated for each of them.
    let mut steps: Vec<(usize, Segment<'t>)> = Vec::new();
    let mut left = vec![(root, 0)];
    let mut found = 0;
    while let Some((node, at)) = left.pop() {
        let mut enter = |segment, value| {
            steps.push((at, segment));
            left.push((value, steps.len()));
        };
        match node.content() {
            YamlContent::Scalar(_) if found == MAX_MASKS => return,
            YamlContent::Scalar(_) if node.scalar_text().is_some_and(is_mask) => {
                found += 1;
                findings.push(mask_finding(node.span()).at(path_to(&steps, at)));
            }
            YamlContent::Scalar(_) => {}
            YamlContent::Sequence(items) => {
                items.enumerate().for_each(|(index, item)| enter(Segment::Index(index), item));
            }
            YamlContent::Mapping(entries) => entries.for_each(|(key, value)| {
                enter(Segment::Key(key.scalar_text().unwrap_or_default()), value);
            }),
        }
    }
}

/// The path of a value by the index of its last step; 0 is the root.
fn path_to(steps: &[(usize, Segment<'_>)], mut at: usize) -> String {
    let mut segments = Vec::new();
    while at > 0 {
        let (before, segment) = steps[at - 1];
        segments.push(segment);
        at = before;
    }
    path_text(segments.into_iter().rev())
}

fn read_text(text: &str, role: FileRole, manifest: &mut FileManifest) -> Vec<Finding> {
    let (tree, mut findings) = yaml::parse(text);
    let Some(tree) = tree else { return findings };
    manifest.is_read = true;
    // Few files contain the mask, so most are not walked.
    if text.contains(HIDDEN) {
        find_masks(tree.root(), &mut findings);
    }
    manifest.values = tree.len();
    let mut decoder = Decoder::default();
    let root = tree.root();
    if let Some(file) = FleetFile::decode(root, &mut decoder) {
        check_header(&file, root, role, &mut decoder);
        take(file, manifest);
    }
    findings.extend(decoder.into_findings());
    findings
}

fn check_header<'t>(file: &FleetFile, root: NodeRef<'t>, role: FileRole, decoder: &mut Decoder<'t>) {
    if role == FileRole::Root {
        for key in ["version", "account"] {
            if root.get(key).is_none_or(NodeRef::is_null) {
                decoder.missing_key(root, key);
            }
        }
        if file.account.0.as_deref() == Some("")
            && let Some(account) = root.get("account")
        {
            let finding = Finding::new(Code::BadValue, account.span(), "the account has no name");
            decoder.report_within(Segment::Key("account"), finding.help("write the account's id or name"));
        }
    } else if let Some(key) = root.key("include")
        && root.get("include").is_some_and(|value| !value.is_null())
    {
        let finding = Finding::new(Code::IncludeNested, key.span(), "an included file cannot include others");
        decoder.report_within(Segment::Key("include"), finding.help("list the files in fleet.yaml"));
    }
}

/// Splits the file into resources.
fn take(file: FleetFile, manifest: &mut FileManifest) {
    // Every section by name, so that none can be read and left out.
    let FleetFile {
        version: _,
        account,
        include,
        templates,
        modules,
        module_versions,
        nodes,
        assignments,
        provider_configs,
        sdwan,
        federation,
        clusters,
        cluster_groups,
        bundles,
        notification_providers,
        alerts,
    } = file;
    manifest.account = account.0;
    manifest.include = include.0.unwrap_or_default().0;
    take_section(Kind::Template, templates, manifest);
    take_section(Kind::Module, modules, manifest);
    take_section(Kind::ModuleVersion, module_versions, manifest);
    take_section(Kind::Node, nodes, manifest);
    take_section(Kind::Assignment, assignments, manifest);
    for network in sdwan.0.into_iter().flat_map(|sdwan| sdwan.networks.entries) {
        take_network(network, manifest);
    }
    if let Some(federation) = federation.0 {
        take_section(Kind::FederationPeer, federation.peers, manifest);
    }
    take_section(Kind::Cluster, clusters, manifest);
    take_section(Kind::ClusterGroup, cluster_groups, manifest);
    take_section(Kind::Bundle, bundles, manifest);
    take_section(Kind::NotificationProvider, notification_providers, manifest);
    take_section(Kind::Alert, alerts, manifest);
    manifest.provider_configs = provider_configs
        .entries
        .into_iter()
        .filter_map(|entry| {
            let origin = DeclarationOrigin::of_entry(&["provider_configs"], entry.slot);
            Some(ProviderConfig { name: entry.name, settings: entry.value?, origin })
        })
        .collect();
}

fn take_section<S: Into<Spec>>(kind: Kind, entries: Section<S>, manifest: &mut FileManifest) {
    manifest.declarations.reserve(entries.entries.len());
    for entry in entries.entries {
        let origin = DeclarationOrigin::of_entry(KindSection::of(kind).section, entry.slot);
        declare(ResourceKey::new(kind, entry.name), entry.value.map(Into::into), origin, manifest);
    }
}

fn take_network(network: Entry<NetworkEntry>, manifest: &mut FileManifest) {
    let origin = DeclarationOrigin::of_entry(KindSection::of(Kind::Network).section, network.slot);
    let key = ResourceKey::new(Kind::Network, &network.name);
    let Some(entry) = network.value else { return declare(key, None, origin, manifest) };
    declare(key, entry.spec.map(Into::into), origin, manifest);
    let member = |name: &str| format!("{}/{name}", network.name);
    for peer in entry.members.peers.entries {
        let key = ResourceKey::new(Kind::Peer, member(&peer.name));
        declare(key, peer.value.map(Into::into), origin.member(Kind::Peer, peer.slot), manifest);
    }
    for address in entry.members.virtual_ips.entries {
        let key = ResourceKey::new(Kind::VirtualIp, member(&address.name));
        declare(key, address.value.map(Into::into), origin.member(Kind::VirtualIp, address.slot), manifest);
    }
}

fn declare(key: ResourceKey, spec: Option<Spec>, origin: DeclarationOrigin, manifest: &mut FileManifest) {
    match spec {
        Some(spec) => {
            let digest = spec.digest();
            manifest.declarations.push(Declaration { key, spec: Arc::new(spec), digest, origin });
        }
        None => manifest.invalid.push((key, origin)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_byte_that_is_not_utf8_lies_inside_the_text_that_is_kept() {
        let manifest = read_file("fleet.yaml", b"version: 1\naccount: caf\xe9\n", FileRole::Root);
        let [problem] = manifest.diagnostics.as_slice() else { panic!("{:?}", manifest.diagnostics) };
        assert_eq!((problem.code, problem.line, problem.column), (Code::YamlEncoding, 2, 13));
        assert_eq!(manifest.text.as_ref(), "version: 1\naccount: caf");
        assert_eq!(problem.span, 23..23);
    }

    fn problems(text: &str, role: FileRole) -> Vec<(Code, String)> {
        let manifest = read_file("fleet.yaml", text.as_bytes(), role);
        manifest.diagnostics.into_iter().map(|problem| (problem.code, problem.path)).collect()
    }

    #[test]
    fn a_mistake_in_a_network_does_not_hide_what_stands_inside_it() {
        let text = "sdwan: {networks: {n: {routing_mode: rip, peers: [{host: a}, {host: B}]}}}\n";
        let file = read_file("a.yaml", text.as_bytes(), FileRole::Included);
        let codes: Vec<Code> = file.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
        assert_eq!(codes, [Code::BadValue, Code::BadName]);
        assert_eq!(file.declarations.len(), 1);
    }

    #[test]
    fn an_included_file_cannot_include_even_with_a_bad_pattern() {
        let include = "include".to_owned();
        assert_eq!(
            problems("include: [a.yaml]\n", FileRole::Included),
            [(Code::IncludeNested, include.clone())]
        );
        let expected = [(Code::IncludePattern, "include[0]".to_owned()), (Code::IncludeNested, include)];
        assert_eq!(problems("include: [../a.yaml]\n", FileRole::Included), expected);
        assert_eq!(problems("include:\n", FileRole::Included), []);
    }

    #[test]
    fn an_account_has_a_name_and_a_number_beyond_64_bits_is_out_of_range() {
        let text = "version: 1\naccount: ''\nmodules: {m: {priority: 9223372036854775808}}\n";
        let bad = |path: &str| (Code::BadValue, path.to_owned());
        assert_eq!(problems(text, FileRole::Root), [bad("modules.m.priority"), bad("account")]);
    }
}

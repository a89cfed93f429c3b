//! Sorts resources into sections, with the text of each entry.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::exported::{OmissionReason, OmittedResource};
use super::form::{HiddenValues, SectionForm};
use super::node::OutputNode;
use super::write::{self, STEP};
use crate::diff::mask_secrets;
use crate::resource::{Kind, KindSection, ResourceKey, Spec, member_name};
use crate::shape::{Defaults, Description};
use crate::yaml::MAX_DEPTH;

/// The most paths listed; the rest is counted.
const MAX_PATHS_LISTED: usize = 100;

/// A fleet to write.
pub(super) struct ExportedFleet {
    pub(super) sections: Vec<SectionText>,
    pub(super) left_out: Vec<OmittedResource>,
    /// The number of masked values.
    pub(super) masked: usize,
    /// Paths in the repository that resources name: their content is not part of an export.
    paths: BTreeSet<String>,
}

/// One section.
pub(super) struct SectionText {
    pub(super) path: &'static [&'static str],
    pub(super) entries: Vec<EntryText>,
}

/// One entry of a section.
pub(super) struct EntryText {
    /// The resources it declares: one, or a network with its members.
    pub(super) declares: Vec<ResourceKey>,
    /// Its lines, without a line end after the last.
    pub(super) text: String,
}

type ByKind<'r> = BTreeMap<Kind, BTreeMap<&'r str, &'r Spec>>;
type ByNetwork<'r> = BTreeMap<&'r str, Vec<(&'r str, &'r Spec)>>;

impl ExportedFleet {
    /// Sorts resources into sections.
    pub(super) fn of<'r>(
        resources: impl IntoIterator<Item = (&'r str, &'r Spec)>,
        form: SectionForm,
        values: HiddenValues,
    ) -> ExportedFleet {
        let mut kinds = ByKind::new();
        for (name, spec) in resources {
            kinds.entry(spec.kind()).or_default().insert(name, spec);
        }
        let specs = kinds.values().flat_map(BTreeMap::values);
        let paths = specs.flat_map(|spec| spec.named_paths()).map(str::to_owned).collect();
        let mut fleet = ExportedFleet {
            sections: Vec::new(),
            left_out: members_without_network(&kinds),
            masked: 0,
            paths,
        };
        let masking = Masking { values, masked: Cell::new(0) };
        let members = MembersByNetwork::of(&kinds, &masking);
        for (kind, specs) in kinds.iter().filter(|(kind, _)| KindSection::of(**kind).member.is_none()) {
            let path = KindSection::of(*kind).section;
            let description = Description::Record(kind.description());
            let mut section = SectionText { path, entries: Vec::new() };
            for (name, spec) in specs {
                let mut declares = vec![ResourceKey::new(*kind, *name)];
                let mut fields = masking.fields(spec, &description);
                if *kind == Kind::Network {
                    members.put_into(name, form, &mut fields, &mut declares);
                }
                // The file, the section and the entry itself are maps around the values.
                let depth = fields.iter().map(|(_, value)| value.depth()).max().unwrap_or(0);
                if path.len() + 2 + depth > MAX_DEPTH {
                    fleet.leave_out(declares, OmissionReason::TooDeep);
                    continue;
                }
                let text = NamedFields { kind: *kind, name, fields }.into_text(form, path.len() * STEP);
                section.entries.push(EntryText { declares, text });
            }
            fleet.sections.push(section);
        }
        fleet.masked = masking.masked.get();
        fleet
    }

    pub(super) fn leave_out(&mut self, keys: Vec<ResourceKey>, why: OmissionReason) {
        self.left_out.extend(keys.into_iter().map(|key| OmittedResource { key, why }));
    }

    /// The first lines of fleet.yaml, with the files to include.
    pub(super) fn head(&self, account: &str, include: &[&str]) -> String {
        let mut text = String::new();
        if !self.paths.is_empty() {
            text.push_str("# This export does not contain the files at these paths of the repository:\n");
            self.paths.iter().take(MAX_PATHS_LISTED).for_each(|path| text.push_str(&format!("#   {path}\n")));
        }
        if self.paths.len() > MAX_PATHS_LISTED {
            text.push_str(&format!("#   and {} more\n", self.paths.len() - MAX_PATHS_LISTED));
        }
        text + &head(account, include)
    }

    /// The whole fleet as one file.
    pub(super) fn text(&self, account: &str) -> String {
        let mut text = self.head(account, &[]);
        for section in self.sections.iter().filter(|section| !section.entries.is_empty()) {
            text.push('\n');
            text.push_str(&section.heading());
            for entry in &section.entries {
                text.push_str(&entry.text);
                text.push('\n');
            }
        }
        text
    }
}

impl SectionText {
    /// The lines before the entries.
    pub(super) fn heading(&self) -> String {
        let lines = self.path.iter().enumerate();
        lines.map(|(depth, key)| format!("{:indent$}{key}:\n", "", indent = depth * STEP)).collect()
    }
}

/// The first lines of every fleet.yaml.
fn head(account: &str, include: &[&str]) -> String {
    let mut fields = vec![
        ("version".to_owned(), OutputNode::Word("1".to_owned())),
        ("account".to_owned(), OutputNode::Text(account.to_owned())),
    ];
    if !include.is_empty() {
        let patterns = include.iter().map(|pattern| OutputNode::Text((*pattern).to_owned())).collect();
        fields.push(("include".to_owned(), OutputNode::List(patterns)));
    }
    let mut text = String::new();
    write::entries(&fields, 0, &mut text);
    text.push('\n');
    text
}

/// The members of networks, by network.
struct MembersByNetwork<'r, 'm> {
    masking: &'m Masking,
    /// In the order of the file: the key in the network, the kind, and the members.
    kinds: [(&'static str, Kind, ByNetwork<'r>); 2],
}

impl<'r, 'm> MembersByNetwork<'r, 'm> {
    fn of(kinds: &ByKind<'r>, masking: &'m Masking) -> MembersByNetwork<'r, 'm> {
        let by_network = |kind: Kind| {
            let mut networks = ByNetwork::new();
            for (name, spec) in kinds.get(&kind).into_iter().flatten() {
                networks.entry(member_name(name).0).or_default().push((name, spec));
            }
            networks
        };
        let member = |kind| (KindSection::of(kind).member.unwrap_or_default(), kind, by_network(kind));
        MembersByNetwork { masking, kinds: [member(Kind::Peer), member(Kind::VirtualIp)] }
    }

    fn put_into(
        &self,
        network: &str,
        form: SectionForm,
        fields: &mut Vec<(String, OutputNode)>,
        declares: &mut Vec<ResourceKey>,
    ) {
        for (key, kind, networks) in &self.kinds {
            let Some(members) = networks.get(network) else { continue };
            let description = Description::Record(kind.description());
            let entries = members.iter().map(|(name, spec)| {
                declares.push(ResourceKey::new(*kind, *name));
                let fields = self.masking.fields(spec, &description);
                NamedFields { kind: *kind, name: member_name(name).1, fields }
            });
            fields.push(((*key).to_owned(), section(entries, form)));
        }
    }
}

/// The fields of a resource with its own name.
struct NamedFields<'r> {
    kind: Kind,
    name: &'r str,
    fields: Vec<(String, OutputNode)>,
}

impl NamedFields<'_> {
    fn into_item(self) -> OutputNode {
        let name = (KindSection::of(self.kind).name_key.to_owned(), OutputNode::Text(self.name.to_owned()));
        OutputNode::Map(std::iter::once(name).chain(self.fields).collect())
    }

    fn into_entry(self) -> (String, OutputNode) {
        (self.name.to_owned(), OutputNode::Map(self.fields))
    }

    fn into_text(self, form: SectionForm, indent: usize) -> String {
        let mut text = String::new();
        match form {
            SectionForm::List => write::item(&self.into_item(), indent, &mut text),
            SectionForm::Map => write::entries(&[self.into_entry()], indent, &mut text),
        }
        text
    }
}

fn section<'r>(entries: impl Iterator<Item = NamedFields<'r>>, form: SectionForm) -> OutputNode {
    match form {
        SectionForm::List => OutputNode::List(entries.map(NamedFields::into_item).collect()),
        SectionForm::Map => OutputNode::Map(entries.map(NamedFields::into_entry).collect()),
    }
}

/// Masks values, and counts them.
struct Masking {
    values: HiddenValues,
    masked: Cell<usize>,
}

impl Masking {
    /// The fields of a spec.
    fn fields(&self, spec: &Spec, description: &Description) -> Vec<(String, OutputNode)> {
        let mut json = spec.to_json(Defaults::Omit);
        if self.values == HiddenValues::Masked {
            self.masked.set(self.masked.get() + mask_secrets(&mut json));
        }
        let OutputNode::Map(fields) = OutputNode::of(json, description) else {
            unreachable!("a spec is a record");
        };
        fields
    }
}

/// Peers and virtual IPs without their network: fleet.yaml declares them inside it.
fn members_without_network(kinds: &ByKind<'_>) -> Vec<OmittedResource> {
    let networks = kinds.get(&Kind::Network);
    let is_there = |name: &str| networks.is_some_and(|networks| networks.contains_key(member_name(name).0));
    let mut left_out = Vec::new();
    for kind in [Kind::Peer, Kind::VirtualIp] {
        for name in kinds.get(&kind).into_iter().flat_map(|specs| specs.keys()) {
            if !is_there(name) {
                left_out.push(OmittedResource {
                    key: ResourceKey::new(kind, *name),
                    why: OmissionReason::NetworkMissing,
                });
            }
        }
    }
    left_out
}

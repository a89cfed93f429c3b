//! Reading one resource by itself: from the database, or from a request.

use super::{AssignmentName, Kind, ResourceKey, Spec};
use crate::diagnostic::{Diagnostic, LineIndex};
use crate::shape::{Complaint, Decoder, TextValue};
use crate::value::{Hostname, Name};
use crate::yaml;

/// A spec read by itself, and everything wrong with it. There is a spec exactly if nothing is an error.
#[derive(Debug)]
pub struct ReadSpec {
    /// What was read.
    pub spec: Option<Spec>,
    /// Problems, warnings included.
    pub diagnostics: Vec<Diagnostic>,
}

impl Spec {
    /// Reads a spec of a known kind from JSON or YAML.
    pub fn read(kind: Kind, text: &str) -> ReadSpec {
        let (tree, mut findings) = yaml::parse(text);
        let spec = tree.as_ref().and_then(|tree| {
            let mut decoder = Decoder::default();
            let spec = Spec::decode(kind, tree.root(), &mut decoder);
            findings.extend(decoder.into_findings());
            spec
        });
        let lines = LineIndex::new(text);
        let diagnostics: Vec<Diagnostic> =
            findings.into_iter().map(|finding| lines.place(kind.slug(), finding)).collect();
        let spec = spec.filter(|_| !crate::diagnostic::has_errors(&diagnostics));
        ReadSpec { spec, diagnostics }
    }
}

impl ResourceKey {
    /// The key of a kind and a name that someone gave, if it can be the name of such a thing.
    pub fn read(kind: Kind, name: &str) -> Result<ResourceKey, Complaint> {
        match kind {
            Kind::Node => Hostname::read(name).map(drop)?,
            Kind::Assignment => AssignmentName::read(name).map(drop)?,
            Kind::Peer | Kind::VirtualIp => read_member(kind, name)?,
            _ => Name::read(name).map(drop)?,
        }
        Ok(ResourceKey::new(kind, name))
    }
}

fn read_member(kind: Kind, name: &str) -> Result<(), Complaint> {
    let help = "write the network's name, a slash and its own: `edge-fabric/edge-tokyo-01`";
    let Some((network, member)) = name.split_once('/') else {
        return Err(Complaint::name(format!("a {kind} is named network/name")).help(help));
    };
    Name::read(network)?;
    match kind {
        Kind::Peer => Hostname::read(member).map(drop),
        _ => Name::read(member).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_held_to_the_rules_of_their_kind() {
        for (kind, name) in [
            (Kind::Node, "edge-01"),
            (Kind::Peer, "fabric/edge-01"),
            (Kind::VirtualIp, "fabric/cdn"),
            (Kind::Assignment, "edge-01:nginx"),
            (Kind::Template, "Edge_Base"),
        ] {
            assert!(ResourceKey::read(kind, name).is_ok(), "{kind} {name}");
        }
        for (kind, name) in [
            (Kind::Node, "Edge 01"),
            (Kind::Peer, "edge-01"),
            (Kind::VirtualIp, "a/b/c"),
            (Kind::Assignment, "edge-01"),
            (Kind::Template, "../etc"),
            (Kind::Template, ""),
        ] {
            assert!(ResourceKey::read(kind, name).is_err(), "{kind} {name}");
        }
    }

    #[test]
    fn a_spec_with_mistakes_tells_them_all_and_is_none() {
        let read =
            Spec::read(Kind::Node, r#"{"template": "edge", "reigon": "x", "lifecycle_class": "forever"}"#);
        assert!(read.spec.is_none());
        assert_eq!(read.diagnostics.len(), 2, "{:?}", read.diagnostics);
        assert!(Spec::read(Kind::Node, r#"{"template": "edge"}"#).spec.is_some());
    }
}

//! Reads a single resource: from a request, or from the database, where [`Spec::to_stored`] wrote it.

use super::assignment::AssignmentName;
use super::key::ResourceKey;
use super::kind::Kind;
use super::module_version_name::ModuleVersionName;
use super::spec::Spec;
use super::stored;
use crate::code::ProblemSeverity;
use crate::diagnostic::{Diagnostic, Finding, LineIndex};
use crate::shape::{Decoder, InvalidText, TextValue};
use crate::value::{Hostname, Name};
use crate::yaml;

/// A spec and its problems. There is a spec exactly if no problem is an error.
#[derive(Debug)]
pub struct ReadSpec {
    /// The spec.
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

    /// The stored form of the spec: JSON without defaults, with what Windlass added to it.
    pub fn to_stored(&self) -> String {
        stored::store(self)
    }

    /// Reads what [`Spec::to_stored`] wrote; `None` for anything else.
    ///
    /// This is not [`Spec::read`]: with escapes and aliases a file can declare specs that cannot be written as plain
    /// YAML: larger than a file, with control characters, with keys longer than YAML's 1,024 characters.
    pub fn read_stored(kind: Kind, text: &str) -> Option<Spec> {
        let (additions, text) = stored::split(text)?;
        let tree = yaml::from_json(&text)?;
        let mut decoder = Decoder::default();
        let spec = Spec::decode(kind, tree.root(), &mut decoder)?;
        let is_sound = |finding: &Finding| finding.code.severity() != ProblemSeverity::Error;
        let spec = decoder.into_findings().iter().all(is_sound).then_some(spec)?;
        additions.add_to(spec)
    }
}

impl ResourceKey {
    /// The key of a kind and a name, if the name is valid for the kind.
    pub fn read(kind: Kind, name: &str) -> Result<ResourceKey, InvalidText> {
        match kind {
            Kind::Node => Hostname::read(name).map(drop)?,
            Kind::Assignment => AssignmentName::read(name).map(drop)?,
            Kind::ModuleVersion => ModuleVersionName::read(name).map(drop)?,
            Kind::Peer | Kind::VirtualIp => read_member(kind, name)?,
            Kind::Template
            | Kind::Module
            | Kind::Network
            | Kind::FederationPeer
            | Kind::Cluster
            | Kind::ClusterGroup
            | Kind::Bundle
            | Kind::NotificationProvider
            | Kind::Alert => Name::read(name).map(drop)?,
        }
        Ok(ResourceKey::new(kind, name))
    }
}

fn read_member(kind: Kind, name: &str) -> Result<(), InvalidText> {
    let help = "write the network's name, a slash and its own: `edge-fabric/edge-tokyo-01`";
    let Some((network, member)) = name.split_once('/') else {
        return Err(InvalidText::name(format!("a {kind} is named network/name")).help(help));
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
    use crate::shape::Defaults;

    #[test]
    fn names_are_held_to_the_rules_of_their_kind() {
        for (kind, name) in [
            (Kind::Node, "edge-01"),
            (Kind::Peer, "fabric/edge-01"),
            (Kind::VirtualIp, "fabric/cdn"),
            (Kind::Assignment, "edge-01:nginx"),
            (Kind::ModuleVersion, "nginx@1.26.0"),
            (Kind::Template, "Edge_Base"),
        ] {
            assert!(ResourceKey::read(kind, name).is_ok(), "{kind} {name}");
        }
        for (kind, name) in [
            (Kind::Node, "Edge 01"),
            (Kind::Peer, "edge-01"),
            (Kind::VirtualIp, "a/b/c"),
            (Kind::Assignment, "edge-01"),
            (Kind::ModuleVersion, "nginx@live"),
            (Kind::ModuleVersion, "nginx"),
            (Kind::Template, "../etc"),
            (Kind::Template, ""),
        ] {
            assert!(ResourceKey::read(kind, name).is_err(), "{kind} {name}");
        }
    }

    #[test]
    fn stored_text_that_yaml_cannot_contain_reads_back_unchanged() {
        let long = "k".repeat(5_000);
        let texts = [
            "\u{7f}\u{9b}31m\u{fffe}\u{ffff}\u{2028}\u{85}\u{feff}\0\r\n",
            &"\u{7}".repeat(400_000),
            "<<",
            "",
        ];
        for text in texts {
            let config =
                serde_json::json!({ "<<": { text: 0.1 + 0.2 }, (&*long): [text, 1e300, -0.0, i64::MIN] });
            let stored = serde_json::json!({ "version": "1.0.0", "config": config }).to_string();
            let spec = Spec::read_stored(Kind::Module, &stored).unwrap();
            let again = Spec::read_stored(Kind::Module, &spec.to_stored()).unwrap();
            assert_eq!(again.digest(), spec.digest());
            assert_eq!(spec.to_json(Defaults::Omit)["config"], config);
        }
    }

    #[test]
    fn what_was_not_stored_by_us_is_not_read() {
        for text in [
            "",
            "{",
            "template: edge",
            r#"{"template": "edge"} {}"#,
            r#"{"template": "edge", "template": "core"}"#,
            r#"{"template": "edge", "reigon": "x"}"#,
            &format!(r#"{{"template": {}{}}}"#, "[".repeat(100_000), "]".repeat(100_000)),
        ] {
            assert!(Spec::read_stored(Kind::Node, text).is_none(), "{}", &text[..text.len().min(80)]);
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

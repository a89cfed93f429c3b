//! The content at the paths of a spec: part of the resource's digest, and stored with the spec.

use std::collections::BTreeMap;

use super::spec::Spec;
use crate::content::ContentId;
use crate::digest::Digest;

impl Spec {
    /// The resource's digest: of its spec, and as far as they are known of the content at its paths, of the versions that
    /// its pins select, and of the content of a module version. This is the only place that decides what a digest covers.
    pub fn digest(&self) -> Digest {
        self.digest_over(self.declared_digest())
    }

    /// The same digest, for a spec whose declared digest is known.
    pub(crate) fn digest_over(&self, declared: Digest) -> Digest {
        let mut digest = declared;
        let contents = self.contents();
        if !contents.is_empty() {
            let mut parts: Vec<&[u8]> = vec![b"content", declared.as_bytes()];
            for (path, content) in &contents {
                let kind = content.kind().word().as_bytes();
                parts.extend([path.as_bytes(), kind, content.as_bytes().as_slice()]);
            }
            digest = Digest::of_parts(parts);
        }
        let versions = self.resolved_versions();
        if !versions.is_empty() {
            let with_contents = digest;
            let mut parts: Vec<&[u8]> = vec![b"versions", with_contents.as_bytes()];
            for ((_, pin), version) in &versions {
                parts.extend([pin.as_bytes(), version.as_str().as_bytes()]);
            }
            digest = Digest::of_parts(parts);
        }
        if let Some(content) = self.version_content() {
            let content = Spec::Module(content.clone()).digest();
            digest = Digest::of_parts([b"module".as_slice(), digest.as_bytes(), content.as_bytes()]);
        }
        digest
    }

    /// Whether Windlass added anything to the spec: content ids, versions, or the content of a module version.
    pub fn has_additions(&self) -> bool {
        self.version_content().is_some()
            || !self.resolved_versions().is_empty()
            || !self.contents().is_empty()
    }

    /// The digest of the spec in fleet.yaml, without the content at its paths.
    pub fn declared_digest(&self) -> Digest {
        Digest::of(&self.canonical_bytes())
    }

    /// The content at the paths of the spec, as far as it is known.
    pub fn contents(&self) -> BTreeMap<&str, ContentId> {
        let mut contents = BTreeMap::new();
        self.repository_paths(&mut |path, _| {
            contents.extend(path.content().map(|content| (path.as_str(), content)));
        });
        contents
    }

    /// The paths in the repository that the spec names, each once, in order.
    pub fn named_paths(&self) -> Vec<&str> {
        let mut paths = Vec::new();
        self.repository_paths(&mut |path, _| paths.push(path.as_str()));
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Whether the spec names paths in the repository.
    pub fn names_paths(&self) -> bool {
        let mut is_any = false;
        self.repository_paths(&mut |_, _| is_any = true);
        is_any
    }

    /// The spec with the content at its paths, where it is known.
    pub fn with_contents(&self, content_of: impl Fn(&str) -> Option<ContentId>) -> Spec {
        let mut spec = self.clone();
        spec.repository_paths_mut(&mut |path| {
            let content = content_of(path.as_str());
            path.set_content(content);
        });
        spec
    }

    /// The spec with the contents that other specs have for the same paths; the error lists paths that none of them
    /// has. A direct change cannot set content: content comes from git.
    pub fn with_contents_of(&self, known: &[&Spec]) -> Result<Spec, Vec<String>> {
        let mut contents: BTreeMap<&str, Option<ContentId>> = BTreeMap::new();
        for spec in known {
            spec.repository_paths(&mut |path, _| {
                let known_content = contents.entry(path.as_str()).or_default();
                *known_content = known_content.or(path.content());
            });
        }
        let named = self.named_paths();
        let unknown: Vec<String> = named
            .iter()
            .filter(|path| !contents.contains_key(*path))
            .map(|path| (*path).to_owned())
            .collect();
        match unknown.is_empty() {
            true => Ok(self.with_contents(|path| contents.get(path).copied().flatten())),
            false => Err(unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Kind;

    const SPEC: &str = r#"{"version":"1.0.0","host":{"files":{"/etc/a":{"source":"files/a"},"/etc/b":{"source":"files/b"}}}}"#;

    fn module() -> Spec {
        Spec::read_stored(Kind::Module, SPEC).unwrap()
    }

    fn spec_with_contents(a: u8, b: u8) -> Spec {
        module().with_contents(|path| Some(ContentId::blob([if path == "files/a" { a } else { b }; 20])))
    }

    #[test]
    fn a_digest_covers_what_stands_at_each_path_and_nothing_changes_without_contents() {
        let spec = module();
        assert_eq!(spec.digest(), Digest::of(&spec.canonical_bytes()));
        let digests = [
            spec.digest(),
            spec_with_contents(1, 1).digest(),
            spec_with_contents(1, 2).digest(),
            spec_with_contents(2, 1).digest(),
        ];
        let different: std::collections::BTreeSet<_> = digests.iter().collect();
        assert_eq!(different.len(), 4);
        assert_eq!(spec_with_contents(1, 2).declared_digest(), spec.digest());
        let as_tree = spec.with_contents(|_| Some(ContentId::tree([1; 20])));
        assert_ne!(
            as_tree.digest(),
            spec_with_contents(1, 1).digest(),
            "the same bytes as a file and as a directory differ"
        );
    }

    #[test]
    fn contents_are_stored_with_the_spec_and_no_request_can_set_them() {
        for spec in [module(), spec_with_contents(1, 2), Spec::read_stored(Kind::Module, "{}").unwrap()] {
            let again = Spec::read_stored(Kind::Module, &spec.to_stored()).unwrap();
            assert_eq!((again.digest(), &again), (spec.digest(), &spec));
        }
        assert!(Spec::read(Kind::Module, &spec_with_contents(1, 2).to_stored()).spec.is_none());
        assert!(Spec::read_stored(Kind::Module, r#"{"$content":{"files/a":"blob:xyz"}}"#).is_none());
        assert!(Spec::read_stored(Kind::Module, r#"{"$content":7,"version":"1.0.0"}"#).is_none());
    }

    #[test]
    fn what_is_written_by_hand_keeps_known_contents_and_can_name_no_others() {
        let given = module();
        assert_eq!(given.with_contents_of(&[&spec_with_contents(1, 2)]), Ok(spec_with_contents(1, 2)));
        assert_eq!(given.with_contents_of(&[]), Err(vec!["files/a".to_owned(), "files/b".to_owned()]));
        assert_eq!(given.with_contents_of(&[&module()]), Ok(module()), "what was never noted stays so");
        assert_eq!(
            given.with_contents_of(&[&module(), &spec_with_contents(3, 4)]),
            Ok(spec_with_contents(3, 4))
        );
    }
}

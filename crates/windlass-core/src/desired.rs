//! The desired state of a fleet: the result of reading its files, and the input of the comparison.

use std::sync::Arc;

use crate::content::ContentId;
use crate::digest::Digest;
use crate::origin::DeclarationOrigin;
use crate::resource::{ResourceMap, Spec};
use crate::shape::FreeSettings;

/// The fleet that the files declare.
#[derive(Clone, Debug, Default)]
pub struct Desired {
    /// The account the files name.
    pub account: String,
    /// All resources.
    pub resources: ResourceMap<Declared>,
    /// Provider configurations: shown, never applied.
    pub provider_configs: Vec<ProviderConfig>,
}

/// A declared resource.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its spec with defaults.
    pub spec: Arc<Spec>,
    /// The resource's digest.
    pub digest: Digest,
    /// The index of the file that declares it.
    pub file: usize,
    /// Its position in that file.
    pub origin: DeclarationOrigin,
}

/// A provider configuration: informational, never applied.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderConfig {
    /// Its name.
    pub name: String,
    /// Its fields. Secrets were rejected.
    pub settings: FreeSettings,
    /// Its position in the file.
    pub origin: DeclarationOrigin,
}

impl Declared {
    /// Sets the content ids of the paths that the spec names, where they are known.
    pub fn note_contents(&mut self, content_of: impl Fn(&str) -> Option<ContentId>) {
        self.replace_spec(self.spec.with_contents(content_of));
    }

    /// Replaces the spec by the same declaration with other additions.
    pub(crate) fn replace_spec(&mut self, spec: Spec) {
        // Without additions, the resource's digest equals that of its declaration, which is expensive to compute for
        // many files.
        let declared = match self.spec.has_additions() {
            true => self.spec.declared_digest(),
            false => self.digest,
        };
        self.spec = Arc::new(spec);
        self.digest = self.spec.digest_over(declared);
    }
}

impl Desired {
    /// The digest of the whole fleet: independent of file names, order and form.
    pub fn digest(&self) -> Digest {
        let mut parts: Vec<&[u8]> = vec![self.account.as_bytes()];
        for (kind, name, declared) in self.resources.iter() {
            parts.extend([kind.slug().as_bytes(), name.as_bytes(), declared.digest.as_bytes()]);
        }
        Digest::of_parts(parts)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use windlass_testkit::model::Model;

    use super::Desired;
    use crate::manifest::{FLEET_FILE, ReadCache, ReadContext, SourceFile};

    fn read(files: &[SourceFile]) -> Desired {
        let fleet = ReadCache::default().read_once(files, &ReadContext::offline());
        assert!(!fleet.has_errors(), "{:?}", fleet.diagnostics);
        fleet.desired
    }

    /// The fleet of one file with this body.
    pub(crate) fn declared(body: &str) -> Desired {
        let text = format!("version: 1\naccount: acme\n{body}");
        read(&[SourceFile::new(FLEET_FILE, text.into_bytes())])
    }

    /// A random fleet with all kinds. The testkit depends on the core, so it returns files and not this type.
    pub(crate) fn made_up(tape: &[u8]) -> Desired {
        let files = Model::from_tape(tape).files(&[]).into_iter();
        let files: Vec<SourceFile> = files.map(|file| SourceFile::new(file.path, file.bytes)).collect();
        read(&files)
    }
}

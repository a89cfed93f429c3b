//! What git says the fleet should be: the result of reading, the input of comparing.

use std::sync::Arc;

use crate::content::ContentId;
use crate::digest::Digest;
use crate::origin::DeclarationOrigin;
use crate::resource::{ResourceMap, Spec};
use crate::shape::FreeSettings;

/// A whole fleet as its files declare it.
#[derive(Clone, Debug, Default)]
pub struct Desired {
    /// The account the files name.
    pub account: String,
    /// Every resource.
    pub resources: ResourceMap<Declared>,
    /// Shown, never applied.
    pub provider_configs: Vec<ProviderConfig>,
}

/// One resource as it should be.
#[derive(Clone, Debug)]
pub struct Declared {
    /// What it should be, defaults filled in.
    pub spec: Arc<Spec>,
    /// The resource's digest.
    pub digest: Digest,
    /// Which of the fleet's files declares it.
    pub file: usize,
    /// Where in that file.
    pub origin: DeclarationOrigin,
}

/// A provider configuration: informational, never applied.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderConfig {
    /// Its name.
    pub name: String,
    /// Its fields. Secrets were refused.
    pub settings: FreeSettings,
    /// Where in the file.
    pub origin: DeclarationOrigin,
}

impl Declared {
    /// Notes what stands at the paths that the spec names, where that is known.
    pub fn note_contents(&mut self, content_of: impl Fn(&str) -> Option<ContentId>) {
        // Without contents, the resource's digest is that of what fleet.yaml says: with many files it is dear to make.
        let declared = match self.spec.contents().is_empty() {
            true => self.digest,
            false => self.spec.declared_digest(),
        };
        self.spec = Arc::new(self.spec.with_contents(content_of));
        self.digest = self.spec.digest_over(declared);
    }
}

impl Desired {
    /// The digest of the whole fleet: the same whatever the files are called, in whatever order and form they
    /// declare things.
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

    /// The fleet of one file, of which this is all but the head.
    pub(crate) fn declared(body: &str) -> Desired {
        let text = format!("version: 1\naccount: acme\n{body}");
        read(&[SourceFile::new(FLEET_FILE, text.into_bytes())])
    }

    /// A made-up fleet over all kinds. The testkit knows the core from outside, so that what comes from there are files.
    pub(crate) fn made_up(tape: &[u8]) -> Desired {
        let files = Model::from_tape(tape).files(&[]).into_iter();
        let files: Vec<SourceFile> = files.map(|file| SourceFile::new(file.path, file.bytes)).collect();
        read(&files)
    }
}

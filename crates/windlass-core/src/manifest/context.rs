//! What reading depends on besides the files.

use crate::digest::Digest;
use crate::known::KnownResources;

/// What reading depends on besides the files.
#[derive(Clone, Debug)]
pub struct ReadContext {
    /// The id and the name of the repository's account, if there is one.
    pub account: Option<Vec<String>>,
    /// The resources that exist besides the files.
    pub known: KnownResources,
}

impl ReadContext {
    pub(super) fn digest(&self) -> Digest {
        let mut parts: Vec<&[u8]> = Vec::new();
        for name in self.account.iter().flatten() {
            parts.extend([b"account".as_slice(), name.as_bytes()]);
        }
        for platform in &self.known.platforms {
            parts.extend([b"platform".as_slice(), platform.as_bytes()]);
        }
        for (kind, name, ()) in self.known.resources.iter() {
            parts.extend([kind.slug().as_bytes(), name.as_bytes()]);
        }
        for (name, known) in &self.known.versions {
            parts.extend([
                b"versions".as_slice(),
                name.as_bytes(),
                if known.complete { b"all" } else { b"some" },
            ]);
            for (version, state) in &known.versions {
                parts.extend([version.as_str().as_bytes(), state.word().as_bytes()]);
            }
        }
        Digest::of_parts(parts)
    }
}

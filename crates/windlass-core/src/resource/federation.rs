//! Federation: other control planes this one trusts.

use super::needs::{Reference, ResourceSpec};
use crate::shape::record;
use crate::value::{HttpsUrl, KeyFingerprint};

record! {
    /// A federation peer is another Windlass this one exchanges state with.
    pub struct FederationPeerSpec {
        /// Where it is.
        url: HttpsUrl => "https://eu.windlass.example.com",
        /// The fingerprint of its certificate's key.
        trust: KeyFingerprint => "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        /// What it is, shown to reviewers.
        description: String = String::new() => "European control plane",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
}

impl ResourceSpec for FederationPeerSpec {
    fn references<'s>(&'s self, _name: &'s str, _visit: &mut dyn FnMut(Reference<'s>)) {}

    fn is_protected(&self) -> bool {
        self.protect
    }
}

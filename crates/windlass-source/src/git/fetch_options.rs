//! What to fetch, and how.

use std::sync::atomic::AtomicBool;

use windlass_outbound::AddressGuard;

use super::commit_id::CommitId;
use super::limits::FetchLimits;
use super::revision::Revision;
use crate::remote::{Credential, HostKeys, RemoteUrl};

/// What to fetch, and how.
#[derive(Clone, Copy)]
pub struct FetchOptions<'a> {
    /// From where.
    pub url: &'a RemoteUrl,
    /// Which state of it.
    pub revision: &'a Revision,
    /// How to log in.
    pub credential: &'a Credential,
    /// The host's pinned keys; without any, they are learned on this occasion and returned.
    pub host_keys: Option<&'a HostKeys>,
    /// Certificates in PEM that are trusted in addition to the system's.
    pub extra_ca_pem: Option<&'a str>,
    /// Resolves the host, and refuses addresses that may not be connected to.
    pub guard: &'a AddressGuard,
    /// The commit of this remote and revision that was last made use of, to tell how the tip moved since.
    pub since: Option<&'a CommitId>,
    /// What it may cost.
    pub limits: FetchLimits,
    /// Set by the caller to stop early.
    pub interrupt: &'a AtomicBool,
}

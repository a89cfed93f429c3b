//! Options of a fetch.

use std::sync::atomic::AtomicBool;

use windlass_outbound::AddressGuard;

use super::commit_id::CommitId;
use super::limits::FetchLimits;
use super::revision::Revision;
use crate::remote::{Credential, HostKeys, RemoteUrl};

/// Options of a fetch.
#[derive(Clone, Copy)]
pub struct FetchOptions<'a> {
    /// The remote.
    pub url: &'a RemoteUrl,
    /// The revision to fetch.
    pub revision: &'a Revision,
    /// How to log in.
    pub credential: &'a Credential,
    /// The pinned host keys; if there are none, the fetch learns them and returns them.
    pub host_keys: Option<&'a HostKeys>,
    /// Certificates in PEM that are trusted in addition to the system's.
    pub extra_ca_pem: Option<&'a str>,
    /// Resolves the host, and refuses addresses that the server may not connect to.
    pub guard: &'a AddressGuard,
    /// The last synced commit of this remote and revision, to report how the tip moved.
    pub since: Option<&'a CommitId>,
    /// Limits of time, bytes and memory.
    pub limits: FetchLimits,
    /// Set by the caller to stop early.
    pub interrupt: &'a AtomicBool,
}

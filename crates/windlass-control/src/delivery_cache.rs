//! What agents asked for recently: signed assignments, the blobs that they refer to, and the blobs themselves.
//!
//! Ten thousand agents ask at once after a change of their template. So what is signed is kept until the target has
//! another generation, and targets with the same modules share the list of their blobs.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::Semaphore;
use windlass_api::agent::AssignmentResponse;
use windlass_core::host::BlobDigest;
use windlass_core::id::AccountId;
use windlass_core::resource::ResourceKey;
use windlass_store::StoredBlob;

use crate::limits::bounded_cache::BoundedCache;

/// The memory for signed assignments: those of ten thousand nodes with a dozen modules.
const ASSIGNMENTS: usize = 64 << 20;

/// The memory for lists of blobs. Nodes of one template share one.
const BLOB_LISTS: usize = 8 << 20;

/// The memory for blobs. Agents of a template fetch the same ones at the same time.
const BLOBS: usize = 64 << 20;

/// Blobs that are read from the database at once. One may have 16 MiB.
const BLOB_READS: usize = 4;

/// The target and the enrolment of an agent.
pub(crate) type Recipient = (AccountId, ResourceKey, u64);

/// What agents asked for recently.
#[derive(Debug)]
pub(crate) struct DeliveryCache {
    pub(crate) assignments: BoundedCache<Recipient, Arc<Delivery>>,
    pub(crate) blob_lists: BoundedCache<Vec<BlobDigest>, Arc<BTreeSet<BlobDigest>>>,
    pub(crate) blobs: BoundedCache<BlobDigest, Arc<StoredBlob>>,
    pub(crate) blob_reads: Semaphore,
}

impl Default for DeliveryCache {
    fn default() -> DeliveryCache {
        DeliveryCache {
            assignments: BoundedCache::new(ASSIGNMENTS),
            blob_lists: BoundedCache::new(BLOB_LISTS),
            blobs: BoundedCache::new(BLOBS),
            blob_reads: Semaphore::new(BLOB_READS),
        }
    }
}

/// What an agent may have now.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// The generation of the assignment.
    pub(crate) generation: u64,
    /// The signed assignment.
    pub(crate) response: AssignmentResponse,
    /// The blobs that it refers to.
    pub(crate) blobs: Arc<BTreeSet<BlobDigest>>,
}

//! The blobs that an agent's assignment refers to.

use std::sync::Arc;

use windlass_core::host::BlobDigest;
use windlass_store::StoredBlob;

use crate::ask::agent::delivery::delivery_of;
use crate::caller::AgentCaller;
use crate::control::Control;
use crate::refusal::Refusal;

/// A blob of the caller's assignment, compressed. Every other blob is answered as one that does not exist.
pub async fn blob(server: &Control, caller: &AgentCaller, digest: &str) -> Result<Arc<StoredBlob>, Refusal> {
    let digest = BlobDigest::parse(digest).ok_or_else(Refusal::not_found)?;
    if !delivery_of(server, &caller.agent).await?.blobs.contains(&digest) {
        return Err(Refusal::not_found());
    }
    let cache = server.delivery_cache();
    if let Some(known) = cache.blobs.get(&digest) {
        return Ok(known);
    }
    let permit = cache.blob_reads.acquire().await;
    // Whoever held the permit before may have read the same blob.
    if let Some(known) = cache.blobs.get(&digest) {
        return Ok(known);
    }
    let found = server.store().read().await?.blob(digest).await?.ok_or_else(Refusal::not_found)?;
    drop(permit);
    let (bytes, found) = (found.stored.len(), Arc::new(found));
    cache.blobs.put(digest, Arc::clone(&found), bytes);
    Ok(found)
}

//! What an agent may have: its signed assignment, and the digests of the blobs that the assignment refers to.
//!
//! The server checks what is stored exactly as the agent will, and signs nothing that the agent would refuse.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use windlass_api::agent::AssignmentResponse;
use windlass_core::agent::Agent;
use windlass_core::digest::Digest;
use windlass_core::event::Severity;
use windlass_core::host::{BlobDigest, NodeDocument};
use windlass_core::target_assignment::{
    AssignmentRefusal, CoveredResource, SignedAssignment, TargetAssignment,
};
use windlass_store::{StoreError, StoredAssignment};

use crate::clock::now;
use crate::control::Control;
use crate::delivery_cache::{Delivery, Recipient};
use crate::flow::assign::blocked::record_blocked;
use crate::refusal::Refusal;

/// What an agent may have now. Refused if its target has no assignment, or if no approval covers it.
pub(super) async fn delivery_of(server: &Control, agent: &Agent) -> Result<Arc<Delivery>, Refusal> {
    let recipient: Recipient = (agent.account_id.clone(), agent.target.clone(), agent.enrolment.0);
    let (reads, store) = (server.agent_reads(), server.store());
    let head = reads.assignment(store, agent).await?;
    let generation = head.ok_or_else(Refusal::not_found)?.generation.0;
    let cache = server.delivery_cache();
    if let Some(known) = cache.assignments.get(&recipient).filter(|known| known.generation == generation) {
        return Ok(known);
    }
    let stored = reads.assignment_to_sign(store, agent).await?;
    let stored = stored.ok_or_else(Refusal::not_found)?;
    let opened = match open(agent, &stored) {
        Ok(opened) => opened,
        Err(reason) => return Err(refuse(server, agent, reason).await?),
    };
    let blobs = blobs_of(server, &opened.document).await?;
    let response = sign(server, &opened.assignment, stored.document)?;
    let bytes = response.assignment.assignment.len() + response.document.len();
    let delivery = Arc::new(Delivery { generation: opened.assignment.generation, response, blobs });
    cache.assignments.put(recipient, Arc::clone(&delivery), bytes);
    Ok(delivery)
}

/// An assignment whose every module an approval covers.
struct OpenedAssignment {
    assignment: TargetAssignment,
    document: NodeDocument,
}

/// Checks what is stored as the agent will check it.
fn open(agent: &Agent, stored: &StoredAssignment) -> Result<OpenedAssignment, AssignmentRefusal> {
    if Digest::of(stored.document.as_bytes()) != stored.digest {
        return Err(AssignmentRefusal::WrongDocument);
    }
    let mut covered: Vec<CoveredResource> =
        serde_json::from_str(&stored.own_approvals).map_err(|_| AssignmentRefusal::Malformed)?;
    let shared: Vec<CoveredResource> =
        serde_json::from_str(&stored.shared_approvals).map_err(|_| AssignmentRefusal::Malformed)?;
    covered.extend(shared);
    let assignment = TargetAssignment {
        account: agent.account_id.to_string(),
        target: agent.target.clone(),
        enrolment: agent.enrolment.0,
        generation: stored.generation.0,
        document: BlobDigest::of(stored.document.as_bytes()),
        covered,
        issued_at: now(),
    };
    let document = assignment.open_document(stored.document.as_bytes())?;
    Ok(OpenedAssignment { assignment, document })
}

/// Stores why the target gets no assignment, and refuses it.
async fn refuse(server: &Control, agent: &Agent, reason: AssignmentRefusal) -> Result<Refusal, StoreError> {
    let message = reason.to_string();
    tracing::error!(target = %agent.target, account_id = agent.account_id.as_str(), message, "an assignment is not signed");
    let mut writing = server.store().write().await?;
    writing.assignment_problems_put(&agent.account_id, &[(agent.target.clone(), &message)], now()).await?;
    writing.commit().await?;
    let subject = format!("assignment:{}:{}", agent.account_id, agent.target);
    if server.rate_limits().refusal_events.take(&subject, Instant::now()).is_ok() {
        let problem = [(agent.target.clone(), message.as_str())];
        record_blocked(server, &agent.account_id, Severity::High, &problem).await?;
    }
    Ok(Refusal::conflict(
        "assignment-not-covered",
        message,
        "the node keeps what it has until its resources are approved again",
    ))
}

fn sign(
    server: &Control,
    assignment: &TargetAssignment,
    document: String,
) -> Result<AssignmentResponse, Refusal> {
    let text = String::from_utf8(assignment.to_bytes()).expect("JSON is text");
    let signer = server.keys().assignment_signer();
    let signer = signer.ok_or_else(|| Refusal::busy("the key that signs assignments cannot be used"))?;
    let signature = signer.sign(&text);
    Ok(AssignmentResponse { assignment: SignedAssignment { assignment: text, signature }, document })
}

/// The packages of a document, and the files of these packages.
async fn blobs_of(
    server: &Control,
    document: &NodeDocument,
) -> Result<Arc<BTreeSet<BlobDigest>>, StoreError> {
    let packages: Vec<BlobDigest> = document.modules.iter().map(|module| module.package).collect();
    if let Some(known) = server.delivery_cache().blob_lists.get(&packages) {
        return Ok(known);
    }
    let files = server.store().read().await?.package_files(&packages).await?;
    let mut blobs: BTreeSet<BlobDigest> = packages.iter().copied().collect();
    blobs.extend(files.values().flat_map(|files| files.values()).map(|file| file.digest));
    let bytes = (packages.len() + blobs.len()) * size_of::<BlobDigest>();
    let blobs = Arc::new(blobs);
    server.delivery_cache().blob_lists.put(packages, Arc::clone(&blobs), bytes);
    Ok(blobs)
}

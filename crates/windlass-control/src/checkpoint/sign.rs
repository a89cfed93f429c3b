//! Signing the head of a chain: load → verify and decide → save.

use std::path::Path;

use windlass_api::types::{AuditKeyInfo, CheckpointInfo};
use windlass_core::access::is_checkpoint_due;
use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;
use windlass_store::{AuditHead, Checkpoint, ExpectedLog, LogVerification, Reading, Store, StoreError};

use crate::checkpoint::trust::{CheckpointFault, first_fault, message};
use crate::checkpoint::{info, key_info};
use crate::control::Control;
use crate::keys::KeySource;
use crate::keys::change::signer_of;
use crate::keys::error::KeyError;
use crate::keys::signed_heads::{self, SignedHeads};
use crate::keys::signing::Signer;

/// Checkpoints that are read at a time.
const AT_ONCE: usize = 5_000;

/// When a head is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignTiming {
    /// If it is due.
    Due,
    /// Immediately.
    Now,
}

/// The outcome of signing a head.
#[derive(Debug)]
pub(crate) enum SignOutcome {
    /// There was nothing to sign; the newest checkpoint, if there is one.
    Current(Option<Checkpoint>),
    /// It was signed.
    Signed(Checkpoint),
    /// The chain does not continue what was signed before.
    Refused(String),
}

/// Signs the head of a chain if it continues what was signed before.
pub(crate) async fn sign_chain(
    server: &Control,
    account_id: &AccountId,
    head: &AuditHead,
    when: SignTiming,
    now: Timestamp,
) -> Result<SignOutcome, StoreError> {
    let Some(signer) = server.keys().current_key().signer() else { return Ok(SignOutcome::Current(None)) };
    let mut reading = server.store().read().await?;
    let last = reading.checkpoints(account_id, i64::MAX, 1).await?.pop();
    let pace = server.config().checkpoints.pace();
    let is_due = is_checkpoint_due(head.seq, last.as_ref().map(|it| (it.seq, it.at)), pace, now);
    let is_new = head.seq > last.as_ref().map_or(0, |it| it.seq);
    let seen = server.signed_heads().last(account_id);
    let seen_seq = seen.as_ref().map_or(0, |seen| seen.seq);
    // The signed entry is missing: without this check, a chain whose checkpoints were deleted would look unsigned.
    let is_cut = seen_seq > head.seq;
    // A checkpoint that another replica signed is noted here, too, once it is verified.
    let is_unseen = last.as_ref().is_some_and(|last| last.seq > seen_seq);
    let is_wanted = is_due || when == SignTiming::Now && is_new;
    if !(is_cut || is_unseen || is_wanted) {
        return Ok(SignOutcome::Current(last));
    }
    let good = match good_heads(&mut reading, &signer, last.as_ref(), seen).await? {
        Ok(good) => good,
        Err(reason) => return Ok(refuse(server, account_id, reason)),
    };
    let (seq, hash) = match reading.audit_verify_through(account_id, good).await? {
        LogVerification::Intact { entries, head } => (entries, head),
        LogVerification::Broken { seq, reason } => {
            return Ok(refuse(server, account_id, format!("entry {seq}: {reason}")));
        }
    };
    drop(reading);
    if !is_wanted {
        last.iter().for_each(|last| note(server, last));
        return Ok(SignOutcome::Current(last));
    }
    let checkpoint = signed(&signer, account_id, AuditHead { seq, hash }, now);
    save(server, &checkpoint, now).await?;
    Ok(SignOutcome::Signed(checkpoint))
}

/// The entries that the chain must contain; verifying starts at the first of them. They are the last entry that this server
/// verified and the last that any of its keys signed. Both are needed: a replica that did not see what this server verified
/// may have signed the newer one. Returns the reason if a checkpoint is not what was signed.
async fn good_heads(
    reading: &mut Reading,
    signer: &Signer,
    last: Option<&Checkpoint>,
    seen: Option<AuditHead>,
) -> Result<Result<Vec<AuditHead>, String>, StoreError> {
    let Some(last) = last else { return Ok(Ok(seen.into_iter().collect())) };
    let keys: Vec<AuditKeyInfo> = reading.audit_keys().await?.iter().map(key_info).collect();
    let mut judged = vec![info(last)];
    // Archived entries can no longer be verified here, so the signature of the last archived entry is verified instead.
    if let Some(anchor) = reading.audit_anchor(&last.account_id).await? {
        let newest = reading.checkpoints(&last.account_id, anchor.seq.saturating_add(1), 1).await?.pop();
        match newest.filter(|checkpoint| head_of(checkpoint) == anchor) {
            Some(checkpoint) => judged.push(info(&checkpoint)),
            None => return Ok(Err(format!("entry {}: archived without a signature", anchor.seq))),
        }
    }
    if let Some(fault) = first_fault(&signer.public_key(), &keys, &judged) {
        return Ok(Err(format!("entry {}: {}", fault.seq, fault.reason)));
    }
    Ok(match seen {
        Some(seen) if seen.seq == last.seq && seen.hash != last.hash => {
            Err(format!("entry {}: the checkpoint differs from the one this server signed", seen.seq))
        }
        seen => Ok(seen.into_iter().chain([head_of(last)]).collect()),
    })
}

fn head_of(checkpoint: &Checkpoint) -> AuditHead {
    AuditHead { seq: checkpoint.seq, hash: checkpoint.hash.clone() }
}

fn signed(signer: &Signer, account_id: &AccountId, head: AuditHead, now: Timestamp) -> Checkpoint {
    let mut checkpoint = Checkpoint {
        account_id: account_id.clone(),
        seq: head.seq,
        hash: head.hash,
        at: now,
        key_id: signer.key_id(),
        signature: String::new(),
    };
    checkpoint.signature = signer.sign(&message(&info(&checkpoint)));
    checkpoint
}

async fn save(server: &Control, checkpoint: &Checkpoint, now: Timestamp) -> Result<(), StoreError> {
    let sent_at = if server.config().checkpoints.is_exported() { None } else { Some(now) };
    let mut writing = server.store().write().await?;
    writing.checkpoint_add(checkpoint, sent_at).await?;
    writing.commit().await?;
    note(server, checkpoint);
    Ok(())
}

/// Stores a verified checkpoint outside the database.
fn note(server: &Control, checkpoint: &Checkpoint) {
    if let Err(error) = server.signed_heads().store_head(&checkpoint.account_id, head_of(checkpoint)) {
        tracing::error!(%error, "could not write the signed heads of the audit log");
    }
}

fn refuse(server: &Control, account_id: &AccountId, reason: String) -> SignOutcome {
    if server.signed_heads().store_fault(account_id, &reason) {
        let account_id = account_id.as_str();
        tracing::error!(account_id, reason, "the audit log was modified; the server stopped signing it");
    }
    SignOutcome::Refused(reason)
}

/// Verifies the checkpoints of a chain with the server's own key: their number, the newest entry signed, and the first fault.
pub(crate) async fn find_fault(
    reading: &mut Reading,
    signer: &Signer,
    account_id: &AccountId,
) -> Result<(usize, Option<i64>, Option<CheckpointFault>), StoreError> {
    let keys: Vec<AuditKeyInfo> = reading.audit_keys().await?.iter().map(key_info).collect();
    let (mut count, mut newest, mut before) = (0, None, i64::MAX);
    loop {
        let page = reading.checkpoints(account_id, before, AT_ONCE).await?;
        let Some(oldest) = page.last() else { return Ok((count, newest, None)) };
        before = oldest.seq;
        count += page.len();
        newest = newest.or(page.first().map(|checkpoint| checkpoint.seq));
        let infos: Vec<CheckpointInfo> = page.iter().map(info).collect();
        if let Some(fault) = first_fault(&signer.public_key(), &keys, &infos) {
            return Ok((count, newest, Some(fault)));
        }
    }
}

/// Checks every chain against its checkpoints, the key of a source and the last signed heads, whether a server runs or not.
/// Returns the first fault.
pub async fn check_checkpoints(
    store: &Store,
    source: &KeySource,
    data_dir: &Path,
) -> Result<Option<String>, KeyError> {
    let Some(signer) = signer_of(source, data_dir)? else { return Ok(None) };
    let heads = SignedHeads::read(data_dir)
        .map_err(|source| KeyError::File { path: data_dir.join(signed_heads::FILE), source })?;
    let mut reading = store.read().await?;
    for (account_id, _) in reading.audit_heads().await? {
        let expected = ExpectedLog { hash: None, seen: heads.last(&account_id) };
        let whose =
            if account_id.is_installation() { "the installation".to_owned() } else { account_id.to_string() };
        if let LogVerification::Broken { seq, reason } =
            reading.audit_verify_expecting(&account_id, &expected).await?
        {
            return Ok(Some(format!("{whose}, entry {seq}: {reason}")));
        }
        if let (_, _, Some(fault)) = find_fault(&mut reading, &signer, &account_id).await? {
            return Ok(Some(format!("{whose}, entry {}: {}", fault.seq, fault.reason)));
        }
    }
    Ok(None)
}

//! The audit log.

use serde::Deserialize;
use windlass_api::types::{AuditInfo, AuditList, AuditVerdict};
use windlass_core::id::AccountId;
use windlass_store::{AuditRecord, ExpectedLog, LogVerification, Reading};

use crate::caller::Identity;
use crate::checkpoint::sign::find_fault;
use crate::control::Control;
use crate::page::{PageQuery, cut};
use crate::refusal::Refusal;

/// An entry as responses show it.
pub fn info(entry: AuditRecord) -> AuditInfo {
    AuditInfo {
        seq: entry.seq,
        at: entry.at.to_string(),
        actor: entry.actor.name,
        token_id: entry.actor.token_id.map(|id| id.to_string()),
        address: entry.actor.address,
        request_id: entry.actor.request_id,
        action: entry.action,
        target_kind: entry.target_kind,
        target: entry.target,
        outcome: entry.outcome,
        before_digest: entry.before,
        after_digest: entry.after,
        detail: serde_json::from_str(&entry.detail).unwrap_or_default(),
        hash: entry.hash,
    }
}

/// A page of entries, newest first; only of one target, `kind/name`, if given.
pub async fn load_page(
    reading: &mut Reading,
    who: &Identity,
    target: Option<&str>,
    page: &PageQuery,
) -> Result<AuditList, Refusal> {
    let limit = page.limit()?;
    let before = page.after_as(|text| text.parse().ok())?.unwrap_or(i64::MAX);
    let target = target.map(|target| target.split_once('/').unwrap_or((target, "")));
    let mut entries = reading.audit(&who.account_id, target, before, limit + 1).await?;
    let meta = cut(&mut entries, limit, |entry| entry.seq.to_string());
    Ok(AuditList { audit: entries.into_iter().map(info).collect(), meta })
}

/// Which chain to verify, and a hash that it must contain.
#[derive(Default, Deserialize)]
pub struct VerifyQuery {
    expect: Option<String>,
    chain: Option<String>,
}

/// The chain that a query names: the account's, or the installation's for its administrators.
pub(crate) fn chain_of(who: &Identity, chain: Option<&str>) -> Result<AccountId, Refusal> {
    match chain {
        None => Ok(who.account_id.clone()),
        Some("installation") if who.is_root => Ok(AccountId::installation()),
        Some("installation") => Err(Refusal::forbidden(
            "only administrators of the installation can read its log",
            "omit `chain` to read the account's log",
        )),
        Some(_) => Err(Refusal::bad_request("unknown chain", "use chain=installation, or omit it")),
    }
}

/// Checks every entry of a log, and the log against its checkpoints.
pub async fn load_verdict(
    server: &Control,
    who: &Identity,
    query: VerifyQuery,
) -> Result<AuditVerdict, Refusal> {
    let account_id = chain_of(who, query.chain.as_deref())?;
    let hash = query.expect.filter(|expect| !expect.is_empty());
    let expected = ExpectedLog { hash, seen: server.signed_heads().last(&account_id) };
    let mut reading = server.store().read().await?;
    let archived_to = reading.audit_anchor(&account_id).await?.map(|anchor| anchor.seq);
    let broken = |seq: i64, reason: String| AuditVerdict {
        intact: false,
        entries: seq - 1,
        head: None,
        broken_at: Some(seq),
        reason: Some(reason),
        checkpoints: 0,
        signed_to: None,
        archived_to,
    };
    let (entries, head) = match reading.audit_verify_expecting(&account_id, &expected).await? {
        LogVerification::Intact { entries, head } => (entries, head),
        LogVerification::Broken { seq, reason } => return Ok(broken(seq, reason)),
    };
    let (checkpoints, signed_to, fault) = match server.keys().current_key().signer() {
        Some(signer) => find_fault(&mut reading, &signer, &account_id).await?,
        None => (0, None, None),
    };
    if let Some(fault) = fault {
        return Ok(broken(fault.seq, fault.reason));
    }
    let head = Some(head);
    Ok(AuditVerdict {
        intact: true,
        entries,
        head,
        broken_at: None,
        reason: None,
        checkpoints,
        signed_to,
        archived_to,
    })
}

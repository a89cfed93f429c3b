//! The audit log.

use axum::extract::State;
use serde::Deserialize;
use windlass_api::types::{AuditInfo, AuditList, AuditVerdict};
use windlass_store::{Audited, Expected, Reading, Verified};

use super::page::{PageQuery, cut};
use super::request::{Answer, Query, ok};
use crate::auth::Identity;
use crate::checkpoint::find_fault;
use crate::control::Control;
use crate::refusal::Refusal;
use crate::server::Server;

#[derive(Deserialize)]
pub(super) struct ListQuery {
    #[serde(flatten)]
    page: PageQueryText,
    target: Option<String>,
}

/// The same page query in a form that can stand beside other fields.
#[derive(Deserialize)]
pub(super) struct PageQueryText {
    limit: Option<String>,
    cursor: Option<String>,
}

impl PageQueryText {
    pub(super) fn read(self) -> Result<PageQuery, Refusal> {
        let wrong = |_| Refusal::bad_request("limit is a number", "for example limit=100");
        let limit = self.limit.map(|limit| limit.parse()).transpose().map_err(wrong)?;
        Ok(PageQuery { limit, cursor: self.cursor })
    }
}

pub(crate) fn info(entry: Audited) -> AuditInfo {
    AuditInfo {
        seq: entry.seq,
        at: entry.at.to_string(),
        actor: entry.actor.name,
        token_id: entry.actor.token_id,
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

pub(super) async fn list(
    State(server): State<Server>,
    who: Identity,
    Query(query): Query<ListQuery>,
) -> Answer {
    let page = query.page.read()?;
    let mut reading = server.store().read().await?;
    ok(&load_page(&mut reading, &who, query.target.as_deref(), &page).await?)
}

/// A page of entries, newest first; of one target, `kind/name`, if given.
pub(crate) async fn load_page(
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

/// Which chain is meant, and what it must hold.
#[derive(Default, Deserialize)]
pub(crate) struct VerifyQuery {
    expect: Option<String>,
    chain: Option<String>,
}

/// The chain that a query means: the account's, or the installation's for those who administer it.
pub(super) fn chain_of<'w>(who: &'w Identity, chain: Option<&str>) -> Result<&'w str, Refusal> {
    match chain {
        None => Ok(&who.account_id),
        Some("installation") if who.is_root => Ok(""),
        Some("installation") => Err(Refusal::forbidden(
            "only administrators of the installation see its own log",
            "leave `chain` away for the account's",
        )),
        Some(_) => Err(Refusal::bad_request("there is no such chain", "chain=installation, or none")),
    }
}

pub(super) async fn verify(
    State(server): State<Server>,
    who: Identity,
    Query(query): Query<VerifyQuery>,
) -> Answer {
    ok(&load_verdict(&server, &who, query).await?)
}

/// Checks every entry of a log, and the log against its checkpoints.
pub(crate) async fn load_verdict(
    server: &Control,
    who: &Identity,
    query: VerifyQuery,
) -> Result<AuditVerdict, Refusal> {
    let account_id = chain_of(who, query.chain.as_deref())?;
    let hash = query.expect.filter(|expect| !expect.is_empty());
    let expected = Expected { hash, seen: server.signed_heads().last(account_id) };
    let mut reading = server.store().read().await?;
    let broken = |seq: i64, reason: String| AuditVerdict {
        intact: false,
        entries: seq - 1,
        head: None,
        broken_at: Some(seq),
        reason: Some(reason),
        checkpoints: 0,
        signed_to: None,
    };
    let (entries, head) = match reading.audit_verify_expecting(account_id, &expected).await? {
        Verified::Intact { entries, head } => (entries, head),
        Verified::Broken { seq, reason } => return Ok(broken(seq, reason)),
    };
    let (checkpoints, signed_to, fault) = match server.keys().current().signer() {
        Some(signer) => find_fault(&mut reading, &signer, account_id).await?,
        None => (0, None, None),
    };
    if let Some(fault) = fault {
        return Ok(broken(fault.seq, fault.reason));
    }
    let head = Some(head);
    Ok(AuditVerdict { intact: true, entries, head, broken_at: None, reason: None, checkpoints, signed_to })
}

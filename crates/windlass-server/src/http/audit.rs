//! The audit log.

use axum::extract::State;
use serde::Deserialize;
use windlass_api::types::{AuditInfo, AuditList, AuditVerdict};
use windlass_store::{Audited, Reading, Verified};

use super::error::HttpError;
use super::page::{PageQuery, cut};
use super::request::{Answer, Query, ok};
use crate::auth::Identity;
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
    pub(super) fn read(self) -> Result<PageQuery, HttpError> {
        let wrong = |_| HttpError::bad_request("limit is a number", "for example limit=100");
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
) -> Result<AuditList, HttpError> {
    let limit = page.limit()?;
    let before = page.after_as(|text| text.parse().ok())?.unwrap_or(i64::MAX);
    let target = target.map(|target| target.split_once('/').unwrap_or((target, "")));
    let mut entries = reading.audit(&who.account_id, target, before, limit + 1).await?;
    let meta = cut(&mut entries, limit, |entry| entry.seq.to_string());
    Ok(AuditList { audit: entries.into_iter().map(info).collect(), meta })
}

pub(super) async fn verify(State(server): State<Server>, who: Identity) -> Answer {
    ok(&load_verdict(&server, &who).await?)
}

/// Checks every entry of the account's log.
pub(crate) async fn load_verdict(server: &Server, who: &Identity) -> Result<AuditVerdict, HttpError> {
    Ok(match server.store().read().await?.audit_verify(&who.account_id).await? {
        Verified::Intact { entries, head } => {
            AuditVerdict { intact: true, entries, head: Some(head), broken_at: None, reason: None }
        }
        Verified::Broken { seq, reason } => AuditVerdict {
            intact: false,
            entries: seq - 1,
            head: None,
            broken_at: Some(seq),
            reason: Some(reason),
        },
    })
}

//! The audit log.

use axum::extract::State;
use serde::Deserialize;
use windlass_api::types::AuditVerdict;
use windlass_control::ask::audit::{VerifyQuery, load_page, load_verdict};
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::audit::AuditPage;

use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::address::{address, word};
use crate::web::browser_request::BrowserRequest;
use crate::web::{frame, response};

#[derive(Deserialize)]
pub(super) struct AuditPageQuery {
    target: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<AuditPageQuery>,
) -> HandlerResult {
    let target = word(&query.target);
    let page = PageQuery { limit: None, cursor: query.cursor };
    let mut reading = server.store().read().await?;
    let wanted = (!target.is_empty()).then_some(target.as_str());
    let found = load_page(&mut reading, &who, wanted, &page).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Audit).await?;
    drop(reading);
    let next = found
        .meta
        .next_cursor
        .map(|cursor| address("/app/audit", &[("target", &target), ("cursor", &cursor)]));
    response::page(&visit, &AuditPage { frame, entries: found.audit, target, next })
}

pub(super) async fn verify(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    let verdict = load_verdict(&server, &who, VerifyQuery::default()).await?;
    response::redirect_with_notice(&server, &visit, "/app/audit", &notice_of(&verdict))
}

/// A notice with the result of the check, and what to do next.
fn notice_of(verdict: &AuditVerdict) -> Notice {
    match (verdict.broken_at, &verdict.reason) {
        (Some(seq), reason) => Notice {
            tone: Tone::Bad,
            message: format!("The audit log is invalid from entry {seq} on"),
            lines: vec![
                format!("Entry {seq}: {}", reason.as_deref().unwrap_or("invalid")),
                "Compare it with a backup. Anyone with write access to the database could have done this"
                    .to_owned(),
            ],
        },
        (None, _) => Notice {
            tone: Tone::Good,
            message: format!("The audit log is intact: {} entries verified", verdict.entries),
            lines: intact_lines(verdict),
        },
    }
}

/// How much of the log is signed and archived, and which hash to store elsewhere.
fn intact_lines(verdict: &AuditVerdict) -> Vec<String> {
    let signed = match verdict.signed_to {
        Some(seq) => format!("{} signed checkpoints match it, the last at entry {seq}", verdict.checkpoints),
        None => "It has no signed checkpoint yet".to_owned(),
    };
    let archived = verdict.archived_to.map(|seq| {
        format!("Entries up to {seq} are archived: verify the archives with windlass audit verify --archive")
    });
    let head = verdict.head.iter();
    let head = head.map(|head| format!("Latest hash: {head}. Store it elsewhere to detect truncation."));
    std::iter::once(signed).chain(archived).chain(head).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_about_a_broken_log_names_the_first_invalid_entry() {
        let broken = AuditVerdict {
            intact: false,
            entries: 6,
            head: None,
            broken_at: Some(7),
            reason: Some("entry 7 is missing".to_owned()),
            checkpoints: 0,
            signed_to: None,
            archived_to: None,
        };
        let notice = notice_of(&broken);
        assert_eq!(notice.tone, Tone::Bad);
        assert!(notice.message.contains("from entry 7 on") && notice.lines[0].contains("entry 7 is missing"));
    }
}

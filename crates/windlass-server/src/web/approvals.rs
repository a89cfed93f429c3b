//! The proposals that need approval, and decisions about several at once.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use serde::Deserialize;
use windlass_api::types::{BatchBody, BatchDecision, BatchResult, ProposalInfo};
use windlass_control::ask::proposal::batch::decide_all;
use windlass_control::ask::proposal::list::{ProposalQuery, describe, filter_of};
use windlass_control::ask::run::show;
use windlass_control::caller::Identity;
use windlass_control::page::{PageQuery, cut, read_id};
use windlass_control::refusal::Refusal;
use windlass_core::id::{ProposalId, RunId};
use windlass_core::proposal::Proposal;
use windlass_store::{PlanCursor, Reading};
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::approvals::{ApprovalsPage, FilterCounts, ProposalSearch, group};

use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::address::{address, word};
use crate::web::browser_request::{BrowserRequest, local_path};
use crate::web::form::FormFields;
use crate::web::{frame, response};

/// How many proposals a page shows by default: enough to review, few enough to load fast.
const PAGE_SIZE: usize = 100;

#[derive(Clone, Deserialize)]
pub(super) struct ApprovalsQuery {
    q: Option<String>,
    kind: Option<String>,
    change: Option<String>,
    repository: Option<String>,
    run: Option<String>,
    status: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

impl ApprovalsQuery {
    fn search(&self) -> ProposalSearch {
        ProposalSearch {
            q: word(&self.q),
            kind: word(&self.kind),
            change: word(&self.change),
            repository: word(&self.repository),
            run: word(&self.run),
            status: word(&self.status),
        }
    }

    /// The address of this list, starting at a cursor.
    fn address(&self, cursor: &str) -> String {
        let search = self.search();
        let limit = self.limit.map(|limit| limit.to_string()).unwrap_or_default();
        let words = [
            ("q", search.q.as_str()),
            ("kind", &search.kind),
            ("change", &search.change),
            ("repository", &search.repository),
            ("run", &search.run),
            ("status", &search.status),
            ("limit", &limit),
            ("cursor", cursor),
        ];
        address("/app/approvals", &words)
    }
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<ApprovalsQuery>,
) -> HandlerResult {
    let search = query.search();
    let page = PageQuery { limit: query.limit.or(Some(PAGE_SIZE)), cursor: query.cursor.clone() };
    let (limit, after) = (page.limit()?, page.after_as(decode_cursor)?);
    let mut reading = server.store().read().await?;
    let filter = filter_of(&mut reading, &who, &choice_of(&search)).await?;
    let matching = reading.proposals_matching(&who.account_id, &filter).await?;
    let mut found = reading.proposals_in_order(&who.account_id, &filter, after.as_ref(), limit + 1).await?;
    let meta = cut(&mut found, limit, encode_cursor);
    let proposals = describe(&mut reading, &who, &found).await?;
    let runs = runs_of(&mut reading, &who, &proposals).await?;
    let choices = choices(&mut reading, &who).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Approvals).await?;
    drop(reading);
    let page = ApprovalsPage {
        frame,
        search,
        choices,
        matching,
        next: meta.next_cursor.map(|cursor| query.address(&cursor)),
        here: visit.here.clone(),
        runs: group(proposals, &runs),
    };
    response::page(&visit, &page)
}

fn choice_of(search: &ProposalSearch) -> ProposalQuery {
    let filled = |text: &String| (!text.is_empty()).then(|| text.clone());
    ProposalQuery {
        status: filled(&search.status).or_else(|| Some("pending_approval".to_owned())),
        run: filled(&search.run),
        repository: filled(&search.repository),
        kind: filled(&search.kind),
        change: filled(&search.change),
        name: None,
        q: filled(&search.q),
    }
}

fn encode_cursor(proposal: &Proposal) -> String {
    let run = proposal.run_id.as_ref().map_or("", RunId::as_str);
    format!("{run} {} {}", proposal.position, proposal.id)
}

fn decode_cursor(text: &str) -> Option<PlanCursor> {
    let mut words = text.split(' ');
    // Direct changes have no run.
    let run = words.next()?;
    let cursor = PlanCursor {
        run_id: if run.is_empty() { None } else { Some(read_id(run)?) },
        position: words.next()?.parse().ok()?,
        id: read_id(words.next()?)?,
    };
    words.next().is_none().then_some(cursor)
}

async fn runs_of(
    reading: &mut Reading,
    who: &Identity,
    proposals: &[ProposalInfo],
) -> Result<Vec<windlass_api::types::RunInfo>, Refusal> {
    let ids: BTreeSet<RunId> = proposals.iter().map(|proposal| RunId::new(&proposal.run_id)).collect();
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.extend(show::load_head(reading, who, &id).await?);
    }
    Ok(found)
}

async fn choices(reading: &mut Reading, who: &Identity) -> Result<FilterCounts, Refusal> {
    let mut choices = FilterCounts::default();
    for tally in reading.proposals_tally(&who.account_id).await? {
        *choices.kinds.entry(tally.kind.slug().to_owned()).or_default() += tally.count;
        *choices.changes.entry(tally.change).or_default() += tally.count;
        if !tally.repository_name.is_empty() {
            *choices.repositories.entry(tally.repository_name).or_default() += tally.count;
        }
    }
    Ok(choices)
}

pub(super) async fn decide(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    form: FormFields,
) -> HandlerResult {
    let back = local_path(form.text("back")).unwrap_or("/app/approvals");
    let decision = match form.text("decision") {
        "approve" => BatchDecision::Approve,
        "reject" => BatchDecision::Reject,
        _ => {
            return Err(Refusal::bad_request("choose Approve or Reject", "use one of the buttons").into());
        }
    };
    // Each checkbox names its proposal and exactly the content that the person reviewed.
    let picked: BTreeMap<String, String> = form
        .texts("pick")
        .filter_map(|pick| pick.split_once(':'))
        .map(|(id, digest)| (id.to_owned(), digest.to_owned()))
        .collect();
    if picked.is_empty() {
        let notice = Notice::new(Tone::Warn, "Select at least one change");
        return response::redirect_with_notice(&server, &visit, back, &notice);
    }
    let body = BatchBody {
        decision,
        ids: picked.keys().cloned().collect(),
        approval_request_id: None,
        digests: picked,
        reason: form.non_empty_text("reason").map(str::to_owned),
        until_change: form.is_ticked("until_change"),
    };
    let result = decide_all(&server, &who, &body).await?;
    let notice = notice_of(&server, &who, decision, &result).await?;
    response::redirect_with_notice(&server, &visit, back, &notice)
}

async fn notice_of(
    server: &Server,
    who: &Identity,
    decision: BatchDecision,
    result: &BatchResult,
) -> Result<Notice, Refusal> {
    let word = if decision == BatchDecision::Approve { "approved" } else { "rejected" };
    let tone = match (result.done, result.refused) {
        (_, 0) => Tone::Good,
        (0, _) => Tone::Bad,
        _ => Tone::Warn,
    };
    let done = (result.done > 0 || result.refused == 0).then(|| format!("{} {word}", result.done));
    let refused = (result.refused > 0).then(|| format!("{} not {word}", result.refused));
    let message: Vec<String> = done.into_iter().chain(refused).collect();
    let mut notice = Notice::new(tone, message.join(", "));
    let mut reading = server.store().read().await?;
    for item in result.results.iter().filter(|item| item.error.is_some()).take(8) {
        let proposal = reading.proposal(&who.account_id, &ProposalId::new(&item.id)).await?;
        let name = proposal.map_or_else(|| item.id.clone(), |proposal| proposal.change.key.to_string());
        let why = item.error.as_ref().map(|error| error.message.as_str()).unwrap_or_default();
        notice.lines.push(format!("{name}: {why}"));
    }
    Ok(notice)
}

//! Synchronous API calls for tests.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use windlass_api::client::{ApiCall, Client, ClientError};
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;
use windlass_api::types::{
    ApprovedSet, AuditInfo, AuditList, BatchBody, BatchDecision, BatchResult, DriftReport, EventInfo,
    EventList, ProposalEnvelope, ProposalInfo, ProposalList, RepositoryBody, RepositoryEnvelope,
    RepositoryFields, RepositoryInfo, ResourceInfo, ResourceList, RunEnvelope, RunInfo, SyncBody,
};
use windlass_core::redacted::Redacted;

use crate::installation::TIMEOUT;

/// How often to poll for changes without an event.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The largest page.
const PAGE: &str = "500";

pub(crate) type Result<T> = std::result::Result<T, ClientError>;

/// An API client of one person.
pub(crate) struct Api {
    runtime: Runtime,
    client: Client,
}

impl Api {
    pub(crate) fn new(server: &str, token: Option<&str>) -> Api {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let token = token.map(|token| Redacted::new(token.to_owned()));
        Api { runtime, client: Client::new(server, token).unwrap() }
    }

    pub(crate) fn call(&self, operation: Operation, parts: &[&str]) -> ApiCall<'_> {
        self.client.call(operation, parts)
    }

    pub(crate) fn send<T: DeserializeOwned>(&self, call: ApiCall<'_>) -> Result<T> {
        self.runtime.block_on(call.send())
    }

    pub(crate) fn text(&self, call: ApiCall<'_>) -> Result<String> {
        self.runtime.block_on(call.send_text())
    }

    /// Polls until there is a result, after each event or polling interval.
    pub(crate) fn try_wait_for<T>(
        &self,
        what: &str,
        mut look: impl FnMut(&Api) -> Result<Option<T>>,
    ) -> Result<T> {
        let deadline = Instant::now() + TIMEOUT;
        let call = self.call(Operation::EventStream, &[]);
        let mut stream = self.runtime.block_on(call.send_response())?;
        loop {
            if let Some(found) = look(self)? {
                return Ok(found);
            }
            assert!(Instant::now() < deadline, "waited in vain for {what}");
            // An ended stream is not an error: the next poll shows the reason.
            let _ = self.runtime.block_on(async { tokio::time::timeout(LOOK_AGAIN, stream.chunk()).await });
        }
    }

    pub(crate) fn wait_for<T>(&self, what: &str, mut look: impl FnMut(&Api) -> Option<T>) -> T {
        self.try_wait_for(what, |api| Ok(look(api))).unwrap()
    }

    pub(crate) fn register(&self, fields: RepositoryFields) -> Result<RepositoryInfo> {
        let body = RepositoryBody { gitops_repository: fields };
        let added: RepositoryEnvelope = self.send(self.call(Operation::RepositoryCreate, &[]).body(&body))?;
        Ok(added.gitops_repository)
    }

    pub(crate) fn repository(&self, id: &str) -> Result<RepositoryInfo> {
        let found: RepositoryEnvelope = self.send(self.call(Operation::RepositoryShow, &[id]))?;
        Ok(found.gitops_repository)
    }

    pub(crate) fn configure(&self, id: &str, fields: RepositoryFields) -> Result<RepositoryInfo> {
        let body = RepositoryBody { gitops_repository: fields };
        let changed: RepositoryEnvelope =
            self.send(self.call(Operation::RepositoryPatch, &[id]).body(&body))?;
        Ok(changed.gitops_repository)
    }

    /// Syncs a repository, and waits for the comparison.
    pub(crate) fn sync(&self, repository: &str) -> Result<RunInfo> {
        self.sync_with(repository, &SyncBody::default())
    }

    pub(crate) fn sync_with(&self, repository: &str, body: &SyncBody) -> Result<RunInfo> {
        let call = self.call(Operation::RepositorySync, &[repository]).query("wait", "60").body(body);
        let run: RunEnvelope = self.send(call)?;
        Ok(run.sync_run)
    }

    pub(crate) fn run(&self, id: &str) -> Result<RunInfo> {
        let run: RunEnvelope = self.send(self.call(Operation::RunShow, &[id]).query("wait", "60"))?;
        Ok(run.sync_run)
    }

    /// Decides about all proposals of a run.
    pub(crate) fn decide(&self, run: &RunInfo, decision: BatchDecision) -> Result<BatchResult> {
        self.batch(&BatchBody {
            approval_request_id: Some(run.approval_request_id.clone()),
            ..batch(decision)
        })
    }

    pub(crate) fn batch(&self, body: &BatchBody) -> Result<BatchResult> {
        self.send(self.call(Operation::ProposalBatch, &[]).body(body))
    }

    /// Approves the current content of a proposal.
    pub(crate) fn approve(&self, id: &str) -> Result<ProposalInfo> {
        let body = json!({"digest": self.proposal(id)?.digest});
        let done: ProposalEnvelope = self.send(self.call(Operation::ProposalApprove, &[id]).body(&body))?;
        Ok(done.proposal)
    }

    pub(crate) fn reject(&self, id: &str, body: &Value) -> Result<ProposalInfo> {
        let done: ProposalEnvelope = self.send(self.call(Operation::ProposalReject, &[id]).body(body))?;
        Ok(done.proposal)
    }

    /// Waits until all approved changes of a run are applied. While changes are applied, the run may propose more.
    pub(crate) fn wait_until_applied(&self, run: &str) -> Result<RunInfo> {
        self.try_wait_for("the end of a run's proposals", |api| {
            let run = api.run(run)?;
            Ok((!run.proposals.iter().any(|proposal| proposal.status.slug() == "approved")).then_some(run))
        })
    }

    /// Approves a set of a run's plan by its digest.
    pub(crate) fn approve_set(&self, run: &str, body: &Value) -> Result<ApprovedSet> {
        self.send(self.call(Operation::RunApprove, &[run]).body(body))
    }

    /// Waits until a run has a status.
    pub(crate) fn wait_for_run(&self, id: &str, status: &str) -> RunInfo {
        self.wait_for(status, |api| api.run(id).ok().filter(|run| run.status.slug() == status))
    }

    /// Syncs, approves everything and waits until it is applied.
    pub(crate) fn apply_all(&self, repository: &str) -> Result<RunInfo> {
        let run = self.sync(repository)?;
        self.decide(&run, BatchDecision::Approve)?;
        self.wait_until_applied(&run.id)
    }

    pub(crate) fn proposal(&self, id: &str) -> Result<ProposalInfo> {
        let found: ProposalEnvelope = self.send(self.call(Operation::ProposalShow, &[id]))?;
        Ok(found.proposal)
    }

    /// Waits until a proposal has a status.
    pub(crate) fn wait_for_status(&self, id: &str, status: &str) -> ProposalInfo {
        self.wait_for(status, |api| api.proposal(id).ok().filter(|proposal| proposal.status.slug() == status))
    }

    /// Every proposal of the account, oldest first.
    pub(crate) fn proposals(&self) -> Result<Vec<ProposalInfo>> {
        let mut all = self.pages(Operation::ProposalList, &[], |list: ProposalList| {
            (list.proposals, list.meta.next_cursor)
        })?;
        all.reverse();
        Ok(all)
    }

    /// Every accepted resource, by kind and name.
    pub(crate) fn resources(&self) -> Result<Vec<ResourceInfo>> {
        self.pages(Operation::ResourceList, &[], |list: ResourceList| (list.resources, list.meta.next_cursor))
    }

    /// Every event after a number, oldest first.
    pub(crate) fn events(&self, after: i64) -> Result<Vec<EventInfo>> {
        let after = after.to_string();
        self.pages(Operation::EventList, &[("after", &after)], |list: EventList| {
            (list.fleet_events, list.meta.next_cursor)
        })
    }

    /// The number of the last event.
    pub(crate) fn last_event(&self) -> i64 {
        let newest: EventList = self.send(self.call(Operation::EventList, &[]).query("limit", "1")).unwrap();
        newest.fleet_events.first().map_or(0, |event| event.seq)
    }

    /// Every audit entry, newest first.
    pub(crate) fn audit(&self) -> Result<Vec<AuditInfo>> {
        self.pages(Operation::AuditList, &[], |list: AuditList| (list.audit, list.meta.next_cursor))
    }

    fn pages<L: DeserializeOwned, T>(
        &self,
        operation: Operation,
        query: &[(&str, &str)],
        open: impl Fn(L) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>> {
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut call = self.call(operation, &[]).query("limit", PAGE).query_if("cursor", cursor);
            for (name, value) in query {
                call = call.query(name, value);
            }
            let (page, next) = open(self.send(call)?);
            all.extend(page);
            if next.is_none() {
                return Ok(all);
            }
            cursor = next;
        }
    }

    pub(crate) fn drift_report(&self, repository: &str) -> DriftReport {
        self.send(self.call(Operation::DriftReport, &[repository])).unwrap()
    }

    pub(crate) fn resource(&self, noun: Noun, name: &str) -> Result<ResourceInfo> {
        let call = self.call(Operation::Resource(noun, ResourceVerb::Show), &[name]);
        self.one(noun, call)
    }

    pub(crate) fn create(&self, noun: Noun, body: &Value) -> Result<ResourceInfo> {
        self.one(noun, self.call(Operation::Resource(noun, ResourceVerb::Create), &[]).body(body))
    }

    pub(crate) fn patch(&self, noun: Noun, name: &str, body: &Value) -> Result<ResourceInfo> {
        self.one(noun, self.call(Operation::Resource(noun, ResourceVerb::Patch), &[name]).body(body))
    }

    pub(crate) fn delete(&self, noun: Noun, name: &str) -> Result<String> {
        self.text(self.call(Operation::Resource(noun, ResourceVerb::Delete), &[name]))
    }

    fn one(&self, noun: Noun, call: ApiCall<'_>) -> Result<ResourceInfo> {
        let mut found: Value = self.send(call)?;
        Ok(serde_json::from_value(found[noun.singular()].take()).unwrap())
    }
}

/// An empty batch.
pub(crate) fn batch(decision: BatchDecision) -> BatchBody {
    BatchBody {
        decision,
        ids: Vec::new(),
        approval_request_id: None,
        digests: std::collections::BTreeMap::new(),
        reason: None,
        until_change: false,
    }
}

/// The HTTP status and the message of an error.
#[track_caller]
pub(crate) fn refused<T>(answer: Result<T>) -> (u16, String) {
    match answer {
        Err(ClientError::Refused { status, body }) => (status, body.message),
        Err(other) => panic!("not refused but {other:?}"),
        Ok(_) => panic!("not refused"),
    }
}

//! One sequence: its account, its fake remotes, and its steps.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_control::flow::apply::apply_account;
use windlass_control::flow::sync::pretend::{FakeCommit, pretend_run};
use windlass_core::diff::Action;
use windlass_core::digest::Digest;
use windlass_core::gate::{Contributor, ContributorRole};
use windlass_core::id::{AccountId, ProposalId, RepositoryId};
use windlass_core::proposal::{Proposal, Status};
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_store::ProposalFilter;

use crate::gate_machine::chance::Chance;
use crate::gate_machine::installation::{Installation, TestCaller, source_of};
use crate::gate_machine::oracle::{
    AcceptedChange, ApproverChange, Oracle, OracleRule, OracleSettings, Push, RuleAction, RuleMatch,
};
use crate::gate_machine::requests::{self, KnownIds, NOTES, RandomRequest, TIERS, URLS};

/// The number of steps of one sequence. The known vulnerabilities took two to four steps, so each fits several times.
const STEPS: usize = 14;

/// The authors of commits: two approvers, and someone who is not a person of the account.
const AUTHORS: [&str; 3] = ["ann@example.com", "ben@example.com", "zoe@example.com"];

/// Only after this may a repository that owned a resource be gone.
const APPROVERS_REQUEST: &str = "an approver's request";

type AcceptedSpecs = BTreeMap<ResourceKey, (Digest, Option<RepositoryId>)>;

/// How often each thing happened, over all sequences.
#[derive(Clone, Debug, Default)]
pub(super) struct SequenceTally {
    pub(super) steps: u64,
    pub(super) refused: u64,
    pub(super) by_rule: u64,
    pub(super) by_people: u64,
    /// Approved plan sets.
    pub(super) sets: u64,
    pub(super) direct: u64,
}

impl SequenceTally {
    pub(super) fn add(&mut self, other: &SequenceTally) {
        self.steps += other.steps;
        self.refused += other.refused;
        self.by_rule += other.by_rule;
        self.by_people += other.by_people;
        self.sets += other.sets;
        self.direct += other.direct;
    }
}

pub(super) struct Sequence<'i> {
    pub(super) installation: &'i Installation,
    seed: u64,
    pub(super) chance: Chance,
    name: String,
    pub(super) account: AccountId,
    pub(super) callers: Vec<TestCaller>,
    pub(super) oracle: Oracle,
    remotes: BTreeMap<String, FakeCommit>,
    /// The author of each commit.
    pub(super) authors: BTreeMap<String, &'static str>,
    pub(super) editors: BTreeMap<ProposalId, BTreeSet<String>>,
    accepted: AcceptedSpecs,
    log: Vec<String>,
    pub(super) tally: SequenceTally,
}

impl<'i> Sequence<'i> {
    pub(super) async fn begin(installation: &'i Installation, seed: u64) -> Sequence<'i> {
        let name = format!("account-{seed}");
        let (account, callers) = installation.account(&name).await;
        let mut oracle = Oracle::default();
        for tier in TIERS {
            for note in NOTES {
                oracle.tiers.insert(digest_of(tier, note), tier);
            }
        }
        Sequence {
            installation,
            seed,
            chance: Chance::new(seed),
            name,
            account,
            callers,
            oracle,
            remotes: BTreeMap::new(),
            authors: BTreeMap::new(),
            editors: BTreeMap::new(),
            accepted: AcceptedSpecs::new(),
            log: Vec::new(),
            tally: SequenceTally::default(),
        }
    }

    pub(super) async fn run(mut self) -> SequenceTally {
        for _ in 0..2 {
            self.push();
            let body = json!({"gitops_repository": requests::new_repository(&mut self.chance)});
            self.ask_as_approver(("POST", Operation::RepositoryCreate.endpoint().path, body)).await;
        }
        self.replace_policy().await;
        for _ in 0..STEPS {
            match self.chance.below(10) {
                0 | 1 => self.push(),
                2..=4 => self.approver_acts().await,
                _ => self.someone_tries().await,
            }
            if self.chance.percent(70) {
                self.sync_all().await;
            }
            if self.chance.percent(80) {
                self.apply().await;
            }
            self.tally.steps += 1;
        }
        self.sync_all().await;
        self.apply().await;
        self.tally
    }

    /// Someone pushes a fleet to a random source.
    fn push(&mut self) {
        let chance = &mut self.chance;
        let source = source_of(chance.pick_one(&URLS), chance.pick_one(&requests::BRANCHES), "");
        let is_signed = chance.percent(50);
        let (mut clusters, mut lines) = (BTreeMap::new(), String::new());
        for name in requests::CLUSTERS {
            if chance.percent(60) {
                let (tier, note) = (chance.pick_one(&TIERS), chance.pick_one(&NOTES));
                clusters.insert(name.to_owned(), digest_of(tier, note));
                lines.push_str(&format!("  {name}: {}\n", requests::spec_of(tier, note)));
            }
        }
        let section = if lines.is_empty() { String::new() } else { format!("clusters:\n{lines}") };
        let fleet = format!("version: 1\naccount: {}\n{section}", self.name);
        let author = chance.pick_one(&AUTHORS);
        let id =
            Digest::of(format!("{} {source} {is_signed} {fleet}", self.log.len()).as_bytes()).to_string();
        self.log.push(format!("{author} pushes to {source} (signed: {is_signed}): {section:?}"));
        self.authors.insert(id.clone(), author);
        self.oracle.pushes.push(Push { source: source.clone(), is_signed, clusters });
        let contributors = Contributor::new(ContributorRole::Author, author).into_iter().collect();
        self.remotes.insert(source, FakeCommit { id, fleet, is_signed, contributors });
    }

    pub(super) async fn known_ids(&self) -> KnownIds {
        let mut reading = self.installation.server.store().read().await.expect("a database");
        let repositories = reading.repositories(&self.account).await.expect("repositories");
        let runs = reading.runs(&self.account, None, None, 5).await.expect("runs");
        let sets = self.sets(&mut reading, &runs).await;
        drop(reading);
        KnownIds {
            repositories: repositories.into_iter().map(|it| it.id.to_string()).collect(),
            sets: sets
                .into_iter()
                .map(|(run, _, set)| (run.id.to_string(), set.digest.to_string()))
                .collect(),
            proposals: self.pending_proposals().await.into_iter().map(|it| it.id.to_string()).collect(),
            runs: runs.into_iter().map(|it| it.id.to_string()).collect(),
        }
    }

    pub(super) async fn pending_proposals(&self) -> Vec<Proposal> {
        let filter = ProposalFilter { statuses: vec![Status::PendingApproval], ..ProposalFilter::default() };
        let mut reading = self.installation.server.store().read().await.expect("a database");
        reading.proposals(&self.account, &filter, None, 50).await.expect("proposals")
    }

    /// A caller without the permission to approve tries something.
    async fn someone_tries(&mut self) {
        let known = self.known_ids().await;
        let Some(asked) = requests::random_request(&mut self.chance, &known) else { return };
        let without: Vec<TestCaller> =
            self.callers.iter().filter(|caller| !caller.may_approve).cloned().collect();
        let Some(caller) = self.chance.pick(&without).cloned() else { return };
        let status = self.send_request(&caller, &asked).await.0;
        self.tally.refused += u64::from(status == 403);
        self.check("a request", None).await;
    }

    pub(super) async fn send_request(
        &mut self,
        caller: &TestCaller,
        (method, path, body): &RandomRequest,
    ) -> (u16, Value) {
        let answer = self.installation.send(caller, (method, path, body)).await;
        self.log.push(format!("{}: {method} {path} {body} -> {}", caller.what, answer.0));
        let edited = path.strip_suffix("/edit").and_then(|path| path.rsplit('/').next());
        if let (Some(id), 200) = (edited, answer.0) {
            self.editors.entry(ProposalId::new(id)).or_default().insert(caller.email.clone());
        }
        answer
    }

    /// An approver does something; its effects are allowed.
    async fn approver_acts(&mut self) {
        match self.chance.below(14) {
            0..=2 => self.approve().await,
            3 => self.approve_set().await,
            4 => self.replace_policy().await,
            5 => {
                let known = self.known_ids().await;
                let Some(id) = self.chance.pick(&known.repositories).cloned() else { return };
                let path = format!("/api/v1/system/gitops_repositories/{id}");
                let body = json!({"gitops_repository": requests::repository_change(&mut self.chance)});
                self.ask_as_approver(("PATCH", path, body)).await;
            }
            6 => {
                let body = json!({"gitops_repository": requests::new_repository(&mut self.chance)});
                self.ask_as_approver(("POST", Operation::RepositoryCreate.endpoint().path, body)).await;
            }
            7 => {
                let halt = !self.oracle.is_halted && self.chance.percent(40);
                let path = format!("/api/v1/system/{}", if halt { "halt" } else { "resume" });
                if self.ask_as_approver(("POST", path, json!({"reason": "test"}))).await.0 == 200 {
                    self.oracle.is_halted = halt;
                }
            }
            8 | 9 => self.change_directly().await,
            13 => self.replace_approver().await,
            other => {
                let operation = match other {
                    10 => Operation::ProposalEdit,
                    11 => Operation::ProposalReject,
                    _ => Operation::RepositoryRemove,
                };
                let known = self.known_ids().await;
                let asked = requests::request(operation.endpoint(), &mut self.chance, &known);
                let Some(asked) = asked else { return };
                self.ask_as_approver(asked).await;
            }
        }
        self.check(APPROVERS_REQUEST, None).await;
    }

    /// The admin removes the second approver's role and restores it: their earlier approvals do not count again.
    async fn replace_approver(&mut self) {
        let email = self.callers[1].email.clone();
        let path = format!("/api/v1/auth/users/{}", self.installation.users[email.as_str()]);
        for role in ["viewer", "approver"] {
            let (status, answer) =
                self.ask_as_approver(("PATCH", path.clone(), json!({ "role": role }))).await;
            assert_eq!(status, 200, "{answer}");
        }
        self.oracle.approvals.retain(|approval| approval.approver != email);
    }

    /// Sends a request as the admin. The oracle then trusts the repository that it created or changed.
    async fn ask_as_approver(&mut self, asked: RandomRequest) -> (u16, Value) {
        let admin = self.callers[0].clone();
        let answer = self.send_request(&admin, &asked).await;
        let is_done = (200..300).contains(&answer.0);
        if is_done && let Some(id) = answer.1["gitops_repository"]["id"].as_str() {
            let id = RepositoryId::new(id);
            let now = self.settings().await;
            if let Some(settings) = now.get(&id) {
                self.oracle.trusted.insert(id, settings.clone());
            }
        }
        answer
    }

    async fn settings(&self) -> BTreeMap<RepositoryId, OracleSettings> {
        self.installation.settings(&self.account).await
    }

    /// The admin replaces the policy, and by that trusts every repository with its current settings.
    async fn replace_policy(&mut self) {
        let now = self.settings().await;
        let (mut rules, mut document) = (Vec::new(), Vec::new());
        for number in 0..self.chance.below(4) {
            let (rule, text) = self.random_rule(number, &now);
            rules.push(rule);
            document.push(text);
        }
        let asked = ("PUT", Operation::PolicyReplace.endpoint().path, json!({"policy": {"rules": document}}));
        let (status, answer) = self.ask_as_approver(asked).await;
        // If another repository had the name before, the server rejects the policy, and the old one stays.
        if answer["error"]["code"] == "repository-name-reused" {
            return;
        }
        assert_eq!(status, 200, "{answer}");
        self.oracle.rules = rules;
        self.oracle.trusted = now;
    }

    fn random_rule(
        &mut self,
        number: usize,
        now: &BTreeMap<RepositoryId, OracleSettings>,
    ) -> (OracleRule, Value) {
        let chance = &mut self.chance;
        let (action, mut text) = match chance.below(5) {
            0 | 1 => (RuleAction::Approve, json!({"action": "auto_approve"})),
            2 => (RuleAction::Approve, json!({"action": "notify_and_proceed"})),
            3 => (RuleAction::Block, json!({"action": "block"})),
            _ => {
                let (need, not_author) = (1 + chance.below(2), chance.percent(50));
                let text = json!({"action": "require_approval", "approvals": need, "not_author": not_author});
                (RuleAction::Ask { need, not_author }, text)
            }
        };
        text["name"] = json!(format!("rule-{number}"));
        let repositories: Vec<&RepositoryId> = now.keys().collect();
        let which = match (chance.below(3), chance.pick(&repositories)) {
            (0, Some(id)) => {
                text["match"]["repositories"] = json!([now[*id].name]);
                RuleMatch::One((*id).clone())
            }
            (1, _) => {
                let begin = chance.pick_one(&["prod-", "lab-", "fl"]);
                text["match"]["repositories"] = json!([format!("{begin}*")]);
                RuleMatch::Begin(begin)
            }
            _ => RuleMatch::All,
        };
        let change =
            chance.percent(40).then(|| chance.pick_one(&[Action::Create, Action::Update, Action::Destroy]));
        if let Some(change) = change {
            text["match"]["changes"] = json!([change.to_string()]);
        }
        let tier = chance.percent(50).then(|| chance.pick_one(&["lab", "prod"]));
        if let Some(tier) = tier {
            text["match"]["labels"] = json!({ "tier": tier });
        }
        (OracleRule { action, which, change, tier }, text)
    }

    /// The admin changes a resource directly. If the change becomes a proposal, it has their approval.
    async fn change_directly(&mut self) {
        use windlass_api::endpoint::ResourceVerb::Create;
        use windlass_api::endpoint::ResourceVerb::Delete;
        use windlass_api::endpoint::ResourceVerb::Patch;
        let verb = self.chance.pick_one(&[Create, Patch, Delete]);
        let endpoint = Operation::Resource(windlass_api::noun::Noun::Cluster, verb).endpoint();
        let known = KnownIds::default();
        let Some(asked) = requests::request(endpoint, &mut self.chance, &known) else { return };
        let named = asked.2["cluster"]["name"].as_str().map(str::to_owned);
        let name = named.or_else(|| asked.1.rsplit('/').next().map(str::to_owned)).unwrap_or_default();
        let key = ResourceKey::new(Kind::Cluster, name);
        let owner = self.accepted.get(&key).and_then(|(_, owner)| owner.clone());
        let (status, answer) = self.ask_as_approver(asked).await;
        if status == 202 {
            let id = ProposalId::new(answer["proposal"]["id"].as_str().unwrap_or_default());
            let mut reading = self.installation.server.store().read().await.expect("a database");
            let found = reading.proposal(&self.account, &id).await.expect("a proposal");
            drop(reading);
            if let Some(proposal) = found {
                let is_theirs = proposal.author.as_deref() == Some(&self.callers[0].email);
                let approval = self.approval_of(&self.callers[0].email.clone(), &proposal);
                self.oracle.approvals.extend(is_theirs.then_some(approval));
            }
        }
        self.check("an approver's direct change", Some(&ApproverChange { key, owner })).await;
    }

    async fn sync_all(&mut self) {
        let server = &self.installation.server;
        let mut reading = server.store().read().await.expect("a database");
        let runs = reading.runs_unfinished().await.expect("runs");
        drop(reading);
        for run in runs.into_iter().filter(|run| run.account_id == self.account) {
            let remotes = &self.remotes;
            let remote = |repository: &windlass_core::repository::Repository| {
                let source = source_of(&repository.repo_url, &repository.branch, &repository.path_prefix);
                remotes.get(&source).cloned()
            };
            pretend_run(server, run, remote).await.expect("a run");
        }
        self.log.push("sync".to_owned());
        self.check("a sync", None).await;
    }

    async fn apply(&mut self) {
        apply_account(&self.installation.server, &self.account).await.expect("applying");
        self.log.push("apply".to_owned());
        self.check("applying", None).await;
    }

    /// Checks that every change was allowed.
    async fn check(&mut self, after: &str, direct: Option<&ApproverChange>) {
        let accepted = self.installation.accepted(&self.account).await;
        let now = self.settings().await;
        let keys: BTreeSet<&ResourceKey> = self.accepted.keys().chain(accepted.keys()).collect();
        for key in keys {
            let digest = |of: &AcceptedSpecs| of.get(key).map(|(digest, _)| *digest);
            let change =
                AcceptedChange { key: key.clone(), before: digest(&self.accepted), after: digest(&accepted) };
            let owner_in = |of: &AcceptedSpecs| of.get(key).and_then(|(_, owner)| owner.clone());
            let owner = owner_in(&self.accepted);
            if change.before == change.after {
                let is_lost = owner.is_some() && owner != owner_in(&accepted);
                assert!(
                    !is_lost || after == APPROVERS_REQUEST,
                    "seed {}: {key} lost its repository, and the rules about that, after {after}\n{}",
                    self.seed,
                    self.log.join("\n")
                );
                continue;
            }
            match self.oracle.why_allowed(&change, owner.as_ref(), &now, direct) {
                Some("a rule or auto_apply approved what a trusted repository declares") => {
                    self.tally.by_rule += 1;
                }
                Some("an approver made it directly") => self.tally.direct += 1,
                Some(_) => self.tally.by_people += 1,
                None => panic!(
                    "seed {}: nobody allowed {change:?} after {after}\npolicy: {:#?}\ntrusted: {:#?}\nnow: {now:#?}\n{}",
                    self.seed,
                    self.oracle.rules,
                    self.oracle.trusted,
                    self.log.join("\n")
                ),
            }
        }
        self.accepted = accepted;
    }
}

/// The digest of a cluster with this content.
fn digest_of(tier: &str, note: &str) -> Digest {
    let read = Spec::read(Kind::Cluster, &requests::spec_of(tier, note).to_string());
    read.spec.expect("a sound spec").digest()
}

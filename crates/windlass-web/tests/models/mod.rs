//! Models of every page in which all texts are the same.

mod enrolment;
mod fleet;
mod nodes;
mod rollouts;
mod settings;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_api::permission::{Permission, Role};
use windlass_api::types as api;
use windlass_api::types::{
    AccountInfo, ActionInfo, ApprovalInfo, AuditInfo, ChangeSetInfo, ContentDifference, ContributorInfo,
    ErrorBody, ErrorDetail, EventInfo, FieldChange, FileDifference, ForgeInfo, GateInfo, HaltInfo,
    ItemEffect, Me, NodeGroup, PreviewInfo, Problem, ProposalEffects, ProposalInfo, QuarantineInfo,
    QuarantinedWork, RepositoryInfo, RunErrorInfo, RunInfo, RunProposal,
};
use windlass_core::content::FileChange;
use windlass_core::diff::{Action, Cause};
use windlass_core::forge::ForgeKind;
use windlass_core::gate::{ConsentState, ContributorRole};
use windlass_core::plan::SetKind;
use windlass_core::preview::{PreviewOutcome, PreviewSource};
use windlass_core::proposal::{BlockedByKind, Status};
use windlass_core::report::TargetStatus;
use windlass_core::repository::{LastStatus, RepositoryStatus};
use windlass_core::run::{Movement, RunStatus, Stage, Trigger};
use windlass_core::time::Timestamp;
use windlass_core::{code, event};
use windlass_web::Html;
use windlass_web::frame::{Frame, NavEntry, Notice, Theme, Tone};
use windlass_web::pages::approvals::{ApprovalsPage, FilterCounts, ProposalSearch, group};
use windlass_web::pages::audit::AuditPage;
use windlass_web::pages::edit::EditPage;
use windlass_web::pages::events::{EventSearch, EventsPage, EventsPart, RepositoryChoice};
use windlass_web::pages::overview::{KindHealth, OverviewPage};
use windlass_web::pages::preview::PreviewPage;
use windlass_web::pages::proposal::{BlastRadius, DiffLayout, Neighbour, NeighbourState, ProposalPage};
use windlass_web::pages::repositories::RepositoriesPage;
use windlass_web::pages::run::{ProposalTab, RunPage};
use windlass_web::pages::runs::RunsPage;
use windlass_web::pages::sign_in::{ErrorPage, PasswordForm, PasswordPage, RedirectPage, SignInPage, Sso};

/// Fragments of attacks.
pub(crate) const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "\" autofocus onfocus=\"alert(1)",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "<svg/onload=alert(1)>",
    "<!--<img src=x onerror=alert(1)>-->",
    "]]><b>x</b>",
    "{{ 7 * 7 }}{% for %}",
    "&lt;b&gt;&#60;b&#62;",
    "javascript:alert(1)\"><b>",
    "`onload=alert(1)`",
    "<b>\u{0}</b>",
    "a\u{2028}<b>b",
];

fn text(t: &str) -> String {
    t.to_owned()
}

fn some(t: &str) -> Option<String> {
    Some(t.to_owned())
}

fn value(t: &str) -> Value {
    json!({t: t, "list": [t, {t: [t]}], "text": format!("{t}\n{t}")})
}

fn error(t: &str) -> ErrorBody {
    let detail = ErrorDetail { code: text(t), path: text(t), message: text(t), help: text(t) };
    ErrorBody { code: text(t), message: text(t), help: text(t), details: vec![detail], request_id: text(t) }
}

pub(crate) fn frame(t: &str) -> Frame {
    Frame {
        me: Me {
            user_id: text(t),
            email: text(t),
            account_id: text(t),
            account_name: text(t),
            role: Role::Admin,
            permissions: Permission::ALL.to_vec(),
            token_name: some(t),
            is_root: true,
            must_change_password: false,
            accounts: vec![text(t)],
        },
        csrf: text(t),
        place: NavEntry::Overview,
        theme: Theme::System,
        pending: 2,
        halted: Some(HaltInfo { by: text(t), at: text(t), reason: text(t) }),
        notice: Some(Notice { tone: Tone::Warn, message: text(t), lines: vec![text(t)] }),
        seen: 1,
        now: Timestamp::from_millis(1_794_800_000_000),
    }
}

pub(crate) fn proposal(t: &str, change: Action, status: Status) -> ProposalInfo {
    ProposalInfo {
        id: text(t),
        repository_id: text(t),
        repository_name: text(t),
        run_id: text(t),
        action: text(t),
        kind: text(t),
        name: text(t),
        change,
        cause: Cause::Edited,
        explanation: text(t),
        payload: value(t),
        current: (change != Action::Create).then(|| value(t)),
        desired: (change != Action::Destroy).then(|| json!({"other": value(t)})),
        fields: vec![FieldChange { path: text(t), before: value(t), after: json!(t) }],
        content: vec![ContentDifference {
            path: text(t),
            before: None,
            after: format!("blob:{}", "ab".repeat(20)),
            files: vec![FileDifference {
                path: text(t),
                change: FileChange::Changed,
                before_bytes: Some(1),
                after_bytes: Some(2),
                lines: Some(format!("@@ {t}\n-{t}\n+{t}\n {t}\n")),
                not_shown: some(t),
            }],
            more_files: 3,
            note: some(t),
        }],
        edited_payload: Some(value(t)),
        edited_by: some(t),
        digest: text(t),
        base_digest: some(t),
        desired_digest: some(t),
        commit_sha: text(t),
        author: some(t),
        contributors: vec![ContributorInfo { role: ContributorRole::CoAuthor, person: text(t) }],
        contributors_gap: some(t),
        direct_reason: some(t),
        file: some(t),
        line: Some(3),
        status,
        blocked_by: vec![text(t)],
        blocked_by_kinds: vec![BlockedByKind::Text],
        waits_for: vec![format!("{t} {t}"), text("node other")],
        gate: Some(GateInfo {
            rule: some(t),
            consent: ConsentState::Needed,
            have: 1,
            need: 2,
            reasons: vec![text(t)],
            holds: vec![text(t)],
            why_not_you: some(t),
        }),
        approvals: vec![ApprovalInfo {
            approver: text(t),
            digest: text(t),
            counts: false,
            reason: some(t),
            at: text(t),
        }],
        reason: some(t),
        decided_by: some(t),
        effects: Some(ProposalEffects {
            nodes: 4,
            groups: vec![NodeGroup {
                count: 3,
                nodes: vec![text(t)],
                items: vec![ItemEffect {
                    kind: text(t),
                    name: text(t),
                    change: FileChange::Changed,
                    fields: vec![FieldChange { path: text(t), before: value(t), after: json!(t) }],
                    content: Some(FileDifference {
                        path: text(t),
                        change: FileChange::Changed,
                        before_bytes: Some(1),
                        after_bytes: Some(2),
                        lines: Some(format!("@@ {t}\n-{t}\n+{t}\n {t}\n")),
                        not_shown: some(t),
                    }),
                }],
                more_items: 1,
                problems: vec![text(t)],
            }],
            more_groups: 1,
            not_compared: 1,
            problem: some(t),
        }),
        position: 1,
        opened_at: text(t),
        expires_at: text(t),
        decided_at: some(t),
        closed_at: some(t),
        version: 1,
    }
}

fn change_set(t: &str, count: usize) -> ChangeSetInfo {
    ChangeSetInfo {
        digest: text(t),
        scope: SetKind::Group,
        kind: some(t),
        change: Some(Action::Update),
        count,
        destroys: 1,
        names: vec![text(t)],
        approved_by: vec![text(t)],
    }
}

fn run(t: &str) -> RunInfo {
    let action = || ActionInfo {
        proposal_id: some(t),
        action: text(t),
        kind: text(t),
        name: text(t),
        reason: some(t),
        at: some(t),
    };
    RunInfo {
        id: text(t),
        repository_id: text(t),
        repository_name: text(t),
        status: RunStatus::InProgress,
        stage: Stage::Queued,
        waiting_for: vec![text(t)],
        trigger: Trigger::Webhook,
        requested_by: some(t),
        commit_sha: some(t),
        commit_author: some(t),
        commit_subject: some(t),
        commit_message: Some(format!("{t}\n\n{t}")),
        movement: Some(Movement::Rewritten),
        diff: json!({t: {"add": [t], "update": [t, {t: t}], "delete": [t]}, "sdwan": {t: {"add": [t]}}}),
        diff_count: 3,
        remaining: 1,
        requires_approval: true,
        approval_request_id: text(t),
        plan_digest: some(t),
        sets: vec![change_set(t, 4), change_set(t, 2)],
        holds_proposals: true,
        proposals: vec![RunProposal {
            id: text(t),
            action: text(t),
            kind: text(t),
            name: text(t),
            change: Action::Create,
            payload: value(t),
            status: Status::Failed,
            blocked_by: vec![text(t)],
            blocked_by_kinds: vec![BlockedByKind::Text],
        }],
        applied_actions: vec![action()],
        failed_actions: vec![action()],
        skipped_actions: vec![action()],
        drift_after_apply: Some(value(t)),
        problems: vec![problem(t, 1)],
        error: Some(RunErrorInfo { code: text(t), message: text(t), help: text(t) }),
        created_at: text(t),
        started_at: some(t),
        completed_at: some(t),
        applied_at: some(t),
    }
}

fn problem(t: &str, line: usize) -> Problem {
    Problem {
        severity: code::ProblemSeverity::Error,
        code: text(t),
        path: text(t),
        file: text(t),
        line,
        column: 1,
        message: text(t),
        help: some(t),
    }
}

fn repository(t: &str) -> RepositoryInfo {
    RepositoryInfo {
        id: text(t),
        account_id: text(t),
        name: text(t),
        repo_url: text(t),
        branch: text(t),
        path_prefix: text(t),
        vault_credential_path: some(t),
        required_credential_keys: vec![text(t)],
        has_ca: true,
        requires_signature: true,
        host_key_fingerprints: vec![text(t)],
        enabled: true,
        auto_apply: true,
        reconcile_interval_seconds: 30,
        status: RepositoryStatus::Disabled,
        last_status: LastStatus::Pending,
        last_error: some(t),
        last_run_id: some(t),
        last_synced_at: some(t),
        last_synced_revision: some(t),
        forge: Some(ForgeInfo {
            kind: ForgeKind::Gitea,
            api_url: some(t),
            project: some(t),
            credential_path: some(t),
            commit_status: true,
            comment: true,
            previews_of_forks: true,
            last_error: some(t),
        }),
        next_sync_at: some(t),
        quarantines: vec![QuarantineInfo { of: QuarantinedWork::Sync, reason: text(t), since: text(t) }],
        version: 1,
        created_at: text(t),
        updated_at: text(t),
    }
}

fn overview(t: &str) -> OverviewPage {
    let account = AccountInfo { id: text(t), name: text(t), halted: None, created_at: text(t) };
    OverviewPage {
        frame: frame(t),
        status: api::Status {
            account,
            version: text(t),
            resources: BTreeMap::from([(text(t), 1)]),
            proposals: BTreeMap::from([(text(t), 1)]),
            repositories: 1,
            repositories_failed: vec![text(t)],
            drifted: 1,
            waiting_for: vec![text(t)],
        },
        kinds: vec![KindHealth { kind: text(t), accepted: 3, drifted: 1, open: 2 }],
        repositories: vec![repository(t)],
        runs: vec![run(t)],
        waiting: vec![proposal(t, Action::Create, Status::PendingApproval)],
        nodes: [TargetStatus::InSync, TargetStatus::Failed].into_iter().collect(),
    }
}

fn approvals(t: &str) -> ApprovalsPage {
    let counts = || BTreeMap::from([(text(t), 1)]);
    // Two identical proposals, and one of each other change.
    let proposals = [Action::Create, Action::Create, Action::Update, Action::Destroy]
        .map(|change| proposal(t, change, Status::PendingApproval));
    ApprovalsPage {
        frame: frame(t),
        search: ProposalSearch {
            q: text(t),
            kind: text(t),
            change: text(t),
            repository: text(t),
            run: text(t),
            status: text(t),
        },
        choices: FilterCounts { kinds: counts(), changes: counts(), repositories: counts() },
        matching: 5,
        next: some(t),
        here: text(t),
        runs: group(proposals.to_vec(), &[run(t)]),
    }
}

fn reach(t: &str) -> BlastRadius {
    let neighbour = |status| Neighbour { kind: text(t), name: text(t), status };
    let standings = [
        NeighbourState::Accepted,
        NeighbourState::BuiltIn,
        NeighbourState::Missing,
        NeighbourState::Proposed(text(t)),
    ];
    BlastRadius {
        refers_to: standings.map(neighbour).to_vec(),
        referred_by: vec![Neighbour { kind: text(t), name: text(t), status: NeighbourState::Accepted }],
        is_cut: true,
    }
}

fn proposal_page(t: &str, change: Action, status: Status, view: DiffLayout) -> String {
    let mut shown = proposal(t, change, status);
    if status != Status::PendingApproval {
        shown.gate = None;
    }
    ProposalPage::new(frame(t), shown, Some(run(t)), reach(t), view).html()
}

fn events(t: &str, part: EventsPart) -> String {
    let event = |repository_id, resource_name| EventInfo {
        seq: 7,
        kind: text(t),
        severity: event::Severity::High,
        resource_kind: some(t),
        resource_name,
        repository_id,
        correlation_id: some(t),
        source: text(t),
        message: text(t),
        payload: value(t),
        at: text(t),
    };
    let search = EventSearch {
        q: text(t),
        kind: text(t),
        severity: text(t),
        repository: text(t),
        resource: text(t),
        run: text(t),
    };
    let page = EventsPage {
        frame: frame(t),
        search,
        repositories: vec![RepositoryChoice { id: text(t), name: text(t) }],
        events: vec![event(some(t), some(t)), event(some("gone"), None), event(None, None)],
        part,
        newest: text(t),
        next: some(t),
    };
    page.html()
}

fn audit(t: &str) -> String {
    let entry = AuditInfo {
        seq: 7,
        at: text(t),
        actor: text(t),
        token_id: some(t),
        address: some(t),
        request_id: some(t),
        action: text(t),
        target_kind: text(t),
        target: text(t),
        outcome: text(t),
        before_digest: some(t),
        after_digest: some(t),
        detail: value(t),
        hash: text(t),
    };
    let of_a_proposal = AuditInfo { actor: format!("{t} (proposal {t})"), ..entry.clone() };
    AuditPage { frame: frame(t), entries: vec![entry, of_a_proposal], target: text(t), next: some(t) }.html()
}

/// Every page with this text in every place.
pub(crate) fn every_page(t: &str) -> Vec<(&'static str, String)> {
    let problem_of = |line| problem(t, line);
    let edit = EditPage {
        frame: frame(t),
        proposal: proposal(t, Action::Update, Status::PendingApproval),
        text: format!("{t}\n{t}"),
        problems: vec![problem_of(0), problem_of(1), problem_of(9)],
        error: Some(error(t)),
    };
    let sign_in = SignInPage {
        theme: Theme::Dark,
        csrf: text(t),
        next: text(t),
        email: text(t),
        account: text(t),
        problem: Some(error(t)),
        sso: Some(Sso { name: text(t), href: text(t) }),
        form: PasswordForm::Shown,
    };
    let behind = SignInPage { form: PasswordForm::AtUrl(text(t)), ..sign_in.clone() };
    let mut forced = frame(t);
    forced.me.must_change_password = true;
    vec![
        ("sign in", sign_in.html()),
        ("sign in without passwords", behind.html()),
        ("password", PasswordPage { frame: frame(t), problem: Some(error(t)) }.html()),
        ("forced password", PasswordPage { frame: forced, problem: Some(error(t)) }.html()),
        ("trouble", ErrorPage { theme: Theme::Light, status: 403, error: error(t) }.html()),
        ("bounce", RedirectPage { to: text(t) }.html()),
        ("overview", overview(t).html()),
        ("approvals", approvals(t).html()),
        ("a create", proposal_page(t, Action::Create, Status::PendingApproval, DiffLayout::Unified)),
        ("an update", proposal_page(t, Action::Update, Status::PendingApproval, DiffLayout::Split)),
        ("a destroy", proposal_page(t, Action::Destroy, Status::PendingApproval, DiffLayout::Unified)),
        ("a closed one", proposal_page(t, Action::Update, Status::Withdrawn, DiffLayout::Split)),
        ("edit", edit.html()),
        ("repositories", RepositoriesPage { frame: frame(t), repositories: vec![repository(t)] }.html()),
        ("runs", RunsPage { frame: frame(t), runs: vec![run(t)], repository: some(t), next: some(t) }.html()),
        ("events", events(t, EventsPart::Newest)),
        ("older events", events(t, EventsPart::Older)),
        ("audit", audit(t)),
        (
            "audit of nothing",
            AuditPage { frame: frame(t), entries: vec![], target: text(t), next: None }.html(),
        ),
        ("run", run_page(t).html()),
        ("preview", preview_page(t).html()),
    ]
    .into_iter()
    .chain(settings::every_page(t))
    .chain(fleet::every_page(t))
    .chain(nodes::every_page(t))
    .chain(enrolment::every_page(t))
    .chain(rollouts::every_page(t))
    .collect()
}

pub(crate) fn preview(t: &str) -> PreviewInfo {
    PreviewInfo {
        id: text(t),
        repository_id: text(t),
        repository_name: text(t),
        path_prefix: text(t),
        source: PreviewSource::Git,
        reference: text(t),
        commit_sha: some(t),
        base_commit: some(t),
        outcome: PreviewOutcome::Problems,
        changes: 3,
        requested_by: some(t),
        created_at: text(t),
        plan: json!(null),
    }
}

fn preview_page(t: &str) -> PreviewPage {
    let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let content = format!("tree:{}", "ab".repeat(20));
    let step = |cause: &str, position: usize| {
        json!({
            "position": position, "kind": "node", "name": t, "cause": cause, "base": null, "desired": null,
            "fields": [{"path": t, "before": value(t), "after": t}], "payload": value(t), "waits_for": [t],
            "foreseen": {"outlook": "approval", "reasons": [t], "blocked_by": [t], "rule": t},
            "content": [{"path": t, "before": null, "after": content}],
        })
    };
    let plan = json!({
        "account": t, "digest": digest, "stopped": null, "omitted": 2, "notes": [t], "from": t,
        "summary": {"create": 1, "update": 1, "destroy": 1, "refused": 1, "unchanged": 0},
        "refused": [{"resource": t, "reason": t}],
        "steps": [step("declared", 1), step("edited", 2), step("removed", 3)],
        "content": [{"path": t, "before": null, "after": content, "more_files": 1, "note": t, "files": [
            {"path": t, "change": "added", "lines": format!("@@ {t}\n+{t}\n-{t}\n {t}\n")},
            {"path": t, "change": "removed", "not_shown": t}]}],
        "problems": [{"severity": "error", "code": "unknown-key", "path": t, "file": t, "line": 3, "column": 2,
            "message": t, "help": t}],
    });
    PreviewPage { frame: frame(t), preview: preview(t), plan: Some(serde_json::from_value(plan).unwrap()) }
}

fn run_page(t: &str) -> RunPage {
    let mut shown = run(t);
    // A skipped action, and a run that the mass-destroy guard stopped.
    shown.skipped_actions.push(ActionInfo { proposal_id: None, ..shown.skipped_actions[0].clone() });
    shown.error = Some(RunErrorInfo { code: text("mass-destroy"), message: text(t), help: text(t) });
    RunPage {
        frame: frame(t),
        run: shown,
        tally: BTreeMap::from([(Status::PendingApproval, 1), (Status::Failed, 1)]),
        decided_at: some(t),
        show: ProposalTab::Failed,
        next: some(t),
    }
}

//! Models of the pages about single repositories and settings.

use windlass_api::permission::{Permission, Role};
use windlass_api::types::{
    AccountInfo, CheckInfo, CheckOutcome, DeliveryInfo, HaltInfo, InvitationInfo, ReceivedInvitation,
    RepositoryTest, SignsInWith, TokenInfo, UserInfo, WebhookInfo, WebhookReceived, WebhookRefused,
    WebhookSetup,
};
use windlass_core::delivery::DeliveryState;
use windlass_core::forge::WebhookSender;
use windlass_core::redacted::Redacted;
use windlass_web::Html;
use windlass_web::pages::notifications::{NotificationsPage, ProviderRow};
use windlass_web::pages::repository::{HookSecret, OneTimePanel, RepositoryPage};
use windlass_web::pages::repository_form::{ForgeFormFields, RepositoryForm, RepositoryFormFields};
use windlass_web::pages::settings::{
    InvitationsPage, OneTimeSecret, PeoplePage, PolicyPage, SettingsPage, TokensPage,
};

use super::{error, frame, preview, problem, repository, run, some, text};

fn test(t: &str) -> RepositoryTest {
    let outcomes = [CheckOutcome::Passed, CheckOutcome::Failed, CheckOutcome::NotReached];
    let check = |outcome| CheckInfo { step: text(t), outcome, message: text(t), help: text(t) };
    RepositoryTest { ok: false, checks: outcomes.map(check).to_vec() }
}

fn webhook(t: &str) -> WebhookInfo {
    let (at, event, outcome) = (text(t), text(t), text(t));
    WebhookInfo {
        url: text(t),
        generation: 1,
        last_delivery: Some(WebhookReceived { at, sender: WebhookSender::Generic, event, outcome }),
        last_refusal: Some(WebhookRefused { at: text(t), address: text(t), reason: text(t) }),
    }
}

fn hook_secret(t: &str) -> HookSecret {
    let setup = vec![WebhookSetup { forge: WebhookSender::Generic, how: text(t) }];
    HookSecret { secret: Redacted::new(text(t)), signing_token: Redacted::new(text(t)), setup }
}

fn filled(t: &str) -> RepositoryFormFields {
    RepositoryFormFields {
        name: text(t),
        repo_url: text(t),
        branch: text(t),
        path_prefix: text(t),
        credential_path: text(t),
        interval: text(t),
        enabled: true,
        auto_apply: true,
        ca_pem: text(t),
        allowed_signers: text(t),
        drops_ca: true,
        drops_signers: true,
        forge: ForgeFormFields {
            kind: text("gitea"),
            api_url: text(t),
            project: text(t),
            credential_path: text(t),
            commit_status: true,
            comment: true,
            previews_of_forks: true,
        },
    }
}

fn once(t: &str) -> Option<OneTimeSecret> {
    Some(OneTimeSecret { owner: text(t), secret: Redacted::new(text(t)) })
}

fn people(t: &str) -> PeoplePage {
    let person = UserInfo {
        id: text(t),
        email: text(t),
        name: text(t),
        role: Role::Admin,
        disabled: false,
        created_at: text(t),
        signs_in_with: SignsInWith::Sso,
    };
    PeoplePage {
        frame: frame(t),
        people: vec![
            person.clone(),
            UserInfo { disabled: true, signs_in_with: SignsInWith::Password, ..person },
        ],
        invitations: vec![InvitationInfo {
            id: text(t),
            email: text(t),
            role: Role::Viewer,
            invited_by: text(t),
            created_at: text(t),
            expires_at: text(t),
        }],
        email: text(t),
        name: text(t),
        error: Some(error(t)),
        one_time_secret: once(t),
    }
}

fn invitations(t: &str) -> InvitationsPage {
    let received = ReceivedInvitation {
        id: text(t),
        account: text(t),
        role: Role::Admin,
        invited_by: text(t),
        created_at: text(t),
        expires_at: text(t),
    };
    InvitationsPage { frame: frame(t), invitations: vec![received] }
}

fn tokens(t: &str) -> TokensPage {
    let token = TokenInfo {
        id: text(t),
        name: text(t),
        permissions: Permission::ALL.to_vec(),
        created_by: text(t),
        created_at: text(t),
        expires_at: some(t),
        last_used_at: some(t),
        revoked_at: None,
    };
    let mut frame = frame(t);
    frame.me.permissions = vec![Permission::GitopsRead];
    TokensPage {
        frame,
        tokens: vec![token.clone(), TokenInfo { revoked_at: some(t), ..token }],
        name: text(t),
        days: text(t),
        checked: vec![Permission::GitopsRead],
        error: Some(error(t)),
        one_time_secret: once(t),
    }
}

fn account(t: &str, halted: Option<HaltInfo>) -> SettingsPage {
    let account = AccountInfo { id: text(t), name: text(t), halted, created_at: text(t) };
    let mut frame = frame(t);
    frame.me.permissions = Vec::new();
    SettingsPage { frame, account, version: text(t) }
}

fn notifications(t: &str) -> NotificationsPage {
    let delivery = DeliveryInfo {
        id: text(t),
        alert: some(t),
        provider: text(t),
        event_seq: Some(1),
        event_kind: text(t),
        message: text(t),
        state: DeliveryState::Failed,
        attempts: 1,
        repeats: 2,
        next_at: some(t),
        last_error: some(t),
        created_at: text(t),
        finished_at: some(t),
    };
    let provider = |last| ProviderRow { name: text(t), provider_type: text(t), address: text(t), last };
    let mut frame = frame(t);
    frame.me.permissions = Vec::new();
    NotificationsPage {
        frame,
        providers: vec![provider(None), provider(Some(delivery.clone()))],
        alerts: 1,
        deliveries: vec![DeliveryInfo { state: DeliveryState::Sent, ..delivery.clone() }, delivery],
        provider: text(t),
        state: text(t),
        next: some(t),
    }
}

pub(super) fn every_page(t: &str) -> Vec<(&'static str, String)> {
    let mut stopped = run(t);
    stopped.error.as_mut().expect("it failed").code = text("mass-destroy");
    let one = |aside| RepositoryPage {
        frame: frame(t),
        repository: repository(t),
        runs: vec![stopped.clone(), run(t)],
        previews: vec![preview(t)],
        owned: 3,
        open: 2,
        pending: 1,
        webhook: webhook(t),
        panel: aside,
    };
    let form = |existing| RepositoryForm {
        frame: frame(t),
        existing,
        fields: filled(t),
        error: Some(error(t)),
        test: Some(test(t)),
    };
    // An error that names its field is shown at the field.
    let mut at_field = form(None);
    at_field.error.as_mut().expect("there is one").message = format!("repo_url: {t}");
    let halted = HaltInfo { by: text(t), at: text(t), reason: text(t) };
    let policy = PolicyPage {
        frame: frame(t),
        text: format!("{t}\n{t}"),
        version: 1,
        unknown: vec![text(t), text(t)],
        problems: vec![problem(t, 0), problem(t, 1), problem(t, 9)],
        error: Some(error(t)),
    };
    vec![
        ("a repository", one(OneTimePanel::Nothing).html()),
        ("a repository that was tested", one(OneTimePanel::Test(test(t))).html()),
        ("a repository with its secret", one(OneTimePanel::Secret(hook_secret(t))).html()),
        ("register", form(None).html()),
        ("register with a wrong address", at_field.html()),
        ("change a repository", form(Some(repository(t))).html()),
        ("settings", account(t, None).html()),
        ("settings while halted", account(t, Some(halted)).html()),
        ("people", people(t).html()),
        ("invitations", invitations(t).html()),
        ("tokens", tokens(t).html()),
        ("policy", policy.html()),
        ("notifications", notifications(t).html()),
    ]
}

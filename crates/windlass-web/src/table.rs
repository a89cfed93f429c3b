//! The table of pages: every address below `/app`, and which operation of the API decides who may use it.
//!
//! The server's router, its permission check and the authorization tests are made from this table, so that none of
//! them can forget a page, and a page can never be open to more people than the operation it stands for.

use windlass_api::endpoint::{Access, Method, Operation, endpoints};

/// One page, or one thing a form does.
#[derive(Clone, Debug)]
pub struct PageEntry {
    /// Which.
    pub page: Page,
    /// How it is asked for.
    pub method: Method,
    /// Where, with `{id}` for what varies.
    pub path: &'static str,
    /// Who may.
    pub access: Access,
}

/// Who may use a page.
enum PageAccess {
    /// Everyone.
    Public,
    /// Whoever may do this through the API.
    As(Operation),
}

impl PageAccess {
    fn access(&self) -> Access {
        match self {
            PageAccess::Public => Access::Public,
            PageAccess::As(operation) => {
                let found = endpoints().into_iter().find(|endpoint| endpoint.operation == *operation);
                found.expect("the endpoint table has every operation").access
            }
        }
    }
}

macro_rules! pages {
    ($($(#[doc = $doc:literal])* $page:ident $method:ident $path:literal $rule:expr;)*) => {
        /// Every page.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Page {
            $($(#[doc = $doc])* $page,)*
        }

        /// The table.
        pub fn pages() -> Vec<PageEntry> {
            vec![$(PageEntry {
                page: Page::$page,
                method: Method::$method,
                path: $path,
                access: PageAccess::access(&$rule),
            },)*]
        }
    };
}

use Operation as O;
use PageAccess::{As, Public};

pages! {
    /// The root leads to the app.
    Root Get "/" Public;
    /// The style sheet, the script, the icon.
    Asset Get "/app/assets/{name}" Public;
    /// The form to sign in.
    SignInForm Get "/app/sign-in" Public;
    /// Signs in.
    SignIn Post "/app/sign-in" Public;
    /// Begins to sign in through the provider.
    SsoBegin Get "/app/sign-in/oidc" Public;
    /// Comes back from the provider.
    SsoEnd Get "/app/sign-in/oidc/callback" Public;
    /// Signs out.
    SignOut Post "/app/sign-out" As(O::Logout);
    /// The form to choose a password.
    PasswordForm Get "/app/password" As(O::Me);
    /// Changes one's password.
    Password Post "/app/password" As(O::Password);
    /// Says that something happened, as it happens.
    Live Get "/app/live" As(O::EventStream);
    /// The account at a glance.
    Overview Get "/app" As(O::Status);
    /// What waits for a decision.
    Approvals Get "/app/approvals" As(O::ProposalList);
    /// Decides about several.
    Decide Post "/app/approvals" As(O::ProposalBatch);
    /// One proposal.
    Proposal Get "/app/proposals/{id}" As(O::ProposalShow);
    /// Approves it.
    Approve Post "/app/proposals/{id}/approve" As(O::ProposalApprove);
    /// Rejects it.
    Reject Post "/app/proposals/{id}/reject" As(O::ProposalReject);
    /// The form to edit it.
    EditForm Get "/app/proposals/{id}/edit" As(O::ProposalEdit);
    /// Edits it.
    Edit Post "/app/proposals/{id}/edit" As(O::ProposalEdit);
    /// The registered repositories.
    Repositories Get "/app/repositories" As(O::RepositoryList);
    /// Syncs one now.
    Sync Post "/app/repositories/{id}/sync" As(O::RepositorySync);
    /// Sync runs, newest first.
    Runs Get "/app/runs" As(O::RunList);
    /// One sync run.
    Run Get "/app/runs/{id}" As(O::RunShow);
    /// Approves a set of its plan.
    ApproveSet Post "/app/runs/{id}/approve" As(O::RunApprove);
    /// Lets proposals go on although it failed.
    ConfirmFailure Post "/app/runs/{id}/confirm-failure" As(O::RunConfirmFailure);
    /// The form to register a repository.
    RegisterForm Get "/app/repositories/new" As(O::RepositoryCreate);
    /// Registers it.
    Register Post "/app/repositories/new" As(O::RepositoryCreate);
    /// Tests the connection of what the form says.
    Probe Post "/app/repositories/new/test" As(O::RepositoryProbe);
    /// One repository.
    Repository Get "/app/repositories/{id}" As(O::RepositoryShow);
    /// The form to change it.
    ConfigureForm Get "/app/repositories/{id}/edit" As(O::RepositoryPatch);
    /// Changes it.
    Configure Post "/app/repositories/{id}/edit" As(O::RepositoryPatch);
    /// Syncs it on its own, or no longer.
    Schedule Post "/app/repositories/{id}/schedule" As(O::RepositoryPatch);
    /// The repository again, where a test was shown.
    Tested Get "/app/repositories/{id}/test" As(O::RepositoryShow);
    /// Tests its connection.
    Test Post "/app/repositories/{id}/test" As(O::RepositoryTest);
    /// Forgets its host keys.
    ForgetHostKeys Post "/app/repositories/{id}/forget-host-keys" As(O::RepositoryForgetHostKeys);
    /// Releases what is quarantined of it.
    Release Post "/app/repositories/{id}/release" As(O::RepositoryRelease);
    /// The repository again, where the secret of its webhook was shown.
    Webhook Get "/app/repositories/{id}/webhook" As(O::RepositoryShow);
    /// Shows the secret of its webhook.
    ShowWebhook Post "/app/repositories/{id}/webhook" As(O::RepositoryWebhook);
    /// Replaces the secret of its webhook.
    RotateWebhook Post "/app/repositories/{id}/webhook/rotate" As(O::RepositoryWebhookRotate);
    /// Removes it.
    Unregister Post "/app/repositories/{id}/remove" As(O::RepositoryRemove);
    /// What a commit or files would change.
    Preview Get "/app/previews/{id}" As(O::PreviewShow);
    /// The account, one's own and the kill switch.
    Settings Get "/app/settings" As(O::Status);
    /// Pulls the kill switch.
    Halt Post "/app/settings/halt" As(O::Halt);
    /// Lets applying go on.
    Resume Post "/app/settings/resume" As(O::Resume);
    /// The people of the account.
    People Get "/app/settings/people" As(O::UserList);
    /// Adds someone.
    AddPerson Post "/app/settings/people" As(O::UserCreate);
    /// Changes someone.
    ChangePerson Post "/app/settings/people/{id}" As(O::UserPatch);
    /// Takes someone out.
    RemovePerson Post "/app/settings/people/{id}/remove" As(O::UserRemove);
    /// Takes back an invitation to the account.
    RevokeInvitation Post "/app/settings/people/invitations/{id}/revoke" As(O::InvitationRevoke);
    /// Accounts that ask one to join.
    Invitations Get "/app/settings/invitations" As(O::ReceivedInvitationList);
    /// Joins one.
    AcceptInvitation Post "/app/settings/invitations/{id}/accept" As(O::InvitationAccept);
    /// Declines to.
    DeclineInvitation Post "/app/settings/invitations/{id}/decline" As(O::InvitationDecline);
    /// API tokens.
    Tokens Get "/app/settings/tokens" As(O::TokenList);
    /// Makes one.
    MakeToken Post "/app/settings/tokens" As(O::TokenCreate);
    /// Takes one back.
    RevokeToken Post "/app/settings/tokens/{id}/revoke" As(O::TokenRevoke);
    /// The approval policy.
    Policy Get "/app/settings/policy" As(O::PolicyShow);
    /// Replaces it.
    SavePolicy Post "/app/settings/policy" As(O::PolicyReplace);
    /// Where notifications go, and the log of them.
    Notifications Get "/app/settings/notifications" As(O::DeliveryList);
    /// Sends a test message.
    NotificationTest Post "/app/settings/notifications/{id}/test" As(O::ProviderTest);
    /// Sends one again that has not arrived.
    NotificationRetry Post "/app/settings/notifications/deliveries/{id}/retry" As(O::DeliveryRetry);
    /// The accepted state, of every kind.
    Resources Get "/app/resources" As(O::ResourceList);
    /// The accepted state, of one kind.
    ResourcesOfKind Get "/app/resources/{kind}" As(O::ResourceList);
    /// One accepted resource.
    Resource Get "/app/resources/{kind}/{name}" As(O::ResourceList);
    /// How the accepted state differs from git.
    Drift Get "/app/drift" As(O::DriftReport);
    /// Proposes to make a resource what git says.
    DriftRevert Post "/app/drift/{id}/revert" As(O::DriftRevert);
    /// Shows the patch that writes the accepted state into git, and pushes it.
    DriftAdopt Post "/app/drift/{id}/adopt" As(O::DriftAdopt);
    /// Says that a difference is meant.
    DriftAccept Post "/app/drift/{id}/accept" As(O::DriftAccept);
    /// Takes that back.
    DriftUnaccept Post "/app/drift/{id}/unaccept" As(O::DriftUnaccept);
    /// The networks.
    Networks Get "/app/topology" As(O::ResourceList);
    /// One network as a picture.
    Topology Get "/app/topology/{network}" As(O::ResourceList);
    /// What happened, and what happens.
    Events Get "/app/events" As(O::EventList);
    /// Who did what.
    Audit Get "/app/audit" As(O::AuditList);
    /// Checks the log.
    AuditVerify Post "/app/audit/verify" As(O::AuditVerify);
    /// Every other address below `/app`.
    Lost Get "/app/{*rest}" Public;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_pages_share_a_method_and_an_address() {
        let pages = pages();
        let addresses: BTreeSet<_> = pages.iter().map(|entry| (entry.method, entry.path)).collect();
        assert_eq!(addresses.len(), pages.len());
    }

    #[test]
    fn only_these_pages_are_public() {
        let public: Vec<Page> =
            pages().iter().filter(|entry| entry.access == Access::Public).map(|entry| entry.page).collect();
        let expected = [
            Page::Root,
            Page::Asset,
            Page::SignInForm,
            Page::SignIn,
            Page::SsoBegin,
            Page::SsoEnd,
            Page::Lost,
        ];
        assert_eq!(public, expected);
    }
}

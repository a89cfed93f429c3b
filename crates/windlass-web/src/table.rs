//! The table of pages: every address below `/app`, and which operation of the API decides who may use it.
//!
//! The server's router, its permission check and the authorization tests are made from this table, so that none of
//! them can forget a page, and a page can never be open to more people than the operation it stands for.

use windlass_api::endpoint::{Access, Method, Operation, endpoints};

/// One page, or one thing a form does.
#[derive(Clone, Debug)]
pub struct Entry {
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
enum Rule {
    /// Everyone.
    Public,
    /// Whoever may do this through the API.
    As(Operation),
}

impl Rule {
    fn access(&self) -> Access {
        match self {
            Rule::Public => Access::Public,
            Rule::As(operation) => {
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
        pub fn pages() -> Vec<Entry> {
            vec![$(Entry {
                page: Page::$page,
                method: Method::$method,
                path: $path,
                access: Rule::access(&$rule),
            },)*]
        }
    };
}

use Operation as O;
use Rule::{As, Public};

pages! {
    /// The root leads to the app.
    Root Get "/" Public;
    /// The style sheet, the script, the icon.
    Asset Get "/app/assets/{name}" Public;
    /// The form to sign in.
    SignInForm Get "/app/sign-in" Public;
    /// Signs in.
    SignIn Post "/app/sign-in" Public;
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
        assert_eq!(public, [Page::Root, Page::Asset, Page::SignInForm, Page::SignIn, Page::Lost]);
    }
}

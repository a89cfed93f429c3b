//! The user of a tool, and the operations that tools refuse although REST allows them.

use std::collections::BTreeSet;

use windlass_api::endpoint::{Access, Operation};
use windlass_api::permission::Permission;

use crate::refusal::{CallError, refusal};

/// The user of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCaller {
    /// Their permissions.
    pub permissions: BTreeSet<Permission>,
    /// How they authenticated.
    pub by: CallerCredential,
}

/// How a user authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerCredential {
    /// With an API token, which has explicit permissions.
    Token,
    /// With a session, which has all permissions of the person.
    Session,
}

/// Whether a user can ever use an operation through tools; other operations are not offered.
pub(crate) fn is_ever_allowed(caller: &ToolCaller, operation: Operation) -> bool {
    let is_permitted = match operation.endpoint().access {
        Access::Public | Access::SignedIn => true,
        Access::Needs(permission) => caller.permissions.contains(&permission),
        Access::Root | Access::Agent => false,
    };
    is_permitted && check_tool_access(caller, operation).is_ok()
}

/// Refuses operations that REST allows and tools do not.
pub fn check_tool_access(caller: &ToolCaller, operation: Operation) -> Result<(), CallError> {
    if is_decision(operation) { may_decide(caller) } else { Ok(()) }
}

/// A decision needs a token with exactly that permission: a person who gives a program their session has not agreed
/// that it may approve.
pub(crate) fn may_decide(caller: &ToolCaller) -> Result<(), CallError> {
    if caller.by == CallerCredential::Token {
        return Ok(());
    }
    let approve = Permission::GitopsApprove;
    Err(refusal(
        "approval-not-granted",
        format!(
            "approving or rejecting through MCP needs an API token with {approve}: a session is not enough"
        ),
        format!(
            "approve in the web app or on the command line; or create a token with `windlass token create NAME --for \
                mcp --permission {approve}` for the MCP client"
        ),
    ))
}

/// Whether an operation is a decision.
pub(crate) fn is_decision(operation: Operation) -> bool {
    operation.endpoint().access == Access::Needs(Permission::GitopsApprove)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_decides_nothing_and_a_token_what_it_was_given() {
        let all: BTreeSet<Permission> = Permission::ALL.iter().copied().collect();
        let session = ToolCaller { permissions: all.clone(), by: CallerCredential::Session };
        let token = ToolCaller { permissions: all, by: CallerCredential::Token };
        let reader =
            ToolCaller { permissions: BTreeSet::from([Permission::GitopsRead]), by: CallerCredential::Token };
        for decision in [
            Operation::ProposalApprove,
            Operation::RunApprove,
            Operation::ProposalReject,
            Operation::ProposalApply,
        ] {
            assert!(check_tool_access(&session, decision).is_err() && !is_ever_allowed(&session, decision));
            assert!(check_tool_access(&token, decision).is_ok() && is_ever_allowed(&token, decision));
            assert!(!is_ever_allowed(&reader, decision));
        }
        assert!(
            is_ever_allowed(&session, Operation::RepositorySync)
                && !is_ever_allowed(&reader, Operation::RepositorySync)
        );
        assert!(is_ever_allowed(&reader, Operation::ProposalShow));
    }
}

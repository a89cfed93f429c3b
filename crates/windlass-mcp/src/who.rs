//! Who is asking, and what nobody may do through tools whatever REST says.

use std::collections::BTreeSet;

use windlass_api::endpoint::{Access, Operation};
use windlass_api::permission::Permission;

use crate::refusal::{Refusal, refusal};

/// Who is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// What they may do.
    pub permissions: BTreeSet<Permission>,
    /// How they showed it.
    pub by: By,
}

/// How someone showed who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// With an API token, which was made for something and given so much power.
    Token,
    /// With a session, which may all that the person may.
    Session,
}

/// Whether someone can ever use an operation through tools: what cannot be used is not offered.
pub(crate) fn can_ever(who: &Who, operation: Operation) -> bool {
    let is_permitted = match operation.endpoint().access {
        Access::Public | Access::SignedIn => true,
        Access::Needs(permission) => who.permissions.contains(&permission),
        Access::Root => false,
    };
    is_permitted && may(who, operation).is_ok()
}

/// What REST would let through and tools do not.
pub fn may(who: &Who, operation: Operation) -> Result<(), Refusal> {
    if decides(operation) { may_decide(who) } else { Ok(()) }
}

/// Deciding takes a token that was given exactly that. A person who lends their session to a program has not said that it
/// may approve.
pub(crate) fn may_decide(who: &Who) -> Result<(), Refusal> {
    if who.by == By::Token {
        return Ok(());
    }
    let approve = Permission::GitopsApprove;
    Err(refusal(
        "approval-not-granted",
        format!("deciding through MCP needs an API token that was given {approve}: a session is not enough"),
        format!(
            "decide in the web app or on the command line; or make a token with `windlass token create NAME --for mcp \
             --permission {approve}` and give it to the MCP client"
        ),
    ))
}

/// Whether an operation is somebody's consent.
pub(crate) fn decides(operation: Operation) -> bool {
    operation.endpoint().access == Access::Needs(Permission::GitopsApprove)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_decides_nothing_and_a_token_what_it_was_given() {
        let all: BTreeSet<Permission> = Permission::ALL.iter().copied().collect();
        let session = Who { permissions: all.clone(), by: By::Session };
        let token = Who { permissions: all, by: By::Token };
        let reader = Who { permissions: BTreeSet::from([Permission::GitopsRead]), by: By::Token };
        for decision in [
            Operation::ProposalApprove,
            Operation::RunApprove,
            Operation::ProposalReject,
            Operation::ProposalApply,
        ] {
            assert!(may(&session, decision).is_err() && !can_ever(&session, decision));
            assert!(may(&token, decision).is_ok() && can_ever(&token, decision));
            assert!(!can_ever(&reader, decision));
        }
        assert!(
            can_ever(&session, Operation::RepositorySync) && !can_ever(&reader, Operation::RepositorySync)
        );
        assert!(can_ever(&reader, Operation::ProposalShow));
    }
}

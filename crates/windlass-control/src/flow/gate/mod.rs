//! The gate: who may approve what, and when approvals lapse.

pub mod auto_approve;
pub mod gatekeeper;
pub mod re_evaluate;
pub mod return_to_pending;
pub mod revoked_approver;
pub mod set_approvals;

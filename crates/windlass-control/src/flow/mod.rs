//! From a commit to the accepted state: sync, propose, gate, apply, close; the detection of drift; and what agents
//! observe.

pub mod apply;
pub mod assign;
pub mod close;
pub mod drift;
pub mod follow;
pub mod gate;
pub mod observe;
pub mod propose;
pub mod rollout;
pub mod sync;

//! From a commit to the accepted state: sync, propose, gate, apply, close; and the detection of drift.

pub mod apply;
pub mod close;
pub mod drift;
pub mod gate;
pub mod propose;
pub mod sync;

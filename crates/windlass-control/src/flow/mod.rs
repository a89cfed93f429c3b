//! From a commit to what is accepted: sync, propose, gate, apply, close; and the drift that follows.

pub mod apply;
pub mod close;
pub mod drift;
pub mod gate;
pub mod propose;
pub mod sync;

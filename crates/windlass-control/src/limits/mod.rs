//! What anyone may cost: turns, bodies, and work beside other work.

pub mod allowance;
pub mod bodies;
pub mod company;
pub mod fair_turns;

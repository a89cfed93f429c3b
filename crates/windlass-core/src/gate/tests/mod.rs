//! What the gate lets through and what it does not.

mod documents;
mod judgements;
mod repositories;
mod windows;

use super::*;
use crate::time::Timestamp;

fn policy(text: &str) -> Policy {
    let (policy, problems) = Policy::read("policy.yaml", text);
    policy.unwrap_or_else(|| panic!("{problems:#?}"))
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

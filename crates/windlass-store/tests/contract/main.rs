//! What the store promises, kept by both databases: every case runs on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod accounts;
mod audit;
mod check;
mod checkpoints;
mod concurrency;
mod credential_bindings;
mod deliveries;
mod desired;
mod direct;
mod drift;
mod errors;
mod events;
mod fairness;
mod forge_reports;
mod identities;
mod invitations;
mod isolation;
mod leases;
mod plans;
mod previews;
mod proposal_lists;
mod proposals;
mod pull_requests;
mod quarantines;
mod repositories;
mod resources;
mod retention;
mod runs;
mod settings;
mod throttles;
mod tokens;
mod transactions;
mod users;
mod webhooks;
mod world;

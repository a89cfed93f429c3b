//! Forges (GitHub, Gitea and Forgejo, GitLab, Bitbucket): what their webhooks say, and what we ask of them.
//!
//! `hook` is pure: bytes and headers in, what they mean out. `api` speaks to forges and decides nothing.

pub mod api;
pub mod hook;

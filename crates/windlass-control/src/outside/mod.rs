//! The worlds outside: forges, receivers of notifications, deliveries of webhooks, and previews.

pub mod forge;
pub mod notify;
pub mod preview;
pub mod webhook;

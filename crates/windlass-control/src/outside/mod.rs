//! Connections to other systems: forges, notification providers, webhook deliveries and previews.

pub mod forge;
pub mod notify;
pub mod preview;
pub mod webhook;

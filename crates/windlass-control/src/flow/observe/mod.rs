//! What agents report becomes observed state: a report is checked, queued, and stored with many others in one transaction,
//! which never waits for the lock of an account. The agent gets its receipt when the transaction is committed.

pub mod drift_items;
pub mod group;
pub mod store_group;
pub mod write_loop;

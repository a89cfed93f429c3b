//! Repositories: registering, changing, testing, moving.

pub mod fields;
pub mod find;
pub mod forge_fields;
pub mod record;
pub mod register;
pub mod release;
pub mod relocate;
pub mod test;
pub mod withdraw;

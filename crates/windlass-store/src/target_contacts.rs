//! Whether agents were last announced as online or offline.

use windlass_core::id::AccountId;
use windlass_core::report::AnnouncedContact;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_target, resource_row};
use crate::sql::values;
use crate::write::AccountWriting;

impl Reading {
    /// What was last announced of the agent of each target of an account.
    pub async fn target_contacts(
        &mut self,
        account_id: &AccountId,
    ) -> Result<ResourceMap<AnnouncedContact>, StoreError> {
        let sql = "SELECT target_kind, target_name, state FROM target_contacts WHERE account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter()
            .map(|row| Ok((read_target(row)?, row.word("state", AnnouncedContact::from_slug)?)))
            .collect()
    }
}

impl AccountWriting {
    /// Stores what is announced of some targets.
    pub async fn target_contacts_put(
        &mut self,
        contacts: &[(ResourceKey, AnnouncedContact)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let account_id = self.account_id().clone();
        let row = |(target, state): &(ResourceKey, AnnouncedContact)| {
            let mut row = resource_row(&account_id, target);
            row.extend(values![state.slug(), now]);
            row
        };
        let rows = contacts.iter().map(row).collect();
        let prefix =
            "INSERT INTO target_contacts (account_id, target_kind, target_name, state, since) VALUES";
        let suffix = "ON CONFLICT (account_id, target_kind, target_name) DO UPDATE SET state = excluded.state, \
                      since = excluded.since";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }
}

//! Invitations to join an account that were not accepted yet.

use windlass_core::access::Role;
use windlass_core::id::{AccountId, InvitationId, UserId};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, values};
use crate::write::Writing;

/// An invitation to join an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// Its id.
    pub id: InvitationId,
    /// The account.
    pub account_id: AccountId,
    /// The e-mail address of the invited person, lower case.
    pub email: String,
    /// The role they would have.
    pub role: Role,
    /// Who invited them.
    pub invited_by: UserId,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when it can be accepted.
    pub expires_at: Timestamp,
    /// When it was declined.
    pub declined_at: Option<Timestamp>,
}

const COLUMNS: &str = "id, account_id, email, role, invited_by, created_at, expires_at, declined_at";

fn read_invitation(row: &Row) -> Result<Invitation, StoreError> {
    Ok(Invitation {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        email: row.text("email")?,
        role: row.word("role", Role::from_slug)?,
        invited_by: row.id("invited_by")?,
        created_at: row.timestamp("created_at")?,
        expires_at: row.timestamp("expires_at")?,
        declined_at: row.optional_timestamp("declined_at")?,
    })
}

impl Reading {
    /// The invitations of an account that have not expired, by e-mail address. Includes declined ones.
    pub async fn invitations(
        &mut self,
        account_id: &AccountId,
        now: Timestamp,
    ) -> Result<Vec<Invitation>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM invitations WHERE account_id = $1 AND expires_at > $2 ORDER BY email"
        );
        let rows = self.connection.rows_built(sql, values![account_id, now]).await?;
        rows.iter().map(read_invitation).collect()
    }

    /// The invitations to an e-mail address that can still be accepted, newest first.
    pub async fn invitations_to(
        &mut self,
        email: &str,
        now: Timestamp,
    ) -> Result<Vec<Invitation>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM invitations WHERE email = $1 AND expires_at > $2 AND declined_at IS NULL \
             ORDER BY id DESC"
        );
        let rows = self.connection.rows_built(sql, values![email.to_lowercase(), now]).await?;
        rows.iter().map(read_invitation).collect()
    }
}

impl Writing {
    /// Invites someone. If they are invited to the account already, this replaces role, inviter and expiry; a declined
    /// invitation stays declined.
    pub async fn invitation_put(&mut self, invitation: &Invitation) -> Result<Invitation, StoreError> {
        let sql = "INSERT INTO invitations (id, account_id, email, role, invited_by, created_at, expires_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (account_id, email) DO UPDATE SET \
                   role = excluded.role, invited_by = excluded.invited_by, expires_at = excluded.expires_at \
                   RETURNING id, account_id, email, role, invited_by, created_at, expires_at, declined_at";
        let values = values![
            &invitation.id,
            &invitation.account_id,
            invitation.email.to_lowercase(),
            invitation.role.slug(),
            &invitation.invited_by,
            invitation.created_at,
            invitation.expires_at
        ];
        let rows = self.connection.rows(sql, values).await?;
        rows.first().map_or_else(|| Ok(invitation.clone()), read_invitation)
    }

    /// Records that the invited person declined.
    pub async fn invitation_decline(&mut self, id: &InvitationId, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE invitations SET declined_at = $2 WHERE id = $1 AND declined_at IS NULL";
        self.connection.execute(sql, values![id, now]).await?;
        Ok(())
    }

    /// Deletes an invitation of an account. False if there is none.
    pub async fn invitation_remove(
        &mut self,
        account_id: &AccountId,
        id: &InvitationId,
    ) -> Result<bool, StoreError> {
        let sql = "DELETE FROM invitations WHERE account_id = $1 AND id = $2";
        Ok(self.connection.execute(sql, values![account_id, id]).await? == 1)
    }

    /// Deletes invitations that have expired.
    pub async fn invitations_delete_old(
        &mut self,
        now: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("invitations", "id", "expires_at <= $1");
        self.delete_old(old, values![now], budget).await
    }
}

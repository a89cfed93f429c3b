//! The identities of people at single sign-on providers, and which of their memberships come from their groups there.

pub use windlass_core::access::MembershipOrigin as Origin;
use windlass_core::access::Role;
use windlass_core::id::{AccountId, UserId};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::values;
use crate::write::Writing;

/// The membership of a person in an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The account.
    pub account_id: AccountId,
    /// Their role there.
    pub role: Role,
    /// How they got it.
    pub origin: Origin,
}

impl Reading {
    /// The id of the person with this subject at this issuer.
    pub async fn identity_user(&mut self, issuer: &str, subject: &str) -> Result<Option<UserId>, StoreError> {
        let sql = "SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2";
        let rows = self.connection.rows(sql, values![issuer, subject]).await?;
        rows.first().map(|row| row.id("user_id")).transpose()
    }

    /// The issuers at which a person has an identity.
    pub async fn identity_issuers(&mut self, user_id: &UserId) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT issuer FROM identities WHERE user_id = $1 ORDER BY issuer";
        let rows = self.connection.rows(sql, values![user_id]).await?;
        rows.iter().map(|row| row.text("issuer")).collect()
    }

    /// The ids of the people of an account who sign in through a provider.
    pub async fn identity_members(&mut self, account_id: &AccountId) -> Result<Vec<UserId>, StoreError> {
        let sql = "SELECT DISTINCT identities.user_id FROM identities \
                   JOIN memberships ON memberships.user_id = identities.user_id \
                   WHERE memberships.account_id = $1 ORDER BY identities.user_id";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter().map(|row| row.id("user_id")).collect()
    }

    /// Whether a person has an identity whose provider did not verify the e-mail address.
    pub async fn identity_unverified(&mut self, user_id: &UserId) -> Result<bool, StoreError> {
        let sql = "SELECT COUNT(*) AS count FROM identities WHERE user_id = $1 AND email_verified = 0";
        let rows = self.connection.rows(sql, values![user_id]).await?;
        Ok(rows.first().map_or(Ok(0), |row| row.count("count"))? > 0)
    }

    /// Every membership of a person with its origin, by account.
    pub async fn membership_origins(&mut self, user_id: &UserId) -> Result<Vec<Membership>, StoreError> {
        let sql = "SELECT account_id, role, origin FROM memberships WHERE user_id = $1 ORDER BY account_id";
        let rows = self.connection.rows(sql, values![user_id]).await?;
        rows.iter()
            .map(|row| {
                let (account_id, role) = (row.id("account_id")?, row.word("role", Role::from_slug)?);
                Ok(Membership { account_id, role, origin: row.word("origin", Origin::from_slug)? })
            })
            .collect()
    }
}

impl Writing {
    /// Stores the identity of a person: their subject at an issuer. A subject belongs to one person, and a person has
    /// at most one subject at an issuer.
    pub async fn identity_add(
        &mut self,
        issuer: &str,
        subject: &str,
        user_id: &UserId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO identities (issuer, subject, user_id, created_at) VALUES ($1, $2, $3, $4)";
        self.connection.execute(sql, values![issuer, subject, user_id, now]).await?;
        Ok(())
    }

    /// Records whether the provider verified the e-mail address of a person.
    pub async fn identity_set_verified(
        &mut self,
        issuer: &str,
        subject: &str,
        is_verified: bool,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE identities SET email_verified = $3 WHERE issuer = $1 AND subject = $2";
        self.connection.execute(sql, values![issuer, subject, is_verified]).await?;
        Ok(())
    }
}

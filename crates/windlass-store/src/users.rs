//! People, their roles in accounts, and their sessions.

use windlass_core::access::Role;
use windlass_core::id::{AccountId, SessionId, UserId};
use windlass_core::redacted::Redacted;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::identities::Origin;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, values};
use crate::write::Writing;

/// A person.
#[derive(Clone, Debug)]
pub struct User {
    /// Their id.
    pub id: UserId,
    /// Their e-mail address, lower case, unique.
    pub email: String,
    /// Their name.
    pub name: String,
    /// The hash of their password; empty if they have none.
    pub password_hash: Redacted<String>,
    /// Whether they must choose a new password first.
    pub must_change_password: bool,
    /// Whether they are an administrator of the installation, who manages all accounts and their members.
    pub is_root: bool,
    /// Since when they may not sign in.
    pub disabled_at: Option<Timestamp>,
    /// When they were added.
    pub created_at: Timestamp,
}

/// A person in an account.
#[derive(Clone, Debug)]
pub struct Member {
    /// The person.
    pub user: User,
    /// Their role there.
    pub role: Role,
    /// How they got the role.
    pub origin: Origin,
    /// When the role was set or, if it comes from their groups, when these last confirmed it.
    pub proved_at: Timestamp,
}

/// The session of a signed-in person.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Who.
    pub user_id: UserId,
    /// In which account.
    pub account_id: AccountId,
    /// From which network address.
    pub address: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

const COLUMNS: &str = "users.id, users.email, users.name, users.password_hash, users.must_change_password, \
                       users.is_root, users.disabled_at, users.created_at";

const MEMBERSHIP: &str = "memberships.role, memberships.origin, memberships.proved_at";

fn read_user(row: &Row) -> Result<User, StoreError> {
    Ok(User {
        id: row.id("id")?,
        email: row.text("email")?,
        name: row.text("name")?,
        password_hash: Redacted::new(row.text("password_hash")?),
        must_change_password: row.boolean("must_change_password")?,
        is_root: row.boolean("is_root")?,
        disabled_at: row.optional_timestamp("disabled_at")?,
        created_at: row.timestamp("created_at")?,
    })
}

fn read_member(row: &Row) -> Result<Member, StoreError> {
    let (user, role) = (read_user(row)?, row.word("role", Role::from_slug)?);
    Ok(Member {
        user,
        role,
        origin: row.word("origin", Origin::from_slug)?,
        proved_at: row.timestamp("proved_at")?,
    })
}

impl Reading {
    /// A person by id or e-mail address.
    pub async fn user(&mut self, id_or_email: &str) -> Result<Option<User>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM users WHERE id = $1 OR email = $2");
        let rows = self.connection.rows_built(sql, values![id_or_email, id_or_email.to_lowercase()]).await?;
        rows.first().map(read_user).transpose()
    }

    /// The administrators of the installation; those who may sign in come first.
    pub async fn users_root(&mut self) -> Result<Vec<User>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM users WHERE is_root = 1 ORDER BY disabled_at IS NOT NULL, created_at, id"
        );
        let rows = self.connection.rows_built(sql, Vec::new()).await?;
        rows.iter().map(read_user).collect()
    }

    /// How many people there are.
    pub async fn users_count(&mut self) -> Result<usize, StoreError> {
        let rows = self.connection.rows("SELECT COUNT(*) AS count FROM users", Vec::new()).await?;
        rows.first().map_or(Ok(0), |row| row.count("count"))
    }

    /// The people of an account, by e-mail address.
    pub async fn members(&mut self, account_id: &AccountId) -> Result<Vec<Member>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {MEMBERSHIP} FROM users JOIN memberships ON memberships.user_id = users.id \
             WHERE memberships.account_id = $1 ORDER BY users.email"
        );
        let rows = self.connection.rows_built(sql, values![account_id]).await?;
        rows.iter().map(read_member).collect()
    }

    /// A person in an account, by id or e-mail address.
    pub async fn member(
        &mut self,
        account_id: &AccountId,
        id_or_email: &str,
    ) -> Result<Option<Member>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, {MEMBERSHIP} FROM users JOIN memberships ON memberships.user_id = users.id \
             WHERE memberships.account_id = $1 AND (users.id = $2 OR users.email = $3)"
        );
        let values = values![account_id, id_or_email, id_or_email.to_lowercase()];
        let rows = self.connection.rows_built(sql, values).await?;
        rows.first().map(read_member).transpose()
    }

    /// The accounts of a person, in the order in which they joined: id, name, role.
    pub async fn memberships(
        &mut self,
        user_id: &UserId,
    ) -> Result<Vec<(AccountId, String, Role)>, StoreError> {
        let sql = "SELECT accounts.id, accounts.name, memberships.role FROM memberships \
                   JOIN accounts ON accounts.id = memberships.account_id \
                   WHERE memberships.user_id = $1 ORDER BY memberships.created_at, accounts.name";
        let rows = self.connection.rows(sql, values![user_id]).await?;
        rows.iter()
            .map(|row| Ok((row.id("id")?, row.text("name")?, row.word("role", Role::from_slug)?)))
            .collect()
    }

    /// A session by id, if it has not ended.
    pub async fn session(&mut self, id: &SessionId, now: Timestamp) -> Result<Option<Session>, StoreError> {
        let sql = "SELECT id, user_id, account_id, address, created_at, expires_at FROM sessions \
                   WHERE id = $1 AND expires_at > $2";
        let rows = self.connection.rows(sql, values![id, now]).await?;
        rows.first()
            .map(|row| {
                Ok(Session {
                    id: row.id("id")?,
                    user_id: row.id("user_id")?,
                    account_id: row.id("account_id")?,
                    address: row.text("address")?,
                    created_at: row.timestamp("created_at")?,
                    expires_at: row.timestamp("expires_at")?,
                })
            })
            .transpose()
    }
}

impl Writing {
    /// Adds a person.
    pub async fn user_add(&mut self, user: &User) -> Result<(), StoreError> {
        let sql = "INSERT INTO users (id, email, name, password_hash, must_change_password, is_root, disabled_at, \
                   created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let values = values![
            &user.id,
            user.email.to_lowercase(),
            &user.name,
            user.password_hash.expose(),
            user.must_change_password,
            user.is_root,
            user.disabled_at,
            user.created_at
        ];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Changes a person's password and ends their sessions.
    pub async fn user_set_password(
        &mut self,
        user_id: &UserId,
        hash: &Redacted<String>,
        must_change: bool,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE users SET password_hash = $2, must_change_password = $3 WHERE id = $1";
        self.connection.execute(sql, values![user_id, hash.expose(), must_change]).await?;
        self.sessions_end_all(user_id).await
    }

    /// Makes a person an administrator of the installation.
    pub async fn user_make_root(&mut self, user_id: &UserId) -> Result<(), StoreError> {
        self.connection.execute("UPDATE users SET is_root = 1 WHERE id = $1", values![user_id]).await?;
        Ok(())
    }

    /// Disables a person and ends their sessions, or enables them again.
    pub async fn user_set_disabled(
        &mut self,
        user_id: &UserId,
        at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE users SET disabled_at = $2 WHERE id = $1";
        self.connection.execute(sql, values![user_id, at]).await?;
        if at.is_some() { self.sessions_end_all(user_id).await } else { Ok(()) }
    }

    /// Sets the role of a person in an account manually: from then on their groups do not change it.
    pub async fn member_set(
        &mut self,
        account_id: &AccountId,
        user_id: &UserId,
        role: Role,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.member_put(account_id, user_id, role, Origin::Manual, now).await
    }

    /// Sets the role of a person in an account that comes from their groups.
    pub async fn member_grant(
        &mut self,
        account_id: &AccountId,
        user_id: &UserId,
        role: Role,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.member_put(account_id, user_id, role, Origin::Groups, now).await
    }

    async fn member_put(
        &mut self,
        account_id: &AccountId,
        user_id: &UserId,
        role: Role,
        origin: Origin,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO memberships (account_id, user_id, role, origin, created_at, proved_at) \
                   VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (account_id, user_id) \
                   DO UPDATE SET role = excluded.role, origin = excluded.origin, proved_at = excluded.proved_at";
        self.connection.execute(sql, values![account_id, user_id, role.slug(), origin.slug(), now]).await?;
        Ok(())
    }

    /// Records that a person's groups still give the roles that they gave before.
    pub async fn memberships_prove(&mut self, user_id: &UserId, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE memberships SET proved_at = $2 WHERE user_id = $1 AND origin = $3";
        self.connection.execute(sql, values![user_id, now, Origin::Groups.slug()]).await?;
        Ok(())
    }

    /// Removes a person from an account, ends their sessions there and revokes their API tokens, so that old tokens do
    /// not work if the person joins again.
    pub async fn member_remove(
        &mut self,
        account_id: &AccountId,
        user_id: &UserId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = || values![account_id, user_id];
        let sql = "UPDATE tokens SET revoked_at = $3 \
                   WHERE account_id = $1 AND created_by = $2 AND revoked_at IS NULL";
        self.connection.execute(sql, values![account_id, user_id, now]).await?;
        let sql = "DELETE FROM sessions WHERE account_id = $1 AND user_id = $2";
        self.connection.execute(sql, values()).await?;
        let sql = "DELETE FROM memberships WHERE account_id = $1 AND user_id = $2";
        Ok(self.connection.execute(sql, values()).await? == 1)
    }

    /// Begins a session.
    pub async fn session_add(&mut self, session: &Session) -> Result<(), StoreError> {
        let sql = "INSERT INTO sessions (id, user_id, account_id, address, created_at, expires_at) \
                   VALUES ($1, $2, $3, $4, $5, $6)";
        let values = values![
            &session.id,
            &session.user_id,
            &session.account_id,
            &session.address,
            session.created_at,
            session.expires_at
        ];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Ends a session.
    pub async fn session_end(&mut self, id: &SessionId) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM sessions WHERE id = $1", values![id]).await?;
        Ok(())
    }

    async fn sessions_end_all(&mut self, user_id: &UserId) -> Result<(), StoreError> {
        self.connection.execute("DELETE FROM sessions WHERE user_id = $1", values![user_id]).await?;
        Ok(())
    }

    /// Deletes sessions that have expired.
    pub async fn sessions_delete_old(
        &mut self,
        now: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("sessions", "id", "expires_at <= $1");
        self.delete_old(old, values![now], budget).await
    }
}

//! Agents and their contacts.
//!
//! People decide to enrol and revoke agents, so this happens in a transaction of the account. A contact does not need
//! one: it locks only the agent's own row. The lock makes reports of one agent wait for each other, on every replica.

use windlass_core::agent::Agent;
use windlass_core::id::{AccountId, AgentId};
use windlass_core::observed::{Enrolment, LastContact};
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_target, resource_row};
use crate::observed::{number_from, stored_number};
use crate::page::new_id;
use crate::sql::{Row, values};
use crate::write::{AccountWriting, Writing};

/// An agent's newest certificate, and the version of the program that asked for it.
#[derive(Clone, Copy, Debug)]
pub struct AgentCertificate<'c> {
    /// The version of the agent.
    pub agent_version: &'c str,
    /// The certificate's serial number, in hex.
    pub serial: &'c str,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// When a server last heard of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentContact {
    /// The agent.
    pub id: AgentId,
    /// When.
    pub at: Timestamp,
}

/// An agent that was revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedAgent {
    /// The agent.
    pub id: AgentId,
    /// When.
    pub revoked_at: Timestamp,
}

const COLUMNS: &str =
    "id, account_id, target_kind, target_name, enrolment, enrolled_at, last_contact_at, revoked_at";

fn read_agent(row: &Row) -> Result<Agent, StoreError> {
    Ok(Agent {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        target: read_target(row)?,
        enrolment: Enrolment(number_from(row.number("enrolment")?)),
        enrolled_at: row.timestamp("enrolled_at")?,
        last_contact: row.optional_timestamp("last_contact_at")?.map_or(LastContact::Never, LastContact::At),
        revoked_at: row.optional_timestamp("revoked_at")?,
    })
}

impl Reading {
    /// The agent of a target, unless it was revoked.
    pub async fn agent_of(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
    ) -> Result<Option<Agent>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM agents WHERE account_id = $1 AND target_kind = $2 AND target_name = $3 \
             AND revoked_at IS NULL"
        );
        let rows = self.connection.rows_built(sql, resource_row(account_id, target)).await?;
        rows.first().map(read_agent).transpose()
    }

    /// The agent with this id, also if it was revoked.
    pub async fn agent(&mut self, id: &AgentId) -> Result<Option<Agent>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM agents WHERE id = $1");
        let rows = self.connection.rows_built(sql, values![id]).await?;
        rows.first().map(read_agent).transpose()
    }

    /// The agents with these ids, also those that were revoked.
    pub async fn agents_with_ids(&mut self, ids: &[AgentId]) -> Result<Vec<Agent>, StoreError> {
        if let [id] = ids {
            return Ok(self.agent(id).await?.into_iter().collect());
        }
        let given = ids.iter().map(|id| values![id]).collect();
        let suffix = format!(") SELECT {COLUMNS} FROM given CROSS JOIN agents WHERE id = given_id");
        let rows = self.connection.rows_many("WITH given (given_id) AS (VALUES", given, &suffix).await?;
        rows.iter().map(read_agent).collect()
    }

    /// The agents of all accounts that were revoked at this time or later, in that order.
    pub async fn agents_revoked_since(&mut self, since: Timestamp) -> Result<Vec<RevokedAgent>, StoreError> {
        let sql = "SELECT id, revoked_at FROM agents WHERE revoked_at >= $1 ORDER BY revoked_at";
        let rows = self.connection.rows(sql, values![since]).await?;
        let read =
            |row: &Row| Ok(RevokedAgent { id: row.id("id")?, revoked_at: row.timestamp("revoked_at")? });
        rows.iter().map(read).collect()
    }

    /// The agents of an account that were not revoked, by target.
    pub async fn agents(&mut self, account_id: &AccountId) -> Result<Vec<Agent>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM agents WHERE account_id = $1 AND revoked_at IS NULL \
             ORDER BY target_kind, target_name"
        );
        let rows = self.connection.rows_built(sql, values![account_id]).await?;
        rows.iter().map(read_agent).collect()
    }
}

impl AccountWriting {
    /// Enrols a target. Revokes its previous agent, whose reports are then rejected.
    pub async fn agent_enrol(&mut self, target: &ResourceKey, now: Timestamp) -> Result<Agent, StoreError> {
        let account_id = self.account_id().clone();
        self.agent_revoke(target, now).await?;
        let sql = "SELECT COALESCE(MAX(enrolment), 0) AS last_enrolment FROM agents \
                   WHERE account_id = $1 AND target_kind = $2 AND target_name = $3";
        let rows = self.connection.rows(sql, resource_row(&account_id, target)).await?;
        let last = rows.first().map_or(Ok(0), |row| row.number("last_enrolment"))?;
        let agent = Agent {
            id: new_id(),
            account_id,
            target: target.clone(),
            enrolment: Enrolment(number_from(last) + 1),
            enrolled_at: now,
            last_contact: LastContact::Never,
            revoked_at: None,
        };
        let sql = "INSERT INTO agents (account_id, target_kind, target_name, id, enrolment, enrolled_at) \
                   VALUES ($1, $2, $3, $4, $5, $6)";
        let mut values = resource_row(&agent.account_id, target);
        values.extend(values![&agent.id, stored_number(agent.enrolment.0), now]);
        self.connection.execute(sql, values).await?;
        Ok(agent)
    }

    /// Revokes the agent of a target. False if there is none.
    pub async fn agent_revoke(&mut self, target: &ResourceKey, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE agents SET revoked_at = $4 WHERE account_id = $1 AND target_kind = $2 AND target_name = $3 \
                   AND revoked_at IS NULL";
        let mut values = resource_row(self.account_id(), target);
        values.push(now.into());
        Ok(self.connection.execute(sql, values).await? == 1)
    }
}

impl Writing {
    /// Records a contact with an agent; none if it was revoked. This is the first step of storing a report: until the
    /// transaction ends, no other report of the agent is stored.
    pub async fn agent_contact(&mut self, id: &AgentId, now: Timestamp) -> Result<Option<Agent>, StoreError> {
        let sql = format!(
            "UPDATE agents SET last_contact_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING {COLUMNS}"
        );
        let rows = self.connection.rows_built(sql, values![id, now]).await?;
        rows.first().map(read_agent).transpose()
    }

    /// Records contacts with agents. Returns those that were not revoked, as [`Writing::agent_contact`] does.
    pub async fn agents_contact(
        &mut self,
        ids: &[&AgentId],
        now: Timestamp,
    ) -> Result<Vec<Agent>, StoreError> {
        let given = ids.iter().map(|id| values![*id, now]).collect();
        let suffix = ") UPDATE agents SET last_contact_at = given.at FROM given \
                      WHERE agents.id = given.agent_id AND agents.revoked_at IS NULL \
                      RETURNING id, account_id, target_kind, target_name, enrolment, enrolled_at, last_contact_at, \
                      revoked_at";
        let rows = self.connection.rows_many("WITH given (agent_id, at) AS (VALUES", given, suffix).await?;
        rows.iter().map(read_agent).collect()
    }

    /// Records the certificate that an agent got. False if the agent was revoked.
    pub async fn agent_certified(
        &mut self,
        id: &AgentId,
        certificate: AgentCertificate<'_>,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE agents SET agent_version = $2, certificate_serial = $3, certificate_expires_at = $4 \
                   WHERE id = $1 AND revoked_at IS NULL";
        let AgentCertificate { agent_version, serial, expires_at } = certificate;
        Ok(self.connection.execute(sql, values![id, agent_version, serial, expires_at]).await? == 1)
    }

    /// Records contacts with many agents in few statements. A later contact that is stored already is kept. The contacts
    /// should be in the order of their agents, so that two replicas do not wait for each other.
    pub async fn agents_contacted(&mut self, contacts: &[AgentContact]) -> Result<u64, StoreError> {
        let rows = contacts.iter().map(|contact| values![&contact.id, contact.at]).collect();
        let suffix = ") UPDATE agents SET last_contact_at = given.at FROM given WHERE agents.id = given.id \
                      AND agents.revoked_at IS NULL \
                      AND (agents.last_contact_at IS NULL OR agents.last_contact_at < given.at)";
        self.connection.execute_many("WITH given (id, at) AS (VALUES", rows, suffix).await
    }
}

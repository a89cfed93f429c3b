//! Observed state: what agents reported about their targets and the resources on them.
//!
//! A report is stored in three steps of one transaction: [`Writing::agent_contact`], [`Reading::observed`] and, after
//! `ObservedTarget::merge` merged the report, [`Writing::observed_save`]. No step locks the row of the account. Each step
//! has a form for many targets, so that a transaction can store the reports of many agents.

use std::collections::BTreeMap;

use windlass_core::digest::Digest;
use windlass_core::id::AccountId;
use windlass_core::observed::{
    AgentMessage, ApplyFailure, Enrolment, Generation, Observation, Observed, ObservedTarget, ReportOrder,
    Sighting, StoredObservation, UnknownCause,
};
use windlass_core::resource::{Kind, ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_key, read_target, resource_row};
use crate::sql::{Row, Value, values};
use crate::write::Writing;

/// The columns of an observation, in the order of [`observation_row`].
const OBSERVATION: &str = "enrolment, generation, sequence, state, digest, seen_generation, since, seen_at, message, \
    failed_generation, failed_since, failure";

/// A number as databases store it. A larger one becomes the largest: no server counts that far, and a number that an
/// agent makes up affects only the rows of its own target.
pub(crate) fn stored_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn number_from(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

fn order_row(order: ReportOrder) -> Vec<Value> {
    values![
        stored_number(order.enrolment.0),
        stored_number(order.generation.0),
        stored_number(order.sequence)
    ]
}

fn read_order(row: &Row) -> Result<ReportOrder, StoreError> {
    Ok(ReportOrder {
        enrolment: Enrolment(number_from(row.number("enrolment")?)),
        generation: Generation(number_from(row.number("generation")?)),
        sequence: number_from(row.number("sequence")?),
    })
}

fn read_complete(row: &Row) -> Result<Option<ReportOrder>, StoreError> {
    let numbers = [
        row.optional_number("complete_enrolment")?,
        row.optional_number("complete_generation")?,
        row.optional_number("complete_sequence")?,
    ];
    let [Some(enrolment), Some(generation), Some(sequence)] = numbers else { return Ok(None) };
    Ok(Some(ReportOrder {
        enrolment: Enrolment(number_from(enrolment)),
        generation: Generation(number_from(generation)),
        sequence: number_from(sequence),
    }))
}

fn observation_row(stored: &StoredObservation) -> Vec<Value> {
    let Observation { observed, failure } = &stored.observation;
    let seen = |seen: &Sighting| (Some(stored_number(seen.generation.0)), seen.since, Some(seen.at));
    let (state, digest, (seen_generation, since, seen_at), message) = match observed {
        Observed::Known { digest, seen: sighting } => ("known", Some(*digest), seen(sighting), None),
        Observed::Absent { seen: sighting } => ("absent", None, seen(sighting), None),
        Observed::Unknown { since, cause: UnknownCause::BeingChanged } => {
            ("being_changed", None, (None, *since, None), None)
        }
        Observed::Unknown { since, cause: UnknownCause::Unreadable(message) } => {
            ("unreadable", None, (None, *since, None), Some(message.as_str()))
        }
    };
    let mut row = order_row(stored.order);
    row.extend(values![
        state,
        digest,
        seen_generation,
        since,
        seen_at,
        message,
        failure.as_ref().map(|failure| stored_number(failure.generation.0)),
        failure.as_ref().map(|failure| failure.since),
        failure.as_ref().map(|failure| failure.message.as_str())
    ]);
    row
}

fn read_observation(row: &Row) -> Result<StoredObservation, StoreError> {
    let order = read_order(row)?;
    let state = row.text("state")?;
    let digest = row.optional_digest("digest")?;
    let generation = row.optional_number("seen_generation")?;
    let since = row.timestamp("since")?;
    let seen_at = row.optional_timestamp("seen_at")?;
    let message = row.optional_text("message")?;
    let failed = row
        .optional_number("failed_generation")?
        .zip(row.optional_timestamp("failed_since")?)
        .zip(row.optional_text("failure")?);
    let observed = read_observed(&state, digest, generation, since, seen_at, message.as_deref())
        .ok_or_else(|| StoreError::Broken { column: "state".to_owned(), value: state })?;
    let failure = failed.map(|((generation, since), message)| ApplyFailure {
        generation: Generation(number_from(generation)),
        since,
        message: AgentMessage::new(&message),
    });
    Ok(StoredObservation { order, observation: Observation { observed, failure } })
}

fn read_observed(
    state: &str,
    digest: Option<Digest>,
    generation: Option<i64>,
    since: Timestamp,
    seen_at: Option<Timestamp>,
    message: Option<&str>,
) -> Option<Observed> {
    let seen = generation.zip(seen_at).map(|(generation, at)| Sighting {
        generation: Generation(number_from(generation)),
        since,
        at,
    });
    let unknown = |cause| Observed::Unknown { since, cause };
    match state {
        "known" => Some(Observed::Known { digest: digest?, seen: seen? }),
        "absent" => Some(Observed::Absent { seen: seen? }),
        "being_changed" => Some(unknown(UnknownCause::BeingChanged)),
        "unreadable" => {
            Some(unknown(UnknownCause::Unreadable(AgentMessage::new(message.unwrap_or_default()))))
        }
        _ => None,
    }
}

impl Reading {
    /// The observed state of a target and of the resources on it.
    pub async fn observed(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
    ) -> Result<ObservedTarget, StoreError> {
        let sql = format!(
            "SELECT complete_enrolment, complete_generation, complete_sequence, {OBSERVATION} FROM observed_targets \
             WHERE account_id = $1 AND target_kind = $2 AND target_name = $3"
        );
        let rows = self.connection.rows_built(sql, resource_row(account_id, target)).await?;
        let mut observed = ObservedTarget::default();
        if let Some(row) = rows.first() {
            observed.complete_as_of = read_complete(row)?;
            observed.whole = Some(read_observation(row)?);
        }
        let sql = format!(
            "SELECT kind, name, {OBSERVATION} FROM observed \
             WHERE account_id = $1 AND target_kind = $2 AND target_name = $3"
        );
        let mut rows = self.connection.rows_built(sql, resource_row(account_id, target)).await?;
        observed.resources = rows
            .iter_mut()
            .map(|row| Ok((read_key(row)?, read_observation(row)?)))
            .collect::<Result<_, StoreError>>()?;
        Ok(observed)
    }

    /// The observed state of some targets and of the resources on them. Targets without a report are left out.
    pub async fn observed_of(
        &mut self,
        targets: &[(&AccountId, &ResourceKey)],
    ) -> Result<BTreeMap<(AccountId, ResourceKey), ObservedTarget>, StoreError> {
        let given = || targets.iter().map(|(account_id, target)| resource_row(*account_id, target)).collect();
        let prefix = "WITH given (given_account, given_kind, given_name) AS (VALUES";
        let suffix = format!(
            ") SELECT account_id, target_kind, target_name, complete_enrolment, complete_generation, \
             complete_sequence, {OBSERVATION} FROM given CROSS JOIN observed_targets \
             WHERE account_id = given_account AND target_kind = given_kind AND target_name = given_name"
        );
        let mut found: BTreeMap<(AccountId, ResourceKey), ObservedTarget> = BTreeMap::new();
        for row in self.connection.rows_many(prefix, given(), &suffix).await? {
            let observed = found.entry((row.id("account_id")?, read_target(&row)?)).or_default();
            observed.complete_as_of = read_complete(&row)?;
            observed.whole = Some(read_observation(&row)?);
        }
        let suffix = format!(
            ") SELECT account_id, target_kind, target_name, kind, name, {OBSERVATION} FROM given CROSS JOIN observed \
             WHERE account_id = given_account AND target_kind = given_kind AND target_name = given_name"
        );
        for row in self.connection.rows_many(prefix, given(), &suffix).await? {
            let observed = found.entry((row.id("account_id")?, read_target(&row)?)).or_default();
            observed.resources.insert(read_key(&row)?, read_observation(&row)?);
        }
        Ok(found)
    }

    /// The observed state of every target of an account as a whole, without the resources on them.
    pub async fn observed_targets(
        &mut self,
        account_id: &AccountId,
    ) -> Result<ResourceMap<ObservedTarget>, StoreError> {
        let sql = format!(
            "SELECT target_kind, target_name, complete_enrolment, complete_generation, complete_sequence, \
             {OBSERVATION} FROM observed_targets WHERE account_id = $1"
        );
        let rows = self.connection.rows_built(sql, values![account_id]).await?;
        rows.iter()
            .map(|row| {
                let target = read_target(row)?;
                let complete_as_of = read_complete(row)?;
                let whole = Some(read_observation(row)?);
                Ok((target, ObservedTarget { whole, complete_as_of, resources: ResourceMap::default() }))
            })
            .collect()
    }
}

/// The observed state of a target before and after reports were merged.
#[derive(Clone, Debug)]
pub struct ObservedChange<'c> {
    /// The account.
    pub account_id: &'c AccountId,
    /// The node or cluster.
    pub target: &'c ResourceKey,
    /// As it is stored.
    pub before: &'c ObservedTarget,
    /// As it shall be stored.
    pub after: &'c ObservedTarget,
}

impl ObservedChange<'_> {
    fn key_row(&self, kind: Kind, name: &str) -> Vec<Value> {
        let mut row = resource_row(self.account_id, self.target);
        row.extend(values![kind.slug(), name]);
        row
    }

    /// The rows of resources that are no longer observed.
    fn gone(&self) -> impl Iterator<Item = Vec<Value>> {
        let gone = self.before.resources.iter();
        gone.filter(|(kind, name, _)| !self.after.resources.contains(*kind, name))
            .map(|(kind, name, _)| self.key_row(kind, name))
    }

    /// The rows of resources whose observation changed.
    fn changed(&self) -> impl Iterator<Item = Vec<Value>> {
        let changed = self.after.resources.iter();
        changed
            .filter(|(kind, name, stored)| self.before.resources.get(*kind, name) != Some(stored))
            .map(|(kind, name, stored)| [self.key_row(kind, name), observation_row(stored)].concat())
    }

    /// The row of the target as a whole, if it changed.
    fn whole(&self) -> Option<Vec<Value>> {
        let is_changed = (&self.before.whole, self.before.complete_as_of)
            != (&self.after.whole, self.after.complete_as_of);
        let whole = self.after.whole.as_ref().filter(|_| is_changed)?;
        let none = values![None::<i64>, None::<i64>, None::<i64>];
        let mut row = resource_row(self.account_id, self.target);
        row.extend(self.after.complete_as_of.map_or(none, order_row));
        row.extend(observation_row(whole));
        Some(row)
    }
}

impl Writing {
    /// Stores the observed state after a report was merged into `before`. Writes only what changed.
    pub async fn observed_save(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
        before: &ObservedTarget,
        after: &ObservedTarget,
    ) -> Result<(), StoreError> {
        self.observed_save_all(&[ObservedChange { account_id, target, before, after }]).await
    }

    /// Stores the observed state of many targets, at most one change for each. Merging never takes the whole away, so a
    /// target that was stored stays.
    pub async fn observed_save_all(&mut self, changes: &[ObservedChange<'_>]) -> Result<(), StoreError> {
        let wholes = changes.iter().filter_map(ObservedChange::whole).collect();
        let prefix = "INSERT INTO observed_targets (account_id, target_kind, target_name, complete_enrolment, \
                      complete_generation, complete_sequence, enrolment, generation, sequence, state, digest, \
                      seen_generation, since, seen_at, message, failed_generation, failed_since, failure) VALUES";
        let suffix = "ON CONFLICT (account_id, target_kind, target_name) DO UPDATE SET \
                      complete_enrolment = excluded.complete_enrolment, \
                      complete_generation = excluded.complete_generation, \
                      complete_sequence = excluded.complete_sequence, \
                      enrolment = excluded.enrolment, generation = excluded.generation, sequence = excluded.sequence, \
                      state = excluded.state, digest = excluded.digest, \
                      seen_generation = excluded.seen_generation, since = excluded.since, \
                      seen_at = excluded.seen_at, message = excluded.message, \
                      failed_generation = excluded.failed_generation, failed_since = excluded.failed_since, \
                      failure = excluded.failure";
        self.connection.execute_many(prefix, wholes, suffix).await?;
        let gone = changes.iter().flat_map(ObservedChange::gone).collect();
        let prefix =
            "DELETE FROM observed WHERE (account_id, target_kind, target_name, kind, name) IN (VALUES";
        self.connection.execute_many(prefix, gone, ")").await?;
        let changed = changes.iter().flat_map(ObservedChange::changed).collect();
        let prefix = "INSERT INTO observed (account_id, target_kind, target_name, kind, name, enrolment, generation, \
                      sequence, state, digest, seen_generation, since, seen_at, message, failed_generation, \
                      failed_since, failure) VALUES";
        let suffix = "ON CONFLICT (account_id, target_kind, target_name, kind, name) DO UPDATE SET \
                      enrolment = excluded.enrolment, generation = excluded.generation, sequence = excluded.sequence, \
                      state = excluded.state, digest = excluded.digest, \
                      seen_generation = excluded.seen_generation, since = excluded.since, \
                      seen_at = excluded.seen_at, message = excluded.message, \
                      failed_generation = excluded.failed_generation, failed_since = excluded.failed_since, \
                      failure = excluded.failure";
        self.connection.execute_many(prefix, changed, suffix).await?;
        Ok(())
    }
}

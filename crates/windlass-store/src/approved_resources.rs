//! Accepted resources with the approvals that cover them.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::assign::RecordedApproval;
use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::target_assignment::CoveringApproval;

use crate::contents::read_spec;
use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::read_key;
use crate::sql::{Row, values};

/// An accepted resource and why it was accepted.
#[derive(Clone, Debug)]
pub struct ApprovedResource {
    /// Which.
    pub key: ResourceKey,
    /// Its spec.
    pub spec: Arc<Spec>,
    /// The digest of the spec.
    pub digest: Digest,
    /// The repository that owns it.
    pub owner_id: Option<RepositoryId>,
    /// Why it was accepted; none if that was not recorded.
    pub approval: Option<RecordedApproval>,
}

pub(crate) fn stored_approval(approval: &CoveringApproval) -> String {
    serde_json::to_string(approval).expect("an approval is JSON")
}

/// Reads the recorded approval. Earlier versions recorded only who made the last change.
fn read_approval(row: &Row) -> Result<Option<RecordedApproval>, StoreError> {
    let Some(digest) = row.optional_digest("approved_digest")? else { return Ok(None) };
    let approval = match row.text("approval")?.is_empty() {
        true => CoveringApproval::DirectChange {
            person: row.text("updated_by")?,
            at: row.timestamp("updated_at")?,
        },
        false => row.json("approval")?,
    };
    Ok(Some(RecordedApproval { digest, approval }))
}

/// `$2, $3` for these kinds.
fn placeholders(kinds: &[Kind]) -> String {
    let numbers: Vec<String> = (0..kinds.len()).map(|index| format!("${}", index + 2)).collect();
    numbers.join(", ")
}

impl Reading {
    /// The resources of these kinds with their approvals, by kind and name. Resources with the same spec share it.
    pub async fn approved_resources(
        &mut self,
        account_id: &AccountId,
        kinds: &[Kind],
    ) -> Result<Vec<ApprovedResource>, StoreError> {
        let mut values = values![account_id];
        values.extend(kinds.iter().map(|kind| kind.slug().into()));
        let given = placeholders(kinds);
        let sql = format!(
            "SELECT digest, body FROM contents WHERE digest IN \
             (SELECT resources.digest FROM resources WHERE account_id = $1 AND kind IN ({given}))"
        );
        let mut texts: BTreeMap<Digest, String> = BTreeMap::new();
        for row in &self.connection.rows_built(sql, values.clone()).await? {
            texts.insert(row.digest("digest")?, row.text("body")?);
        }
        let sql = format!(
            "SELECT kind, name, digest, owner_id, approved_digest, approval, updated_by, updated_at FROM resources \
             WHERE account_id = $1 AND kind IN ({given}) ORDER BY kind, name"
        );
        let rows = self.connection.rows_built(sql, values).await?;
        let mut specs: BTreeMap<(Kind, Digest), Arc<Spec>> = BTreeMap::new();
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            let (key, digest) = (read_key(row)?, row.digest("digest")?);
            let spec = match specs.get(&(key.kind, digest)) {
                Some(spec) => Arc::clone(spec),
                None => {
                    let text = texts.get(&digest).ok_or_else(|| StoreError::Broken {
                        column: format!("spec of a {}", key.kind),
                        value: format!("nothing is stored for {digest}"),
                    })?;
                    let spec = Arc::new(read_spec(key.kind, text)?);
                    specs.insert((key.kind, digest), Arc::clone(&spec));
                    spec
                }
            };
            let (owner_id, approval) = (row.optional_id("owner_id")?, read_approval(row)?);
            found.push(ApprovedResource { key, spec, digest, owner_id, approval });
        }
        Ok(found)
    }

    /// The version of each account's state: raised by every transaction that may have changed it.
    pub async fn state_versions(&mut self) -> Result<Vec<(AccountId, i64)>, StoreError> {
        let sql = "SELECT account_id, state_version FROM chains ORDER BY account_id";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        rows.iter().map(|row| Ok((row.id("account_id")?, row.number("state_version")?))).collect()
    }
}

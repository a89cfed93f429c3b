//! Deleting old rows, a limited number in each transaction: a transaction that deletes the rows of months would block
//! every other writer.

use crate::error::StoreError;
use crate::sql::Value;
use crate::write::Writing;

/// How many rows a transaction may still delete. Every `…_forget` function reduces it, and deletes nothing when it is
/// spent. If the budget is not spent after all of them, no old rows are left.
#[derive(Debug)]
pub struct RowBudget {
    left: usize,
}

impl RowBudget {
    /// A budget of this many rows.
    pub fn new(rows: usize) -> RowBudget {
        RowBudget { left: rows }
    }

    /// Whether the budget is used up, so that there may be more rows to delete.
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// How many rows are left.
    pub(crate) fn rows_left(&self) -> usize {
        self.left
    }

    pub(crate) fn spend(&mut self, rows: u64) {
        self.left = self.left.saturating_sub(usize::try_from(rows).unwrap_or(usize::MAX));
    }
}

/// Old rows of one table.
pub(crate) struct OldRows {
    /// The table.
    pub(crate) table: &'static str,
    /// The columns of its primary key.
    pub(crate) key: &'static str,
    /// The condition for old rows. The placeholder after its last one is the limit.
    pub(crate) condition: String,
}

impl OldRows {
    pub(crate) fn new(table: &'static str, key: &'static str, condition: impl Into<String>) -> OldRows {
        OldRows { table, key, condition: condition.into() }
    }
}

impl Writing {
    /// Deletes old rows within the budget and returns how many. `values` are those of the condition.
    pub(crate) async fn delete_old(
        &mut self,
        old: OldRows,
        mut values: Vec<Value>,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        if budget.is_spent() {
            return Ok(0);
        }
        values.push(budget.rows_left().into());
        let OldRows { table, key, condition } = old;
        // Neither database supports LIMIT in a DELETE.
        let sql = format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {condition} LIMIT ${})",
            values.len()
        );
        let deleted = self.connection.execute_built(sql, values).await?;
        budget.spend(deleted);
        Ok(deleted)
    }
}

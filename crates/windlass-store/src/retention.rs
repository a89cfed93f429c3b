//! Deleting old rows, a bounded number in each transaction: one that deletes months of them would keep every other writer
//! waiting.

use crate::error::StoreError;
use crate::sql::Value;
use crate::write::Writing;

/// How many rows a transaction may still delete. Every `…_forget` function takes from it, and deletes nothing once it is
/// spent. A budget that is not spent after them means that nothing old is left.
#[derive(Debug)]
pub struct RowBudget {
    left: usize,
}

impl RowBudget {
    /// A budget of so many rows.
    pub fn new(rows: usize) -> RowBudget {
        RowBudget { left: rows }
    }

    /// Whether there may be more to delete than it allowed.
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// How many rows are left.
    pub(crate) fn left(&self) -> usize {
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
    /// Which rows are old. The placeholder after its last one is the limit.
    pub(crate) condition: String,
}

impl OldRows {
    pub(crate) fn new(table: &'static str, key: &'static str, condition: impl Into<String>) -> OldRows {
        OldRows { table, key, condition: condition.into() }
    }
}

impl Writing {
    /// Deletes old rows as far as the budget goes, and says how many. `values` are those of the condition.
    pub(crate) async fn delete_old(
        &mut self,
        old: OldRows,
        mut values: Vec<Value>,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        if budget.is_spent() {
            return Ok(0);
        }
        values.push(budget.left().into());
        let OldRows { table, key, condition } = old;
        // Neither database limits a DELETE by itself.
        let sql = format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {condition} LIMIT ${})",
            values.len()
        );
        let deleted = self.connection.execute_built(sql, values).await?;
        budget.spend(deleted);
        Ok(deleted)
    }
}

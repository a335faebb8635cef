//! The rows that an overwrite replaces: all rows, or those of whole partitions.

use crate::error::{Result, ResultExt};
use crate::expr::bind::bind;
use crate::expr::{BoundLeaf, BoundPredicate, Op, Predicate};
use crate::format::row_change::RowChange;
use crate::paimon::commit::changes::Replaced;
use crate::paimon::state::{PAIMON, PaimonTable};
use crate::paimon::write::write_plan::is_over_partitions;
use crate::types::{Transform, Value};

impl PaimonTable {
    /// The rows that an overwrite by a filter replaces: all rows, or partitions with some values.
    pub(crate) fn replaced(&self, filter: &Predicate) -> Result<Replaced> {
        let bound = bind(filter, self.schema(), true)?;
        let no = || {
            let named: Vec<_> = self.table_schema().partition_fields().map(|f| format!("{} = …", f.name)).collect();
            PAIMON.lacks("overwriting rows other than whole partitions").hint(format!(
                "Name one value of a partition column, or of several joined by 'and': {}",
                named.join(" and ")
            ))
        };
        let leaves = match bound {
            BoundPredicate::True => return Ok(Replaced::Everything),
            BoundPredicate::And(clauses) => clauses,
            clause => vec![clause],
        };
        let value = |clause: BoundPredicate| -> Result<(String, Option<Value>)> {
            let BoundPredicate::Leaf(BoundLeaf { term, op, mut values }) = clause else { return Err(no()) };
            let column = self.table_schema().partition_fields().find(|f| f.id == term.field_id).ok_or_else(no)?;
            match (op, values.pop(), values.is_empty() && term.transform == Transform::Identity) {
                (Op::Eq, Some(value), true) => Ok((column.name.clone(), Some(value))),
                (Op::IsNull, None, true) => Ok((column.name.clone(), None)),
                _ => Err(no()),
            }
        };
        Ok(Replaced::Partition(leaves.into_iter().map(value).collect::<Result<_>>()?))
    }

    /// The rows that an overwrite by messages replaces.
    ///
    /// # Errors
    /// Those of [`PaimonTable::commit_overwrite`] that don't depend on the messages.
    pub fn check_overwrite(&self, change: &RowChange) -> Result<Replaced> {
        let replaced = match change {
            RowChange::Overwrite(filter) => self.replaced(filter).with("table", self.location())?,
            RowChange::OverwritePartitions => Replaced::PartitionsOfAdded,
            _ => return Err(PAIMON.lacks("this change of rows").with("table", self.location())),
        };
        if replaced != Replaced::Everything {
            self.check_partitions_replaced()?;
        }
        Ok(replaced)
    }

    /// Checks that no key can be in two partitions after an overwrite.
    pub(crate) fn check_partitions_replaced(&self) -> Result<()> {
        match is_over_partitions(self.table_schema()) {
            false => Ok(()),
            true => Err(PAIMON
                .lacks("overwriting partitions of a table whose primary key lacks partition columns")
                .with("table", self.location())
                .hint("Overwrite all rows, or append: new rows replace rows with the same key")),
        }
    }
}

//! Another definition of a table, without its rows. Earlier snapshots keep theirs.
//!
//! Java gives columns their ids again from 0. Here a column keeps its id if the table has it with the same type, and
//! others get new ids. So changes across the replacement never mix up columns.
//!
//! Source: Java's `AbstractCatalog.replaceTable`.

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::paimon::catalog::field_ids::{next_schema_id, renumbered};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::catalog::new_schema::{checked, first_schema};
use crate::paimon::catalog::warehouse::put_schema;
use crate::paimon::commit::changes::{Changes, Replaced};
use crate::paimon::commit::producer::Commit;
use crate::paimon::spec::data_type::DataField;
use crate::paimon::spec::schema::{SchemaParts, TableSchema};
use crate::types::temporal::now_ms;

/// How often the rows of others are removed that come in between.
const ATTEMPTS: usize = 10;

impl TableFolder {
    /// Removes all rows, and gives the table another schema and other options. `check` may refuse the new schema. These
    /// are two steps, as in Java: if the second one fails, the table has its old schema and no rows.
    ///
    /// # Errors
    /// `InvalidInput` for a schema that a table can't have; `Unsupported` for other partition columns; `CommitConflict`
    /// if others change the table meanwhile; those of `check`, of the commit and of the store.
    pub(crate) fn replace_definition(
        &self,
        parts: SchemaParts,
        check: &dyn Fn(&TableSchema) -> Result<()>,
    ) -> Result<()> {
        let next = self.next_definition(parts)?;
        check(&next)?;
        let mut emptied = self.empty()?;
        put_schema(self.store().as_ref(), &self.schema_path(next.id), &next).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => Error::conflict("another commit changed the schema meanwhile")
                .with("schema", next.id)
                .hint("The table has no rows any more. Replace it again"),
            _ => e,
        })?;
        for _ in 0..ATTEMPTS {
            // Rows of writers that know the new schema stay.
            if !self.has_older_rows(emptied, next.id)? {
                return Ok(());
            }
            emptied = self.empty()?;
        }
        Err(Error::conflict("other writers added rows all the time while the table was replaced"))
    }

    /// Whether a snapshot after `emptied` was written with an older schema than this one.
    fn has_older_rows(&self, emptied: Option<i64>, schema: i64) -> Result<bool> {
        let Some(latest) = self.latest_snapshot()? else { return Ok(false) };
        for id in emptied.unwrap_or(0).saturating_add(1)..=latest.id {
            if self.snapshot(id)?.schema_id < schema {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes all rows. Returns the number of the snapshot that has none; `None` if there is no snapshot.
    fn empty(&self) -> Result<Option<i64>> {
        let Some(latest) = self.latest_snapshot()? else { return Ok(None) };
        let commit = Commit::new(self, Changes::default()).overwriting(Replaced::Everything);
        let emptied = commit.run().into_result().with("snapshot", latest.id)?;
        Ok(Some(emptied.id))
    }

    /// The schema of a new definition, after all schemas of the table.
    fn next_definition(&self, parts: SchemaParts) -> Result<TableSchema> {
        let current = self.latest_schema()?;
        let mut parts = first_schema(parts, now_ms())?.parts();
        if parts.partition_keys != current.partition_keys {
            return Err(Error::unsupported("a table of Paimon can't be replaced by one with other partition columns")
                .with("now", current.partition_keys.join(", "))
                .with("given", parts.partition_keys.join(", "))
                .hint("Drop the table and create it again"));
        }
        for name in &parts.partition_keys {
            let new = parts.fields.iter().find(|field| field.name == *name);
            if let (Some(now), Some(new)) = (current.field(name), new)
                && !is_same_type(now, new)
            {
                return Err(Error::unsupported("a partition column of a table of Paimon can't get another type")
                    .with("column", name)
                    .with("now", now.ty.to_string())
                    .with("given", new.ty.to_string())
                    .hint("Drop the table and create it again"));
            }
        }
        parts.id = next_schema_id(current.id)?;
        let mut free = self.highest_field_id(&current)?.saturating_add(1);
        for field in &mut parts.fields {
            *field = match current.field(&field.name).filter(|known| is_same_type(known, field)) {
                Some(known) => DataField { id: known.id, ..field.clone() },
                None => renumbered(field, &mut free)?,
            };
        }
        parts.highest_field_id = free - 1;
        checked(parts, None)
    }
}

/// Whether two columns have the same type, which has no other fields in it.
fn is_same_type(a: &DataField, b: &DataField) -> bool {
    a.ty.to_primitive().is_some() && a.ty.kind == b.ty.kind
}

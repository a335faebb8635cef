//! Groups of files that each hold some columns of the same rows: their joint statistics, and the files that are
//! needed.
//!
//! Source: Java's `DataEvolutionFileStoreScan`.

use std::collections::HashMap;
use std::sync::Arc;

use super::buckets::PlannedEntry;
use super::files::{JudgedEntries, Mappings, bounds_of_values};
use super::input::{PaimonPlanInput, schema_of};
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::expr::bounds::{Bounds, ColumnBounds, Presence, may_match};
use crate::paimon::manifest::entries::PaimonEntryColumns;
use crate::paimon::spec::stats::{StatsBounds, StatsMapping};
use crate::types::metadata_columns::is_metadata;
use crate::types::{FieldId, PrimitiveType};

/// A file of a group, with the columns that it has.
struct ColumnFile<'a> {
    columns: &'a PaimonEntryColumns,
    row: usize,
    mapping: Arc<StatsMapping>,
    fields: Vec<FieldId>,
    /// Whether it has blobs or vectors.
    is_part: bool,
}

/// Bounds of the rows of a group. Each column comes from the newest file that has it. Nothing is known about columns
/// in files of blobs: pypaimon records there that no value is null, whatever the values are.
struct JoinedBounds<'a>(Vec<(Vec<FieldId>, Option<StatsBounds<'a>>)>);

impl JoinedBounds<'_> {
    /// `None` if no file has the column.
    fn of(&self, field: FieldId) -> Option<&Option<StatsBounds<'_>>> {
        self.0.iter().find(|(fields, _)| fields.contains(&field)).map(|(_, bounds)| bounds)
    }
}

impl Bounds for JoinedBounds<'_> {
    fn column<'a>(&'a self, field: FieldId, ty: &PrimitiveType) -> ColumnBounds<'a> {
        match self.of(field) {
            Some(Some(bounds)) => bounds.column(field, ty),
            Some(None) => ColumnBounds::default(),
            None if is_metadata(field) => ColumnBounds::default(),
            None => ColumnBounds { nulls: Presence::Everywhere, ..ColumnBounds::default() },
        }
    }

    fn nested_nulls(&self, field: FieldId) -> Presence {
        // Members of structs have ids of their own, which no file lists.
        self.of(field).and_then(Option::as_ref).map_or(Presence::Possible, |bounds| bounds.nested_nulls(field))
    }
}

/// Files that have some columns of the same rows each.
pub(crate) struct ColumnFiles<'a> {
    pub input: &'a PaimonPlanInput,
    pub batches: &'a [JudgedEntries],
}

impl<'a> ColumnFiles<'a> {
    /// Whether rows of a group may match.
    ///
    /// # Errors
    /// `CorruptTable` for statistics that can't be read, or a schema that does not exist.
    pub(crate) fn keeps_group(&self, filter: &BoundPredicate, group: &[PlannedEntry]) -> Result<bool> {
        // Nested columns have no statistics.
        let mut nested = false;
        filter.for_each_term(&mut |term| nested |= term.path.len() > 1);
        if *filter == BoundPredicate::True || nested {
            return Ok(true);
        }
        // Lists of columns have numbers within a batch.
        let mut mappings: HashMap<usize, Mappings> = HashMap::new();
        let part = |e: &PlannedEntry| self.part(*e, mappings.entry(e.batch).or_default());
        let mut parts = group.iter().map(part).collect::<Result<Vec<_>>>()?;
        parts.sort_by_key(|p| (p.is_part, std::cmp::Reverse(p.columns.max_sequence_number.get(p.row).copied())));
        let bounds = parts.iter().map(|p| {
            let known = (!p.is_part).then(|| bounds_of_values(&p.mapping, p.columns, p.row, filter)).transpose()?;
            Ok((p.fields.clone(), known))
        });
        Ok(may_match(filter, &JoinedBounds(bounds.collect::<Result<_>>()?)))
    }

    fn columns(&self, e: PlannedEntry) -> Result<&'a PaimonEntryColumns> {
        self.batches.get(e.batch).map(|judged| &judged.columns).ok_or_else(|| Error::internal("no such manifest"))
    }

    fn part(&self, e: PlannedEntry, mappings: &mut Mappings) -> Result<ColumnFile<'a>> {
        let columns = self.columns(e)?;
        let mapping = mappings.values(self.input, columns, e.row)?;
        let is_part = is_part(columns.name(e.row)?);
        Ok(ColumnFile { columns, row: e.row, mapping, fields: self.fields(e)?, is_part })
    }

    /// The top-level columns that a file has.
    fn fields(&self, e: PlannedEntry) -> Result<Vec<FieldId>> {
        let columns = self.columns(e)?;
        let schema = schema_of(self.input, columns.schema_id.get(e.row))?;
        let written = columns.write_cols_of(e.row);
        let has = |name: &String| written.is_none_or(|names| names.contains(name));
        Ok(schema.fields.iter().filter(|f| has(&f.name)).map(|f| f.id).collect())
    }

    /// The files of a group that have a column that is read or in the filter. At least one of them has all rows of the
    /// group, and gives their number.
    ///
    /// # Errors
    /// As [`ColumnFiles::keeps_group`].
    pub(crate) fn needed(&self, group: &[PlannedEntry]) -> Result<Vec<PlannedEntry>> {
        let input = self.input;
        let Some(projection) = &input.projection else { return Ok(group.to_vec()) };
        // A clause about a member of a struct needs the whole column.
        let asked = input.filter.field_ids();
        let asked = asked.iter().filter_map(|id| input.schema.columns().path(*id)?.first().map(|f| f.id));
        let wanted: Vec<FieldId> = projection.iter().copied().chain(asked).collect();
        let (mut out, mut whole, mut has_whole) = (Vec::new(), None, false);
        for e in group {
            let is_whole = !is_part(self.columns(*e)?.name(e.row)?);
            if self.fields(*e)?.iter().any(|id| wanted.contains(id)) {
                out.push(*e);
                has_whole |= is_whole;
            } else if is_whole && whole.is_none() {
                whole = Some(*e);
            }
        }
        if !has_whole {
            out.extend(whole);
        }
        Ok(out)
    }
}

/// Whether a file has blobs or vectors. Such a file may have a part of the rows of other files.
pub(crate) fn is_part(name: &str) -> bool {
    name.ends_with(".blob") || name.contains(".vector.")
}

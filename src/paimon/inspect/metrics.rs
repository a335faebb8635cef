//! `readable_metrics`: what is recorded of the columns of files, with bounds as values of the columns' types.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, new_empty_array};
use arrow::compute::concat;
use arrow::datatypes::{DataType as ArrowType, Field};

use super::columns::NamedArray;
use crate::data::arrow::schema::arrow_primitive;
use crate::data::arrow::value_array::{structs, values};
use crate::error::{Error, Result};
use crate::expr::bounds::Bounds;
use crate::paimon::manifest::live::LiveEntries;
use crate::paimon::plan::files::{Mappings, bounds_of_keys};
use crate::paimon::plan::input::PaimonPlanInput;
use crate::paimon::spec::data_type::DataField;
use crate::paimon::spec::stats::{StatsBounds, StatsMapping};
use crate::types::{FieldId, PrimitiveType, ValueRef};

/// A column of the table that files can have bounds of.
struct Measured {
    id: FieldId,
    ty: PrimitiveType,
    /// Its struct: the number of nulls and both bounds.
    field: Field,
}

/// The metrics of files, by column of the table now.
pub(super) struct ReadableMetrics {
    columns: Vec<Measured>,
    /// The struct of all columns.
    field: Field,
    batches: Vec<ArrayRef>,
}

impl ReadableMetrics {
    /// # Errors
    /// `InvalidInput` for a type that Arrow can't hold.
    pub(super) fn new(fields: &[DataField]) -> Result<ReadableMetrics> {
        let measured = |field: &DataField| {
            let ty = field.ty.to_primitive().filter(|ty| *ty != PrimitiveType::Variant)?;
            Some(Measured::new(field, ty))
        };
        let columns = fields.iter().filter_map(measured).collect::<Result<Vec<_>>>()?;
        let members = columns.iter().map(|c| c.field.clone()).collect::<Vec<_>>();
        let field = Field::new("readable_metrics", ArrowType::Struct(members.into()), false);
        Ok(ReadableMetrics { columns, field, batches: Vec::new() })
    }

    /// Adds the files of a manifest. The mappings are those of its entries.
    ///
    /// # Errors
    /// `CorruptTable` for statistics that can't be read, and if a file's schema is missing.
    pub(super) fn add(&mut self, input: &PaimonPlanInput, live: &LiveEntries, mappings: &mut Mappings) -> Result<()> {
        let rows = || live.rows.iter().map(|row| *row as usize);
        let places = rows().map(|row| Places::new(input, live, row, mappings)).collect::<Result<Vec<_>>>()?;
        let recorded = rows().zip(&places).map(|(row, places)| FileStats::new(places, live, row));
        let recorded = recorded.collect::<Result<Vec<_>>>()?;
        let arrays = self.columns.iter().map(|column| column.array(&recorded)).collect::<Result<Vec<_>>>()?;
        self.batches.push(structs(&self.field, arrays, recorded.len())?);
        Ok(())
    }

    /// The column with the metrics of all files.
    ///
    /// # Errors
    /// `Unsupported` if the bounds of a column exceed 2 GiB.
    pub(super) fn finish(self) -> Result<NamedArray> {
        let batches = self.batches.iter().map(|batch| batch.as_ref() as &dyn Array).collect::<Vec<_>>();
        let whole = match batches.is_empty() {
            true => new_empty_array(self.field.data_type()),
            false => {
                concat(&batches).map_err(|e| Error::unsupported("the bounds of a column exceed 2 GiB").because(e))?
            }
        };
        Ok(("readable_metrics", false, whole))
    }
}

/// Where the statistics of a file have the table's columns.
struct Places {
    keys: Arc<StatsMapping>,
    values: Arc<StatsMapping>,
}

impl Places {
    fn new(input: &PaimonPlanInput, live: &LiveEntries, row: usize, mappings: &mut Mappings) -> Result<Places> {
        let keys = mappings.keys(input, &live.columns, row)?;
        Ok(Places { keys, values: mappings.values(input, &live.columns, row)? })
    }
}

/// The statistics of a file.
struct FileStats<'a> {
    keys: StatsBounds<'a>,
    values: StatsBounds<'a>,
}

impl<'a> FileStats<'a> {
    fn new(places: &'a Places, live: &'a LiveEntries, row: usize) -> Result<FileStats<'a>> {
        let rows = live.columns.row_count.get(row).copied().unwrap_or_default();
        Ok(FileStats {
            keys: bounds_of_keys(&places.keys, &live.columns, row)?,
            values: StatsBounds::new(&places.values, live.columns.value_stats.get(row), rows)?,
        })
    }

    fn nulls(&self, column: FieldId) -> Option<i64> {
        self.values.null_count(column).or_else(|| self.keys.null_count(column))
    }

    /// Both bounds of a column: those of keys, which are longer and which no option leaves out, else those of values.
    fn bounds(&self, column: FieldId, ty: &PrimitiveType) -> (Option<ValueRef<'_>>, Option<ValueRef<'_>>) {
        let of_key = self.keys.column(column, ty);
        let is_known = of_key.lower.is_some() && of_key.upper.is_some();
        let known = if is_known { of_key } else { self.values.column(column, ty) };
        (known.lower, known.upper)
    }
}

impl Measured {
    fn new(field: &DataField, ty: PrimitiveType) -> Result<Measured> {
        let bound = |name| Ok(Field::new(name, arrow_primitive(&ty)?, true));
        let nulls = Field::new("null_value_count", ArrowType::Int64, true);
        let members = vec![nulls, bound("lower_bound")?, bound("upper_bound")?];
        let field_of_metrics = Field::new(&field.name, ArrowType::Struct(members.into()), false);
        Ok(Measured { id: field.id, ty, field: field_of_metrics })
    }

    fn array(&self, of: &[FileStats<'_>]) -> Result<ArrayRef> {
        let nulls = of.iter().map(|recorded| recorded.nulls(self.id)).collect::<Int64Array>();
        let (lower, upper): (Vec<_>, Vec<_>) = of.iter().map(|recorded| recorded.bounds(self.id, &self.ty)).unzip();
        let members = vec![Arc::new(nulls) as ArrayRef, values(&self.ty, &lower)?, values(&self.ty, &upper)?];
        structs(&self.field, members, of.len())
    }
}

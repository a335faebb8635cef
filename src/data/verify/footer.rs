//! The facts in the footer of a data file, in the terms of the table.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::data::avro::read::AvroSource;
use crate::data::blobs::read::read_index;
use crate::data::orc::file::OrcFile;
use crate::data::orc::read::OrcSource;
use crate::data::parquet::file::ParquetFile;
use crate::data::parquet::import::importer::trusted_leaves;
use crate::data::read::bucket_file_columns::columns_of;
use crate::data::read::constants::Constants;
use crate::data::read::file_columns::{FileColumn, FileColumns};
use crate::data::read::guard::guard;
use crate::data::read::project::Projection;
use crate::data::read::source::FormatFile;
use crate::data::write::metrics::{MetricsConfig, metrics_by_leaf, split_offsets};
use crate::error::{Error, Result};
use crate::format::task::{ColumnMetrics, DataFile, FileFormat, ReadContext};
use crate::store::Store;
use crate::types::{Field, FieldId};

/// What a footer says. Facts that the format does not keep there are `None`.
#[derive(Debug, Default)]
pub(crate) struct FooterFacts {
    /// The length of the file.
    pub bytes: Option<u64>,
    /// The number of rows.
    pub rows: Option<i64>,
    /// Whether its columns carry field ids.
    pub has_ids: bool,
    /// Field ids that two columns have.
    pub twice: Vec<FieldId>,
    /// Why its columns can't be read as those of the table.
    pub misfit: Option<String>,
    /// The metrics of columns with trusted statistics.
    pub metrics: ColumnMetrics,
    /// Where its row groups begin.
    pub group_starts: Option<Vec<i64>>,
}

/// Reads the footer of a file that the table records.
///
/// # Errors
/// `CorruptTable` if it is not an intact file of its format; `Unsupported` if it is encrypted; the store's errors.
pub(crate) fn file_facts(
    store: &Arc<dyn Store>,
    context: &ReadContext,
    file: &DataFile,
    path: &str,
) -> Result<FooterFacts> {
    match file.format {
        FileFormat::Parquet => {
            let parquet = ParquetFile::open(store, path)?;
            let (columns, mut facts) = described(parquet.metadata.schema(), context, file)?;
            let footer = parquet.footer();
            facts.bytes = Some(parquet.size());
            facts.rows = Some(footer.row_groups().iter().map(|g| g.num_rows()).sum());
            let ids = trusted_leaves(&context.schema, &columns);
            facts.metrics = guard(|| {
                let id_of = |leaf: usize| ids.get(&leaf).copied();
                Ok(metrics_by_leaf(&context.schema, &MetricsConfig::full(), footer, &BTreeMap::new(), &id_of))
            })?;
            facts.group_starts = Some(guard(|| Ok(split_offsets(footer)))?);
            Ok(facts)
        }
        FileFormat::Orc => {
            let orc = OrcFile::open(store, path)?;
            let rows = orc.stripes().iter().map(|s| s.rows).fold(0, u64::saturating_add);
            let source = OrcSource::open(store, path)?;
            let (_, facts) = described(FormatFile::schema(&source), context, file)?;
            Ok(FooterFacts { bytes: Some(orc.size()), rows: i64::try_from(rows).ok(), ..facts })
        }
        FileFormat::Avro => {
            let source = AvroSource::open(store, path)?;
            Ok(described(FormatFile::schema(&source), context, file)?.1)
        }
        FileFormat::Puffin => Err(Error::corrupt("a Puffin file is listed as a file of rows")),
        FileFormat::Blob => {
            let (_, size) = read_index(store.as_ref(), path, u64::try_from(file.record_count).unwrap_or(0))?;
            Ok(FooterFacts { bytes: Some(size), rows: Some(file.record_count), ..FooterFacts::default() })
        }
    }
}

/// The columns of the table that a file has to have: those that it was written with.
fn wanted(context: &ReadContext, file: &DataFile) -> Result<Vec<Field>> {
    let written = match (&context.buckets, &file.bucket_file) {
        (Some(buckets), Some(bucket_file)) if bucket_file.write_columns.is_some() => {
            Some(columns_of(buckets, bucket_file)?.into_iter().map(|field| field.id).collect::<Vec<_>>())
        }
        _ => None,
    };
    let is_written = |field: &&Field| written.as_ref().is_none_or(|ids| ids.contains(&field.id));
    Ok(context.schema.fields.iter().filter(is_written).cloned().collect())
}

/// The columns of a file with their ids, and the facts that follow from them.
fn described(
    schema: &arrow::datatypes::Schema,
    context: &ReadContext,
    file: &DataFile,
) -> Result<(FileColumns, FooterFacts)> {
    let mut columns = FileColumns::new(schema);
    let has_ids = columns.has_ids();
    columns.identify(context, file)?;
    let constants = Constants::of(&Arc::new(file.clone()));
    let misfit = Projection::plan(&wanted(context, file)?, &columns, &constants).err();
    let (mut seen, mut twice) = (std::collections::HashSet::new(), Vec::new());
    let mut pending: Vec<&FileColumn> = columns.iter().collect();
    while let Some(column) = pending.pop() {
        pending.extend(&column.children);
        twice.extend(column.id.filter(|id| !seen.insert(*id)));
    }
    let misfit = misfit.map(|e| crate::format::diagnosis::finding::reason(&e));
    Ok((columns, FooterFacts { has_ids, twice, misfit, ..FooterFacts::default() }))
}

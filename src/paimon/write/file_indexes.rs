//! File indexes of new files: in the manifest if they are small, otherwise in files next to the data files.
//!
//! Source: Java's `FileIndexOptions`, `DataFileIndexWriter`.

use std::sync::Arc;

use arrow::array::ArrayRef;

use crate::codec::file_index::{IndexBytes, IndexKind, IndexOptions, IndexWriter, IndexedType, encode_file_index};
use crate::data::arrow::array_value::value_at;
use crate::data::write::new_file::write_all;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::paimon::plan::files::indexed_type;
use crate::paimon::spec::schema::TableSchema;
use crate::store::{Store, Unsynced};
use crate::types::PrimitiveType;
use crate::types::options::Options;

const PREFIX: &str = "file-index.";
const COLUMNS: &str = ".columns";
const THRESHOLD: &str = "file-index.in-manifest-threshold";

/// One index of one column.
#[derive(Clone, Debug)]
struct IndexedColumn {
    name: String,
    /// The place of the column among those of the table.
    at: usize,
    ty: PrimitiveType,
    indexed: IndexedType,
    kind: IndexKind,
    options: IndexOptions,
}

impl IndexedColumn {
    fn writer(&self) -> Result<IndexWriter> {
        let writer = IndexWriter::new(&self.kind, self.indexed, self.options.clone());
        writer.with("column", &self.name).with("file index", self.kind.name())
    }
}

/// The indexes that each file gets.
#[derive(Debug)]
pub(crate) struct IndexPlan {
    columns: Vec<IndexedColumn>,
    /// Larger indexes have files of their own.
    threshold: usize,
    store: Arc<dyn Store>,
}

/// The stored indexes of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexResult {
    pub embedded: Option<Vec<u8>>,
    /// The name of the separate index file.
    pub own_file: Option<String>,
}

impl IndexPlan {
    /// The indexes of a table; `None` if it asks for no index.
    ///
    /// # Errors
    /// `InvalidInput` for options that can't be read, columns that do not exist, and types without such an index;
    /// `Unsupported` for indexes of members of maps.
    pub(crate) fn of(
        table: &TableSchema,
        options: &Options<'_>,
        store: Arc<dyn Store>,
    ) -> Result<Option<Arc<IndexPlan>>> {
        let columns = planned(options).map(|(key, name, kind)| column(table, options, name, kind).with("option", key));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        if columns.is_empty() {
            return Ok(None);
        }
        columns.iter().try_for_each(|column| column.writer().map(drop))?;
        let threshold = usize::try_from(options.bytes(THRESHOLD, 500)?).unwrap_or(0);
        Ok(Some(Arc::new(IndexPlan { columns, threshold, store })))
    }

    /// The same indexes, for files that only have these columns of the table.
    ///
    /// # Errors
    /// `Unsupported` if an indexed column is not among them.
    pub(crate) fn among(&self, places: &[usize]) -> Result<Arc<IndexPlan>> {
        let column = |column: &IndexedColumn| {
            let at = places.iter().position(|place| *place == column.at);
            let missing = || Error::unsupported("file indexes of values of type BLOB are not written");
            Ok(IndexedColumn { at: at.ok_or_else(|| missing().with("column", &column.name))?, ..column.clone() })
        };
        let columns = self.columns.iter().map(column).collect::<Result<_>>()?;
        Ok(Arc::new(IndexPlan { columns, threshold: self.threshold, store: self.store.clone() }))
    }

    /// Whether indexes of this size belong into the manifest.
    pub(crate) fn is_small(&self, bytes: &[u8]) -> bool {
        bytes.len() <= self.threshold
    }

    /// Whether the indexed columns have the same names and types in the schema of a file.
    pub(crate) fn fits(&self, table: &TableSchema, of_file: &TableSchema) -> bool {
        self.columns.iter().all(|column| {
            table.fields.get(column.at).is_some_and(|now| {
                of_file.field_by_id(now.id).is_some_and(|then| then.name == now.name && then.ty.kind == now.ty.kind)
            })
        })
    }

    /// Indexes of a new file.
    ///
    /// # Errors
    /// As [`IndexPlan::of`].
    pub(crate) fn begin(self: &Arc<Self>) -> Result<FileIndexes> {
        let writers = self.columns.iter().map(IndexedColumn::writer).collect::<Result<_>>()?;
        Ok(FileIndexes { plan: self.clone(), writers })
    }
}

/// The indexes that options ask for: the option, the column's name, and the kind of index.
fn planned<'o>(options: &Options<'o>) -> impl Iterator<Item = (&'o str, &'o str, IndexKind)> {
    let options = *options;
    let named = |key: &'o String| Some((key.as_str(), key.strip_prefix(PREFIX)?.strip_suffix(COLUMNS)?));
    options.0.keys().filter_map(named).flat_map(move |(key, kind)| {
        let kind = IndexKind::of(kind.to_owned());
        options.list(key).into_iter().map(move |name| (key, name, kind.clone()))
    })
}

/// The faults of the indexes that options ask for. Indexes of members of maps are not faults: another writer may
/// write them.
pub(crate) fn index_faults(table: &TableSchema, options: &Options<'_>) -> Vec<Error> {
    let own = planned(options).filter(|(_, name, _)| !name.contains('['));
    let wrong = own.filter_map(|(key, name, kind)| {
        let index = column(table, options, name, kind.clone()).and_then(|column| column.writer().map(drop));
        index.err().map(|e| e.with("option", key).with("column", name).with("file index", kind.name()))
    });
    wrong.collect()
}

fn column(table: &TableSchema, options: &Options<'_>, name: &str, kind: IndexKind) -> Result<IndexedColumn> {
    if name.contains('[') {
        return Err(Error::unsupported("file indexes of keys of maps are not written yet").with("column", name));
    }
    let none = || Error::invalid(format!("the table has no column '{name}'"));
    let at = table.fields.iter().position(|f| f.name == name).ok_or_else(none)?;
    let field = table.fields.get(at).ok_or_else(none)?;
    let parts = || Error::invalid(format!("a column of type {} can't be indexed", field.ty)).with("column", name);
    let (ty, indexed) = field.ty.to_primitive().zip(indexed_type(&field.ty)).ok_or_else(parts)?;
    let own = |option: &str| format!("{PREFIX}{}.{name}.{option}", kind.name());
    let mut settings = IndexOptions::default();
    let bad = |key: &str| Error::invalid("no file index uses the option").with("option", key);
    if let Some(items) = options.integer(&own("items"))? {
        settings.items = u32::try_from(items).map_err(|_| bad(&own("items")))?;
    }
    if let Some(rate) = options.get(&own("fpp")) {
        settings.false_positives = rate.trim().parse().map_err(|_| bad(&own("fpp")))?;
    }
    if let Some(version) = options.integer(&own("version"))? {
        settings.version = u8::try_from(version).map_err(|_| bad(&own("version")))?;
    }
    let size = |option: &str| -> Result<Option<usize>> {
        match options.get(&own(option)) {
            None => Ok(None),
            Some(_) => Ok(Some(usize::try_from(options.bytes(&own(option), 0)?).unwrap_or(0))),
        }
    };
    settings.block_bytes = size("index-block-size")?.unwrap_or(settings.block_bytes);
    settings.chunk_bytes = size("chunk-size")?;
    Ok(IndexedColumn { name: name.to_owned(), at, ty, indexed, kind, options: settings })
}

/// The indexes of one file, in progress.
pub(crate) struct FileIndexes {
    plan: Arc<IndexPlan>,
    writers: Vec<IndexWriter>,
}

impl FileIndexes {
    /// Adds rows with these columns: those of the table.
    ///
    /// # Errors
    /// `Internal` for columns of another type.
    pub(crate) fn add(&mut self, columns: &[ArrayRef]) -> Result<()> {
        for (column, writer) in self.plan.columns.iter().zip(&mut self.writers) {
            let array = columns.get(column.at).ok_or_else(|| Error::internal("an indexed column is not written"))?;
            for row in 0..array.len() {
                writer.push(value_at(array, row, &column.ty)).with("column", &column.name)?;
            }
        }
        Ok(())
    }

    /// Completes the indexes. `unsynced` makes their file durable, if they have one.
    ///
    /// # Errors
    /// `Unsupported` for indexes that are too large; those of the store.
    pub(crate) fn finish(self, data_file: &str, unsynced: &Arc<Unsynced>) -> Result<IndexResult> {
        let plan = self.plan.clone();
        match self.encoded()? {
            None => Ok(IndexResult::default()),
            Some(bytes) if plan.is_small(&bytes) => Ok(IndexResult { embedded: Some(bytes), own_file: None }),
            Some(bytes) => {
                let path = index_path(data_file);
                let mut file = plan.store.create_unsynced(&path, unsynced)?;
                write_all(file.as_mut(), &path, &bytes)?;
                file.finish().map_err(|e| match e.kind() {
                    // The name is that of another file. The data file, which has a name of its own, can be deleted.
                    ErrorKind::AlreadyExists => Error::store("the name of an index file is taken").because(e),
                    // A file that can't be synced may have its name already.
                    _ => {
                        plan.store.discard(vec![path.clone()]);
                        e
                    }
                })?;
                Ok(IndexResult { embedded: None, own_file: path.rsplit('/').next().map(str::to_owned) })
            }
        }
    }

    /// The completed indexes as bytes; `None` without any.
    ///
    /// # Errors
    /// `Unsupported` for indexes that are too large.
    pub(crate) fn encoded(self) -> Result<Option<Vec<u8>>> {
        let mut columns = IndexBytes::new();
        for (column, writer) in self.plan.columns.iter().zip(self.writers) {
            if let Some(bytes) = writer.finish().with("column", &column.name)? {
                columns.entry(column.name.clone()).or_default().push((column.kind.clone(), Some(bytes)));
            }
        }
        if columns.is_empty() { Ok(None) } else { encode_file_index(&columns).map(Some) }
    }
}

/// Where the index of a data file is.
pub(crate) fn index_path(data_file: &str) -> String {
    format!("{data_file}.index")
}

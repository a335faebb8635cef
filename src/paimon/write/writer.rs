//! The writer of a table: rows to new data files.
//!
//! [`PaimonWriter`] hands rows to [`DataWriter`], which parts, collects and writes them as it does for Iceberg. It
//! adds Paimon's own parts. `append_rows` and `keyed_rows` are the rows of tables without and with a primary key.
//! `buckets` gives them their bucket, and `limits` checks their values. `names` says where files are, and
//! `properties` how they are written. `facts` and `stats` make the records for manifests. `written` knows the
//! contents of existing buckets.
//!
//! Rows of a table with a primary key are sorted and merged by key, all together. So a writer makes one sorted run of
//! each bucket, with any amount of memory.
//!
//! Source: Java's `AppendOnlyWriter`, `MergeTreeWriter`, `KeyValueFileWriterFactory`.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::default_values::Defaults;
use super::facts::FoundFacts;
use super::file_options::{changelog_options, postponed_options};
use super::keyed::key_buckets::KeyBuckets;
use super::keyed::keyed_rows::{Handed, Role};
use super::new_files::Recorder;
use super::write_plan::{Keyed, RewriteState, WriteKind, WritePlan};
use super::written::WrittenBuckets;
use crate::data::write::context::RowOrder;
use crate::data::write::writer::DataWriter;
use crate::error::{Error, Result};
use crate::format::task::{BucketHashes, NewBucketFile};
use crate::paimon::spec::bucket::POSTPONE_BUCKET;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::state::PaimonTable;
use crate::parallel::locked;
use crate::types::options::Options;

/// The result of a writer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenFiles {
    /// Data files.
    pub added: Vec<NewBucketFile>,
    /// Files of the changelog.
    pub changelog: Vec<NewBucketFile>,
    /// The keys that got dynamic buckets.
    pub hashes: Vec<BucketHashes>,
}

/// Where rows come from.
enum Origin {
    New,
    /// The table.
    Stored,
    /// Files that another writer made.
    Writer(RewriteState),
}

/// Writes rows into new data files of a table. Nothing of it is public before a commit adds the files.
pub struct PaimonWriter {
    writer: DataWriter,
    /// The same rows as they came in.
    changelog: Option<DataWriter>,
    recorder: Recorder,
    /// Gives rows with keys their buckets.
    buckets: Option<KeyBuckets>,
}

impl PaimonWriter {
    /// A writer for a table's rows. With `replaces`, the commit of the files replaces existing rows, so that the table
    /// may have got another number of buckets.
    ///
    /// # Errors
    /// `InvalidInput` for options that can't be read or contradict each other; `Unsupported` for tables, types and
    /// formats that are not written yet; those of reading existing files.
    pub fn new(table: &PaimonTable, kind: WriteKind, replaces: bool) -> Result<PaimonWriter> {
        PaimonWriter::open(table, kind, replaces, Origin::New)
    }

    /// A writer for rows that were read from the table. Their nulls stay nulls, even if columns have default values.
    ///
    /// # Errors
    /// As [`PaimonWriter::new`].
    pub fn of_stored(table: &PaimonTable, kind: WriteKind) -> Result<PaimonWriter> {
        PaimonWriter::open(table, kind, false, Origin::Stored)
    }

    /// A writer for rows that another writer wrote for an earlier version of the table. Their kinds are in a column
    /// after those of the table. `replaces` as in [`PaimonWriter::new`].
    ///
    /// # Errors
    /// As [`PaimonWriter::new`].
    pub fn of_written(
        table: &PaimonTable,
        kind: WriteKind,
        replaces: bool,
        other: RewriteState,
    ) -> Result<PaimonWriter> {
        PaimonWriter::open(table, kind, replaces, Origin::Writer(other))
    }

    fn open(table: &PaimonTable, kind: WriteKind, replaces: bool, origin: Origin) -> Result<PaimonWriter> {
        let schema = table.table_schema().clone();
        // Other rows got their default values when they came.
        let (are_new, is_rewrite) = (matches!(origin, Origin::New), matches!(origin, Origin::Writer(_)));
        let defaults = &if are_new { Defaults::of(&schema)? } else { Defaults::default() };
        let options = schema.options();
        check_written(&schema, kind)?;
        let count = options.bucket()?;
        let keyed = schema.has_primary_key();
        // Sequence numbers continue after those of the bucket.
        let written = match (keyed && count != POSTPONE_BUCKET || count > 0) && !replaces {
            true => WrittenBuckets::read(table.metadata())?,
            false => WrittenBuckets::default(),
        };
        let own = if count == POSTPONE_BUCKET { postponed_options(&schema) } else { schema.options.clone() };
        let plan = WritePlan::new(table, &schema, defaults, count, Options(&own))?;
        let other = if let Origin::Writer(other) = origin { other } else { RewriteState::default() };
        let buckets = match keyed {
            true => Some(plan.key_buckets(table, kind, replaces, other)?),
            false => None,
        };
        let found = Arc::new(FoundFacts::new(table.folder().store().clone()));
        let handed = (plan.writes_changelog() && !replaces).then(Handed::default);
        let files = match &buckets {
            Some(buckets) => {
                let keyed = Keyed { kind, is_rewrite, buckets: buckets.clone(), written: &written, found: &found };
                plan.keyed(&keyed, if plan.postpones { Role::Postponed } else { Role::Data(handed.clone()) })?
            }
            None => (plan.append(&found, are_new)?, RowOrder::Any),
        };
        let writer = plan.writer(table, is_rewrite, files)?;
        let mut changelog = None;
        if let (Some(handed), Some(buckets)) = (handed, &buckets) {
            let own = changelog_options(&own);
            let plan = WritePlan::new(table, &schema, defaults, count, Options(&own))?;
            let keyed = Keyed { kind, is_rewrite, buckets: buckets.clone(), written: &written, found: &found };
            changelog = Some(plan.writer(table, is_rewrite, plan.keyed(&keyed, Role::Changelog(handed))?)?);
        }
        let total_buckets = if count > 0 || count == POSTPONE_BUCKET { count } else { -1 };
        let (bucket, checks_totals) = (plan.bucket(), count > 0 && !replaces);
        let recorder = Recorder {
            table: schema.clone(),
            found,
            written,
            total_buckets,
            bucket,
            checks_totals,
            numbers_files: options.data_evolution()?,
            write_columns: schema.columns_without_blobs(),
        };
        Ok(PaimonWriter { writer, changelog, recorder, buckets })
    }

    /// Adds rows. After an error the writer takes no more, and its files can't be committed.
    ///
    /// # Errors
    /// `InvalidInput` if the batch does not fit the table, naming the column; `Store` if a file can't be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch)?;
        self.changelog.as_mut().map_or(Ok(()), |changelog| changelog.write(batch))
    }

    /// Completes all files; empty if there were no rows.
    ///
    /// # Errors
    /// As [`PaimonWriter::write`]; `InvalidInput` if the table's number of buckets was changed and the rows don't
    /// replace existing ones.
    pub fn finish(self) -> Result<WrittenFiles> {
        let PaimonWriter { mut writer, changelog: mut logger, mut recorder, buckets } = self;
        // An error in one of the steps drops both writers, which then delete the files of both.
        let added = recorder.record(writer.end()?)?;
        let changelog = match &mut logger {
            Some(logger) => recorder.record(logger.end()?)?,
            None => Vec::new(),
        };
        let hashes = match &buckets {
            Some(KeyBuckets::Dynamic(dynamic)) => locked(dynamic).written()?,
            _ => Vec::new(),
        };
        recorder.found.release();
        writer.release();
        if let Some(logger) = logger {
            logger.release();
        }
        Ok(WrittenFiles { added, changelog, hashes })
    }

    /// The state that another writer needs to write the rows of this one again.
    pub fn rewritten(&self) -> RewriteState {
        match &self.buckets {
            Some(KeyBuckets::Anywhere(places)) => RewriteState { moved: locked(places).moved() },
            _ => RewriteState::default(),
        }
    }

    /// Deletes everything written.
    ///
    /// # Errors
    /// The error of the first file that could not be deleted. The other files are tried too.
    pub fn abort(self) -> Result<()> {
        let changelog = self.changelog.map_or(Ok(()), DataWriter::abort);
        self.writer.abort().and(changelog)
    }
}

/// Refuses tables that are not supported yet.
fn check_written(schema: &TableSchema, kind: WriteKind) -> Result<()> {
    let options = schema.options();
    let no = |what: &str| Err(Error::unsupported(format!("{what} are not written yet")));
    if !schema.has_primary_key() && kind == WriteKind::Delete {
        return Err(Error::invalid("rows are deleted by their primary key, but the table has no primary key"));
    }
    check_blobs(schema)?;
    if options.get("data-file.external-paths").is_some_and(|p| !p.trim().is_empty()) {
        return no("files outside of the table");
    }
    Ok(())
}

/// Refuses columns of type BLOB that can't be written.
fn check_blobs(schema: &TableSchema) -> Result<()> {
    let blobs: Vec<_> = schema.fields.iter().filter(|f| f.ty.has_blobs()).collect();
    let Some(first) = blobs.first() else { return Ok(()) };
    let in_files = schema.blob_places();
    let why = if !schema.options().data_evolution()? || schema.has_primary_key() {
        "columns of type BLOB are only written to tables with the option data-evolution.enabled and without primary key"
    } else if in_files.len() < blobs.len() {
        "descriptors, views, lists and maps of values of type BLOB are not written yet"
    } else if in_files.len() == schema.fields.len() {
        "tables that only have columns of type BLOB are not written yet"
    } else {
        return Ok(());
    };
    Err(Error::unsupported(why).with("column", &first.name))
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;

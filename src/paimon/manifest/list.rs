//! Manifest lists: one entry for each manifest, with the ranges by which planning skips it.
//!
//! Source: Paimon specification, "Manifest List"; Java's `ManifestFileMeta` for the ranges.

use std::sync::Arc;

use crate::codec::avro::{
    Budget, Compiled, Cursor, Member, Node, OpenFile, Optional, RecordStep, UnknownMembers, UnknownValues, compile,
};
use crate::error::{Error, Result};
use crate::paimon::spec::partition::checked_name;
use crate::paimon::spec::stats::SimpleStats;
use crate::paimon::spec::stats_decode::{RawStats, StatsSteps, is_stats, is_text_list, read_texts, require};

/// A manifest of a snapshot. A range of `None` is unknown: the manifest may contain anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaimonManifestFile {
    /// Its name in the folder of manifests.
    pub file_name: String,
    /// Its length.
    pub file_size: i64,
    /// Entries that add a file.
    pub added_files: i64,
    /// Entries that delete one.
    pub deleted_files: i64,
    /// Statistics of its entries' partitions.
    pub partition_stats: SimpleStats,
    /// The schema it was written with.
    pub schema_id: i64,
    /// The least and the greatest bucket.
    pub buckets: Option<(i32, i32)>,
    /// The least and the greatest level.
    pub levels: Option<(i32, i32)>,
    /// The least and the greatest row id, both ends included.
    pub row_ids: Option<(i64, i64)>,
    /// The total number of buckets of all its entries, if it is one number (since Paimon 2).
    pub total_buckets: Option<i32>,
    /// Extra files of the manifest, such as an index of its blocks (since Paimon 2). Names in the folder of manifests.
    pub extra_files: Option<Vec<String>>,
    /// Members of later versions, which are kept when the list is written again.
    pub unknown: Option<UnknownValues>,
}

impl PaimonManifestFile {
    /// Compares the manifest with its record in the list. It is refused if it is shorter and has fewer entries.
    /// Otherwise a file that was cut off between two blocks looks whole.
    ///
    /// # Errors
    /// `CorruptTable` if it is only a part of the recorded file.
    pub(crate) fn check_whole<B: AsRef<[u8]>>(&self, file: &OpenFile<B>) -> Result<()> {
        let (bytes, entries) = (file.size_bytes() as u64, file.record_count());
        let (listed_bytes, listed) =
            (self.file_size as u64, self.added_files.saturating_add(self.deleted_files) as u64);
        if bytes >= listed_bytes || entries >= listed {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "the manifest has {bytes} bytes and {entries} entries; the manifest list records {listed_bytes} bytes and \
             {listed} entries"
        ))
        .hint("The file was cut off or replaced. Restore it, or go back to an older snapshot"))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ManifestListColumn {
    FileName,
    FileSize,
    AddedFiles,
    DeletedFiles,
    PartitionStats,
    SchemaId,
    MinBucket,
    MaxBucket,
    MinLevel,
    MaxLevel,
    MinRowId,
    MaxRowId,
    TotalBuckets,
    ExtraFiles,
}

/// Paimon's members have no ids.
const COLUMNS: &[(i32, &str, ManifestListColumn)] = &[
    (0, "_FILE_NAME", ManifestListColumn::FileName),
    (0, "_FILE_SIZE", ManifestListColumn::FileSize),
    (0, "_NUM_ADDED_FILES", ManifestListColumn::AddedFiles),
    (0, "_NUM_DELETED_FILES", ManifestListColumn::DeletedFiles),
    (0, "_PARTITION_STATS", ManifestListColumn::PartitionStats),
    (0, "_SCHEMA_ID", ManifestListColumn::SchemaId),
    (0, "_MIN_BUCKET", ManifestListColumn::MinBucket),
    (0, "_MAX_BUCKET", ManifestListColumn::MaxBucket),
    (0, "_MIN_LEVEL", ManifestListColumn::MinLevel),
    (0, "_MAX_LEVEL", ManifestListColumn::MaxLevel),
    (0, "_MIN_ROW_ID", ManifestListColumn::MinRowId),
    (0, "_MAX_ROW_ID", ManifestListColumn::MaxRowId),
    (0, "_TOTAL_BUCKETS", ManifestListColumn::TotalBuckets),
    (0, "_EXTRA_FILES", ManifestListColumn::ExtraFiles),
];

/// The version of an entry, which each writer sets.
const VERSION: &str = "_VERSION";

/// The number of columns that reading requires. They come first in the table.
const REQUIRED: usize = 4;

/// Reads a manifest list: its entries in order.
///
/// # Errors
/// `CorruptTable` if the file is not a manifest list.
pub fn decode_manifest_list<B: AsRef<[u8]>>(file: &OpenFile<B>) -> Result<Vec<PaimonManifestFile>> {
    let head = file.head()?;
    let schema = head.schema_json()?;
    let layout = LAYOUTS.get(schema.len(), |l| l.schema == schema, || ListLayout::new(schema))?;
    file.decode_records(|cursor| layout.manifest(cursor))
}

static LAYOUTS: Compiled<ListLayout> = Compiled::new();

struct ListLayout {
    schema: String,
    /// The prefix of each entry.
    record: Optional,
    steps: Vec<RecordStep<ManifestListColumn>>,
    stats: StatsSteps,
    /// Members of later versions.
    unknown: Arc<UnknownMembers>,
    /// Whether each step reads one of them.
    is_unknown: Vec<bool>,
}

/// The ends of a range, as far as they are known.
#[derive(Default)]
struct ListEnds<T>(Option<T>, Option<T>);

impl<T> ListEnds<T> {
    fn range(self) -> Option<(T, T)> {
        self.0.zip(self.1)
    }
}

impl ListLayout {
    fn new(schema_json: &str) -> Result<ListLayout> {
        let schema = Node::parse(schema_json)?;
        let not_records = || Error::corrupt("the manifest list's schema is not a record");
        let (record, members) = schema.records().ok_or_else(not_records)?;
        let mut budget = Budget::default();
        let steps = compile(members, COLUMNS, &mut budget, |column, node| match column {
            ManifestListColumn::FileName => node.is_prefixed(),
            ManifestListColumn::PartitionStats => is_stats(node),
            ManifestListColumn::ExtraFiles => is_text_list(node),
            _ => node.is_integer(),
        })?;
        require(&steps, COLUMNS.get(..REQUIRED).unwrap_or_default(), "manifest list")?;
        let stats = members.iter().find(|m| m.pick(COLUMNS) == Some(ManifestListColumn::PartitionStats));
        let stats = stats.map(|m| StatsSteps::new(m.node.optional().1, &mut budget)).transpose()?;
        let is_known = |m: &Member, _| m.name == VERSION || m.pick(COLUMNS).is_some();
        Ok(ListLayout {
            schema: schema_json.to_owned(),
            record,
            steps,
            stats: stats.unwrap_or_default(),
            unknown: Arc::new(UnknownMembers::of(schema_json, None, is_known)?),
            is_unknown: members.iter().map(|m| !is_known(m, false)).collect(),
        })
    }

    fn manifest(&self, cursor: &mut Cursor<'_>) -> Result<PaimonManifestFile> {
        cursor.begin_record(self.record)?;
        let mut out = PaimonManifestFile::default();
        let (mut buckets, mut levels, mut row_ids) = (ListEnds::default(), ListEnds::default(), ListEnds::default());
        let mut unknown = Vec::new();
        for (step, is_unknown) in self.steps.iter().zip(&self.is_unknown) {
            let before = cursor.rest();
            let Some(column) = step.wanted(cursor)? else {
                if *is_unknown {
                    unknown.extend_from_slice(before.get(..before.len() - cursor.rest().len()).unwrap_or_default());
                }
                continue;
            };
            match column {
                ManifestListColumn::FileName => checked_name(cursor.string()?)?.clone_into(&mut out.file_name),
                ManifestListColumn::FileSize => out.file_size = count(cursor.long()?)?,
                ManifestListColumn::AddedFiles => out.added_files = count(cursor.long()?)?,
                ManifestListColumn::DeletedFiles => out.deleted_files = count(cursor.long()?)?,
                ManifestListColumn::PartitionStats => {
                    let mut stats = RawStats::default();
                    *cursor = self.stats.read(cursor.clone(), &mut stats)?;
                    out.partition_stats = stats.to_stats();
                }
                ManifestListColumn::SchemaId => out.schema_id = cursor.long()?,
                ManifestListColumn::MinBucket => buckets.0 = Some(cursor.int()?),
                ManifestListColumn::MaxBucket => buckets.1 = Some(cursor.int()?),
                ManifestListColumn::MinLevel => levels.0 = Some(cursor.int()?),
                ManifestListColumn::MaxLevel => levels.1 = Some(cursor.int()?),
                ManifestListColumn::MinRowId => row_ids.0 = Some(cursor.long()?),
                ManifestListColumn::MaxRowId => row_ids.1 = Some(cursor.long()?),
                ManifestListColumn::TotalBuckets => out.total_buckets = Some(cursor.int()?),
                ManifestListColumn::ExtraFiles => {
                    let mut names = Vec::new();
                    *cursor = read_texts(cursor.clone(), &mut names)?;
                    let names = names.into_iter().map(|name| Ok(checked_name(name)?.to_owned()));
                    out.extra_files = Some(names.collect::<Result<_>>()?);
                }
            }
        }
        if out.file_name.is_empty() {
            return Err(Error::corrupt("an entry of the manifest list has no name"));
        }
        if !self.unknown.is_empty() {
            out.unknown = Some(UnknownValues::new(&self.unknown, &unknown));
        }
        (out.buckets, out.levels, out.row_ids) = (buckets.range(), levels.range(), row_ids.range());
        Ok(out)
    }
}

fn count(v: i64) -> Result<i64> {
    if v < 0 { Err(Error::corrupt(format!("the manifest list counts {v} files or bytes"))) } else { Ok(v) }
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;

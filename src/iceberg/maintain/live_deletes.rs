//! The data and delete files of a snapshot, and which delete files apply to its data.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::format::commit::CommitOptions;
use crate::format::request::{At, ScanRequest};
use crate::format::task::{DataFile, FileContent, FileFormat};
use crate::iceberg::manifest::entries::EntryRequest;
use crate::iceberg::manifest::walk::MetadataWalk;
use crate::iceberg::plan::deletes::partition_key;
use crate::iceberg::rows::positions::listed_with_other_deletes;
use crate::iceberg::scan::handle::IcebergScan;
use crate::iceberg::state::IcebergTable;
use crate::types::PartitionSpec;

/// The live files of a snapshot.
pub(crate) struct LiveFiles {
    /// The version of the branch.
    pub scan: IcebergScan,
    /// Its snapshot.
    pub since: i64,
    /// Data files by path; a file that was added twice has two entries.
    data: HashMap<String, Vec<DataFile>>,
    /// Delete files and deletion vectors.
    pub deletes: Vec<DataFile>,
    /// The lowest data sequence number of data files, by partition, and of all.
    oldest: HashMap<Vec<u8>, i64>,
    oldest_of_all: Option<i64>,
    specs: Vec<Arc<PartitionSpec>>,
}

impl LiveFiles {
    /// The files of a branch; `None` if it has no snapshot.
    ///
    /// # Errors
    /// `NotFound` for an unknown branch; errors of the store; `CorruptTable` for a corrupt manifest; a cancellation.
    pub(crate) fn read(table: &IcebergTable, commit: &CommitOptions) -> Result<Option<LiveFiles>> {
        let at = commit.branch.clone().map(At::Ref);
        let scan = table.scan(ScanRequest { at, ..ScanRequest::default() })?;
        let inner = &table.inner;
        let Some(snapshot) = scan.snapshot_id().and_then(|id| inner.metadata.snapshot_by_id(id)) else {
            return Ok(None);
        };
        let walk = MetadataWalk { store: inner.store.as_ref(), location: &inner.location, metadata: &inner.metadata };
        let all = walk.entries(&walk.manifests(snapshot)?, &EntryRequest::default(), |batch| {
            let partitions: Vec<_> = batch.partitions.into_iter().map(Arc::new).collect();
            let file = |row: usize| {
                let partition = batch.columns.partition.get(row).and_then(|at| partitions.get(*at as usize));
                let none = || Error::internal("an entry has no partition");
                batch.columns.data_file(row, partition.ok_or_else(none)?.clone())
            };
            batch.columns.rows().map(file).collect::<Result<Vec<_>>>()
        })?;
        let since = snapshot.id;
        Ok(Some(LiveFiles::of(table, scan, since, all.into_iter().flatten())))
    }

    /// The live files of a snapshot that has only these files.
    pub(crate) fn of(
        table: &IcebergTable,
        scan: IcebergScan,
        since: i64,
        files: impl IntoIterator<Item = DataFile>,
    ) -> LiveFiles {
        let mut live = LiveFiles {
            scan,
            since,
            data: HashMap::new(),
            deletes: Vec::new(),
            oldest: HashMap::new(),
            oldest_of_all: None,
            specs: table.inner.metadata.partition_specs.clone(),
        };
        files.into_iter().for_each(|file| live.add(file));
        live
    }

    /// The data files that position delete files may apply to, and the deletion vectors of these.
    pub(crate) fn concerned(&self, deletes: &[DataFile]) -> Vec<DataFile> {
        let named: HashSet<&str> = deletes.iter().filter_map(|f| f.referenced_data_file.as_deref()).collect();
        let wide = deletes.iter().filter(|f| f.referenced_data_file.is_none());
        let wide: HashSet<Vec<u8>> = wide.map(|f| partition_key(&f.partition)).collect();
        let is_concerned =
            |f: &&DataFile| named.contains(f.path.as_str()) || wide.contains(&partition_key(&f.partition));
        let mut found: Vec<DataFile> = self.data.values().flatten().filter(is_concerned).cloned().collect();
        let data: HashSet<String> = found.iter().map(|f| f.path.clone()).collect();
        let of_these = |f: &&DataFile| f.referenced_data_file.as_ref().is_some_and(|path| data.contains(path));
        let vectors = self.deletes.iter().filter(|f| f.format == FileFormat::Puffin);
        found.extend(vectors.filter(of_these).cloned());
        found
    }

    /// Groups position delete files so that two groups never apply to the same data file. Each group has about
    /// `most_bytes`.
    pub(crate) fn apart(&self, deletes: Vec<DataFile>, most_bytes: u64) -> Vec<Vec<DataFile>> {
        let wide = deletes.iter().filter(|f| f.referenced_data_file.is_none());
        let wide: HashSet<Vec<u8>> = wide.map(|f| partition_key(&f.partition)).collect();
        let place = |f: &DataFile| match &f.referenced_data_file {
            None => (partition_key(&f.partition), String::new()),
            Some(path) => {
                let data = self.listed(path).first().unwrap_or(f);
                let partition = partition_key(&data.partition);
                let name = if wide.contains(&partition) { String::new() } else { path.clone() };
                (partition, name)
            }
        };
        let mut by_place: BTreeMap<(Vec<u8>, String), Vec<DataFile>> = BTreeMap::new();
        for file in deletes {
            by_place.entry(place(&file)).or_default().push(file);
        }
        let size = |files: &Vec<DataFile>| bytes(files);
        let bins = super::compact_plan::bins(by_place.into_values().collect(), most_bytes, size);
        bins.into_iter().map(|places| places.into_iter().flatten().collect()).collect()
    }

    fn add(&mut self, file: DataFile) {
        if file.content != FileContent::Data {
            return self.deletes.push(file);
        }
        let number = number(&file);
        let oldest = self.oldest.entry(partition_key(&file.partition)).or_insert(number);
        *oldest = number.min(*oldest);
        self.oldest_of_all = Some(self.oldest_of_all.map_or(number, |n| n.min(number)));
        self.data.entry(file.path.clone()).or_default().push(file);
    }

    /// Whether a delete file deletes no row of any data file, judged by sequence numbers and paths. Then it never will.
    pub(crate) fn is_dangling(&self, delete: &DataFile) -> bool {
        let number = number(delete);
        let of_partition = self.oldest.get(&partition_key(&delete.partition)).copied();
        match delete.content {
            FileContent::EqualityDeletes => {
                let spec = self.specs.iter().find(|s| s.id == delete.partition.spec_id);
                let everywhere = spec.is_none_or(|s| s.is_unpartitioned());
                let oldest = if everywhere { self.oldest_of_all } else { of_partition };
                oldest.is_none_or(|oldest| number <= oldest)
            }
            _ => match &delete.referenced_data_file {
                Some(path) => self.listed(path).iter().all(|data| !reaches(delete, data)),
                None => of_partition.is_none_or(|oldest| number < oldest),
            },
        }
    }

    fn listed(&self, path: &str) -> &[DataFile] {
        self.data.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// The data file at this path, if a position delete file or deletion vector that names it applies to it.
    ///
    /// # Errors
    /// `Unsupported` if the file is listed several times and the deletes apply to only some of its entries, or to
    /// entries of several partitions. Rewritten deletes would then apply to too many or too few of them.
    pub(crate) fn reached(&self, delete: &DataFile, path: &str) -> Result<Option<&DataFile>> {
        let listed = self.listed(path);
        let mut reached = listed.iter().filter(|data| reaches(delete, data));
        let Some(first) = reached.next() else { return Ok(None) };
        let others = reached.filter(|data| data.partition == first.partition).count();
        match others + 1 == listed.len() {
            true => Ok(Some(first)),
            false => Err(listed_with_other_deletes(path)),
        }
    }
}

/// Whether a position delete file or deletion vector that names this data file applies to it. A delete file of this
/// data file alone does, even if it is recorded in another partition.
fn reaches(delete: &DataFile, data: &DataFile) -> bool {
    let here =
        delete.referenced_data_file.is_some() || partition_key(&data.partition) == partition_key(&delete.partition);
    number(data) <= number(delete) && here
}

/// Its data sequence number.
pub(crate) fn number(file: &DataFile) -> i64 {
    file.sequence_number.unwrap_or(0)
}

/// Whether it is a position delete file, not a deletion vector.
pub(crate) fn is_position_file(file: &DataFile) -> bool {
    file.content == FileContent::PositionDeletes && file.format != FileFormat::Puffin
}

/// Only a deletion vector's own bytes are counted.
pub(crate) fn bytes(files: &[DataFile]) -> u64 {
    files.iter().map(|f| f.content_size_bytes.unwrap_or(f.size_bytes).max(0).unsigned_abs()).sum()
}

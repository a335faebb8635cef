//! Index files and deletion vectors of a snapshot.

use std::collections::{HashMap, HashSet};

use super::codes;
use super::folder::damaged;
use super::live::{LiveFile, Naming};
use crate::codec::bitmap::PositionSet;
use crate::error::{ErrorKind, Result};
use crate::format::diagnosis::finding::{Findings, Looked, reason};
use crate::paimon::manifest::entries::ADD;
use crate::paimon::manifest::index_manifest::{DELETION_VECTORS, DeletionVectorRange, IndexEntry, read_index_manifest};
use crate::paimon::spec::partition::partition_of;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::parallel::check_cancelled;
use crate::store::Store;

/// Bytes around a vector of 32-bit positions that its recorded length leaves out.
const WORDS: u64 = 8;

/// The deletion vectors of data files that a snapshot has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VectorSums {
    pub vectors: u64,
    /// The index files that they are in.
    pub index_files: u64,
    /// Rows that they delete, where recorded.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Checks the index files of a snapshot. Vectors are read with `deep`.
///
/// # Errors
/// A cancellation. Anything else becomes a finding.
pub(super) fn check(
    naming: &Naming<'_>,
    snapshot: &PaimonSnapshot,
    files: Option<&[LiveFile]>,
    deep: bool,
    checked: &mut HashSet<String>,
) -> Result<VectorSums> {
    let mut sums = VectorSums::default();
    let Some(name) = &snapshot.index_manifest else { return Ok(sums) };
    let entries = match read_index_manifest(naming.from, name) {
        Ok(entries) => entries,
        Err(e) => {
            damaged(naming.findings, &codes::INDEX_MANIFEST, name, &e)?;
            return Ok(sums);
        }
    };
    let by_name: Option<HashMap<&str, &LiveFile>> =
        files.map(|files| files.iter().map(|f| (f.name.as_str(), f)).collect());
    let mut vectors = HashSet::new();
    for entry in entries.iter().filter(|e| e.kind == ADD) {
        check_cancelled()?;
        let partition = partition_of(naming.schema, &entry.partition);
        let path = partition.and_then(|partition| {
            naming.paths.index_file(&partition, entry.bucket, &entry.file_name, entry.external_path.as_deref())
        });
        let path = match path {
            Ok(path) => path,
            Err(e) => {
                damaged(naming.findings, &codes::INDEX_MANIFEST, name, &e)?;
                continue;
            }
        };
        if checked.insert(path.clone()) {
            file(naming.from.store, entry, &path, deep, naming.findings)?;
        }
        if entry.index_type == DELETION_VECTORS {
            of_files(entry, by_name.as_ref(), &mut vectors, &path, naming.findings, &mut sums);
        }
    }
    Ok(sums)
}

/// Checks one index file.
fn file(store: &dyn Store, entry: &IndexEntry, path: &str, deep: bool, findings: &Findings) -> Result<()> {
    findings.looked(Looked::File);
    let size = match store.size(path) {
        Ok(size) => size,
        Err(e) => {
            check_cancelled()?;
            if e.kind() == ErrorKind::NotFound {
                findings.add(&codes::INDEX_FILE_MISSING, path, reason(&e));
            }
            return Ok(());
        }
    };
    let wrong = |evidence: String| findings.add(&codes::INDEX_FILE_DAMAGED, path, evidence);
    if i64::try_from(size) != Ok(entry.file_size) {
        wrong(format!("{} bytes are recorded, the file has {size}", entry.file_size));
        return Ok(());
    }
    for range in entry.deletion_vectors.iter().flatten() {
        let (start, length) = (u64::try_from(range.offset), u64::try_from(range.length));
        let (Ok(start), Ok(length)) = (start, length) else {
            wrong(format!("the vector of {} is at {} with {} bytes", range.data_file, range.offset, range.length));
            continue;
        };
        if start.saturating_add(length) > size {
            wrong(format!("the vector of {} ends after the file", range.data_file));
            continue;
        }
        if !deep {
            continue;
        }
        let with_words = length.saturating_add(WORDS).min(size - start) as usize;
        let set = store
            .get_range(path, start, with_words)
            .and_then(|bytes| PositionSet::from_index_file(&bytes, length as usize));
        match set {
            Ok(set) => {
                let rows = range.cardinality.and_then(|n| u64::try_from(n).ok());
                if let Some(rows) = rows.filter(|rows| *rows != set.len()) {
                    wrong(format!("the vector of {} has {} positions instead of {rows}", range.data_file, set.len()));
                }
            }
            Err(e) => {
                check_cancelled()?;
                wrong(format!("the vector of {}: {}", range.data_file, reason(&e)));
            }
        }
    }
    Ok(())
}

/// Compares the vectors of an index file with the data files of the snapshot, and adds them up.
fn of_files(
    entry: &IndexEntry,
    files: Option<&HashMap<&str, &LiveFile>>,
    seen: &mut HashSet<(Vec<u8>, i32, String)>,
    path: &str,
    findings: &Findings,
    sums: &mut VectorSums,
) {
    let before = sums.vectors;
    for range in entry.deletion_vectors.iter().flatten() {
        let is_first = seen.insert((entry.partition.clone(), entry.bucket, range.data_file.clone()));
        if !is_first {
            findings.add(&codes::TWO_VECTORS, path, format!("the data file {}", range.data_file));
        }
        let Some(files) = files else { continue };
        match files.get(range.data_file.as_str()) {
            None => findings.add(&codes::VECTOR_UNKNOWN_FILE, path, format!("the data file {}", range.data_file)),
            Some(live) => {
                if is_first {
                    sums.add(range);
                }
                if let Some(rows) = range.cardinality.filter(|rows| *rows > live.file.record_count) {
                    let evidence = format!("{rows} deletes for {} rows of {}", live.file.record_count, range.data_file);
                    findings.add(&codes::VECTOR_COUNT, path, evidence);
                }
            }
        }
    }
    sums.index_files += u64::from(sums.vectors > before);
}

impl VectorSums {
    fn add(&mut self, range: &DeletionVectorRange) {
        let unsigned = |n: i64| u64::try_from(n).unwrap_or(0);
        self.vectors += 1;
        self.rows = self.rows.saturating_add(unsigned(range.cardinality.unwrap_or(0)));
        self.bytes = self.bytes.saturating_add(unsigned(range.length));
    }
}

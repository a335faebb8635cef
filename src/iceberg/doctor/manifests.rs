//! Manifests: their headers, their entries, and what the manifest list says about them.

use std::collections::HashMap;

use super::codes;
use super::entries::EntryFacts;
use super::examination::Examination;
use super::seen::{FileToCheck, Kept, ManifestTotals, partition_hash};
use crate::data::verify::compare::has_two_orders;
use crate::error::Result;
use crate::format::diagnosis::finding::Looked;
use crate::format::task::Partition;
use crate::iceberg::manifest::columns::{Manifest, assign_first_row_ids, clear_first_row_ids, partition_of};
use crate::iceberg::manifest::entries::{DELETED, EntryColumns, EntryRequest, Inherited};
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::manifest::walk::field_type;
use crate::parallel::check_cancelled;
use crate::types::value::decode_bound;
use crate::types::{FieldId, PartitionSpec, Schema};

/// Blocks that are decoded at a time.
const BLOCKS: usize = 64;

/// Reads one manifest. Returns its live files that nobody has checked yet.
///
/// # Errors
/// A cancellation. Anything else becomes a finding.
pub(super) fn check(of: &Examination<'_>, place: usize) -> Result<Vec<FileToCheck>> {
    check_cancelled()?;
    let Some(listed) = of.lists.manifests.get(place) else { return Ok(Vec::new()) };
    of.findings.looked(Looked::Manifest);
    let read = of.location.resolve(&listed.path).and_then(|path| of.store.get(&path));
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(e) => {
            let (missing, damaged) = (&codes::MANIFEST_MISSING, &codes::MANIFEST_DAMAGED);
            of.findings.failed(missing, damaged, &listed.path, &e)?;
            return Ok(Vec::new());
        }
    };
    let manifest = match Manifest::parse(&bytes) {
        Ok(manifest) => manifest,
        Err(e) => {
            of.findings.failed(&codes::MANIFEST_DAMAGED, &codes::MANIFEST_DAMAGED, &listed.path, &e)?;
            return Ok(Vec::new());
        }
    };
    let is_whole = check_header(of, listed, &manifest, bytes.len());
    let (Ok(spec), Ok(schema)) = (of.metadata.spec_by_id(listed.spec_id), of.metadata.schema()) else {
        return Ok(Vec::new());
    };
    if let Err(e) = manifest.check_spec(spec, schema) {
        of.findings.failed(&codes::MANIFEST_PARTITION, &codes::MANIFEST_PARTITION, &listed.path, &e)?;
    }
    let mut reading =
        ManifestCheck { of, listed, place, spec, schema, totals: ManifestTotals::default(), out: Vec::new() };
    match reading.entries(&manifest) {
        Ok(()) if is_whole => reading.compare(),
        Ok(()) => {}
        Err(e) => of.findings.failed(&codes::MANIFEST_DAMAGED, &codes::MANIFEST_DAMAGED, &listed.path, &e)?,
    }
    let ManifestCheck { totals, out, .. } = reading;
    of.seen().totals.insert(place as u32, totals);
    Ok(out)
}

/// Compares the header with the entry in the manifest list. `false` if the manifest is only a part of the recorded one.
fn check_header(of: &Examination<'_>, listed: &ManifestFile, manifest: &Manifest<'_>, bytes: usize) -> bool {
    let (path, findings) = (&listed.path, of.findings);
    let size = listed.size().check(manifest, bytes);
    if let Err(e) = &size {
        findings.add(&codes::MANIFEST_TRUNCATED, path, e.message());
    } else if listed.length_bytes != bytes as i64 {
        let evidence = format!("{} bytes are recorded, the file has {bytes}", listed.length_bytes);
        findings.add(&codes::MANIFEST_LENGTH, path, evidence);
    }
    if manifest.content != listed.content {
        let evidence = format!("the list says {:?}, the manifest {:?}", listed.content, manifest.content);
        findings.add(&codes::MANIFEST_CONTENT, path, evidence);
    }
    if let Some(spec) = manifest.spec_id.filter(|id| *id != listed.spec_id) {
        let evidence = format!("the list says {}, the manifest {spec}", listed.spec_id);
        findings.add(&codes::MANIFEST_SPEC_DIFFERS, path, evidence);
    }
    size.is_ok()
}

/// One manifest that is being read.
struct ManifestCheck<'a> {
    of: &'a Examination<'a>,
    listed: &'a ManifestFile,
    place: usize,
    spec: &'a PartitionSpec,
    schema: &'a Schema,
    totals: ManifestTotals,
    out: Vec<FileToCheck>,
}

impl ManifestCheck<'_> {
    fn entries(&mut self, manifest: &Manifest<'_>) -> Result<()> {
        let inherited =
            Inherited { snapshot_id: self.listed.added_snapshot_id, sequence_number: self.listed.sequence_number };
        let request = EntryRequest {
            metric_fields: self.of.metric_fields.clone(),
            encoded_metrics: true,
            deleted_too: true,
            ..EntryRequest::default()
        };
        let mut next_row_id = self.listed.first_row_id;
        let blocks = manifest.block_count();
        for start in (0..blocks).step_by(BLOCKS) {
            check_cancelled()?;
            let mut columns = manifest.decode(start..(start + BLOCKS).min(blocks), &request, &inherited)?;
            match next_row_id {
                None => clear_first_row_ids([&mut columns]),
                Some(first) => {
                    let entries = columns.first_row_id.iter().zip(&columns.status).zip(&columns.record_count);
                    let without = entries.filter(|((id, status), _)| id.is_none() && **status != DELETED);
                    next_row_id = Some(without.fold(first, |next, (_, rows)| next.saturating_add((*rows).max(0))));
                    assign_first_row_ids([&mut columns], first)?;
                }
            }
            let partition =
                |t: &Vec<_>| partition_of(self.spec, self.schema, &manifest.spec_fields, &manifest.partition_types, t);
            let partitions: Vec<Partition> = columns.partitions.iter().map(partition).collect();
            let live = (0..columns.len()).filter(|row| columns.status.get(*row) != Some(&DELETED));
            let used: std::collections::HashSet<u32> =
                live.filter_map(|row| columns.partition.get(row).copied()).collect();
            self.summaries(&partitions, &used);
            self.batch(&columns, partitions)?;
        }
        Ok(())
    }

    /// Checks the entries of a batch and keeps their facts.
    fn batch(&mut self, columns: &EntryColumns, partitions: Vec<Partition>) -> Result<()> {
        let hashes: Vec<u64> = partitions.iter().map(partition_hash).collect();
        let partitions: Vec<_> = partitions.into_iter().map(std::sync::Arc::new).collect();
        let facts = EntryFacts {
            of: self.of,
            listed: self.listed,
            place: self.place as u32,
            schema: self.schema,
            columns,
            partitions: &partitions,
            hashes: &hashes,
        };
        let mut kept = Kept::default();
        for row in columns.rows() {
            self.totals.count(columns, row);
            facts.check(row, &mut kept, &mut self.out)?;
        }
        self.of.seen().keep(kept);
        Ok(())
    }

    /// Compares partition tuples with the summaries of the manifest list.
    fn summaries(&self, partitions: &[Partition], used: &std::collections::HashSet<u32>) {
        let Some(summaries) = &self.listed.partitions else { return };
        let types: HashMap<FieldId, _> =
            self.spec.fields.iter().map(|f| (f.field_id, field_type(self.of.metadata, f))).collect();
        for (number, partition) in partitions.iter().enumerate() {
            if !used.contains(&(number as u32)) {
                continue;
            }
            for (value, summary) in partition.values.iter().zip(summaries) {
                let Some(ty) = types.get(&value.field_id) else { continue };
                let bound = |bytes: &Option<Vec<u8>>| {
                    let value = decode_bound(bytes.as_deref()?, ty).ok()??;
                    Some(value.to_owned())
                };
                let (low, high) = (bound(&summary.lower), bound(&summary.upper));
                let hidden = match &value.value {
                    None => !summary.contains_null,
                    Some(v) if v.as_ref().is_nan() => summary.contains_nan == Some(false),
                    Some(_) if has_two_orders(ty) => false,
                    Some(v) => {
                        let (below, above) = (
                            low.as_ref().and_then(|low| low.sql_cmp(v)).is_some_and(|o| o.is_gt()),
                            high.as_ref().and_then(|high| high.sql_cmp(v)).is_some_and(|o| o.is_lt()),
                        );
                        below || above
                    }
                };
                if hidden {
                    let evidence = format!("its summary of '{}' leaves out {}", value.name, partition.path());
                    self.of.findings.add(&codes::MANIFEST_SUMMARY_HIDES, &self.listed.path, evidence);
                    return;
                }
            }
        }
    }

    /// Whether there are fewer entries and fewer rows than recorded. Some writers record one of them wrongly.
    fn lacks_entries(&self) -> bool {
        let rows = [self.listed.added_rows_count, self.listed.existing_rows_count, self.listed.deleted_rows_count];
        let recorded_rows = rows.into_iter().try_fold(0i64, |sum, n| sum.checked_add(n?));
        let (entries, found_rows) =
            self.totals.entries.iter().fold((0i64, 0i64), |(n, rows), e| (n + e.0, rows.saturating_add(e.1)));
        self.listed.size().entries().is_some_and(|n| entries < n) && recorded_rows.is_some_and(|n| found_rows < n)
    }

    /// Compares the counts of the manifest list with the entries.
    fn compare(&self) {
        let (path, listed, findings) = (&self.listed.path, self.listed, self.of.findings);
        let [existing, added, deleted] = self.totals.entries;
        let live = existing.0 + added.0;
        let says_empty = listed.existing_files_count == Some(0) && listed.added_files_count == Some(0);
        if says_empty && live > 0 {
            findings.add(&codes::MANIFEST_COUNTS_HIDE, path, format!("it has {live} live files"));
        }
        let counts = [
            ("added files", listed.added_files_count, added.0),
            ("existing files", listed.existing_files_count, existing.0),
            ("deleted files", listed.deleted_files_count, deleted.0),
            ("added rows", listed.added_rows_count, added.1),
            ("existing rows", listed.existing_rows_count, existing.1),
            ("deleted rows", listed.deleted_rows_count, deleted.1),
        ];
        let differing = counts.iter().filter(|(_, recorded, found)| recorded.is_some_and(|n| n != *found));
        let differing: Vec<String> = differing
            .map(|(what, recorded, found)| format!("{} {what} are recorded, it has {found}", recorded.unwrap_or(0)))
            .collect();
        if !(differing.is_empty() || says_empty && live > 0) {
            let code = if self.lacks_entries() { &codes::MANIFEST_ENTRIES_LOST } else { &codes::MANIFEST_COUNTS };
            findings.add(code, path, differing.join("; "));
        }
        let least = self.totals.min_sequence.filter(|least| *least < listed.min_sequence_number);
        if let Some(least) = least {
            let evidence = format!("{} is recorded, its least is {least}", listed.min_sequence_number);
            findings.add(&codes::MANIFEST_MIN_SEQUENCE, path, evidence);
        }
    }
}

//! Key ranges, levels, sequence numbers and row ids of the files of a snapshot.

use std::collections::BTreeMap;

use super::codes;
use super::live::LiveFile;
use crate::format::diagnosis::finding::{Findings, reason};
use crate::paimon::plan::splits::OrderedKey;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;

/// The most levels that a table can have.
const MOST_LEVELS: i32 = 1000;

/// Checks the numbers of each file, and files against each other.
pub(super) fn check(files: &[LiveFile], schema: &TableSchema, snapshot: &PaimonSnapshot, findings: &Findings) {
    files.iter().for_each(|file| numbers(file, findings));
    if schema.has_primary_key() {
        keys(files, schema, findings);
    }
    row_ids(files, snapshot, findings);
}

fn numbers(live: &LiveFile, findings: &Findings) {
    let file = &live.file;
    let wrong = |evidence: String| findings.add(&codes::ENTRY_IMPOSSIBLE, &file.path, evidence);
    if file.record_count < 0 || file.size_bytes <= 0 {
        wrong(format!("{} rows and {} bytes are recorded", file.record_count, file.size_bytes));
    }
    let Some(bucket) = file.bucket_file.as_deref() else { return };
    if bucket.total_buckets > 0 && bucket.bucket >= bucket.total_buckets {
        wrong(format!("bucket {} of {}", bucket.bucket, bucket.total_buckets));
    }
    if !(0..MOST_LEVELS).contains(&bucket.level) {
        wrong(format!("level {}", bucket.level));
    }
    if bucket.min_sequence_number > bucket.max_sequence_number {
        wrong(format!("sequence numbers {} to {}", bucket.min_sequence_number, bucket.max_sequence_number));
    }
    if bucket.delete_row_count.is_some_and(|n| n < 0 || n > file.record_count) {
        wrong(format!("{} of {} rows are deletes", bucket.delete_row_count.unwrap_or(0), file.record_count));
    }
}

/// Files of one bucket and level, with their keys.
type LevelFiles<'a> = Vec<(OrderedKey, OrderedKey, &'a LiveFile)>;

fn keys(files: &[LiveFile], schema: &TableSchema, findings: &Findings) {
    let types = schema.key_types();
    let mut levels: BTreeMap<(&[u8], i32, i32), LevelFiles<'_>> = BTreeMap::new();
    for live in files {
        let Some(bucket) = live.file.bucket_file.as_deref() else { continue };
        let read = |bytes: &[u8]| OrderedKey::read(bytes, &types);
        match read(&bucket.min_key).and_then(|min| Ok((min, read(&bucket.max_key)?))) {
            Ok((min, max)) if min > max => {
                findings.add(&codes::KEY_RANGE, &live.file.path, format!("{min:?} to {max:?}"));
            }
            Ok((min, max)) => {
                let place = (&*live.partition, bucket.bucket, bucket.level);
                levels.entry(place).or_default().push((min, max, live));
            }
            Err(e) => findings.add(&codes::KEY_RANGE, &live.file.path, reason(&e)),
        }
    }
    for ((_, bucket, level), mut files) in levels.into_iter().filter(|((_, _, level), _)| *level > 0) {
        files.sort_by(|a, b| a.0.cmp(&b.0));
        for pair in files.windows(2) {
            if let [(_, end, before), (start, _, after)] = pair
                && start <= end
            {
                let evidence = format!("keys in common with {} at level {level} of bucket {bucket}", before.name);
                findings.add(&codes::LEVEL_OVERLAP, &after.file.path, evidence);
            }
        }
    }
}

/// Ranges of row ids. Files that hold some of the columns share ranges with those that hold others.
fn row_ids(files: &[LiveFile], snapshot: &PaimonSnapshot, findings: &Findings) {
    let is_whole = |f: &&LiveFile| f.file.bucket_file.as_deref().is_some_and(|b| b.write_columns.is_none());
    let mut ranges: Vec<(i64, i64, &LiveFile)> = files
        .iter()
        .filter(is_whole)
        .filter_map(|f| Some((f.file.first_row_id?, f.file.record_count, f)))
        .filter(|(_, rows, _)| *rows > 0)
        .map(|(first, rows, f)| (first, first.saturating_add(rows), f))
        .collect();
    ranges.sort_by_key(|(first, end, _)| (*first, *end));
    for pair in ranges.windows(2) {
        if let [(_, end, before), (start, _, after)] = pair
            && start < end
        {
            let evidence = format!("row ids from {start} on, {} has ids below {end}", before.name);
            findings.add(&codes::ROW_IDS_OVERLAP, &after.file.path, evidence);
        }
    }
    if let (Some((_, end, file)), Some(next)) = (ranges.iter().max_by_key(|(_, end, _)| *end), snapshot.next_row_id)
        && *end > next
    {
        let evidence = format!("row ids up to {}, the next one of snapshot {} is {next}", end - 1, snapshot.id);
        findings.add(&codes::NEXT_ROW_ID, &file.file.path, evidence);
    }
}

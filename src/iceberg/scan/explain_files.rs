//! Verdicts on manifests and files as Arrow columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, UInt32Array};

use crate::error::{Error, Result};
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::plan::planned::PlannedBatch;
use crate::iceberg::plan::why::{FileVerdicts, ManifestVerdict, Stage};
use crate::rows::judged_files::{Texts, batch, coded, content_of, counted, file_schema, left_of, manifest_schema};

/// All manifests of a snapshot.
pub(crate) fn encode_manifests(verdicts: &[ManifestVerdict]) -> Result<RecordBatch> {
    let (mut paths, mut reasons) = (Texts::default(), Texts::default());
    for v in verdicts {
        paths.push(&v.manifest.path)?;
        reasons.push(&v.reason)?;
    }
    let content = |v: &ManifestVerdict| match v.manifest.content {
        ManifestContent::Data => "data",
        ManifestContent::Deletes => "deletes",
    };
    let sum = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
    let files = |v: &ManifestVerdict| sum(v.manifest.added_files_count, v.manifest.existing_files_count);
    let rows = |v: &ManifestVerdict| sum(v.manifest.added_rows_count, v.manifest.existing_rows_count);
    let columns: Vec<ArrayRef> = vec![
        coded(verdicts.iter().map(content))?,
        paths.array(),
        Arc::new(verdicts.iter().map(|v| Some(v.stage == Stage::Kept)).collect::<BooleanArray>()),
        coded(verdicts.iter().map(|v| v.stage.as_str()))?,
        reasons.array(),
        Arc::new(Int32Array::from_iter_values(verdicts.iter().map(|v| v.manifest.spec_id))),
        Arc::new(verdicts.iter().map(files).collect::<Int64Array>()),
        Arc::new(verdicts.iter().map(rows).collect::<Int64Array>()),
        Arc::new(Int64Array::from_iter_values(verdicts.iter().map(|v| v.manifest.length_bytes))),
    ];
    batch(manifest_schema(), columns)
}

/// The files of one manifest; `deletes` by entry.
pub(crate) fn encode_files(verdict: &ManifestVerdict, files: &FileVerdicts, deletes: &[u32]) -> Result<RecordBatch> {
    let columns = &files.columns;
    let (mut paths, mut reasons) = (Texts::default(), Texts::default());
    let left: Vec<String> = files.residuals.iter().map(|r| r.as_deref().map_or_else(String::new, left_of)).collect();
    let mut metric_reasons = files.metric_reasons.iter().peekable();
    for (row, (stage, deletes)) in files.stages.iter().zip(deletes).enumerate() {
        let path = columns.path.get(row).and_then(|p| std::str::from_utf8(p).ok());
        paths.push(path.ok_or_else(|| Error::corrupt("a file's path is missing or not UTF-8"))?)?;
        let metric = metric_reasons.next_if(|(of, _)| *of as usize == row);
        let tuple = columns.partition.get(row).map_or(usize::MAX, |p| *p as usize);
        let of_tuple = |texts: &[String]| texts.get(tuple).cloned().unwrap_or_default();
        let reason = match stage {
            Stage::ManifestCounts | Stage::PartitionSummaries => verdict.reason.clone(),
            Stage::PartitionTuples => of_tuple(&files.tuple_reasons),
            Stage::ColumnMetrics => metric.map(|(_, reason)| reason.clone()).unwrap_or_default(),
            Stage::DeleteMatching => "it reaches no data file that is kept".to_owned(),
            Stage::Kept if !columns.is_data(row) => format!("reaches {}", counted(*deletes, "data file")),
            Stage::Kept if *deletes == 0 => of_tuple(&left),
            Stage::Kept => format!("{}; {}", of_tuple(&left), counted(*deletes, "delete file")),
        };
        reasons.push(&reason)?;
    }
    let rows = || columns.rows();
    let partitions: Vec<String> = files.partitions.iter().map(|p| p.path()).collect();
    let partition = |row: usize| columns.partition.get(row).and_then(|p| partitions.get(*p as usize));
    let out: Vec<ArrayRef> = vec![
        coded(rows().map(|row| content_of(columns.content.get(row), columns.format.get(row))))?,
        paths.array(),
        Arc::new(files.stages.iter().map(|s| Some(*s == Stage::Kept)).collect::<BooleanArray>()),
        coded(files.stages.iter().map(|s| s.as_str()))?,
        reasons.array(),
        coded(rows().map(|row| partition(row).map_or("", String::as_str)))?,
        Arc::new(Int32Array::from_value(verdict.manifest.spec_id, columns.len())),
        Arc::new(Int64Array::from(columns.record_count.clone())),
        Arc::new(Int64Array::from(columns.size_bytes.clone())),
        Arc::new(UInt32Array::from(deletes.to_vec())),
        coded(rows().map(|_| verdict.manifest.path.as_str()))?,
    ];
    batch(file_schema(), out)
}

/// The files of a batch that a server planned.
pub(crate) fn encode_served(batch_of: &PlannedBatch) -> Result<RecordBatch> {
    let (mut paths, mut reasons) = (Texts::default(), Texts::default());
    let (mut partitions, mut specs, mut deletes) = (Vec::new(), Vec::new(), Vec::new());
    let rows: Vec<usize> = batch_of.rows.iter().map(|row| *row as usize).collect();
    for (k, row) in rows.iter().enumerate() {
        let path = batch_of.columns.path.get(*row).and_then(|p| std::str::from_utf8(p).ok());
        paths.push(path.ok_or_else(|| Error::corrupt("a file's path is missing or not UTF-8"))?)?;
        let (left, count) = (left_of(&*batch_of.residual(*row)?), batch_of.deletes.count(k) as u32);
        let reason = if count == 0 { left } else { format!("{left}; {}", counted(count, "delete file")) };
        reasons.push(&reason)?;
        let partition = &batch_of.group(*row)?.partition;
        partitions.push(partition.path());
        specs.push(partition.spec_id);
        deletes.push(count);
    }
    let longs = |column: &[i64]| -> ArrayRef {
        Arc::new(rows.iter().filter_map(|row| column.get(*row).copied()).map(Some).collect::<Int64Array>())
    };
    let columns: Vec<ArrayRef> = vec![
        coded(rows.iter().map(|_| "data"))?,
        paths.array(),
        Arc::new(BooleanArray::from(vec![true; rows.len()])),
        coded(rows.iter().map(|_| Stage::Kept.as_str()))?,
        reasons.array(),
        coded(partitions.iter().map(String::as_str))?,
        Arc::new(Int32Array::from(specs)),
        longs(&batch_of.columns.record_count),
        longs(&batch_of.columns.size_bytes),
        Arc::new(UInt32Array::from(deletes)),
        coded(rows.iter().map(|_| ""))?,
    ];
    batch(file_schema(), columns)
}

//! Verdicts on manifests and files as Arrow columns.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringBuilder, StringDictionaryBuilder, UInt32Array,
};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};

use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::{DataFile, FileContent, FileFormat};
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::plan::why::{FileVerdicts, ManifestVerdict, Stage};

/// Characters of what is left of a filter: it is said of each file, and a list of values may be long.
const MOST_LEFT: usize = 200;

fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The columns of files: `content` (`data`, `position`, `equality`, `deletion_vector`), `file_path`, `kept`, `stage`,
/// `reason`, `partition` (as in paths), `spec_id`, `record_count`, `file_size_in_bytes`, `deletes` (of a data file: the
/// delete files attached; of a delete file: the data files it reaches), `manifest_path`.
pub fn file_schema() -> SchemaRef {
    let field = |name: &str, ty| Field::new(name, ty, false);
    Arc::new(Schema::new(vec![
        field("content", dictionary()),
        field("file_path", DataType::Utf8),
        field("kept", DataType::Boolean),
        field("stage", dictionary()),
        field("reason", DataType::Utf8),
        field("partition", dictionary()),
        field("spec_id", DataType::Int32),
        field("record_count", DataType::Int64),
        field("file_size_in_bytes", DataType::Int64),
        field("deletes", DataType::UInt32),
        field("manifest_path", dictionary()),
    ]))
}

/// The columns of manifests: `content` (`data`, `deletes`), `manifest_path`, `kept`, `stage`, `reason`, `spec_id`,
/// `live_files` and `live_rows` (null where the list has no counts), `manifest_length`.
pub fn manifest_schema() -> SchemaRef {
    let field = |name: &str, ty| Field::new(name, ty, false);
    Arc::new(Schema::new(vec![
        field("content", dictionary()),
        field("manifest_path", DataType::Utf8),
        field("kept", DataType::Boolean),
        field("stage", dictionary()),
        field("reason", DataType::Utf8),
        field("spec_id", DataType::Int32),
        Field::new("live_files", DataType::Int64, true),
        Field::new("live_rows", DataType::Int64, true),
        field("manifest_length", DataType::Int64),
    ]))
}

fn coded<'t>(texts: impl Iterator<Item = &'t str>) -> Result<ArrayRef> {
    let mut out = StringDictionaryBuilder::<Int32Type>::new();
    for text in texts {
        out.append(text).map_err(|e| Error::internal("too many distinct texts").because(e))?;
    }
    Ok(Arc::new(out.finish()))
}

/// Text of less than 2 GiB in all.
#[derive(Default)]
struct Texts {
    out: StringBuilder,
    bytes: usize,
}

impl Texts {
    fn push(&mut self, text: &str) -> Result<()> {
        self.bytes += text.len();
        if self.bytes > i32::MAX as usize {
            return Err(Error::unsupported("what there is to say of one manifest exceeds 2 GiB"));
        }
        self.out.append_value(text);
        Ok(())
    }

    fn array(mut self) -> ArrayRef {
        Arc::new(self.out.finish())
    }
}

fn batch(schema: SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    RecordBatch::try_new(schema, columns).map_err(|e| Error::internal("the explanation is no Arrow batch").because(e))
}

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

/// A data file of a table of Paimon, and what was decided about it.
pub(crate) struct Judged<'v> {
    pub file: &'v DataFile,
    pub kept: bool,
    pub stage: &'v str,
    pub reason: &'v str,
    /// Deletion vectors attached.
    pub deletes: u32,
    pub manifest: &'v str,
}

/// The data files of a snapshot of Paimon.
pub(crate) fn encode_judged(judged: &[Judged<'_>]) -> Result<RecordBatch> {
    let (mut paths, mut reasons) = (Texts::default(), Texts::default());
    for j in judged {
        paths.push(&j.file.path)?;
        reasons.push(j.reason)?;
    }
    let partitions: Vec<String> = judged.iter().map(|j| j.file.partition.path()).collect();
    let all = || judged.iter();
    let out: Vec<ArrayRef> = vec![
        coded(all().map(|_| "data"))?,
        paths.array(),
        Arc::new(all().map(|j| Some(j.kept)).collect::<BooleanArray>()),
        coded(all().map(|j| j.stage))?,
        reasons.array(),
        coded(partitions.iter().map(String::as_str))?,
        Arc::new(Int32Array::from_iter_values(all().map(|j| j.file.partition.spec_id))),
        Arc::new(Int64Array::from_iter_values(all().map(|j| j.file.record_count))),
        Arc::new(Int64Array::from_iter_values(all().map(|j| j.file.size_bytes))),
        Arc::new(UInt32Array::from_iter_values(all().map(|j| j.deletes))),
        coded(all().map(|j| j.manifest))?,
    ];
    batch(file_schema(), out)
}

fn content_of(content: Option<&FileContent>, format: Option<&FileFormat>) -> &'static str {
    match (content, format) {
        (Some(FileContent::EqualityDeletes), _) => "equality",
        (Some(FileContent::PositionDeletes), Some(FileFormat::Puffin)) => "deletion_vector",
        (Some(FileContent::PositionDeletes), _) => "position",
        _ => "data",
    }
}

/// What is left of the filter on a file that is kept.
fn left_of(residual: &BoundPredicate) -> String {
    match residual {
        BoundPredicate::True => "the filter keeps every row".to_owned(),
        left => {
            let text = left.to_string();
            match text.char_indices().nth(MOST_LEFT) {
                Some((end, _)) => format!("left: {}…", text.get(..end).unwrap_or_default()),
                None => format!("left: {text}"),
            }
        }
    }
}

fn counted(n: u32, unit: &str) -> String {
    format!("{n} {unit}{}", if n == 1 { "" } else { "s" })
}

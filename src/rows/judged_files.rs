//! Decisions about files as Arrow columns.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringBuilder, StringDictionaryBuilder, UInt32Array,
};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};

use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::{DataFile, FileContent, FileFormat};

/// The most characters of a residual filter. It is shown for each file, and a list of values may be long.
pub(crate) const MOST_LEFT: usize = 200;

pub(crate) fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The columns of files: `content` (`data`, `position`, `equality`, `deletion_vector`), `file_path`, `kept`, `stage`,
/// `reason`, `partition` (as in paths), `spec_id`, `record_count`, `file_size_in_bytes`, `deletes`, `manifest_path`.
/// `deletes` counts the attached delete files of a data file, or the data files that a delete file reaches.
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

pub(crate) fn coded<'t>(texts: impl Iterator<Item = &'t str>) -> Result<ArrayRef> {
    let mut out = StringDictionaryBuilder::<Int32Type>::new();
    for text in texts {
        out.append(text).map_err(|e| Error::internal("too many distinct texts").because(e))?;
    }
    Ok(Arc::new(out.finish()))
}

/// Text of less than 2 GiB in all.
#[derive(Default)]
pub(crate) struct Texts {
    out: StringBuilder,
    bytes: usize,
}

impl Texts {
    pub(crate) fn push(&mut self, text: &str) -> Result<()> {
        self.bytes += text.len();
        if self.bytes > i32::MAX as usize {
            return Err(Error::unsupported("the explanation of one manifest exceeds 2 GiB"));
        }
        self.out.append_value(text);
        Ok(())
    }

    pub(crate) fn array(mut self) -> ArrayRef {
        Arc::new(self.out.finish())
    }
}

pub(crate) fn batch(schema: SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    RecordBatch::try_new(schema, columns)
        .map_err(|e| Error::internal("the explanation can't become an Arrow batch").because(e))
}

/// A data file of a Paimon table, and the decision about it.
pub(crate) struct Judged<'v> {
    pub file: &'v DataFile,
    pub kept: bool,
    pub stage: &'v str,
    pub reason: &'v str,
    /// Deletion vectors attached.
    pub deletes: u32,
    pub manifest: &'v str,
}

/// The data files of a Paimon snapshot.
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

pub(crate) fn content_of(content: Option<&FileContent>, format: Option<&FileFormat>) -> &'static str {
    match (content, format) {
        (Some(FileContent::EqualityDeletes), _) => "equality",
        (Some(FileContent::PositionDeletes), Some(FileFormat::Puffin)) => "deletion_vector",
        (Some(FileContent::PositionDeletes), _) => "position",
        _ => "data",
    }
}

/// The residual filter of a kept file.
pub(crate) fn left_of(residual: &BoundPredicate) -> String {
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

pub(crate) fn counted(n: u32, unit: &str) -> String {
    format!("{n} {unit}{}", if n == 1 { "" } else { "s" })
}

/// The columns of files of a changelog: those of [`file_schema`], and `operation` (`insert`, `delete`),
/// `change_ordinal` and `commit_snapshot_id`.
pub fn change_file_schema() -> SchemaRef {
    let more = [
        Field::new("operation", DataType::Utf8, false),
        Field::new("change_ordinal", DataType::Int32, false),
        Field::new("commit_snapshot_id", DataType::Int64, false),
    ];
    let fields = file_schema().fields().iter().cloned().chain(more.map(Arc::new)).collect::<Vec<_>>();
    Arc::new(Schema::new(fields))
}

//! The part of a scan that an engine's own Parquet reader can read, as plain data.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::RecordBatch;
use serde_json::{Value as Json, json};

use crate::expr::{BoundLeaf, BoundPredicate, Op};
use crate::format::packed_splits::Splits;
use crate::store::location;
use crate::types::json::value_to_json;
use crate::types::{PrimitiveType, Schema, Type};

/// What an engine can read.
#[derive(Clone, Debug)]
pub struct HandOverRequest {
    /// Schemes of the locations that it reads; `file` for local ones.
    pub schemes: Vec<String>,
    /// Files that it can't read, by their real paths, with the reason.
    pub refused: HashMap<String, String>,
    /// The most files. If a scan has more, the engine gets none.
    pub most_files: usize,
    /// The most deleted positions, all files together. With 0 the engine gets no file with deletes.
    pub most_positions: u64,
    /// If Frazil reads all files: from this number of splits on, all are packed.
    pub pack_from: usize,
}

/// Files of a scan, divided between the engine and Frazil.
#[derive(Clone, Debug)]
pub struct HandOver {
    /// The columns to read: first those of the result, then those that only the filter needs.
    pub wanted: Schema,
    /// The scan's filter, if any file needs it.
    pub filter: BoundPredicate,
    /// Files for the engine.
    pub groups: Vec<PlainGroup>,
    /// Deleted rows of those ([`crate::rows::native_read::deleted_schema`]).
    pub deleted: RecordBatch,
    /// Everything else.
    pub rest: Splits,
    /// Why.
    pub reasons: Reasons,
}

/// Why Frazil reads files itself.
#[derive(Clone, Debug)]
pub enum Reasons {
    /// All of them, for one reason.
    Everywhere(String),
    /// Files of the rest, with the reason ([`reasons_schema`]).
    Each(RecordBatch),
}

/// Files that are read in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct PlainGroup {
    /// For each wanted column the files' name; `None` where it is null in every row.
    pub columns: Vec<Option<String>>,
    /// Whether rows of these files may fail the filter.
    pub is_filtered: bool,
    /// The files.
    pub files: Vec<PlainFile>,
}

/// A file for the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainFile {
    /// Where it is.
    pub path: String,
    /// Its length.
    pub size_bytes: i64,
    /// Its rows, deleted ones included.
    pub record_count: i64,
    /// Its number among those with deleted rows.
    pub number: Option<usize>,
}

/// Columns of [`Reasons::Each`].
pub fn reasons_schema() -> SchemaRef {
    let text = |name| ArrowField::new(name, DataType::LargeUtf8, false);
    Arc::new(ArrowSchema::new(vec![text("file_path"), text("reason")]))
}

/// Whether engines take a path as it is. They leave out empty parts, `.` and `..`. They read a name with a colon as a
/// scheme. They do not expect a host in a local path, as in `file://localhost/a`.
pub fn is_plain_path(path: &str) -> bool {
    let scheme = location::scheme(path);
    let rest = scheme.and_then(|scheme| path.get(scheme.len() + 1..)).unwrap_or(path);
    // Behind two slashes follows a host; without a scheme they are an empty part.
    let (host, rest) = match rest.strip_prefix("//").filter(|_| scheme.is_some()) {
        Some(with_host) => with_host.split_once('/').unwrap_or((with_host, "")),
        None => ("", rest.strip_prefix('/').unwrap_or(rest)),
    };
    let is_local = scheme.is_none_or(|scheme| scheme == "file");
    let name = rest.rsplit('/').next().unwrap_or_default();
    (host.is_empty() || !is_local)
        && !name.contains(':')
        && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

impl HandOver {
    /// Filter and groups as JSON.
    pub fn to_json(&self) -> String {
        let file = |f: &PlainFile| json!([f.path, f.size_bytes, f.record_count, f.number]);
        let group = |g: &PlainGroup| {
            json!({
                "columns": g.columns,
                "filtered": g.is_filtered,
                "files": g.files.iter().map(file).collect::<Vec<_>>(),
            })
        };
        let groups: Vec<Json> = self.groups.iter().map(group).collect();
        json!({"filter": filter_to_json(&self.filter), "groups": groups}).to_string()
    }
}

/// The schema of the deleted rows: `word` and `mask`. A word has the number of the file above `WORD_BITS` bits, and in
/// these bits the number of a row divided by 64. The lowest bit of the mask stands for the first of these 64 rows.
pub fn deleted_schema() -> SchemaRef {
    let long = |name| ArrowField::new(name, DataType::Int64, false);
    Arc::new(ArrowSchema::new(vec![long("word"), long("mask")]))
}

/// A filter for an engine to build: columns as lists of names, values as the specification's single values.
pub(crate) fn filter_to_json(filter: &BoundPredicate) -> Json {
    let all = |parts: &[BoundPredicate]| parts.iter().map(filter_to_json).collect::<Vec<_>>();
    match filter {
        BoundPredicate::True => json!(true),
        BoundPredicate::False => json!(false),
        BoundPredicate::And(parts) => json!({"op": "and", "parts": all(parts)}),
        BoundPredicate::Or(parts) => json!({"op": "or", "parts": all(parts)}),
        BoundPredicate::Leaf(leaf) => {
            let op = match leaf.op {
                Op::IsNull => "is-null",
                Op::NotNull => "not-null",
                Op::IsNan => "is-nan",
                Op::NotNan => "not-nan",
                Op::Lt => "lt",
                Op::LtEq => "lt-eq",
                Op::Gt => "gt",
                Op::GtEq => "gt-eq",
                Op::Eq => "eq",
                Op::NotEq => "not-eq",
                Op::In => "in",
                Op::NotIn => "not-in",
                Op::StartsWith => "starts-with",
                Op::NotStartsWith => "not-starts-with",
            };
            let ty = match &leaf.term.source {
                Type::Primitive(p) => p.to_string(),
                _ => "nested".to_owned(),
            };
            json!({"op": op, "path": leaf.term.path, "type": ty, "values": values_of(leaf)})
        }
    }
}

pub(crate) fn values_of(leaf: &BoundLeaf) -> Vec<Json> {
    let ty = leaf.term.ty.as_primitive().unwrap_or(&PrimitiveType::Unknown);
    leaf.values.iter().map(|v| value_to_json(v.as_ref(), ty)).collect()
}

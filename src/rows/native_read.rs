//! The files of a scan that an engine's own Parquet reader can read, as plain data.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::RecordBatch;

use crate::expr::{BoundLeaf, BoundPredicate, Op};
use crate::format::packed_splits::Splits;
use crate::store::location;
use crate::types::json::non_finite_text;
use crate::types::value::{ValueRef, format_value};
use crate::types::{PrimitiveType, Schema, Type, Value};

/// The abilities of an engine that reads files.
#[derive(Clone, Debug)]
pub struct NativeReadRequest {
    /// Schemes of the locations that it reads from; `file` for local ones.
    pub schemes: Vec<String>,
    /// Files that it can't read, by their real paths, with the reasons.
    pub refused: HashMap<String, String>,
    /// The most files. It gets no file of a scan with more.
    pub most_files: usize,
    /// The most deleted rows of all files together. With 0, it gets no file with deletes.
    pub most_positions: u64,
    /// If the engine reads no file: the number of splits from which they are packed.
    pub pack_from: usize,
}

/// The files of a scan, by their reader.
#[derive(Clone, Debug)]
pub struct NativeRead {
    /// The columns to read: first those of the result, then those that only the filter uses.
    pub wanted: Schema,
    /// The scan's filter, if any file needs it.
    pub filter: BoundPredicate,
    /// Files for the engine.
    pub groups: Vec<PlainGroup>,
    /// Deleted rows of the files for the engine ([`deleted_schema`]).
    pub deleted: RecordBatch,
    /// Splits of all other files.
    pub rest: Splits,
    /// Why the engine does not read the other files.
    pub reasons: Reasons,
}

/// Why the engine does not read files.
#[derive(Clone, Debug)]
pub enum Reasons {
    /// One reason for all files.
    Everywhere(String),
    /// A reason for each file ([`reasons_schema`]).
    Each(RecordBatch),
}

/// Files that are read in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct PlainGroup {
    /// The names in the files of the wanted columns; `None` for a column that is null in every row.
    pub columns: Vec<Option<String>>,
    /// Whether rows of these files may fail the filter.
    pub is_filtered: bool,
    /// The files.
    pub files: Vec<NativeFile>,
}

/// A file for the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeFile {
    /// Its path.
    pub path: String,
    /// Its size.
    pub size_bytes: i64,
    /// The number of its rows, deleted ones included.
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
    // After two slashes comes a host. Without a scheme they are an empty part.
    let (host, rest) = match rest.strip_prefix("//").filter(|_| scheme.is_some()) {
        Some(with_host) => with_host.split_once('/').unwrap_or((with_host, "")),
        None => ("", rest.strip_prefix('/').unwrap_or(rest)),
    };
    let is_local = scheme.is_none_or(location::is_file);
    let name = rest.rsplit('/').next().unwrap_or_default();
    (host.is_empty() || !is_local)
        && !name.contains(':')
        && rest.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The schema of the deleted rows: `word` and `mask`. A word has the number of the file above `WORD_BITS` bits, and in
/// these bits the number of a row divided by 64. The lowest bit of the mask stands for the first of these 64 rows.
pub fn deleted_schema() -> SchemaRef {
    let long = |name| ArrowField::new(name, DataType::Int64, false);
    Arc::new(ArrowSchema::new(vec![long("word"), long("mask")]))
}

/// A filter for an engine to build.
#[derive(Clone, Debug, PartialEq)]
pub enum NativeFilter {
    /// Keeps all rows or none.
    Constant(bool),
    /// Keeps the rows that all parts keep.
    And(Vec<NativeFilter>),
    /// Keeps the rows that one of the parts keeps.
    Or(Vec<NativeFilter>),
    /// Compares a column with values.
    Leaf {
        /// The operator, `is-null` or `lt-eq`.
        op: &'static str,
        /// The names on the path to the column.
        path: Vec<String>,
        /// The type of the column; `nested` if it is not primitive.
        type_name: String,
        /// The values.
        values: Vec<NativeValue>,
    },
}

/// A value of a filter, in the form of the specification's single values in JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum NativeValue {
    /// A truth value.
    Boolean(bool),
    /// A value of type `int` or `long`.
    Integer(i64),
    /// A finite floating-point number.
    Float(f64),
    /// The text of any other value.
    Text(String),
}

impl NativeFilter {
    /// The filter for an engine. `None` if it asks about computed values.
    pub fn new(filter: &BoundPredicate) -> Option<NativeFilter> {
        let all = |parts: &[BoundPredicate]| parts.iter().map(NativeFilter::new).collect::<Option<_>>();
        Some(match filter {
            BoundPredicate::True => NativeFilter::Constant(true),
            BoundPredicate::False => NativeFilter::Constant(false),
            BoundPredicate::And(parts) => NativeFilter::And(all(parts)?),
            BoundPredicate::Or(parts) => NativeFilter::Or(all(parts)?),
            BoundPredicate::Leaf(leaf) => NativeFilter::Leaf {
                op: op_name(leaf.op),
                path: leaf.term.path.clone(),
                type_name: match &leaf.term.source {
                    Type::Primitive(p) => p.to_string(),
                    _ => "nested".to_owned(),
                },
                values: values_of(leaf),
            },
            BoundPredicate::Test(_) => return None,
        })
    }
}

fn op_name(op: Op) -> &'static str {
    match op {
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
    }
}

/// The values of a leaf.
pub(crate) fn values_of(leaf: &BoundLeaf) -> Vec<NativeValue> {
    let ty = leaf.term.ty.as_primitive().unwrap_or(&PrimitiveType::Unknown);
    let value = |v: &Value| match v.as_ref() {
        ValueRef::Boolean(b) => NativeValue::Boolean(b),
        ValueRef::Int(n) if *ty != PrimitiveType::Date => NativeValue::Integer(i64::from(n)),
        ValueRef::Long(n) if *ty == PrimitiveType::Long => NativeValue::Integer(n),
        ValueRef::Float(f) => float(f64::from(f)),
        ValueRef::Double(d) => float(d),
        v => NativeValue::Text(format_value(v, ty)),
    };
    leaf.values.iter().map(value).collect()
}

fn float(d: f64) -> NativeValue {
    if d.is_finite() { NativeValue::Float(d) } else { NativeValue::Text(non_finite_text(d).to_owned()) }
}

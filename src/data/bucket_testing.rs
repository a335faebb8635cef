//! Shared code of the tests that read Paimon tables. Java's Paimon wrote the tables and described them. Contexts and
//! tasks come from these descriptions, and rows are printed as Java prints them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use serde_json::{Value as Json, json};

use super::testing::{context, schema as plain_schema};
use crate::data::arrow::array_value::value_at;
use crate::expr::bind::bind;
use crate::expr::parse::parse;
use crate::expr::{BoundPredicate, Predicate};
use crate::format::task::{
    BucketContext, BucketFile, DataFile, DeleteRef, FileContent, FileFormat, MergeSection, Partition, PartitionValue,
    ReadContext, ScanTask,
};
use crate::types::temporal::{format_date, format_time, format_timestamp};
use crate::types::{Field, PrimitiveType, Schema, Transform, Type, ValueRef};

/// A column's type from Paimon's JSON. Details beyond the table's types are added to `declared`.
fn type_of(j: &Json, id: i32, declared: &mut BTreeMap<i32, String>) -> (Type, bool) {
    let Some(text) = j.as_str() else {
        let kind = j["type"].as_str().unwrap();
        let inner = |j: &Json, name: &str, id: i32, declared: &mut BTreeMap<i32, String>| {
            let (ty, required) = type_of(j, id, declared);
            Arc::new(Field::new(id, name, required || name == "key", ty))
        };
        let below = 10_000 + id * 10;
        let ty = match kind.trim_end_matches(" NOT NULL") {
            "ARRAY" => Type::List(inner(&j["element"], "element", below, declared)),
            "MAP" => {
                Type::Map(inner(&j["key"], "key", below, declared), inner(&j["value"], "value", below + 1, declared))
            }
            "MULTISET" => Type::Map(
                inner(&j["element"], "key", below, declared),
                Arc::new(Field::new(below + 1, "value", false, PrimitiveType::Int)),
            ),
            "ROW" => Type::Struct(j["fields"].as_array().unwrap().iter().map(|f| field_of(f, declared)).collect()),
            other => panic!("{other}"),
        };
        return (ty, kind.ends_with("NOT NULL"));
    };
    let required = text.ends_with(" NOT NULL");
    let text = text.trim_end_matches(" NOT NULL");
    declared.insert(id, text.to_owned());
    let (name, rest) = text.split_once('(').unwrap_or((text, ""));
    let numbers: Vec<u8> = rest.split([',', ')']).filter_map(|n| n.trim().parse().ok()).collect();
    let zoned = text.contains("LOCAL TIME ZONE");
    let nanos = name.starts_with("TIMESTAMP") && numbers.first().is_some_and(|n| *n > 6);
    use PrimitiveType as P;
    let ty = match name.split(' ').next().unwrap() {
        "BOOLEAN" => P::Boolean,
        "TINYINT" | "SMALLINT" | "INT" => P::Int,
        "BIGINT" => P::Long,
        "FLOAT" => P::Float,
        "DOUBLE" => P::Double,
        "DECIMAL" => P::Decimal { precision: numbers[0], scale: numbers.get(1).copied().unwrap_or(0) },
        "DATE" => P::Date,
        "TIME" => P::Time,
        "TIMESTAMP" | "TIMESTAMP_LTZ" => match (zoned, nanos) {
            (false, false) => P::Timestamp,
            (true, false) => P::Timestamptz,
            (false, true) => P::TimestampNs,
            (true, true) => P::TimestamptzNs,
        },
        "CHAR" | "VARCHAR" | "STRING" => P::String,
        "VARIANT" => P::Variant,
        _ => P::Binary,
    };
    (Type::Primitive(ty), required)
}

fn field_of(j: &Json, declared: &mut BTreeMap<i32, String>) -> Field {
    let id = j["id"].as_i64().unwrap() as i32;
    let (ty, required) = type_of(&j["type"], id, declared);
    Field::new(id, j["name"].as_str().unwrap(), required, ty)
}

/// A table as Java described it, with the place of its files.
pub(super) struct Described<'a> {
    pub said: &'a Json,
    pub root: &'a Path,
}

impl Described<'_> {
    fn schemas(&self) -> BucketContext {
        let (mut schemas, mut declared) = (BTreeMap::new(), BTreeMap::new());
        for schema in self.said["schemas"].as_array().unwrap() {
            let id = schema["id"].as_i64().unwrap();
            let mut types = BTreeMap::new();
            let fields = schema["fields"].as_array().unwrap().iter().map(|f| field_of(f, &mut types));
            schemas.insert(id, Arc::new(Schema::new(id as i32, fields.collect::<Vec<_>>(), Vec::new())));
            declared.insert(id, Arc::new(types));
        }
        BucketContext { schemas, declared, ..BucketContext::default() }
    }

    /// The context of a read, with the newest schema that has its columns.
    pub(super) fn context(&self, read: &Json) -> Arc<ReadContext> {
        let BucketContext { schemas, declared, .. } = self.schemas();
        let columns: Vec<&str> = read["columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
        let has_all = |s: &&Arc<Schema>| columns.iter().all(|c| s.fields.iter().any(|f| f.name == *c));
        let snapshot = read["options"]["scan.snapshot-id"].as_str();
        let of_snapshot = self.said["snapshots"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|s| snapshot.is_some() && s["id"].as_i64().map(|id| id.to_string()).as_deref() == snapshot);
        let schema = match of_snapshot {
            Some(s) => schemas[&s["schemaId"].as_i64().unwrap()].clone(),
            None => schemas.values().rev().find(has_all).unwrap().clone(),
        };
        let selected = columns.iter().map(|c| schema.fields.iter().find(|f| f.name == *c).unwrap().clone());
        let projection = Arc::new(Schema::new(schema.id, selected.collect::<Vec<_>>(), Vec::new()));
        let names = |list: &Json| -> Vec<String> {
            list.as_array().unwrap().iter().map(|n| n.as_str().unwrap().to_owned()).collect()
        };
        let partition = names(&self.said["spec"]["partition"]);
        let key = names(&self.said["spec"]["pk"]).into_iter().filter(|n| !partition.contains(n));
        let id = |name: String| schema.fields.iter().find(|f| f.name == name).unwrap().id;
        let mut options: BTreeMap<String, String> = BTreeMap::new();
        for part in [&self.said["spec"]["options"], &read["options"]] {
            let part = part.as_object().into_iter().flatten();
            options.extend(part.map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())));
        }
        let buckets = BucketContext { key: key.map(id).collect(), schemas, declared, options };
        let base = context(&plain_schema(vec![]));
        let base = ReadContext { schema, projection, buckets: Some(Arc::new(buckets)), ..base.as_ref().clone() };
        Arc::new(base)
    }

    /// The tasks of a read: one for each split that is merged, or, if that is wanted, one for each file.
    pub(super) fn tasks(&self, context: &ReadContext, read: &Json, apart: bool) -> Vec<ScanTask> {
        let residual = Arc::new(filter(&read["filter"], &context.schema));
        let mut out = Vec::new();
        for split in read["splits"].as_array().unwrap() {
            let files = split["files"].as_array().unwrap().iter();
            let tasks: Vec<ScanTask> = files.map(|f| self.task(context, split, f, &residual)).collect();
            let raw = split["rawConvertible"] == json!(true);
            let has_key = context.buckets.as_ref().is_some_and(|p| !p.key.is_empty());
            if apart || raw || (!has_key && self.said["spec"]["options"]["data-evolution.enabled"].is_null()) {
                out.extend(tasks);
            } else if has_key {
                out.extend(merged(tasks));
            } else {
                let mut by_row: BTreeMap<i64, Vec<ScanTask>> = BTreeMap::new();
                tasks.into_iter().for_each(|t| by_row.entry(t.data_file.first_row_id.unwrap()).or_default().push(t));
                out.extend(by_row.into_values().flat_map(merged));
            }
        }
        out
    }

    fn task(&self, context: &ReadContext, split: &Json, file: &Json, residual: &Arc<BoundPredicate>) -> ScanTask {
        let name = file["fileName"].as_str().unwrap();
        let entry = self.said["entries"].as_array().unwrap().iter().find(|e| e["fileName"] == json!(name));
        let entry = entry.unwrap_or(&Json::Null);
        let number = |key: &str| entry[key].as_i64().unwrap_or(0);
        let place = |path: &str| self.root.join(path).display().to_string();
        let path = match entry["externalPath"].as_str() {
            Some(path) => path.trim_start_matches("file:").replace("///", "/"),
            None => place(&format!("{}/{name}", split["bucketPath"].as_str().unwrap())),
        };
        let bucket_file = BucketFile {
            bucket: 0,
            total_buckets: 1,
            level: file["level"].as_i64().unwrap() as i32,
            schema_id: file["schemaId"].as_i64().unwrap(),
            min_key: Vec::new(),
            max_key: Vec::new(),
            min_sequence_number: number("minSequenceNumber"),
            max_sequence_number: number("maxSequenceNumber"),
            delete_row_count: None,
            write_columns: entry["writeCols"]
                .as_array()
                .map(|names| names.iter().map(|n| n.as_str().unwrap().to_owned()).collect()),
        };
        let partition =
            self.said["spec"]["partition"].as_array().unwrap().iter().zip(split["partition"].as_array().unwrap());
        let values = partition.enumerate().filter_map(|(i, (name, value))| {
            let field = context.schema.fields.iter().find(|f| f.name == name.as_str().unwrap())?;
            let ty = field.ty.as_primitive()?.clone();
            let value = match (&ty, value) {
                (PrimitiveType::String, Json::String(s)) => Some(crate::types::Value::String(s.clone())),
                (PrimitiveType::Int, Json::Number(n)) => Some(crate::types::Value::Int(n.as_i64()? as i32)),
                _ => None,
            };
            let (name, field_id) = (field.name.clone(), 1000 + i as i32);
            Some(PartitionValue { name, field_id, source_id: field.id, transform: Transform::Identity, ty, value })
        });
        let values: Vec<PartitionValue> = values.collect();
        let format = FileFormat::parse(name.rsplit('.').next().unwrap()).unwrap();
        let partition = Arc::new(Partition { spec_id: 0, values });
        let data_file = DataFile {
            record_count: file["rowCount"].as_i64().unwrap(),
            size_bytes: file["fileSize"].as_i64().unwrap(),
            first_row_id: entry["firstRowId"].as_i64(),
            bucket_file: Some(Box::new(bucket_file)),
            ..DataFile::new(FileContent::Data, path.clone(), format, partition.clone())
        };
        let deletion = file.get("deletion").filter(|d| d.is_object()).map(|deletion| {
            let index = place(deletion["path"].as_str().unwrap());
            let file = DataFile {
                size_bytes: std::fs::metadata(&index).unwrap().len() as i64,
                record_count: deletion["cardinality"].as_i64().unwrap(),
                content_offset: deletion["offset"].as_i64(),
                content_size_bytes: deletion["length"].as_i64(),
                referenced_data_file: Some(path),
                ..DataFile::new(FileContent::PositionDeletes, index, FileFormat::Puffin, partition)
            };
            DeleteRef { file: Arc::new(file) }
        });
        ScanTask {
            start: 0,
            length: data_file.size_bytes,
            data_file: Arc::new(data_file),
            deletes: deletion.into_iter().collect(),
            residual: residual.clone(),
            change: None,
            merge: None,
        }
    }
}

/// One task of several files. Each file is a separate run.
pub(super) fn merged(tasks: Vec<ScanTask>) -> Option<ScanTask> {
    let first = tasks.first()?.clone();
    let runs = tasks.into_iter().map(|task| vec![task]).collect();
    Some(ScanTask { deletes: vec![], merge: Some(Arc::new(MergeSection { runs, before: None })), ..first })
}

fn filter(j: &Json, schema: &Schema) -> BoundPredicate {
    if j.is_null() {
        return BoundPredicate::True;
    }
    let parsed: Predicate = parse(&text(j)).unwrap();
    bind(&parsed, schema, true).unwrap()
}

fn text(j: &Json) -> String {
    let part = |i: usize| j[i].as_str().unwrap_or_default();
    let literal = |v: &Json| match v {
        Json::String(s) => format!("'{}'", s.replace('\'', "''")),
        other => other.to_string(),
    };
    let list = |v: &Json| v.as_array().unwrap().iter().map(literal).collect::<Vec<_>>().join(", ");
    let column = format!("\"{}\"", part(1));
    match part(0) {
        op @ ("and" | "or") => {
            let parts: Vec<String> = j.as_array().unwrap().iter().skip(1).map(text).collect();
            format!("({})", parts.join(&format!(" {op} ")))
        }
        "null" => format!("{column} is null"),
        "notnull" => format!("{column} is not null"),
        "in" => format!("{column} in ({})", list(&j[2])),
        "notin" => format!("{column} not in ({})", list(&j[2])),
        "between" => format!("{column} between {} and {}", literal(&j[2]), literal(&j[3])),
        "startswith" => format!("starts_with({column}, {})", literal(&j[2])),
        op => {
            let op = [("eq", "="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")]
                .into_iter()
                .find(|(name, _)| *name == op);
            format!("{column} {} {}", op.unwrap().1, literal(&j[2]))
        }
    }
}

/// A value as the corpus of Java's Paimon prints it.
pub(super) fn printed(array: &ArrayRef, row: usize, ty: &Type) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    let sorted = |mut pairs: Vec<Json>| {
        pairs.sort_by_key(Json::to_string);
        Json::Array(pairs)
    };
    match ty {
        Type::Struct(members) => {
            let columns = array.as_struct().columns();
            members.iter().zip(columns).map(|(m, c)| printed(c, row, &m.ty)).collect()
        }
        Type::List(element) => {
            let values = array.as_list::<i32>().value(row);
            (0..values.len()).map(|i| printed(&values, i, &element.ty)).collect()
        }
        Type::Map(key, value) => {
            let entries = array.as_map().value(row);
            let pair = |i| json!([printed(entries.column(0), i, &key.ty), printed(entries.column(1), i, &value.ty)]);
            sorted((0..entries.len()).map(pair).collect())
        }
        Type::Primitive(PrimitiveType::Variant) => json!("variant"),
        Type::Primitive(ty) => {
            let value = value_at(array, row, ty).unwrap_or_else(|| panic!("{ty} of {}", array.data_type()));
            primitive(value, ty, array.data_type())
        }
    }
}

fn primitive(value: ValueRef<'_>, ty: &PrimitiveType, stored: &DataType) -> Json {
    use PrimitiveType as P;
    let real = |v: f64| match v {
        v if v.is_nan() => json!("NaN"),
        v if v.is_infinite() => json!(if v > 0.0 { "Infinity" } else { "-Infinity" }),
        v => json!(v),
    };
    match (value, ty) {
        (ValueRef::Int(v), P::Date) => json!(format_date(i64::from(v))),
        (ValueRef::Long(v), P::Time) => {
            let text = format_time(v / 1000, 1000).replace(".000", ".");
            let short = text.strip_suffix(":00").unwrap_or(&text);
            json!(short)
        }
        (ValueRef::Long(v), P::Long) => json!(v),
        (ValueRef::Long(v), _) => {
            let per_second = if matches!(ty, P::TimestampNs | P::TimestamptzNs) { 1_000_000_000 } else { 1_000_000 };
            let seconds = format_timestamp(v.div_euclid(per_second), 1);
            json!(format!("{seconds}.{:09}", v.rem_euclid(per_second) * (1_000_000_000 / per_second)))
        }
        (ValueRef::Boolean(v), _) => json!(v),
        (ValueRef::Int(v), _) => json!(v),
        (ValueRef::Float(v), _) => real(f64::from(v)),
        (ValueRef::Double(v), _) => real(v),
        (ValueRef::Decimal(v), P::Decimal { scale, .. }) => json!(crate::types::decimal::format_decimal(v, *scale)),
        (ValueRef::String(v), _) => json!(v),
        (ValueRef::Bytes(v), _) => json!(crate::types::value::hex(v)),
        other => panic!("{other:?} {stored}"),
    }
}

/// The text that Java printed, in the form of [`printed`].
pub(super) fn expected(j: &Json, ty: &Type) -> Json {
    use PrimitiveType as P;
    match (ty, j) {
        (_, Json::Null) => Json::Null,
        (Type::Primitive(P::Variant), _) => json!("variant"),
        (Type::Primitive(P::Float | P::Double), Json::Number(n)) => json!(n.as_f64().unwrap()),
        (Type::List(element), Json::Array(list)) => list.iter().map(|j| expected(j, &element.ty)).collect(),
        (Type::Struct(members), Json::Array(list)) => {
            list.iter().zip(members.iter()).map(|(j, m)| expected(j, &m.ty)).collect()
        }
        (Type::Map(key, value), Json::Array(list)) => {
            let pair = |j: &Json| json!([expected(&j[0], &key.ty), expected(&j[1], &value.ty)]);
            let mut pairs: Vec<Json> = list.iter().map(pair).collect();
            pairs.sort_by_key(Json::to_string);
            Json::Array(pairs)
        }
        (_, other) => other.clone(),
    }
}

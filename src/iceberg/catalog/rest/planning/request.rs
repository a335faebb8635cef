//! What the server is asked.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::expr::json::predicate_to_json;
use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, Op};
use crate::iceberg::plan::served::planner::{ServedFiles, ServedScan};
use crate::types::metadata_columns::is_metadata;
use crate::types::{PrimitiveType, Schema, Transform, Value};

/// The body of a request for a plan. It never has `min-rows-requested`: Java's server then stops after that number of
/// files, and all their rows may be deleted.
pub(super) fn body(scan: &ServedScan) -> Json {
    let is_of_snapshot = matches!(scan.files, ServedFiles::Version(_));
    let mut out = json!({"case-sensitive": true, "use-snapshot-schema": is_of_snapshot});
    match scan.files {
        ServedFiles::Version(id) => out["snapshot-id"] = json!(id),
        ServedFiles::Appended { since, until } => {
            out["start-snapshot-id"] = json!(since);
            out["end-snapshot-id"] = json!(until);
        }
    }
    let filter = sendable(&scan.filter, &scan.schemas);
    if filter != BoundPredicate::True {
        out["filter"] = predicate_to_json(&filter);
    }
    if !scan.select.is_empty() {
        out["select"] = json!(scan.select);
    }
    if !scan.metrics.is_empty() {
        out["stats-fields"] = json!(scan.metrics);
    }
    out
}

/// A filter that every server understands, and that keeps all rows that `filter` keeps. Readers check the whole filter.
fn sendable(filter: &BoundPredicate, schemas: &[Arc<Schema>]) -> BoundPredicate {
    match filter {
        BoundPredicate::True => BoundPredicate::True,
        BoundPredicate::False => BoundPredicate::False,
        BoundPredicate::And(parts) => BoundPredicate::all(parts.iter().map(|part| sendable(part, schemas))),
        BoundPredicate::Or(parts) => BoundPredicate::any(parts.iter().map(|part| sendable(part, schemas))),
        BoundPredicate::Leaf(leaf) if is_sendable(leaf, schemas) => understood(leaf),
        BoundPredicate::Leaf(_) | BoundPredicate::Test(_) => BoundPredicate::True,
    }
}

/// Whether a server understands a comparison in the same way. It has no metadata columns. Java takes the transform of a
/// column for the column itself where the table is partitioned by the column. Java's server reads names by the schema
/// of the snapshot even if it is asked for the current one, so both schemas must have the same column.
fn is_sendable(leaf: &BoundLeaf, schemas: &[Arc<Schema>]) -> bool {
    let term = &leaf.term;
    let Some(source) = term.source_primitive().filter(|_| !is_metadata(term.field_id)) else { return false };
    let is_same = |schema: &Arc<Schema>| {
        let path = schema.path(term.field_id);
        path.and_then(|path| BoundTerm::of_column(&path)).is_some_and(|column| column == *term)
    };
    let is_column = term.transform == Transform::Identity && schemas.iter().all(is_same);
    // Java orders uuids in another way.
    let is_uuid = *source == PrimitiveType::Uuid && !leaf.values.is_empty();
    is_column && !is_uuid && leaf.values.iter().all(is_same_everywhere)
}

/// Whether a literal means the same for a server. Java reads no bytes and no NaN from JSON, and its two zeros differ.
fn is_same_everywhere(value: &Value) -> bool {
    match value {
        Value::Bytes(_) => false,
        Value::Float(v) => v.is_finite() && *v != 0.0,
        Value::Double(v) => v.is_finite() && *v != 0.0,
        _ => true,
    }
}

/// A comparison in the server's words. Here NaN is greater than all numbers, unlike on a server. Java fails at
/// prefixes where a partition is null, so a prefix becomes a range.
fn understood(leaf: &BoundLeaf) -> BoundPredicate {
    let own = BoundPredicate::Leaf(leaf.clone());
    let other = |op, values| BoundPredicate::Leaf(BoundLeaf { term: leaf.term.clone(), op, values });
    let is_float = leaf.term.source_primitive().is_some_and(PrimitiveType::is_float);
    match (leaf.op, leaf.values.as_slice()) {
        (Op::Gt | Op::GtEq, _) if is_float => BoundPredicate::any([own, other(Op::IsNan, Vec::new())]),
        (Op::StartsWith, [Value::String(prefix)]) => {
            let above = after_prefix(prefix).map(|end| other(Op::Lt, vec![Value::String(end)]));
            BoundPredicate::all(std::iter::once(other(Op::GtEq, leaf.values.clone())).chain(above))
        }
        (Op::StartsWith | Op::NotStartsWith, _) => BoundPredicate::True,
        _ => own,
    }
}

/// The least text above all texts with this prefix. `None` if it is not easily found.
fn after_prefix(prefix: &str) -> Option<String> {
    let last = prefix.chars().next_back()?;
    let next = char::from_u32(u32::from(last) + 1)?;
    Some(format!("{}{next}", prefix.strip_suffix(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{bind, parse};
    use crate::types::Field;
    use crate::types::metadata_columns::{FILE, metadata_column};

    fn sent(filter: &str) -> Json {
        sent_with(filter, |schema| schema.clone())
    }

    /// What is sent if the table's current schema is another one.
    fn sent_with(filter: &str, current: fn(&Arc<Schema>) -> Arc<Schema>) -> Json {
        let field = |id, name: &str, ty: PrimitiveType| Field::new(id, name, false, ty);
        let mut fields = vec![
            field(1, "id", PrimitiveType::Long),
            field(2, "score", PrimitiveType::Double),
            field(3, "raw", PrimitiveType::Binary),
            field(4, "key", PrimitiveType::Uuid),
            field(5, "ts", PrimitiveType::Timestamp),
            field(6, "name", PrimitiveType::String),
        ];
        fields.extend(metadata_column(FILE));
        let schema = Arc::new(Schema::new(0, fields, Vec::new()));
        let filter = bind(&parse(filter).unwrap(), &schema, true).unwrap();
        body(&ServedScan {
            files: ServedFiles::Version(7),
            filter: Arc::new(filter),
            schemas: [schema.clone(), current(&schema)],
            select: vec!["id".to_owned()],
            metrics: Vec::new(),
        })
    }

    #[test]
    fn a_request_has_what_the_server_understands() {
        let all = json!({"case-sensitive": true, "use-snapshot-schema": true, "snapshot-id": 7, "select": ["id"]});
        assert_eq!(sent("true"), all);
        let filter = |text: &str| sent(text).get("filter").cloned();
        let id = json!({"type": "gt", "term": "id", "value": 5});
        assert_eq!(filter("id > 5"), Some(id.clone()));
        // What the server can't decide is left out, and rows are checked here.
        assert_eq!(filter("id > 5 and _file = 'a'"), Some(id.clone()));
        assert_eq!(filter("id > 5 and raw = x'00' and score = 0"), Some(id));
        assert_eq!(filter("id > 5 or _file = 'a'"), None);
        assert_eq!(filter("key = 'f79c3e09-677c-4bbd-a479-3f349cb785e7'"), None);
        let null = json!({"type": "is-null", "term": "key"});
        assert_eq!(filter("key is null"), Some(null));
        let nan = json!({"type": "or", "left": {"type": "gt", "term": "score", "value": 1.5},
            "right": {"type": "is-nan", "term": "score"}});
        assert_eq!(filter("score > 1.5"), Some(nan));
        let prefix = json!({"type": "and", "left": {"type": "gt-eq", "term": "name", "value": "ab"},
            "right": {"type": "lt", "term": "name", "value": "ac"}});
        assert_eq!(filter("name like 'ab%'"), Some(prefix));
        assert_eq!(filter("not starts_with(name, 'ab')"), None);
        assert_eq!(filter("day(ts) < '2024-05-01'"), None);
        let before = json!({"type": "lt", "term": "ts", "value": "2024-05-01T00:00:00"});
        assert_eq!(filter("ts < '2024-05-01T00:00:00'"), Some(before));
    }

    #[test]
    fn names_mean_the_same_in_both_schemas() {
        let changed = |schema: &Arc<Schema>| {
            let mut fields = schema.fields.to_vec();
            // The names of two columns are exchanged, one has another type, and one can't be null.
            (fields[0].name, fields[5].name) = ("name".to_owned(), "id".to_owned());
            fields[1].ty = PrimitiveType::Float.into();
            fields[3].required = true;
            Arc::new(Schema::new(1, fields, Vec::new()))
        };
        let filter = |text: &str| sent_with(text, changed).get("filter").cloned();
        let before = json!({"type": "lt", "term": "ts", "value": "2024-05-01T00:00:00"});
        assert_eq!(filter("ts < '2024-05-01T00:00:00' and id > 5 and name = 'a' and score > 1.5"), Some(before));
        for other in ["id > 5", "name = 'a'", "score > 1.5", "key is null", "raw is null or id = 1"] {
            assert_eq!(filter(other), None, "{other}");
        }
    }
}

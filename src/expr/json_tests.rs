use super::*;
use crate::expr::{bind, parse};
use crate::types::{Field, Schema};

fn schema() -> Schema {
    use PrimitiveType as P;
    let inner: std::sync::Arc<[Field]> = vec![Field::new(5, "b", false, P::Long)].into();
    Schema::new(
        0,
        vec![
            Field::new(1, "id", false, P::Long),
            Field::new(2, "ts", false, P::Timestamptz),
            Field::new(3, "dot.ted", false, P::Decimal { precision: 9, scale: 2 }),
            Field::new(4, "a", false, crate::types::Type::Struct(inner)),
            Field::new(6, "bin", false, P::Binary),
        ],
        vec![],
    )
}

fn bound(text: &str) -> BoundPredicate {
    bind(&parse(text).unwrap(), &schema(), true).unwrap()
}

/// Forms as Java's ExpressionParser writes them.
#[test]
fn written_as_java_does() {
    for (text, want) in [
        ("true", json!(true)),
        ("a.b is null", json!({"type": "is-null", "term": "a.b"})),
        ("id = 9007199254740993", json!({"type": "eq", "term": "id", "value": 9007199254740993i64})),
        ("\"dot.ted\" >= 1.5", json!({"type": "gt-eq", "term": "dot.ted", "value": "1.50"})),
        ("id in (1, 2)", json!({"type": "in", "term": "id", "values": [1, 2]})),
        ("starts_with(bin, x'00ff')", json!({"type": "starts-with", "term": "bin", "value": "00ff"})),
        (
            "bucket(4, id) = 2",
            json!({"type": "eq", "term": {"type": "transform", "transform": "bucket[4]", "term": "id"}, "value": 2}),
        ),
        // The specification has no questions about computed values.
        ("id + 1 > 5", json!({"type": "frazil-test", "text": "id + 1 > 5"})),
        ("id < a.b", json!({"type": "frazil-test", "text": "id < a.b"})),
        (
            "id = 1 or ts < '2023-01-01'",
            json!({"type": "or", "left": {"type": "eq", "term": "id", "value": 1},
                   "right": {"type": "lt", "term": "ts", "value": "2023-01-01T00:00:00+00:00"}}),
        ),
    ] {
        let json = predicate_to_json(&bound(text));
        assert_eq!(json, want, "{text}");
        assert_eq!(bind(&predicate_from_json(&json).unwrap(), &schema(), true).unwrap(), bound(text), "{text}");
    }
}

#[test]
fn reads_older_and_newer_forms() {
    for (json, text) in [
        (json!({"type": "literal", "value": true}), "true"),
        (
            json!({"type": "NOT_EQ", "term": {"type": "reference", "term": "id"}, "value": {"type": "literal", "value": 5}}),
            "id != 5",
        ),
        (
            json!({"type": "not", "child": {"type": "is-null", "child": {"type": "reference", "name": "id"}}}),
            "id is not null",
        ),
        (json!({"type": "lt", "left": {"type": "reference", "name": "id"}, "right": 7}), "id < 7"),
        (
            json!({"type": "in", "child": {"type": "reference", "name": "id"}, "values": {"type": "literals", "values": [1, 2]}}),
            "id in (1, 2)",
        ),
    ] {
        assert_eq!(bind(&predicate_from_json(&json).unwrap(), &schema(), true).unwrap(), bound(text));
    }
}

#[test]
fn long_filters_stay_shallow() {
    let text = (0..5000).map(|i| format!("id = {i} or a.b = {i}")).collect::<Vec<_>>().join(" or ");
    let json = predicate_to_json(&bound(&text)).to_string();
    let read = predicate_from_json(&serde_json::from_str(&json).unwrap()).unwrap();
    assert_eq!(bind(&read, &schema(), true).unwrap(), bound(&text));
}

#[test]
fn malformed_json_is_refused() {
    use crate::error::ErrorKind::{InvalidInput, Unsupported};
    for (json, kind) in [
        (json!(null), InvalidInput),
        (json!(5), InvalidInput),
        (json!({"type": "nope", "term": "id"}), InvalidInput),
        (json!({"type": "eq", "term": "id"}), InvalidInput),
        (json!({"type": "eq", "term": "id", "value": null}), InvalidInput),
        (json!({"type": "in", "term": "id", "values": 5}), InvalidInput),
        (json!({"type": "and", "left": true}), InvalidInput),
        (json!({"type": "eq", "left": {"type": "reference", "id": 5}, "right": 7}), Unsupported),
        (json!({"type": "eq", "left": {"type": "apply", "function": "f", "arguments": []}, "right": 7}), Unsupported),
    ] {
        assert_eq!(predicate_from_json(&json).unwrap_err().kind(), kind, "{json}");
    }
    let deep = (0..MAX_DEPTH + 2).fold(json!(true), |j, _| json!({"type": "not", "child": j}));
    assert_eq!(predicate_from_json(&deep).unwrap_err().kind(), InvalidInput);
}

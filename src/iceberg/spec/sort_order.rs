//! Sort orders: their JSON, and the short texts that users write (`ts desc nulls last`).
//!
//! Source: Iceberg specification, "Sorting" and Appendix C, "Sort Orders".

use serde_json::{Value as Json, json};

use super::partition::source_id;
use super::partition_by::{PartitionTerm, source_of};
use crate::error::{Error, Result};
use crate::types::json_members::OwnedMembers;
use crate::types::{Schema, SortField, SortOrder, Transform};

/// Reads a sort order object.
///
/// # Errors
/// `CorruptTable` for a missing or wrong member.
pub fn sort_order_from_json(json: &Json) -> Result<SortOrder> {
    let mut members = OwnedMembers::of(json.clone(), "a sort order")?;
    let id = members.required_int("order-id")?;
    let fields = members.list("fields")?.ok_or_else(|| members.error("fields", "is missing"))?;
    let fields = fields.into_iter().map(field_from_json).collect::<Result<Vec<_>>>()?;
    if id == 0 && !fields.is_empty() {
        return Err(Error::corrupt("sort order 0 must be the unsorted order, but it has fields"));
    }
    Ok(SortOrder { id, fields })
}

fn field_from_json(json: Json) -> Result<SortField> {
    let mut m = OwnedMembers::of(json, "a sort field")?;
    let transform = Transform::parse(&m.required_string("transform")?);
    let descending = match m.required_string("direction")?.to_ascii_lowercase().as_str() {
        "asc" => false,
        "desc" => true,
        other => return Err(m.error("direction", &format!("is '{other}', neither asc nor desc"))),
    };
    let nulls_first = match m.required_string("null-order")?.to_ascii_lowercase().as_str() {
        "nulls-first" => true,
        "nulls-last" => false,
        other => return Err(m.error("null-order", &format!("is '{other}', neither nulls-first nor nulls-last"))),
    };
    Ok(SortField { source_id: source_id(&mut m)?.0, transform, descending, nulls_first })
}

/// The JSON object.
pub fn sort_order_to_json(order: &SortOrder) -> Json {
    let field = |f: &SortField| {
        json!({
            "transform": f.transform.to_string(),
            "source-id": f.source_id,
            "direction": if f.descending { "desc" } else { "asc" },
            "null-order": if f.nulls_first { "nulls-first" } else { "nulls-last" },
        })
    };
    json!({"order-id": order.id, "fields": order.fields.iter().map(field).collect::<Vec<_>>()})
}

/// The sort order that the texts describe, most significant first. Its id is 1; without texts it is the unsorted order
/// with id 0.
///
/// A text is a column or transform (as in partition-by texts), then `asc` (the default) or `desc`, then `nulls first`
/// or `nulls last`. By default nulls are first if ascending and last if descending.
///
/// # Errors
/// `InvalidInput` if a text has another form, names no column, or the table can't be sorted by that column.
pub fn parse_sort_by<T: AsRef<str>>(texts: &[T], schema: &Schema) -> Result<SortOrder> {
    let fields =
        texts.iter().map(|text| parse_sort_field(text.as_ref(), schema)).collect::<Result<Vec<SortField>>>()?;
    Ok(SortOrder { id: i32::from(!fields.is_empty()), fields })
}

fn parse_sort_field(text: &str, schema: &Schema) -> Result<SortField> {
    let term = PartitionTerm::parse(text, schema)?;
    let rest: Vec<&str> = term.rest.iter().map(String::as_str).collect();
    let (direction, nulls) = match rest.as_slice() {
        [direction @ ("asc" | "desc"), nulls @ ..] => (*direction, nulls),
        nulls => ("asc", nulls),
    };
    let descending = direction == "desc";
    let nulls_first = match nulls {
        [] => !descending,
        ["nulls", "first"] => true,
        ["nulls", "last"] => false,
        _ => {
            return Err(Error::invalid(format!("'{}' is not a sort direction", rest.join(" ")))
                .with("sort_by", text)
                .hint("Write: column [asc|desc] [nulls first|nulls last]"));
        }
    };
    let source = source_of(&term, schema).map_err(|e| e.with("sort_by", text))?;
    Ok(SortField { source_id: source.id, transform: term.transform, descending, nulls_first })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Field, PrimitiveType};

    fn schema() -> Schema {
        let fields = vec![
            Field::new(1, "id", true, PrimitiveType::Long),
            Field::new(2, "ts", false, PrimitiveType::Timestamptz),
            Field::new(3, "v", false, PrimitiveType::Variant),
        ];
        Schema::new(0, fields, vec![])
    }

    #[test]
    fn texts_follow_the_reference_s_defaults() {
        let order = parse_sort_by(
            &["id", "ts desc", "day(ts) DESC NULLS FIRST", "\"id\" nulls last", "bucket(16, id) asc nulls last"],
            &schema(),
        )
        .unwrap();
        let got: Vec<_> =
            order.fields.iter().map(|f| (f.source_id, f.transform.to_string(), f.descending, f.nulls_first)).collect();
        let want = [
            (1, "identity", false, true),
            (2, "identity", true, false),
            (2, "day", true, true),
            (1, "identity", false, false),
            (1, "bucket[16]", false, false),
        ];
        assert_eq!(got, want.map(|(id, t, d, n)| (id, t.to_owned(), d, n)));
        assert_eq!(order.id, 1);
        assert_eq!(parse_sort_by::<&str>(&[], &schema()).unwrap(), SortOrder::default());
        for bad in ["nope", "id sideways", "id nulls", "id desc asc", "v", "day(id)", "", "id nulls last desc"] {
            let e = parse_sort_by(&[bad], &schema()).unwrap_err();
            assert_eq!(e.kind(), crate::error::ErrorKind::InvalidInput, "{bad}");
        }
    }

    /// The example of Appendix C.
    #[test]
    fn json_round_trips() {
        let j = json!({"order-id": 1, "fields": [
            {"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"},
            {"transform": "bucket[4]", "source-id": 3, "direction": "desc", "null-order": "nulls-last"}]});
        assert_eq!(sort_order_to_json(&sort_order_from_json(&j).unwrap()), j);
        assert!(sort_order_from_json(&json!({"order-id": 1})).is_err());
        assert!(sort_order_from_json(&json!({"order-id": 0, "fields": j["fields"]})).is_err());
    }
}

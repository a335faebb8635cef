//! The Avro types of a table's primitive types.

use std::collections::HashSet;

use serde_json::{Value as Json, json};

use crate::types::{PrimitiveType, decimal};

/// The Avro type of a primitive type, as JSON. `named` are the fixed types that the schema has so far: one is defined
/// once and then referred to by its name. Types without values of their own kind in Avro are null.
///
/// Source: Iceberg specification, Appendix A, "Avro"; names as Java's `TypeToSchema` gives them.
pub fn primitive_type(ty: &PrimitiveType, named: &mut HashSet<String>) -> Json {
    use PrimitiveType as P;
    let timestamp = |unit: &str, utc: bool| json!({"type": "long", "logicalType": unit, "adjust-to-utc": utc});
    match ty {
        P::Boolean => json!("boolean"),
        P::Int => json!("int"),
        P::Long => json!("long"),
        P::Float => json!("float"),
        P::Double => json!("double"),
        P::Date => json!({"type": "int", "logicalType": "date"}),
        P::Time => json!({"type": "long", "logicalType": "time-micros"}),
        P::Timestamp => timestamp("timestamp-micros", false),
        P::Timestamptz => timestamp("timestamp-micros", true),
        P::TimestampNs => timestamp("timestamp-nanos", false),
        P::TimestamptzNs => timestamp("timestamp-nanos", true),
        P::String => json!("string"),
        P::Binary | P::Geometry { .. } | P::Geography { .. } => json!("bytes"),
        P::Uuid => fixed("uuid_fixed".to_owned(), 16, json!({"logicalType": "uuid"}), named),
        P::Fixed(n) => fixed(format!("fixed_{n}"), *n as usize, json!({}), named),
        P::Decimal { precision, scale } => {
            let logical = json!({"logicalType": "decimal", "precision": precision, "scale": scale});
            let size = decimal::bytes_of_precision(*precision);
            fixed(format!("decimal_{precision}_{scale}"), size, logical, named)
        }
        // A variant is a record.
        P::Unknown | P::Variant => json!("null"),
    }
}

/// A fixed type, or its name where the schema has it already.
fn fixed(name: String, size: usize, logical: Json, named: &mut HashSet<String>) -> Json {
    if !named.insert(name.clone()) {
        return json!(name);
    }
    let mut out = json!({"type": "fixed", "name": name, "size": size});
    if let (Some(out), Json::Object(logical)) = (out.as_object_mut(), logical) {
        out.extend(logical);
    }
    out
}

//! Avro schemas: parses JSON to a tree that keeps Iceberg's attributes (`field-id` and similar ones).
//!
//! Source: Apache Avro 1.12 specification, "Schema Declaration"; Iceberg specification, Appendix A, "Avro".

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};
use crate::types::json_members::as_int;
use crate::types::json_text;

/// The deepest nesting of types.
const MAX_DEPTH: usize = 256;

/// A schema. Cheap to clone: children are shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its encoding.
    pub shape: Shape,
    /// Its meaning.
    pub logical: Logical,
    /// `element-id` of an array, `key-id` and `value-id` of a map.
    pub inner_ids: [Option<i32>; 2],
    /// The fewest bytes of a value; 0 only if every value takes none.
    pub min_bytes: usize,
}

/// The encoding of a type.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Shape {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    /// Byte strings of this length.
    Fixed(usize),
    /// Its symbols.
    Enum(Arc<[String]>),
    Array(Arc<Node>),
    /// String keys; the values' type.
    Map(Arc<Node>),
    Union(Arc<[Node]>),
    Record(Arc<[Member]>),
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name in the file.
    pub name: String,
    /// `field-id`, if given.
    pub id: Option<i32>,
    /// Its type.
    pub node: Node,
}

/// The `logicalType` of a type.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Logical {
    #[default]
    None,
    Date,
    TimeMillis,
    TimeMicros,
    /// Milliseconds, with the Iceberg attribute `adjust-to-utc`.
    TimestampMillis {
        utc: bool,
    },
    /// Microseconds, with the Iceberg attribute `adjust-to-utc`.
    TimestampMicros {
        utc: bool,
    },
    /// Nanoseconds, with the Iceberg attribute `adjust-to-utc`.
    TimestampNanos {
        utc: bool,
    },
    Decimal {
        precision: u8,
        scale: u8,
    },
    Uuid,
    /// An array of key-value records that represents a map.
    Map,
    /// Any other type, by name.
    Other(String),
}

/// Whether a value may be null, and the branch of its union for null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Optional {
    /// Always null: the type is null.
    Never,
    /// Not a union: a value always follows.
    #[default]
    Always,
    /// `[null, T]`.
    NullFirst,
    /// `[T, null]`.
    NullLast,
}

impl Node {
    /// Reads a schema's JSON text.
    ///
    /// # Errors
    /// `CorruptTable` if it is not an Avro schema; `Unsupported` for recursive types.
    pub fn parse(json: &str) -> Result<Node> {
        let json: Json =
            json_text::parse(json.as_bytes()).map_err(|e| Error::corrupt("an Avro schema is not JSON").because(e))?;
        SchemaParser::default().node(&json, "", 0)
    }

    fn new(shape: Shape, logical: Logical) -> Node {
        let min_bytes = match &shape {
            Shape::Null => 0,
            Shape::Fixed(n) => *n,
            Shape::Float => 4,
            Shape::Double => 8,
            Shape::Union(branches) => {
                branches.iter().map(|b| b.min_bytes).min().unwrap_or(usize::MAX - 1).saturating_add(1)
            }
            Shape::Record(members) => members.iter().fold(0usize, |n, m| n.saturating_add(m.node.min_bytes)),
            _ => 1,
        };
        Node { shape, logical, inner_ids: [None; 2], min_bytes }
    }

    fn with_inner_ids(self, j: &Map<String, Json>, keys: [&str; 2]) -> Result<Node> {
        let id =
            |key: &str| j.get(key).map(|id| integer(id).ok_or_else(|| bad(&format!("has a bad {key}")))).transpose();
        Ok(Node { inner_ids: [id(keys[0])?, id(keys[1])?], ..self })
    }

    /// Splits an optional union: whether null is possible, and the type of the value. Other unions stay unchanged.
    pub fn optional(&self) -> (Optional, &Node) {
        match &self.shape {
            Shape::Null => (Optional::Never, self),
            Shape::Union(branches) => match &branches[..] {
                [a, b] if a.shape == Shape::Null => (Optional::NullFirst, b),
                [a, b] if b.shape == Shape::Null => (Optional::NullLast, a),
                _ => (Optional::Always, self),
            },
            _ => (Optional::Always, self),
        }
    }

    /// The members, if it is a record.
    pub fn members(&self) -> Option<&[Member]> {
        match &self.shape {
            Shape::Record(members) => Some(members),
            _ => None,
        }
    }

    /// The members of a file's records, and the bytes before each record. Java Paimon up to 0.8 writes a union of null
    /// and the record.
    pub fn records(&self) -> Option<(Optional, &[Member])> {
        let (optional, node) = self.optional();
        Some((optional, node.members()?))
    }

    /// Key and value types of an integer-keyed map: an array of records `key`, `value`.
    pub fn pairs(&self) -> Option<(&Node, &Node)> {
        let Shape::Array(items) = &self.shape else { return None };
        match items.members()? {
            [key, value] if key.name == "key" && value.name == "value" => Some((&key.node, &value.node)),
            _ => None,
        }
    }

    /// Whether it is encoded as a varint.
    pub fn is_integer(&self) -> bool {
        matches!(self.shape, Shape::Int | Shape::Long)
    }

    /// Whether it is encoded as a length and bytes.
    pub fn is_prefixed(&self) -> bool {
        matches!(self.shape, Shape::Bytes | Shape::String)
    }
}

impl Member {
    /// Finds this member in a table of (field id, name, meaning): by id, or by name if it has no id.
    pub fn pick<T: Copy>(&self, table: &[(i32, &str, T)]) -> Option<T> {
        table
            .iter()
            .find(|(id, name, _)| self.id.map_or_else(|| self.name == *name, |own| own == *id))
            .map(|(_, _, meaning)| *meaning)
    }
}

/// Named types so far. An unfinished type is `None`.
#[derive(Default)]
struct SchemaParser {
    named: HashMap<String, Option<Node>>,
}

fn bad(what: &str) -> Error {
    Error::corrupt(format!("an Avro schema {what}"))
}

impl SchemaParser {
    fn node(&mut self, j: &Json, namespace: &str, depth: usize) -> Result<Node> {
        if depth > MAX_DEPTH {
            return Err(bad(&format!("nests deeper than {MAX_DEPTH}")));
        }
        match j {
            Json::String(name) => self.reference(name, namespace),
            Json::Array(branches) => {
                let branches =
                    branches.iter().map(|b| self.node(b, namespace, depth + 1)).collect::<Result<Vec<_>>>()?;
                if branches.iter().any(|b| matches!(b.shape, Shape::Union(_))) {
                    return Err(bad("has a union right inside a union"));
                }
                Ok(Node::new(Shape::Union(branches.into()), Logical::None))
            }
            Json::Object(object) => self.object(object, namespace, depth),
            _ => Err(bad("is not a string, list or object")),
        }
    }

    fn reference(&self, name: &str, namespace: &str) -> Result<Node> {
        let shape = match name {
            "null" => Shape::Null,
            "boolean" => Shape::Boolean,
            "int" => Shape::Int,
            "long" => Shape::Long,
            "float" => Shape::Float,
            "double" => Shape::Double,
            "bytes" => Shape::Bytes,
            "string" => Shape::String,
            _ => {
                let full = full_name(name, namespace);
                return match self.named.get(&full).or_else(|| self.named.get(name)) {
                    Some(Some(node)) => Ok(node.clone()),
                    Some(None) => {
                        Err(Error::unsupported(format!("the Avro type '{full}' contains itself, which can't be read")))
                    }
                    None => Err(bad(&format!("names the unknown type '{full}'"))),
                };
            }
        };
        Ok(Node::new(shape, Logical::None))
    }

    fn object(&mut self, j: &Map<String, Json>, namespace: &str, depth: usize) -> Result<Node> {
        let child = |key: &str| j.get(key).ok_or_else(|| bad(&format!("lacks '{key}'")));
        let ty = child("type")?;
        let Some(name) = ty.as_str() else {
            return self.node(ty, namespace, depth + 1);
        };
        match name {
            "record" | "error" => self.record(j, namespace, depth),
            "array" => {
                let items = Arc::new(self.node(child("items")?, namespace, depth + 1)?);
                Node::new(Shape::Array(items), logical(j, None)?).with_inner_ids(j, ["element-id", ""])
            }
            "map" => {
                let values = Arc::new(self.node(child("values")?, namespace, depth + 1)?);
                Node::new(Shape::Map(values), logical(j, None)?).with_inner_ids(j, ["key-id", "value-id"])
            }
            "fixed" => {
                let size = child("size")?.as_u64().and_then(|n| usize::try_from(n).ok());
                let size = size.filter(|n| *n <= i32::MAX as usize).ok_or_else(|| bad("has a bad size"))?;
                self.define(j, namespace, Node::new(Shape::Fixed(size), logical(j, Some(size))?))
            }
            "enum" => {
                let symbols = child("symbols")?.as_array().ok_or_else(|| bad("has bad symbols"))?;
                let symbols: Option<Arc<[String]>> = symbols.iter().map(|s| s.as_str().map(str::to_owned)).collect();
                let symbols = symbols.ok_or_else(|| bad("has bad symbols"))?;
                self.define(j, namespace, Node::new(Shape::Enum(symbols), Logical::None))
            }
            name => {
                let plain = self.reference(name, namespace)?;
                if j.contains_key("logicalType") { Ok(Node::new(plain.shape, logical(j, None)?)) } else { Ok(plain) }
            }
        }
    }

    fn record(&mut self, j: &Map<String, Json>, namespace: &str, depth: usize) -> Result<Node> {
        let (full, inner) = own_name(j, namespace)?;
        if self.named.insert(full.clone(), None).is_some() {
            return Err(bad(&format!("defines '{full}' twice")));
        }
        let fields = j.get("fields").and_then(Json::as_array).ok_or_else(|| bad("has a record without fields"))?;
        let mut members = Vec::with_capacity(fields.len());
        for f in fields {
            let name = f.get("name").and_then(Json::as_str).ok_or_else(|| bad("has a field without a name"))?;
            let ty = f.get("type").ok_or_else(|| bad(&format!("has a field '{name}' without a type")))?;
            let id = f.get("field-id").map(|id| integer(id).ok_or_else(|| bad("has a bad field-id"))).transpose()?;
            members.push(Member { name: name.to_owned(), id, node: self.node(ty, &inner, depth + 1)? });
        }
        let node = Node::new(Shape::Record(members.into()), logical(j, None)?);
        self.named.insert(full, Some(node.clone()));
        Ok(node)
    }

    fn define(&mut self, j: &Map<String, Json>, namespace: &str, node: Node) -> Result<Node> {
        let (full, _) = own_name(j, namespace)?;
        match self.named.insert(full.clone(), Some(node.clone())) {
            // Some writers repeat the definition of a fixed instead of naming it.
            Some(Some(before)) if before == node => Ok(node),
            None => Ok(node),
            _ => Err(bad(&format!("defines '{full}' twice"))),
        }
    }
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
}

/// The full name of a named type, and the namespace for its content.
fn own_name(j: &Map<String, Json>, enclosing: &str) -> Result<(String, String)> {
    let name = j.get("name").and_then(Json::as_str).ok_or_else(|| bad("has a named type without a name"))?;
    let namespace = j.get("namespace").and_then(Json::as_str).unwrap_or(enclosing);
    let full = full_name(name, namespace);
    let inner = full.rsplit_once('.').map_or("", |(space, _)| space).to_owned();
    Ok((full, inner))
}

fn integer(j: &Json) -> Option<i32> {
    match j {
        Json::String(text) => text.parse().ok(),
        j => as_int(j),
    }
}

fn logical(j: &Map<String, Json>, fixed: Option<usize>) -> Result<Logical> {
    let Some(name) = j.get("logicalType").and_then(Json::as_str) else { return Ok(Logical::None) };
    let utc = match j.get("adjust-to-utc") {
        Some(Json::Bool(b)) => *b,
        Some(Json::String(s)) => s.eq_ignore_ascii_case("true"),
        _ => false,
    };
    Ok(match name {
        "date" => Logical::Date,
        "time-millis" => Logical::TimeMillis,
        "time-micros" => Logical::TimeMicros,
        "timestamp-millis" => Logical::TimestampMillis { utc },
        "timestamp-micros" => Logical::TimestampMicros { utc },
        "timestamp-nanos" => Logical::TimestampNanos { utc },
        "local-timestamp-millis" => Logical::TimestampMillis { utc: false },
        "local-timestamp-micros" => Logical::TimestampMicros { utc: false },
        "local-timestamp-nanos" => Logical::TimestampNanos { utc: false },
        "uuid" if fixed.is_none_or(|n| n == 16) => Logical::Uuid,
        "map" => Logical::Map,
        "decimal" => {
            let digits = |key: &str, default: i32| j.get(key).map_or(Some(default), integer);
            let precision = digits("precision", 0).and_then(|v| u8::try_from(v).ok()).filter(|p| (1..=38).contains(p));
            let scale = digits("scale", 0).and_then(|v| u8::try_from(v).ok());
            match (precision, scale) {
                (Some(precision), Some(scale)) if scale <= precision => Logical::Decimal { precision, scale },
                _ => return Err(bad("has a decimal out of range")),
            }
        }
        other => Logical::Other(other.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_ids_names_and_meanings() {
        let node = Node::parse(
            r#"{"type":"record","name":"a.b.r","fields":[
                {"name":"x","type":["null",{"type":"int","logicalType":"date"}],"default":null,"field-id":7},
                {"name":"y","type":[{"type":"fixed","name":"d","size":4,"logicalType":"decimal","precision":9,"scale":2},"null"]},
                {"name":"z","type":"d","field-id":"9"},
                {"name":"w","type":{"type":{"type":"long","logicalType":"timestamp-micros","adjust-to-utc":true}}},
                {"name":"m","type":{"type":"array","logicalType":"map","items":{"type":"record","name":"k1_v2","fields":[
                    {"name":"key","type":"int","field-id":1},{"name":"value","type":"bytes","field-id":2}]}}}]}"#,
        )
        .unwrap();
        let m = node.members().unwrap();
        assert_eq!((m[0].id, m[1].id, m[2].id), (Some(7), None, Some(9)));
        assert_eq!(m[0].node.optional().0, Optional::NullFirst);
        assert_eq!(m[0].node.optional().1.logical, Logical::Date);
        assert_eq!(m[1].node.optional().0, Optional::NullLast);
        assert_eq!(m[2].node, *m[1].node.optional().1);
        assert_eq!(m[3].node.logical, Logical::TimestampMicros { utc: true });
        assert!(m[4].node.pairs().is_some_and(|(k, v)| k.is_integer() && v.is_prefixed()));
        assert_eq!(node.min_bytes, 1 + 1 + 4 + 1 + 1);
    }

    #[test]
    fn refuses_what_is_no_schema() {
        let deep = format!("{}\"int\"{}", "{\"type\":\"array\",\"items\":".repeat(300), "}".repeat(300));
        for bad in [
            "",
            "7",
            "\"nope\"",
            "{}",
            r#"{"type":"record","name":"r"}"#,
            r#"{"type":"fixed","name":"f","size":-1}"#,
            r#"[["null"]]"#,
            r#"{"type":"bytes","logicalType":"decimal","precision":4,"scale":9}"#,
            r#"{"type":"record","name":"r","fields":[{"name":"a","type":"int","field-id":"x"}]}"#,
            &deep,
        ] {
            assert!(Node::parse(bad).is_err(), "{bad}");
        }
        let recursive = r#"{"type":"record","name":"r","fields":[{"name":"next","type":["null","r"]}]}"#;
        assert_eq!(Node::parse(recursive).unwrap_err().kind(), crate::error::ErrorKind::Unsupported);
    }
}

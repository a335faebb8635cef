//! Schemas: named, numbered and typed columns. The field id is the identity of a column; its name may change.
//!
//! Source: Iceberg specification, "Schemas and Data Types" (v3 included). Each table format has its own JSON form.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

/// The id of a column, unique in a schema.
pub type FieldId = i32;

/// A type without children.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PrimitiveType {
    /// True or false.
    Boolean,
    /// 32-bit signed integer.
    Int,
    /// 64-bit signed integer.
    Long,
    /// 32-bit IEEE 754.
    Float,
    /// 64-bit IEEE 754.
    Double,
    /// Fixed-point number of up to 38 digits.
    Decimal {
        /// The total number of digits, 1 to 38.
        precision: u8,
        /// The number of digits after the decimal point.
        scale: u8,
    },
    /// Days from 1970-01-01.
    Date,
    /// Microseconds from midnight.
    Time,
    /// Microseconds from 1970-01-01T00:00, without a zone.
    Timestamp,
    /// Microseconds from 1970-01-01T00:00 UTC.
    Timestamptz,
    /// Nanoseconds from 1970-01-01T00:00, without a zone (v3).
    TimestampNs,
    /// Nanoseconds from 1970-01-01T00:00 UTC (v3).
    TimestamptzNs,
    /// UTF-8 text.
    String,
    /// 16 bytes, big-endian.
    Uuid,
    /// Byte strings of this length.
    Fixed(u32),
    /// Any number of bytes.
    Binary,
    /// A column that is always null (v3).
    Unknown,
    /// Semi-structured value (v3).
    Variant,
    /// WKB geometry in a coordinate system (v3).
    Geometry {
        /// The coordinate reference system; `None` is OGC:CRS84.
        crs: Option<String>,
    },
    /// WKB geography (v3).
    Geography {
        /// The coordinate reference system; `None` is OGC:CRS84.
        crs: Option<String>,
        /// The edge algorithm; `None` is spherical.
        algorithm: Option<String>,
    },
}

impl PrimitiveType {
    /// Whether the values are floating-point, so that NaN is possible.
    pub fn is_float(&self) -> bool {
        matches!(self, PrimitiveType::Float | PrimitiveType::Double)
    }

    /// Whether a column of type `self` may become one of type `to` without rewriting its files
    /// (specification, "Schema Evolution").
    pub fn promotes_to(&self, to: &PrimitiveType) -> bool {
        use PrimitiveType::*;
        match (self, to) {
            (a, b) if a == b => true,
            (Int, Long) | (Float, Double) | (Date, Timestamp | TimestampNs) | (Unknown, _) => true,
            (Decimal { precision: p, scale: s }, Decimal { precision: q, scale: t }) => p <= q && s == t,
            _ => false,
        }
    }
}

impl fmt::Display for PrimitiveType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use PrimitiveType::*;
        match self {
            Boolean => f.write_str("boolean"),
            Int => f.write_str("int"),
            Long => f.write_str("long"),
            Float => f.write_str("float"),
            Double => f.write_str("double"),
            Decimal { precision, scale } => write!(f, "decimal({precision}, {scale})"),
            Date => f.write_str("date"),
            Time => f.write_str("time"),
            Timestamp => f.write_str("timestamp"),
            Timestamptz => f.write_str("timestamptz"),
            TimestampNs => f.write_str("timestamp_ns"),
            TimestamptzNs => f.write_str("timestamptz_ns"),
            String => f.write_str("string"),
            Uuid => f.write_str("uuid"),
            Fixed(n) => write!(f, "fixed[{n}]"),
            Binary => f.write_str("binary"),
            Unknown => f.write_str("unknown"),
            Variant => f.write_str("variant"),
            Geometry { crs: None } => f.write_str("geometry"),
            Geometry { crs: Some(c) } => write!(f, "geometry({c})"),
            Geography { crs: None, .. } => f.write_str("geography"),
            Geography { crs: Some(c), algorithm: None } => write!(f, "geography({c})"),
            Geography { crs: Some(c), algorithm: Some(a) } => write!(f, "geography({c}, {a})"),
        }
    }
}

/// Any type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A leaf.
    Primitive(PrimitiveType),
    /// A tuple of fields.
    Struct(Arc<[Field]>),
    /// A list; the field is the element, named `element`.
    List(Arc<Field>),
    /// A map; the fields are `key` (required) and `value`.
    Map(Arc<Field>, Arc<Field>),
}

impl Type {
    /// The leaf type, if it is one.
    pub fn as_primitive(&self) -> Option<&PrimitiveType> {
        match self {
            Type::Primitive(p) => Some(p),
            _ => None,
        }
    }

    /// The direct children: the fields of a struct, `element` of a list, `key` and `value` of a map.
    pub fn children(&self) -> Vec<&Field> {
        match self {
            Type::Primitive(_) => Vec::new(),
            Type::Struct(fields) => fields.iter().collect(),
            Type::List(element) => vec![element],
            Type::Map(key, value) => vec![key, value],
        }
    }
}

impl From<PrimitiveType> for Type {
    fn from(p: PrimitiveType) -> Self {
        Type::Primitive(p)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Primitive(p) => p.fmt(f),
            Type::Struct(fields) => {
                f.write_str("struct<")?;
                for (i, field) in fields.iter().enumerate() {
                    write!(f, "{}{field}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(">")
            }
            Type::List(e) => write!(f, "list<{}>", e.ty),
            Type::Map(k, v) => write!(f, "map<{}, {}>", k.ty, v.ty),
        }
    }
}

/// A column, struct member, list element, map key or map value.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Unique in the schema.
    pub id: FieldId,
    /// The name that users see. It may contain dots.
    pub name: String,
    /// Whether null is impossible.
    pub required: bool,
    /// The type.
    pub ty: Type,
    /// The comment.
    pub doc: Option<String>,
    /// The value in rows that were written before the column was added, as single-value JSON (v3).
    pub initial_default: Option<Json>,
    /// The value in new rows that do not give one, as single-value JSON (v3).
    pub write_default: Option<Json>,
}

impl Field {
    /// A field without doc and defaults.
    pub fn new(id: FieldId, name: impl Into<String>, required: bool, ty: impl Into<Type>) -> Self {
        Field { id, name: name.into(), required, ty: ty.into(), doc: None, initial_default: None, write_default: None }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {} {}", self.id, self.name, if self.required { "required" } else { "optional" }, self.ty)
    }
}

/// A table's columns at one time. Immutable and cheap to share in an [`Arc`].
#[derive(Clone, Debug)]
pub struct Schema {
    /// `schema-id`; 0 if the format does not have one.
    pub id: i32,
    /// The top-level columns.
    pub fields: Arc<[Field]>,
    /// Columns that together identify a row.
    pub identifier_field_ids: Vec<FieldId>,
    index: HashMap<FieldId, Vec<u32>>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.fields == other.fields && self.identifier_field_ids == other.identifier_field_ids
    }
}

impl Schema {
    /// Creates a schema of these columns. If two fields have the same id, the first one gets it. Parsers check for
    /// this.
    pub fn new(id: i32, fields: impl Into<Arc<[Field]>>, identifier_field_ids: Vec<FieldId>) -> Self {
        let fields = fields.into();
        let mut index = HashMap::new();
        index_fields(&fields.iter().collect::<Vec<_>>(), &mut Vec::new(), &mut index);
        Schema { id, fields, identifier_field_ids, index }
    }

    /// The field with this id at any depth.
    pub fn field(&self, id: FieldId) -> Option<&Field> {
        self.path(id).and_then(|p| p.last().copied())
    }

    /// The fields from the top-level column down to the one with this id.
    pub fn path(&self, id: FieldId) -> Option<Vec<&Field>> {
        let mut out: Vec<&Field> = Vec::new();
        for &step in self.index.get(&id)? {
            let next = match out.last() {
                None => self.fields.get(step as usize)?,
                Some(parent) => *parent.ty.children().get(step as usize)?,
            };
            out.push(next);
        }
        Some(out)
    }

    /// The dotted name of the field with this id, as in `payload.a` or `tags.element`.
    pub fn name_of(&self, id: FieldId) -> Option<String> {
        Some(self.path(id)?.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join("."))
    }

    /// The field at the end of a path of names, through structs, list elements and map values.
    ///
    /// Names may contain dots: `["a.b"]` and `["a", "b"]` both find a column named `a.b`, and the longest name wins. If
    /// `case_sensitive` is false and a name matches two fields, none of them exactly, the result is `None`.
    pub fn find(&self, path: &[&str], case_sensitive: bool) -> Option<&Field> {
        find_in(&self.fields.iter().collect::<Vec<_>>(), path, case_sensitive)
    }

    /// A name that two columns have, or two members of one struct. Case matters.
    pub fn twin_name(&self) -> Option<String> {
        twin_in(&self.fields.iter().collect::<Vec<_>>())
    }

    /// The highest field id used; 0 for an empty schema.
    pub fn highest_field_id(&self) -> FieldId {
        self.index.keys().copied().max().unwrap_or(0)
    }

    /// Ids of all fields at any depth, in no order.
    pub fn field_ids(&self) -> impl Iterator<Item = FieldId> + '_ {
        self.index.keys().copied()
    }
}

fn twin_in(fields: &[&Field]) -> Option<String> {
    let mut names = HashSet::with_capacity(fields.len());
    let twin = fields.iter().find(|f| !names.insert(f.name.as_str())).map(|f| f.name.clone());
    let nested = fields.iter().filter(|f| f.ty.as_primitive().is_none());
    twin.or_else(|| nested.into_iter().find_map(|f| twin_in(&f.ty.children()).map(|name| format!("{}.{name}", f.name))))
}

fn index_fields(fields: &[&Field], at: &mut Vec<u32>, index: &mut HashMap<FieldId, Vec<u32>>) {
    for (i, field) in fields.iter().enumerate() {
        at.push(i as u32);
        index.entry(field.id).or_insert_with(|| at.clone());
        index_fields(&field.ty.children(), at, index);
        at.pop();
    }
}

/// Searches the children of one field. The time is linear in the lengths of the names: a path may have a million parts.
fn find_in<'a>(fields: &[&'a Field], path: &[&str], case_sensitive: bool) -> Option<&'a Field> {
    // The fields whose names are the first parts of the path, by the number of these parts.
    let mut hits: BTreeMap<usize, NameHits<'a>> = BTreeMap::new();
    for field in fields {
        if let Some(taken) = leading_parts(&field.name, path) {
            hits.entry(taken).or_default().exact.get_or_insert(field);
        } else if let (false, Some(taken)) = (case_sensitive, leading_parts_in_any_case(&field.name, path)) {
            hits.entry(taken).or_default().similar.push(field);
        }
    }
    hits.iter().rev().find_map(|(&taken, hits)| {
        let hit = match (hits.exact, hits.similar.as_slice()) {
            (Some(exact), _) => exact,
            (None, [one]) => one,
            _ => return None,
        };
        match path.get(taken..) {
            None | Some([]) => Some(hit),
            Some(rest) => find_in(&hit.ty.children(), rest, case_sensitive),
        }
    })
}

/// Fields whose names equal the same parts of a path.
#[derive(Default)]
struct NameHits<'a> {
    exact: Option<&'a Field>,
    /// Equal if the case is ignored.
    similar: Vec<&'a Field>,
}

/// How many parts of the path make up this name if dots join them.
fn leading_parts(name: &str, path: &[&str]) -> Option<usize> {
    let mut rest = name;
    for (at, part) in path.iter().enumerate() {
        rest = rest.strip_prefix(part)?;
        if rest.is_empty() {
            return Some(at + 1);
        }
        rest = rest.strip_prefix('.')?;
    }
    None
}

/// As [`leading_parts`], but ignores the case.
fn leading_parts_in_any_case(name: &str, path: &[&str]) -> Option<usize> {
    let mut rest = folded(name).peekable();
    for (at, part) in path.iter().enumerate() {
        if !folded(part).all(|c| rest.next() == Some(c)) {
            return None;
        }
        match rest.next() {
            None => return Some(at + 1),
            Some('.') => {}
            Some(_) => return None,
        }
    }
    None
}

/// The characters in lower case. Both forms of a small sigma are the same.
fn folded(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c })
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("table {\n")?;
        for field in self.fields.iter() {
            writeln!(f, "  {field}{}", field.doc.as_deref().map(|d| format!(" ({d})")).unwrap_or_default())?;
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        let inner: Arc<[Field]> = vec![Field::new(4, "a", false, PrimitiveType::Int)].into();
        let list = Type::List(Arc::new(Field::new(5, "element", false, Type::Struct(inner.clone()))));
        Schema::new(
            0,
            vec![
                Field::new(1, "id", true, PrimitiveType::Long),
                Field::new(2, "a.b", false, PrimitiveType::String),
                Field::new(3, "tags", false, list),
            ],
            vec![1],
        )
    }

    #[test]
    fn finds_by_id_and_by_name_at_every_depth() {
        let s = schema();
        assert_eq!(s.name_of(4).as_deref(), Some("tags.element.a"));
        assert_eq!(s.find(&["tags", "element", "a"], true).map(|f| f.id), Some(4));
        assert_eq!(s.find(&["a", "b"], true).map(|f| f.id), Some(2));
        assert_eq!(s.find(&["A.B"], false).map(|f| f.id), Some(2));
        assert_eq!(s.find(&["nope"], true), None);
        let twice = [Field::new(1, "ID", true, PrimitiveType::Long), Field::new(2, "id", true, PrimitiveType::Long)];
        let twice = Schema::new(0, twice.to_vec(), vec![]);
        assert_eq!(twice.find(&["id"], false).map(|f| f.id), Some(2));
        assert_eq!(twice.find(&["Id"], false), None);
        assert_eq!((twice.twin_name(), s.twin_name()), (None, None));
        let same = [Field::new(1, "x", true, PrimitiveType::Long), Field::new(2, "x", true, PrimitiveType::Long)];
        assert_eq!(Schema::new(0, same.to_vec(), vec![]).twin_name().as_deref(), Some("x"));
        let inside = Type::List(Arc::new(Field::new(3, "element", true, Type::Struct(same.to_vec().into()))));
        let inside = Schema::new(0, vec![Field::new(4, "l", true, inside)], vec![]);
        assert_eq!(inside.twin_name().as_deref(), Some("l.element.x"));
        assert_eq!(s.highest_field_id(), 5);
    }

    #[test]
    fn a_path_of_a_million_parts_is_searched_in_linear_time() {
        let many = vec!["a"; 1_000_000];
        let s = schema();
        assert_eq!(s.find(&many, true), None);
        assert_eq!(s.find(&many, false), None);
        let long = Schema::new(0, vec![Field::new(1, many.join("."), true, PrimitiveType::Long)], vec![]);
        assert_eq!(long.find(&many, true).map(|f| f.id), Some(1));
        assert_eq!(long.find(&vec!["A"; 1_000_000], false).map(|f| f.id), Some(1));
        assert_eq!(long.find(&many[1..], false), None);
    }

    #[test]
    fn the_longest_name_wins_and_empty_parts_count() {
        let inner: Arc<[Field]> = vec![Field::new(2, "b", false, PrimitiveType::Int)].into();
        let fields = vec![
            Field::new(1, "a", false, Type::Struct(inner)),
            Field::new(3, "a.b", false, PrimitiveType::Int),
            Field::new(4, "a.", false, PrimitiveType::Int),
            Field::new(5, "ΟΔΟΣ.x", false, PrimitiveType::Int),
        ];
        let s = Schema::new(0, fields, vec![]);
        let id = |path: &[&str], exact| s.find(path, exact).map(|f| f.id);
        assert_eq!((id(&["a", "b"], true), id(&["a"], true), id(&["a", ""], true)), (Some(3), Some(1), Some(4)));
        assert_eq!((id(&["A", "B"], false), id(&["A", ""], false), id(&["a", "c"], false)), (Some(3), Some(4), None));
        assert_eq!((id(&["οδος", "X"], false), id(&["οδος", "X"], true)), (Some(5), None));
    }
}

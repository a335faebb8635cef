//! Evolutions as JSON, which is the shortest form for the cases.
//!
//! A list of objects, each with `change` for its kind. Operations of an update have `do` for their kind. A column's
//! path is a list of names or one dotted text. A type is a text or the specification's JSON.

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::format::evolution::ColumnPath;
use crate::format::evolution::RefKind;
use crate::format::evolution::{Evolution, checked_path, column_path};
use crate::format::evolution::{
    FieldSource, NewColumn, NewSortField, Position, RefChange, RefUpdate, Retention, SchemaOperation, SchemaUpdate,
    SortOrderUpdate, SpecOperation, SpecUpdate, Version,
};
use crate::iceberg::spec::metadata::MAIN_BRANCH;
use crate::types::Type;
use crate::types::schema_json::{schema_from_json, type_from_json};
use crate::types::type_text::parse_type;

/// Reads a list of evolutions.
///
/// # Errors
/// `InvalidInput` if the text has another form.
pub(super) fn parse_evolutions(text: &str) -> Result<Vec<Evolution>> {
    let json: Json = serde_json::from_str(text).map_err(|e| Error::invalid("a change is not JSON").because(e))?;
    let list = json.as_array().ok_or_else(|| Error::invalid("changes must be a list"))?;
    list.iter().map(|json| evolution(&Object(json))).collect()
}

/// An object with members that are read by name. Null counts as absent.
struct Object<'a>(&'a Json);

impl<'a> Object<'a> {
    fn get(&self, key: &str) -> Option<&'a Json> {
        self.0.get(key).filter(|v| !v.is_null())
    }

    fn wrong(&self, key: &str) -> Error {
        Error::invalid(format!("'{key}' of a change is missing or of the wrong type: {}", self.0))
    }

    fn text(&self, key: &str) -> Result<&'a str> {
        self.get(key).and_then(Json::as_str).ok_or_else(|| self.wrong(key))
    }

    fn optional_text(&self, key: &str) -> Result<Option<String>> {
        self.get(key).map(|v| v.as_str().map(str::to_owned).ok_or_else(|| self.wrong(key))).transpose()
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool> {
        self.get(key).map_or(Ok(default), |v| v.as_bool().ok_or_else(|| self.wrong(key)))
    }

    fn long(&self, key: &str) -> Result<Option<i64>> {
        self.get(key).map(|v| v.as_i64().ok_or_else(|| self.wrong(key))).transpose()
    }

    fn list<T>(&self, key: &str, read: impl Fn(&'a Json) -> Result<T>) -> Result<Vec<T>> {
        let items = self.get(key).and_then(Json::as_array).ok_or_else(|| self.wrong(key))?;
        items.iter().map(read).collect()
    }

    fn path(&self, key: &str) -> Result<ColumnPath> {
        path(self.get(key).ok_or_else(|| self.wrong(key))?)
    }
}

fn string(json: &Json) -> Result<String> {
    json.as_str().map(str::to_owned).ok_or_else(|| Error::invalid(format!("{json} is not a text")))
}

fn path(json: &Json) -> Result<ColumnPath> {
    match json {
        Json::String(dotted) => column_path(dotted),
        Json::Array(names) => checked_path(names.iter().map(string).collect::<Result<_>>()?),
        other => Err(Error::invalid(format!("{other} is not a column's name"))),
    }
}

fn column_type(json: &Json) -> Result<Type> {
    match json {
        Json::String(text) => parse_type(text),
        json => type_from_json(json, 0).map_err(|e| Error::invalid("this is not a type").because(e)),
    }
}

fn evolution(o: &Object<'_>) -> Result<Evolution> {
    let case_sensitive = || o.flag("case-sensitive", true);
    Ok(match o.text("change")? {
        "update-schema" => Evolution::Schema(SchemaUpdate {
            operations: o.list("operations", |j| schema_operation(&Object(j)))?,
            case_sensitive: case_sensitive()?,
            allow_incompatible: o.flag("allow-incompatible", false)?,
        }),
        "update-spec" => Evolution::Spec(SpecUpdate {
            operations: o.list("operations", |j| spec_operation(&Object(j)))?,
            case_sensitive: case_sensitive()?,
        }),
        "update-sort-order" => Evolution::SortOrder(SortOrderUpdate {
            fields: o.list("fields", |j| sort_field(&Object(j)))?,
            case_sensitive: case_sensitive()?,
        }),
        "set-properties" => {
            let members = o.get("properties").and_then(Json::as_object).ok_or_else(|| o.wrong("properties"))?;
            let member = |(k, v): (&String, &Json)| Ok((k.clone(), string(v)?));
            Evolution::SetProperties(members.iter().map(member).collect::<Result<_>>()?)
        }
        "remove-properties" => Evolution::RemoveProperties(o.list("names", string)?),
        "set-location" => Evolution::SetLocation(o.text("location")?.to_owned()),
        "upgrade" => {
            let version = o.long("format-version")?.ok_or_else(|| o.wrong("format-version"))?;
            Evolution::Upgrade(
                u8::try_from(version)
                    .map_err(|_| Error::unsupported(format!("format version {version} is not supported")))?,
            )
        }
        _ => Evolution::Ref(ref_update(o)?),
    })
}

fn schema_operation(o: &Object<'_>) -> Result<SchemaOperation> {
    use SchemaOperation as O;
    let path = || o.path("path");
    Ok(match o.text("do")? {
        "add" => O::Add(Box::new(NewColumn {
            path: path()?,
            ty: column_type(o.get("type").ok_or_else(|| o.wrong("type"))?)?,
            doc: o.optional_text("doc")?,
            required: o.flag("required", false)?,
            default: o.get("default").cloned(),
            write_default: o.get("write-default").cloned(),
            position: position(o)?,
        })),
        "drop" => O::Drop { path: path()? },
        "rename" => O::Rename { path: path()?, name: o.text("name")?.to_owned() },
        "type" => O::Type { path: path()?, ty: column_type(o.get("type").ok_or_else(|| o.wrong("type"))?)? },
        "required" => O::Required { path: path()?, required: o.flag("required", true)? },
        "doc" => O::Doc { path: path()?, doc: o.optional_text("doc")? },
        "default" => O::Default { path: path()?, default: o.get("default").cloned() },
        "move" => O::Move { path: path()?, position: position(o)?.ok_or_else(|| o.wrong("first, before or after"))? },
        "identifiers" => O::Identifiers { paths: o.list("paths", self::path)? },
        "union" => {
            let schema = o.get("schema").ok_or_else(|| o.wrong("schema"))?;
            O::Union {
                schema: schema_from_json(schema).map_err(|e| Error::invalid("this is not a schema").because(e))?,
            }
        }
        other => return Err(Error::invalid(format!("'{other}' is not a change of a schema"))),
    })
}

fn position(o: &Object<'_>) -> Result<Option<Position>> {
    Ok(if o.flag("first", false)? {
        Some(Position::First)
    } else if o.get("before").is_some() {
        Some(Position::Before(o.path("before")?))
    } else if o.get("after").is_some() {
        Some(Position::After(o.path("after")?))
    } else {
        None
    })
}

fn source(o: &Object<'_>) -> Result<FieldSource> {
    Ok(FieldSource { term: o.text("source")?.to_owned(), transform: o.optional_text("transform")? })
}

fn spec_operation(o: &Object<'_>) -> Result<SpecOperation> {
    Ok(match o.text("do")? {
        "add" => SpecOperation::Add { source: source(o)?, name: o.optional_text("name")? },
        "remove" => SpecOperation::Remove { field: o.text("field")?.to_owned() },
        "rename" => SpecOperation::Rename { name: o.text("name")?.to_owned(), to: o.text("to")?.to_owned() },
        other => return Err(Error::invalid(format!("'{other}' is not a change of a partition spec"))),
    })
}

fn sort_field(o: &Object<'_>) -> Result<NewSortField> {
    let nulls_first = o.get("nulls-first").map(|v| v.as_bool().ok_or_else(|| o.wrong("nulls-first"))).transpose()?;
    Ok(NewSortField { source: source(o)?, descending: o.flag("descending", false)?, nulls_first })
}

fn ref_update(o: &Object<'_>) -> Result<RefUpdate> {
    let name = o.optional_text("name")?.unwrap_or_else(|| MAIN_BRANCH.to_owned());
    let change = match o.text("change")? {
        "create-branch" => RefChange::Create(RefKind::Branch, version(o)?, retention(o)?),
        "create-tag" => RefChange::Create(RefKind::Tag, version(o)?, retention(o)?),
        "replace-ref" => RefChange::Replace(version(o)?),
        "drop-ref" => RefChange::Drop,
        "rename-branch" => RefChange::Rename(o.text("to")?.to_owned()),
        "fast-forward" => RefChange::FastForward(o.text("to")?.to_owned()),
        "set-retention" => RefChange::Retain(retention(o)?),
        "set-snapshot" => RefChange::SetSnapshot(version(o)?),
        "roll-back" => RefChange::RollBack(version(o)?),
        other => return Err(Error::invalid(format!("'{other}' is not a change of a table"))),
    };
    Ok(RefUpdate { name, change })
}

fn version(o: &Object<'_>) -> Result<Version> {
    Ok(match (o.long("snapshot_id")?, o.optional_text("reference")?, o.long("timestamp_ms")?) {
        (Some(id), ..) => Version::Snapshot(id),
        (_, Some(name), _) => Version::Ref(name),
        (_, _, Some(ms)) => Version::TimestampMs(ms),
        _ => Version::Current,
    })
}

fn retention(o: &Object<'_>) -> Result<Retention> {
    let key = "min-snapshots-to-keep";
    let count = o.long(key)?.map(|n| i32::try_from(n).map_err(|_| o.wrong(key))).transpose()?;
    Ok(Retention {
        min_snapshots_to_keep: count,
        max_snapshot_age_ms: o.long("max-snapshot-age-ms")?,
        max_ref_age_ms: o.long("max-ref-age-ms")?,
    })
}

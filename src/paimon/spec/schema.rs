//! Schema files: columns, keys and options of a table at one time.
//!
//! Source: Paimon specification, "Schema"; Java's `SchemaSerializer` and `TableSchema` for the meaning of older
//! versions.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::data_type::{DataField, DataType, TypeKind};
use super::data_type_json::unknown_members;
use super::pretty_json::pretty;
use crate::error::{Error, Result};
use crate::types::json_members::JsonMembers;
use crate::types::options::Options;
use crate::types::{FieldId, Schema, json_text};

/// Until this version, `bucket` was 1 if not given.
const ONE_BUCKET_VERSION: i64 = 1;

/// Until this version, files were ORC by default.
const ORC_VERSION: i64 = 2;

/// The deepest nesting of types. Functions on types are recursive.
const MAX_DEPTH: usize = 190;

/// The latest version.
pub const CURRENT_VERSION: i64 = 3;

/// The parts of a new schema. See [`TableSchema`].
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct SchemaParts {
    pub id: i64,
    pub fields: Vec<DataField>,
    pub highest_field_id: FieldId,
    pub partition_keys: Vec<String>,
    pub primary_keys: Vec<String>,
    pub options: BTreeMap<String, String>,
    pub comment: Option<String>,
    pub time_ms: i64,
    /// Members that only later versions know.
    pub unknown: Map<String, Json>,
}

/// The members of a schema file that are known.
const KEYS: [&str; 9] =
    ["version", "id", "fields", "highestFieldId", "partitionKeys", "primaryKeys", "options", "comment", "timeMillis"];

/// A schema file.
#[derive(Clone, Debug)]
pub struct TableSchema {
    /// Its number, from 0.
    pub id: i64,
    /// The version of its format.
    pub version: i64,
    /// The columns.
    pub fields: Vec<DataField>,
    /// The highest field id that the table ever had.
    pub highest_field_id: FieldId,
    /// Columns that part files, in the order of folders.
    pub partition_keys: Vec<String>,
    /// Columns that together identify a row; empty in append tables.
    pub primary_keys: Vec<String>,
    /// The table's options, with the defaults that older versions imply.
    pub options: BTreeMap<String, String>,
    /// The table's comment.
    pub comment: Option<String>,
    /// When it was made, milliseconds since the epoch; 0 if not recorded.
    pub time_ms: i64,
    /// The file's content, including unknown members.
    pub raw: Map<String, Json>,
    columns: Arc<Schema>,
    declared: Arc<BTreeMap<FieldId, String>>,
    bucket_keys: Vec<String>,
}

impl PartialEq for TableSchema {
    fn eq(&self, other: &TableSchema) -> bool {
        self.raw == other.raw
    }
}

fn lacks(key: &str) -> Error {
    Error::corrupt(format!("the schema has no '{key}'"))
}

/// The nesting depth of objects and lists. The parser of JSON has its own limit.
fn depth_of(json: &Json) -> usize {
    match json {
        Json::Object(members) => 1 + members.values().map(depth_of).max().unwrap_or(0),
        Json::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        _ => 0,
    }
}

/// The text of an option, which Java takes from numbers and truth values too.
fn option_text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl TableSchema {
    /// Reads a schema file.
    ///
    /// # Errors
    /// `CorruptTable` if it is not a schema, or its keys are not among its columns; `Unsupported` for types and
    /// versions that are not known.
    pub fn parse(bytes: &[u8]) -> Result<TableSchema> {
        let json = json_text::parse(bytes).map_err(|e| Error::corrupt("the schema is not JSON").because(e))?;
        let Json::Object(raw) = json else { return Err(Error::corrupt("the schema is not a JSON object")) };
        TableSchema::from_json(raw)
    }

    /// As [`TableSchema::parse`], from JSON.
    ///
    /// # Errors
    /// As [`TableSchema::parse`].
    pub fn from_json(raw: Map<String, Json>) -> Result<TableSchema> {
        let members = JsonMembers::of_map(&raw, lacks);
        let version = members.any_long("version").unwrap_or(ONE_BUCKET_VERSION);
        if version > CURRENT_VERSION {
            return Err(Error::unsupported(format!("schemas of version {version} can't be read")));
        }
        let fields = members.list("fields")?;
        if fields.iter().any(|field| depth_of(field) > MAX_DEPTH) {
            return Err(Error::corrupt("a type of the schema is nested too deep"));
        }
        let fields = fields.iter().map(DataField::from_json).collect::<Result<Vec<_>>>()?;
        let options = raw.get("options").and_then(Json::as_object);
        let mut options: BTreeMap<String, String> =
            options.into_iter().flatten().map(|(k, v)| (k.clone(), option_text(v))).collect();
        if version <= ONE_BUCKET_VERSION {
            options.entry("bucket".to_owned()).or_insert_with(|| "1".to_owned());
        }
        if version <= ORC_VERSION {
            options.entry("file.format".to_owned()).or_insert_with(|| "orc".to_owned());
        }
        let id = members.any_long("id").filter(|id| *id >= 0).ok_or_else(|| lacks("id"))?;
        let (partition_keys, primary_keys) = (members.strings("partitionKeys")?, members.strings("primaryKeys")?);
        let named: Vec<String> = Options(&options).list("bucket-key").into_iter().map(str::to_owned).collect();
        let bucket_keys = if named.is_empty() {
            primary_keys.iter().filter(|k| !partition_keys.contains(k)).cloned().collect()
        } else {
            named
        };
        let mut schema = TableSchema {
            id,
            version,
            columns: Arc::new(Schema::new(0, Vec::new(), Vec::new())),
            declared: Arc::default(),
            highest_field_id: members.int("highestFieldId")?,
            comment: members.any_string("comment").map(str::to_owned),
            time_ms: members.any_long("timeMillis").unwrap_or(0),
            fields,
            partition_keys,
            primary_keys,
            options,
            raw,
            bucket_keys,
        };
        schema.columns = Arc::new(schema.checked_columns()?);
        let mut declared = BTreeMap::new();
        schema.fields.iter().for_each(|f| f.ty.declare(f.id, f.id, 0, &mut declared));
        schema.declared = Arc::new(declared);
        Ok(schema)
    }

    /// A schema of the current version.
    ///
    /// # Errors
    /// As [`TableSchema::from_json`].
    pub fn new(parts: SchemaParts) -> Result<TableSchema> {
        let mut raw = Map::new();
        let mut put = |key: &str, value: Json| raw.insert(key.to_owned(), value);
        put("version", CURRENT_VERSION.into());
        put("id", parts.id.into());
        put("fields", parts.fields.iter().map(DataField::to_json).collect());
        put("highestFieldId", parts.highest_field_id.into());
        put("partitionKeys", parts.partition_keys.into());
        put("primaryKeys", parts.primary_keys.into());
        put("options", parts.options.into_iter().map(|(k, v)| (k, Json::from(v))).collect::<Map<_, _>>().into());
        if let Some(comment) = parts.comment {
            put("comment", comment.into());
        }
        put("timeMillis", parts.time_ms.into());
        raw.extend(parts.unknown);
        TableSchema::from_json(raw)
    }

    /// The parts to make a schema like this one.
    pub fn parts(&self) -> SchemaParts {
        SchemaParts {
            id: self.id,
            fields: self.fields.clone(),
            highest_field_id: self.highest_field_id,
            partition_keys: self.partition_keys.clone(),
            primary_keys: self.primary_keys.clone(),
            options: self.options.clone(),
            comment: self.comment.clone(),
            time_ms: self.time_ms,
            unknown: unknown_members(&self.raw, &KEYS),
        }
    }

    /// The schema's file, as Java writes it.
    pub fn encode(&self) -> Vec<u8> {
        pretty(&Json::Object(self.raw.clone()))
    }

    /// The columns as the rest of the crate sees them, once keys are known to be among them.
    fn checked_columns(&self) -> Result<Schema> {
        let keys = self.partition_keys.iter().chain(&self.primary_keys).chain(&self.bucket_keys);
        for key in keys {
            if self.field(key).is_none() {
                return Err(Error::corrupt(format!("the schema has no column '{key}', which is a key")));
            }
        }
        let (mut names, mut ids) = (HashSet::new(), HashSet::new());
        for field in &self.fields {
            if !names.insert(&field.name) || !ids.insert(field.id) {
                let text = format!("the schema has two columns with the name or id of '{}'", field.name);
                return Err(Error::corrupt(text));
            }
        }
        if !self.primary_keys.is_empty() && self.trimmed_primary_keys().next().is_none() {
            return Err(Error::corrupt("the primary key has only partition columns"));
        }
        let id = i32::try_from(self.id)
            .map_err(|_| Error::unsupported(format!("the id of schema {} is too large", self.id)))?;
        let identifiers = self.fields_of(&self.primary_keys).map(|f| f.id).collect();
        Ok(Schema::new(id, self.fields.iter().map(DataField::to_field).collect::<Vec<_>>(), identifiers))
    }

    /// The columns as the rest of the crate sees them: ids are Paimon's.
    pub fn columns(&self) -> &Arc<Schema> {
        &self.columns
    }

    /// The exact types of the columns and of their parts, by id.
    pub fn declared(&self) -> &Arc<BTreeMap<FieldId, String>> {
        &self.declared
    }

    /// The options with their meanings.
    pub fn options(&self) -> Options<'_> {
        Options(&self.options)
    }

    /// A column by its name.
    pub fn field(&self, name: &str) -> Option<&DataField> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// A column by its id.
    pub fn field_by_id(&self, id: FieldId) -> Option<&DataField> {
        self.fields.iter().find(|f| f.id == id)
    }

    /// Some columns by their names.
    pub fn fields_of<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a DataField> {
        names.iter().filter_map(|name| self.field(name))
    }

    /// The columns that part files.
    pub fn partition_fields(&self) -> impl Iterator<Item = &DataField> {
        self.fields_of(&self.partition_keys)
    }

    /// Their types: those of partition rows.
    pub fn partition_types(&self) -> Vec<DataType> {
        self.partition_fields().map(|f| f.ty.clone()).collect()
    }

    /// The columns of the primary key that are not partition columns. They identify a row in a partition.
    pub fn trimmed_primary_keys(&self) -> impl Iterator<Item = &String> {
        self.primary_keys.iter().filter(|k| !self.partition_keys.contains(k))
    }

    /// Those columns: the fields of keys in manifests, in that order.
    pub fn key_fields(&self) -> impl Iterator<Item = &DataField> {
        self.trimmed_primary_keys().filter_map(|name| self.field(name))
    }

    /// Their types.
    pub fn key_types(&self) -> Vec<DataType> {
        self.key_fields().map(|f| f.ty.clone()).collect()
    }

    /// The columns that choose a row's bucket: `bucket-key`, or the primary key without partition columns.
    pub fn bucket_key_fields(&self) -> impl Iterator<Item = &DataField> {
        self.fields_of(&self.bucket_keys)
    }

    /// Whether rows are in the same buckets by another schema of the table: it has the bucket key with the same types.
    pub fn has_same_buckets(&self, other: &TableSchema) -> bool {
        self.bucket_key_fields()
            .all(|mine| other.field_by_id(mine.id).is_none_or(|theirs| theirs.ty.kind == mine.ty.kind))
    }

    /// The places of the columns whose values are in files of blobs. Descriptors and views are in other files.
    ///
    /// Source: Java's `BlobType.fieldsInBlobFile`.
    pub fn blob_places(&self) -> Vec<usize> {
        let options = self.options();
        let inline = [options.list("blob-descriptor-field"), options.list("blob-view-field")].concat();
        let in_file = |field: &DataField| field.ty.kind == TypeKind::Blob && !inline.contains(&field.name.as_str());
        self.fields.iter().enumerate().filter(|(_, field)| in_file(field)).map(|(at, _)| at).collect()
    }

    /// The columns that are not in files of blobs; `None` if these are all.
    pub fn columns_without_blobs(&self) -> Option<Vec<String>> {
        let blobs = self.blob_places();
        let others = self.fields.iter().enumerate().filter(|(at, _)| !blobs.contains(at));
        (!blobs.is_empty()).then(|| others.map(|(_, field)| field.name.clone()).collect())
    }

    /// Whether rows have a primary key.
    pub fn has_primary_key(&self) -> bool {
        !self.primary_keys.is_empty()
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;

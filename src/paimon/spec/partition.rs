//! Partitions: the values that all rows of a file share, and the folders that follow from them.
//!
//! A partition's values come from the manifest, never from a path: null and blank text have the same folder.
//!
//! Source: Paimon specification, "File Layouts"; Java's `FileStorePathFactory`.

use std::collections::BTreeMap;

use super::binary_row::BinaryRow;
use super::bucket::POSTPONE_BUCKET;
use super::data_type::{DataField, DataType};
use super::partition_text::{escape, partition_text};
use super::schema::TableSchema;
use crate::error::{Error, Result, ResultExt};
use crate::expr::bounds::{Bounds, ColumnBounds, Presence};
use crate::format::task::{Partition, PartitionValue};
use crate::store::location::join;
use crate::types::{FieldId, PrimitiveType, Transform, Value};

/// The first id of partition fields.
const FIRST_PARTITION_FIELD_ID: FieldId = 1000;

/// A partition from its row in a manifest.
///
/// # Errors
/// `CorruptTable` if the row is torn or has another number of fields; as [`BinaryRow::value`].
pub fn partition_of(schema: &TableSchema, row: &[u8]) -> Result<Partition> {
    let fields: Vec<&DataField> = schema.partition_fields().collect();
    let row = BinaryRow::from_prefixed(row)?;
    if row.arity() != fields.len() {
        let (found, wanted) = (row.arity(), fields.len());
        return Err(Error::corrupt(format!(
            "a partition has {found} values, the schema has {wanted} partition columns"
        )));
    }
    let value = |(i, field): (usize, &&DataField)| -> Result<PartitionValue> {
        Ok(PartitionValue {
            name: field.name.clone(),
            field_id: FIRST_PARTITION_FIELD_ID + i as FieldId,
            source_id: field.id,
            transform: Transform::Identity,
            ty: field.ty.to_primitive().unwrap_or(PrimitiveType::Unknown),
            value: row.value(i, &field.ty).with("column", &field.name)?.map(|v| v.to_owned()),
        })
    };
    let values = fields.iter().enumerate().map(value).collect::<Result<_>>()?;
    Ok(Partition { spec_id: 0, values })
}

/// The bounds that a partition implies for its rows: each partition column has one value.
#[derive(Clone, Copy, Debug)]
pub struct PaimonPartitionBounds<'p>(pub &'p Partition);

impl Bounds for PaimonPartitionBounds<'_> {
    fn column<'a>(&'a self, field: FieldId, _: &PrimitiveType) -> ColumnBounds<'a> {
        let Some(partition) = self.0.values.iter().find(|v| v.source_id == field) else {
            return ColumnBounds::default();
        };
        let value = partition.value.as_ref().map(Value::as_ref);
        let nan = value.is_some_and(|v| v.is_nan());
        let bound = value.filter(|_| !nan);
        ColumnBounds {
            lower: bound,
            upper: bound,
            upper_is_prefix: false,
            nulls: if value.is_none() { Presence::Everywhere } else { Presence::Absent },
            nans: if nan { Presence::Everywhere } else { Presence::Absent },
        }
    }
}

/// A value as text: as Java prints its objects, or as SQL's cast to text makes it.
pub fn value_text(value: &Value, ty: &DataType, as_object: bool) -> String {
    partition_text(value, ty, as_object)
}

/// A name of a file or folder that must not lead outside its folder.
///
/// # Errors
/// `CorruptTable` if it is empty, `.` or `..`, or has a slash or a NUL.
pub fn checked_name(name: &str) -> Result<&str> {
    let odd = memchr::memchr3(b'/', b'\\', 0, name.as_bytes()).is_some();
    if name.is_empty() || name == "." || name == ".." || odd {
        return Err(Error::corrupt(format!("'{}' is not a file name", name.escape_debug())));
    }
    Ok(name)
}

/// Where a table's files are.
#[derive(Clone, Debug)]
pub struct TablePaths {
    root: String,
    data_root: String,
    fields: Vec<DataField>,
    default_name: String,
    legacy: bool,
    index_beside_data: bool,
}

impl TablePaths {
    /// The paths of a table in the folder `root`.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid option; `CorruptTable` if its data folder is not below `root`.
    pub fn new(root: &str, schema: &TableSchema) -> Result<TablePaths> {
        let options = schema.options();
        let root = root.trim_end_matches('/').to_owned();
        let mut data_root = root.clone();
        for name in options.get("data-file.path-directory").unwrap_or_default().split('/').filter(|n| !n.is_empty()) {
            data_root = join(&data_root, checked_name(name).with("option", "data-file.path-directory")?);
        }
        Ok(TablePaths {
            root,
            data_root,
            fields: schema.partition_fields().cloned().collect(),
            default_name: options.default_partition_name().to_owned(),
            legacy: options.legacy_partition_name()?,
            index_beside_data: options.index_beside_data()?,
        })
    }

    /// The folder that contains the folders of partitions and buckets.
    pub fn data_root(&self) -> &str {
        &self.data_root
    }

    /// `k=v/l=w` for a partition, without slashes around; empty for tables without partitions.
    ///
    /// # Errors
    /// `Internal` if the partition is not the table's.
    pub fn partition_path(&self, partition: &Partition) -> Result<String> {
        if partition.values.len() != self.fields.len() {
            return Err(Error::internal("a partition belongs to another table"));
        }
        let part = |(field, value): (&DataField, &PartitionValue)| {
            let text = value.value.as_ref().map(|v| partition_text(v, &field.ty, self.legacy)).unwrap_or_default();
            let text = if text.chars().all(char::is_whitespace) { &self.default_name } else { &text };
            format!("{}={}", escape(&field.name), escape(text))
        };
        Ok(self.fields.iter().zip(&partition.values).map(part).collect::<Vec<_>>().join("/"))
    }

    /// The folder of the partitions whose first columns have these values, as texts.
    ///
    /// # Errors
    /// `InvalidInput` if there is no value, or one of another column.
    pub fn named_partition(&self, values: &BTreeMap<String, String>) -> Result<String> {
        let named: Vec<_> = self.fields.iter().map_while(|f| Some((f, values.get(&f.name)?))).collect();
        if named.is_empty() || named.len() != values.len() {
            let columns = self.fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Error::invalid(
                "a partition needs values of the first partition columns, and of no other ones",
            )
            .with("given", values.keys().cloned().collect::<Vec<_>>().join(", "))
            .with("partition columns", columns));
        }
        let part = |(field, text): (&DataField, &String)| {
            let text = if text.chars().all(char::is_whitespace) { &self.default_name } else { text };
            format!("{}={}", escape(&field.name), escape(text))
        };
        Ok(join(&self.root, &named.into_iter().map(part).collect::<Vec<_>>().join("/")))
    }

    /// The folder of a bucket's files.
    ///
    /// # Errors
    /// As [`TablePaths::partition_path`].
    pub fn bucket(&self, partition: &Partition, bucket: i32) -> Result<String> {
        let path = self.partition_path(partition)?;
        let folder = if path.is_empty() { self.data_root.clone() } else { join(&self.data_root, &path) };
        Ok(join(&folder, &bucket_name(bucket)))
    }

    /// A data file in the folder of its bucket, or at its recorded external path.
    ///
    /// # Errors
    /// `CorruptTable` if its name leads elsewhere.
    pub fn data_file(&self, bucket_folder: &str, name: &str, external: Option<&str>) -> Result<String> {
        match external {
            Some(path) => Ok(path.to_owned()),
            None => Ok(join(bucket_folder, checked_name(name)?)),
        }
    }

    /// The path of an extra file in the folder of its data file.
    ///
    /// # Errors
    /// `CorruptTable` if its name leads elsewhere.
    pub fn in_folder_of(&self, data_file: &str, name: &str) -> Result<String> {
        let folder = data_file.rsplit_once('/').map_or("", |(folder, _)| folder);
        Ok(join(folder, checked_name(name)?))
    }

    /// An index file.
    ///
    /// # Errors
    /// `CorruptTable` if its name leads elsewhere; as [`TablePaths::partition_path`].
    pub fn index_file(&self, partition: &Partition, bucket: i32, name: &str, external: Option<&str>) -> Result<String> {
        match external {
            Some(path) => Ok(path.to_owned()),
            None if self.index_beside_data => Ok(join(&self.bucket(partition, bucket)?, checked_name(name)?)),
            None => Ok(join(&join(&self.root, "index"), checked_name(name)?)),
        }
    }

    /// A manifest, manifest list or index manifest; branches share them.
    ///
    /// # Errors
    /// `CorruptTable` if its name leads elsewhere.
    #[cfg(test)]
    pub(crate) fn manifest(&self, name: &str) -> Result<String> {
        manifest_path(&self.root, name)
    }
}

/// A manifest, manifest list or index manifest of the table in the folder `root`.
///
/// # Errors
/// `CorruptTable` if its name leads elsewhere.
pub fn manifest_path(root: &str, name: &str) -> Result<String> {
    Ok(join(&join(root, "manifest"), checked_name(name)?))
}

/// The folder of a bucket in that of its partition.
pub fn bucket_name(bucket: i32) -> String {
    match bucket {
        POSTPONE_BUCKET => "bucket-postpone".to_owned(),
        bucket => format!("bucket-{bucket}"),
    }
}

#[cfg(test)]
#[path = "partition_tests.rs"]
mod tests;

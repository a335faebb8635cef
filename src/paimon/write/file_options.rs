//! Options of files that differ from the table's other files.
//!
//! Source: Java's `KeyValueFileWriterFactory`, `PostponeBucketFileStoreWrite`, `AvroSchemaConverter`.

use std::collections::BTreeMap;

use crate::paimon::spec::data_type::{DataField, DataType, TypeKind};
use crate::paimon::spec::schema::TableSchema;

/// The options of a table for its changelog files.
pub(crate) fn changelog_options(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut out = options.clone();
    let own = [
        ("changelog-file.format", "file.format"),
        ("changelog-file.compression", "file.compression"),
        ("changelog-file.stats-mode", "metadata.stats-mode"),
    ];
    for (key, of_data) in own {
        if let Some(value) = options.get(key) {
            out.insert(of_data.to_owned(), value.clone());
            out.remove(&format!("{of_data}.per.level"));
        }
    }
    let prefix = options.get("changelog-file.prefix").map_or("changelog-", String::as_str);
    out.insert("data-file.prefix".to_owned(), prefix.to_owned());
    out
}

/// The options of a table for files of rows that wait for a bucket. Compactions read the files of one writer one
/// after another. They know them by the number in their names.
pub(crate) fn postponed_options(table: &TableSchema) -> BTreeMap<String, String> {
    let mut out = table.options.clone();
    if table.fields.iter().all(fits_avro) {
        out.insert("file.format".to_owned(), "avro".to_owned());
        out.insert("metadata.stats-mode".to_owned(), "none".to_owned());
    }
    let prefix = table.options.get("data-file.prefix").map_or("data-", String::as_str);
    let writer = uuid::Uuid::new_v4().as_u64_pair().1 & 0x7fff_ffff;
    out.insert("data-file.prefix".to_owned(), format!("{prefix}-u-frazil-s-{writer}-w-"));
    out
}

/// Whether Avro has the type of a column, and can have its name.
fn fits_avro(field: &DataField) -> bool {
    let fits = |(i, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || (i > 0 && c.is_ascii_digit());
    field.name.chars().enumerate().all(fits) && has_avro(&field.ty)
}

fn has_avro(ty: &DataType) -> bool {
    match &ty.kind {
        TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) => *p <= 6,
        TypeKind::Blob | TypeKind::Vector { .. } | TypeKind::Variant => false,
        TypeKind::Array(element) | TypeKind::Multiset(element) => has_avro(element),
        TypeKind::Map(key, value) => has_avro(key) && has_avro(value),
        TypeKind::Row(fields) => fields.iter().all(fits_avro),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changelog_files_have_options_of_their_own() {
        let options =
            [("file.format", "orc"), ("file.format.per.level", "0:avro"), ("changelog-file.format", "parquet")];
        let options = options.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let changelog = changelog_options(&options);
        assert_eq!(changelog.get("file.format").unwrap(), "parquet");
        assert_eq!(changelog.get("data-file.prefix").unwrap(), "changelog-");
        assert!(!changelog.contains_key("file.format.per.level"));
    }
}

//! Which delete files apply to which data files.
//!
//! Equality deletes reach strictly older data of their partition, or of the whole table if their spec is unpartitioned;
//! position deletes and deletion vectors reach data as old as themselves. A deletion vector replaces position deletes.
//! Lists are sorted by sequence number, so a look-up is a binary search plus the files that it attaches.
//!
//! Source: Iceberg specification, "Scan Planning"; where it is silent, Java's `DeleteFileIndex`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::iceberg::entries::MISSING;
use crate::iceberg::metadata::TableMetadata;
use crate::iceberg::plan::PlannedBatch;
use crate::task::{DataFile, DeleteRef, FileContent, FileFormat, Partition};
use crate::types::value::decode_bound;
use crate::types::{Field, FieldId, PrimitiveType, Schema, Value, ValueRef};

/// Field id of `file_path` in position delete files.
const PATH_FIELD: FieldId = 2_147_483_546;

/// The delete files of a snapshot, by what they apply to.
#[derive(Debug, Default)]
pub struct DeleteIndex {
    global: Vec<EqualityDelete>,
    equality: HashMap<Vec<u8>, Vec<EqualityDelete>>,
    positions: HashMap<Vec<u8>, Vec<PositionDelete>>,
    positions_by_path: HashMap<String, Vec<PositionDelete>>,
    vectors: HashMap<String, DeleteRef>,
}

#[derive(Debug)]
struct PositionDelete {
    sequence_number: i64,
    file: DeleteRef,
    /// Bounds of the data files' paths, as bytes; may be truncated.
    paths: (Option<Vec<u8>>, Option<Vec<u8>>),
}

#[derive(Debug)]
struct EqualityDelete {
    /// The last data sequence number that it reaches.
    reaches: i64,
    file: DeleteRef,
    keys: Vec<KeyColumn>,
}

/// What an equality delete file says of one of its key columns.
#[derive(Debug)]
struct KeyColumn {
    field_id: FieldId,
    ty: PrimitiveType,
    required: bool,
    all_null: bool,
    no_null: bool,
    bounds: Option<(Value, Value)>,
}

impl DeleteIndex {
    /// Indexes delete files; they carry their metrics.
    ///
    /// # Errors
    /// `CorruptTable` for a deletion vector without its data file, two for one data file, or an equality delete file
    /// without key columns.
    pub fn new(files: Vec<Arc<DataFile>>, schema: &Schema, metadata: &TableMetadata) -> Result<DeleteIndex> {
        let mut index = DeleteIndex::default();
        for file in files {
            let file = DeleteRef { file };
            match file.file.content {
                FileContent::PositionDeletes if file.file.format == FileFormat::Puffin => index.add_vector(file)?,
                FileContent::PositionDeletes => index.add_positions(file),
                FileContent::EqualityDeletes => index.add_equality(file, schema, metadata)?,
                FileContent::Data => {
                    let e = Error::corrupt("a delete manifest lists a data file");
                    return Err(e.with("path", &file.file.path));
                }
            }
        }
        index.global.sort_by_key(|d| d.reaches);
        index.equality.values_mut().for_each(|list| list.sort_by_key(|d| d.reaches));
        let lists = index.positions.values_mut().chain(index.positions_by_path.values_mut());
        lists.for_each(|list| list.sort_by_key(|d| d.sequence_number));
        Ok(index)
    }

    /// Whether nothing is deleted.
    pub fn is_empty(&self) -> bool {
        self.global.is_empty()
            && self.equality.is_empty()
            && self.positions.is_empty()
            && self.positions_by_path.is_empty()
            && self.vectors.is_empty()
    }

    /// Key columns of the equality deletes: their metrics in data files narrow the matches.
    pub fn key_fields(&self) -> impl Iterator<Item = FieldId> + '_ {
        let all = self.global.iter().chain(self.equality.values().flatten());
        all.flat_map(|d| d.keys.iter().map(|k| k.field_id))
    }

    fn add_vector(&mut self, file: DeleteRef) -> Result<()> {
        let Some(path) = file.file.referenced_data_file.clone() else {
            let e = Error::corrupt("a deletion vector does not name its data file");
            return Err(e.with("path", &file.file.path));
        };
        if let Some(other) = self.vectors.insert(path.clone(), file.clone()) {
            let e = Error::corrupt("a data file has two deletion vectors").with("data_file", path);
            return Err(e.with("path", &file.file.path).with("other", &other.file.path));
        }
        Ok(())
    }

    fn add_positions(&mut self, file: DeleteRef) {
        let bound = |lower: bool| -> Option<Vec<u8>> {
            let m = file.file.metrics.as_ref()?;
            let map = if lower { &m.lower_bounds } else { &m.upper_bounds };
            map.as_ref()?.get(&PATH_FIELD).cloned()
        };
        let paths = (bound(true), bound(false));
        // Equal bounds are exact: a truncated upper bound is never equal to its lower one.
        let only = match (&file.file.referenced_data_file, &paths) {
            (Some(path), _) => Some(path.clone()),
            (None, (Some(l), Some(u))) if l == u => String::from_utf8(l.clone()).ok(),
            _ => None,
        };
        let partition = partition_key(&file.file.partition);
        let entry = PositionDelete { sequence_number: file.file.sequence_number.unwrap_or(0), file, paths };
        match only {
            Some(path) => self.positions_by_path.entry(path).or_default().push(entry),
            None => self.positions.entry(partition).or_default().push(entry),
        }
    }

    fn add_equality(&mut self, file: DeleteRef, schema: &Schema, metadata: &TableMetadata) -> Result<()> {
        let ids = file.file.equality_ids.clone().filter(|ids| !ids.is_empty()).ok_or_else(|| {
            Error::corrupt("an equality delete file names no key columns").with("path", &file.file.path)
        })?;
        let field = |id: FieldId| -> Option<&Field> {
            schema.field(id).or_else(|| metadata.schemas.iter().find_map(|s| s.field(id)))
        };
        let keys = ids.iter().filter_map(|id| KeyColumn::new(field(*id)?, &file.file)).collect();
        let spec = metadata.partition_specs.iter().find(|s| s.id == file.file.partition.spec_id);
        let partition = partition_key(&file.file.partition);
        let entry = EqualityDelete { reaches: file.file.sequence_number.unwrap_or(0) - 1, file, keys };
        match spec {
            Some(spec) if !spec.is_unpartitioned() => self.equality.entry(partition).or_default().push(entry),
            _ => self.global.push(entry),
        }
        Ok(())
    }

    /// The deletes of each survivor of a batch, in the order of its rows.
    ///
    /// # Errors
    /// `CorruptTable` if a deletion vector or a path's position delete is of another partition than its data file, or a
    /// deletion vector is older.
    pub fn deletes_of_batch(&self, batch: &PlannedBatch) -> Result<Vec<Vec<DeleteRef>>> {
        let keys: Vec<Option<Vec<u8>>> =
            batch.groups.iter().map(|g| g.as_ref().map(|g| partition_key(&g.partition))).collect();
        let of = |row: u32| -> Result<Vec<DeleteRef>> {
            let row = row as usize;
            let partition = batch.columns.partition.get(row).copied().unwrap_or(u32::MAX) as usize;
            let key = keys.get(partition).and_then(Option::as_deref).unwrap_or_default();
            self.deletes_of(batch, row, key)
        };
        batch.rows.iter().map(|row| of(*row)).collect()
    }

    fn deletes_of(&self, batch: &PlannedBatch, row: usize, partition: &[u8]) -> Result<Vec<DeleteRef>> {
        let sequence_number = batch.columns.sequence_number.get(row).copied().flatten().unwrap_or(0);
        let mut out = Vec::new();
        for list in [Some(&self.global), self.equality.get(partition)].into_iter().flatten() {
            let start = list.partition_point(|d| d.reaches < sequence_number);
            out.extend(list[start..].iter().filter(|d| d.may_touch(batch, row)).map(|d| d.file.clone()));
        }
        let Some(path) = batch.columns.path.get(row) else { return Ok(out) };
        let text = std::str::from_utf8(path).unwrap_or_default();
        if let Some(vector) = self.vectors.get(text) {
            if vector.file.sequence_number.unwrap_or(0) < sequence_number {
                let e = Error::corrupt("a deletion vector is older than its data file").with("data_file", text);
                return Err(e.with("path", &vector.file.path));
            }
            check_partition(vector, partition, text)?;
            out.push(vector.clone());
            return Ok(out);
        }
        if let Some(list) = self.positions.get(partition) {
            let start = list.partition_point(|d| d.sequence_number < sequence_number);
            out.extend(list[start..].iter().filter(|d| d.may_name(path)).map(|d| d.file.clone()));
        }
        if let Some(list) = self.positions_by_path.get(text) {
            let start = list.partition_point(|d| d.sequence_number < sequence_number);
            for d in &list[start..] {
                check_partition(&d.file, partition, text)?;
                out.push(d.file.clone());
            }
        }
        Ok(out)
    }
}

/// A delete that names its data file must be of the same partition; otherwise the metadata is broken.
fn check_partition(delete: &DeleteRef, partition: &[u8], data_file: &str) -> Result<()> {
    if partition_key(&delete.file.partition) == partition {
        return Ok(());
    }
    let e = Error::corrupt("a delete file and its data file are of different partitions").with("data_file", data_file);
    Err(e.with("path", &delete.file.path))
}

impl PositionDelete {
    fn may_name(&self, path: &[u8]) -> bool {
        self.paths.0.as_deref().is_none_or(|lower| lower <= path)
            && self.paths.1.as_deref().is_none_or(|upper| path <= upper)
    }
}

impl KeyColumn {
    /// `None` for nested columns, of which no metrics are kept.
    fn new(field: &Field, file: &DataFile) -> Option<KeyColumn> {
        let ty = field.ty.as_primitive()?.clone();
        let m = file.metrics.as_deref();
        let count = |map: Option<&Option<std::collections::BTreeMap<FieldId, i64>>>| {
            map.and_then(Option::as_ref).and_then(|m| m.get(&field.id)).copied().filter(|n| *n >= 0)
        };
        let (values, nulls) = (count(m.map(|m| &m.value_counts)), count(m.map(|m| &m.null_value_counts)));
        let bound = |map: Option<&Option<std::collections::BTreeMap<FieldId, Vec<u8>>>>| -> Option<Value> {
            let bytes = map.and_then(Option::as_ref)?.get(&field.id)?;
            decode_bound(bytes, &ty).ok().flatten().map(ValueRef::to_owned)
        };
        let bounds = bound(m.map(|m| &m.lower_bounds)).zip(bound(m.map(|m| &m.upper_bounds)));
        Some(KeyColumn {
            field_id: field.id,
            required: field.required,
            all_null: !field.required && nulls.is_some() && nulls == values,
            no_null: field.required || nulls == Some(0),
            bounds,
            ty,
        })
    }

    /// Whether no row of the data file can have a key that this delete file deletes, as far as this column tells.
    fn excludes(&self, batch: &PlannedBatch, row: usize) -> bool {
        let Some(metric) = batch.columns.metrics.iter().find(|m| m.field_id == self.field_id) else { return false };
        let at = |counts: &[i64]| counts.get(row).copied().filter(|n| *n != MISSING);
        let (values, nulls) = (at(&metric.value_count), at(&metric.null_count));
        let data_has_null = !self.required && nulls != Some(0);
        let data_all_null = !self.required && nulls.is_some() && nulls == values;
        if data_has_null && !self.no_null {
            return false;
        }
        if (data_all_null && self.no_null) || (self.all_null && !data_has_null) {
            return true;
        }
        let bound = |bytes: Option<&[u8]>| -> Option<Value> {
            decode_bound(bytes?, &self.ty).ok().flatten().map(ValueRef::to_owned)
        };
        let (Some((lower, upper)), Some(data_lower), Some(data_upper)) =
            (&self.bounds, bound(metric.lower.get(row)), bound(metric.upper.get(row)))
        else {
            return false;
        };
        let above = |a: &Value, b: &Value| a.sql_cmp(b) == Some(std::cmp::Ordering::Greater);
        // Bounds that contradict themselves (unsigned order taken as signed, say) prove nothing.
        let sane = !above(&data_lower, &data_upper) && !above(lower, upper);
        sane && (above(&data_lower, upper) || above(lower, &data_upper))
    }
}

impl EqualityDelete {
    fn may_touch(&self, batch: &PlannedBatch, row: usize) -> bool {
        !self.keys.iter().any(|k| k.excludes(batch, row))
    }
}

/// Bytes that are equal exactly for equal partitions: the spec's id and its values, integers at one width, floats by bits
/// with all NaNs alike.
fn partition_key(partition: &Partition) -> Vec<u8> {
    let mut key = partition.spec_id.to_le_bytes().to_vec();
    let float = |d: f64| if d.is_nan() { f64::NAN.to_bits() } else { d.to_bits() };
    for v in &partition.values {
        let mut put = |tag: u8, bytes: &[u8]| {
            key.push(tag);
            key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            key.extend_from_slice(bytes);
        };
        match v.value.as_ref().map(Value::as_ref) {
            None => put(0, &[]),
            Some(ValueRef::Boolean(b)) => put(1, &[u8::from(b)]),
            Some(ValueRef::Int(i)) => put(2, &i64::from(i).to_le_bytes()),
            Some(ValueRef::Long(l)) => put(2, &l.to_le_bytes()),
            Some(ValueRef::Float(f)) => put(3, &float(f64::from(f)).to_le_bytes()),
            Some(ValueRef::Double(d)) => put(3, &float(d).to_le_bytes()),
            Some(ValueRef::Decimal(d)) => put(4, &d.to_le_bytes()),
            Some(ValueRef::String(s)) => put(5, s.as_bytes()),
            Some(ValueRef::Uuid(u)) => put(6, &u.to_le_bytes()),
            Some(ValueRef::Bytes(b)) => put(7, b),
        }
    }
    key
}

#[cfg(test)]
#[path = "deletes_tests.rs"]
mod tests;

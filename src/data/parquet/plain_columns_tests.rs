use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray, StructArray};
use arrow::datatypes::{Field as ArrowField, Schema as ArrowSchema};
use arrow::record_batch::RecordBatch;
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;

use super::*;
use crate::data::testing::*;
use crate::expr::BoundPredicate;
use crate::format::task::{Partition, PartitionValue};
use crate::store::local::LocalStore;
use crate::types::{PrimitiveType as P, Schema, Transform, Value};

fn plain(schema: &Schema, file: DataFile, wanted: &[Field]) -> Plain {
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    plain_columns(&store, &context(schema), &Arc::new(file), wanted).unwrap()
}

fn data_file(path: &str) -> DataFile {
    task(path, BoundPredicate::True).data_file.as_ref().clone()
}

fn longs(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn why(plain: Plain) -> String {
    match plain {
        Plain::Not(why) => why,
        Plain::Columns(names) => panic!("read by {names:?}"),
    }
}

#[test]
fn columns_are_found_by_id_and_read_by_name() {
    let dir = TempDir::new().unwrap();
    let stored = schema(vec![field(1, "old", P::Long), field(5, "y", P::String), field(7, "i", P::Int)]);
    let columns: Vec<ArrayRef> =
        vec![longs(&[1]), Arc::new(StringArray::from(vec!["s"])), Arc::new(Int32Array::from(vec![1]))];
    let path = write(&dir, &stored, columns);
    let wanted =
        [field(7, "i", P::Long), field(9, "y", P::String), field(5, "yy", P::String), field(1, "new", P::Long)];
    let now = schema(wanted.to_vec());
    let names = |names: [Option<&str>; 4]| Plain::Columns(names.map(|n| n.map(str::to_owned)).to_vec());
    assert_eq!(plain(&now, data_file(&path), &wanted), names([Some("i"), None, Some("y"), Some("old")]));

    let short = DataFile { record_count: 2, ..data_file(&path) };
    assert!(why(plain(&now, short, &wanted)).contains("fewer rows"));
    let lost = DataFile { path: format!("{path}.gone"), ..data_file(&path) };
    assert!(why(plain(&now, lost, &wanted)).contains("footer"));
    let secret = DataFile { key_metadata: Some(vec![1]), ..data_file(&path) };
    assert!(why(plain(&now, secret, &wanted)).contains("encrypted"));
    let value = PartitionValue {
        name: "y".into(),
        field_id: 1000,
        source_id: 9,
        transform: Transform::Identity,
        ty: P::String,
        value: Some(Value::String("p".into())),
    };
    let partition = Arc::new(Partition { spec_id: 0, values: vec![value] });
    let imported = DataFile { partition, ..data_file(&path) };
    assert!(why(plain(&now, imported, &wanted)).contains("of the partition"));
}

#[test]
fn what_others_read_otherwise_is_not_plain() {
    let dir = TempDir::new().unwrap();
    let member = |name| structure(vec![field(3, name, P::Long)]);
    let stored = schema(vec![field(1, "a", P::Long), field(2, "s", member("x")), field(4, "A", P::Long)]);
    let inner = to_fields(&stored, 1);
    let parts: Vec<ArrayRef> =
        vec![longs(&[1]), Arc::new(StructArray::new(inner, vec![longs(&[1])], None)), longs(&[2])];
    let path = write(&dir, &stored, parts);
    let asked = |wanted: Field| why(plain(&stored, data_file(&path), &[wanted]));
    assert!(asked(field(1, "a", P::Long)).contains("but for the case"));
    assert!(asked(field(2, "s", member("renamed"))).contains("is called 'x' in the file"));
    let more = structure(vec![field(3, "x", P::Long), field(8, "z", P::Long)]);
    assert!(asked(field(2, "s", more)).contains("lacks its member 'z'"));
    assert!(asked(field(1, "a", P::Timestamp)).contains("type timestamp stored as Int64"));
    assert!(asked(field(9, "u", P::Uuid).with_required()).contains("though it is required"));
    let whole = [field(2, "s", member("x"))];
    assert_eq!(plain(&stored, data_file(&path), &whole), Plain::Columns(vec![Some("s".into())]));
}

#[test]
fn files_without_ids_go_by_their_places() {
    let dir = TempDir::new().unwrap();
    let arrow = ArrowSchema::new(vec![
        ArrowField::new("first", DataType::Int64, true),
        ArrowField::new("_metadata", DataType::Int64, true),
    ]);
    let batch = RecordBatch::try_new(Arc::new(arrow), vec![longs(&[1]), longs(&[2])]).unwrap();
    let path = write_batch(&dir, &batch, WriterProperties::default());
    let table = schema(vec![field(1, "a", P::Long), field(2, "b", P::Long), field(3, "first", P::Long)]);
    let one = plain(&table, data_file(&path), &[field(1, "a", P::Long), field(3, "first", P::Long)]);
    assert_eq!(one, Plain::Columns(vec![Some("first".into()), None]));
    assert!(why(plain(&table, data_file(&path), &[field(2, "b", P::Long)])).contains("of their own"));
}

fn to_fields(schema: &Schema, at: usize) -> arrow::datatypes::Fields {
    let arrow = crate::data::arrow::schema::to_arrow(schema).unwrap();
    match arrow.field(at).data_type() {
        DataType::Struct(fields) => fields.clone(),
        other => panic!("{other} is not a struct"),
    }
}

trait Required {
    fn with_required(self) -> Self;
}

impl Required for Field {
    fn with_required(self) -> Field {
        Field { required: true, ..self }
    }
}

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::write::context::{RowOrder, WriteContext};
use crate::data::write::locations::FileLocations;
use crate::data::write::writer::DataWriter;
use crate::format::task::{DataFile, FieldMap};
use crate::store::local::LocalStore;
use crate::types::value::decode_bound;
use crate::types::{PartitionSpec, SortField, SortOrder, Transform};
use PrimitiveType as P;
use arrow::array::*;
use proptest::prelude::*;
use std::sync::Arc;

fn by(source_id: FieldId) -> SortField {
    SortField { source_id, transform: Transform::Identity, descending: false, nulls_first: true }
}

/// The one file that a writer makes of `batches` of `schema`.
fn written(schema: Schema, properties: &[(&str, &str)], sorted: &[FieldId], batches: Vec<Vec<ArrayRef>>) -> DataFile {
    let dir = tempfile::tempdir().unwrap();
    let schema = Arc::new(schema);
    let context = WriteContext {
        schema: schema.clone(),
        spec: Arc::new(PartitionSpec::default()),
        order: Arc::new(SortOrder { id: 1, fields: sorted.iter().map(|id| by(*id)).collect() }),
        row_order: RowOrder::Any,
        locations: FileLocations::in_folder(&dir.path().display().to_string()),
        properties: properties.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        write_id: "w".into(),
        task_id: 0,
    };
    let mut writer = DataWriter::new(Arc::new(LocalStore), context).unwrap();
    for columns in batches {
        writer.write(&RecordBatch::try_new(to_arrow(&schema).unwrap(), columns).unwrap()).unwrap();
    }
    let mut files = writer.finish().unwrap();
    assert_eq!(files.len(), 1);
    files.remove(0)
}

fn column(ty: P) -> Schema {
    Schema::new(0, vec![Field::new(1, "c", false, ty)], vec![])
}

type Bounds = Option<(Vec<u8>, Option<Vec<u8>>)>;

/// Bounds of column 1 of a file with one row group per batch.
fn bounds_of(ty: P, mode: &str, batches: Vec<ArrayRef>) -> Bounds {
    let properties = [(DEFAULT_MODE, mode), ("write.parquet.row-group-size-bytes", "1")];
    let groups = batches.len();
    let file = written(column(ty), &properties, &[], batches.into_iter().map(|b| vec![b]).collect());
    // A group of only nulls may join the next one.
    let row_groups = file.split_offsets.unwrap().len();
    assert!(row_groups <= groups && (row_groups > 1 || groups == 1));
    let m = file.metrics.unwrap().get().unwrap().clone();
    let lower = m.lower_bounds.unwrap().get(&1).cloned();
    let upper = m.upper_bounds.unwrap().get(&1).cloned();
    lower.map(|l| (l, upper))
}

fn text(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

#[test]
fn text_bounds_are_cut_and_rounded_up() {
    let of = |values: &[&str]| {
        let (low, high) = bounds_of(P::String, "truncate(16)", vec![text(values)]).unwrap();
        (String::from_utf8(low).unwrap(), high.map(|h| String::from_utf8(h).unwrap()))
    };
    assert_eq!(of(&["aaaaaaaaaaaaaaaaa"]), ("a".repeat(16), Some("a".repeat(15) + "b")));
    assert_eq!(of(&["aaaaaaaaaaaaaaaa"]), ("a".repeat(16), Some("a".repeat(16))));
    assert_eq!(of(&["", "b"]), (String::new(), Some("b".into())));
    let max = "\u{10ffff}".repeat(40);
    assert_eq!(of(&["a", &max]), ("a".into(), None));
    let after_b = "b".to_owned() + &max;
    assert_eq!(of(&[&after_b]).1.as_deref(), Some("c"));
    let surrogate = "a".repeat(15) + "\u{d7ff}zzz";
    assert_eq!(of(&[&surrogate]).1.unwrap(), "a".repeat(15) + "\u{e000}");
    // Sixteen of the widest code points, alone and followed by more.
    let wide = "\u{1f600}".repeat(16);
    assert_eq!(of(&[&wide]), (wide.clone(), Some(wide.clone())));
    let wider = "\u{1f600}".repeat(500);
    assert_eq!(of(&[&wider]), (wide, Some("\u{1f600}".repeat(15) + "\u{1f601}")));
    let full = bounds_of(P::String, "full", vec![text(&[&wider])]).unwrap();
    assert_eq!((full.0, full.1.unwrap()), (wider.clone().into_bytes(), wider.into_bytes()));
}

#[test]
fn byte_bounds() {
    let binary = |v: &[&[u8]]| Arc::new(BinaryArray::from_vec(v.to_vec())) as ArrayRef;
    let long = [7u8; 100];
    assert_eq!(bounds_of(P::Binary, "truncate(2)", vec![binary(&[&long])]), Some((vec![7, 7], Some(vec![7, 8]))));
    assert_eq!(bounds_of(P::Binary, "truncate(2)", vec![binary(&[&[255; 70]])]), Some((vec![255, 255], None)));
    let fixed = Arc::new(FixedSizeBinaryArray::try_from_iter([[9u8; 100]].into_iter()).unwrap()) as ArrayRef;
    assert_eq!(bounds_of(P::Fixed(100), "truncate(2)", vec![fixed]), Some((vec![9; 100], Some(vec![9; 100]))));
    let uuid = |u: u128| u.to_be_bytes();
    let uuids =
        Arc::new(FixedSizeBinaryArray::try_from_iter([uuid(1), uuid(1 << 127)].into_iter()).unwrap()) as ArrayRef;
    let expected = (uuid(1).to_vec(), Some(uuid(1 << 127).to_vec()));
    assert_eq!(bounds_of(P::Uuid, "truncate(2)", vec![uuids]), Some(expected));
}

#[test]
fn number_bounds_merge_row_groups() {
    let ints = |v: Vec<Option<i32>>| Arc::new(Int32Array::from(v)) as ArrayRef;
    let got = bounds_of(P::Int, "full", vec![ints(vec![Some(-1)]), ints(vec![None]), ints(vec![Some(300), Some(5)])]);
    assert_eq!(got, Some(((-1i32).to_le_bytes().to_vec(), Some(300i32.to_le_bytes().to_vec()))));
    assert_eq!(bounds_of(P::Int, "full", vec![ints(vec![None, None])]), None);
    for precision in [5, 12, 30] {
        let d = |v: Vec<i128>| {
            Arc::new(Decimal128Array::from(v).with_precision_and_scale(precision, 2).unwrap()) as ArrayRef
        };
        let got = bounds_of(P::Decimal { precision, scale: 2 }, "full", vec![d(vec![-128, 1]), d(vec![1420])]);
        assert_eq!(got, Some((vec![0x80], Some(vec![5, 0x8c]))), "precision {precision}");
    }
    let bools = Arc::new(BooleanArray::from(vec![true])) as ArrayRef;
    assert_eq!(bounds_of(P::Boolean, "full", vec![bools]), Some((vec![1], Some(vec![1]))));
    let ns = Arc::new(TimestampNanosecondArray::from(vec![-5, 5])) as ArrayRef;
    let expected = ((-5i64).to_le_bytes().to_vec(), Some(5i64.to_le_bytes().to_vec()));
    assert_eq!(bounds_of(P::TimestampNs, "full", vec![ns]), Some(expected));
}

#[test]
fn floats_bound_without_nan_and_with_both_zeros() {
    let f = |v: Vec<f64>| Arc::new(Float64Array::from(v)) as ArrayRef;
    let le = |v: f64| v.to_le_bytes().to_vec();
    let of = |groups| bounds_of(P::Double, "full", groups);
    assert_eq!(of(vec![f(vec![0.0])]), Some((le(-0.0), Some(le(0.0)))));
    assert_eq!(of(vec![f(vec![-0.0])]), Some((le(-0.0), Some(le(0.0)))));
    assert_eq!(of(vec![f(vec![f64::NAN]), f(vec![1.0, f64::NAN])]), Some((le(1.0), Some(le(1.0)))));
    assert_eq!(of(vec![f(vec![f64::NAN]), f(vec![f64::NAN])]), None);
    assert_eq!(of(vec![f(vec![f64::INFINITY, 2.0])]), Some((le(2.0), Some(le(f64::INFINITY)))));
    let file = written(column(P::Double), &[], &[], vec![vec![f(vec![f64::NAN, 1.0, f64::NAN])]]);
    assert_eq!(file.metrics.unwrap().get().unwrap().nan_value_counts.clone().unwrap(), FieldMap::from([(1, 2)]));
}

/// Columns in lists and maps have sizes only, as with Java's writers. NaN and nulls of struct members count. The
/// members of a null struct count as nulls.
#[test]
fn nested_columns() {
    let inner: Arc<[Field]> = vec![Field::new(3, "f", false, P::Float)].into();
    let schema = Schema::new(
        0,
        vec![
            Field::new(1, "l", false, Type::List(Arc::new(Field::new(4, "element", false, P::Float)))),
            Field::new(2, "s", false, Type::Struct(inner)),
        ],
        vec![],
    );
    let arrow = to_arrow(&schema).unwrap();
    let (arrow::datatypes::DataType::List(element), arrow::datatypes::DataType::Struct(members)) =
        (arrow.field(0).data_type(), arrow.field(1).data_type())
    else {
        panic!()
    };
    let floats = Float32Array::from(vec![Some(f32::NAN), Some(f32::NAN), None, Some(2.0)]);
    let list = ListArray::new(
        element.clone(),
        arrow::buffer::OffsetBuffer::from_lengths([1, 1, 1, 1]),
        Arc::new(floats.clone()),
        None,
    );
    let s = StructArray::new(members.clone(), vec![Arc::new(floats)], Some(vec![true, false, true, true].into()));
    let file = written(schema, &[], &[], vec![vec![Arc::new(list), Arc::new(s)]]);
    let m = file.metrics.unwrap().get().unwrap().clone();
    assert_eq!(m.column_sizes.unwrap().keys().copied().collect::<Vec<_>>(), [4, 3]);
    assert_eq!(m.value_counts.unwrap(), FieldMap::from([(3, 4)]));
    assert_eq!(m.null_value_counts.unwrap(), FieldMap::from([(3, 2)]));
    assert_eq!(m.nan_value_counts.unwrap(), FieldMap::from([(3, 1)]));
    assert_eq!(m.lower_bounds.unwrap(), FieldMap::from([(3, 2.0f32.to_le_bytes().to_vec())]));
}

#[test]
fn modes_come_from_properties() {
    assert_eq!(MetricsMode::parse("Truncate(8)"), Some(MetricsMode::Truncate(8)));
    for bad in ["truncate(0)", "truncate(-1)", "truncate", "all", ""] {
        assert_eq!(MetricsMode::parse(bad), None, "{bad}");
    }
    let inner: Arc<[Field]> = vec![Field::new(4, "c.d", false, P::Int)].into();
    let schema = Schema::new(
        0,
        vec![
            Field::new(1, "a", false, P::Int),
            Field::new(2, "b", false, P::String),
            Field::new(3, "s", false, Type::Struct(inner)),
        ],
        vec![],
    );
    let config = |properties: &[(&str, &str)], sorted: &[FieldId]| {
        let properties = properties.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        MetricsConfig::new(&schema, &properties, sorted)
    };
    let modes = |c: &MetricsConfig| [1, 2, 4].map(|id| c.mode(id));
    use MetricsMode::{Counts, Full, Truncate};
    let no = MetricsMode::None;
    assert_eq!(modes(&config(&[], &[])), [Truncate(16); 3]);
    let columns = [(DEFAULT_MODE, "none"), ("write.metadata.metrics.column.s.c.d", "counts")];
    assert_eq!(modes(&config(&columns, &[1])), [Truncate(16), no, Counts]);
    assert_eq!(modes(&config(&[(DEFAULT_MODE, "nonsense")], &[])), [Truncate(16); 3]);
    assert_eq!(
        modes(&config(&[("write.metadata.metrics.column.a", "full"), (MOST_INFERRED, "1")], &[])),
        [Full, no, no]
    );
    // The members of a struct come after all columns of its level.
    assert_eq!(modes(&config(&[(MOST_INFERRED, "2")], &[])), [Truncate(16), Truncate(16), no]);
    assert_eq!(config(&[(DEFAULT_MODE, "full")], &[]).statistics_bytes(&schema), None);
    assert_eq!(config(&[], &[]).statistics_bytes(&schema), Some(68));
}

#[test]
fn counts_and_none_record_less() {
    let schema =
        || Schema::new(0, vec![Field::new(1, "a", false, P::Double), Field::new(2, "b", false, P::Int)], vec![]);
    let columns = || -> Vec<ArrayRef> {
        vec![Arc::new(Float64Array::from(vec![1.0])), Arc::new(Int32Array::from(vec![None::<i32>]))]
    };
    let properties = [(DEFAULT_MODE, "none"), ("write.metadata.metrics.column.a", "counts")];
    let m = written(schema(), &properties, &[], vec![columns()]).metrics.unwrap().get().unwrap().clone();
    assert_eq!(m.value_counts.unwrap(), FieldMap::from([(1, 1)]));
    assert_eq!(m.nan_value_counts.unwrap(), FieldMap::from([(1, 0)]));
    assert_eq!(m.column_sizes.unwrap().len(), 1);
    assert!(m.lower_bounds.unwrap().is_empty() && m.upper_bounds.unwrap().is_empty());
}

fn values(ty: P) -> BoxedStrategy<ArrayRef> {
    let many = 1..30usize;
    let o = proptest::option::weighted::<BoxedStrategy<i64>>;
    match ty {
        P::String => proptest::collection::vec(proptest::option::of("[a\u{7f}\u{d7ff}\u{ffff}\u{10ffff}]{0,30}"), many)
            .prop_map(|v| Arc::new(StringArray::from(v)) as ArrayRef)
            .boxed(),
        P::Binary => proptest::collection::vec(proptest::collection::vec(250u8.., 0..90), many)
            .prop_map(|v| Arc::new(BinaryArray::from_iter_values(v)) as ArrayRef)
            .boxed(),
        P::Float => proptest::collection::vec(any::<Option<f32>>(), many)
            .prop_map(|v| Arc::new(Float32Array::from(v)) as ArrayRef)
            .boxed(),
        P::Decimal { precision, scale } => proptest::collection::vec(o(0.9, (-99_999i64..99_999).boxed()), many)
            .prop_map(move |v| {
                let d: Decimal128Array = v.into_iter().map(|v| v.map(i128::from)).collect();
                Arc::new(d.with_precision_and_scale(precision, scale as i8).unwrap()) as ArrayRef
            })
            .boxed(),
        _ => proptest::collection::vec(o(0.9, any::<i64>().boxed()), many)
            .prop_map(|v| Arc::new(Int64Array::from(v)) as ArrayRef)
            .boxed(),
    }
}

fn typed() -> impl Strategy<Value = (P, Vec<ArrayRef>)> {
    let d = |precision| P::Decimal { precision, scale: 2 };
    proptest::sample::select(vec![P::String, P::Binary, P::Float, P::Long, d(9), d(18), d(25)])
        .prop_flat_map(|ty| (Just(ty.clone()), proptest::collection::vec(values(ty), 1..4)))
}

proptest! {
    /// No value is outside the bounds in any mode. Counts are exact.
    #[test]
    fn bounds_enclose_every_value((ty, groups) in typed(), mode in proptest::sample::select(vec!["truncate(1)", "truncate(16)", "full"])) {
        let properties = [(DEFAULT_MODE, mode), ("write.parquet.row-group-size-bytes", "1")];
        let file = written(column(ty.clone()), &properties, &[], groups.iter().map(|g| vec![g.clone()]).collect());
        let m = file.metrics.unwrap().get().unwrap().clone();
        let total: usize = groups.iter().map(|g| g.len()).sum();
        prop_assert_eq!((file.record_count, m.value_counts.unwrap()[&1]), (total as i64, total as i64));
        let nulls: usize = groups.iter().map(|g| g.null_count()).sum();
        prop_assert_eq!(m.null_value_counts.unwrap()[&1], nulls as i64);
        let (lower, upper) = (m.lower_bounds.unwrap(), m.upper_bounds.unwrap());
        let all = groups.iter().flat_map(|g| (0..g.len()).map(|row| crate::data::arrow::transform_array::value_at(g, row, &ty)));
        for v in all.flatten().filter(|v| !v.as_ref().is_nan()) {
            let low = decode_bound(&lower[&1], &ty).unwrap().unwrap();
            prop_assert_ne!(low.sql_cmp(v.as_ref()), Some(Ordering::Greater));
            if let Some(high) = upper.get(&1) {
                let high = decode_bound(high, &ty).unwrap().unwrap();
                prop_assert_ne!(high.sql_cmp(v.as_ref()), Some(Ordering::Less));
            }
        }
    }
}

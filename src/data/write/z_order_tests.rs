use arrow::array::{
    BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray,
};
use proptest::prelude::*;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::testing::{field, schema};
use crate::types::PrimitiveType as P;

fn bytes(ty: P, array: ArrayRef, width: usize) -> Vec<String> {
    let column = ZColumn { path: vec![0], ty, width };
    let all = column.bytes(&array).unwrap();
    all.chunks(width).map(|b| b.iter().map(|b| format!("{b:02x}")).collect()).collect()
}

/// The bytes that Java's `ZOrderByteUtils` and `SparkZOrderUDF` give.
#[test]
fn bytes_are_those_of_java() {
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![Some(0), Some(1), Some(-1), Some(i32::MIN), None]));
    let as_java = ["8000000000000000", "8000000000000001", "7fffffffffffffff", "7fffffff80000000", "0000000000000000"];
    assert_eq!(bytes(P::Int, ints, 8), as_java);
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MIN]));
    assert_eq!(bytes(P::Long, longs, 8), ["ffffffffffffffff", "0000000000000000"]);
    let doubles: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), Some(-1.5), Some(0.0), Some(-0.0), None]));
    let as_java = ["bff8000000000000", "4007ffffffffffff", "8000000000000000", "7fffffffffffffff", "0000000000000000"];
    assert_eq!(bytes(P::Double, doubles, 8), as_java);
    let nans: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, -f64::NAN]));
    assert_eq!(bytes(P::Double, nans, 8), ["fff8000000000000"; 2]);
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![1.5, f32::NEG_INFINITY]));
    assert_eq!(bytes(P::Float, floats, 8), ["bff8000000000000", "000fffffffffffff"]);
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
    assert_eq!(bytes(P::Boolean, flags, 8), ["8100000000000000", "0000000000000000", "0000000000000000"]);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("ab"), Some("abcdef"), Some("abcé"), None]));
    assert_eq!(bytes(P::String, texts, 4), ["61620000", "61626364", "61626300", "00000000"]);
    let binary: ArrayRef = Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\xff"), None]));
    assert_eq!(bytes(P::Binary, binary, 2), ["ff00", "0000"]);
    let days: ArrayRef = Arc::new(Date32Array::from(vec![-1]));
    assert_eq!(bytes(P::Date, days, 8), ["7fffffffffffffff"]);
    // Times with a zone are seconds, rounded down.
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1_999_999, -1]));
    assert_eq!(bytes(P::Timestamptz, times.clone(), 8), ["8000000000000001", "7fffffffffffffff"]);
    assert_eq!(bytes(P::Timestamp, times, 8), ["80000000001e847f", "7fffffffffffffff"]);
}

/// The bytes are compared bit by bit. The interop tests show that rows have Java's order.
#[test]
fn bits_are_interleaved_as_by_java() {
    let value = |columns: &[&[u8]], width: usize| {
        let mut out = vec![0; width];
        interleave(columns, &mut out);
        out
    };
    assert_eq!(value(&[&[0b1111_1111], &[0]], 2), [0b1010_1010, 0b1010_1010]);
    assert_eq!(value(&[&[0b1010_1010], &[0b1010_1010], &[0b0101_0101]], 3), [0b1100_0111, 0b0001_1100, 0b0111_0001]);
    // Shorter columns end, and the rest comes from longer ones.
    assert_eq!(value(&[&[0xff], &[0, 0xff]], 3), [0b1010_1010, 0b1010_1010, 0xff]);
    assert_eq!(value(&[&[0xff], &[0, 0xff]], 1), [0b1010_1010]);
}

fn z_values(rows: &[(Option<i32>, Option<i32>)]) -> Vec<Vec<u8>> {
    let table = schema(vec![field(1, "a", P::Int), field(2, "b", P::Int)]);
    let a: Int32Array = rows.iter().map(|r| r.0).collect();
    let b: Int32Array = rows.iter().map(|r| r.1).collect();
    let batch = RecordBatch::try_new(to_arrow(&table).unwrap(), vec![Arc::new(a), Arc::new(b)]).unwrap();
    let values = ZColumns::new(&table, &ZOrder::of(vec![1, 2])).unwrap().values(&batch).unwrap();
    values.as_fixed_size_binary().iter().map(|v| v.unwrap().to_vec()).collect()
}

#[test]
fn what_has_no_order_is_refused() {
    let table = schema(vec![field(1, "a", P::Int), field(2, "d", P::Decimal { precision: 9, scale: 2 })]);
    let refused = |order: ZOrder| ZColumns::new(&table, &order).unwrap_err().kind();
    use crate::error::ErrorKind::{InvalidInput, Unsupported};
    assert_eq!(refused(ZOrder::of(vec![])), InvalidInput);
    assert_eq!(refused(ZOrder::of(vec![7])), InvalidInput);
    assert_eq!(refused(ZOrder::of(vec![2])), Unsupported);
    assert_eq!(refused(ZOrder { text_bytes: 0, ..ZOrder::of(vec![1]) }), InvalidInput);
    assert_eq!(refused(ZOrder { text_bytes: 1 << 20, ..ZOrder::of(vec![1]) }), InvalidInput);
    assert_eq!(refused(ZOrder { max_output_bytes: 0, ..ZOrder::of(vec![1]) }), InvalidInput);
}

proptest! {
    /// A row that is not above another in any column does not come after it.
    #[test]
    fn the_curve_is_monotone(rows in prop::collection::vec((prop::option::of(any::<i32>()), prop::option::of(-3i32..3)), 2..30)) {
        let values = z_values(&rows);
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                if a.0 <= b.0 && a.1 <= b.1 {
                    prop_assert!(values[i] <= values[j], "{:?} {:?}", a, b);
                }
            }
        }
    }
}

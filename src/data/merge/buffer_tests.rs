//! Rows of one key in one write. Merging them together has the same result as merging one after the other.

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::testing::{field, required};
use crate::error::ErrorKind;
use crate::types::PrimitiveType;

/// A row of `k`, `seq`, `v`, `w`, and its kind.
type Row = (i64, Option<i32>, Option<i32>, Option<i32>, i32);

/// Sizes around the number of rows that older versions merged at a time. Their results went into the next group.
const COUNTS: [usize; 5] = [127, 128, 129, 130, 300];

const UPDATE_BEFORE: i32 = 1;

fn buffer(v: Field, w: Field, primary_key: &[FieldId], options: &[(&str, &str)]) -> BufferMerge {
    let fields = vec![required(0, "k", PrimitiveType::Long), field(1, "seq", PrimitiveType::Int), v, w];
    let schema = Schema::new(0, fields, primary_key.to_vec());
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let buckets = BucketContext { key: vec![0], options, ..BucketContext::default() };
    BufferMerge::new(Arc::new(schema), buckets).unwrap()
}

/// The same rows with columns that may be null.
fn nullable(options: &[(&str, &str)]) -> BufferMerge {
    buffer(field(2, "v", PrimitiveType::Int), field(3, "w", PrimitiveType::Int), &[0], options)
}

/// The merged rows; each is checked to have the sequence number of the last one of its key.
fn merged_rows(merge: &BufferMerge, rows: &[Row]) -> Result<Vec<Row>> {
    let fields: Vec<Field> = merge.schema.fields.iter().cloned().chain(BufferMerge::own_columns()).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.0))),
        Arc::new(Int32Array::from_iter(rows.iter().map(|r| r.1))),
        Arc::new(Int32Array::from_iter(rows.iter().map(|r| r.2))),
        Arc::new(Int32Array::from_iter(rows.iter().map(|r| r.3))),
        Arc::new(Int64Array::from_iter_values(0..rows.len() as i64)),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.4))),
    ];
    let batch = RecordBatch::try_new(to_arrow(&Schema::new(0, fields, Vec::new())).unwrap(), columns).unwrap();
    let batch = merge.merge(&batch)?;
    batch.columns().iter().for_each(|c| c.to_data().validate_full().unwrap());
    let (keys, sequence) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(4).as_primitive::<Int64Type>());
    let int = |column: usize, row: usize| {
        let ints = batch.column(column).as_primitive::<Int32Type>();
        ints.is_valid(row).then(|| ints.value(row))
    };
    let row = |at: usize| {
        let last = rows.iter().rposition(|r| r.0 == keys.value(at)).unwrap();
        assert_eq!(sequence.value(at), last as i64);
        (keys.value(at), int(1, at), int(2, at), int(3, at), int(5, at).unwrap())
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

#[test]
fn many_rows_of_a_key_follow_the_sequence_field() {
    let merge = nullable(&[("merge-engine", "partial-update"), ("sequence.field", "seq")]);
    for count in COUNTS {
        let mut rows: Vec<Row> = vec![(1, Some(1000), None, Some(5), INSERT), (1, Some(1), Some(111), Some(6), INSERT)];
        rows.resize(count - 1, (1, Some(2), None, None, INSERT));
        rows.push((1, Some(500), Some(222), None, INSERT));
        let expected: Row = (1, Some(1000), Some(222), Some(5), INSERT);
        assert_eq!(merged_rows(&merge, &rows).unwrap(), [expected], "{count} rows");
    }
}

#[test]
fn the_first_and_last_values_are_those_of_the_sequence_field() {
    for sort_order in ["ascending", "descending"] {
        let merge = nullable(&[
            ("merge-engine", "aggregation"),
            ("sequence.field", "seq"),
            ("sequence.field.sort-order", sort_order),
            ("fields.v.aggregate-function", "first_value"),
            ("fields.w.aggregate-function", "last_value"),
        ]);
        for count in COUNTS {
            // Many rows have the same sequence value. Then the order of arrival decides.
            let of = |at: i32| (1, Some(at * 7919 % 50), Some(at), Some(at), INSERT);
            let mut rows: Vec<Row> = (0..count as i32).map(of).collect();
            let came = rows.clone();
            rows.sort_by_key(|r| if sort_order == "ascending" { r.1 } else { r.1.map(|seq| -seq) });
            let (first, last) = (rows[0], rows[count - 1]);
            let expected: Row = (1, last.1, first.2, last.3, INSERT);
            assert_eq!(merged_rows(&merge, &came).unwrap(), [expected], "{count} rows, {sort_order}");
        }
    }
}

#[test]
fn many_rows_that_are_taken_back_are_so_once() {
    let merge = nullable(&[
        ("merge-engine", "partial-update"),
        ("fields.seq.sequence-group", "v"),
        ("fields.v.aggregate-function", "sum"),
    ]);
    for count in COUNTS {
        // The only row of a key stays as it is.
        let mut rows: Vec<Row> = vec![(0, Some(1), Some(9), None, UPDATE_BEFORE)];
        rows.resize(count + 1, (1, Some(1), Some(5), None, DELETE));
        rows.extend([(2, Some(1), Some(3), Some(1), INSERT), (2, Some(2), Some(4), None, INSERT)]);
        let left = -5 * (count as i32 - 1);
        let expected: [Row; 3] =
            [rows[0], (1, Some(1), Some(left), None, DELETE), (2, Some(2), Some(7), Some(1), INSERT)];
        assert_eq!(merged_rows(&merge, &rows).unwrap(), expected, "{count} rows");
    }
}

#[test]
fn nulls_in_columns_that_take_none_are_told() {
    let last = [("merge-engine", "aggregation"), ("fields.v.aggregate-function", "last_value")];
    let of = |options: &[(&str, &str)]| {
        buffer(required(2, "v", PrimitiveType::Int), field(3, "w", PrimitiveType::Int), &[0], options)
    };
    let rows: [Row; 2] = [(1, Some(1), Some(5), None, INSERT), (1, Some(1), Some(5), None, DELETE)];
    let told = |options: &[(&str, &str)], rows: &[Row]| {
        let error = merged_rows(&of(options), rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(!error.to_string().contains("path"), "{error}");
        error
    };
    let error = told(&last, &rows);
    assert_eq!(error.context(), [("column", "v".to_owned()), ("function", "last_value".to_owned())]);
    assert!(error.hint_text().unwrap().contains("'fields.v.ignore-retract'"), "{error}");
    let ignoring = [&last[..], &[("fields.v.ignore-retract", "true")]].concat();
    assert_eq!(merged_rows(&of(&ignoring), &rows).unwrap(), [(1, None, Some(5), None, INSERT)]);
    // No row came that could stay.
    let error = told(&ignoring, &[rows[1], rows[1]]);
    assert_eq!(error.hint_text(), Some("Make the column nullable"));
    let grouped = [("merge-engine", "partial-update"), ("fields.seq.sequence-group", "v")];
    assert_eq!(told(&grouped, &rows).context(), [("column", "v".to_owned())]);
    told(&[("merge-engine", "aggregation"), ("fields.v.aggregate-function", "max")], &rows);
    told(&[("merge-engine", "partial-update")], &rows);
}

#[test]
fn partition_columns_of_the_primary_key_stay() {
    let options = [("merge-engine", "aggregation"), ("fields.default-aggregate-function", "sum")];
    let merge = buffer(field(2, "v", PrimitiveType::Int), required(3, "w", PrimitiveType::Int), &[3, 0], &options);
    let rows: [Row; 3] = [
        (1, Some(1), Some(5), Some(7), INSERT),
        (1, Some(2), Some(4), Some(7), INSERT),
        (1, Some(1), Some(3), Some(7), DELETE),
    ];
    assert_eq!(merged_rows(&merge, &rows).unwrap(), [(1, Some(2), Some(6), Some(7), INSERT)]);
}

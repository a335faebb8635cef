use arrow::array::{Int32Array, Int64Array};
use arrow::datatypes::{DataType, Field as ArrowField, Schema as ArrowSchema};

use super::*;
use crate::error::ErrorKind;
use crate::expr::parse;
use crate::format::row_change::Columns;
use crate::types::{Field, PrimitiveType};

fn schema() -> Arc<Schema> {
    let id = Field::new(1, "id", false, PrimitiveType::Long);
    let number = Field::new(2, "n", false, PrimitiveType::Int);
    Arc::new(Schema::new(0, vec![id, number], Vec::new()))
}

fn batch(ids: &[Option<i64>], numbers: &[i32]) -> RecordBatch {
    let fields = vec![ArrowField::new("id", DataType::Int64, true), ArrowField::new("n", DataType::Int32, true)];
    RecordBatch::try_new(
        Arc::new(ArrowSchema::new(fields)),
        vec![Arc::new(Int64Array::from(ids.to_vec())), Arc::new(Int32Array::from(numbers.to_vec()))],
    )
    .unwrap()
}

fn upsert() -> Merge {
    Merge {
        on: vec!["id".to_owned()],
        update: Some(Columns::ByName),
        insert: Some(Columns::ByName),
        delete: None,
        delete_missing: None,
    }
}

fn matcher(merge: &Merge, batches: Vec<RecordBatch>) -> Result<Matcher> {
    let source = SourceRows::of_batches(batch(&[], &[]).schema(), batches);
    let keys = KeyColumns::whole(&schema(), &merge.on)?;
    let key_batches = source.keys(&keys)?;
    Matcher::new(&schema(), merge, source, keys, &key_batches)
}

fn source() -> Vec<RecordBatch> {
    vec![
        batch(&[Some(1), Some(2), None], &[10, 20, 30]),
        batch(&[Some(4)], &[40]),
        batch(&[Some(5), Some(6)], &[50, 60]),
    ]
}

fn found(matcher: &Matcher, rows: &RecordBatch) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    matcher.find(rows, |row, source| found.push((row, source))).unwrap();
    found
}

fn inserted(matcher: &Matcher) -> Vec<RecordBatch> {
    matcher.inserted().collect::<Result<_>>().unwrap()
}

#[test]
fn rows_of_the_data_are_numbered_over_all_batches() {
    let matcher = matcher(&upsert(), source()).unwrap();
    let rows = batch(&[Some(6), Some(3), Some(1), None, Some(4)], &[0; 5]);
    assert_eq!(found(&matcher, &rows), [(0, 5), (2, 0), (4, 3)]);
}

#[test]
fn rows_without_a_match_are_inserted_batch_by_batch() {
    let matcher = matcher(&upsert(), source()).unwrap();
    assert_eq!(inserted(&matcher), source());
    found(&matcher, &batch(&[Some(4), Some(2)], &[0; 2]));
    found(&matcher, &batch(&[Some(6), Some(4)], &[0; 2]));
    // A key with a null matches nothing. The second batch has no row left.
    assert_eq!(inserted(&matcher), [batch(&[Some(1), None], &[10, 30]), batch(&[Some(5)], &[50])]);
    let none = Merge { insert: None, ..upsert() };
    assert!(inserted(&self::matcher(&none, source()).unwrap()).is_empty());
}

#[test]
fn rows_that_would_delete_their_match_are_not_inserted_unless_all_delete() {
    let some = Merge { delete: Some(parse("n >= 40").unwrap()), ..upsert() };
    let some = matcher(&some, source()).unwrap();
    assert_eq!(inserted(&some), source()[..1]);
    assert!(some.clauses().deletes(3) && !some.clauses().deletes(2));
    let all = Merge { update: None, delete: Some(Predicate::True), ..upsert() };
    assert_eq!(inserted(&matcher(&all, source()).unwrap()), source());
}

#[test]
fn two_rows_with_one_key_are_refused() {
    let error = matcher(&upsert(), vec![batch(&[Some(1)], &[1]), batch(&[Some(1)], &[2])]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn threads_mark_matches_at_the_same_time() {
    let ids: Vec<Option<i64>> = (0..1000).map(Some).collect();
    let matcher = matcher(&upsert(), vec![batch(&ids, &[0; 1000])]).unwrap();
    std::thread::scope(|scope| {
        for part in 0..4 {
            let (matcher, ids) = (&matcher, &ids);
            scope.spawn(move || {
                let own: Vec<Option<i64>> = ids.iter().skip(part).step_by(5).copied().collect();
                assert_eq!(found(matcher, &batch(&own, &[0; 200])).len(), 200);
            });
        }
    });
    let left: Vec<Option<i64>> = ids.iter().skip(4).step_by(5).copied().collect();
    assert_eq!(inserted(&matcher), [batch(&left, &[0; 200])]);
}

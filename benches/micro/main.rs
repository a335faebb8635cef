//! Micro-benchmarks of planning's stages and of bucket hashing. `make bench-micro` runs them; arguments select by name.
//!
//! Decoding is on one thread. Plans (`prune`, `deletes`) use every core, and read their manifests from the page cache.

#![expect(clippy::expect_used, reason = "a benchmark stops at a surprise")]

mod input;

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, FixedSizeBinaryArray, Int32Array, Int64Array, StringArray};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use frazil::data::arrow::bucket_array::bucket_array;
use frazil::expr::BoundPredicate;
use frazil::iceberg::manifest::columns::Manifest;
use frazil::iceberg::manifest::entries::EntryRequest;
use frazil::iceberg::manifest::entries::Inherited;
use frazil::iceberg::manifest::list::ManifestContent;
use frazil::iceberg::plan::planner::RunningPlan;
use frazil::types::PrimitiveType;
use input::{ENTRIES, Planned};

fn main() {
    divan::main();
}

/// A manifest of 10,000 data files: none, one or every column's metrics wanted.
#[divan::bench(args = [0, 1, 12])]
fn decode_manifest(bencher: Bencher, columns: i32) {
    let bytes = input::manifest((0..ENTRIES).map(input::data_file), ManifestContent::Data, 2).bytes;
    let request = EntryRequest { metric_fields: (1..=columns).collect(), ..EntryRequest::default() };
    bencher.counter(ItemsCount::new(ENTRIES)).bench(|| {
        let manifest = Manifest::parse(black_box(&bytes)).expect("it parses");
        manifest.decode(0..manifest.block_count(), &request, &Inherited::default()).expect("it decodes")
    });
}

/// A manifest of 10,000 data files, every metrics map kept whole.
#[divan::bench]
fn decode_manifest_all_metrics(bencher: Bencher) {
    let bytes = input::manifest((0..ENTRIES).map(input::data_file), ManifestContent::Data, 2).bytes;
    let request = EntryRequest { all_metrics: true, ..EntryRequest::default() };
    bencher.counter(ItemsCount::new(ENTRIES)).bench(|| {
        let manifest = Manifest::parse(black_box(&bytes)).expect("it parses");
        manifest.decode(0..manifest.block_count(), &request, &Inherited::default()).expect("it decodes")
    });
}

fn plan(bencher: Bencher, table: &Planned, kept: usize) {
    bencher.counter(ItemsCount::new(ENTRIES)).bench(|| {
        let mut rows = 0;
        let mut plan = RunningPlan::start(table.input.clone()).expect("it starts");
        while let Some(batch) = plan.next_batch().expect("it plans") {
            rows += batch.rows.len();
        }
        assert_eq!(rows, kept);
        rows
    });
}

#[divan::bench]
fn prune_nothing(bencher: Bencher) {
    plan(bencher, &input::planned(BoundPredicate::True, None), ENTRIES);
}

/// One of 16 buckets stays.
#[divan::bench]
fn prune_by_partition(bencher: Bencher) {
    plan(bencher, &input::planned(input::filter("bucket(16, c1) = 3"), None), ENTRIES / 16);
}

/// Bounds of two columns keep two files.
#[divan::bench]
fn prune_by_metrics(bencher: Bencher) {
    plan(bencher, &input::planned(input::filter("c2 = 5000400 and c3 < 9000000"), None), 2);
}

#[divan::bench]
fn match_position_deletes(bencher: Bencher) {
    let deletes = (0..ENTRIES).step_by(2).map(input::position_deletes).collect();
    plan(bencher, &input::planned(BoundPredicate::True, Some(deletes)), ENTRIES);
}

#[divan::bench]
fn match_equality_deletes(bencher: Bencher) {
    let deletes = (0..ENTRIES).step_by(20).map(input::equality_deletes).collect();
    plan(bencher, &input::planned(BoundPredicate::True, Some(deletes)), ENTRIES);
}

#[divan::bench]
fn match_deletion_vectors(bencher: Bencher) {
    let deletes = (0..ENTRIES).map(input::vector).collect();
    plan(bencher, &input::planned(BoundPredicate::True, Some(deletes)), ENTRIES);
}

/// As many values as a batch has.
const VALUES: usize = 65_536;

fn values() -> impl Iterator<Item = i64> {
    (0..VALUES as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64)
}

fn bucket(bencher: Bencher, array: ArrayRef, ty: PrimitiveType, count: u32) {
    bencher
        .counter(ItemsCount::new(VALUES))
        .bench(|| bucket_array(black_box(&array), &ty, count).expect("the type has buckets"));
}

#[divan::bench(args = [16, 1000])]
fn bucket_int(bencher: Bencher, count: u32) {
    bucket(bencher, Arc::new(values().map(|v| v as i32).collect::<Int32Array>()), PrimitiveType::Int, count);
}

#[divan::bench(args = [16, 1000])]
fn bucket_long(bencher: Bencher, count: u32) {
    bucket(bencher, Arc::new(values().collect::<Int64Array>()), PrimitiveType::Long, count);
}

#[divan::bench(args = [16, 1000])]
fn bucket_decimal(bencher: Bencher, count: u32) {
    let array = values().map(|v| i128::from(v >> 24)).collect::<Decimal128Array>();
    bucket(bencher, Arc::new(array), PrimitiveType::Decimal { precision: 38, scale: 10 }, count);
}

#[divan::bench(args = [16, 1000])]
fn bucket_uuid(bencher: Bencher, count: u32) {
    let bytes = values().map(|v| (i128::from(v) << 32).to_be_bytes());
    let array = FixedSizeBinaryArray::try_from_iter(bytes).expect("all of one width");
    bucket(bencher, Arc::new(array), PrimitiveType::Uuid, count);
}

#[divan::bench(args = [16, 1000])]
fn bucket_string(bencher: Bencher, count: u32) {
    let array = StringArray::from_iter_values(values().map(|v| format!("user-{:09}", v as u64 % 1_000_000_000)));
    bucket(bencher, Arc::new(array), PrimitiveType::String, count);
}

//! Any bytes: every request sees the same entries, and the metrics of a wanted field are those of the whole map.
#![no_main]

use std::sync::Arc;

use frazil::format::task::Partition;
use frazil::iceberg::manifest::columns::{Manifest, assign_first_row_ids};
use frazil::iceberg::manifest::entries::Inherited;
use frazil::iceberg::manifest::entries::{EntryRequest, MISSING};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(manifest) = Manifest::parse(data) else { return };
    let inherited = Inherited { snapshot_id: Some(1), sequence_number: 1 };
    let decode = |metric_fields: &[i32], all_metrics: bool, deleted_too: bool| {
        let metric_fields = metric_fields.to_vec();
        let request = EntryRequest { metric_fields, all_metrics, deleted_too, ..EntryRequest::default() };
        manifest.decode(0..manifest.block_count(), &request, &inherited)
    };
    let fields = [1, 2, i32::MAX];
    let Ok(mut all) = decode(&fields, true, true) else { return };
    let lean = decode(&[], false, true).expect("what all metrics decode from");
    assert_eq!(lean.len(), all.len());
    for row in all.rows() {
        assert_eq!(lean.path.get(row), all.path.get(row));
        assert_eq!(lean.partition[row], all.partition[row]);
        let counts = all.all_metrics[row].value_counts.as_ref();
        for (column, id) in all.metrics.iter().zip(fields) {
            let expected = counts.and_then(|m| m.get(&id)).map_or(MISSING, |n| (*n).max(MISSING));
            assert_eq!(column.value_count[row], expected);
            let lower = all.all_metrics[row].lower_bounds.as_ref().and_then(|m| m.get(&id));
            assert_eq!(column.lower.get(row), lower.map(Vec::as_slice));
        }
        let _ = all.data_file(row, Arc::new(Partition { spec_id: 0, values: Vec::new() }));
    }
    let live = decode(&fields, false, false).expect("fewer entries than decoded before");
    assert_eq!(live.len(), all.status.iter().filter(|s| **s != 2).count());
    let _ = assign_first_row_ids(std::slice::from_mut(&mut all), 0);
});

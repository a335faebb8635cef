//! Tests of single sections. `tests/python/test_plan_cache.py` compares whole plans.

use proptest::prelude::*;

use super::*;
use crate::codec::avro::Inflater;
use crate::codec::columns::{BytesColumn, ListColumn};
use crate::expr::BoundPredicate;
use crate::format::task::{FileContent, FileFormat};
use crate::iceberg::manifest::entries::{EntryRequest, MISSING, MetricColumn};
use crate::iceberg::manifest::list::ManifestContent;
use crate::iceberg::plan::input::PlanInput;
use crate::iceberg::plan::plan_cache::cached_columns::{SectionKind, encode_columns};
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::plan::testing::{TestTable, added, file as data_file, partition};
use crate::store::local::LocalStore;
use crate::types::{Field, PartitionSpec, PrimitiveType, Schema};

#[derive(Clone, Debug)]
struct Row {
    status: u8,
    ids: [Option<i64>; 4],
    content: FileContent,
    format: FileFormat,
    texts: [Option<Vec<u8>>; 4],
    lists: [Option<Vec<i64>>; 2],
    counts: [i64; 3],
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let id = || prop::option::of(prop_oneof![0i64..3, any::<i32>().prop_map(i64::from), 0..i64::MAX]);
    let text = || prop::option::of(prop::collection::vec(any::<u8>(), 0..9));
    let list = || prop::option::of(prop::collection::vec(any::<i64>(), 0..4));
    let content =
        prop_oneof![Just(FileContent::Data), Just(FileContent::PositionDeletes), Just(FileContent::EqualityDeletes)];
    let format = prop_oneof![Just(FileFormat::Parquet), Just(FileFormat::Puffin), Just(FileFormat::Orc)];
    let row = (0u8..3, [id(), id(), id(), id()], content, format, [text(), text(), text(), text()], [list(), list()])
        .prop_flat_map(|(status, ids, content, format, texts, lists)| {
            [-1i64..400, -1..70_000, -1..2].prop_map(move |counts| Row {
                status,
                ids,
                content,
                format,
                texts: texts.clone(),
                lists: lists.clone(),
                counts,
            })
        });
    prop::collection::vec(row, 0..40)
}

fn columns(rows: &[Row]) -> EntryColumns {
    let mut c =
        EntryColumns { metrics: vec![MetricColumn { field_id: 7, ..Default::default() }], ..Default::default() };
    for (i, r) in rows.iter().enumerate() {
        c.status.push(r.status);
        c.snapshot_id.push(r.ids[0]);
        c.sequence_number.push(r.ids[1]);
        c.file_sequence_number.push(r.ids[2]);
        c.first_row_id.push(r.ids[3]);
        c.content.push(r.content);
        c.format.push(r.format);
        c.record_count.push(i as i64 * 1000);
        c.size_bytes.push(i64::MAX - i as i64);
        c.partition.push((i % 3) as u32);
        c.sort_order_id.push(r.ids[0].map(|v| v as i32));
        c.content_offset.push(r.ids[1]);
        c.content_size_bytes.push(None);
        let texts = [&mut c.path, &mut c.key_metadata, &mut c.referenced_data_file, &mut c.encoded_metrics];
        assert!(texts.into_iter().zip(&r.texts).all(|(column, v)| column.push(v.as_deref())));
        assert!(c.split_offsets.push(r.lists[0].as_deref()) && c.equality_ids.push(r.lists[1].as_deref()));
        let m = &mut c.metrics[0];
        m.value_count.push(r.counts[0]);
        m.null_count.push(r.counts[1]);
        m.nan_count.push(MISSING);
        assert!(m.lower.push(r.texts[0].as_deref()) && m.upper.push(None));
    }
    c
}

fn texts_of(column: &BytesColumn, rows: usize) -> Vec<Option<Vec<u8>>> {
    (0..rows).map(|row| column.get(row).map(<[u8]>::to_vec)).collect()
}

fn lists_of(column: &ListColumn, rows: usize) -> Vec<Option<Vec<i64>>> {
    (0..rows).map(|row| column.get(row).map(<[i64]>::to_vec)).collect()
}

proptest! {
    #[test]
    fn sections_give_back_what_they_were_made_of(rows in rows(), every in 1usize..4) {
        let c = columns(&rows);
        let (sections, body) = encode_columns(&c).unwrap();
        let mut header = Vec::new();
        sections.encode(&mut header);
        let read = CachedSections::decode(&mut Cursor::new(&header)).unwrap();
        prop_assert_eq!(&read, &sections);
        let wanted: Vec<u32> = (0..rows.len() as u32).step_by(every).collect();
        let pick = |row: &u32| *row as usize;
        let loaded = |kind: SectionKind, field: FieldId| {
            let s = read.sections.get(&(kind, field))?;
            Some(Loaded::new(s, &body[s.offset as usize..(s.offset + s.length) as usize]).unwrap())
        };
        let ints = |kind| loaded(kind, 0).unwrap().optional(rows.len(), None).unwrap();
        prop_assert_eq!(ints(SectionKind::SnapshotId), c.snapshot_id);
        prop_assert_eq!(ints(SectionKind::FirstRowId), c.first_row_id);
        prop_assert_eq!(ints(SectionKind::SizeBytes), c.size_bytes.iter().map(|v| Some(*v)).collect::<Vec<_>>());
        prop_assert_eq!(ints(SectionKind::ContentSize), c.content_size_bytes);
        let path = loaded(SectionKind::Path, 0).unwrap();
        prop_assert_eq!(texts_of(&path.texts(rows.len(), None).unwrap(), rows.len()), texts_of(&c.path, rows.len()));
        let all = texts_of(&c.path, rows.len());
        let some = texts_of(&path.texts(rows.len(), Some(&wanted)).unwrap(), wanted.len());
        prop_assert_eq!(some, wanted.iter().map(|row| all[pick(row)].clone()).collect::<Vec<_>>());
        let lists = loaded(SectionKind::EqualityIds, 0).unwrap().lists(rows.len(), Some(&wanted)).unwrap();
        let all = lists_of(&c.equality_ids, rows.len());
        let expected: Vec<_> = wanted.iter().map(|row| all[pick(row)].clone()).collect();
        prop_assert_eq!(lists_of(&lists, wanted.len()), expected);
        let counts = loaded(SectionKind::ValueCount, 7).map_or(vec![None; rows.len()], |s| s.optional(rows.len(), None).unwrap());
        let known = |v: &i64| Some(*v).filter(|v| *v != MISSING);
        prop_assert_eq!(counts, c.metrics[0].value_count.iter().map(known).collect::<Vec<_>>());
        prop_assert!(loaded(SectionKind::Upper, 7).is_none());
    }

    #[test]
    fn a_section_with_a_changed_byte_is_refused(rows in rows(), at in any::<prop::sample::Index>(), flip in 1u8..) {
        let (sections, mut body) = encode_columns(&columns(&rows)).unwrap();
        prop_assume!(!body.is_empty());
        let at = at.index(body.len());
        body[at] ^= flip;
        let hit = |s: &&Section| (s.offset..s.offset + s.length).contains(&(at as u64));
        for s in sections.sections.values().filter(hit) {
            prop_assert!(Loaded::new(s, &body[s.offset as usize..(s.offset + s.length) as usize]).is_err());
        }
    }

    #[test]
    fn any_bytes_for_a_header_are_an_error_or_a_header(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = CachedSections::decode(&mut Cursor::new(&bytes));
    }
}

fn manifest_bytes() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/manifests/v2-data.avro")).unwrap()
}

/// An empty cache of that size, and a manifest to put into it.
fn filled(most_bytes: u64) -> (tempfile::TempDir, PlanCache, ManifestFile, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let cache = PlanCache::new(Arc::new(LocalStore), folder.path().to_str().unwrap(), most_bytes);
    let file = ManifestFile { path: "/t/m.avro".into(), length_bytes: 1_000_000, ..Default::default() };
    (folder, cache, file, manifest_bytes())
}

fn put(cache: &PlanCache, file: &ManifestFile, bytes: &[u8]) {
    let manifest = Manifest::parse(bytes).unwrap();
    let request =
        EntryRequest { metric_fields: vec![1, 2], encoded_metrics: true, deleted_too: true, ..Default::default() };
    let columns = manifest.decode_plain(&mut Inflater::default(), 0..manifest.block_count(), &request).unwrap();
    cache.put(file, &manifest, &columns).unwrap();
}

#[test]
fn a_manifest_is_found_by_path_length_and_columns() {
    let (_folder, cache, file, bytes) = filled(1 << 20);
    assert!(cache.get(&file, &[], None).is_none());
    put(&cache, &file, &bytes);
    assert!(cache.get(&file, &[1, 2], None).is_some());
    assert!(cache.get(&file, &[3], None).is_none());
    assert!(cache.get(&ManifestFile { length_bytes: 7, ..file.clone() }, &[], None).is_none());
    assert!(cache.get(&ManifestFile { path: "/t/n.avro".into(), ..file }, &[], None).is_none());
}

#[test]
fn a_torn_or_changed_file_is_as_none() {
    let (_folder, cache, file, bytes) = filled(1 << 20);
    put(&cache, &file, &bytes);
    let path = cache.path(&file);
    let whole = std::fs::read(&path).unwrap();
    let usable = || {
        let found = cache.get(&file, &[1, 2], None)?;
        let loaded = found.load(found.sections.sections.keys().copied().collect::<Vec<_>>()).ok()?;
        found.sections.sections.keys().all(|key| loaded.get(*key).is_ok()).then_some(())
    };
    assert!(usable().is_some());
    for end in 0..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        assert!(usable().is_none(), "cut at {end}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        std::fs::write(&path, &changed).unwrap();
        assert!(usable().is_none(), "changed at {at}");
    }
}

#[test]
fn the_oldest_go_when_the_cache_outgrows_its_bound() {
    let (folder, cache, file, bytes) = filled(1 << 30);
    put(&cache, &file, &bytes);
    let one = std::fs::metadata(cache.path(&file)).unwrap().len();
    let cache = PlanCache { most_bytes: one * 3, ..cache };
    std::fs::write(folder.path().join("mine.txt"), "kept").unwrap();
    let torn = folder.path().join(".0123456789abcdef.plan.5d41402abc4b2a76b9719d911017c592.tmp");
    std::fs::File::create(&torn).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    for i in 0..6 {
        put(&cache, &ManifestFile { path: format!("/t/{i}"), ..file.clone() }, &bytes);
    }
    cache.trim();
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert!((2..=4).contains(&left), "{left} files");
    assert!(folder.path().join("mine.txt").exists() && !torn.exists());
    cache.trim();
}

#[test]
fn a_plan_that_nobody_ends_keeps_the_bound_too() {
    let schema = Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Long)], vec![]);
    let spec = PartitionSpec::default();
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), std::slice::from_ref(&spec));
    let at = partition(&spec, &schema, &[]);
    for i in 0..8 {
        let entry = added(data_file(&format!("f{i}"), &at), 1);
        // Manifests that are long enough for a wave each.
        table.add(ManifestContent::Data, &schema, 0, &[entry]).length_bytes = 1 << 30;
    }
    table.write_list(2);
    let (folder, cache, ..) = filled(10_000);
    let cache = Some(Arc::new(cache));
    let mut plan = RunningPlan::start(PlanInput { cache, ..table.input(BoundPredicate::True) }).unwrap();
    (0..7).for_each(|_| assert!(plan.next_batch().unwrap().is_some()));
    let sizes: Vec<u64> =
        std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).collect();
    assert!(!sizes.is_empty() && sizes.iter().sum::<u64>() <= 10_000, "{sizes:?}");
}

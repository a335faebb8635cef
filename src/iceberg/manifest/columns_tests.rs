use serde_json::Value as Json;

use super::*;
use crate::codec::avro::{AvroCodec, ContainerWriter, encode};
use crate::error::ErrorKind;
use crate::format::task::{ColumnMetrics, FieldMap, FileFormat};
use crate::iceberg::manifest::entries::{ADDED, EXISTING};
use crate::types::value::unhex;
use crate::types::{Field, FieldId, Transform, Value};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/manifests/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn all() -> EntryRequest {
    EntryRequest { all_metrics: true, deleted_too: true, ..Default::default() }
}

fn decode_all(m: &Manifest<'_>, request: &EntryRequest, inherited: &Inherited) -> Result<EntryColumns> {
    m.decode(0..m.block_count(), request, inherited)
}

const FIXTURES: [&str; 5] = ["v1-data.avro", "v2-data.avro", "v2-deletes.avro", "v3-data.avro", "v3-deletes.avro"];

fn counts(j: &Json) -> Option<FieldMap<i64>> {
    let map = j.as_object()?;
    Some(map.iter().map(|(k, v)| (k.parse().unwrap(), v.as_i64().unwrap())).collect())
}

fn bounds(j: &Json) -> Option<FieldMap<Vec<u8>>> {
    let map = j.as_object()?;
    Some(map.iter().map(|(k, v)| (k.parse().unwrap(), unhex(v.as_str().unwrap()).unwrap())).collect())
}

fn java_metrics(f: &Json) -> ColumnMetrics {
    ColumnMetrics {
        column_sizes: counts(&f["column_sizes"]),
        value_counts: counts(&f["value_counts"]),
        null_value_counts: counts(&f["null_value_counts"]),
        nan_value_counts: counts(&f["nan_value_counts"]),
        lower_bounds: bounds(&f["lower_bounds"]),
        upper_bounds: bounds(&f["upper_bounds"]),
    }
}

/// Java wrote these manifests, and also the expected contents.
#[test]
fn reads_what_java_wrote() {
    let expected: Json = serde_json::from_slice(&fixture("expected.json")).unwrap();
    for name in FIXTURES {
        let bytes = fixture(name);
        let manifest = Manifest::parse(&bytes).unwrap();
        let java = &expected[name];
        let listed = &java["manifest"];
        let inherited = Inherited {
            snapshot_id: listed["added_snapshot_id"].as_i64(),
            sequence_number: listed["sequence_number"].as_i64().unwrap(),
        };
        let mut batches = [decode_all(&manifest, &all(), &inherited).unwrap()];
        if let Some(first) = listed["first_row_id"].as_i64() {
            assign_first_row_ids(&mut batches, first).unwrap();
        }
        let [columns] = batches;
        let total: i64 =
            ["added_files", "existing_files", "deleted_files"].map(|k| listed[k].as_i64().unwrap()).iter().sum();
        assert_eq!(columns.len() as i64, total);
        assert_eq!(manifest.content == ManifestContent::Deletes, listed["content"] == "deletes");
        assert_eq!(manifest.spec_id, Some(0));
        for entry in java["entries"].as_array().unwrap() {
            let (f, path) = (&entry["file"], entry["file"]["path"].as_str().unwrap());
            let same = |row: &usize| {
                let at = |c: Option<&[u8]>| String::from_utf8(c.unwrap_or_default().to_vec()).unwrap();
                at(columns.path.get(*row)).ends_with(path)
                    && columns.content_offset[*row] == f["content_offset"].as_i64()
            };
            let row = columns.rows().find(same).unwrap();
            check_entry(entry, &manifest, &columns, row);
        }
    }
}

fn check_entry(entry: &Json, manifest: &Manifest<'_>, columns: &EntryColumns, row: usize) {
    let f = &entry["file"];
    let int = |key: &str| f[key].as_i64();
    let status = ["existing", "added", "deleted"][columns.status[row] as usize];
    assert_eq!(status, entry["status"]);
    let spec = PartitionSpec { id: 0, fields: manifest.spec_fields.to_vec() };
    let schema: Json = serde_json::from_str(manifest.schema_json().unwrap().unwrap()).unwrap();
    let schema = crate::types::schema_json::schema_from_json(&schema).unwrap();
    let tuple = &columns.partitions[columns.partition[row] as usize];
    let partition = partition_of(&spec, &schema, &manifest.spec_fields, &manifest.partition_types, tuple);
    for v in &partition.values {
        let json = v.value.as_ref().map_or(Json::Null, |x| crate::types::json::value_to_json(x.as_ref(), &v.ty));
        assert_eq!(json, f["partition"][&v.name]);
    }
    let file = columns.data_file(row, Arc::new(partition)).unwrap();
    assert_eq!(file.snapshot_id, entry["snapshot_id"].as_i64());
    assert_eq!(file.sequence_number, entry["data_sequence_number"].as_i64());
    assert_eq!(file.file_sequence_number, entry["file_sequence_number"].as_i64());
    let content = match file.content {
        FileContent::Data => "data",
        FileContent::PositionDeletes => "position_deletes",
        FileContent::EqualityDeletes => "equality_deletes",
    };
    assert_eq!(content, f["content"]);
    assert_eq!(columns.is_data(row), content == "data");
    assert_eq!(file.format.as_str(), f["format"]);
    assert_eq!(Some(file.record_count), int("record_count"));
    assert_eq!(Some(file.size_bytes), int("file_size"));
    assert_eq!(file.sort_order_id.map(i64::from), int("sort_order_id"));
    assert_eq!(file.first_row_id, int("first_row_id"));
    assert_eq!(file.content_offset, int("content_offset"));
    assert_eq!(file.content_size_bytes, int("content_size"));
    let offsets = f["split_offsets"].as_array().map(|a| a.iter().map(|v| v.as_i64().unwrap()).collect());
    assert_eq!(file.split_offsets, offsets);
    let referenced = f["referenced_data_file"].as_str();
    assert_eq!(file.referenced_data_file.is_some(), referenced.is_some());
    assert!(file.referenced_data_file.unwrap_or_default().ends_with(referenced.unwrap_or_default()));
    assert_eq!(*file.metrics.unwrap().get().unwrap(), java_metrics(f));
}

#[test]
fn wanted_fields_get_the_same_metrics_as_all() {
    for name in FIXTURES {
        let bytes = fixture(name);
        let manifest = Manifest::parse(&bytes).unwrap();
        let fields = vec![1, 3, 77, 2_147_483_540, 2_147_483_546];
        for all_metrics in [false, true] {
            let request =
                EntryRequest { metric_fields: fields.clone(), all_metrics, deleted_too: true, ..Default::default() };
            let columns = decode_all(&manifest, &request, &Inherited::default()).unwrap();
            let whole = decode_all(&manifest, &all(), &Inherited::default()).unwrap();
            assert_eq!(columns.all_metrics.len(), if all_metrics { columns.len() } else { 0 });
            for (row, m) in whole.all_metrics.iter().enumerate() {
                for (c, id) in columns.metrics.iter().zip(&fields) {
                    let count =
                        |map: &Option<FieldMap<i64>>| map.as_ref().and_then(|m| m.get(id).copied()).unwrap_or(-1);
                    assert_eq!(c.field_id, *id);
                    assert_eq!(c.value_count[row], count(&m.value_counts));
                    assert_eq!(c.null_count[row], count(&m.null_value_counts));
                    assert_eq!(c.nan_count[row], count(&m.nan_value_counts));
                    assert_eq!(c.lower.get(row), m.lower_bounds.as_ref().and_then(|b| Some(b.get(id)?.as_slice())));
                    assert_eq!(c.upper.get(row), m.upper_bounds.as_ref().and_then(|b| Some(b.get(id)?.as_slice())));
                }
            }
        }
        let live = decode_all(&manifest, &EntryRequest::default(), &Inherited::default()).unwrap();
        let whole = decode_all(&manifest, &all(), &Inherited::default()).unwrap();
        assert_eq!(live.len(), whole.status.iter().filter(|s| **s != DELETED).count());
        assert!(live.rows().all(|r| live.path.get(r).is_some()));
    }
}

#[test]
fn manifests_with_the_same_header_share_its_layout() {
    let (a, b) = (fixture("v2-data.avro"), fixture("v3-data.avro"));
    let first = Manifest::parse(&a).unwrap();
    let second = Manifest::parse_like(&a, Some(first.layout())).unwrap();
    assert!(Arc::ptr_eq(first.layout(), second.layout()));
    let other = Manifest::parse_like(&b, Some(first.layout())).unwrap();
    assert!(!Arc::ptr_eq(first.layout(), other.layout()));
}

/// A manifest with four fields and others. The test writes its entries itself.
fn small(extra_entry: &str, extra_file: &str, spec: &str, records: &[Vec<u8>]) -> Vec<u8> {
    let schema = format!(
        r#"{{"type":"record","name":"manifest_entry","fields":[{{"name":"status","type":"int","field-id":0}},{extra_entry}
        {{"name":"data_file","field-id":2,"type":{{"type":"record","name":"r2","fields":[{extra_file}
        {{"name":"file_path","type":"string","field-id":100}},{{"name":"file_format","type":"string","field-id":101}},
        {{"name":"record_count","type":"long","field-id":103}},
        {{"name":"file_size_in_bytes","type":"long","field-id":104}}]}}}}]}}"#
    );
    let mut writer = ContainerWriter::new(&schema, &[("partition-spec", spec), ("schema", "{}")], AvroCodec::Null);
    records.iter().for_each(|r| writer.record(|out| out.extend_from_slice(r)));
    writer.finish().unwrap()
}

fn record(put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out);
    out
}

fn put_file(out: &mut Vec<u8>, path: &[u8], format: &str, rows: i64, size: i64) {
    encode::put_bytes(out, path);
    encode::put_bytes(out, format.as_bytes());
    encode::put_long(out, rows);
    encode::put_long(out, size);
}

fn entry(status: i32, path: &'static [u8], format: &'static str, rows: i64, size: i64) -> Vec<u8> {
    small(
        "",
        "",
        "[]",
        &[record(|out| {
            encode::put_int(out, status);
            put_file(out, path, format, rows, size);
        })],
    )
}

#[test]
fn refuses_entries_that_can_not_be() {
    let decode = |bytes: &[u8]| decode_all(&Manifest::parse(bytes)?, &EntryRequest::default(), &Inherited::default());
    let good = decode(&entry(1, b"p", "ParQuet", 3, 4)).unwrap();
    assert_eq!((good.format[0], good.content[0]), (FileFormat::Parquet, FileContent::Data));
    for (bytes, kind, text) in [
        (entry(3, b"p", "parquet", 3, 4), ErrorKind::CorruptTable, "status of 3"),
        (entry(1, b"p", "lance", 3, 4), ErrorKind::Unsupported, "lance"),
        (entry(1, b"p", "parquet", -3, 4), ErrorKind::CorruptTable, "record count of -3"),
        (entry(1, b"p", "parquet", 3, -4), ErrorKind::CorruptTable, "size of -4"),
        (entry(1, b"\xff", "parquet", 3, 4), ErrorKind::CorruptTable, "UTF-8"),
    ] {
        let e = decode(&bytes).unwrap_err();
        assert_eq!(e.kind(), kind);
        assert!(e.to_string().contains(text) && e.to_string().contains("block: 0"), "{e}");
    }
}

#[test]
fn sequence_numbers_are_inherited_as_in_java() {
    let optional = r#"{"name":"snapshot_id","type":["null","long"],"field-id":1},
        {"name":"sequence_number","type":["null","long"],"field-id":3},"#;
    let with_column = |status: i32, number: Option<i64>| {
        small(
            optional,
            "",
            "[]",
            &[record(move |out| {
                encode::put_int(out, status);
                encode::put_optional(out, number, encode::put_long);
                encode::put_optional(out, number, encode::put_long);
                put_file(out, b"p", "avro", 1, 1);
            })],
        )
    };
    let read = |bytes: &[u8], sequence_number: i64| {
        let inherited = Inherited { snapshot_id: Some(8), sequence_number };
        let c = decode_all(&Manifest::parse(bytes).unwrap(), &all(), &inherited).unwrap();
        (c.snapshot_id[0], c.sequence_number[0], c.file_sequence_number[0])
    };
    let (added, existing, deleted) = (i32::from(ADDED), i32::from(EXISTING), i32::from(DELETED));
    assert_eq!(read(&with_column(added, None), 5), (Some(8), Some(5), Some(5)));
    assert_eq!(read(&with_column(added, Some(3)), 5), (Some(3), Some(3), Some(5)));
    assert_eq!(read(&with_column(existing, Some(0)), 5), (Some(0), Some(0), None));
    assert_eq!(read(&with_column(existing, None), 5), (Some(8), None, None));
    assert_eq!(read(&with_column(deleted, None), 0), (Some(8), Some(0), Some(0)));
    assert_eq!(read(&entry(existing, b"p", "orc", 1, 1), 5), (Some(8), Some(0), Some(0)));
}

#[test]
fn row_ids_run_over_live_files_without_one() {
    let mut a = EntryColumns {
        status: vec![ADDED, DELETED, EXISTING],
        record_count: vec![10, 100, 5],
        first_row_id: vec![None, None, Some(3)],
        ..Default::default()
    };
    let b =
        EntryColumns { status: vec![EXISTING], record_count: vec![7], first_row_id: vec![None], ..Default::default() };
    a.content = vec![FileContent::Data; 3];
    let mut batches = [a, b];
    assign_first_row_ids(&mut batches, 1000).unwrap();
    assert_eq!(batches[0].first_row_id, [Some(1000), None, Some(3)]);
    assert_eq!(batches[1].first_row_id, [Some(1010)]);
    clear_first_row_ids(&mut batches);
    assert_eq!(batches[0].first_row_id, [None; 3]);
    assert!(assign_first_row_ids(&mut batches, i64::MAX - 3).is_err());
}

const PARTITION: &str = r#"{"name":"partition","field-id":102,"type":{"type":"record","name":"r102","fields":[
    {"name":"b","type":["int","null"],"field-id":1001},{"name":"a","type":["null","string"],"field-id":1000},
    {"name":"c","type":"null","field-id":1005}]}},"#;

const SPEC: &str = r#"[{"name":"a","transform":"identity","source-id":1,"field-id":1000},
    {"name":"b","transform":"bucket[4]","source-id":2,"field-id":1001},
    {"name":"gone","transform":"void","source-id":9,"field-id":1002}]"#;

fn partitioned(tuples: &[(Option<i32>, Option<&str>)]) -> Vec<u8> {
    let tuple = |(b, a): &(Option<i32>, Option<&str>)| {
        record(|out| {
            encode::put_int(out, 1);
            encode::put_int(out, i32::from(b.is_none()));
            b.iter().for_each(|b| encode::put_int(out, *b));
            encode::put_optional(out, a.map(str::as_bytes), encode::put_bytes);
            put_file(out, b"p", "PARQUET", 1, 1);
        })
    };
    small("", PARTITION, SPEC, &tuples.iter().map(tuple).collect::<Vec<_>>())
}

#[test]
fn partition_fields_meet_by_id_and_tuples_are_shared() {
    let tuples = [(Some(3), Some("x")), (Some(3), None), (Some(3), Some("x")), (None, Some("y")), (Some(3), None)];
    let bytes = partitioned(&tuples);
    let manifest = Manifest::parse(&bytes).unwrap();
    let names: Vec<&str> = manifest.spec_fields.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "gone", "c"]);
    let columns = decode_all(&manifest, &EntryRequest::default(), &Inherited::default()).unwrap();
    assert_eq!(columns.partition, [0, 1, 0, 2, 1]);
    let text = |s: &str| Some(Value::String(s.into()));
    assert_eq!(columns.partitions[0], [text("x"), Some(Value::Int(3)), None, None]);
    assert_eq!(columns.partitions[2], [text("y"), None, None, None]);

    // Under the table's current spec: another order, a promoted type, a dropped source.
    let field = |id: i32, source_id: i32, name: &str, transform: Transform| PartitionField {
        source_id,
        field_id: id,
        name: name.into(),
        transform,
    };
    let spec = PartitionSpec {
        id: 4,
        fields: vec![
            field(1001, 2, "bb", Transform::Bucket(4)),
            field(1000, 77, "aa", Transform::Identity),
            field(1009, 1, "new", Transform::Identity),
        ],
    };
    let schema = Schema::new(0, vec![Field::new(1, "s", false, PrimitiveType::Long)], vec![]);
    let p = partition_of(&spec, &schema, &manifest.spec_fields, &manifest.partition_types, &columns.partitions[0]);
    let got: Vec<_> = p.values.iter().map(|v| (v.name.as_str(), v.ty.clone(), v.value.clone())).collect();
    assert_eq!(p.spec_id, 4);
    assert_eq!(got[0], ("bb", PrimitiveType::Int, Some(Value::Int(3))));
    assert_eq!(got[1], ("aa", PrimitiveType::String, text("x")));
    assert_eq!(got[2], ("new", PrimitiveType::Long, None));
}

#[test]
fn values_widen_with_their_column() {
    use PrimitiveType as P;
    let date = |to| widen(Value::Int(1), &P::Date, &to);
    assert_eq!(widen(Value::Int(-5), &P::Int, &P::Long), Ok(Value::Long(-5)));
    assert_eq!(widen(Value::Float(1.5), &P::Float, &P::Double), Ok(Value::Double(1.5)));
    assert_eq!(date(P::Timestamp), Ok(Value::Long(86_400_000_000)));
    assert_eq!(date(P::TimestamptzNs), Ok(Value::Long(86_400_000_000_000)));
    assert_eq!(widen(Value::Bytes(vec![0; 16]), &P::Fixed(16), &P::Uuid), Ok(Value::Uuid(0)));
    assert_eq!(widen(Value::Long(1), &P::Long, &P::Int), Err(Value::Long(1)));
}

#[test]
fn v1_specs_may_lack_field_ids() {
    let partition = r#"{"name":"partition","field-id":102,"type":{"type":"record","name":"r102","fields":[
        {"name":"x_x2Ey","type":"int"},{"name":"z","type":"int"}]}},"#;
    let spec = r#"{"spec-id":0,"fields":[{"name":"z","transform":"identity","source-id":1},
        {"name":"x.y","transform":"year","source-id":2}]}"#;
    let bytes = small(
        "",
        partition,
        spec,
        &[record(|out| {
            [1, 10, 20].into_iter().for_each(|v| encode::put_int(out, v));
            put_file(out, b"p", "PARQUET", 1, 1);
        })],
    );
    let manifest = Manifest::parse(&bytes).unwrap();
    assert_eq!((manifest.format_version, manifest.spec_id), (1, None));
    let ids: Vec<FieldId> = manifest.spec_fields.iter().map(|f| f.field_id).collect();
    assert_eq!(ids, [1000, 1001]);
    let columns = decode_all(&manifest, &EntryRequest::default(), &Inherited::default()).unwrap();
    assert_eq!(columns.partitions[0], [Some(Value::Int(20)), Some(Value::Int(10))]);
}

#[test]
fn headers_that_make_no_sense_are_refused() {
    let parse = |extra: &str, spec: &str| {
        let bytes = small("", extra, spec, &[]);
        Manifest::parse(&bytes).map(|_| ()).map_err(|e| e.to_string()).unwrap_err()
    };
    assert!(parse("", "{").contains("partition spec"));
    assert!(parse("", r#"[{"name":"a"}]"#).contains("partition field"));
    let twice = r#"{"name":"again","type":"string","field-id":100},"#;
    assert!(parse(twice, "[]").contains("twice"));
    let mistyped = r#"{"name":"lower_bounds","type":"string","field-id":125},"#;
    assert!(parse(mistyped, "[]").contains("another type"));
    let odd = r#"{"name":"partition","field-id":102,"type":{"type":"record","name":"r102","fields":[
        {"name":"m","type":{"type":"map","values":"int"},"field-id":1000}]}},"#;
    assert!(parse(odd, "[]").contains("'map'"));
    let lacking =
        ContainerWriter::new(r#"{"type":"record","name":"r","fields":[]}"#, &[], AvroCodec::Null).finish().unwrap();
    assert!(Manifest::parse(&lacking).unwrap_err().to_string().contains("data_file"));
}

/// A copy of an uncompressed manifest whose last block claims another number of entries.
fn claiming(bytes: &[u8], count: i64) -> Vec<u8> {
    let container = Container::parse(bytes).unwrap();
    let block = container.blocks.last().unwrap();
    let mut head = Vec::new();
    encode::put_long(&mut head, block.count as i64);
    encode::put_bytes(&mut head, &bytes[block.range.clone()]);
    let mut out = bytes[..block.range.end - head.len()].to_vec();
    encode::put_long(&mut out, count);
    encode::put_bytes(&mut out, &bytes[block.range.clone()]);
    out.extend_from_slice(&bytes[block.range.end..]);
    out
}

#[test]
fn counts_that_lie_are_found() {
    let bytes = partitioned(&[(Some(3), Some("x")), (Some(3), None)]);
    assert!(decode_all(&Manifest::parse(&claiming(&bytes, 2)).unwrap(), &all(), &Inherited::default()).is_ok());
    for count in [0, 1, 3, 20, 1 << 20, i64::MAX] {
        let lying = claiming(&bytes, count);
        let manifest = Manifest::parse(&lying).unwrap();
        assert_eq!(manifest.entry_count(0..1), count as u64);
        let e = decode_all(&manifest, &all(), &Inherited::default()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptTable);
    }
    let manifest = Manifest::parse(&bytes).unwrap();
    let e = manifest.decode(0..9, &all(), &Inherited::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
}

#[test]
fn torn_files_are_refused() {
    for name in ["v1-data.avro", "v3-deletes.avro"] {
        let bytes = fixture(name);
        for cut in 0..bytes.len() {
            let read = Manifest::parse(&bytes[..cut]).and_then(|m| decode_all(&m, &all(), &Inherited::default()));
            // A file that ends directly after its header is whole and empty.
            assert!(read.map_or(true, |c| c.is_empty()), "{name} {cut}");
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let request =
        EntryRequest { metric_fields: vec![1, 2], all_metrics: true, deleted_too: true, ..Default::default() };
    let sources = [fixture("v3-data.avro"), partitioned(&[(Some(3), Some("x")), (None, None)])];
    for bytes in sources {
        for at in 0..bytes.len() {
            for mask in [0x01, 0x80] {
                let mut flipped = bytes.clone();
                flipped[at] ^= mask;
                if let Ok(m) = Manifest::parse(&flipped)
                    && let Ok(c) = decode_all(&m, &request, &Inherited::default())
                {
                    c.rows().for_each(|row| drop(c.data_file(row, Arc::new(Partition { spec_id: 0, values: vec![] }))));
                }
            }
        }
    }
}

/// Java Iceberg 1.12 writes and reads partition values of type fixed as bytes with a length. This contradicts its own
/// schema of the file.
#[test]
fn fixed_partition_values_may_have_a_length() {
    let partition = r#"{"name":"partition","field-id":102,"type":{"type":"record","name":"r102","fields":[
        {"name":"f","field-id":1000,"type":["null",{"type":"fixed","name":"fixed_2","size":2}]}]}},"#;
    let spec = r#"[{"name":"f","transform":"identity","source-id":1,"field-id":1000}]"#;
    let manifest = |with_length: bool, values: &[Option<[u8; 2]>]| {
        let one = |value: &Option<[u8; 2]>| {
            record(|out| {
                encode::put_int(out, 1);
                encode::put_optional(out, *value, |out, value| match with_length {
                    true => encode::put_bytes(out, &value),
                    false => out.extend_from_slice(&value),
                });
                put_file(out, b"p", "parquet", 3, 4);
            })
        };
        small("", partition, spec, &values.iter().map(one).collect::<Vec<_>>())
    };
    let values = [Some([4, 9]), None, Some([0, 255])];
    for with_length in [false, true] {
        let bytes = manifest(with_length, &values);
        let parsed = Manifest::parse(&bytes).unwrap();
        let found = decode_all(&parsed, &all(), &Inherited::default()).unwrap();
        assert_eq!(found.record_count, [3, 3, 3]);
        let tuples: Vec<_> = found.partition.iter().map(|n| found.partitions[*n as usize][0].clone()).collect();
        assert_eq!(tuples, values.map(|value| value.map(|bytes| Value::Bytes(bytes.to_vec()))));
    }
    // Data in neither form is damaged.
    let torn = small("", partition, spec, &[vec![2, 2, 2, 7]]);
    assert!(decode_all(&Manifest::parse(&torn).unwrap(), &all(), &Inherited::default()).is_err());
}

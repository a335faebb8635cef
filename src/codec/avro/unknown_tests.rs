use serde::Serialize;

use super::*;
use crate::codec::avro::declare::{self, Zones, field, optional_field, record};
use crate::codec::avro::encode::{put_bytes, put_int};
use crate::codec::avro::{AvroCodec, ContainerWriter, OpenFile, RecordEncoder};

/// Records of an old version: a number, and a record of a text.
fn own_schema() -> apache_avro::Schema {
    use apache_avro::Schema as S;
    let inner = record("inner", [Ok(field("text", S::String)), optional_field("size", S::Long)]).unwrap();
    record("outer", [Ok(field("n", S::Int)), Ok(field("file", inner))]).unwrap()
}

/// Records of a new version.
const NEWER: &str = r#"{"type":"record","name":"outer","fields":[
    {"name":"early","type":["null","string"],"default":null,"field-id":9},
    {"name":"n","type":"int"},
    {"name":"tag","type":{"type":"fixed","name":"two","size":2}},
    {"name":"file","type":{"type":"record","name":"inner","fields":[
        {"name":"text","type":"string"},
        {"name":"more","type":{"type":"array","items":["null","long"]},"default":[]},
        {"name":"twice","type":["null","two"],"default":null}]}},
    {"name":"rank","type":"double","default":0.5}]}"#;

fn is_known(m: &Member, inner: bool) -> bool {
    if inner { ["text", "size"].contains(&m.name.as_str()) } else { ["n", "file"].contains(&m.name.as_str()) }
}

fn newer_record(out: &mut Vec<u8>) {
    put_long(out, 1);
    put_bytes(out, b"early");
    put_int(out, 7);
    out.extend(b"tg");
    put_bytes(out, b"text");
    put_long(out, 2);
    put_long(out, 1);
    put_long(out, 40);
    put_long(out, 0);
    put_long(out, 0);
    put_long(out, 1);
    out.extend(b"tw");
    out.extend(0.25f64.to_le_bytes());
}

/// The unknown values of one record of the new version, and the text of `n` and `file.text`.
fn unknown_values() -> UnknownValues {
    let members = Arc::new(UnknownMembers::of(NEWER, Some("file"), is_known).unwrap());
    let names: Vec<&str> = members.0.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["more", "twice", "early", "tag", "rank"]);
    let mut inner = Vec::new();
    for n in [2, 1, 40, 0, 0] {
        put_long(&mut inner, n);
    }
    put_long(&mut inner, 1);
    inner.extend(b"tw");
    let mut outer = Vec::new();
    put_long(&mut outer, 1);
    put_bytes(&mut outer, b"early");
    outer.extend(b"tg");
    outer.extend(0.25f64.to_le_bytes());
    UnknownValues::new(&members, &[inner, outer].concat())
}

fn written(records: &[Option<&UnknownValues>]) -> Vec<u8> {
    let schema = own_schema();
    let text = declare::text(&schema, Zones::ByName).unwrap();
    let extended = ExtendedSchema::of(&text, Some("file"), records.iter().copied());
    let text = extended.as_ref().map_or(text, |e| e.text.clone());
    let encoder = RecordEncoder::new(&schema).unwrap();
    let mut out = ContainerWriter::new(&text, &[], AvroCodec::Null);
    for unknown in records {
        let bytes = extended.as_ref().map(|e| e.bytes_of(*unknown).unwrap()).unwrap_or_default();
        let one = (7, ("text", Some(3i64)));
        fn known(record: &impl Serialize) -> &impl Serialize {
            record
        }
        out.append_extended(&encoder, known(&one), &bytes).unwrap();
    }
    out.finish().unwrap()
}

/// The values as another implementation of Avro reads them.
fn read_by_the_crate(bytes: &[u8]) -> Vec<Json> {
    let reader = apache_avro::Reader::new(bytes).unwrap();
    reader.map(|value| Json::try_from(value.unwrap()).unwrap()).collect()
}

#[test]
fn unknown_members_survive_in_the_records_of_a_new_file() {
    let unknown = unknown_values();
    let mut record = Vec::new();
    newer_record(&mut record);
    let rows = read_by_the_crate(&written(&[Some(&unknown), None]));
    // A record without them gets the defaults. `tag` has no default, so the others continue without it.
    let file = |more: Json, twice: Json| serde_json::json!({"text": "text", "size": 3, "more": more, "twice": twice});
    assert_eq!(rows[0]["file"], file(serde_json::json!([40, null]), serde_json::json!(b"tw".to_vec())));
    assert_eq!((&rows[0]["early"], &rows[0]["rank"]), (&Json::from("early"), &Json::from(0.25)));
    assert_eq!(rows[1]["file"], file(serde_json::json!([]), Json::Null));
    assert_eq!((&rows[1]["early"], &rows[1]["rank"]), (&Json::Null, &Json::from(0.5)));
    assert!(rows[0].get("tag").is_none());
    let all = read_by_the_crate(&written(&[Some(&unknown), Some(&unknown)]));
    assert_eq!(all[1]["tag"], serde_json::json!(b"tg".to_vec()));
    assert_eq!(all[0], all[1]);
}

#[test]
fn values_can_be_taken_over_again_and_again() {
    let unknown = unknown_values();
    let bytes = written(&[Some(&unknown)]);
    let file = OpenFile::parse(&bytes).unwrap();
    let schema = file.head().unwrap().schema_json().unwrap().to_owned();
    let members = UnknownMembers::of(&schema, Some("file"), is_known).unwrap();
    let names: Vec<&str> = members.0.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["more", "twice", "early", "tag", "rank"]);
    let kept = UnknownValues::new(&Arc::new(members), &unknown.bytes);
    assert_eq!(read_by_the_crate(&written(&[Some(&kept)])), read_by_the_crate(&bytes));
}

#[test]
fn records_of_known_members_are_written_as_before() {
    let plain = written(&[None, None]);
    let schema = OpenFile::parse(&plain).unwrap().head().unwrap().schema_json().unwrap().to_owned();
    assert_eq!(schema, declare::text(&own_schema(), Zones::ByName).unwrap());
    assert!(UnknownMembers::of(&schema, Some("file"), is_known).unwrap().is_empty());
}

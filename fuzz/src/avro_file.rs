//! Avro files that are right in most places: data files, manifests and lists of schemas with nested arrays, maps and
//! unions, with counts and lengths that are sometimes wrong.

use crate::choices::Choices;
use crate::numbers::zigzag as long;

fn text(choices: &mut Choices<'_>, content: &[u8]) -> Vec<u8> {
    [long(choices.number(content.len() as i64)), content.to_vec()].concat()
}

/// The schema of data files of the table that [`crate::context`] has.
pub const ROWS: &str = r#"{"type":"record","name":"r","fields":[
    {"name":"a","type":["null","long"]},{"name":"b","type":["null","string"]},
    {"name":"c","type":["null",{"type":"array","items":["null","int"]}]},
    {"name":"d","type":["null",{"type":"record","name":"s","fields":[
        {"name":"x","type":["null",{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}]}]}]},
    {"name":"e","type":["null",{"type":"long","logicalType":"timestamp-micros"}]},
    {"name":"f","type":["null","double"]}]}"#;

/// The schema of manifests of Iceberg, with a member that is not known.
pub const MANIFEST: &str = r#"{"type":"record","name":"manifest_entry","fields":[
    {"name":"status","type":"int","field-id":0},{"name":"snapshot_id","type":["null","long"],"field-id":1},
    {"name":"sequence_number","type":["null","long"],"field-id":3},
    {"name":"data_file","field-id":2,"type":{"type":"record","name":"r2","fields":[
        {"name":"content","type":"int","field-id":134},{"name":"file_path","type":"string","field-id":100},
        {"name":"file_format","type":"string","field-id":101},
        {"name":"partition","field-id":102,"type":{"type":"record","name":"r102","fields":[
            {"name":"p","type":["null","long"],"field-id":1000}]}},
        {"name":"record_count","type":"long","field-id":103},{"name":"file_size_in_bytes","type":"long","field-id":104},
        {"name":"value_counts","field-id":109,"type":["null",{"type":"array","logicalType":"map","items":
            {"type":"record","name":"k119_v120","fields":[{"name":"key","type":"int","field-id":119},
            {"name":"value","type":"long","field-id":120}]}}]},
        {"name":"lower_bounds","field-id":125,"type":["null",{"type":"array","logicalType":"map","items":
            {"type":"record","name":"k126_v127","fields":[{"name":"key","type":"int","field-id":126},
            {"name":"value","type":"bytes","field-id":127}]}}]},
        {"name":"split_offsets","field-id":132,"type":["null",{"type":"array","items":"long"}]},
        {"name":"later","field-id":900,"type":["null",{"type":"map","values":"double"}]}]}}]}"#;

/// The schema of Paimon's manifest lists.
pub const PAIMON_LIST: &str = r#"{"type":"record","name":"record","fields":[
    {"name":"_VERSION","type":"int"},{"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},
    {"name":"_NUM_ADDED_FILES","type":"long"},{"name":"_NUM_DELETED_FILES","type":"long"},
    {"name":"_PARTITION_STATS","type":{"type":"record","name":"s","fields":[{"name":"_MIN_VALUES","type":"bytes"},
        {"name":"_MAX_VALUES","type":"bytes"},
        {"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}]}]}},
    {"name":"_SCHEMA_ID","type":"long"},{"name":"_TOTAL_BUCKETS","type":["null","int"]},
    {"name":"_EXTRA_FILES","type":["null",{"type":"array","items":"string"}]}]}"#;

/// A value of a schema.
fn value(choices: &mut Choices<'_>, schema: &serde_json::Value, out: &mut Vec<u8>) {
    use serde_json::Value as Json;
    let kind = match schema {
        Json::Array(branches) => {
            let branch = choices.below(branches.len());
            out.extend(long(choices.number(branch as i64)));
            return value(choices, &branches[branch], out);
        }
        Json::String(name) => name.as_str(),
        schema => schema["type"].as_str().unwrap_or("null"),
    };
    match kind {
        "boolean" => out.push(choices.byte() & 1),
        "int" | "long" => {
            let small = i64::from(choices.byte() & 3);
            out.extend(long(choices.number(small)));
        }
        "float" => out.extend([0; 4]),
        "double" => out.extend([0; 8]),
        "string" => {
            let content = choices.one(&[&b"PARQUET"[..], b"a/b.parquet", b"", b"t"]);
            out.extend(text(choices, content));
        }
        "bytes" => {
            let content = choices.bytes(9);
            out.extend(text(choices, &content));
        }
        "array" | "map" => {
            for _ in 0..choices.below(3) {
                let count = choices.below(4);
                match choices.once_in(8) {
                    true => {
                        out.extend(long(choices.number(-(count as i64))));
                        out.extend(long(choices.number(count as i64)));
                    }
                    false => out.extend(long(choices.number(count as i64))),
                }
                for _ in 0..count {
                    if kind == "map" {
                        out.extend(text(choices, b"k"));
                        value(choices, &schema["values"], out);
                    } else {
                        value(choices, &schema["items"], out);
                    }
                }
                if count == 0 {
                    return;
                }
            }
            out.push(0);
        }
        "record" => {
            let fields = schema["fields"].as_array().cloned().unwrap_or_default();
            fields.iter().for_each(|field| value(choices, &field["type"], out));
        }
        _ => {}
    }
}

/// A file of some records of this schema.
pub fn file(choices: &mut Choices<'_>, schema: &str) -> Vec<u8> {
    let json: serde_json::Value = serde_json::from_str(schema).unwrap_or_default();
    let codec = choices.one(&["null", "null", "deflate", "snappy", "zstandard"]);
    let mut out = b"Obj\x01".to_vec();
    out.extend(long(choices.number(2)));
    for (key, content) in [("avro.schema", schema), ("avro.codec", codec)] {
        out.extend(text(choices, key.as_bytes()));
        out.extend(text(choices, content.as_bytes()));
    }
    out.push(0);
    let sync = [7; 16];
    out.extend(sync);
    for _ in 0..1 + choices.below(3) {
        let count = choices.below(20);
        let mut block = Vec::new();
        (0..count).for_each(|_| value(choices, &json, &mut block));
        let block = match codec {
            "deflate" => {
                let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::fastest());
                let mut out = vec![0; compressor.deflate_compress_bound(block.len())];
                let length = compressor.deflate_compress(&block, &mut out).unwrap_or(0);
                out.truncate(length);
                out
            }
            "snappy" => {
                let data = snap::raw::Encoder::new().compress_vec(&block).unwrap_or_default();
                [data, crc32fast::hash(&block).to_be_bytes().to_vec()].concat()
            }
            "zstandard" => zstd::bulk::compress(&block, 1).unwrap_or_default(),
            _ => block,
        };
        out.extend(long(choices.number(count as i64)));
        out.extend(text(choices, &block));
        out.extend(sync);
    }
    out
}

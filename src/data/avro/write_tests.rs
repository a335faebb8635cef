use super::*;
use crate::codec::avro::Container;
use crate::data::testing::{rows, schema};
use crate::data::write::file_write::tests::{Dice, LEAVES, batch, read_back, write};
use crate::error::ErrorKind;
use crate::types::{Field, PrimitiveType as P, Type};

fn of(properties: &[(&str, &str)], deletes: bool) -> Result<(AvroCodec, Option<i32>)> {
    let properties = properties.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    compression(&Properties::new(&properties, FileFormat::Avro, deletes))
}

#[test]
fn codecs_and_levels_are_javas() {
    const CODEC: &str = "write.avro.compression-codec";
    const LEVEL: &str = "write.avro.compression-level";
    assert_eq!(of(&[], false).unwrap(), (AvroCodec::Deflate, Some(9)));
    assert_eq!(of(&[(CODEC, "ZSTD")], false).unwrap(), (AvroCodec::Zstd, Some(1)));
    assert_eq!(of(&[(CODEC, "zstd"), (LEVEL, "7")], true).unwrap(), (AvroCodec::Zstd, Some(7)));
    // Zstandard has no such levels, so the nearest is taken.
    for level in [-1, 0, 99] {
        assert_eq!(of(&[(CODEC, "zstd"), (LEVEL, &level.to_string())], false).unwrap(), (AvroCodec::Zstd, Some(level)));
    }
    assert_eq!(of(&[(LEVEL, "-1")], false).unwrap(), (AvroCodec::Deflate, Some(-1)));
    let deletes = [(CODEC, "zstd"), ("write.delete.avro.compression-codec", "uncompressed")];
    assert_eq!(of(&deletes, true).unwrap(), (AvroCodec::Null, None));
    assert_eq!(of(&deletes, false).unwrap().0, AvroCodec::Zstd);
    for wrong in [[(CODEC, "lz4"), (LEVEL, "1")], [(CODEC, "gzip"), (LEVEL, "10")], [(CODEC, "gzip"), (LEVEL, "x")]] {
        assert_eq!(of(&wrong, false).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

/// Another reader of Avro finds the same rows.
#[test]
fn the_crate_of_the_apache_project_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let leaves = LEAVES.iter().zip(1..).map(|(ty, id)| Field::new(id, format!("c{id}"), id % 3 == 0, ty.clone()));
    let schema = schema(leaves.collect());
    let given = batch(&schema, 2000, &mut Dice(7));
    for codec in ["gzip", "zstd", "snappy", "uncompressed"] {
        let codec = [("write.avro.compression-codec", codec)];
        let (path, written) = write(&dir, FileFormat::Avro, &schema, &codec, &[(given.clone(), false)]);
        assert!(written.metrics.is_none() && written.split_offsets.is_none());
        let bytes = std::fs::read(&path).unwrap();
        assert!(Container::parse(&bytes).unwrap().blocks.len() > 2);
        assert!(Container::parse(&bytes).unwrap().metadata_text("iceberg.schema").unwrap().is_some());
        let reader = apache_avro::Reader::new(&bytes[..]);
        // That crate is built without most codecs.
        let Ok(reader) = reader else { continue };
        let values: Vec<_> = reader.map(|row| row.unwrap()).collect();
        assert_eq!(values.len(), 2000);
        let apache_avro::types::Value::Record(first) = &values[1999] else { panic!() };
        let text = arrow::array::cast::AsArray::as_string::<i32>(given.column(11)).value(1999);
        assert!(format!("{:?}", first[11].1).contains(text), "{:?}", first[11]);
    }
}

/// Types that only Avro can store, and the types of version 3.
#[test]
fn unknown_and_geometries_have_columns() {
    let dir = tempfile::tempdir().unwrap();
    let geometry = P::Geometry { crs: None };
    let inner: Type = Type::Struct(vec![Field::new(4, "u", false, P::Unknown)].into());
    let fields = vec![
        Field::new(1, "u", false, P::Unknown),
        Field::new(2, "g", false, geometry),
        Field::new(3, "s", false, inner),
        Field::new(5, "i", true, P::Int),
    ];
    let schema = schema(fields);
    let arrow = crate::data::arrow::schema::to_arrow(&schema).unwrap();
    let mut columns: Vec<_> = arrow.fields().iter().map(|f| arrow::array::new_null_array(f.data_type(), 3)).collect();
    columns[3] = Arc::new(arrow::array::Int32Array::from(vec![1, 2, 3]));
    columns[1] = Arc::new(arrow::array::BinaryArray::from_iter([None, Some(&b"\x01\x01"[..]), None]));
    let given = RecordBatch::try_new(arrow, columns).unwrap();
    let (path, _) = write(&dir, FileFormat::Avro, &schema, &[], &[(given.clone(), true)]);
    assert_eq!(read_back(&schema, &path, FileFormat::Avro), rows(&[given]));
}

use std::sync::Arc;

use arrow::array::{Int32Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::data::parquet::file::ParquetFile;
use crate::store::Store;
use crate::store::local::LocalStore;

/// A file whose footer the tests change.
fn written(created_by: &str) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter([
        ("a", Arc::new(Int32Array::from(vec![1, 2, 2, 1])) as _),
        ("b", Arc::new(Int64Array::from(vec![7, 7, 8, 8])) as _),
        ("s", Arc::new(StringArray::from(vec!["x", "y", "x", "y"])) as _),
    ])
    .unwrap();
    let properties = WriterProperties::builder()
        .set_created_by(created_by.to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build();
    let mut out = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    out
}

fn open(bytes: &[u8]) -> crate::error::Result<ParquetFile> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.parquet").display().to_string();
    std::fs::write(&path, bytes).unwrap();
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    ParquetFile::open(&store, &path)
}

/// Replaces bytes of the footer, which keeps its length.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let start = bytes.len() - 8 - length;
    let footer = &bytes[start..bytes.len() - 8];
    let at = footer.windows(from.len()).position(|w| w == from).expect("the footer has these bytes");
    let mut changed = [&footer[..at], to, &footer[at + from.len()..]].concat();
    let size = (changed.len() as u32).to_le_bytes();
    changed.extend(size);
    [&bytes[..start], &changed, b"PAR1"].concat()
}

/// PARQUET-816: the chunk's size lacks the header of its dictionary. Chunks lie one after the other.
#[test]
fn a_chunk_gets_the_bytes_that_an_old_writer_forgot() {
    for (writer, mends) in
        [("parquet-mr", true), ("parquet-mr version 1.2.8", true), ("parquet-mr version 1.8.0", false)]
    {
        let bytes = written(writer);
        let whole = open(&bytes).unwrap();
        let sizes: Vec<i64> = whole.footer().row_group(0).columns().iter().map(|c| c.compressed_size()).collect();
        let zigzag = |n: i64| {
            let (mut n, mut out) = ((n << 1) as u64, Vec::new());
            while n >= 0x80 {
                out.push(n as u8 | 0x80);
                n >>= 7;
            }
            out.push(n as u8);
            out
        };
        // Field 7 of the column's metadata follows field 6, both i64.
        let field = |n: i64| [&[0x16][..], &zigzag(n)].concat();
        let first = whole.footer().row_group(0).column(0);
        let before = field(first.uncompressed_size());
        let from = [&before[..], &field(sizes[0])].concat();
        let short = replaced(&bytes, &from, &[&before[..], &field(sizes[0] - 13)].concat());
        let mended = open(&short).unwrap();
        let size = mended.footer().row_group(0).column(0).compressed_size();
        assert_eq!(size, if mends { sizes[0] } else { sizes[0] - 13 }, "{writer}");
    }
}

/// Statistics only save work: the rows of a file with a statistic of another width can be read.
#[test]
fn statistics_of_another_width_are_left_out() {
    let bytes = written("somebody");
    // The statistics of `a`: a maximum of 4 bytes, then a minimum.
    let from = [&[0x18, 4][..], &2i32.to_le_bytes(), &[0x18, 4], &1i32.to_le_bytes()].concat();
    for odd in [&[0x18, 3, 2, 0, 0][..], &[0x18, 8, 2, 0, 0, 0, 0, 0, 0, 0], &[0x18, 0]] {
        let to = [odd, &[0x18, 4], &1i32.to_le_bytes()].concat();
        let file = open(&replaced(&bytes, &from, &to)).unwrap();
        assert!(file.footer().row_group(0).columns().iter().all(|c| c.statistics().is_none()));
        assert_eq!(file.footer().file_metadata().num_rows(), 4);
    }
    assert!(open(&bytes).unwrap().footer().row_group(0).column(0).statistics().is_some());
}

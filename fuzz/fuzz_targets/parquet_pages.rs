//! Generated Parquet files with wrong counts, lengths and offsets: rows or an error of our own, within bounded memory.
#![no_main]

use frazil::format::task::FileFormat;
use frazil_fuzz::choices::Choices;
use frazil_fuzz::{parquet_file, read_rows};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let file = parquet_file::file(&mut choices);
    read_rows(FileFormat::Parquet, &choices.damage(file));
});

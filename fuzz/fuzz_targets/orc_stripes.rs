//! Generated ORC files with wrong counts, lengths and offsets: rows or an error of our own, within bounded memory.
#![no_main]

use frazil::format::task::FileFormat;
use frazil_fuzz::choices::Choices;
use frazil_fuzz::{orc_file, read_rows};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let file = orc_file::file(&mut choices);
    read_rows(FileFormat::Orc, &choices.damage(file));
});

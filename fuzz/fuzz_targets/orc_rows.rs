//! Any bytes as an ORC data file: rows or an error of our own, never a crash or a hang.
#![no_main]

use frazil::format::task::FileFormat;
use frazil_fuzz::read_rows;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_rows(FileFormat::Orc, bytes));

//! Any bytes as the answer of a REST catalog's server: its configuration, a table, a list, a view, credentials, a
//! signature, a plan, an error. The first byte chooses the status.
#![no_main]

use frazil::iceberg::catalog::read_any_answer;
use libfuzzer_sys::fuzz_target;

const STATUS: [u16; 8] = [200, 204, 304, 400, 401, 404, 409, 503];

fuzz_target!(|bytes: &[u8]| {
    let Some((first, body)) = bytes.split_first() else { return };
    read_any_answer(STATUS[usize::from(*first) % STATUS.len()], body);
});

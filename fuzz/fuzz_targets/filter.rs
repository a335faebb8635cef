//! Filter text: what parses is shown as text that parses to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(predicate) = frazil::expr::parse(text) {
        assert_eq!(frazil::expr::parse(&predicate.to_string()).expect("what was shown parses"), predicate);
    }
});

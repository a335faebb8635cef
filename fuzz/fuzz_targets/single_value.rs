//! Any bytes as a bound of a column: an error, or a value that is the same after it was written again. The first byte
//! selects the type of the column.
#![no_main]

use frazil::types::PrimitiveType as P;
use frazil::types::value::{decode_bound, encode_bound, format_value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let types = [
        P::Boolean,
        P::Int,
        P::Long,
        P::Float,
        P::Double,
        P::Decimal { precision: 9, scale: 2 },
        P::Decimal { precision: 38, scale: 10 },
        P::Date,
        P::Time,
        P::Timestamp,
        P::Timestamptz,
        P::TimestampNs,
        P::TimestamptzNs,
        P::String,
        P::Uuid,
        P::Fixed(3),
        P::Binary,
        P::Unknown,
        P::Variant,
    ];
    let ty = &types[usize::from(*kind) % types.len()];
    let Ok(Some(value)) = decode_bound(bytes, ty) else { return };
    assert!(!format_value(value, ty).is_empty() || matches!(ty, P::String | P::Binary | P::Fixed(_)));
    let again = encode_bound(value);
    let read = decode_bound(&again, ty).expect("what was written").expect("a value");
    assert!(read == value || value.is_nan() && read.is_nan(), "{ty:?} {value:?} {read:?}");
});

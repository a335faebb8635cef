//! Any bytes as a binary row of Paimon, read as every type in every place: values or an error.
#![no_main]

use frazil::paimon::spec::binary_row::BinaryRow;
use frazil::paimon::spec::data_type::{DataType, TypeKind};
use libfuzzer_sys::fuzz_target;

fn types() -> Vec<DataType> {
    let kinds = [
        TypeKind::Boolean,
        TypeKind::TinyInt,
        TypeKind::SmallInt,
        TypeKind::Int,
        TypeKind::BigInt,
        TypeKind::Float,
        TypeKind::Double,
        TypeKind::Decimal { precision: 9, scale: 2 },
        TypeKind::Decimal { precision: 38, scale: 10 },
        TypeKind::VarChar(40),
        TypeKind::VarBinary(40),
        TypeKind::Date,
        TypeKind::Time(3),
        TypeKind::Timestamp(3),
        TypeKind::Timestamp(9),
        TypeKind::TimestampLtz(6),
        TypeKind::Array(Box::new(TypeKind::VarChar(40).nullable())),
    ];
    kinds.into_iter().map(TypeKind::nullable).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let types = types();
    let check = |row: BinaryRow<'_>| {
        for field in 0..row.arity().min(64) {
            for ty in &types {
                let _ = (row.value(field, ty), row.datum(field, ty));
            }
        }
    };
    if let Ok(row) = BinaryRow::from_prefixed(bytes) {
        check(row);
    }
    for arity in [0, 1, types.len()] {
        if let Ok(row) = BinaryRow::new(bytes, arity) {
            check(row);
        }
    }
});

use std::cmp::Ordering;

use super::*;
use crate::format::task::FileFormat;
use crate::rows::column_statistics::{Count, Extreme, tight};
use crate::types::{PrimitiveType, Value, ValueRef};

#[test]
fn a_bound_does_no_harm_behind_a_value_that_is_there() {
    let least = |files: &[(Option<i64>, bool)]| {
        let mut extreme = Extreme::default();
        files.iter().for_each(|(v, there)| extreme.add(v.map(ValueRef::Long), *there, Ordering::Less));
        extreme.finish(Ordering::Less)
    };
    assert_eq!(least(&[(Some(3), true), (Some(5), false)]), Fact::new(Value::Long(3), true));
    assert_eq!(least(&[(Some(3), true), (Some(3), false)]), Fact::new(Value::Long(3), true));
    assert_eq!(least(&[(Some(3), true), (Some(2), false), (Some(7), true)]), Fact::new(Value::Long(2), false));
    assert_eq!(least(&[(Some(3), false)]), Fact::new(Value::Long(3), false));
    assert_eq!(least(&[(Some(3), true), (None, true)]), Fact { value: None, exact: false });
}

#[test]
fn counts_are_exact_where_every_row_or_none_has_it() {
    let of = |n, coverage| {
        let count = Count::of(n, 10, coverage);
        (count.n, count.exact)
    };
    assert_eq!(of(Some(4), Coverage::Whole(10)), (4, true));
    assert_eq!(of(Some(4), Coverage::Vector(7)), (4, false));
    assert_eq!(of(Some(4), Coverage::Vector(2)), (2, false));
    assert_eq!(of(Some(10), Coverage::Vector(7)), (7, true));
    assert_eq!(of(Some(10), Coverage::Part(10)), (10, false));
    assert_eq!(of(Some(0), Coverage::Part(10)), (0, true));
    assert_eq!(of(None, Coverage::Whole(10)), (10, false));
}

#[test]
fn only_some_bounds_are_values() {
    assert!(tight(&PrimitiveType::Timestamp, FileFormat::Parquet));
    assert!(!tight(&PrimitiveType::Timestamp, FileFormat::Orc));
    assert!(!tight(&PrimitiveType::Double, FileFormat::Orc));
    assert!(tight(&PrimitiveType::Long, FileFormat::Orc));
    for ty in [PrimitiveType::String, PrimitiveType::Binary, PrimitiveType::Fixed(4), PrimitiveType::Uuid] {
        assert!(!tight(&ty, FileFormat::Parquet), "{ty}");
    }
}

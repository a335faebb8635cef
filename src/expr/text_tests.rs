use crate::expr::json::{predicate_from_json, predicate_to_json};
use crate::expr::oracle;
use crate::expr::{bind, parse};
use proptest::prelude::*;

#[test]
fn reads_as_written() {
    for text in [
        "true",
        "false",
        "a = 1 and (b < 2 or c >= 'x')",
        "(a = 1 and b = 2) or c = 3",
        "\"odd \"\"name\"\"\".\"in\".sub is not null",
        "bucket(4, id) = 1",
        "truncate(2, s) in ('ab', 'cd')",
        "day(ts) >= '2023-01-01'",
        "not starts_with(s, 'it''s')",
        "x not in (1, -2.50, 1e3)",
        "f is nan",
        "b != x'00ff'",
        "not (a = true or b is null)",
        "lower(s) = 'x' and not (s like '%a_b' or upper(s) in ('A', 'B'))",
        "(a + b) * -2 < c % 3",
        "-(a) >= b - (c - 1)",
        "(5) < a",
        "('x') like '%y_z'",
        "x > (date '2024-01-31')",
        "x in ((date '2024-01-31'), y, 5)",
        "x + interval '1 months 3 days 5 microseconds' = (timestamp '2024-01-31T00:00:00')",
        "cast(try_cast(x as decimal(9, 2)) as double) is nan",
        "isnan(x) or y is true",
        "starts_with(lower(s), 'ab')",
    ] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn text_and_json_bind_to_the_same_filter(
        (ty, filter) in oracle::types().prop_flat_map(|ty| (Just(ty.clone()), oracle::filters(&ty)))
    ) {
        let schema = oracle::schema(&ty);
        let text = filter.to_string();
        let parsed = parse(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(&bind(&parsed, &schema, true).unwrap(), &filter, "{}", text);
        prop_assert_eq!(&bind(&parse(&parsed.to_string()).unwrap(), &schema, false).unwrap(), &filter);

        let json: serde_json::Value = serde_json::from_str(&predicate_to_json(&filter).to_string()).unwrap();
        prop_assert_eq!(&bind(&predicate_from_json(&json).unwrap(), &schema, true).unwrap(), &filter, "{}", json);
    }
}

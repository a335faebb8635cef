use super::*;
use crate::error::ErrorKind;
use crate::expr::term::Term;
use crate::types::Transform;
use proptest::prelude::*;

fn leaf(path: &[&str], op: Op, values: &[Literal]) -> Predicate {
    let path = path.iter().map(|s| s.to_string()).collect();
    Predicate::Leaf(Term { path, transform: Transform::Identity }, op, values.to_vec())
}

fn num(text: &str) -> Literal {
    Literal::Number(text.into())
}

fn text(text: &str) -> Literal {
    Literal::String(text.into())
}

#[test]
fn every_form_of_a_test() {
    use Op::*;
    let yes = Literal::Boolean(true);
    for (written, want) in [
        ("a = 1", leaf(&["a"], Eq, &[num("1")])),
        ("a == -1.5e-3", leaf(&["a"], Eq, &[num("-1.5e-3")])),
        ("a <> +.5", leaf(&["a"], NotEq, &[num(".5")])),
        ("5 < a.b.c", leaf(&["a", "b", "c"], Gt, &[num("5")])),
        ("'x' = \"odd \"\"name\"\"\"", leaf(&["odd \"name\""], Eq, &[text("x")])),
        ("`in`.`b``c` IS NOT Null", leaf(&["in", "b`c"], NotNull, &[])),
        ("f is nan", leaf(&["f"], IsNan, &[])),
        (
            "a NOT IN ('it''s', x'00fF', true)",
            leaf(&["a"], NotIn, &[text("it's"), Literal::Bytes(vec![0, 255]), yes.clone()]),
        ),
        ("a in ()", leaf(&["a"], In, &[])),
        ("s like 'abc%'", leaf(&["s"], StartsWith, &[text("abc")])),
        ("s like '%%'", leaf(&["s"], StartsWith, &[text("")])),
        (r"s like '10\%\_'", leaf(&["s"], Eq, &[text("10%_")])),
        ("starts_with(s, 'x')", leaf(&["s"], StartsWith, &[text("x")])),
        ("active", leaf(&["active"], Eq, std::slice::from_ref(&yes))),
        ("true = active", leaf(&["active"], Eq, std::slice::from_ref(&yes))),
        ("d >= date '2023-01-01'", leaf(&["d"], GtEq, &[text("2023-01-01")])),
        ("timestamp '2023-01-01 00:00:00' > t", leaf(&["t"], Lt, &[text("2023-01-01 00:00:00")])),
        ("date = '2023-01-01'", leaf(&["date"], Eq, &[text("2023-01-01")])),
        ("day in (1) ", leaf(&["day"], In, &[num("1")])),
        ("bucket.in = 1", leaf(&["bucket", "in"], Eq, &[num("1")])),
        ("starts_with", leaf(&["starts_with"], Eq, std::slice::from_ref(&yes))),
        ("x = 1", leaf(&["x"], Eq, &[num("1")])),
        ("żółw > 1", leaf(&["żółw"], Gt, &[num("1")])),
    ] {
        assert_eq!(parse(written).unwrap(), want, "{written}");
    }
    let term = |t: Transform| Term { path: vec!["c".into()], transform: t };
    for (written, t) in [
        ("bucket(4, c) = 40", Transform::Bucket(4)),
        ("TRUNCATE(2, c) = 40", Transform::Truncate(2)),
        ("years(c) = 40", Transform::Year),
        ("month(c) = 40", Transform::Month),
        ("date(c) = 40", Transform::Day),
        ("hours(c) = 40", Transform::Hour),
    ] {
        assert_eq!(parse(written).unwrap(), Predicate::Leaf(term(t), Eq, vec![num("40")]), "{written}");
    }
}

#[test]
fn numbers_that_may_mean_the_calendar_are_refused() {
    for (written, said) in [
        ("year(ts) = 2026", "year(ts) counts years from 1970, so 2026 is 3996"),
        ("id = 1 and not (year(ts) in (56, 1970))", "year(ts) counts years from 1970, so 1970 is 3940"),
        ("2000 <= years(ts)", "so 2000 is 3970"),
        ("month(ts) = 12", "month(ts) counts months from 1970, so 12 is 1971-01"),
        ("month(ts) between 1 and 3", "so 1 is 1970-02"),
        ("day(ts) > 5 or id = 1", "day(ts) counts days from 1970, so 5 is 1970-01-06"),
        ("day(ts) = 31", "so 31 is 1970-02-01"),
        ("hour(ts) < 23", "hour(ts) counts hours from 1970, so 23 is 1970-01-01-23"),
    ] {
        let error = parse(written).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("year(ts) = '2026'"), "{written}: {error}");
    }
    for fine in ["year(ts) = 56", "year(ts) = '2026'", "month(ts) = 672", "day(ts) = 0", "hour(ts) = -1", "id = 2026"] {
        parse(fine).unwrap();
    }
}

#[test]
fn connectives_bind_as_in_sql() {
    for (written, shown) in [
        ("a or b and c", "a = true or (b = true and c = true)"),
        ("not a and b", "not (a = true) and b = true"),
        ("not not a", "a = true"),
        ("not (a or b) or not true", "not (a = true or b = true) or not (true)"),
        ("((a or b) or c) or d", "a = true or b = true or c = true or d = true"),
        ("a between 1 and 2 and b", "a >= 1 and a <= 2 and b = true"),
        ("a not between 1 and 2", "not (a >= 1 and a <= 2)"),
        ("not s like 'x%' and s not like 'y%'", "not starts_with(s, 'x') and not starts_with(s, 'y')"),
        ("true and (false)", "true and false"),
    ] {
        assert_eq!(parse(written).unwrap().to_string(), shown, "{written}");
    }
}

#[test]
fn mistakes_are_pointed_at() {
    let said = |t: &str| {
        let e = parse(t).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidInput);
        e.to_string()
    };
    assert_eq!(
        said("id = 5 and name ="),
        "can't read the filter\n  id = 5 and name =\n                   ^ expected a value, found the end"
    );
    assert_eq!(said("a = 1\nor b = %%"), "can't read the filter\n  or b = %%\n         ^ expected a value, found `%`");
    assert!(said("x = 'abc").starts_with("can't read the filter\n  x = 'abc\n      ^ this string has no closing `'`"));
    assert!(said("x = null").ends_with("^ expected a value, found `null`. Nothing equals null; write `is null`"));
    assert!(said("in = 5").ends_with("found `in`. Quote a column of that name: \"in\""));
    assert!(said("(a = 1").ends_with("expected `and`, `or` or `)`, found the end"));
    assert!(said("a = 1)").ends_with("expected `and`, `or` or the end, found `)`"));
    assert!(said("1 < x < 5").ends_with("      ^ expected `and`, `or` or the end, found `<`"));
    assert!(said("foo(x) = 1").contains("no function `foo`"));
    assert!(said("bucket(id, 4) = 1").ends_with("expected a number, as in bucket(4, column), found `id`"));
    assert!(said("bucket(0, id) = 1").ends_with("expected a whole number from 1 to 2147483647"));
    assert!(said(&format!("{} = ", "y".repeat(500))).lines().nth(1).is_some_and(|l| l.chars().count() < 70));
    for bad in [
        "",
        "a =",
        "a in (1",
        "a in (1 2)",
        "a is",
        "a not 5",
        "a.5 = 1",
        "12abc = 1",
        "x'0' = a",
        "a ? b",
        "= 1",
        "not",
        "5",
    ] {
        said(bad);
    }
    assert!(said(r"s like 'a\b'").ends_with("in a pattern `\\` can precede only `%`, `_` and `\\`"));
    assert!(said("s like 'a!b' escape '!'").ends_with("in a pattern `!` can precede only `%`, `_` and `!`"));
    assert!(said("s like 'a' escape 'xy'").ends_with("expected one quoted character, found a string"));
    assert!(said("a > (b + 1").ends_with("expected `)`, found the end"));
    assert!(said("cast(a as 5) > 1").ends_with("expected a type, found `5`"));
    assert!(said("a is 5").ends_with("expected `null`, `nan`, `true`, `false` or `not`, found `5`"));
}

#[test]
fn long_filters_work_and_deep_ones_are_refused() {
    let items = (0..100_000).map(|i| i.to_string()).collect::<Vec<_>>();
    assert!(
        matches!(parse(&format!("a in ({})", items.join(","))), Ok(Predicate::Leaf(_, Op::In, v)) if v.len() == 100_000)
    );
    let ors = items.iter().map(|i| format!("a = {i}")).collect::<Vec<_>>().join(" or ");
    assert!(matches!(parse(&ors), Ok(Predicate::Or(v)) if v.len() == 100_000));
    let folded = format!("{}a{}", "(".repeat(9000), " or b)".repeat(9000));
    assert!(matches!(parse(&folded), Ok(Predicate::Or(v)) if v.len() == 9001));
    let deep = format!("{}a{}", "(b or (c and ".repeat(4000), "))".repeat(4000));
    assert_eq!(parse(&deep).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(parse(&"(".repeat(1_000_000)).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(parse(&format!("{} a", "not ".repeat(100_001))).is_ok());
    assert!(parse(&format!("a{} = 1", ".a".repeat(99_999))).is_ok());
    let e = parse(&format!("a{} = 1", ".a".repeat(100_000))).unwrap_err();
    assert!(e.to_string().contains("more than 100000 parts") && e.kind() == ErrorKind::InvalidInput, "{e}");
}

/// Words of other dialects either mean here what they mean there, or the error says what to write.
#[test]
fn words_of_other_dialects() {
    for (written, shown) in [
        ("a <=> 1", "a = 1 and a is not null"),
        ("1 <=> a", "a = 1 and a is not null"),
        ("a <=> null", "a is null"),
        ("null <=> a", "a is null"),
        ("a <=> b", "(a = b and a is not null and b is not null) or (a is null and b is null)"),
        ("a is not distinct from null", "a is null"),
        ("a is distinct from 1", "not (a = 1 and a is not null)"),
        ("where = 1", "where = 1"),
        ("where in (1)", "where in (1)"),
        ("a - -1 = 0", "a - -1 = 0"),
    ] {
        assert_eq!(parse(written).unwrap().to_string(), shown, "{written}");
    }
    for (written, hint) in [
        ("a = 1 && b = 2", "Write `and`"),
        ("a = 1 || b = 2", "Write `or`. A filter can't join texts"),
        ("a = 1 | b = 2", "Write `or`"),
        ("~a", "Write `not`"),
        ("s ~ 'x'", "`like`"),
        ("s rlike 'x'", "no regular expressions"),
        ("s not regexp 'x'", "no regular expressions"),
        ("regexp_like(s, 'x')", "no regular expressions"),
        ("s contains 'x'", "contains(x, 'text')"),
        ("a isnull", "Write `is null`"),
        ("isnotnull(a)", "Write `x is not null`"),
        ("coalesce(a, 1) = 1", "x = 1 or x is null"),
        ("a is None", "Write `null`"),
        ("a::int = 1", "Write cast(x as type)"),
        ("a = :b", "frazil.col('x') == value"),
        ("a in [1]", "x in (1, 2)"),
        ("a => 1", "Write `>=`"),
        ("a ≠ 1", "Write `!=`"),
        ("a = 1 -- b", "no comments"),
        ("a = 1 /* b */", "no comments"),
        ("s = ‘x’", "straight single quotes"),
        ("s = n'x'", "no letter before"),
        (r"s = 'it\'s'", "Two quotes are one in a text"),
        ("s like \"a%\"", "Text has single quotes"),
        ("where a = 1", "Leave out `where`"),
        ("case when a then b end", "`and` and `or`"),
    ] {
        let error = parse(written).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(hint), "{written}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in r#"([a-z'"`()=<>!.,x0-9\- é]|and|or|not|in|like|is|null|lower\(|cast\(| as int|date '2024-01-01'|interval '1 day'|isnan\(|true|[+*%]| ){0,40}"#) {
        if let Ok(p) = parse(&text) {
            prop_assert_eq!(parse(&p.to_string()).map(|q| q.to_string()).ok(), Some(p.to_string()));
        }
    }
}

//! What to write in place of symbols, words and functions that other dialects of SQL, or Python, have.

use crate::error::Error;

const PATTERNS: &str =
    "A filter has no regular expressions. Use `like`, `ilike`, or the functions starts_with, ends_with and contains";
const PARAMETERS: &str = "Write the value itself, or build the filter in Python: frazil.col('x') == value";
const COMMENTS: &str = "A filter has no comments";
const QUOTES: &str = "Text has straight single quotes: 'text'";
const TEXT_TESTS: &str = "It is a function: contains(x, 'text'), starts_with(x, 'text'), ends_with(x, 'text')";
const DEFAULTS: &str = "Name the rows without a value: x = 1 or x is null";
const CASES: &str = "Write the cases with `and` and `or`";
const JOINED: &str = "A filter can't join texts. Test each part";

const SYMBOLS: [(&str, &str); 24] = [
    ("&", "Write `and`"),
    ("||", "Write `or`. A filter can't join texts"),
    ("|", "Write `or`"),
    (
        "~",
        "Write `not` before a condition. A filter has no regular expressions: use `like`, `ilike`, starts_with, \
         ends_with or contains",
    ),
    ("::", "Write cast(x as type)"),
    (":", PARAMETERS),
    ("?", PARAMETERS),
    ("$", PARAMETERS),
    ("@", PARAMETERS),
    ("{", PARAMETERS),
    ("[", "Values of `in` have parentheses: x in (1, 2). Names with odd characters have double quotes"),
    (";", "Leave it out"),
    ("--", COMMENTS),
    ("/*", COMMENTS),
    ("#", COMMENTS),
    ("≠", "Write `!=`"),
    ("≤", "Write `<=`"),
    ("≥", "Write `>=`"),
    ("=<", "Write `<=`"),
    ("=>", "Write `>=`"),
    ("‘", QUOTES),
    ("’", QUOTES),
    ("“", QUOTES),
    ("”", QUOTES),
];

const WORDS: [(&str, &str); 24] = [
    ("rlike", PATTERNS),
    ("regexp", PATTERNS),
    ("regexp_like", PATTERNS),
    ("similar", PATTERNS),
    ("glob", PATTERNS),
    ("contains", TEXT_TESTS),
    ("starts_with", TEXT_TESTS),
    ("startswith", TEXT_TESTS),
    ("ends_with", TEXT_TESTS),
    ("endswith", TEXT_TESTS),
    ("isnull", "Write `is null`"),
    ("notnull", "Write `is not null`"),
    ("none", "Write `null`"),
    ("eq", "Write `=`"),
    ("ne", "Write `!=`"),
    ("lt", "Write `<`"),
    ("le", "Write `<=`"),
    ("gt", "Write `>`"),
    ("ge", "Write `>=`"),
    ("equals", "Write `=`"),
    ("xor", "Write (a or b) and not (a and b)"),
    ("div", "Write cast(x / y as bigint)"),
    ("when", CASES),
    ("if", CASES),
];

const FUNCTIONS: [(&str, &str); 27] = [
    ("isnull", "Write `x is null`"),
    ("isnotnull", "Write `x is not null`"),
    ("exists", "Write `x is not null`"),
    ("coalesce", DEFAULTS),
    ("ifnull", DEFAULTS),
    ("nvl", DEFAULTS),
    ("if", CASES),
    ("iff", CASES),
    ("iif", CASES),
    ("rlike", PATTERNS),
    ("regexp", PATTERNS),
    ("regexp_like", PATTERNS),
    ("regexp_matches", PATTERNS),
    ("concat", JOINED),
    ("concat_ws", JOINED),
    ("instr", TEXT_TESTS),
    ("position", TEXT_TESTS),
    ("strpos", TEXT_TESTS),
    ("locate", TEXT_TESTS),
    ("substr", "Write truncate(2, x) = 'ab' for the first characters, or `like`"),
    ("substring", "Write truncate(2, x) = 'ab' for the first characters, or `like`"),
    ("left", "Write truncate(2, x) = 'ab' for the first characters"),
    ("any", "Write `x in (1, 2)`"),
    ("to_date", "Write date '2026-01-31', or cast(x as date)"),
    ("to_timestamp", "Write timestamp '2026-01-31 12:00:00', or cast(x as timestamp)"),
    ("date_trunc", "Compare with both ends: ts >= '2026-01-01' and ts < '2026-02-01'"),
    ("array_contains", "A filter can't look into lists"),
];

/// The error with what to write for the text where it is.
pub(super) fn for_symbol(error: Error, rest: &str) -> Error {
    hinted(error, SYMBOLS.iter().find(|(symbol, _)| rest.starts_with(symbol)))
}

/// The error with what to write for a word behind a value.
pub(super) fn for_word(error: Error, word: &str) -> Error {
    hinted(error, WORDS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known)))
}

/// The error with what to write for a function.
pub(super) fn for_function(error: Error, name: &str) -> Error {
    hinted(error, FUNCTIONS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)))
}

fn hinted(error: Error, found: Option<&(&str, &'static str)>) -> Error {
    match found {
        Some((_, hint)) => error.hint(*hint),
        None => error,
    }
}

//! The short texts of partitioning: `day(ts)`, `bucket(16, user_id)`, `truncate(4, name) as prefix`, `country`.
//!
//! [`parse_partition_by`] turns them into a spec, with the default names of the Java implementation. Sort-by texts
//! share the first half of the grammar, a [`PartitionTerm`]: a transform of a column, or a column alone. Columns are
//! dotted paths. A name with special characters is quoted with `"` or a backtick; a quote inside it is doubled.

use super::partition::FIRST_PARTITION_FIELD_ID;
use crate::error::{Error, Result};
use crate::types::select::column_hint;
use crate::types::{Field, PartitionField, PartitionSpec, Schema, Transform, Type};

/// A transform of a column, and the words after it.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionTerm {
    /// The transform; identity for a column alone.
    pub transform: Transform,
    /// The column's path.
    pub column: Vec<String>,
    /// The words after it, in lower case if not quoted.
    pub rest: Vec<String>,
    /// The last word as written, for names.
    pub last: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    /// A dotted path, and whether any part was quoted.
    Name(Vec<String>, bool),
    Open,
    Close,
    Comma,
}

impl PartitionTerm {
    /// Reads a term. If the whole text names a top-level column of `schema`, the term is that column.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not a term.
    pub fn parse(text: &str, schema: &Schema) -> Result<PartitionTerm> {
        if schema.fields.iter().any(|f| f.name == text) {
            let column = vec![text.to_owned()];
            return Ok(PartitionTerm { transform: Transform::Identity, column, rest: Vec::new(), last: None });
        }
        let tokens = tokenize(text)?;
        let bad = || {
            Error::invalid("this is neither a column nor a transform of a column")
                .with("text", text)
                .hint("Write a column, or for example day(ts), bucket(16, id), truncate(4, name)")
        };
        let (transform, column, rest) = match tokens.as_slice() {
            [Token::Name(name, false), Token::Open, Token::Name(column, _), Token::Close, rest @ ..] => {
                (transform(name, None).ok_or_else(bad)?, column, rest)
            }
            [
                Token::Name(name, false),
                Token::Open,
                Token::Name(a, a_quoted),
                Token::Comma,
                Token::Name(b, b_quoted),
                Token::Close,
                rest @ ..,
            ] => {
                let width = |path: &[String], quoted: bool| match path {
                    [digits] if !quoted => digits.parse::<u32>().ok(),
                    _ => None,
                };
                let (width, column) = match (width(a, *a_quoted), width(b, *b_quoted)) {
                    (Some(width), _) => (width, b),
                    (None, Some(width)) => (width, a),
                    _ => return Err(bad()),
                };
                (transform(name, Some(width)).ok_or_else(bad)?, column, rest)
            }
            [Token::Name(column, _), rest @ ..] => (Transform::Identity, column, rest),
            _ => return Err(bad()),
        };
        let words = rest.iter().map(|token| match token {
            Token::Name(path, quoted) => Ok((path.join("."), *quoted)),
            _ => Err(bad()),
        });
        let words = words.collect::<Result<Vec<_>>>()?;
        Ok(PartitionTerm {
            transform,
            column: column.clone(),
            last: words.last().map(|(word, _)| word.clone()),
            rest: words.into_iter().map(|(w, quoted)| if quoted { w } else { w.to_lowercase() }).collect(),
        })
    }
}

fn transform(name: &[String], width: Option<u32>) -> Option<Transform> {
    let [name] = name else { return None };
    let name = name.to_ascii_lowercase();
    let text = match width {
        Some(width) => format!("{name}[{width}]"),
        None => name,
    };
    match Transform::parse(if text == "date_hour" { "hour" } else { &text }) {
        Transform::Unknown(_) => None,
        known => Some(known),
    }
}

fn tokenize(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        match c {
            c if c.is_whitespace() => {}
            '(' => tokens.push(Token::Open),
            ')' => tokens.push(Token::Close),
            ',' => tokens.push(Token::Comma),
            _ => {
                tokens.push(name_token(&mut chars).map_err(|e| e.with("text", text))?);
                continue;
            }
        }
        chars.next();
    }
    Ok(tokens)
}

/// Reads a dotted path of bare and quoted parts.
fn name_token(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Token> {
    let (mut path, mut part, mut quoted) = (Vec::new(), String::new(), false);
    while let Some(&c) = chars.peek() {
        match c {
            c if c.is_whitespace() || matches!(c, '(' | ')' | ',') => break,
            '.' => path.push(std::mem::take(&mut part)),
            '"' | '`' if part.is_empty() => {
                chars.next();
                part = quoted_part(chars, c)?;
                quoted = true;
                continue;
            }
            c => part.push(c),
        }
        chars.next();
    }
    path.push(part);
    if path.iter().any(String::is_empty) {
        return Err(Error::invalid("a name is empty"));
    }
    Ok(Token::Name(path, quoted))
}

fn quoted_part(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, quote: char) -> Result<String> {
    let mut part = String::new();
    while let Some(c) = chars.next() {
        if c != quote {
            part.push(c);
        } else if chars.peek() == Some(&quote) {
            chars.next();
            part.push(quote);
        } else {
            return Ok(part);
        }
    }
    Err(Error::invalid(format!("a quoted name lacks its closing {quote}")))
}

/// The column of a term. Checks that the column exists, lies only inside structs, and has a type that the transform
/// takes.
///
/// # Errors
/// `InvalidInput` if a check fails.
pub fn source_of<'a>(term: &PartitionTerm, schema: &'a Schema) -> Result<&'a Field> {
    let path: Vec<&str> = term.column.iter().map(String::as_str).collect();
    let Some(field) = schema.find(&path, true) else {
        let name = path.join(".");
        return Err(Error::invalid(format!("there is no column '{name}'")).hint(column_hint(schema, &name)));
    };
    check_source(field, &term.transform, schema)?;
    Ok(field)
}

/// Checks that the transform takes this column of `schema`.
///
/// # Errors
/// `InvalidInput` if the column is nested, lies in a list or map, or has a type the transform does not take.
pub fn check_source(field: &Field, transform: &Transform, schema: &Schema) -> Result<()> {
    let Type::Primitive(ty) = &field.ty else {
        return Err(Error::invalid(format!("the column '{}' is nested: {}", field.name, field.ty)));
    };
    if !transform.accepts(ty) {
        return Err(Error::invalid(format!("{transform} does not take a column of type {ty}"))
            .with("column", schema.name_of(field.id).unwrap_or_default()));
    }
    let path = schema.path(field.id).unwrap_or_default();
    let parents = &path[..path.len().saturating_sub(1)];
    if parents.iter().any(|parent| !matches!(parent.ty, Type::Struct(_))) {
        return Err(Error::invalid("a table can't be partitioned or sorted by a column inside a list or map")
            .with("column", schema.name_of(field.id).unwrap_or_default()));
    }
    Ok(())
}

/// The spec that the texts describe, in order, with id 0 and field ids from [`FIRST_PARTITION_FIELD_ID`].
///
/// Without `as name`, fields get the names of the Java implementation: `x` for a column alone, `ts_day`,
/// `user_id_bucket`, `name_trunc`. Nested columns use their dotted name.
///
/// # Errors
/// `InvalidInput` if a text is not a partition field, or a column is missing or of the wrong type. Also if another
/// field or column has the name. Also if two fields of one column are redundant: identity twice, or two of year,
/// month, day and hour.
pub fn parse_partition_by<T: AsRef<str>>(texts: &[T], schema: &Schema) -> Result<PartitionSpec> {
    let mut spec = PartitionSpec::default();
    for text in texts {
        let text = text.as_ref();
        let field = parse_field(text, schema).map_err(|e| e.with("partition_by", text))?;
        spec.fields.push(field);
    }
    number_fields(&mut spec);
    check_spec(&spec, schema)?;
    Ok(spec)
}

/// Assigns field ids by position.
pub(crate) fn number_fields(spec: &mut PartitionSpec) {
    for (field, id) in spec.fields.iter_mut().zip(FIRST_PARTITION_FIELD_ID..) {
        field.field_id = id;
    }
}

fn parse_field(text: &str, schema: &Schema) -> Result<PartitionField> {
    let term = PartitionTerm::parse(text, schema)?;
    let source = source_of(&term, schema)?;
    let name = match (term.rest.as_slice(), &term.last) {
        ([], _) => default_name(&schema.name_of(source.id).unwrap_or_default(), &term.transform),
        ([keyword, _], Some(name)) if keyword == "as" => name.clone(),
        _ => {
            return Err(Error::invalid(format!("'{}' does not belong here", term.rest.join(" ")))
                .hint("Write a transform of a column, optionally followed by: as name"));
        }
    };
    Ok(PartitionField { source_id: source.id, field_id: 0, name, transform: term.transform })
}

fn default_name(column: &str, transform: &Transform) -> String {
    let suffix = match transform {
        Transform::Identity | Transform::Unknown(_) => return column.to_owned(),
        Transform::Bucket(_) => "bucket",
        Transform::Truncate(_) => "trunc",
        Transform::Year => "year",
        Transform::Month => "month",
        Transform::Day => "day",
        Transform::Hour => "hour",
        Transform::Void => "null",
    };
    format!("{column}_{suffix}")
}

/// Checks a new spec against its schema.
///
/// # Errors
/// `InvalidInput` as in [`parse_partition_by`].
pub fn check_spec(spec: &PartitionSpec, schema: &Schema) -> Result<()> {
    for (i, field) in spec.fields.iter().enumerate() {
        let at = |e: Error| e.with("partition field", &field.name);
        let Some(source) = schema.field(field.source_id) else {
            return Err(at(Error::invalid(format!("its source column {} is not in the schema", field.source_id))));
        };
        if field.transform != Transform::Void {
            check_source(source, &field.transform, schema).map_err(at)?;
        }
        if field.name.is_empty() {
            return Err(Error::invalid("a partition field has an empty name"));
        }
        let path: Vec<&str> = field.name.split('.').collect();
        let may_be_column = matches!(field.transform, Transform::Identity | Transform::Void);
        if schema.find(&path, true).is_some_and(|column| !may_be_column || column.id != field.source_id) {
            return Err(at(Error::invalid("a partition field has the name of another column"))
                .hint("Give it another name: … as name"));
        }
        for earlier in &spec.fields[..i] {
            if earlier.name == field.name {
                return Err(at(Error::invalid("two partition fields have this name")).hint("Rename one: … as name"));
            }
            if earlier.source_id == field.source_id && redundant(&earlier.transform, &field.transform) {
                return Err(at(Error::invalid(format!(
                    "it is redundant, because the spec already has the field '{}'",
                    earlier.name
                ))));
            }
        }
    }
    Ok(())
}

fn redundant(a: &Transform, b: &Transform) -> bool {
    let time = |t: &Transform| matches!(t, Transform::Year | Transform::Month | Transform::Day | Transform::Hour);
    (time(a) && time(b)) || (*a == Transform::Identity && *b == Transform::Identity)
}

#[cfg(test)]
#[path = "partition_by_tests.rs"]
mod tests;

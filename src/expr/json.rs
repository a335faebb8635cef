//! Filters as the JSON of the REST catalog protocol and of scan tasks.
//!
//! Source: Iceberg "Expressions Spec", Appendix B. Filters are written in the form with `term`, which every client
//! reads. The newer form with `child`, `left` and `right` can be read as well. Values are single values (specification,
//! Appendix D). Questions about computed values have a form of Frazil's own, which is sent to Frazil alone.

use serde_json::{Value as Json, json};

use crate::error::{Error, Result};
use crate::expr::parse::parse;
use crate::expr::predicate::{BoundLeaf, BoundPredicate, BoundTerm, Literal, Op, Predicate, Term};
use crate::types::json::value_to_json;
use crate::types::json_members::JsonMembers;
use crate::types::{PrimitiveType, Transform};

/// The type of a question about a computed value. The specification has none, so its member `text` has filter text.
const TEST: &str = "frazil-test";

/// The deepest nesting of JSON.
const MAX_DEPTH: usize = 500;

/// Writes a filter. Long conjunctions and disjunctions become balanced trees, for readers that limit nesting.
pub fn predicate_to_json(filter: &BoundPredicate) -> Json {
    match filter {
        BoundPredicate::True => json!(true),
        BoundPredicate::False => json!(false),
        BoundPredicate::And(parts) => tree("and", parts),
        BoundPredicate::Or(parts) => tree("or", parts),
        BoundPredicate::Leaf(leaf) => leaf_to_json(leaf),
        BoundPredicate::Test(test) => json!({"type": TEST, "text": test.to_string()}),
    }
}

fn tree(word: &str, parts: &[BoundPredicate]) -> Json {
    match parts {
        [] => json!(word == "and"),
        [part] => predicate_to_json(part),
        _ => {
            let (left, right) = parts.split_at(parts.len() / 2);
            json!({"type": word, "left": tree(word, left), "right": tree(word, right)})
        }
    }
}

fn leaf_to_json(leaf: &BoundLeaf) -> Json {
    let name = leaf.op.spec_name();
    let ty = leaf.term.ty.as_primitive().unwrap_or(&PrimitiveType::Unknown);
    let mut values = leaf.values.iter().map(|v| value_to_json(v.as_ref(), ty));
    let term = term_to_json(&leaf.term);
    match leaf.op {
        Op::In | Op::NotIn => json!({"type": name, "term": term, "values": values.collect::<Vec<_>>()}),
        _ => match values.next() {
            Some(value) => json!({"type": name, "term": term, "value": value}),
            None => json!({"type": name, "term": term}),
        },
    }
}

fn term_to_json(term: &BoundTerm) -> Json {
    let name = term.path.join(".");
    match &term.transform {
        Transform::Identity => json!(name),
        transform => json!({"type": "transform", "transform": transform.to_string(), "term": name}),
    }
}

/// Reads a filter.
///
/// # Errors
/// `InvalidInput` if the JSON is not a filter; `Unsupported` for references by id and for functions.
pub fn predicate_from_json(json: &Json) -> Result<Predicate> {
    read(json, 0)
}

fn read(json: &Json, depth: usize) -> Result<Predicate> {
    if depth > MAX_DEPTH {
        return Err(Error::invalid(format!("the filter's JSON is nested deeper than {MAX_DEPTH} levels")));
    }
    if let Some(constant) = json.as_bool() {
        return Ok(if constant { Predicate::True } else { Predicate::False });
    }
    let kind = string(json, "type")?.to_ascii_lowercase().replace('_', "-");
    let below = |key: &str| read(member(json, key)?, depth + 1);
    Ok(match kind.as_str() {
        "true" => Predicate::True,
        "false" => Predicate::False,
        "literal" => read(member(json, "value")?, depth + 1)?,
        TEST => test_from_json(json)?,
        "not" => Predicate::Not(Box::new(below("child")?)),
        "and" => both(below("left")?, below("right")?),
        "or" => either(below("left")?, below("right")?),
        kind => {
            let op = Op::of_spec_name(kind)
                .ok_or_else(|| Error::invalid(format!("a filter's JSON can't have the type `{kind}`")))?;
            read_leaf(json, op)?
        }
    })
}

fn both(left: Predicate, right: Predicate) -> Predicate {
    match (left, right) {
        (Predicate::And(mut a), Predicate::And(b)) => {
            a.extend(b);
            Predicate::And(a)
        }
        (a, b) => Predicate::And(vec![a, b]),
    }
}

fn either(left: Predicate, right: Predicate) -> Predicate {
    match (left, right) {
        (Predicate::Or(mut a), Predicate::Or(b)) => {
            a.extend(b);
            Predicate::Or(a)
        }
        (a, b) => Predicate::Or(vec![a, b]),
    }
}

fn test_from_json(json: &Json) -> Result<Predicate> {
    parse(string(json, "text")?)
}

fn read_leaf(json: &Json, op: Op) -> Result<Predicate> {
    let term = json.get("term").or_else(|| json.get("child")).or_else(|| json.get("left"));
    let term = read_term(term.ok_or_else(|| Error::invalid(format!("{} has no term", shown(json))))?)?;
    let values = match op {
        Op::IsNull | Op::NotNull | Op::IsNan | Op::NotNan => Vec::new(),
        Op::In | Op::NotIn => {
            let values = member(json, "values")?;
            let values = values.get("values").unwrap_or(values).as_array();
            let values = values.ok_or_else(|| Error::invalid(format!("`values` of {} is not a list", shown(json))))?;
            values.iter().map(read_literal).collect::<Result<_>>()?
        }
        _ => {
            let value = json.get("value").or_else(|| json.get("right"));
            vec![read_literal(value.ok_or_else(|| Error::invalid(format!("{} has no value", shown(json))))?)?]
        }
    };
    Ok(Predicate::Leaf(term, op, values))
}

fn read_term(json: &Json) -> Result<Term> {
    // Names are split at dots. A column with a dot in its own name is found by the joined name.
    let path = |name: &str| name.split('.').map(str::to_owned).collect();
    if let Some(name) = json.as_str() {
        return Ok(Term { path: path(name), transform: Transform::Identity });
    }
    match string(json, "type")?.to_ascii_lowercase().as_str() {
        "reference" => match json.get("term").or_else(|| json.get("name")).and_then(Json::as_str) {
            Some(name) => Ok(Term { path: path(name), transform: Transform::Identity }),
            None => Err(Error::unsupported(format!("{} does not refer to a column by its name", shown(json)))),
        },
        "transform" => {
            let transform = Transform::parse(string(json, "transform")?);
            let inner = member(json, "term")?;
            let name = inner.as_str().or_else(|| inner.get("term").and_then(Json::as_str));
            let name = name.ok_or_else(|| Error::invalid(format!("{} does not name a column", shown(json))))?;
            Ok(Term { path: path(name), transform })
        }
        _ => Err(Error::unsupported(format!("{} is not a column or the transform of a column", shown(json)))),
    }
}

fn read_literal(json: &Json) -> Result<Literal> {
    match json {
        Json::Bool(b) => Ok(Literal::Boolean(*b)),
        Json::Number(n) => Ok(Literal::Number(n.to_string())),
        Json::String(s) => Ok(Literal::String(s.clone())),
        Json::Object(o) if o.get("type").and_then(Json::as_str).is_some_and(|t| t.eq_ignore_ascii_case("literal")) => {
            match member(json, "value")? {
                Json::Object(_) => Err(Error::invalid(format!("{} is not a literal", shown(json)))),
                value => read_literal(value),
            }
        }
        _ => Err(Error::invalid(format!("{} is not a literal", shown(json)))),
    }
}

fn member<'j>(json: &'j Json, key: &str) -> Result<&'j Json> {
    members(json).required(key).map_err(|e| e.with("filter", shown(json)))
}

fn string<'j>(json: &'j Json, key: &str) -> Result<&'j str> {
    members(json).string(key).map_err(|e| e.with("filter", shown(json)))
}

fn members(json: &Json) -> JsonMembers<'_> {
    JsonMembers::of(json, |key| Error::invalid(format!("`{key}` of a filter's JSON is missing or has a wrong type")))
}

fn shown(json: &Json) -> String {
    const MOST: usize = 200;
    let text = json.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
